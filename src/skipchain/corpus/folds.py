"""Folds of documents, for cross-validation and cross-fitting."""

from __future__ import annotations

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus.corpus import Corpus
from skipchain.errors import ParameterError


def document_folds(corpus: Corpus, number: int, *, seed: int = 0) -> Ints:
    """The fold of each document, ``int64 [D]``, at random; folds have about equal sizes.

    Copies of a document (the same words) share a fold, so that no model is tested on a document
    whose copy it was trained on.

    >>> corpus = Corpus.of([["a"], ["b"], ["a"], ["c"]], documents=[1, 1, 1, 1])
    >>> document_folds(corpus, 2, seed=1)
    array([0, 1, 0, 1])
    """
    if not 2 <= number <= corpus.n_documents:
        fault = f"{number} folds of {corpus.n_documents} documents"
        raise ParameterError(f"{fault}; wanted from 2 to the number of documents")
    order = np.random.default_rng(seed).permutation(corpus.n_documents)
    folds = np.empty(corpus.n_documents, np.int64)
    folds[order] = np.arange(corpus.n_documents) % number
    first: dict[bytes, int] = {}
    bounds = corpus.sentences[corpus.documents]
    for document in range(corpus.n_documents):
        words = corpus.words.codes[bounds[document] : bounds[document + 1]].tobytes()
        folds[document] = folds[first.setdefault(words, document)]
    if len(np.unique(folds)) < number:
        differ = f"only {len(first)} of the {corpus.n_documents} documents differ in their words"
        raise ParameterError(f"{number} folds are too many: {differ}")
    return folds
