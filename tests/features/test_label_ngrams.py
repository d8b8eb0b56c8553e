"""Orders of 3 and more: histories as features, beam search over them, and what has no answer."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from skipchain import CRF, MEMM, Corpus, Perceptron, SkipchainError, Tagger, load, save
from skipchain.chains import decode as chains
from skipchain.chains.dataset import Dataset
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import Weights
from skipchain.chains.scores import ChainScores
from skipchain.errors import ModelFileError, ParameterError
from skipchain.features.label_ngrams import LabelNgrams
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.parallel import Workers
from tests.modelfile.round_trip import round_trip

PLAIN = {"solver": "lbfgs", "l2": 0.01}


def code_of(history, labels):
    """The number of a history, oldest label first, written out plainly."""
    code = 0
    for label in history:
        code = code * (labels + 2) + label + 1
    return code


def context_scores(label_ngrams, before, labels):
    """What the histories before a position add to each label."""
    found = np.zeros(labels)
    whole = [labels, *before]  # the place before the chain counts as a label
    for size in range(3, label_ngrams.order + 1):
        code = code_of(whole[-size:], labels)
        if len(whole) >= size and code in label_ngrams.ngrams.tolist():
            found += label_ngrams.weights[label_ngrams.ngrams.tolist().index(code)]
    return found


def test_histories_are_found_as_written():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 30).astype(np.int32)
    offsets = np.array([0, 12, 12, 13, 30])
    found = LabelNgrams.fit(labels, offsets, 3, 5)
    numbers = found.context_indices(labels, offsets)
    wanted = set()
    for first, last in itertools.pairwise(offsets.tolist()):
        for t in range(first, last):
            whole = [3, *labels[first:t].tolist()]
            for size in (3, 4, 5):
                number = numbers[t, size - 3]
                if len(whole) < size:
                    assert number == -1
                    continue
                code = code_of(whole[-size:], 3)
                assert found.ngrams[number] == code
                wanted.add(code)
    assert found.ngrams.tolist() == sorted(wanted)


@pytest.mark.parametrize("templates", ["word", "word\nlower", "word\nlabel[-1] & word"])
def test_attached_histories_are_the_last_features(templates):
    corpus = Corpus.of([["a", "b", "a", "b"], ["b"]])
    _, rows = Vocabulary.fit(corpus, Templates.parse(templates))
    labels = np.array([0, 1, 0, 1, 1], np.int32)
    found = LabelNgrams.fit(labels, corpus.sentences, 2, 4)
    more = found.append_features(rows, labels, corpus.sentences)
    assert more.n_features == rows.n_features + len(found.ngrams)
    old, new = rows.expanded(), more.expanded()
    numbers = found.context_indices(labels, corpus.sentences)
    for t in range(5):
        own = old.indices[old.indptr[t] : old.indptr[t + 1]].tolist()
        extra = [rows.n_features + k for k in numbers[t].tolist() if k >= 0]
        assert sorted(new.indices[new.indptr[t] : new.indptr[t + 1]]) == sorted(own + extra)


# Search ------------------------------------------------------------------------------------------


def problem(seed, length, labels, order, *, forbidden=0.0, limited=0.0):
    rng = np.random.default_rng(seed)
    corpus = Corpus.of([[str(k) for k in rng.integers(0, 3, length)], ["0"]])
    _, rows = Vocabulary.fit(corpus, Templates.parse("word\nlabel[-1] & word"))
    size = (rows.n_features, rows.n_edge_features, labels, 2)
    vector = rng.normal(size=len(Weights.zeros(*size).vector))
    drawn = rng.integers(0, labels, 60).astype(np.int32)
    label_ngrams = LabelNgrams.fit(drawn, np.array([0, 20, 60]), labels, order)
    label_ngrams = replace(label_ngrams, weights=rng.normal(0, 2, label_ngrams.weights.shape))
    constraints = candidates = None
    if forbidden:
        pairs = rng.random((labels, labels)) >= forbidden
        np.fill_diagonal(pairs, True)
        constraints = Constraints(pairs, np.ones(labels, bool), np.ones(labels, bool))
    if limited:
        candidates = rng.random((length + 1, labels)) >= limited
        candidates[:, 0] = True
    data = Dataset(rows, corpus.sentences, candidates=candidates)
    with Workers(1) as workers:
        return ChainScores.of(
            data, Weights.views(vector, *size), workers, constraints, None, True, label_ngrams
        )


class Plain:
    """The probability of a path's labels, one after the other, written out plainly."""

    def __init__(self, scores):
        self.raw = scores.raw((0, 1))
        self.limits = scores.with_constraints(self.raw)
        self.triples, self.label_ngrams = scores.weights.triples, scores.label_ngrams
        self.labels = scores.weights.n_labels

    def log_probabilities(self, before):
        """log p(label | labels before) of all labels, −∞ for what is ruled out."""
        t = len(before)
        row = self.raw.node[t].copy()
        ruled = self.limits.node[t] == -np.inf
        if before:
            earlier = before[-2] if t > 1 else self.labels
            row += self.raw.edge[t, before[-1]] + self.triples[earlier, before[-1]]
            ruled |= self.limits.edge[t, before[-1]] == -np.inf
        row += context_scores(self.label_ngrams, before, self.labels)
        row -= np.logaddexp.reduce(row)
        return np.where(ruled, -np.inf, row)

    def beam(self, length, width, order):
        kept = [((), 0.0)]
        for _ in range(length):
            grown = {}
            for path, score in kept:
                for y, p in enumerate(self.log_probabilities(path)):
                    fresh = (*path, y)
                    key = ((self.labels, *fresh) if len(fresh) < order else fresh)[-order:]
                    if p > -np.inf and (key not in grown or score + p > grown[key][1]):
                        grown[key] = (fresh, score + p)
            kept = sorted(grown.values(), key=lambda item: -item[1])[:width]
        return kept[0]


