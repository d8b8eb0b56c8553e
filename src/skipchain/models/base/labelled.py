"""Labels that are given beside a corpus become its own, in its scheme."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skipchain.corpus import Corpus
from skipchain.corpus.schemes import is_no_scheme
from skipchain.corpus.schemes.labels import belongs
from skipchain.corpus.schemes.scheme import TABLE
from skipchain.errors import BrokenSchemeReadError
from skipchain.models.base.inputs import Input, as_input, known_labels, label_lists

ADVICE = (
    "mend them (skipchain.corpus.schemes.repair), or learn them as they are: name their scheme=, "
    "with encoding=None, constraints='none'"
)


def labelled(
    X: Any, y: Any, *, scheme: str | None = None, otherwise: str | None = None
) -> tuple[Input, Any]:
    """The input, and labels that it cannot have for its own: those of features, and sets of labels.

    Labels ``y`` of a corpus are written in the ``scheme``, if one is named; else in that of the
    corpus, where all of them belong to it; ``otherwise`` in the one of that name (``none``: they
    mark no spans), or in the one that they show.

    >>> corpus = Corpus.of([["Ada", "slept"]], [["B-PER", "O"]], scheme="iob2")
    >>> labelled(corpus, [["B-LOC", "O"]])
    (Corpus(1 document, 1 sentence, 2 tokens, columns word, label (iob2)), None)
    >>> labelled(corpus, [["NOUN", "VERB"]])
    (Corpus(1 document, 1 sentence, 2 tokens, columns word, label), None)
    """
    given = as_input(X)
    if y is None or not isinstance(given, Corpus):
        return given, y
    lists = label_lists(y)
    known = known_labels(given, lists)
    scheme = scheme or _scheme_of(given, known.names) or otherwise
    sets = any(known.partial.values())
    corpus = given.with_labels(known.column, None if is_no_scheme(scheme) else scheme)
    if scheme is None and not sets and corpus.n_tokens:
        from skipchain.io.schemes import resolve_scheme

        try:
            corpus = resolve_scheme(corpus, None, None)
        except BrokenSchemeReadError as error:
            raise BrokenSchemeReadError(f"{error}; {ADVICE}") from None
    return corpus, lists if sets else None


def _scheme_of(corpus: Corpus, names: Iterable[str]) -> str | None:
    """The scheme of a corpus, where other labels belong to it."""
    if corpus.scheme is None:
        return None
    if corpus.scheme == "bare":  # whose labels may be anything
        return "bare" if set(corpus.labels.values).issuperset(names) else None
    return corpus.scheme if all(belongs(name, TABLE[corpus.scheme]) for name in names) else None
