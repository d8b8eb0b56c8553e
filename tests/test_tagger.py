"""What the Python API says to arguments that cannot be meant: a clear error of ours, at once."""

from __future__ import annotations

import os

import numpy as np
import pytest

from skipchain import CRF, MEMM, Corpus, evaluate, read
from skipchain.errors import (
    CorpusError,
    ModelFileError,
    NotFittedError,
    ParameterError,
    SkipchainError,
)
from skipchain.metrics import significance
from skipchain.models.base.model import MAX_NBEST
from skipchain.tagger import Tagger, load

WORDS = [["Then", "Ada", "slept", "."], ["Bo", "slept", "."], ["Then", "all", "ran", "."]]
LABELS = [["O", "B-PER", "O", "O"], ["B-PER", "O", "O"], ["O", "O", "O", "O"]]
CORPUS = Corpus.of(WORDS * 9, LABELS * 9, scheme="iob2")
SIZE = CORPUS.n_tokens


@pytest.fixture(scope="module")
def crf():
    return CRF("word").fit(CORPUS)


@pytest.fixture(scope="module")
def tagger(crf):
    return Tagger(crf.model_)


@pytest.mark.parametrize("wrong", [3, b"O", ["O"], float("nan"), ("O",), True])
def test_forced_labels_are_strings_or_none(tagger, wrong):
    with pytest.raises(ParameterError, match=r"token 2: the forced label .* neither a string nor"):
        tagger.predict(CORPUS, forced=["O", None, wrong, *[None] * (SIZE - 3)])


@pytest.mark.parametrize("wrong", ["O" * SIZE, 7])
def test_forced_labels_are_a_list(tagger, wrong):
    with pytest.raises(ParameterError, match="forced takes a list"):
        tagger.predict(CORPUS, forced=wrong)


@pytest.mark.parametrize("size", [0, 1, SIZE - 1, SIZE + 1])
def test_there_are_as_many_forced_labels_as_tokens(tagger, size):
    with pytest.raises(SkipchainError, match=f"{size} forced labels .* for {SIZE} tokens"):
        tagger.predict(CORPUS, forced=["O"] * size)


def test_forced_labels_may_be_anything_that_can_be_gone_through(tagger):
    wanted = tagger.predict(CORPUS, forced=["O"] * SIZE).corpus.labels
    for forced in (np.array(["O"] * SIZE), ("O" for _ in range(SIZE))):
        assert tagger.predict(CORPUS, forced=forced).corpus.labels == wanted


@pytest.mark.parametrize("wrong", [-1, True, 1.5, "3", None, MAX_NBEST + 1, 10**9, 10**30])
def test_the_number_of_labellings_is_one(tagger, crf, wrong):
    with pytest.raises(ParameterError, match=r"nbest must be (a whole number|at most 10,000)"):
        tagger.predict(CORPUS, nbest=wrong)
    with pytest.raises(ParameterError, match=r"nbest must be (a whole number|at most 10,000)"):
        crf.predict_nbest(CORPUS, wrong)


def test_labellings_that_do_not_fit_into_memory_are_refused(crf):
    long = Corpus.of([["Ada"] * 40_000])
    with pytest.raises(ParameterError, match=r"10,000 best labellings of 40,000 tokens take .* MB"):
        crf.predict_nbest(long, MAX_NBEST)
    many = Corpus.of([["Ada"]] * 150_000)
    with pytest.raises(ParameterError, match="give the input in parts"):
        crf.predict_nbest(many, MAX_NBEST)
    second = MEMM("word", order=2).fit(CORPUS)
    with pytest.raises(ParameterError, match="best labellings of 20,000 tokens"):
        second.predict_nbest(Corpus.of([["Ada"] * 20_000]), MAX_NBEST)


def test_many_labellings_of_short_sentences(crf):
    best = crf.predict_nbest(CORPUS, np.int64(1000))
    assert 1 < len(best[0].paths) <= 1000


