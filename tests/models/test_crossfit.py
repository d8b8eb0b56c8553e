"""Folds: documents stay whole, copies stay together, and every token is predicted once."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain import CRF, Corpus
from skipchain.corpus.folds import document_folds
from skipchain.datasets.harbour import harbour
from skipchain.errors import ParameterError, SkipchainWarning
from skipchain.models.base.crossfit import cross_fit, cross_predict, deal


def documents(*texts):
    """A corpus of documents of one sentence each."""
    words = [text.split() for text in texts]
    return Corpus.of(
        words, [["O"] * len(own) for own in words], documents=[1] * len(words), scheme="none"
    )


def test_folds_of_documents_are_those_of_the_corpus():
    corpus = harbour()
    wanted = document_folds(corpus, 4, seed=3)
    for most in (False, True):
        folds = deal(corpus, 4, 3, by_documents=True, most=most)
        for fold in folds:
            np.testing.assert_array_equal(fold.held_out, np.flatnonzero(wanted == fold.number))
            both = np.sort(np.concatenate([fold.held_out, fold.rest]))
            np.testing.assert_array_equal(both, np.arange(corpus.n_documents))


def test_tokens_of_a_fold_are_those_that_it_holds():
    corpus = harbour()
    words = corpus.words.tolist()
    for fold in deal(corpus, 3, 0):
        assert [words[k] for k in fold.tokens] == fold.held()[0].words.tolist()
        assert len(fold.training()[0].words) + len(fold.tokens) == len(words)


def test_copies_of_a_document_stay_in_one_fold():
    corpus = documents("a b", "c d", "a b", "e f", "c d", "a b")
    for seed in range(5):
        folds = deal(corpus, 3, seed, by_documents=True, most=True)
        assert len(folds) == 3
        for fold in folds:
            held = {" ".join(own) for own in (s.words for s in fold.held()[0])}
            rest = {" ".join(own) for own in (s.words for s in fold.training()[0])}
            assert not held & rest


def test_there_are_fewer_folds_where_documents_are_few():
    assert len(deal(documents("a", "b", "a"), 5, 0, by_documents=True, most=True)) == 2
    with pytest.warns(SkipchainWarning, match="all documents have the same words"):
        assert len(deal(documents("a", "a", "a"), 2, 0, by_documents=True, most=True)) == 2
    with pytest.raises(ParameterError, match="at least 2 documents"):
        deal(documents("a"), 2, 0, by_documents=True, most=True)
    with pytest.raises(ParameterError, match="wanted from 2"):
        deal(documents("a", "b"), 3, 0, by_documents=True)
    with pytest.raises(ParameterError, match="5 folds need as many sequences"):
        deal([["a"], ["b"]], 5, 0)


def test_copies_do_not_make_folds_impossible():
    corpus = documents(*[f"{k} x" for k in range(10)] * 20)
    for seed in range(20):
        folds = deal(corpus, 5, seed, by_documents=True)
        assert [len(fold.held_out) > 0 for fold in folds] == [True] * 5


def test_sequences_are_dealt_where_there_are_no_documents():
    given, labels = [[{"w": str(k)}] for k in range(7)], [[str(k)] for k in range(7)]
    folds = deal(given, 3, 1, labels=labels)
    assert sorted(k for fold in folds for k in fold.sequences.tolist()) == list(range(7))
    for fold in folds:
        held, own = fold.held()
        assert [x[0]["w"] for x in held] == [y[0] for y in own]


def test_results_come_in_the_order_of_folds():
    folds = deal(harbour(), 4, 0, by_documents=True)
    assert cross_fit(folds, lambda fold: fold.number) == [0, 1, 2, 3]


def test_every_token_is_predicted_by_a_model_that_has_not_seen_it():
    corpus = harbour()
    seen = []

    def fit(fold):
        seen.append(fold.training()[0].n_documents)
        return CRF("word", epochs=2).fit(fold.training()[0]).fitted

    folds = deal(corpus, 3, 0, by_documents=True)
    whole = CRF("word", epochs=1).fit(corpus).fitted
    marginals, labels = cross_predict(folds, fit, whole.labels)
    assert sum(seen) == 2 * corpus.n_documents
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, atol=1e-9)
    assert labels.min() >= 0


def test_sentences_of_one_text_stand_together_in_runs():
    corpus = Corpus.of([[f"w{k}"] for k in range(10)], [["O"]] * 10, scheme="none")
    folds = deal(corpus, 3, 0, most=True, runs=True)
    held = [fold.held()[0].words.tolist() for fold in folds]
    assert held == [["w0", "w1", "w2", "w3"], ["w4", "w5", "w6"], ["w7", "w8", "w9"]]
