"""What `score` counts: the F1 of spans where labels mark spans, however labels are given."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from skipchain import CRF, HMM, MEMM, Corpus
from skipchain.datasets.harbour import harbour
from skipchain.errors import AccuracyWarning, CorpusError, SkipchainWarning

DATA = harbour()[:150]
Y = [sentence.labels for sentence in DATA]
FAST = {"epochs": 3, "dropout": 0.0}


def crf(features="word\nshape", **settings):
    return CRF(features, **FAST, **settings)


def silent(function, *arguments, **settings):
    """What a function gives, where a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        return function(*arguments, **settings)


def outside_share():
    """The share of tokens that are O, below which no model's accuracy is."""
    return np.mean([label == "O" for own in Y for label in own])


def test_cross_val_score_gives_f1_with_y_and_without():
    without = silent(cross_val_score, crf(), DATA, cv=3)
    assert without.max() < 0.8 < outside_share()
    for corpus in (DATA, DATA.without_labels()):
        np.testing.assert_array_equal(silent(cross_val_score, crf(), corpus, Y, cv=3), without)


def test_a_search_with_y_maximises_f1():
    search = GridSearchCV(crf(), {"l2": [0.1]}, cv=2)
    assert silent(search.fit, DATA, Y).best_score_ == silent(search.fit, DATA).best_score_


@pytest.mark.parametrize("corpus", [DATA, DATA.without_labels()], ids=["labelled", "plain"])
def test_labels_beside_a_corpus_are_learnt_as_its_own(corpus):
    fitted, wanted = crf().fit(corpus, Y), crf().fit(DATA)
    assert (fitted.model_.scheme, fitted.classes_) == ("iob2", wanted.classes_)
    np.testing.assert_array_equal(fitted.model_.weights.state, wanted.model_.weights.state)
    assert silent(fitted.score, DATA, Y) == silent(fitted.score, DATA)
    assert crf().fit(DATA, dev=DATA.without_labels(), dev_y=Y).model_.summary["dev"] == (
        pytest.approx(100 * wanted.score(DATA))
    )


def test_the_scheme_of_a_corpus_counts_only_for_labels_of_its_form():
    tags = [["NN" if word[0].isupper() else "VB" for word in s.words] for s in DATA]
    fitted = crf().fit(DATA, tags)
    assert fitted.model_.scheme is None
    assert fitted.classes_ == ["NN", "VB"]
    assert crf(scheme="bioes").fit(DATA.without_labels(), to_bioes()).model_.scheme == "bioes"
    fields = Corpus.of([["12", "Elm", "Road"]], [["no", "street", "street"]], scheme="bare")
    assert crf().fit(fields, [["no", "street", "no"]]).model_.scheme == "bare"
    assert crf().fit(fields, [["NUM", "PROPN", "NOUN"]]).model_.scheme is None


def to_bioes():
    """The labels as they are in another scheme."""
    from skipchain.corpus.schemes import convert

    column = convert(DATA.labels, DATA.sentences, "iob2", "bioes").tolist()
    bounds = DATA.sentences.tolist()
    return [column[a:b] for a, b in pairwise(bounds)]


def test_partial_labels_beside_a_corpus_keep_its_scheme():
    y = [[None if k % 7 == 0 else label for k, label in enumerate(own)] for own in Y]
    y[0][1] = {Y[0][1], "O"}
    assert crf().fit(DATA, y).model_.scheme == "iob2"


def test_passes_over_labels_beside_a_corpus_keep_its_scheme():
    tagger = MEMM("word\nshape", dropout=0.0)
    for first in (0, 75):
        part = DATA[first : first + 75]
        tagger.partial_fit(part, Y[first : first + 75], classes=sorted({k for y in Y for k in y}))
    assert tagger.model_.scheme == "iob2"
    assert silent(tagger.score, DATA, Y) == silent(tagger.score, DATA)


def test_score_warns_where_it_is_accuracy():
    tags = Corpus.of([["a", "b"]] * 3, [["DT", "NN"]] * 3, scheme="none")
    with pytest.warns(AccuracyWarning, match="is token accuracy: the labels .* mark no spans"):
        assert HMM("word").fit(tags).score(tags) == 1.0
    X = [[{"w": word} for word in sentence.words] for sentence in DATA]
    with pytest.warns(AccuracyWarning, match=r"'[BI]-\w+' without their scheme; .*scheme='iob2'"):
        found = crf().fit(X, Y).score(X, Y)
    assert silent(crf(scheme="iob2").fit(X, Y).score, X, Y) != found
    assert "F1" in CRF.score.__doc__
    assert "accuracy" in CRF.score.__doc__


def test_rare_mistakes_in_labels_beside_a_corpus_are_repaired_and_told():
    y = [list(own) for own in Y]
    assert y[1][:2] == ["B-LOC", "O"]
    y[1][0] = "I-LOC"
    with pytest.warns(SkipchainWarning, match="1 label breaks iob2 and is repaired"):
        assert crf().fit(DATA.without_labels(), y).model_.scheme == "iob2"
    words, broken = Corpus.of([["a", "b"]] * 4), [["B-X", "I-X"], ["I-X", "B-Y"]] * 2
    with pytest.raises(CorpusError, match=r"labels break iob2.*scheme=, with encoding=None, const"):
        crf().fit(words, broken)
    as_they_are = crf(scheme="iob2", encoding=None, constraints="none")
    assert as_they_are.fit(words, broken).classes_ == ["B-X", "B-Y", "I-X"]
