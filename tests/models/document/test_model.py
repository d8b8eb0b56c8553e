"""Chain models with factors: fitting, decoding, model files, and the command line."""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import replace
from functools import partial
from warnings import catch_warnings

import numpy as np
import pytest
from sklearn.base import clone

from skipchain import CRF, HMM, MEMM, Corpus, MaxEnt, Perceptron, SkipchainError, Tagger, cli, read
from skipchain.corpus.schemes import Spans, validate
from skipchain.datasets.harbour import harbour
from skipchain.errors import CorpusError, ModelFileError, ParameterError, SkipchainWarning
from skipchain.learn.step import INTERRUPTED
from skipchain.metrics.consistency import label_consistency
from skipchain.modelfile import load_model, save
from skipchain.models.document.annealing import Annealing, anneal
from skipchain.models.document.candidates import CandidateLimits
from skipchain.models.document.estimator import CHAIN_KINDS, Factored
from skipchain.models.document.factors import (
    Agreement,
    Consistency,
    Forbidden,
    LastWord,
    count_pairs,
)
from skipchain.models.document.model import FactoredModel
from skipchain.parallel import Workers
from skipchain.tagger import load
from tests.modelfile.test_modelfile import rewritten

TRAIN, TEST = harbour().split(0.75)
SHORT = TEST[: int(TEST.documents[3])]
TEMPLATES = "word[-1..1]\nshape\nsuffix(3)"
TYPES = ("LOC", "MISC", "ORG", "PER")
DECODERS = ("gibbs", "icm", "mean-field", "two-pass", "viterbi", "posterior", "greedy", "beam")


def chain(**settings):
    return CRF(TEMPLATES, **{"epochs": 4, **settings})


@pytest.fixture(scope="module")
def fitted():
    return Factored(chain(), folds=2, samples=30).fit(TRAIN)


@pytest.fixture(scope="module")
def base(fitted):
    return fitted.model_.base


def predicted(model, corpus=SHORT, **how):
    return Tagger(model).predict(corpus, **how)


# Fitting -----------------------------------------------------------------------------------------


def test_names_keep_their_type(fitted, base):
    found, before = predicted(fitted.model_, TEST), predicted(base, TEST)
    kept, plain = (label_consistency(TEST, own.spans) for own in (found, before))
    # a chain finds 2 or 3 names that occur again, too few for shares of them to be compared
    assert kept.groups - kept.inconsistent > plain.groups - plain.inconsistent
    assert kept.inconsistent <= 1
    assert fitted.score(TEST) > chain().fit(TRAIN).score(TEST) > 0.3  # about 0.6 and 0.5
    assert fitted.fitted.kind == "factored"
    assert isinstance(fitted.model_, FactoredModel)


def test_learnt_penalties_stand_in_the_model(fitted):
    (factor,) = fitted.model_.factors
    assert factor.types == TYPES
    assert (factor.strength, factor.by_length, factor.shared) == (1.0, False, True)
    assert factor.same[0, 0] > factor.same[0, 1]
    half = Factored(chain(), folds=2, strength=0.5).fit(TRAIN).model_.factors[0]
    np.testing.assert_array_equal(half.same, factor.same)
    assert half.strength == 0.5


def test_counted_penalties_are_those_of_the_data():
    found = Factored(chain(epochs=1), penalties="counted", strength=0.25).fit(TRAIN).model_
    wanted = Consistency.fit(TRAIN, 0.25)
    np.testing.assert_array_equal(found.factors[0].same, wanted.same)
    np.testing.assert_array_equal(found.factors[0].inside, wanted.inside)
    own, other = (
        (one.types, one.strength, one.by_length, one.shared) for one in (found.factors[0], wanted)
    )
    assert own == other


def test_given_penalties_are_kept():
    factors = [Agreement("LOC", "lower", 1.0), LastWord("PER", 2.0), Forbidden("PER", "ORG")]
    found = Factored(chain(epochs=1), factors=factors, penalties="given", strength=2.0).fit(TRAIN)
    assert found.model_.factors == (
        Agreement("LOC", "lower", 2.0), LastWord("PER", 4.0), Forbidden("PER", "ORG"),
    )  # fmt: skip


def test_all_kinds_of_penalties_are_learnt():
    text = "last_word(PER); consistency; forbidden(PER, MISC); agreement(LOC, by=words)"
    found = Factored(chain(), factors=text, folds=2).fit(TRAIN).model_.factors
    assert [type(own) for own in found] == [LastWord, Consistency, Forbidden, Agreement]
    assert found[0].penalty not in (4.0, 0.0)
    assert found[3].penalty not in (4.0, 0.0)
    assert found[3].by == "words"


@pytest.mark.parametrize("penalties", ["counted", "learned"])
def test_consistency_of_some_types_stays_about_these(penalties):
    factor = Consistency.blank(("PER", "LOC"))
    own = Factored(chain(epochs=1), factors=[factor], penalties=penalties, folds=2)
    found = own.fit(TRAIN).model_.factors[0]
    assert found.types == ("PER", "LOC")
    if penalties == "counted":
        wanted = Consistency.fit(TRAIN)
        np.testing.assert_array_equal(found.same, wanted.same[np.ix_([3, 0], [3, 0])])


def rare():
    """A type that only one document has, and a document without tokens."""
    words = [["Lee", "met", "Bo"], ["Lee", "slept"], ["in", "Rome"]]
    labels = [["B-PER", "O", "B-PER"], ["B-PER", "O"], ["O", "B-LOC"]]
    return Corpus.of(
        [*words * 4, [], ["Zed", "is", "Zed"], ["Zed"]],
        [*labels * 4, [], ["B-ODD", "O", "B-ODD"], ["B-ODD"]],
        scheme="iob2", documents=[3, 3, 3, 3, 1, 2],
    )  # fmt: skip


