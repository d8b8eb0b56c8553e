"""What data look like: whether their spans are names, fields or neither, and what recurs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus import Corpus
from skipchain.corpus.schemes import UNKNOWN

NAME_TYPES = frozenset(
    ("per", "person", "loc", "location", "gpe", "org", "organisation", "organization", "misc")
)
CAPITALS = 0.6  # the share of spans that begin with a capital, from which on they may be names
FIELDS = 0.7  # the share of tokens in spans, from which on these are fields of a record
MIN_DOCUMENTS = 10  # fewer give too little to learn from what recurs in them


@dataclass(frozen=True, slots=True)
class DataTraits:
    """What a search, and advice, need to know of labelled data.

    ``names``: the labels are spans, most of which are written as names are, and most tokens are
    outside of them. ``fields``: spans cover most tokens, as in references and addresses.
    ``documents``: there are documents of several sentences. ``complete``: every label is known.

    >>> from skipchain.datasets.harbour import harbour
    >>> traits = DataTraits.of(harbour())
    >>> traits.names, traits.fields, traits.documents
    (True, False, True)
    """

    spans: bool
    names: bool
    fields: bool
    documents: bool
    complete: bool
    labels: int

    @classmethod
    def of(cls, corpus: Corpus) -> DataTraits:
        """Those of a labelled corpus."""
        labels = corpus.labels.values
        complete = UNKNOWN not in labels
        spans = corpus.scheme is not None and complete
        names = fields = False
        if spans and corpus.n_tokens and len(found := corpus.spans()):
            covered = int(found.lengths.sum()) / corpus.n_tokens
            known = NAME_TYPES & {name.lower() for name in found.names}
            fields = covered >= FIELDS
            names = not fields and (bool(known) or _capitals(corpus, found.starts) >= CAPITALS)
        lengths = np.diff(corpus.documents)
        documents = int((lengths > 1).sum()) >= MIN_DOCUMENTS
        return cls(spans, names, fields, documents, complete, len(labels))


def _capitals(corpus: Corpus, tokens: Ints) -> float:
    """The share of tokens that begin with a capital."""
    words = corpus.words
    capital = np.array([word[:1].isupper() for word in words.values], np.bool_)
    return float(capital[words.codes[tokens]].mean())