@pytest.mark.parametrize("wrong", [None, 3, b"Ada", {"Ada"}, CORPUS])
def test_tag_takes_a_string(tagger, wrong):
    with pytest.raises(ParameterError, match="tag takes a string, got"):
        tagger.tag(wrong)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            [["Ada", "slept"]],
            r"text 0: tag takes a string, got list; .*Corpus.of\(lists of words\)",
        ),
        (["Ada slept.", None], "text 1: tag takes a string, got NoneType"),
        (("Ada slept." for _ in range(2)), "got generator; pipe takes"),
    ],
)
def test_tag_takes_a_list_of_texts(tagger, wrong, told):
    with pytest.raises(ParameterError, match=told):
        tagger.tag(wrong)


@pytest.mark.parametrize("wrong", [None, 3, "Ada", [3], [None]])
def test_models_take_a_corpus_or_sequences(tagger, crf, wrong):
    for call in (tagger.label, crf.predict, crf.predict_marginals, crf.score, CRF("word").fit):
        with pytest.raises(CorpusError, match=r"wanted a"):
            call(wrong)
    with pytest.raises(SkipchainError, match="predict takes a Corpus"):
        tagger.predict(wrong)


@pytest.mark.parametrize("wrong", [3, "abc", [3] * 27, [[1] * 4] * 27, [None] * 27])
def test_labels_are_a_list_of_strings_for_each_sequence(wrong):
    with pytest.raises(CorpusError):
        CRF("word").fit(CORPUS, wrong)
    with pytest.raises(CorpusError):
        CRF("word").fit(CORPUS, dev=CORPUS, dev_y=wrong)


def test_a_tagger_needs_a_model(crf):
    with pytest.raises(NotFittedError, match="this CRF is not fitted yet; call fit first"):
        Tagger(CRF())
    with pytest.raises(ParameterError, match=r"got str; load\(path\) reads one"):
        Tagger("model.skip")
    for wrong in (0, "2", 1.5):
        with pytest.raises(ParameterError, match="threads must be a whole number"):
            Tagger(crf.model_, wrong)
    with pytest.raises(NotFittedError):
        CRF("word").predict(CORPUS)


@pytest.mark.parametrize(
    "question",
    [
        {"token": None}, {"token": 1.5}, {"token": -1}, {"token": True},
        {"token": 0, "labels": 3}, {"token": 0, "labels": "O,B-PER"},
        {"token": 0, "labels": [1, 2]}, {"token": 0, "sentence": "a"}, {"token": 0, "sentence": -1},
    ],
)  # fmt: skip
def test_questions_that_ask_for_nothing(tagger, question):
    with pytest.raises(ParameterError):
        tagger.explain("Ada slept", **question)


@pytest.mark.parametrize("wrong", [LABELS, None, "a", 3])
def test_scores_are_those_of_corpora(wrong):
    for gold, predicted in ((wrong, CORPUS), (CORPUS, wrong)):
        with pytest.raises(CorpusError, match=r"must be those of a Corpus, .* Corpus.of"):
            evaluate(gold, predicted)
        with pytest.raises(CorpusError, match=r"must be those of a Corpus"):
            significance(gold, predicted, predicted)
    with pytest.raises(ParameterError, match="seed must be a whole number"):
        evaluate(CORPUS, CORPUS, intervals=True, seed="a")


@pytest.mark.parametrize(
    "arguments",
    [(3,), ([3],), (["Ada"],), ("Ada",), ([["a"]], 3), ([["a"]], [3]), ([["a"]], ["O"])],
)
def test_a_corpus_is_made_of_lists_of_words(arguments):
    with pytest.raises(CorpusError, match="wanted a list of strings per sentence"):
        Corpus.of(*arguments)


def test_documents_are_counted():
    with pytest.raises(ParameterError, match="sentences of a document must be a whole number"):
        Corpus.of([["a"]], documents="1")


@pytest.mark.parametrize("wrong", [3, None, b"a.conll"])
def test_a_path_is_a_string_or_a_path(wrong):
    with pytest.raises(ParameterError, match="a path must be a string or a Path"):
        read(wrong)


def test_a_pipe_is_no_model(tmp_path):
    os.mkfifo(tmp_path / "m.skip")
    with pytest.raises(ModelFileError, match="no regular file"):
        load(tmp_path / "m.skip")
