"""The scheme of labels that have been read."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus.column import Column
from skipchain.corpus.corpus import Corpus
from skipchain.corpus.schemes import UNKNOWN, SchemeInference, check_scheme, decode, infer_scheme
from skipchain.errors import ReadError, SchemeError


def resolve_scheme(
    corpus: Corpus, scheme: str | None, path: object, lines: Ints | None = None
) -> Corpus:
    """The corpus with its scheme: the one that is named, which must fit, or the one labels show.

    Labels that are not known (``_``) fit every scheme and show none. ``lines`` are the line numbers
    of the tokens ``int64 [N]``, for errors.

    >>> resolve_scheme(Corpus.of([["Ada", "slept"]], [["B-PER", "O"]]), None, "a.conll").scheme
    'iob2'
    """
    if corpus.n_tokens == 0:
        raise ReadError("there is not one token in the file", path=path)
    if not corpus.labelled:
        if scheme is not None:
            raise ReadError(f"there are no labels to read as {check_scheme(scheme)}", path=path)
        return corpus
    known = without_unknown(corpus.labels)
    if scheme is None:
        inferred = infer_scheme(known, corpus.sentences)
        if known is not corpus.labels:
            spanlike = inferred.spanlike and set(known.values) > {"O"}
            reason = f"labels {UNKNOWN!r} leave open which scheme it is"
            inferred = SchemeInference(None, (), reason, spanlike=spanlike)
        if inferred.scheme is None and inferred.spanlike:
            warnings.warn(
                f"{'labels' if path is None else path}: {inferred.reason}; taken as labels "
                "without spans. Name the scheme to have them read as spans",
                stacklevel=2,
            )
        return replace(corpus, scheme=inferred.scheme)
    name = check_scheme(scheme)
    try:
        decode(known, corpus.sentences, name)
    except SchemeError as error:
        token = first_misfit(known, name)
        line = None if lines is None else int(lines[token])
        raise ReadError(str(error), path=path, line=line) from None
    return replace(corpus, scheme=name)


def without_unknown(labels: Column) -> Column:
    """The labels with O in place of those that are not known."""
    if UNKNOWN not in labels.values:
        return labels
    return Column(labels.codes, tuple("O" if v == UNKNOWN else v for v in labels.values))


def first_misfit(labels: Column, scheme: str) -> int:
    """The first token whose label the scheme does not know."""
    bad = np.zeros(len(labels.values), bool)
    for code, value in enumerate(labels.values):
        try:
            decode(Column.constant(value, 1), np.array([0, 1]), scheme)
        except SchemeError:
            bad[code] = True
    return int(bad[labels.codes].argmax())
