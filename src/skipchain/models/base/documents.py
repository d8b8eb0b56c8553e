"""Whether a corpus has the whole documents that labels linked across sentences need."""

from __future__ import annotations

import warnings

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus import Corpus
from skipchain.errors import SkipchainWarning

MAX_LENGTH_RATIO = 10  # times the longest document of training
REMEDY = "mark where documents begin: -DOCSTART- lines (CoNLL), or document ids (JSON lines)"


def check_document_boundaries(
    corpus: Corpus, longest: int | None = None, *, apart: bool = False, otherwise: str = ""
) -> None:
    """Warn of a corpus that has been cut into sentences, or not cut into documents.

    ``longest`` is the number of tokens of the longest document in training. Documents that stand
    ``apart`` may be as short as they like, as a text that is labelled by itself may. ``otherwise``
    is what else would help with a long one.
    """
    if not corpus.n_tokens:
        return
    if not apart and corpus.n_documents > 1 and np.diff(corpus.documents).max() < 2:
        warnings.warn(
            f"every document is one sentence, so no label can depend on another sentence; {REMEDY}",
            SkipchainWarning,
            stacklevel=2,
        )
    lengths = _lengths(corpus)
    if longest and lengths.max() > MAX_LENGTH_RATIO * longest:
        number = int(lengths.argmax())
        warnings.warn(
            f"document {number} has {lengths[number]:,} tokens, and the longest of training had "
            f"{longest:,}: labels will depend on each other across all of it; "
            f"{REMEDY}{otherwise}",
            SkipchainWarning,
            stacklevel=2,
        )


def longest_document(corpus: Corpus) -> int:
    """The number of tokens of the longest document.

    >>> longest_document(Corpus.of([["a", "b"], ["c"], ["d"]], documents=[2, 1]))
    3
    """
    return int(_lengths(corpus).max(initial=0))


def _lengths(corpus: Corpus) -> Ints:
    """The number of tokens of each document. [D]"""
    return np.diff(corpus.sentences[corpus.documents])
