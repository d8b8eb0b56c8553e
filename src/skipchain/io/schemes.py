"""The scheme of labels that have been read."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus.column import Column
from skipchain.corpus.corpus import Corpus
from skipchain.corpus.schemes import check_scheme, is_no_scheme, resolve
from skipchain.corpus.schemes.near_types import near_types
from skipchain.corpus.schemes.spelling import readable_labels
from skipchain.errors import (
    BrokenSchemeError,
    BrokenSchemeReadError,
    ReadError,
    SchemeError,
    SkipchainWarning,
)

HEADER = (
    "; it comes nowhere else, so this line looks like a header with unknown names: take it out, or "
    "call its columns word and label"
)


class PartName(str):
    """The name of a file of which a part is read that begins with the line ``first``."""

    first = 1

    @classmethod
    def of(cls, path: object, first: int) -> PartName:
        """The name of the part."""
        part = cls(path)
        part.first = first
        return part


def resolve_scheme(
    corpus: Corpus,
    scheme: str | None,
    path: object,
    lines: Ints | None = None,
    repair: bool | None = None,
    *,
    may_be_bare: bool = True,
) -> Corpus:
    """The corpus with its scheme: the one that is named, which must fit, or the one labels show.

    Labels that break it are repaired as `skipchain.corpus.schemes.resolve` says, and a warning
    tells which. ``lines`` are the line numbers of the tokens ``int64 [N]``, for errors; labels
    without prefixes are spans only where they ``may_be_bare``.

    >>> resolve_scheme(Corpus.of([["Ada", "slept"]], [["B-PER", "O"]]), None, "a.conll").scheme
    'iob2'
    """
    if corpus.n_tokens == 0:
        raise ReadError("there is not one token in the file", path=path)
    if not corpus.labelled:
        if scheme is not None and not is_no_scheme(scheme):
            raise ReadError(f"there are no labels to read as {check_scheme(scheme)}", path=path)
        return corpus
    try:
        found = resolve(corpus.labels, corpus.sentences, scheme, repair, may_be_bare=may_be_bare)
    except BrokenSchemeError as error:
        line = None if lines is None else int(lines[error.token])
        alone = line is not None and error.token == 0 and is_alone(corpus.labels)
        if alone and is_unreadable(corpus.labels):
            raise ReadError(f"{error}{HEADER}", path=path, line=line) from None
        raise BrokenSchemeReadError(str(error), path=path, line=line) from None
    except SchemeError as error:
        if scheme is not None:
            check_scheme(scheme)
        labels = corpus.labels.tolist()
        token = labels.index(error.label) if error.label in labels else None
        line = None if lines is None or token is None else int(lines[token])
        header = HEADER if line is not None and token == 0 and is_alone(corpus.labels) else ""
        raise ReadError(f"{error}{header}", path=path, line=line) from None
    first = found.repaired[:1].tolist() == [0] and repair is None
    if first and lines is not None and is_alone(corpus.labels) and is_unreadable(corpus.labels):
        fault = f"label {corpus.labels.tolist()[0]!r} does not belong to {found.scheme}"
        raise ReadError(f"{fault}{HEADER}", path=path, line=int(lines[0]))
    told = found.told(lambda token: place(corpus, token, lines, path))
    if told is not None:
        advice = "; --no-repair (repair=False) leaves labels as they are" * bool(
            len(found.repaired)
        )
        shown = "labels" if path is None else path
        warnings.warn(f"{shown}: {told}{advice}", SkipchainWarning, stacklevel=2)
    if found.scheme is not None and repair is not False:
        for near in near_types(found.labels):
            where = place(corpus, near.token, lines, path)
            often = f"{near.counts[0]:,} and {near.counts[1]:,} labels"
            told = f"{where}: the type {near.rare!r} is rare and much like {near.frequent!r}"
            warnings.warn(f"{path or 'labels'}: {told} ({often})", SkipchainWarning, stacklevel=2)
    return replace(corpus.with_labels(found.labels), scheme=found.scheme)


def place(corpus: Corpus, token: int, lines: Ints | None = None, path: object = None) -> str:
    """Where a token stands: its line, else its sentence, counted from where a part begins."""
    first = path.first if isinstance(path, PartName) else 1
    if lines is not None:
        return f"line {lines[token] + first - 1}"
    sentence = int(np.searchsorted(corpus.sentences, token, side="right")) - 1
    behind = f" from line {first} on" if first > 1 else ""
    return f"sentence {sentence}{behind}, token {token - corpus.sentences[sentence]}"


def is_alone(labels: Column) -> bool:
    """Whether the first label comes nowhere else."""
    return int((labels.codes == labels.codes[0]).sum()) == 1


def is_unreadable(labels: Column) -> bool:
    """Whether the first label is none of any scheme, however it is spelt."""
    return labels.values[labels.codes[0]] in readable_labels(labels)[1]
