"""Factors across documents: every step against labellings written out, and sampling against all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from skipchain import Corpus, SkipchainError
from skipchain.dataset import Dataset
from skipchain.errors import CorpusError, ParameterError
from skipchain.factors import (
    Agreement,
    Consistency,
    Counts,
    Forbidden,
    LastWord,
    Mentions,
    Relation,
    Wiring,
    count_pairs,
    parse_factors,
)
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.inference import chains
from skipchain.inference.annealing import Annealing, anneal, climb, mean_field, sampled
from skipchain.inference.candidates import Doubts, certain, find_candidates
from skipchain.inference.interplay import Interplay, Labelling
from skipchain.inference.scores import Scores
from skipchain.inference.twopass import elsewhere, two_pass
from skipchain.kernels import factors as kernel
from skipchain.objectives.interplay import Lesson, PseudoLikelihood
from skipchain.parallel import Workers
from skipchain.potentials import Constraints
from skipchain.schemes import transitions
from skipchain.scorers.linear import Weights
from tests.factors_plain import Plain, spans_of, stands_in

LABELS = {
    "io": ("O", "I-A", "I-B"),
    "iob2": ("O", "B-A", "I-A", "B-B", "I-B"),
    "bioes": ("O", "B-A", "E-A", "S-A", "S-B"),
}
WORDS = ["x", "X", "y"]
ALL = 64  # labellings, which is more than a sentence of three tokens has
MODELS = [
    (encoding, order, local) for encoding in LABELS for order in (1, 2) for local in (False, True)
]


def initial(text):
    """A key that cannot be taken of everything."""
    return None if text.startswith("y") else text[0].lower()


def table(rng, size=2, *, symmetric=False):
    found = rng.normal(0, 1.5, (size, size))
    return found + found.T if symmetric else found


def consistency(rng, **settings):
    return Consistency(("A", "B"), table(rng, symmetric=True), table(rng), **settings)


FACTORS = {
    "none": lambda rng: (),
    "consistency": lambda rng: (consistency(rng),),
    "whole": lambda rng: (consistency(rng, shared=False, by_length=True, strength=0.7),),
    "one type": lambda rng: (Consistency(("B",), table(rng, 1), table(rng, 1), by_length=True),),
    "words": lambda rng: (Agreement("A", penalty=1.5),),
    "lower": lambda rng: (Agreement("B", "lower", penalty=-1.0),),
    "own key": lambda rng: (Agreement("A", initial, penalty=2.0),),
    "last word": lambda rng: (LastWord("A", penalty=0.8), LastWord("B", penalty=-0.5)),
    "forbidden": lambda rng: (Forbidden("B", "A"),),
    "all": lambda rng: (
        LastWord("B", 0.5), consistency(rng), Agreement("A", "lower", 0.7), Forbidden("A", "B"),
        consistency(rng, by_length=True, strength=0.5), Agreement("A", initial, 0.3),
    ),
}  # fmt: skip


class Problem:
    """A few words, a chain model with any weights, and factors."""

    def __init__(
        self, seed, encoding="iob2", order=1, local=False, factors="all", documents=((3, 2), (2,)),
        spread=1.0,
    ):  # fmt: skip
        rng = np.random.default_rng(seed)
        lengths = [length for own in documents for length in own]
        self.corpus = Corpus.of(
            [[WORDS[k] for k in rng.integers(0, len(WORDS), n)] for n in lengths],
            documents=[len(own) for own in documents],
        )
        self.encoding, self.labels = encoding, LABELS[encoding]
        _, rows = Vocabulary.fit(self.corpus, Templates.parse("word\nword[-1] & word"))
        size = (rows.n_features, rows.n_edge_features, len(self.labels), order)
        vector = rng.normal(0, spread, len(Weights.zeros(*size).vector))
        self.factors = FACTORS[factors](rng)
        self.labelling = Labelling.of(self.labels, encoding)
        self.workers = Workers(1)
        self.scores = Scores.of(
            Dataset(rows, self.corpus.sentences), Weights.views(vector, *size), self.workers,
            Constraints(*transitions(self.labels, encoding)), None, local,
        )  # fmt: skip
        self.best = chains.viterbi(self.scores, self.workers)

    def plain(self, limits=None, factors=None):
        own = self.factors if factors is None else factors
        return Plain(self.corpus, self.scores, self.labels, self.encoding, own, limits)

    def candidates(self, tolerance=0.0, most=ALL, opened=None):
        marginals = chains.marginals(self.scores, self.workers)
        return find_candidates(
            self.scores, self.best, marginals, self.labelling.kinds, self.workers,
            Doubts(tolerance, most), np.zeros(len(self.best), bool) if opened is None else opened,
        )  # fmt: skip

    def interplay(self, *how, factors=None):
        own = self.factors if factors is None else factors
        return Interplay.of(self.corpus, self.candidates(*how), self.labelling, own)


def all_picks(interplay):
    """Every choice of one candidate a stretch."""
    first = interplay.lists.first.tolist()
    return [
        np.array(own, np.int64)
        for own in itertools.product(*(range(a, b) for a, b in itertools.pairwise(first)))
    ]


def some_picks(interplay, seed, count):
    first = interplay.lists.first
    return np.random.default_rng(seed).integers(
        first[:-1], first[1:], (count, len(interplay.candidates.starts))
    )


def token_chances(interplay, chances, shape):
    """The probability of each label at each token of stretches, where those of others are 0."""
    found = np.zeros(shape)
    own = interplay.candidates
    for q, v in enumerate(own.stretches):
        length = own.stops[v] - own.starts[v]
        labels = own.labels[own.places[q] : own.places[q] + length]
        found[np.arange(own.starts[v], own.stops[v]), labels] += chances[q]
    return found


# The plain version -------------------------------------------------------------------------------


def test_the_plain_version_reads_spans():
    assert spans_of(["I-A", "I-A", "I-B", "O", "I-B"], "io") == [
        (0, 2, "A"), (2, 3, "B"), (4, 5, "B"),
    ]  # fmt: skip
    assert spans_of(["B-A", "B-A", "I-A"], "iob2") == [(0, 1, "A"), (1, 3, "A")]
    assert spans_of(["S-A", "B-A", "E-A", "S-A"], "bioes") == [
        (0, 1, "A"), (1, 3, "A"), (3, 4, "A"),
    ]  # fmt: skip
    assert stands_in(("a",), ("b", "a"))
    assert not stands_in(("b", "a"), ("b", "a"))
    assert not stands_in(("a", "c"), ("a", "b", "c"))


def test_the_plain_chain_is_the_chain():
    problem = Problem(1, order=2, local=True, factors="none")
    np.testing.assert_allclose(
        problem.plain().marginals(), chains.marginals(problem.scores, problem.workers), atol=1e-12
    )


# Counts ------------------------------------------------------------------------------------------

LEE = Corpus.of(
    [["Ada", "Lee"], ["Lee", "Lee"], ["Lee", "Ada", "Lee"], ["Lee"]],
    [["B-PER", "I-PER"], ["B-PER", "B-LOC"], ["B-LOC", "B-PER", "I-PER"], ["B-LOC"]],
    scheme="iob2", documents=[3, 1],
)  # fmt: skip


def test_pairs_are_counted_by_hand():
    counts = count_pairs(LEE)
    assert counts.types == ("LOC", "PER")
    # Lee: PER, LOC, LOC; Ada Lee: PER, PER, and three times Lee beside each
    assert counts.same.tolist() == [[1, 2], [2, 1]]
    assert counts.inside.tolist() == [[0, 0], [4, 2]]


def test_merged_pairs_are_counted_by_hand():
    counts = count_pairs(LEE, merged=True)
    # Ada Lee Lee (PER) with Lee Lee (LOC) and Ada Lee (PER) in it
    assert counts.same.tolist() == [[0, 0], [0, 0]]
    assert counts.inside.tolist() == [[0, 0], [1, 1]]


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    words = [[WORDS[k] for k in rng.integers(0, 3, n)] for n in rng.integers(1, 7, 8)]
    labels = [[f"{'BI'[rng.integers(2)]}-{'AB'[rng.integers(2)]}" for _ in own] for own in words]
    corpus = Corpus.of(words, labels, scheme="iob2", documents=[3, 5])
    same, inside = np.zeros((2, 2), int), np.zeros((2, 2), int)
    flat = corpus.words.tolist()
    for one, other in itertools.permutations(corpus.spans(), 2):
        if len(set(corpus.document_of(np.array([one[0], other[0]])))) > 1:
            continue
        a, b = (tuple(flat[start:stop]) for start, stop, _ in (one, other))
        kinds = tuple("AB".index(kind) for _, _, kind in (one, other))
        same[kinds] += a == b
        inside[kinds] += stands_in(b, a)
    same[np.diag_indices(2)] //= 2  # a pair of one type has been met from both sides
    counts = count_pairs(corpus)
    np.testing.assert_array_equal(counts.same, same)
    np.testing.assert_array_equal(counts.inside, inside)
    np.testing.assert_array_equal(counts.same, counts.same.T)


def test_penalties_are_those_of_the_published_example():
    """Rotor Volgograd as PER and as ORG, and Rotor as ORG beside the first (Finkel et al. 2005)."""
    same = np.array([[3141, 4, 5, 0], [4, 6436, 188, 3], [5, 188, 2975, 0], [0, 3, 0, 2030]])
    inside = np.array([[1941, 5, 2, 3], [0, 167, 6, 63], [22, 328, 819, 191], [14, 224, 7, 365]])
    found = Consistency.of(Counts(("PER", "LOC", "ORG", "MISC"), same, inside))
    assert found.same[0, 2] == pytest.approx(0.5 * (np.log(5 / 3151) + np.log(5 / 3169)))
    assert found.inside[0, 2] == pytest.approx(np.log(2 / 834))  # they print 842
    assert not found.same.diagonal().any()
    assert (found.by_length, found.shared) == (True, False)


def test_counting_needs_documents_and_spans():
    with pytest.raises(CorpusError, match="labels mark none"):
        Consistency.fit(LEE.with_labels(LEE.labels))
    cut = Corpus.of([["a"], ["b"]], [["B-A"], ["O"]], scheme="iob2", documents=[1, 1])
    with pytest.raises(CorpusError, match="documents of several sentences"):
        Consistency.fit(cut)
    assert Consistency.fit(LEE, strength=0.5).strength == 0.5


# Mentions ----------------------------------------------------------------------------------------


def test_mentions_of_nothing():
    none = np.zeros(0, np.int64)
    mentions, slots = Mentions.of(LEE, none, none, none, 2)
    assert (len(mentions), len(slots)) == (0, 0)
    assert [len(own) for own in mentions.nested()] == [0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_mentions_are_words_of_documents(seed):
    rng = np.random.default_rng(seed)
    corpus = Corpus.of([[WORDS[k] for k in rng.integers(0, 3, 12)]] * 3, documents=[1, 2])
    flat = corpus.words.tolist()
    starts = 12 * rng.integers(0, 3, 40) + rng.integers(0, 8, 40)
    stops = starts + rng.integers(1, 5, 40)
    kinds = rng.integers(0, 2, 40)
    mentions, slots = Mentions.of(corpus, starts, stops, kinds, 2)
    own = [(int(a) // 12 > 0, tuple(flat[a:b])) for a, b in zip(starts, stops, strict=True)]
    known = list(dict.fromkeys(own))
    assert [known.index(one) for one in own] == slots.tolist()
    assert [(d > 0, tuple(mentions.words(s))) for s, d in enumerate(mentions.documents)] == known
    for slot, one in enumerate(known):
        same = [k for k, other in enumerate(own) if other == one]
        assert mentions.places[slot] == len({starts[k] for k in same})
        assert set(np.flatnonzero(mentions.possible[slot])) == set(kinds[same].tolist())
        assert mentions.text(slot) == " ".join(one[1])
    pairs = {
        (a, b)
        for a, (d, one) in enumerate(known)
        for b, (e, other) in enumerate(known)
        if d == e and stands_in(other, one)
    }
    found = list(zip(*(part.tolist() for part in mentions.nested()), strict=True))
    assert len(found) == len(pairs)
    assert set(found) == pairs


# What factors add --------------------------------------------------------------------------------


def differences(interplay, plain, picks):
    """By how much the fast score is off the plain one, up to a constant."""
    off = [
        interplay.score(own) - plain.joint(interplay.candidates.labelled(own)) for own in picks
    ]  # fmt: skip
    return np.ptp(off)


@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("encoding", LABELS)
@pytest.mark.parametrize("seed", range(2))
def test_scores_are_those_of_the_definition(factors, encoding, seed):
    problem = Problem(seed, encoding, factors=factors)
    interplay = problem.interplay()
    assert differences(interplay, problem.plain(), some_picks(interplay, seed, 30)) < 1e-7


@pytest.mark.parametrize(("encoding", "order", "local"), MODELS)
def test_scores_of_every_kind_of_chain(encoding, order, local):
    problem = Problem(3, encoding, order, local)
    interplay = problem.interplay()
    assert len(interplay.candidates.starts) == 3
    assert [len(own) for own in problem.plain().sentences] == np.diff(
        interplay.lists.first
    ).tolist()
    assert differences(interplay, problem.plain(), some_picks(interplay, 3, 30)) < 1e-7


@pytest.mark.parametrize("encoding", LABELS)
@pytest.mark.parametrize("seed", range(6))
def test_scores_beside_labels_that_are_certain(encoding, seed):
    """With few candidates beside fixed spans, whose places are fewer, too."""
    problem = Problem(seed, encoding, 1 + seed % 2, documents=((5, 4), (3, 3)), spread=2.0)
    interplay = problem.interplay(0.2, 3)
    picks = all_picks(interplay)
    plain = problem.plain([interplay.candidates.labelled(own) for own in picks])
    some = [picks[k] for k in np.random.default_rng(seed).integers(0, len(picks), 40)]
    assert differences(interplay, plain, some) < 1e-7


class Neighbours:
    """A factor of a user's own: any two spans of a document, also those of one slot."""

    def __init__(self, values):
        self.values = values

    def wiring(self, mentions, types, first):
        slots = np.arange(len(mentions))
        rows, columns = np.repeat(slots, len(slots)), np.tile(slots, len(slots))
        kept = (mentions.documents[rows] == mentions.documents[columns]) & (rows <= columns)
        rows, columns = rows[kept], columns[kept]
        free = np.zeros_like(self.values, bool)
        return Wiring((Relation("all", self.values, rows, columns, np.ones(len(rows)), free),))

    def plain(self, one, other):
        return self.values["AB".index(one), "AB".index(other)]


def test_pairs_of_one_slot_count_once_in_any_relation():
    values = np.array([[1.0, -2.0, 0.0], [-2.0, 3.0, 0.0], [0.0, 0.0, 0.0]])
    problem = Problem(4, factors="none")
    factors = (Neighbours(values),)
    interplay = problem.interplay(factors=factors)
    assert differences(interplay, problem.plain(None, factors), some_picks(interplay, 0, 20)) < 1e-7