@pytest.mark.parametrize("factors", [None, "last_word(ODD)", "forbidden(ODD, PER); consistency"])
def test_a_type_of_one_document_only_is_no_hindrance(factors):
    found = Factored(CRF("word"), factors=factors, folds=3).fit(rare())
    assert found.model_.label_types.types == ("LOC", "ODD", "PER")
    assert found.score(rare()) > 0.8  # of 19 names one is not found; two would be 0.89


@pytest.mark.parametrize(
    "estimator",
    [
        CRF(TEMPLATES, epochs=2, order=2), CRF(TEMPLATES, epochs=2, encoding="io"),
        MEMM(TEMPLATES, epochs=2), MEMM(TEMPLATES, epochs=2, order=2), MaxEnt(TEMPLATES, epochs=2),
        HMM(), CRF(TEMPLATES, epochs=2, constraints="none"), CRF(TEMPLATES, epochs=2, dictionary=3),
    ],
    ids=str,
)  # fmt: skip
def test_any_chain_with_probabilities_will_do(estimator):
    train = TRAIN[: int(TRAIN.documents[12])]
    found = Factored(estimator, penalties="counted", strength=0.25, samples=10).fit(train)
    # a span more or less is up to 0.03
    assert found.score(SHORT) >= clone(estimator).fit(train).score(SHORT) - 0.1
    labels = predicted(found.model_).corpus.labels
    assert validate(labels, SHORT.sentences, "iob2") == []


def test_a_kind_of_model_is_enough():
    corpus = rare()
    assert Factored("hmm", folds=2).fit(corpus).model_.base.kind == "hmm"
    assert CHAIN_KINDS == ("crf", "memm", "maxent", "hmm")


def test_held_out_data_are_scored_with_factors(fitted):
    found = clone(fitted).fit(TRAIN, dev=TEST)
    assert found.model_.summary["dev"] == pytest.approx(100 * fitted.score(TEST))
    assert found.model_.base.summary["dev"] != found.model_.summary["dev"]


def test_another_model_may_be_begun_from(fitted):
    warm = Factored(chain(epochs=1), penalties="given")
    scores = [warm.fit(TRAIN, start=own).score(TEST) for own in (fitted, fitted.model_)]
    assert (
        scores[0] == scores[1] > Factored(chain(epochs=1), penalties="given").fit(TRAIN).score(TEST)
    )


def test_the_scheme_may_be_given_to_the_chain():
    plain = TRAIN.with_labels(TRAIN.labels)
    found = Factored(chain(epochs=1, scheme="iob2"), penalties="counted").fit(plain)
    wanted = Factored(chain(epochs=1), penalties="counted").fit(TRAIN)
    assert found.predict(TEST) == wanted.predict(TEST)


class Impatient:
    """A display that stops the training when a part of it begins."""

    def __init__(self, part):
        self.stage, self.begun = part, []

    def begin(self, problem):
        self.begun.append(problem.stage)

    def step(self, step, dev):
        if self.begun[-1] == self.stage:
            raise KeyboardInterrupt

    def end(self, minimum):
        pass


@pytest.mark.parametrize("part", [None, "without fold 2 of 2, for the factors"])
def test_what_is_interrupted_is_told_and_has_penalties_by_counts(part):
    found = Factored(chain(), folds=2)
    display = Impatient(part)
    found.fit(TRAIN, progress=display)
    assert display.begun[-1] == part
    assert found.result_.reason == INTERRUPTED
    (factor,) = found.model_.factors
    np.testing.assert_array_equal(factor.same, Consistency.of(count_pairs(TRAIN)).same)
    assert found.predict(TEST)


def test_estimators_are_cloned_and_pickled(fitted):
    fresh = clone(fitted)
    assert repr(fresh) == repr(fitted)
    assert fresh.get_params()["folds"] == 2
    assert not hasattr(fresh, "model_")
    assert not hasattr(fresh.base, "model_")
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict(TEST) == fitted.predict(TEST)
    assert not hasattr(fitted.base, "model_")  # what was given is left alone
    assert fresh.set_params(strength=0.5).strength == 0.5


