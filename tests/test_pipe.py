"""Many texts and corpora in one go: the same as one by one, in order, lazily, errors by name."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import count, islice

import pytest

from skipchain import CRF, HRF, MEMM, Corpus
from skipchain.batches import Batch, batches
from skipchain.errors import ParameterError, SkipchainError
from skipchain.models.base.model import Model
from skipchain.tagged import Prediction, TaggedText
from skipchain.tagger import Tagger, load

WORDS = [["Then", "Ada", "slept", "."], ["Bo", "slept", "."], ["Then", "all", "ran", "."]]
LABELS = [["O", "B-PER", "O", "O"], ["B-PER", "O", "O"], ["O", "O", "O", "O"]]
CORPUS = Corpus.of(WORDS * 9, LABELS * 9, scheme="iob2")
TEXTS = [
    *(f"Then {a} slept. {b} ran, and Ada flew." for a in ("Bo", "Ada") for b in ("All", "Bo")),
    "", "Bo.", " \n", "Mr. Lee of Oslo met Ada Lee in U.S. waters. LEE LEFT!", "\N{ROCKET}", "a",
]  # fmt: skip


@pytest.fixture(scope="module")
def tagger():
    return Tagger(CRF("word\nword[-1]\nshape").fit(CORPUS).model_, threads=2)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch", [1, 3, 256])
def test_texts_are_tagged_as_each_by_itself(tagger, threads, batch):
    found = list(Tagger(tagger.model, threads).pipe(iter(TEXTS), batch=batch))
    one_by_one = [tagger.tag(text) for text in TEXTS]
    assert found == one_by_one
    assert any(own.entities for own in found)
    assert tagger.tag(TEXTS) == tagger.tag(tuple(TEXTS)) == one_by_one


@pytest.mark.parametrize(
    "make",
    [
        lambda: load().model,  # with factors, which are sampled
        lambda: MEMM("word\nhistory(word)").fit(CORPUS).model_,  # short documents are warned of
        lambda: HRF("word", restarts=1).fit(CORPUS).model_,
    ],
)
def test_all_models_tag_texts_as_each_by_itself(make):
    tagger = Tagger(make())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(tagger.pipe(TEXTS)) == [tagger.tag(text) for text in TEXTS]


def test_documents_with_factors_are_drawn_in_a_batch_as_each_by_itself():
    tagger = load()
    names = ["Lima Harbour", "Lima", "Ada Lima", "Oslo United", "United", "Bank of Oslo"]
    texts = [
        " ".join(f"{own} beat {names[(k + m) % 6]} . A Fair and the fair FAIR ." for own in names)
        for k in range(6)
        for m in range(1, 6)
    ]
    found = list(tagger.pipe(texts, batch=12))
    assert found == [tagger.tag(text) for text in texts]
    doubtful = [own.confidence for text in found for own in text.entities if own.confidence < 0.9]
    assert len(set(doubtful)) > 10  # so that what is drawn counts


def test_models_that_draw_through_a_whole_corpus_do_not_take_documents_apart():
    model = load().model
    assert model.apart.annealing.alike
    assert not model.annealing.alike
    assert model.with_moves("token").apart is None
    scattered = replace(model, annealing=replace(model.annealing, random_start=True))
    assert scattered.apart is None


def test_corpora_come_back_as_they_are_predicted(tagger):
    given = [CORPUS[:2].without_labels(), "Ada slept.", "Bo ran.", CORPUS[4:9], CORPUS[:0]]
    found = list(tagger.pipe(given))
    kinds = [Prediction, TaggedText, TaggedText, Prediction, Prediction]
    assert [type(own) for own in found] == kinds
    for own, item in zip(found, given, strict=True):
        if isinstance(item, Corpus):
            wanted = tagger.predict(item)
            assert (own.corpus, own.spans, own.unknown) == (
                wanted.corpus, wanted.spans, wanted.unknown,
            )  # fmt: skip
        else:
            assert own == tagger.tag(item)


def test_a_decoder_is_passed_on(tagger):
    assert list(tagger.pipe(TEXTS, decoder="greedy")) == [
        tagger.tag(text, decoder="greedy") for text in TEXTS
    ]
    assert tagger.tag(TEXTS, decoder="beam", beam=1) == list(
        tagger.pipe(TEXTS, decoder="beam", beam=1)
    )


def test_no_more_is_read_than_a_batch_a_thread_and_one(tagger):
    read = []
    endless = (read.append(k) or f"Ada ran {k}." for k in count())
    stream = tagger.pipe(endless, batch=5)
    assert read == []
    for number, found in enumerate(islice(stream, 40)):
        assert found.text == f"Ada ran {number}."
        assert len(read) <= number + 1 + 5 * (2 + 1)
    stream.close()
    there = len(read)
    assert list(stream) == []
    assert len(read) == there


def test_batches_are_short_where_texts_are_long(monkeypatch):
    monkeypatch.setattr("skipchain.batches.CHARACTERS", 10)
    found = list(batches(["abc", "a" * 30, "b", CORPUS, CORPUS, "c", "d"], 3))
    assert found == [
        Batch(0, ["abc", "a" * 30]), Batch(2, ["b"]), Batch(3, [CORPUS]), Batch(4, [CORPUS]),
        Batch(5, ["c", "d"]),
    ]  # fmt: skip


@pytest.mark.parametrize("batch", [1, 3, 256])
def test_what_cannot_be_tagged_is_named_and_what_comes_before_is_given(tagger, batch):
    found = []
    with pytest.raises(ParameterError, match="text 4: wanted a string or a corpus, got NoneType"):
        found.extend(tagger.pipe(["Ada ran.", "Bo.", CORPUS, "", None, "Bo."], batch=batch))
    assert [type(own) for own in found] == [TaggedText, TaggedText, Prediction, TaggedText]


def _until_failure(stream):
    try:
        yield from stream
    except (SkipchainError, ValueError):
        return


@pytest.mark.parametrize("batch", [1, 3, 256])
def test_a_failure_of_the_model_is_that_of_a_text(tagger, batch, monkeypatch):
    scores = type(tagger.model).scores

    def failing(self, given, *others):
        if "Ella" in given.words.values:
            raise SkipchainError("no such word")
        return scores(self, given, *others)

    monkeypatch.setattr(type(tagger.model), "scores", failing)
    texts = ["Ada ran.", "Bo ran.", "Then\x1b Ella ran.", "Bo."]
    found = [own.text for own in _until_failure(tagger.pipe(texts, batch=batch))]
    assert found == texts[:2]
    with pytest.raises(SkipchainError, match=r"^text 2, 'Then\\x1b Ella ran\.': no such word$"):
        list(tagger.pipe(texts, batch=batch))
    given = [CORPUS, Corpus.of([["Ella"]])]
    with pytest.raises(SkipchainError, match=r"^corpus 1: no such word$"):
        list(tagger.pipe(given, batch=batch))


def test_a_failure_that_is_not_ours_tells_of_the_text_too(tagger, monkeypatch):
    def failing(*_):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(type(tagger.model), "scores", failing)
    with pytest.raises(ZeroDivisionError) as told:
        list(tagger.pipe(["Ada ran."]))
    assert told.value.__notes__ == ["in text 0, 'Ada ran.'"]


def test_a_failure_to_read_comes_behind_what_was_read(tagger):
    def texts():
        yield "Ada ran."
        raise ValueError("the line is cut")

    assert [own.text for own in _until_failure(tagger.pipe(texts()))] == ["Ada ran."]
    with pytest.raises(ValueError, match="the line is cut"):
        list(tagger.pipe(texts()))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("Ada ran.", "got a string; tag takes one"),
        (CORPUS, "got a corpus; predict takes one"),
        (3, "got int"),
    ],
)
def test_pipe_takes_many(tagger, wrong, told):
    with pytest.raises(ParameterError, match=f"pipe takes many texts or corpora, {told}"):
        tagger.pipe(wrong)


def test_pipe_refuses_settings_at_once(tagger):
    with pytest.raises(ParameterError, match="batch must be a whole number"):
        tagger.pipe([], batch=0)
    with pytest.raises(SkipchainError, match="no decoder 'gibbs'"):
        tagger.pipe([], decoder="gibbs")
    assert list(tagger.pipe([])) == []


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [(["Ada", "ran"], "Corpus.of"), (("Ada",), "Corpus.of"), (b"Ada", "decode"), (3, "got int")],
)
def test_what_is_no_text_is_advised(tagger, wrong, advice):
    with pytest.raises(ParameterError, match=f"text 0: .*{advice}"):
        list(tagger.pipe([wrong]))


def test_every_model_says_whether_documents_are_labelled_alone():
    assert Model.labels_documents_alone.fget(object()) is False
    assert CRF("word").fit(CORPUS).model_.labels_documents_alone
