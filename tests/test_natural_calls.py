"""Calls as people write them who have not read the guide: they work, or say what does."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from skipchain import CRF, Corpus, Factored, Tagger, load
from skipchain.errors import (
    CorpusError,
    FeatureError,
    NotFittedError,
    ParameterError,
    SkipchainError,
    SkipchainWarning,
)
from skipchain.learn.solvers import LBFGS, SGD
from skipchain.models.registry import model_kinds

WORDS = [["Then", "Ada", "slept", "."], ["Bo", "slept", "."], ["Then", "all", "ran", "."]] * 9
LABELS = [["O", "B-PER", "O", "O"], ["B-PER", "O", "O"], ["O", "O", "O", "O"]] * 9
STREETS = [["12", "High", "Road", ",", "Oslo"], ["7", "Mill", "Lane", ",", "Bergen"]] * 9
PARTS = [["number", "street", "street", "O", "city"]] * 18


@pytest.fixture(scope="module")
def crf():
    return CRF("word").fit(WORDS, LABELS)


@pytest.fixture(scope="module")
def addresses():
    return Tagger(CRF("word\nshape", scheme="bare").fit(STREETS, PARTS))


# Words, and features given directly --------------------------------------------------------------


def test_lists_of_words_are_learnt_from_as_a_corpus_of_them_is(crf):
    corpus = Corpus.of(WORDS, LABELS, scheme="iob2")
    assert crf.model_.scheme == "iob2"
    assert (
        crf.predict_marginals(WORDS)[0] == CRF("word").fit(corpus).predict_marginals(corpus)[0]
    ).all()


def test_a_model_of_words_takes_words(crf):
    for words in (["Ada", "slept"], ("Ada", "slept"), np.array(["Ada", "slept"])):
        assert crf.predict([words]) == [["B-PER", "O"]]
        assert Tagger(crf).label([words]) == [["B-PER", "O"]]
    assert crf.predict_single(["Bo", "slept"]) == ["B-PER", "O"]
    assert crf.predict([[], ["Bo", "slept"]]) == [[], ["B-PER", "O"]]
    assert crf.predict([[]]) == [[]]
    assert crf.predict([]) == []
    assert crf.score(WORDS, LABELS) == 1.0
    assert (cross_val_score(CRF("word"), WORDS, LABELS, cv=2) == 1.0).all()
    assert CRF("word").fit(WORDS, LABELS, dev=WORDS, dev_y=LABELS).model_.summary["dev"] == 100.0


def test_tokens_that_are_lists_or_dicts_have_features_given_directly():
    for token in (lambda word: [f"word={word}"], lambda word: {"word": word}):
        X = [[token(word) for word in sentence] for sentence in WORDS]
        assert CRF().fit(X, LABELS).predict(X[:1]) == LABELS[:1]


def test_words_and_features_are_not_taken_for_one_another(crf):
    with pytest.raises(FeatureError, match="fitted on words; give it lists of words, or a Corpus"):
        crf.predict([[["word=Ada"]]])
    features = [[[f"word={word}"] for word in sentence] for sentence in WORDS]
    with pytest.raises(
        FeatureError, match="no templates to read words or a corpus; give it a dict"
    ):
        CRF().fit(features, LABELS).predict(WORDS)
    with pytest.raises(CorpusError, match="sequence 0 has 2 tokens, but 5 labels"):
        CRF().fit([["word=Ada", "capital"]], ["B-PER"])  # a sequence, and not a list of them
    with pytest.raises(CorpusError, match=r"sentence 0 has \['b'\], which is no string"):
        CRF().fit([["a", ["b"]]], [["O", "O"]])


def test_a_text_is_not_a_list_of_words(crf):
    for call in (crf.predict, Tagger(crf).label):
        with pytest.raises(CorpusError, match=r"sequence 0 is a string, .*tag takes running text"):
            call(["Ada slept."])


# Taggers -----------------------------------------------------------------------------------------


def test_a_tagger_takes_the_estimator_that_learnt(crf):
    tagger = Tagger(crf)
    assert tagger == Tagger(crf.model_)
    assert pickle.loads(pickle.dumps(tagger)).tag("Ada slept.").labels == ("B-PER", "O", "O")
    with pytest.raises(NotFittedError, match="this CRF is not fitted yet; call fit first"):
        Tagger(CRF())


def test_a_tagger_of_a_search_says_where_the_model_is(crf):
    search = GridSearchCV(CRF("word"), {"l2": [0.1]}, cv=2).fit(WORDS, LABELS)
    with pytest.raises(ParameterError, match="got GridSearchCV; of a search it is best_estimator_"):
        Tagger(search)
    assert Tagger(search.best_estimator_).parse("Ada slept.") == {"PER": "Ada"}


def test_predict_says_what_makes_a_corpus_of_words(crf):
    with pytest.raises(SkipchainError, match=r"Corpus.of makes of lists of words; label takes"):
        Tagger(crf).predict(WORDS)


# Fields ------------------------------------------------------------------------------------------


def test_an_address_is_parsed_into_its_fields(addresses):
    found = addresses.parse("12 Mill Road, Bergen")
    assert found == {"number": "12", "street": "Mill Road", "city": "Bergen"}
    assert list(found) == ["number", "street", "city"]


def test_a_field_that_comes_again_is_a_list(addresses):
    text = "12 High Road, Oslo, 7 Mill Lane, Bergen, 12 Mill Lane, Oslo"
    assert addresses.parse(text) == {
        "number": ["12", "7", "12"],
        "street": ["High Road", "Mill Lane", "Mill Lane"],
        "city": ["Oslo", "Bergen", "Oslo"],
    }
    assert addresses.parse(["7 Mill Lane", ""]) == [{"number": "7", "street": "Mill Lane"}, {}]
    assert [found.fields for found in addresses.pipe(["7"])] == [{"number": "7"}]


def test_labels_of_single_tokens_make_no_fields():
    parts = [["N", "V"], ["D", "N", "V"]] * 9
    tagger = Tagger(
        CRF("word", scheme="none").fit([["Ada", "ran"], ["the", "dog", "ran"]] * 9, parts)
    )
    assert tagger.tag("Ada ran").labels == ("N", "V")
    with pytest.raises(SkipchainError, match=r"mark no spans, so there are no fields; tag tells"):
        tagger.parse("Ada ran")


# How sure a model is -----------------------------------------------------------------------------

NO_SPAN_PROBABILITIES = {"mop-memm", "skip-chain-crf", "rbm-crf"}


@pytest.mark.parametrize("kind", model_kinds())
def test_confidence_is_a_number_where_the_documentation_says_so(kind):
    own = {"iohmm": {"states": 2}, "hrf": {"states": 2}}.get(kind, {})
    estimator = model_kinds()[kind].load()("word", **own).for_warmup()
    tagger = Tagger(estimator.fit(WORDS, LABELS))
    assert tagger.model.has_span_probabilities == (kind not in NO_SPAN_PROBABILITIES)
    found = tagger.tag("Then Ada slept. Bo slept.").entities
    for entity in found:
        assert (entity.confidence is None) == (kind in NO_SPAN_PROBABILITIES)


def test_the_model_of_the_package_is_always_sure_to_some_degree():
    found = load().tag("Angela Merkel met Ada in Oslo.").entities
    assert all(0.0 < entity.confidence <= 1.0 for entity in found)


def test_what_is_no_corpus_says_how_to_make_one(tmp_path):
    crf = CRF("word", epochs=1).fit(WORDS, LABELS)
    with pytest.raises(CorpusError, match=r"skipchain\.read\(path\) makes one of a file"):
        CRF("word").fit(str(tmp_path / "train.conll"))
    with pytest.raises(CorpusError, match=r"Tagger\(model\)\.tag takes running text"):
        crf.predict("Ada slept.")
    with pytest.raises(CorpusError, match=r"one sentence is \[\['Ada', 'slept'\]\]"):
        crf.predict(["Ada", "slept"])
    with pytest.raises(CorpusError, match="words and labels come apart"):
        Corpus.of([[("Ada", "B-PER"), ("ran", "O")]])


def test_an_estimator_saves_what_it_has_learnt(tmp_path):
    crf = CRF("word", epochs=1).fit(WORDS, LABELS)
    crf.save(tmp_path / "m.skip")
    assert load(tmp_path / "m.skip").label(WORDS) == crf.predict(WORDS)
    with pytest.raises(SkipchainError, match="exists already"):
        crf.save(tmp_path / "m.skip")
    crf.save(tmp_path / "m.skip", overwrite=True)
    with pytest.raises(NotFittedError):
        CRF().save(tmp_path / "n.skip")


def test_words_given_as_texts_are_doubtful():
    tagger = Tagger(CRF("word", epochs=1).fit(WORDS, LABELS))
    for call in (tagger.tag, tagger.parse):
        with pytest.warns(SkipchainWarning, match="each of the 4 texts is one word .*labelled by"):
            call(["Then", "Ada", "slept", "well"])
    with warnings.catch_warnings(action="error"):
        tagger.tag(["Ada", "Bo"])
        tagger.tag(["Ada slept.", "Bo", "Cy"])


def test_nbest_labellings_have_one_name():
    crf = CRF("word", epochs=1).fit(WORDS, LABELS)
    found = Tagger(crf).predict(Corpus.of(WORDS), nbest=2)
    assert [own.labels for own in found.nbest] == [
        own.labels for own in crf.predict_nbest(WORDS, 2)
    ]
    assert found.nbest_labels(0).tolist() == found.corpus.labels.tolist()
    with pytest.raises(ParameterError, match=r"predict\(corpus, nbest=2\)"):
        Tagger(crf).predict(Corpus.of(WORDS)).nbest_labels(0)


# Settings ----------------------------------------------------------------------------------------


def test_a_misspelt_setting_gets_the_nearest():
    with pytest.raises(ParameterError, match="SGD has no setting 'epoch'; did you mean epochs"):
        SGD(epoch=5)
    with pytest.raises(
        ParameterError, match="LBFGS has no setting 'max_iter'; did you mean max_it"
    ):
        LBFGS(max_iter=5)
    with pytest.raises(ParameterError, match="CRF has no parameter 'epoch'; did you mean epochs"):
        CRF(epoch=5)
    assert pickle.loads(pickle.dumps(SGD(epochs=5))) == SGD(epochs=5)


def test_factors_need_spans_whatever_the_scheme_is_called():
    corpus = Corpus.of(WORDS, LABELS, scheme="iob2", documents=[9, 18])
    with pytest.raises(CorpusError, match="factors are about spans, and the corpus' labels mark"):
        Factored(CRF("word", scheme="none"), factors="consistency").fit(corpus)