# What is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": 5}, "base is an estimator or the kind of one, got int"),
        ({"base": "oracle"}, "no model 'oracle'"),
        ({"base": Perceptron("word")}, "a chain of order 1 or 2 .* perceptron is none; use crf"),
        ({"base": MEMM("word", order=3)}, "memm, order 3 is none"),
        ({"base": "mop-memm"}, "mop-memm is none"),
        ({"base": Factored()}, "factored is none"),
        ({"penalties": "guessed"}, "penalties must be one of learned, counted, given"),
        ({"strength": -1.0}, "strength must be a number of at least 0"),
        ({"strength": np.nan}, "strength must be a number of at least 0"),
        ({"folds": 1}, "needs at least 2 folds and 2 documents.* got folds=1"),
        ({"folds": 0}, "folds must be a whole number"),
        ({"samples": 0}, "samples must be a whole number of at least 1, got 0"),
        ({"chains": 0}, "chains must be a whole number"),
        ({"moves": "letter"}, "moves must be one of segment, token, got 'letter'"),
        ({"most": 0}, "most must be a whole number"),
        ({"tolerance": -0.5}, "tolerance must be from 0 to 1"),
        ({"tolerance": 1.5}, "tolerance must be from 0 to 1"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"factors": "harmony"}, "no factor 'harmony'"),
        ({"factors": 5}, "factors are text or a list of factors, got 5"),
        ({"factors": [5]}, "factors are text or a list of factors"),
        ({"factors": LastWord("PER")}, "factors are text or a list of factors"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused_before_training(settings, message, monkeypatch):
    monkeypatch.setattr(CRF, "fit", lambda *args, **kwargs: pytest.fail("trained all the same"))
    with pytest.raises(ParameterError, match=message):
        Factored(**{"base": chain(), **settings}).fit(TRAIN)


@pytest.mark.parametrize(
    ("base", "message"),
    [
        (CRF("word\nlabel[-2] & word", order=2), r"'label\[-2\] & word' looks two labels back"),
        (MEMM("word\nhistory(lower)"), r"history\(lower\) looks at labels given earlier in"),
    ],
    ids=["two labels back", "history"],
)
def test_templates_of_more_labels_are_refused_before_training(base, message, monkeypatch):
    with catch_warnings(category=SkipchainWarning, action="ignore"):
        fitted = base.replaced(max_iterations=2).fit(SHORT)
    with pytest.raises(SkipchainError, match=message):
        FactoredModel.from_chain(fitted.model_, ())
    monkeypatch.setattr(type(base), "fit", lambda *a, **k: pytest.fail("trained all the same"))
    with pytest.raises(ParameterError, match=message):
        Factored(base).fit(TRAIN)


@pytest.mark.parametrize(
    "factor",
    ["last_word(DOG)", "agreement(DOG)", "forbidden(PER, DOG)", [Consistency.blank(["DOG"])]],
)
def test_factors_over_unknown_types_are_refused_before_training(factor, monkeypatch):
    monkeypatch.setattr(CRF, "fit", lambda *args, **kwargs: pytest.fail("trained all the same"))
    with pytest.raises(SkipchainError, match="is about DOG, but the model's types are LOC, MISC"):
        Factored(chain(), factors=factor).fit(TRAIN)


def sentence_only(corpus):
    """The same with a document for each sentence."""
    return replace(corpus, documents=np.arange(len(corpus) + 1), names=None, texts=None)


def test_what_factors_cannot_learn_from_is_refused(fitted):
    for given, kind, message in (
        (sentence_only(TRAIN), CorpusError, "documents of several sentences.*DOCSTART"),
        (TRAIN.with_labels(TRAIN.labels), CorpusError, "labels mark none"),
        (TRAIN.without_labels(), CorpusError, "no column 'label'"),
        (replace(TRAIN, documents=np.array([0, len(TRAIN)])), ParameterError, "2 documents"),
        ([[{"word": "Lee"}]], ParameterError, "learns from a labelled Corpus"),
    ):
        with pytest.raises(kind, match=message):
            clone(fitted).fit(given)
    sets = [[{label, "O"} for label in sentence.labels] for sentence in TRAIN]
    with pytest.raises(ParameterError, match="learns from a labelled Corpus"):
        clone(fitted).fit(TRAIN, sets)


def test_labels_beside_a_corpus_are_its_own():
    part = TRAIN[:120]
    estimator = Factored(CRF("word", epochs=2), penalties="counted", samples=5)
    apart = clone(estimator).fit(part.without_labels(), [own.labels for own in part])
    together = estimator.fit(part)
    assert apart.predict(part) == together.predict(part)


def test_labels_that_are_not_known():
    words, labels = ["Lee", "met", "Bo"], ["B-PER", None, "B-PER"]
    given = [["O"] * 3, *[labels] * 7]
    corpus = Corpus.of([words] * 8, given, scheme="iob2", documents=[2] * 4)
    for penalties in ("learned", "counted"):
        with pytest.raises(CorpusError, match="token 4 has no label of its own"):
            Factored(CRF("word"), penalties=penalties).fit(corpus)
    factors = [LastWord("PER", 1.0)]
    found = Factored(CRF("word"), factors=factors, penalties="given").fit(corpus)
    assert found.predict(Corpus.of([words]))[0][0] == "B-PER"


def test_mistakes_of_keys_are_told_with_the_words(base):
    for key, told in ((lambda text: 1 / 0, "ZeroDivisionError"), (lambda text: [], "unhashable")):
        model = FactoredModel.from_chain(base, [Agreement("LOC", key)])
        with pytest.raises(SkipchainError, match=f"the key <lambda> failed for '.+': .*{told}"):
            predicted(model)


def test_models_without_spans_have_no_factors():
    speech = CRF("word").fit(Corpus.of([["a", "b"]], [["x", "y"]], scheme="none")).model_
    with pytest.raises(SkipchainError, match="labels mark none"):
        FactoredModel.from_chain(speech, ())
    tight = (
        CRF("word", scheme="iob2")
        .fit(Corpus.of([["a", "b"]], [["B-A", "I-A"]], scheme="none"))
        .model_
    )
    with pytest.raises(SkipchainError, match="spans among other words"):
        FactoredModel.from_chain(tight, ())
    margins = Perceptron("word").fit(TRAIN[:30]).model_
    with pytest.raises(SkipchainError, match="perceptron is none"):
        FactoredModel.from_chain(margins, ())


def test_factors_and_doubts_of_a_model_are_checked(base):
    with pytest.raises(SkipchainError, match="LastWord is about DOG"):
        FactoredModel.from_chain(base, [LastWord("DOG")])
    with pytest.raises(ParameterError, match="samples must be"):
        FactoredModel.from_chain(base, []).with_samples(0)
    own = FactoredModel.from_chain(base, [], annealing=Annealing(3, (1.0, 0.5, 0.0), seed=4))
    assert own.with_samples(7).annealing == Annealing(7, seed=4)


def test_input_must_be_a_corpus(fitted):
    with pytest.raises(SkipchainError, match=r"takes a Corpus; Corpus.of\("):
        fitted.predict([[{"word": "Lee"}]])
    with pytest.raises(SkipchainError, match="no n-best sequences"):
        fitted.predict_nbest(TEST, 2)


def test_documents_that_cannot_be_right_are_warned_of(fitted):
    with pytest.warns(SkipchainWarning, match="every document is one sentence"):
        found = fitted.predict(sentence_only(SHORT))
    assert len(found) == len(SHORT)
    endless = Corpus.of([sentence.words for sentence in TRAIN])
    with pytest.warns(SkipchainWarning, match="the longest of training had"):
        fitted.predict(endless)
    with catch_warnings(action="error"):  # which no other sentence matters to
        fitted.predict(endless, decoder="viterbi")


# Decoding ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("decoder", DECODERS)
def test_decoders(decoder, fitted, base):
    assert fitted.model_.decoders == DECODERS
    found = predicted(fitted.model_, decoder=decoder)
    labels = found.corpus.labels
    flat = [label for own in fitted.predict(SHORT, decoder=decoder) for label in own]
    assert labels.tolist() == flat
    if decoder in base.decoders:
        wanted = predicted(base, decoder=decoder).corpus.labels
        assert labels.tolist() == wanted.tolist()
    if decoder != "posterior":
        assert validate(labels, SHORT.sentences, "iob2") == []
    assert len(Tagger(fitted.model_).tag("Ada met Bo. Bo slept.", decoder=decoder).labels) == 7


def test_what_is_chosen_scores_more_than_viterbi(fitted):
    model = fitted.model_
    with Workers(1) as workers:
        scores = model.scores(SHORT, workers)
        graph = model.candidate_graph(scores, workers)
        found = {name: model.decode(scores, workers, name).codes for name in DECODERS[:3]}
        own = graph.candidates
        before = graph.score(graph.argmax(own.scores))
        values = {}
        for name, codes in found.items():
            picks = [
                next(
                    q
                    for q in range(own.first[v], own.first[v + 1])
                    if (
                        own.labels[own.label_starts[q] : own.offsets[q + 1]] == codes[start:stop]
                    ).all()
                )
                for v, (start, stop) in enumerate(zip(own.starts, own.stops, strict=True))
            ]
            values[name] = graph.score(np.array(picks))
            np.testing.assert_array_equal(own.assemble_labels(np.array(picks)), codes)
    assert values["gibbs"] >= values["icm"] - 1e-9
    assert values["icm"] > before
    assert values["mean-field"] > before


def test_decoders_that_a_model_does_not_have(fitted):
    with pytest.raises(SkipchainError, match="no decoder 'legal'; it has gibbs, icm, mean-field"):
        fitted.predict(TEST, decoder="legal")


def test_probabilities(fitted, base):
    model = replace(fitted.model_, candidate_limits=CandidateLimits(0.2))
    found = predicted(model, probabilities=True, confidences=True)
    np.testing.assert_allclose(found.marginals.sum(axis=1), 1.0)
    assert found.marginals.min() >= 0.0
    assert len(found.confidences) == len(found.spans)
    assert found.confidences.min() >= 0.0
    assert found.confidences.max() <= 1.0 + 1e-9
    with Workers(1) as workers:
        candidates = model.candidate_graph(model.scores(SHORT, workers), workers).candidates
    certain = np.ones(SHORT.n_tokens, bool)
    for start, stop in zip(candidates.starts, candidates.stops, strict=True):
        certain[start:stop] = False
    before = predicted(base, probabilities=True).marginals
    np.testing.assert_array_equal(found.marginals[certain], before[certain])
    assert 0 < certain.sum() < len(certain)
    own = np.concatenate(fitted.predict_marginals(SHORT))
    np.testing.assert_array_equal(own, predicted(fitted.model_, probabilities=True).marginals)


@pytest.mark.parametrize("order", [1, 2])
def test_without_factors_everything_is_that_of_the_chain(order):
    chain = CRF("word", encoding="io", order=order).fit(rare()).model_
    model = FactoredModel.from_chain(
        chain, (), CandidateLimits(0.0, 64)
    )  # all labellings of three words
    found = predicted(model, rare(), probabilities=True, confidences=True)
    wanted = predicted(chain, rare(), probabilities=True, confidences=True)
    assert found.corpus.labels.tolist() == wanted.corpus.labels.tolist()
    np.testing.assert_allclose(found.marginals, wanted.marginals, atol=1e-12)
    np.testing.assert_allclose(found.confidences, wanted.confidences, atol=1e-12)


def test_confidences_of_any_spans(fitted):
    """Also of those that no candidate has, and those of a type that the model does not have."""
    model = replace(fitted.model_, candidate_limits=CandidateLimits(0.2))
    with Workers(1) as workers:
        scores = model.scores(SHORT, workers)
        own = model.candidate_graph(scores, workers).candidates
        doubtful = int(own.starts[0])
        certain = next(t for t in range(SHORT.n_tokens) if not (
            (own.starts <= t) & (t < own.stops)).any())  # fmt: skip
        # in the order of the text, which of the two comes first depends on what was learnt
        asked = sorted(
            [(0, 1, "DOG"), (certain, certain + 1, "PER"), (doubtful, doubtful + 1, "LOC")]
        )
        found = model.confidences(scores, Spans.of(asked), workers)
        before = model.base.confidences(scores.chain, Spans.of(asked), workers)
        marginals = model.marginals(scores, workers)
    assert found[0] == 0.0
    sure, unsure = (1, 2) if certain < doubtful else (2, 1)
    assert found[sure] == before[sure]
    kinds = model.label_types.type_ids == model.label_types.types.index("LOC")
    assert 0.0 <= found[unsure] <= marginals[doubtful, kinds].sum() + 1e-9


@pytest.mark.parametrize("decoder", DECODERS)
def test_forced_labels_are_kept(decoder, fitted):
    forced = [None] * SHORT.n_tokens
    names = [t for t, word in enumerate(SHORT.words.tolist()) if word[:1].isupper()][:40:4]
    for token in names:
        forced[token] = "B-MISC"
    found = predicted(fitted.model_, forced=forced, decoder=decoder, probabilities=True)
    assert {found.corpus.labels.tolist()[token] for token in names} == {"B-MISC"}
    own = [k for k, label in enumerate(fitted.classes_) if label == "B-MISC"]
    np.testing.assert_allclose(found.marginals[names][:, own].sum(axis=1), 1.0)


def test_seeds_decide_and_threads_do_not(fitted):
    model = fitted.model_
    found = [Tagger(model, threads).predict(SHORT, probabilities=True) for threads in (1, 2)]
    np.testing.assert_array_equal(found[0].marginals, found[1].marginals)
    np.testing.assert_array_equal(found[0].codes, found[1].codes)
    other = replace(model, annealing=replace(model.annealing, seed=9))
    assert (predicted(other, probabilities=True).marginals != found[0].marginals).any()


def test_empty_input(fitted):
    assert fitted.predict(Corpus.of([])) == []
    assert fitted.predict(Corpus.of([[], []])) == [[], []]
    assert [own.shape[0] for own in fitted.predict_marginals(Corpus.of([[], ["Lee"]]))] == [0, 1]
    with catch_warnings(category=SkipchainWarning, action="ignore"):
        for decoder in DECODERS:
            assert len(fitted.predict(Corpus.of([["x"], []]), decoder=decoder)) == 2


def test_explanations_add_up(fitted):
    """What the two readings of a stretch differ by is what the whole labelling gains."""
    model = fitted.model_
    with Workers(1) as workers:
        graph = model.candidate_graph(model.scores(SHORT, workers), workers)
        picks = anneal(graph, model.annealing, workers)
    own = graph.candidates
    changed = np.flatnonzero(own.assemble_labels(picks) != own.fixed)
    assert len(changed)
    for token in changed[:10].tolist():
        found = Tagger(model).explain(SHORT, token)
        stretch = int(np.searchsorted(own.starts, token, side="right")) - 1
        before = picks.copy()
        before[stretch] = own.first[stretch]
        gain = graph.score(picks) - graph.score(before)
        assert found.factored.total - found.chain.total == pytest.approx(gain)
        assert found.changed
        assert found.chain.label == model.labels[own.fixed[token]]
        assert found.factored.remarks or found.chain.remarks


# Factors of one's own ----------------------------------------------------------------------------


class Few:
    """At most so many spans of a type in a document."""

    def __init__(self, label, most):
        self.label, self.most = label, most

    def begin(self, words, labels):
        self.labels = list(labels)

    def score(self, position, label):
        now = [*self.labels[:position], label, *self.labels[position + 1 :]]
        return -20.0 * max(0, sum(own.endswith(self.label) for own in now) - self.most)

    def update(self, position, label):
        self.labels[position] = label


def test_a_factor_in_python_has_its_say(base):
    few = FactoredModel.from_chain(base, [Few("PER", 0)], CandidateLimits(0.3, 8), Annealing(6))
    document = TEST[:6]
    labels = predicted(few, document).corpus.labels.tolist()
    before = predicted(base, document).corpus.labels.tolist()
    assert sum(own.endswith("PER") for own in labels) < sum(own.endswith("PER") for own in before)
    again = predicted(few, document).corpus.labels.tolist()
    assert again == labels
    with pytest.raises(SkipchainError, match="need the decoder gibbs, not icm"):
        predicted(few, document, decoder="icm")
    with pytest.raises(SkipchainError, match="no probabilities"):
        predicted(few, document, probabilities=True)
    with pytest.raises(ModelFileError, match="Few is a factor of your own"):
        save(few, "never.skip")


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("score", lambda *given: 1 / 0, r"Few failed at token \d+ of its document .* ZeroDivision"),
        ("update", lambda *given: {}["x"], r"Few failed at token \d+ of its document .* KeyError"),
        ("begin", lambda *given: {}["x"], "Few could not begin a document of .* KeyError"),
        ("score", lambda *given: np.nan, r"gave nan at token \d+ .* finite number"),
        ("score", lambda *given: -np.inf, r"gave -inf at token \d+ .* finite number"),
        ("score", lambda *given: "much", r"Few failed at token \d+ .* ValueError"),
    ],
)
def test_mistakes_of_a_factor_in_python_are_told_with_their_place(method, answer, message, base):
    factor = Few("PER", 0)
    setattr(factor, method, answer)
    with pytest.raises(SkipchainError, match=message):
        predicted(FactoredModel.from_chain(base, [factor]))