@pytest.mark.parametrize("order", [3, 4, 6])
@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("limited", [0.0, 0.5])
def test_a_beam_equals_the_plain_one(order, width, limited):
    for seed in range(12):
        scores = problem(seed, 7, 3, order, limited=limited)
        wanted, _ = Plain(scores).beam(7, width, order)
        with Workers(1) as workers:
            assert tuple(chains.beam(scores, width, workers)[:7].tolist()) == wanted
            if width == 1:
                assert tuple(chains.greedy(scores, workers)[:7].tolist()) == wanted


@pytest.mark.parametrize("forbidden", [0.0, 0.4])
def test_a_wide_beam_finds_the_best_of_all(forbidden):
    for seed in range(8):
        scores = problem(seed, 5, 3, 4, forbidden=forbidden, limited=0.3)
        plain = Plain(scores)
        best, top = None, -np.inf
        for path in itertools.product(range(3), repeat=5):
            total = sum(plain.log_probabilities(path[:t])[y] for t, y in enumerate(path))
            if total > top:
                best, top = path, total
        with Workers(1) as workers:
            assert tuple(chains.beam(scores, 10**6, workers)[:5].tolist()) == best


def test_without_weights_of_histories_it_is_the_chain_of_order_2():
    scores = problem(1, 8, 3, 5)
    scores.label_ngrams.weights[:] = 0.0
    with Workers(1) as workers:
        found = chains.beam(scores, 1000, workers)
        np.testing.assert_array_equal(
            found, chains.viterbi(replace(scores, label_ngrams=None), workers)
        )


# Learning ----------------------------------------------------------------------------------------


def parity(size=80, seed=0):
    """A label that follows from the three before it, and that two do not show."""
    rng = np.random.default_rng(seed)
    words, labels = [], []
    for _ in range(size):
        own = rng.integers(0, 2, 3).tolist()
        while len(own) < 12:
            own.append(sum(own[-3:]) % 2)
        labels.append(["AB"[y] for y in own])
        words.append([label.lower() for label in labels[-1][:3]] + ["?"] * 9)
    return Corpus.of(words, labels, scheme="none")


