"""The hidden Markov model against counting and enumeration in plain Python."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest

from skipchain import HMM, Corpus, Templates, load, save
from skipchain.datasets.registry import data_set
from skipchain.errors import CorpusError, FeatureError, ParameterError, SchemeError
from skipchain.models.registry import make_estimator

WORDS = ["a", "b", "c", "d"]
LABELS = ["X", "Y", "Z"]


def draw(seed, size=12, labels=LABELS):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, size)
    words = [[WORDS[k] for k in rng.integers(0, len(WORDS), n)] for n in lengths]
    gold = [[labels[k] for k in rng.integers(0, len(labels), n)] for n in lengths]
    gold[0][0], gold[1][0], gold[2][0] = labels[0], labels[1], labels[-1]
    return words, gold


class Plain:
    """The same model, written down from its definition."""

    def __init__(self, emitted, gold, smoothing, values):
        self.a, self.values = smoothing, values
        self.labels = sorted({label for own in gold for label in own})
        self.start = Counter(own[0] for own in gold)
        self.step = Counter(pair for own in gold for pair in pairwise([*own, "end"]))
        self.emission = Counter(
            (label, value)
            for sequence, own in zip(emitted, gold, strict=True)
            for features, label in zip(sequence, own, strict=True)
            for value in features
        )

    def share(self, counts, key, keys):
        return (counts[key] + self.a) / sum(counts[k] + self.a for k in keys)

    def joint(self, sequence, path):
        p = self.share(self.start, path[0], self.labels)
        for before, after in pairwise([*path, "end"]):
            p *= self.share(
                self.step, (before, after), [(before, k) for k in (*self.labels, "end")]
            )
        for features, label in zip(sequence, path, strict=True):
            for value in features:
                p *= self.share(self.emission, (label, value), [(label, v) for v in self.values])
        return p

    def all(self, sequence):
        paths = list(product(self.labels, repeat=len(sequence)))
        return paths, np.array([self.joint(sequence, path) for path in paths])


def path_score(model, sequence, path):
    """The score that the model's tables give to one labelling, added up by hand."""
    weights, names = model.weights, model.features.names()
    numbers = [model.labels.index(label) for label in path]
    total = weights.start[numbers[0]] + weights.end[numbers[-1]]
    total += sum(weights.transitions[a, b] for a, b in pairwise(numbers))
    for features, number in zip(sequence, numbers, strict=True):
        total += sum(weights.state[names.index(f), number] for f in features if f in names)
    return total