# Model files -------------------------------------------------------------------------------------


def first_letter(text):
    return text[:1] or None


KINDS = {
    "consistency": [Consistency(TYPES, -np.ones((4, 4)), np.eye(4), 0.5, by_length=True)],
    "not shared": [Consistency(("PER",), np.zeros((1, 1)), np.ones((1, 1)), shared=False)],
    "agreement": [Agreement("LOC", "lower", 2.5)],
    "agreement by words": [Agreement("LOC", "lower", 2.5, "words")],
    "own key": [Agreement("LOC", first_letter, 0.5)],
    "last word": [LastWord("PER", 1.5)],
    "forbidden": [Forbidden("LOC", "PER")],
    "none": [],
    "further": [LastWord("ODD")],
    "several": [LastWord("PER"), Consistency.blank(TYPES), LastWord("ORG", 0.5)],
}


@pytest.mark.parametrize("name", KINDS)
def test_models_with_factors_round_trip(name, base, tmp_path):
    moves = "token" if name in ("consistency", "agreement by words", "several") else "segment"
    annealing = Annealing(4, (2.0, 1.0, 0.5, 0.0), 2, 3, True, moves)
    model = FactoredModel.from_chain(
        base, KINDS[name], CandidateLimits(0.02, 5), annealing,
        {"longest_document": 300, "dev": None}, ["ODD"] if name == "further" else (),
    )  # fmt: skip
    save(model, tmp_path / "m.skip")
    found = load_model(tmp_path / "m.skip", {"first_letter": first_letter})
    assert [repr(own) for own in found.factors] == [repr(own) for own in model.factors]
    assert (found.candidate_limits, found.annealing) == (model.candidate_limits, model.annealing)
    assert (found.kind, found.base.kind) == ("factored", "crf")
    assert found.summary == model.summary
    assert found.base.summary == base.summary
    for decoder in DECODERS:
        one, other = (predicted(own, decoder=decoder, probabilities=True) for own in (found, model))
        np.testing.assert_array_equal(one.codes, other.codes)
        np.testing.assert_array_equal(one.marginals, other.marginals)
    save(found, tmp_path / "again.skip")
    assert (tmp_path / "again.skip").read_bytes() == (tmp_path / "m.skip").read_bytes()


