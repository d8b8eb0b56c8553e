"""Two passes: the marginals of a word elsewhere in its document count in the second."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skipchain.arrays import Floats, Labels
from skipchain.chains import decode as chains
from skipchain.chains.scores import ChainScores
from skipchain.corpus import Corpus
from skipchain.parallel import Workers

OCCURRENCE_WEIGHT = 2.0  # of the mean marginal of the other occurrences


def two_pass(
    scores: ChainScores,
    corpus: Corpus,
    type_ids: Labels,
    workers: Workers,
    weight: float = OCCURRENCE_WEIGHT,
) -> Labels:
    """The jointly best labels, given how words are labelled elsewhere in their document. [N]

    type_ids [L] are the numbers of the labels' types, −1 outside. A label's score rises by
    ``weight`` times the mean probability that the word has its type at its other places in the
    document.
    """
    elsewhere = other_occurrence_marginals(chains.marginals(scores, workers), corpus, type_ids)
    return chains.viterbi(replace(scores, extra=weight * elsewhere[:, type_ids]), workers)


def other_occurrence_marginals(marginals: Floats, corpus: Corpus, type_ids: Labels) -> Floats:
    """The mean probability of each type at a word's other places, outside last. [N, K + 1]

    Words that occur once in their document have zeros.

    >>> corpus = Corpus.of([["Ada", "met", "Ada"]])
    >>> marginals = np.array([[0.9, 0.1], [1.0, 0.0], [0.4, 0.6]])
    >>> other_occurrence_marginals(marginals, corpus, np.array([-1, 0], np.int32))
    array([[0.6, 0.4],
           [0. , 0. ],
           [0.1, 0.9]])
    """
    types = int(type_ids.max(initial=-1)) + 1
    by_type = np.zeros((len(marginals), types + 1))
    for column, type_id in enumerate(type_ids.tolist()):
        by_type[:, type_id] += marginals[:, column]
    width = len(corpus.words.values)
    places = corpus.document_of(np.arange(len(marginals))) * width + corpus.words.codes
    _, word = np.unique(places, return_inverse=True)
    sums = np.zeros((int(word.max(initial=-1)) + 1, types + 1))
    np.add.at(sums, word, by_type)
    others = np.bincount(word)[word][:, None] - 1
    means: Floats = np.where(others > 0, (sums[word] - by_type) / np.maximum(others, 1), 0.0)
    return means
