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
    folds = _shuffled(corpus.n_documents, number, seed)
    bounds = corpus.sentences[corpus.documents]
    first: dict[bytes, int] = {}
    original = np.empty(corpus.n_documents, np.int64)  # the first document with the same words
    for document in range(corpus.n_documents):
        words = corpus.words.codes[bounds[document] : bounds[document + 1]].tobytes()
        original[document] = first.setdefault(words, document)
    if len(first) < number:
        differ = f"only {len(first)} of the {corpus.n_documents} documents differ in their words"
        raise ParameterError(f"{number} folds are too many: {differ}")
    folds = folds[original]
    if len(np.unique(folds)) < number:  # by chance; then the documents that differ are dealt
        _, group = np.unique(original, return_inverse=True)
        folds = _shuffled(len(first), number, seed)[group]
    return folds


def _shuffled(size: int, number: int, seed: int) -> Ints:
    """Folds from 0 to ``number`` − 1, of about equal sizes, in a random order. [size]"""
    folds = np.empty(size, np.int64)
    folds[np.random.default_rng(seed).permutation(size)] = np.arange(size) % number
    return folds