def test_learnt_models_round_trip(fitted, tmp_path):
    save(fitted, tmp_path / "m.skip")
    tagger = load(tmp_path / "m.skip")
    assert tagger.label(TEST) == fitted.predict(TEST)
    assert tagger.model.summary == fitted.model_.summary


def test_functions_that_compare_must_be_given_again(base, tmp_path):
    save(FactoredModel.from_chain(base, KINDS["own key"]), tmp_path / "m.skip")
    with pytest.raises(ModelFileError, match=r"m.skip: .* 'first_letter'.*functions=\{"):
        load_model(tmp_path / "m.skip")


def lower(text):
    return text


@pytest.mark.parametrize(
    "key", [lambda text: text, lower, partial(first_letter)], ids=["lambda", "shadowing", "partial"]
)
def test_functions_that_compare_need_names_of_their_own(key, base, tmp_path):
    with pytest.raises(ModelFileError, match="needs a name of its own"):
        save(FactoredModel.from_chain(base, [Agreement("LOC", key)]), tmp_path / "m.skip")
    assert not (tmp_path / "m.skip").exists()


@pytest.fixture(scope="module")
def whole(base, tmp_path_factory):
    """A file with every kind of factor."""
    path = tmp_path_factory.mktemp("factored") / "m.skip"
    factors = [
        own
        for name in ("consistency", "agreement", "last word", "forbidden")
        for own in KINDS[name]
    ]
    save(FactoredModel.from_chain(base, factors), path)
    return path.read_bytes()


