"""Which column of a file is meant for the labels of a model, where it is not the one that is read.

A file of words and parts of speech has no labels yet for a model of names, and one with names in
its last column may have the labels of a tagger of parts of speech in another.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from skipchain.corpus.corpus import LABEL, WORD, Corpus
from skipchain.corpus.schemes import NO_SCHEME
from skipchain.corpus.schemes.labels import split
from skipchain.errors import SkipchainError, SkipchainWarning
from skipchain.io.columns.layout import is_name
from skipchain.io.conll import header_of
from skipchain.io.formats import parse_text

if TYPE_CHECKING:
    from skipchain.models.base.model import AnyModel

NEUTRAL = ("O", "_", "?", "-", "-X-", "")
LOOK = 1 << 16  # bytes of a file that are looked at
FEW = 3  # labels that are shown
MOST = 0.5  # of the tokens of a column that have labels of the model
POS, UPOS, XPOS = "pos", "upos", "xpos"
KINDS = ("conll", "tsv", "csv", "conllu")


def keeps_labels(corpus: Corpus, model: AnyModel) -> bool:
    """Whether what was read as labels is another column, which those of a model do not replace.

    The model marks spans, and the labels do not look like any: several, no ``O``, no prefix, and
    none in common. So are parts of speech in a file that is tagged with names.
    """
    if not corpus.labelled or model.encoding is None or model.scheme == "bare":
        return False
    values = [corpus.labels.values[code] for code in corpus.labels.used().tolist()]
    own = set(values) - set(NEUTRAL)
    if len(own) < 2 or "O" in values or own & set(model.output.names):
        return False
    return not any(split(value)[0] for value in own)


def kept_name(corpus: Corpus) -> str:
    """What the column of labels is called when it is another.

    That is its own name in a header, ``upos`` in CoNLL-U, else ``pos``.
    """
    header = header_of(corpus)
    if header is not None:
        own = header[list(corpus.columns).index(LABEL)]
        if own not in corpus.columns and not is_name(own):
            return own
    return UPOS if XPOS in corpus.columns and UPOS not in corpus.columns else POS


def with_kept_column(corpus: Corpus, model: AnyModel) -> Corpus:
    """The corpus without labels, where these are another column; that stays, and is told.

    Of CoNLL-U the labels are the column that has some of the model's, where it is not ``upos``.
    """
    meant = _meant_in_conllu(corpus, model)
    if meant is not None:
        names = {LABEL: UPOS, meant: LABEL}
        columns = {names.get(name, name): column for name, column in corpus.columns.items()}
        return replace(corpus, columns=columns)
    if not keeps_labels(corpus, model):
        return corpus
    warnings.warn(_told(corpus), SkipchainWarning, stacklevel=2)
    columns = dict(zip(_kept_names(corpus), corpus.columns.values(), strict=True))
    return replace(corpus, columns=columns, scheme=None)


def options_that_keep(
    head: bytes, path: object, format: str, model: AnyModel
) -> dict[str, Any] | None:
    """The options with which a file that begins so is read as `with_kept_column` would have it.

    None where nothing is to be changed.
    """
    end = head.rfind(b"\n", 0, LOOK) + 1
    if format not in KINDS or not end:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):
            corpus = parse_text(head[:end].decode(), str(path), format, scheme=NO_SCHEME)
    except (SkipchainError, UnicodeDecodeError):  # which is told when all is read
        return None
    meant = _meant_in_conllu(corpus, model)
    if meant is not None:
        return {"label": meant}
    if not keeps_labels(corpus, model):
        return None
    warnings.warn(_told(corpus), SkipchainWarning, stacklevel=2)
    return {"label": None} if format == "conllu" else {"columns": _kept_names(corpus)}


def _meant_in_conllu(corpus: Corpus, model: AnyModel) -> str | None:
    """The column of CoNLL-U that has labels of the model, where ``upos`` was read for it."""
    if XPOS not in corpus.columns or UPOS in corpus.columns or model.encoding is not None:
        return None
    meant = column_meant(corpus, model.labels)
    return None if meant == LABEL else meant


def column_meant(corpus: Corpus, names: Sequence[str]) -> str | None:
    """The column that has labels of these ``names`` at most tokens; None where none has.

    >>> corpus = Corpus.of([["Ada", "slept"]], [["B-PER", "O"]])
    >>> column_meant(corpus, ["B-PER", "I-PER"]), column_meant(corpus, ["NNP", "VBD"])
    ('label', None)
    """
    wanted = set(names) - set(NEUTRAL)
    best, share = None, MOST
    for name, column in corpus.columns.items():
        if name == WORD or not wanted:
            continue
        counts = np.bincount(column.codes, minlength=len(column.values))
        neutral = np.array([value in NEUTRAL for value in column.values], bool)
        fits = np.array([value in wanted for value in column.values], bool)
        met = counts[fits].sum() / max(1, counts[~neutral].sum())
        if met > share:
            best, share = name, met
    return best


def check_gold(corpus: Corpus, model: AnyModel, path: str) -> None:
    """Refuse gold labels of another kind than the model's, with none in common.

    They mark spans where the model's do not, or the other way round; or another column has labels
    of the model, and the error names the option that takes it.
    """
    if not corpus.labelled:
        return
    values = [corpus.labels.values[code] for code in corpus.labels.used().tolist()]
    if (set(values) - set(NEUTRAL)) & set(model.output.names):
        return
    meant = column_meant(corpus, model.output.names)
    if meant is None and (corpus.scheme is None) == (model.encoding is None):
        return  # of which what has no type in common tells
    kinds = ("labels of single tokens", "labels of spans")
    own, learnt = kinds[corpus.scheme is not None], kinds[model.encoding is not None]
    fault = f"{path} has {own} ({_some(values)}), and the model has learnt {learnt}"
    if meant is None:
        advice = "there is nothing to compare"
        if model.encoding is None and "O" in model.labels:
            advice += "; where runs of one label are spans, train the model with --scheme bare"
    elif XPOS in corpus.columns:
        advice = f"those of the column {meant} fit: --label {meant}"
    else:
        names = {LABEL: "_", meant: LABEL}
        columns = ",".join(names.get(name, name) for name in corpus.columns)
        advice = f"those of the column {meant} fit: --columns {columns}"
    raise SkipchainError(f"{fault} ({_some(model.output.names)}); {advice}")


def _some(values: Sequence[str]) -> str:
    """A few labels, as examples."""
    named = [value for value in values if value not in NEUTRAL]
    return ", ".join(named[:FEW]) + " …" * (len(named) > FEW)


def _kept_names(corpus: Corpus) -> tuple[str, ...]:
    """The names of the columns, that of the labels being another one."""
    name = kept_name(corpus)
    names = {LABEL: name}
    if name in corpus.columns:
        names[name] = next(f"c{k}" for k in range(1, 100) if f"c{k}" not in corpus.columns)
    return tuple(names.get(own, own) for own in corpus.columns)


def _told(corpus: Corpus) -> str:
    values = [corpus.labels.values[code] for code in corpus.labels.used()[:FEW].tolist()]
    shown = ", ".join(repr(value) for value in values)
    return (
        f"the column of {shown} … has no labels of the model's: it stays, as {kept_name(corpus)!r}"
    )