def check(hmm, plain, given, sequence, named):
    """Joint probabilities, best path, marginals and ranking of one sequence."""
    paths, joint = plain.all(sequence)
    scores = [path_score(hmm.model_, named, path) for path in paths]
    np.testing.assert_allclose(np.exp(scores), joint, rtol=1e-9)
    assert plain.joint(sequence, hmm.predict(given)[0]) == pytest.approx(joint.max())
    posterior = joint / joint.sum()
    marginals = [
        [sum(posterior[k] for k, path in enumerate(paths) if path[t] == label)
         for label in plain.labels]
        for t in range(len(sequence))
    ]  # fmt: skip
    np.testing.assert_allclose(hmm.predict_marginals(given)[0], marginals, rtol=1e-8)
    chosen = hmm.predict(given, decoder="posterior")[0]
    own = [row[plain.labels.index(label)] for row, label in zip(marginals, chosen, strict=True)]
    np.testing.assert_allclose(own, np.max(marginals, axis=1))
    ranked = hmm.predict_nbest(given, 3)[0]
    np.testing.assert_allclose(ranked.probabilities, np.sort(posterior)[::-1][:3], rtol=1e-8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("smoothing", [0.01, 1.0, 50.0])
def test_tokens_equal_enumeration(seed, smoothing):
    words, gold = draw(seed)
    hmm = HMM(smoothing=smoothing).fit(Corpus.of(words, gold, scheme="none"))
    seen = sorted({w for own in words for w in own})
    plain = Plain([[[w] for w in own] for own in words], gold, smoothing, [*seen, "new"])
    for sequence in (["a"], ["b", "c", "a", "a"], ["new", "a", "new"], ["new"]):
        named = [[f"word={w}"] for w in sequence]
        check(hmm, plain, Corpus.of([sequence]), [[w] for w in sequence], named)
    data = zip(words, gold, strict=True)
    likelihood = sum(math.log(plain.joint([[w] for w in own], path)) for own, path in data)
    assert hmm.result_.loss == pytest.approx(-likelihood)
    assert hmm.result_.reason == "counted"


def test_rare_words_teach_the_unknown_one():
    words, gold = draw(1)
    words.append(["rare", "a"])
    gold.append(["X", "Y"])
    hmm = HMM(min_count=2).fit(Corpus.of(words, gold, scheme="none"))
    emitted = [[["new" if w == "rare" else w] for w in own] for own in words]
    plain = Plain(emitted, gold, 0.1, [*WORDS, "new"])
    named = [["word=a"], [], ["word=b"]]
    check(hmm, plain, Corpus.of([["a", "never", "b"]]), [["a"], ["new"], ["b"]], named)


@pytest.mark.parametrize("seed", range(4))
def test_features_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    _, gold = draw(seed)
    known = ["f", "g", "h", "i"]
    X = [[[f for f in known if rng.random() < 0.5] for _ in own] for own in gold]
    X[0][0] = list(known)
    X[1][0] = ["f", "f", "g"]  # a repeated feature is emitted twice
    hmm = HMM(emissions="features", smoothing=0.3).fit(X, gold)
    plain = Plain(X, gold, 0.3, known)
    for sequence in ([["f"]], [["g", "h"], [], ["f", "f", "i"]]):
        check(hmm, plain, [sequence], sequence, sequence)
    unknown = [["g", "never"], ["f"]]  # what training did not see says nothing
    check(hmm, plain, [unknown], [["g"], ["f"]], unknown)


def test_weights_are_counts():
    _, gold = draw(3)
    rng = np.random.default_rng(0)
    counts = [[{f: int(rng.integers(0, 3)) for f in "fg"} for _ in own] for own in gold]
    active_columns = [[[f for f, n in c.items() for _ in range(n)] for c in own] for own in counts]
    a = HMM(emissions="features").fit(counts, gold)
    b = HMM(emissions="features").fit(active_columns, gold)
    order = [b.model_.features.names().index(name) for name in a.model_.features.names()]
    np.testing.assert_allclose(a.model_.weights.state, b.model_.weights.state[order])


@pytest.mark.parametrize("emissions", ["token", "features"])
def test_probabilities_add_up_to_one(emissions):
    words, gold = draw(5)
    hmm = HMM(emissions=emissions).fit(Corpus.of(words, gold, scheme="none"))
    weights = hmm.model_.weights
    known = np.exp(weights.state).sum(axis=0)
    # p(w) / p(unknown) over the words, and 1 for the unknown word itself
    unknown = 1.0 / (1.0 + known) if emissions == "token" else np.ones(3)
    if emissions == "features":
        np.testing.assert_allclose(known, 1.0)
    np.testing.assert_allclose((np.exp(weights.start) / unknown).sum(), 1.0)
    follow = np.exp(weights.transitions) / unknown
    np.testing.assert_allclose(follow.sum(axis=1) + np.exp(weights.end), 1.0)


@pytest.mark.parametrize("smoothing", [1e9, 1e300])
@pytest.mark.parametrize("emissions", ["token", "features"])
def test_much_smoothing_is_uniform(emissions, smoothing):
    words, gold = draw(6)
    hmm = HMM(emissions=emissions, smoothing=smoothing).fit(Corpus.of(words, gold, scheme="none"))
    found = hmm.predict_marginals(Corpus.of([["a", "b", "new"]]))[0]
    np.testing.assert_allclose(found, 1 / 3, atol=1e-7)


def test_little_smoothing_stays_finite():
    words, gold = draw(6)
    hmm = HMM(smoothing=1e-300).fit(Corpus.of(words, gold, scheme="none"))
    assert np.isfinite(hmm.model_.weights.vector).all()
    assert np.isfinite(hmm.predict_marginals(Corpus.of([["new", "a", "b"]]))[0]).all()


def test_one_template_emits_the_same_either_way_where_all_is_known():
    words, gold = draw(7)
    corpus = Corpus.of(words, gold, scheme="none")
    tiny = 1e-9  # the unknown word takes as much as a word that was not seen
    a, b = (HMM(emissions=e, smoothing=tiny).fit(corpus) for e in ("token", "features"))
    for one, other in zip(a.predict_marginals(corpus), b.predict_marginals(corpus), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def names(size=6):
    words = [["Ada", "Lee", "slept", "in", "York"], ["Bo", "ran"], ["York", "slept"]] * size
    gold = [["B-PER", "I-PER", "O", "O", "B-LOC"], ["B-PER", "O"], ["B-LOC", "O"]] * size
    return Corpus.of(words, gold, scheme="iob2")


def test_constraints_in_training_leave_nothing_to_what_is_forbidden():
    corpus = names()
    hmm = HMM(constraints="training", smoothing=2.0).fit(corpus)
    model = hmm.model_
    allowed = model.constraints
    known = np.exp(model.weights.state).sum(axis=0)
    follow = np.exp(model.weights.transitions) * (1.0 + known) * allowed.pairs
    ends = np.exp(model.weights.end) * allowed.end
    np.testing.assert_allclose(follow.sum(axis=1) + ends, 1.0)
    start = np.exp(model.weights.start) * (1.0 + known) * allowed.start
    np.testing.assert_allclose(start.sum(), 1.0)
    assert hmm.predict(corpus) == [sentence.labels for sentence in corpus]


@pytest.mark.parametrize("emissions", ["token", "features"])
def test_what_is_shown_are_log_probabilities(emissions, tmp_path):
    words, gold = draw(5)
    hmm = HMM(emissions=emissions, min_count=2).fit(Corpus.of(words, gold, scheme="none"))
    save(hmm, tmp_path / "m.skip")
    shown = load(tmp_path / "m.skip").model.summarise(top=100)
    steps, ends = shown["transitions"], shown["transitions"]["<end>"]
    assert sum(math.exp(x) for x in steps["<start>"].values()) == pytest.approx(1.0)
    for label in LABELS:
        after = sum(math.exp(x) for x in steps[label].values()) + math.exp(ends[label])
        assert after == pytest.approx(1.0)
        own = shown["labels"][label]
        emitted = [math.exp(f["weight"] + own["unknown"]) for f in own["features"]]
        # the unknown value itself, and what is as likely: that weighs 0 and is not shown
        alike = 1 + len(WORDS) - len(emitted) if emissions == "token" else 0
        assert sum(emitted) + alike * math.exp(own["unknown"]) == pytest.approx(1.0)


def test_made_by_kind():
    assert repr(make_estimator("hmm", None, smoothing=1.0)) == "HMM(smoothing=1.0)"
    with pytest.raises(ParameterError, match="model hmm has no setting 'patience'"):
        make_estimator("hmm", None, patience=3)


@pytest.mark.parametrize(
    ("attempt", "kind", "told"),
    [
        (lambda: HMM(emissions="words").fit(names()), ParameterError, "token, features"),
        (lambda: HMM(smoothing=0).fit(names()), ParameterError, "above 0"),
        (lambda: HMM(smoothing=-1.0).fit(names()), ParameterError, "at least 0"),
        (lambda: HMM("word\nshape").fit(names()), FeatureError, "token 0 has several"),
        (
            lambda: HMM().fit([[{"f": 1.0}, {"f": 0.5}]], [["A", "B"]]),
            FeatureError,
            "token 1 has several features or a weighted one",
        ),
        (
            lambda: HMM(emissions="features").fit([[{"f": 1.0}, {"f": -2}]], [["A", "B"]]),
            FeatureError,
            "token 1: feature value -2.0 is below 0",
        ),
        (
            lambda: HMM("label[-1] & word", emissions="features").fit(names()),
            FeatureError,
            "leave out templates",
        ),
        (lambda: HMM().fit(names(), start=HMM().fit(names())), ParameterError, "afresh"),
        (lambda: HMM().fit([[["f"], ["g"]]], [["A", None]]), CorpusError, "full labels"),
        (
            lambda: HMM().fit(Corpus.of([["a"]], [["I-PER"]], scheme="bioes")),
            SchemeError,
            "breaks the scheme",
        ),
    ],
)
def test_mistakes_are_told(attempt, kind, told):
    with pytest.raises(kind, match=told):
        attempt()


def test_templates_can_be_given():
    assert HMM(Templates.parse("lower")).fit(names()).predict_single(names()[1])


@pytest.mark.data("conll2003")
def test_newswire_names():
    train, test = (data_set("conll2003").read(part) for part in ("train", "testa"))
    assert HMM().fit(train).score(test) == pytest.approx(0.76, abs=0.03)
    features = HMM("word\nshape\nsuffix(3)", emissions="features").fit(train)
    assert features.score(test) == pytest.approx(0.81, abs=0.03)