DAMAGE = [
    (lambda h: h["factors"].append({"factor": "harmony"}), None, "factor is 'harmony'"),
    (lambda h: h["factors"][0].pop("types"), None, "lacks 'types'"),
    (lambda h: h["factors"][0].update(types=["LOC", "PER"]), None, "factors.0.same has the shape"),
    (lambda h: h["factors"][0].update(types=["A", "B", "C", "D"]), None, "is about A, B, C, D"),
    (lambda h: h["factors"][0].update(strength=-1), None, "strength is -1"),
    (lambda h: h["factors"][0].update(strength="strong"), None, "damaged"),
    (lambda h: h["factors"][1].update(type="DOG"), None, "Agreement is about DOG"),
    (lambda h: h["factors"][1].update(key="sound"), None, "function 'sound' of its author"),
    (lambda h: h["factors"][1].update(penalty=float("nan")), None, "penalty is nan"),
    (lambda h: h["factors"][1].update(by="letters"), None, "by is 'letters'"),
    (lambda h: h["factors"][2].pop("penalty"), None, "lacks 'penalty'"),
    (lambda h: h["factors"][3].update(one="PER"), None, "'PER' twice"),
    (lambda h: h.update(factors=7), None, "damaged"),
    (lambda h: h.update(factors=[7]), None, "damaged"),
    (lambda h: h.pop("base"), None, "lacks 'base'"),
    (lambda h: h["base"].update(kind="perceptron"), None, "perceptron is none"),
    (lambda h: h.pop("doubts"), None, "lacks 'doubts'"),
    (lambda h: h["doubts"].update(tolerance=2.0), None, "tolerance is 2.0"),
    (lambda h: h["doubts"].update(most=0), None, "most is 0"),
    (lambda h: h["annealing"].update(samples=0), None, "samples is 0"),
    (lambda h: h["annealing"].update(cooling=[1.0, -1.0]), None, r"cooling\[1\] is -1.0"),
    (lambda h: h["annealing"].update(cooling="slowly"), None, "slowly"),
    (lambda h: h["annealing"].update(moves="letter"), None, "moves is 'letter'"),
    (lambda h: h.update(encoding=None), None, "labels mark none"),
    (None, lambda a: a.pop("factors.0.same"), "factors.0.same"),
    (None, lambda a: a["factors.0.inside"].fill(np.nan), "finite"),
    (None, lambda a: a.update({"factors.0.same": np.triu(np.ones((4, 4)))}), "symmetric"),
    (None, lambda a: a.update({"factors.0.same": np.zeros(3)}), "1 dimensions"),
    (None, lambda a: a.pop("weights.start"), "weights.start"),
]


@pytest.mark.parametrize(("header", "arrays", "message"), DAMAGE)
def test_damage_is_named(header, arrays, message, whole, tmp_path):
    path = tmp_path / "m.skip"
    path.write_bytes(whole)
    rewritten(path, header, arrays)
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


def test_files_of_earlier_versions_sample_segments_and_count_pairs(whole, tmp_path):
    path = tmp_path / "m.skip"
    path.write_bytes(whole)
    rewritten(path, lambda h: (h["annealing"].pop("moves"), h["factors"][1].pop("by")), None)
    model = load_model(path)
    assert model.annealing.moves == "segment"
    assert model.factors[1].by == "pair"


# Moves of single tokens --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def by_tokens(fitted):
    return fitted.model_.with_moves("token")


def test_moves_are_a_setting_of_the_estimator(fitted, by_tokens):
    again = Factored(**{**fitted.get_params(deep=False), "moves": "token"}).fit(TRAIN)
    assert again.model_.annealing == by_tokens.annealing
    assert again.predict(TEST) == predicted_lists(by_tokens)