@pytest.mark.parametrize("solver", ["lbfgs", "sgd", "adagrad"])
def test_order_3_learns_what_order_2_cannot(solver):
    settings = {"solver": solver, "l2": 0.01}
    if solver != "lbfgs":
        settings |= {"dropout": 0.0, "bundle_dropout": 0.0}
    train, test = parity(), parity(30, 1)
    assert MEMM("word", order=2, **settings).fit(train).score(test) < 0.9
    for order in (3, 5):
        model = MEMM("word", order=order, **settings).fit(train)
        assert model.score(test) == 1.0
        assert model.predict(test, decoder="greedy") == model.predict(test)


def test_the_loss_is_that_of_the_model():
    train = parity(6)
    model = MEMM("word", order=4, solver="lbfgs", l2=0.1).fit(train).model_
    penalty = 0.1 * sum(float((part**2).sum()) for part in model.all_weights.tables)
    with Workers(1) as workers:
        loss = 0.0
        for sentence in range(len(train)):
            own = train[sentence : sentence + 1]
            plain = Plain(model.scores(own, workers))
            plain.raw = replace(plain.raw, edge=np.repeat(plain.raw.edge, own.n_tokens, axis=0))
            plain.limits = plain.raw
            gold = [model.labels.index(label) for label in own.labels.tolist()]
            loss -= sum(plain.log_probabilities(tuple(gold[:t]))[y] for t, y in enumerate(gold))
    assert model.summary["loss"] == pytest.approx(loss + penalty, rel=1e-5)


def test_files_warm_starts_and_further_data(tmp_path):
    train, test = parity(), parity(10, 3)
    model = MEMM("word", order=4, **PLAIN).fit(train, dev=test)
    assert model.model_.summary["dev"] == 100
    save(model, tmp_path / "m.skip")
    loaded = load(tmp_path / "m.skip")
    assert loaded.model.order == 4
    np.testing.assert_array_equal(
        loaded.model.label_ngrams.weights, model.model_.label_ngrams.weights
    )
    assert loaded.label(test) == model.predict(test)
    assert MEMM("word", order=4, **PLAIN).fit(train, start=model).score(test) == 1.0
    steps = MEMM("word", order=3, l2=0.01, dropout=0.0, bundle_dropout=0.0, rate=0.5)
    for _ in range(30):
        steps.partial_fit(train)
    assert steps.score(test) == 1.0


def test_spans_forced_labels_and_a_dictionary():
    words = [["Ada", "Lee", "went"], ["Bo", "slept"], ["he", "met", "Ada"]] * 5
    labels = [["B-PER", "I-PER", "O"], ["B-PER", "O"], ["O", "O", "B-PER"]] * 5
    train = Corpus.of(words, labels, scheme="iob2")
    tagger = Tagger(MEMM("word", order=3, dictionary=5).fit(train).model_)
    [entity] = tagger.tag("he met Ada").entities
    assert (entity.text, entity.label) == ("Ada", "PER")
    assert entity.confidence == 1.0  # the dictionary leaves nothing else
    found = tagger.predict(Corpus.of([["he", "met"]]), forced=["B-PER", None])
    assert found.corpus.labels.tolist()[0] == "B-PER"


# What has no answer ------------------------------------------------------------------------------


def many_labels(count=17):
    """Sentences of so many labels that order 3 has more than 4,096 runs of them."""
    names = [f"L{k:02}" for k in range(count)]
    return Corpus.of([[name.lower() for name in names]] * 3, [names] * 3, scheme="none")


def test_what_goes_through_too_many_labellings_is_refused():
    train = many_labels()
    model = MEMM("word", order=3, **PLAIN).fit(train)
    assert model.model_.decoders == ("beam", "greedy")
    assert model.predict(train) == [list(sentence.labels) for sentence in train]
    with pytest.raises(SkipchainError, match=r"order 3.*no decoder 'viterbi'; it has beam, greedy"):
        model.predict(train, decoder="viterbi")
    for ask in (model.predict_marginals, lambda x: model.predict_nbest(x, 2)):
        with pytest.raises(SkipchainError, match=r"order 3 with 17 labels .* 4,913 runs of labels"):
            ask(train)
    with pytest.raises(ParameterError, match=r"CRF of order 3 .* 17 labels have 4,913 of them"):
        CRF("word", order=3).fit(train)
    fewer = MEMM("word", order=3, **PLAIN).fit(many_labels(16))
    assert fewer.model_.decoders[0] == "viterbi"
    assert fewer.predict(many_labels(16)) == fewer.predict(many_labels(16), decoder="beam")