def predicted_lists(model):
    with Workers(1) as workers:
        return model.label(TEST, workers)


def test_names_keep_their_type_token_by_token(by_tokens, base):
    found, before = predicted(by_tokens, TEST), predicted(base, TEST)
    kept, plain = (label_consistency(TEST, own.spans) for own in (found, before))
    assert kept.groups - kept.inconsistent >= plain.groups - plain.inconsistent
    assert validate(found.corpus.labels, found.corpus.sentences, "iob2") == []


def test_tokens_and_segments_have_like_probabilities(fitted, by_tokens):
    many = [replace(own, annealing=replace(own.annealing, samples=2000)) for own in (
        fitted.model_, by_tokens)]  # fmt: skip
    one, other = (predicted(own, SHORT, probabilities=True, confidences=True) for own in many)
    np.testing.assert_allclose(other.marginals.sum(axis=1), 1.0)
    assert abs(one.marginals - other.marginals).sum(axis=1).mean() < 0.12  # of 2 at most
    assert other.confidences.min() >= 0.0
    assert other.confidences.max() <= 1.0 + 1e-9


def test_samples_that_the_scheme_never_allows_leave_the_chain(by_tokens):
    with Workers(1) as workers:
        scores = by_tokens.scores(SHORT, workers)
        graph = by_tokens.token_graph(scores, workers)
        assert len(graph.tokens)
        never = graph.allowed._replace(pairs=np.zeros_like(graph.allowed.pairs))
        scores.token_graph = replace(graph, allowed=never)
        with pytest.warns(SkipchainWarning, match="no sample was a labelling that the scheme"):
            found = by_tokens.marginals(scores, workers)
        alone = by_tokens.base.marginals(scores.chain, workers)
        np.testing.assert_array_equal(found, alone)
        spans = SHORT.spans()
        np.testing.assert_array_equal(
            by_tokens.confidences(scores, spans, workers),
            by_tokens.base.confidences(scores.chain, spans, workers),
        )


def test_confidences_of_any_spans_token_by_token(by_tokens):
    # after so few epochs no label is certain to a thousandth
    by_tokens = replace(by_tokens, candidate_limits=CandidateLimits(tolerance=0.1))
    with Workers(1) as workers:
        scores = by_tokens.scores(SHORT, workers)
        drawn = by_tokens.token_graph(scores, workers).tokens
        sure = int(np.setdiff1d(np.arange(SHORT.n_tokens), drawn)[0])
        token = int(drawn[0])
        asked = sorted([(token, token + 1, "DOG"), (sure, sure + 1, "PER")])
        found = by_tokens.confidences(scores, Spans.of(asked), workers)
        before = by_tokens.base.confidences(scores.chain, Spans.of(asked), workers)
    which = [start for start, _, _ in asked].index(token)
    assert found[which] == 0.0
    assert found[1 - which] == before[1 - which]


def test_forced_labels_are_kept_token_by_token(by_tokens):
    forced = [None] * SHORT.n_tokens
    names = [t for t, word in enumerate(SHORT.words.tolist()) if word[:1].isupper()][:40:4]
    for token in names:
        forced[token] = "B-MISC"
    found = predicted(by_tokens, forced=forced, probabilities=True)
    assert {found.corpus.labels.tolist()[token] for token in names} == {"B-MISC"}
    own = [k for k, label in enumerate(by_tokens.output.names) if label == "B-MISC"]
    np.testing.assert_allclose(found.marginals[names][:, own].sum(axis=1), 1.0)


def test_tokens_of_nothing(by_tokens):
    assert predicted(by_tokens, Corpus.of([]), probabilities=True).marginals.shape[0] == 0
    with Workers(1) as workers:
        assert by_tokens.label(Corpus.of([[], []]), workers) == [[], []]


def test_factors_in_python_are_asked_for_segments(base):
    model = FactoredModel.from_chain(base, [Few("PER", 0)], annealing=Annealing(5, moves="token"))
    with pytest.raises(SkipchainError, match="whole segments; decode with moves='segment'"):
        predicted(model)
    with pytest.raises(SkipchainError, match="whole segments"):
        predicted(model, decoder="viterbi", probabilities=True)


# The command line --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("factors")
    TRAIN.write(here / "train.conll")
    TEST.write(here / "test.conll")
    (here / "templates.txt").write_text(TEMPLATES)
    return here


@pytest.fixture
def run(monkeypatch, capfd, folder):
    """Run a command line in this process: exit code, stdout, stderr."""

    def call(*arguments):
        monkeypatch.chdir(folder)
        monkeypatch.setenv("COLUMNS", "160")
        monkeypatch.setattr(sys, "argv", ["skipchain", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capfd.readouterr()
        return left.value.code or 0, out, err

    return call


TRAINED = ("train", "train.conll", "--features", "templates.txt", "--epochs", 3, "--overwrite")


@pytest.fixture
def model(run, folder):
    """A model, made once."""
    if not (folder / "m.skip").exists():
        code, _, err = run(*TRAINED, "--consistency", "--set", "factors.folds=2", "-o", "m.skip")
        assert code == 0
        (folder / "train.log").write_text(err)
    return "m.skip"


def test_training_with_consistency_is_told(model, folder):
    log = (folder / "train.log").read_text()
    for number in (1, 2):
        assert f"without fold {number} of 2, for the factors" in log
    assert "wrote m.skip" in log
    assert "warning" not in log
    found = load_model(folder / "m.skip")
    assert isinstance(found.factors[0], Consistency)
    assert found.base.kind == "crf"


def test_factors_on_the_command_line(run, folder):
    code, out, _ = run(
        *TRAINED, "--factors", "last_word(PER); forbidden(LOC, PER)", "--consistency",
        "--set", "penalties=counted", "--set", "strength=0.5", "--dev", "test.conll", "--json",
        "-o", "f.skip",
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["dev"] > 0
    found = load_model(folder / "f.skip")
    assert [type(own) for own in found.factors] == [Consistency, LastWord, Forbidden]
    assert found.factors[0].strength == 0.5
    assert found.factors[1].penalty == 2.0


def test_tagging_with_samples(model, run, folder):
    code, _, _ = run(
        "tag", model, "test.conll", "--decoder", "gibbs", "--samples", 5, "-o", "out.conll",
        "--overwrite",
    )  # fmt: skip
    assert code == 0
    found = read(folder / "out.conll", scheme="iob2")
    wanted = predicted(load_model(folder / model).with_samples(5), TEST)
    assert found.labels.tolist() == wanted.corpus.labels.tolist()
    for decoder in ("icm", "mean-field", "two-pass", "viterbi"):
        code, out, _ = run("tag", model, "test.conll", "--decoder", decoder)
        assert code == 0
        assert out.strip()


def test_tagging_token_by_token(model, run, folder):
    code, out, _ = run("tag", model, "test.conll", "--moves", "token", "--samples", 7)
    assert code == 0
    wanted = predicted(load_model(folder / model).with_samples(7).with_moves("token"), TEST)
    found = [line.split()[-1] for line in out.splitlines() if line and "DOCSTART" not in line]
    assert found == wanted.corpus.labels.tolist()
    code, out, _ = run("eval", model, "test.conll", "--moves", "token")
    assert code == 0
    assert "without factors: F1 " in out


def test_evaluating_tells_what_it_would_be_without_factors(model, run):
    code, out, _ = run("eval", model, "test.conll", "--samples", 20)
    assert code == 0
    assert "without factors: F1 " in out
    code, out, _ = run("eval", model, "test.conll", "--decoder", "viterbi")
    assert code == 0
    assert "without factors" not in out
    code, out, _ = run("eval", model, "test.conll", "--json")
    told = json.loads(out)
    before = told["without_factors"]
    assert told["consistency"] > 80.0  # without factors, too few names occur again to compare
    assert before.keys() <= told.keys()
    code, out, _ = run("eval", model, "test.conll", "--decoder", "viterbi", "--json")
    assert "without_factors" not in json.loads(out)


def test_models_with_factors_are_inspected_and_explained(model, run):
    code, out, _ = run("inspect", model, "--top", 2)
    assert code == 0
    assert "same words" in out
    assert "words inside" in out
    code, out, _ = run("inspect", model, "--json")
    assert set(json.loads(out)["factors"][0]) == {"same words", "words inside"}
    code, out, _ = run("explain", model, "--text", "Ada met Bo.", "--token", "Bo")
    assert code == 0
    assert "token 2" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*TRAINED, "--set", "penalties=given", "-o", "x.skip"), "penalties needs --consistency"),
        ((*TRAINED, "--set", "strength=2", "-o", "x.skip"), "strength needs --consistency"),
        ((*TRAINED, "--consistency", "--set", "strength=-1", "-o", "x.skip"), "strength must be"),
        ((*TRAINED, "--factors", "harmony", "-o", "x.skip"), "no factor 'harmony'"),
        ((*TRAINED, "--factors", "last_word(DOG)", "-o", "x.skip"), "LastWord is about DOG"),
        (
            (*TRAINED, "--consistency", "--set", "factors.folds=1", "-o", "x.skip"),
            "at least 2 folds",
        ),
        (
            (*TRAINED, "--consistency", "--model", "perceptron", "-o", "x.skip"),
            "perceptron is none",
        ),
        (("tag", "m.skip", "test.conll", "--samples", 0), "samples must be a whole number"),
        (("eval", "m.skip", "test.conll", "--samples", -3), "samples must be a whole number"),
        (("tag", "m.skip", "test.conll", "--moves", "word"), "moves must be one of segment, token"),
        (("eval", "test.conll", "test.conll", "--moves", "token"), "--moves need a model"),
        (("tag", "m.skip", "test.conll", "--decoder", "legal"), "no decoder 'legal'"),
        (
            ("eval", "test.conll", "test.conll", "--samples", 3),
            "--samples and --moves need a model",
        ),
    ],
    ids=lambda value: " ".join(map(str, value[-6:])) if isinstance(value, tuple) else "",
)
def test_mistakes_on_the_command_line(arguments, message, model, run, folder):
    code, _, err = run(*arguments)
    assert code == 2
    assert message in " ".join(err.split())
    assert not (folder / "x.skip").exists()


def test_samples_are_for_models_with_factors(run, folder):
    save(chain(epochs=1).fit(TRAIN[:40]), folder / "plain.skip", overwrite=True)
    code, _, err = run("tag", "plain.skip", "test.conll", "--samples", 5)
    assert code == 2
    assert "for models with factors, and crf has none" in " ".join(err.split())
    code, _, err = run("tag", "plain.skip", "test.conll", "--moves", "token")
    assert code == 2
    assert "moves are for models with factors, and crf has none" in " ".join(err.split())


def test_names_without_words_in_common_need_no_factors(monkeypatch):
    tagger = load()
    texts = [
        "Ada Lima left Oslo for Bergen with Tomas Brandt.",
        "Lima beat Oslo. Ada Lima of Oslo United left Lima for United Airlines.",
        "Nobody slept.",
    ]
    asked = []

    def stranger(self, corpus, tokens):
        asked.append(plain(self, corpus, tokens))
        return False

    plain = FactoredModel._are_strangers
    found = [tagger.tag(text) for text in texts]
    monkeypatch.setattr(FactoredModel, "_are_strangers", stranger)
    assert [tagger.tag(text) for text in texts] == found
    # of the best labels, and of those with all that is in doubt
    assert asked == [True, True, False, False, True, True]