@pytest.mark.parametrize("order", [3, 5])
def test_a_decision_is_explained_given_the_labels_before(order):
    model = MEMM("word", order=order, **PLAIN).fit(parity(20)).model_
    given = parity(1, 7)
    with Workers(1) as workers:
        scores = model.scores(given, workers)
        path = model.decode(scores, workers).codes.tolist()
    plain = Plain(scores)
    plain.raw = replace(plain.raw, edge=np.repeat(plain.raw.edge, given.n_tokens, axis=0))
    plain.limits = plain.raw
    with Workers(1) as workers:
        chances = model.marginals(scores, workers)
    for at in range(given.n_tokens):
        found = Tagger(model).explain(given, at, labels=["A", "B"])
        wanted = plain.log_probabilities(tuple(path[:at]))
        first, second = found.totals
        assert first - second == pytest.approx(wanted[0] - wanted[1], abs=1e-8)
        assert found.probabilities == pytest.approx(tuple(chances[at]), abs=1e-8)
    names = [part.name for part in found.contributions if part.kind == "labels"]
    assert " → ".join("AB"[y] for y in path[-4:-1]) + " → ·" in names


def test_what_is_only_searched_is_explained_by_the_classifier_of_the_position():
    train = many_labels()
    model = MEMM("word", order=3, **PLAIN).fit(train).model_
    with Workers(1) as workers:
        scores = model.scores(train[:1], workers)
        path = model.decode(scores, workers).codes.tolist()
    plain = Plain(scores)
    plain.raw = replace(plain.raw, edge=np.repeat(plain.raw.edge, len(path), axis=0))
    plain.limits = plain.raw
    found = Tagger(model).explain(train[:1], 5, labels=["L05", "L02"])
    wanted = plain.log_probabilities(tuple(path[:5]))
    assert np.log(found.probabilities) == pytest.approx(wanted[[5, 2]], abs=1e-8)


def test_models_that_cannot_say_so():
    with pytest.raises(ParameterError, match=r"order must be 1 or 2, got 3; .* MEMM and CRF"):
        Perceptron("word", order=3).fit(parity(2))


@pytest.mark.parametrize("order", [0, 9, 2.5, "3", True, None])
def test_orders_out_of_range_are_refused(order):
    with pytest.raises(ParameterError, match="order must be a whole number from 1 to 8"):
        MEMM("word", order=order).fit(parity(2))


def test_partial_labels_and_too_many_labels_are_refused():
    with pytest.raises(ParameterError, match="partial labels"):
        MEMM("word", order=3).fit(Corpus.of([["a", "b"]]), [["A", None]])
    many = Corpus.of([["a"]] * 300, [[f"L{k}"] for k in range(300)], scheme="none")
    with pytest.raises(ParameterError, match="order 8 is too long for 300 labels"):
        MEMM("word", order=8).fit(many)


def test_damaged_histories_are_named(tmp_path):
    model = MEMM("word", order=3, **PLAIN).fit(parity(5)).model_
    turned = replace(model.label_ngrams, ngrams=model.label_ngrams.ngrams[::-1].copy())
    with pytest.raises(ModelFileError, match=r"histories\.contexts does not grow"):
        round_trip(replace(model, label_ngrams=turned), tmp_path / "a.skip")
    broken = replace(model.label_ngrams, weights=np.full_like(model.label_ngrams.weights, np.nan))
    with pytest.raises(ModelFileError, match="not all finite"):
        round_trip(replace(model, label_ngrams=broken), tmp_path / "b.skip")
