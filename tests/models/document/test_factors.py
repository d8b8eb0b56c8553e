"""Factors across documents: every step against labellings written out, and sampling against all."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from skipchain import Corpus, SkipchainError
from skipchain.chains import decode as chains
from skipchain.chains.dataset import Dataset
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import Weights
from skipchain.chains.scores import ChainScores
from skipchain.corpus.schemes import transitions
from skipchain.errors import CorpusError, ParameterError
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.kernels import factors as kernel
from skipchain.models.document.annealing import (
    Annealing,
    anneal,
    icm,
    mean_field,
    sample_probabilities,
)
from skipchain.models.document.candidate_graph import CandidateGraph, LabelTypes
from skipchain.models.document.candidates import (
    CandidateLimits,
    Candidates,
    all_fixed,
    find_candidates,
)
from skipchain.models.document.factors import (
    Agreement,
    Consistency,
    FactorEdges,
    Forbidden,
    LastWord,
    MentionStrings,
    PairCounts,
    PairPotential,
    count_pairs,
    parse_factors,
)
from skipchain.models.document.pseudolikelihood import PseudoLikelihood, TrainingInstance
from skipchain.models.document.twopass import other_occurrence_marginals, two_pass
from skipchain.parallel import Workers
from skipchain.reproduce.finkel.ilp import solve_ilp
from tests.oracles.factors import Plain, spans_of, stands_in

LABELS = {
    "io": ("O", "I-A", "I-B"),
    "iob2": ("O", "B-A", "I-A", "B-B", "I-B"),
    "bioes": ("O", "B-A", "E-A", "S-A", "S-B"),
}
WORDS = ["x", "X", "y"]
PAIR = np.zeros((2, 2))
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
    "by words": lambda rng: (Agreement("A", "lower", 0.6, "words"), Agreement("B", by="words")),
    "last word": lambda rng: (LastWord("A", penalty=0.8), LastWord("B", penalty=-0.5)),
    "forbidden": lambda rng: (Forbidden("B", "A"),),
    "all": lambda rng: (
        LastWord("B", 0.5), consistency(rng), Agreement("A", "lower", 0.7), Forbidden("A", "B"),
        consistency(rng, by_length=True, strength=0.5), Agreement("A", initial, 0.3),
        Agreement("B", "lower", 0.2, "words"),
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
        self.label_types = LabelTypes.of(self.labels, encoding)
        self.workers = Workers(1)
        self.scores = ChainScores.of(
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
            self.scores, self.best, marginals, self.label_types.type_ids, self.workers,
            CandidateLimits(tolerance, most), np.zeros(len(self.best),
            bool) if opened is None else opened,
        )  # fmt: skip

    def candidate_graph(self, *how, factors=None):
        own = self.factors if factors is None else factors
        return CandidateGraph.of(self.corpus, self.candidates(*how), self.label_types, own)


def all_picks(graph):
    """Every choice of one candidate a stretch."""
    first = graph.arrays.first.tolist()
    return [
        np.array(own, np.int64)
        for own in itertools.product(*(range(a, b) for a, b in itertools.pairwise(first)))
    ]


def some_picks(graph, seed, count):
    first = graph.arrays.first
    return np.random.default_rng(seed).integers(
        first[:-1], first[1:], (count, len(graph.candidates.starts))
    )


def token_chances(graph, chances, shape):
    """The probability of each label at each token of stretches, where those of others are 0."""
    found = np.zeros(shape)
    own = graph.candidates
    for q, v in enumerate(own.segment_ids):
        length = own.stops[v] - own.starts[v]
        labels = own.labels[own.label_starts[q] : own.label_starts[q] + length]
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
    found = Consistency.of(PairCounts(("PER", "LOC", "ORG", "MISC"), same, inside))
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
    mentions, slots = MentionStrings.of(LEE, none, none, none, 2)
    assert (len(mentions), len(slots)) == (0, 0)
    assert [len(own) for own in mentions.nested_pairs()] == [0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_mentions_are_words_of_documents(seed):
    rng = np.random.default_rng(seed)
    corpus = Corpus.of([[WORDS[k] for k in rng.integers(0, 3, 12)]] * 3, documents=[1, 2])
    flat = corpus.words.tolist()
    starts = 12 * rng.integers(0, 3, 40) + rng.integers(0, 8, 40)
    stops = starts + rng.integers(1, 5, 40)
    kinds = rng.integers(0, 2, 40)
    mentions, slots = MentionStrings.of(corpus, starts, stops, kinds, 2)
    own = [(int(a) // 12 > 0, tuple(flat[a:b])) for a, b in zip(starts, stops, strict=True)]
    known = list(dict.fromkeys(own))
    assert [known.index(one) for one in own] == slots.tolist()
    assert [(d > 0, tuple(mentions.words(s))) for s, d in enumerate(mentions.documents)] == known
    for slot, one in enumerate(known):
        same = [k for k, other in enumerate(own) if other == one]
        assert mentions.n_places[slot] == len({starts[k] for k in same})
        assert set(np.flatnonzero(mentions.possible_types[slot])) == set(kinds[same].tolist())
        assert mentions.text(slot) == " ".join(one[1])
    pairs = {
        (a, b)
        for a, (d, one) in enumerate(known)
        for b, (e, other) in enumerate(known)
        if d == e and stands_in(other, one)
    }
    found = list(zip(*(part.tolist() for part in mentions.nested_pairs()), strict=True))
    assert len(found) == len(pairs)
    assert set(found) == pairs


# What factors add --------------------------------------------------------------------------------


def differences(graph, plain, picks):
    """By how much the fast score is off the plain one, up to a constant."""
    off = [
        graph.score(own) - plain.joint(graph.candidates.assemble_labels(own)) for own in picks
    ]  # fmt: skip
    return np.ptp(off)


@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("encoding", LABELS)
@pytest.mark.parametrize("seed", range(2))
def test_scores_are_those_of_the_definition(factors, encoding, seed):
    problem = Problem(seed, encoding, factors=factors)
    graph = problem.candidate_graph()
    assert differences(graph, problem.plain(), some_picks(graph, seed, 30)) < 1e-7


@pytest.mark.parametrize(("encoding", "order", "local"), MODELS)
def test_scores_of_every_kind_of_chain(encoding, order, local):
    problem = Problem(3, encoding, order, local)
    graph = problem.candidate_graph()
    assert len(graph.candidates.starts) == 3
    assert [len(own) for own in problem.plain().sentences] == np.diff(graph.arrays.first).tolist()
    assert differences(graph, problem.plain(), some_picks(graph, 3, 30)) < 1e-7


@pytest.mark.parametrize("encoding", LABELS)
@pytest.mark.parametrize("seed", range(6))
def test_scores_beside_labels_that_are_certain(encoding, seed):
    """With few candidates beside fixed spans, whose places are fewer, too."""
    problem = Problem(seed, encoding, 1 + seed % 2, documents=((5, 4), (3, 3)), spread=2.0)
    graph = problem.candidate_graph(0.2, 3)
    picks = all_picks(graph)
    plain = problem.plain([graph.candidates.assemble_labels(own) for own in picks])
    some = [picks[k] for k in np.random.default_rng(seed).integers(0, len(picks), 40)]
    assert differences(graph, plain, some) < 1e-7


class Neighbours:
    """A factor of a user's own: any two spans of a document, also those of one slot."""

    def __init__(self, values):
        self.values = values

    def build_edges(self, mentions, types, first):
        slots = np.arange(len(mentions))
        rows, columns = np.repeat(slots, len(slots)), np.tile(slots, len(slots))
        kept = (mentions.documents[rows] == mentions.documents[columns]) & (rows <= columns)
        rows, columns = rows[kept], columns[kept]
        free = np.zeros_like(self.values, bool)
        return FactorEdges(
            (PairPotential("all", self.values, rows, columns, np.ones(len(rows)), free),)
        )

    def plain(self, one, other):
        return self.values["AB".index(one), "AB".index(other)]


def test_pairs_of_one_slot_count_once_in_any_relation():
    values = np.array([[1.0, -2.0, 0.0], [-2.0, 3.0, 0.0], [0.0, 0.0, 0.0]])
    problem = Problem(4, factors="none")
    factors = (Neighbours(values),)
    graph = problem.candidate_graph(factors=factors)
    assert differences(graph, problem.plain(None, factors), some_picks(graph, 0, 20)) < 1e-7


# Candidates --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("encoding", "order", "local"), MODELS)
@pytest.mark.parametrize(("tolerance", "most"), [(0.0, ALL), (0.0, 2), (0.1, ALL), (0.3, 1)])
def test_candidates_are_the_best_labellings_of_stretches(encoding, order, local, tolerance, most):
    """Their scores, their number, and how probable it is that another labelling is right."""
    problem = Problem(5, encoding, order, local, documents=((4, 3, 1),), spread=1.5)
    opened = np.arange(len(problem.best)) == 5
    found = problem.candidates(tolerance, most, opened)
    sure = chains.marginals(problem.scores, problem.workers).max(axis=1) >= 1.0 - tolerance
    sure &= ~opened
    plain, sentences = problem.plain(), problem.corpus.sentences
    stretch = 0
    for number, (a, b) in enumerate(itertools.pairwise(sentences.tolist())):
        every = np.array(plain.sentences[number])
        scores = np.array([plain.sentence(a, codes) for codes in every])
        whole = np.logaddexp.reduce(scores)
        possible = np.ones(len(every), bool)
        outside = np.ones(b - a, bool)
        while stretch < len(found.starts) and found.starts[stretch] < b:
            start, stop = int(found.starts[stretch]) - a, int(found.stops[stretch]) - a
            outside[start:stop] = False
            fixed = sure[a:b].copy()
            fixed[:start], fixed[stop:] = True, True
            assert not fixed.all()
            around = (every[:, fixed] == problem.best[a:b][fixed]).all(axis=1)
            norm = np.logaddexp.reduce(scores[around])
            own = range(found.first[stretch], found.first[stretch + 1])
            listed = [
                tuple(found.labels[found.label_starts[q] : found.label_starts[q] + stop - start])
                for q in own
            ]
            assert len(set(listed)) == len(listed)
            for q, labels in zip(own, listed, strict=True):
                codes = problem.best[a:b].copy()
                codes[start:stop] = labels
                assert found.scores[q] == pytest.approx(plain.sentence(a, codes) - norm, abs=1e-9)
            best = sorted(scores[around] - norm, reverse=True)[:most]
            top = [found.scores[q] for q in own][: len(best)]
            np.testing.assert_allclose(top, best, atol=1e-9)
            possible &= [tuple(codes[start:stop]) in listed for codes in every]
            stretch += 1
        possible &= (every[:, outside] == problem.best[a:b][outside]).all(axis=1)
        missed = 1.0 - np.exp(np.logaddexp.reduce(scores[possible]) - whole)
        assert missed <= found.uncovered_mass[number] + 1e-9
        if tolerance == 0.0 and most == ALL and b - a < 4:
            assert missed == pytest.approx(0.0, abs=1e-9)
    assert stretch == len(found.starts)


def test_the_best_labelling_with_another_type_is_a_candidate():
    """Also where the labels of a span are sure, as long as something beside them is in doubt."""
    problem = Problem(0, documents=((4,),), factors="none")
    best = np.array([1, 2, 2, 0], np.int32)  # a span of A, of which only the first token is open
    opened = np.array([True, False, False, False])
    marginals = np.eye(5)[best]
    found = find_candidates(
        problem.scores, best, marginals, problem.label_types.type_ids, problem.workers,
        CandidateLimits(0.0, 1),
        opened,
    )  # fmt: skip
    assert (found.starts.tolist(), found.stops.tolist()) == ([0], [3])
    plain = problem.plain()
    every = [own for own in plain.sentences[0] if own[3] == 0]
    free = max((own for own in every if own[1:3] == (2, 2)), key=lambda own: plain.sentence(0, own))
    other = max(
        (own for own in every if set(own[:3]) <= {3, 4}), key=lambda own: plain.sentence(0, own)
    )
    assert found.labels.reshape(-1, 3).tolist() == [list(free[:3]), list(other[:3])]
    wanted = plain.sentence(0, other) - plain.sentence(0, free)
    assert found.scores[1] - found.scores[0] == pytest.approx(wanted)


STRETCHES = [  # labels, doubtful tokens, stretches of order 1, of order 2
    ("OOOOOOO", [1, 3, 6], [(1, 2), (3, 4), (6, 7)], [(1, 4), (6, 7)]),
    ("OOOOOOO", [0, 2, 4], [(0, 1), (2, 3), (4, 5)], [(0, 5)]),
    ("OOBIIOO", [3], [(2, 5)], [(2, 5)]),
    ("OBIOBIO", [2], [(1, 3)], [(1, 6)]),
    ("OBOBOOB", [3], [(3, 4)], [(1, 4)]),
    ("OBOBOBO", [3], [(3, 4)], [(1, 6)]),
    ("OOO|OOO", [1, 4], [(1, 2), (4, 5)], [(1, 2), (4, 5)]),
    ("OOB|BOO", [2], [(2, 3)], [(2, 3)]),
    ("BO|OB", [0, 3], [(0, 1), (3, 4)], [(0, 1), (3, 4)]),
    ("OOOO", [], [], []),
]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("labels", "doubtful", "first", "second"), STRETCHES)
def test_stretches_end_where_labels_outside_of_spans_are_certain(
    labels, doubtful, first, second, order
):
    """For order 2 that takes two labels in a row, or one where the sentence begins or ends."""
    sizes = tuple(map(len, labels.split("|")))
    problem = Problem(0, order=order, factors="none", documents=(sizes,))
    best = np.array(["OBI".index(own) for own in labels.replace("|", "")], np.int32)
    marginals = np.eye(5)[best]
    marginals[doubtful] = 0.2
    found = find_candidates(
        problem.scores, best, marginals, problem.label_types.type_ids, problem.workers,
        CandidateLimits(1e-3, 5), np.zeros(len(best), bool),
    )  # fmt: skip
    stretches = list(zip(found.starts.tolist(), found.stops.tolist(), strict=True))
    assert stretches == (first if order == 1 else second)


def test_labels_put_together_are_those_of_the_candidates():
    problem = Problem(6, documents=((5, 4, 3),), spread=3.0, factors="none")
    graph = problem.candidate_graph(0.2)
    own = graph.candidates
    assert 0 < (own.stops - own.starts).sum() < len(problem.best)
    for picks in some_picks(graph, 0, 10):
        labels = own.assemble_labels(picks)
        inside = np.zeros(len(labels), bool)
        for v, q in enumerate(picks):
            start, stop = own.starts[v], own.stops[v]
            inside[start:stop] = True
            wanted = own.labels[own.label_starts[q] : own.offsets[q + 1]]
            np.testing.assert_array_equal(labels[start:stop], wanted)
        np.testing.assert_array_equal(labels[~inside], problem.best[~inside])
    np.testing.assert_array_equal(own.assemble_labels(graph.argmax(own.scores)), problem.best)


def test_where_nothing_is_in_doubt_there_is_nothing_to_choose():
    problem = Problem(6)
    graph = CandidateGraph.of(
        problem.corpus, all_fixed(problem.best, len(problem.corpus)), problem.label_types,
        problem.factors,
    )  # fmt: skip
    none = np.zeros(0, np.int64)
    assert graph.score(none) == 0.0
    for found in (
        anneal(graph, Annealing(3), problem.workers),
        icm(graph, problem.workers),
        mean_field(graph, problem.workers),
        sample_probabilities(graph, Annealing(3), 1, problem.workers),
        graph.interacting,
    ):
        assert len(found) == 0
    np.testing.assert_array_equal(graph.candidates.assemble_labels(none), problem.best)


# Who minds whom ----------------------------------------------------------------------------------


def fixed_interplay(words, labels, factors, documents=None):
    """Labels taken for certain, with factors."""
    corpus = Corpus.of(words, documents=documents)
    kinds = ("LOC", "PER", "T")
    names = ("O", *(f"{prefix}-{kind}" for kind in kinds for prefix in "BI"))
    codes = np.array([names.index(name) for own in labels for name in own], np.int32)
    label_types = LabelTypes.of(names, "iob2")
    return CandidateGraph.of(corpus, all_fixed(codes, len(corpus)), label_types, factors)


STRICT = Consistency(("LOC", "PER"), -np.array([[0.0, 1], [1, 0]]), -np.array([[0.0, 1], [1, 0]]))
CONTESTS = [
    ([["Lee"], ["Lee"]], [["B-PER"], ["B-PER"]], STRICT, None, set()),
    ([["Lee"], ["Lee"]], [["B-PER"], ["B-LOC"]], STRICT, None, {(0, 1), (1, 2)}),
    ([["Lee"], ["Lee"]], [["B-PER"], ["B-LOC"]], STRICT, [1, 1], set()),
    (
        [["Ada", "Lee"], ["Lee", "x"], ["Ada"]],
        [["B-PER", "I-PER"], ["B-LOC", "O"], ["B-PER"]], STRICT, None, {(0, 2), (2, 3)},
    ),
    ([["Lee"], ["Lee"]], [["B-PER"], ["O"]], LastWord("PER"), None, {(0, 1), (1, 2)}),
    ([["Lee"], ["Lee"]], [["B-PER"], ["O"]], LastWord("PER"), [1, 1], set()),
    ([["Lee"], ["Ada", "Lee"]], [["B-PER"], ["B-PER", "I-PER"]], LastWord("PER"), None, set()),
    ([["1", "x", "2"]], [["B-T", "O", "B-T"]], Agreement("T"), None, {(0, 1), (2, 3)}),
    ([["1", "x", "2"], ["1"]], [["B-T", "O", "O"], ["B-T"]], Agreement("T"), None, set()),
    (
        [["1"], ["2"], ["1"]], [["B-T"], ["B-T"], ["B-T"]], Agreement("T"), None,
        {(0, 1), (1, 2), (2, 3)},
    ),
    ([["Lee"], ["Lee"]], [["B-PER"], ["B-T"]], Forbidden("T", "PER"), None, {(0, 1), (1, 2)}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "labels", "factor", "documents", "wanted"), CONTESTS)
def test_fixed_spans_that_others_object_to_are_named(words, labels, factor, documents, wanted):
    found = fixed_interplay(words, labels, (factor,), documents).contested()
    assert set(zip(found.starts.tolist(), found.stops.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("seed", range(5))
def test_what_nothing_outside_minds_is_not_live(seed):
    problem = Problem(seed, factors="consistency", documents=((2, 2), (3,), (1, 1)), spread=2.0)
    graph = problem.candidate_graph(0.1)
    rng = np.random.default_rng(seed)
    first = graph.arrays.first
    for v in np.flatnonzero(~graph.interacting):
        for picks in some_picks(graph, seed, 5):
            one, other = picks.copy(), picks.copy()
            one[v], other[v] = rng.integers(first[v], first[v + 1], 2)
            gain = graph.score(one) - graph.score(other)
            assert gain == pytest.approx(
                graph.isolated_log_probs[one[v]] - graph.isolated_log_probs[other[v]]
            )
    grouped = [v for own in graph.document_segments for v in own]
    np.testing.assert_array_equal(grouped, np.flatnonzero(graph.interacting))
    for own in graph.document_segments:
        assert len(set(graph.documents[own])) <= 1


def test_live_by_hand():
    """Lee and Lee of one document; a name alone in its document; a name beside a fixed one."""
    problem = Problem(0, "io", factors="consistency", documents=((1, 1), (1,), (1, 1)))
    words = Corpus.of([["x"], ["x"], ["y"], ["X"], ["X"]], documents=[2, 1, 2])
    problem.corpus = words
    marginals = np.full((5, 3), 1 / 3)
    marginals[4] = [0.0, 1.0, 0.0]
    best = np.array([1, 1, 1, 1, 1], np.int32)
    found = find_candidates(
        problem.scores, best, marginals, problem.label_types.type_ids, problem.workers,
        CandidateLimits(),
        np.zeros(5, bool),
    )  # fmt: skip
    graph = CandidateGraph.of(words, found, problem.label_types, problem.factors)
    assert graph.interacting.tolist() == [True, True, False, True]
    assert [own.tolist() for own in graph.document_segments] == [[0, 1], [3]]


# Choosing ----------------------------------------------------------------------------------------


def parts(graph):
    return graph.arrays, graph.edges, graph.weights, graph.internal_scores


def shared(graph):
    """All slots that several stretches have."""
    return np.concatenate([np.zeros(0, np.int64), *graph.shared_strings])


@pytest.mark.parametrize("every", [0, 2])
@pytest.mark.parametrize("encoding", LABELS)
def test_sums_that_are_kept_stay_those_of_the_state(encoding, every):
    problem = Problem(7, encoding, factors="all")
    graph = replace(problem.candidate_graph(), all_interacting=True)
    variables = np.arange(len(graph.documents))
    picks = some_picks(graph, 1, 1)[0]
    first = picks.copy()
    field = graph.field(graph.one_hot(picks))
    state = np.array([5], np.uint64)
    visits = np.zeros(len(graph.arrays.unary), np.int64)
    for sweep in range(10):
        before, best = picks.copy(), picks.copy()
        heats = np.full(1 + sweep, 1.0 + sweep)
        gain = kernel.sample(
            *parts(graph), field, graph.string_variables, shared(graph), every, variables, picks,
            heats, state, visits, best,
        )  # fmt: skip
        assert gain == pytest.approx(graph.score(best) - graph.score(before), abs=1e-7)
        assert gain >= 0.0
        np.testing.assert_allclose(field, graph.field(graph.one_hot(picks)), atol=1e-7)
    assert (picks != first).any()
    ends = np.add.reduceat(visits, graph.arrays.first[:-1])
    assert set(ends.tolist()) == {sum(range(1, 11))}


def test_cold_sampling_is_climbing():
    problem = Problem(8, factors="consistency")
    graph = problem.candidate_graph()
    variables = np.arange(len(graph.documents))
    nothing = np.zeros(0, np.int64)
    for start in some_picks(graph, 2, 10):
        picks, climbed, best = start.copy(), start.copy(), start.copy()
        field = graph.field(graph.one_hot(start))
        gain = kernel.sample(
            *parts(graph), field, graph.string_variables, nothing, 0, variables, picks,
            np.zeros(50),
            np.zeros(1, np.uint64), nothing, best,
        )  # fmt: skip
        field = graph.field(graph.one_hot(start))
        assert gain == pytest.approx(
            kernel.icm(
                *parts(graph), field, graph.string_variables, nothing, variables, climbed, 50
            )
        )
        np.testing.assert_array_equal(picks, climbed)
        np.testing.assert_array_equal(best, climbed)
        np.testing.assert_allclose(field, graph.field(graph.one_hot(climbed)), atol=1e-9)


@pytest.mark.parametrize("heat", [0.0, 2.0])
@pytest.mark.parametrize("factors", ["consistency", "last word", "all"])
def test_spans_that_change_together_gain_what_is_told(factors, heat):
    problem = Problem(20, factors=factors, documents=((3, 3, 2), (2, 2)))
    graph = problem.candidate_graph()
    state = np.array([3], np.uint64)
    moved = 0
    for start in some_picks(graph, 3, 20):
        picks = start.copy()
        field = graph.field(graph.one_hot(picks))
        gain = kernel.retype(
            *parts(graph), field, graph.string_variables, shared(graph), picks, heat, state
        )
        assert gain == pytest.approx(graph.score(picks) - graph.score(start), abs=1e-7)
        np.testing.assert_allclose(field, graph.field(graph.one_hot(picks)), atol=1e-7)
        if heat == 0.0:
            assert gain >= 0.0
        moved += int((picks != start).any())
    assert moved


def test_names_are_only_right_together():
    """Three times the same word, wrong each time: no single change helps, all together do."""
    corpus = Corpus.of([["Lee"], ["Lee"], ["Lee"]])
    factor = Consistency(("A", "B"), np.array([[3.0, -3.0], [-3.0, 3.0]]), PAIR, shared=False)
    label_types = LabelTypes.of(LABELS["io"], "io")
    own = Candidates(
        np.ones(3, np.int32), np.arange(3), np.arange(1, 4), np.array([0, 2, 4, 6]), np.arange(6),
        np.array([1, 2] * 3, np.int32), np.log([0.4, 0.6] * 3), np.zeros(3),
    )  # fmt: skip
    graph = CandidateGraph.of(corpus, own, label_types, (factor,))
    wrong, right = np.array([0, 2, 4]), np.array([1, 3, 5])
    with Workers(1) as workers:
        np.testing.assert_array_equal(icm(graph, workers, wrong), right)
        np.testing.assert_array_equal(anneal(graph, Annealing(1), workers), right)


@pytest.mark.parametrize("encoding", LABELS)
@pytest.mark.parametrize("factors", ["consistency", "last word", "own key", "all"])
def test_sampled_labels_are_as_frequent_as_they_are_probable(encoding, factors):
    problem = Problem(9, encoding, factors=factors)
    wanted = problem.plain().marginals()
    graph = problem.candidate_graph()
    how = Annealing(8000, chains=2, seed=4)
    chances = sample_probabilities(graph, how, 100, problem.workers)
    sums = np.add.reduceat(chances, graph.arrays.first[:-1])
    np.testing.assert_allclose(sums, 1.0)
    found = token_chances(graph, chances, wanted.shape)
    np.testing.assert_allclose(found, wanted, atol=0.03)


@pytest.mark.parametrize("encoding", ["io", "iob2"])  # single labels of bioes cannot change
def test_sampling_agrees_with_sampling_token_by_token(encoding):
    problem = Problem(10, encoding, factors="all", documents=((2, 2),), spread=0.5)
    plain = problem.plain()
    slow = plain.gibbs(6000, seed=1)
    np.testing.assert_allclose(slow, plain.marginals(), atol=0.05)
    graph = problem.candidate_graph()
    chances = sample_probabilities(graph, Annealing(8000), 100, problem.workers)
    np.testing.assert_allclose(token_chances(graph, chances, slow.shape), slow, atol=0.06)


def test_what_is_not_live_is_not_sampled():
    problem = Problem(11, factors="none")
    graph = problem.candidate_graph()
    chances = sample_probabilities(graph, Annealing(1), 0, problem.workers)
    marginals = chains.marginals(problem.scores, problem.workers)
    np.testing.assert_allclose(token_chances(graph, chances, marginals.shape), marginals)


@pytest.mark.parametrize("encoding", LABELS)
@pytest.mark.parametrize("seed", range(4))
def test_annealing_finds_the_best_labelling(encoding, seed):
    problem = Problem(seed, encoding, factors="all", documents=((3, 2), (1,)))
    graph = problem.candidate_graph()
    plain = problem.plain()
    best = max(plain.table, key=plain.table.get)
    for scattered in (False, True):
        how = Annealing(60, chains=3, seed=seed, random_start=scattered)
        found = graph.candidates.assemble_labels(anneal(graph, how, problem.workers))
        assert plain.joint(found) >= plain.joint(best) - 1e-9


@pytest.mark.parametrize("factors", ["consistency", "all"])
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_proven(factors, seed):
    problem = Problem(seed, factors=factors, documents=((3, 2), (1, 1)))
    graph = problem.candidate_graph(0.0, 12)
    picks = graph.argmax(graph.isolated_log_probs)
    for document, own in enumerate(graph.document_segments):
        picks[own] = solve_ilp(graph, document)
    best = max(all_picks(graph), key=graph.score)
    assert graph.score(picks) == pytest.approx(graph.score(best))
    assert solve_ilp(graph, 0, most=0) is None


@pytest.mark.parametrize("seed", range(10))
def test_climbing_never_falls_and_ends_where_no_single_step_helps(seed):
    problem = Problem(seed, factors="all")
    graph = problem.candidate_graph()
    for picks in (None, *some_picks(graph, seed, 5)):
        start = graph.argmax(graph.isolated_log_probs) if picks is None else picks
        found = icm(graph, problem.workers, picks)
        here = graph.score(found)
        assert here >= graph.score(start) - 1e-9
        first = graph.arrays.first
        for v in range(len(found)):
            for q in range(first[v], first[v + 1]):
                assert graph.score(np.where(np.arange(len(found)) == v, q, found)) <= here + 1e-9
        if picks is not None:
            assert icm(graph, problem.workers, found).tolist() == found.tolist()


@pytest.mark.parametrize("encoding", LABELS)
def test_mean_field_rests(encoding):
    problem = Problem(12, encoding, factors="consistency")
    graph = problem.candidate_graph()
    chances = mean_field(graph, problem.workers)
    first = graph.arrays.first
    np.testing.assert_allclose(np.add.reduceat(chances, first[:-1]), 1.0)
    plain = problem.plain()
    for v in range(len(first) - 1):
        others = [u for u in range(len(first) - 1) if u != v and graph.documents[u] == 0]
        if graph.documents[v] != 0:
            continue
        values = []
        for q in range(first[v], first[v + 1]):
            total = 0.0
            for own in itertools.product(*(range(first[u], first[u + 1]) for u in others)):
                picks = first[:-1].copy()
                picks[[v, *others]] = [q, *own]
                chance = np.prod(chances[list(own)])
                if chance > 1e-6:
                    total += chance * plain.candidate_graph(graph.candidates.assemble_labels(picks))
            values.append(graph.arrays.unary[q] + total)
        wanted = np.exp(values - np.logaddexp.reduce(values))
        np.testing.assert_allclose(chances[first[v] : first[v + 1]], wanted, atol=2e-3)


def test_mean_field_is_exact_where_nothing_is_linked():
    problem = Problem(13, "bioes", factors="none")
    graph = problem.candidate_graph()
    marginals = chains.marginals(problem.scores, problem.workers)
    found = token_chances(graph, mean_field(graph, problem.workers), marginals.shape)
    np.testing.assert_allclose(found, marginals, atol=1e-12)
    alone = Problem(13, factors="all", documents=((3,),))  # its own spans mind each other
    graph = alone.candidate_graph()
    assert not graph.interacting.any()
    found = token_chances(graph, mean_field(graph, alone.workers), (3, 5))
    np.testing.assert_allclose(found, alone.plain().marginals(), atol=1e-12)


def test_seeds_decide_and_threads_do_not():
    problem = Problem(14, documents=((3, 3),) * 6)
    graph = problem.candidate_graph()
    how = Annealing(20, chains=2, seed=1)
    with Workers(2) as two:
        for run in (
            lambda workers: sample_probabilities(graph, how, 5, workers),
            lambda workers: anneal(graph, how, workers),
            lambda workers: icm(graph, workers),
            lambda workers: mean_field(graph, workers),
        ):
            np.testing.assert_array_equal(run(problem.workers), run(two))
    again = sample_probabilities(graph, how, 5, problem.workers)
    np.testing.assert_array_equal(again, sample_probabilities(graph, how, 5, problem.workers))
    other = sample_probabilities(graph, Annealing(20, chains=2, seed=2), 5, problem.workers)
    assert (again != other).any()


# Learning ----------------------------------------------------------------------------------------


def lesson(problem, seed, tolerance=0.0, most=6):
    """Candidates with right ones drawn at random, and none for some stretches."""
    graph = problem.candidate_graph(tolerance, most)
    rng = np.random.default_rng(seed)
    first = graph.arrays.first
    gold = rng.integers(first[:-1], first[1:])
    gold[rng.random(len(gold)) < 0.2] = -1
    return TrainingInstance(graph, gold)


def pseudo_loss(problem, own, factors, scale):
    """Every right candidate given all choices of the others, weighed by their own chances."""
    graph, gold = own.candidate_graph, own.gold
    chances, first = np.exp(graph.isolated_log_probs), graph.arrays.first
    picks = all_picks(graph)
    plain = problem.plain([graph.candidates.assemble_labels(one) for one in picks], factors)
    table = {
        tuple(one): plain.candidate_graph(graph.candidates.assemble_labels(one)) for one in picks
    }  # fmt: skip
    loss = 0.0
    for v in np.flatnonzero(gold >= 0):
        values = []
        for q in range(first[v], first[v + 1]):
            expected = sum(
                np.prod(np.delete(chances[list(one)], v)) * value
                for one, value in table.items() if one[v] == q
            )  # fmt: skip
            values.append(scale * (graph.arrays.unary[q] + expected))
        loss += np.logaddexp.reduce(values) - values[gold[v] - first[v]]
    return loss


LEARNT = ["consistency", "whole", "one type", "words", "by words", "own key", "last word"]


@pytest.mark.parametrize("factors", LEARNT)
@pytest.mark.parametrize("encoding", ["io", "iob2"])
def test_the_loss_is_that_of_the_definition(factors, encoding):
    sizes = ((3, 2, 3), (2,)) if encoding == "iob2" else ((3, 2), (2, 2))
    problem = Problem(15, encoding, factors=factors, documents=sizes, spread=1.5)
    own = lesson(problem, 15, 0.05, 5)
    objective = PseudoLikelihood([own], problem.workers, l2=0.3)
    vector = np.random.default_rng(0).normal(0, 1, 1 + objective.size)
    vector[0] = 1.7
    tables, types = iter(objective.tables(vector)), problem.label_types.types
    counts = own.candidate_graph.potentials_per_factor
    told = [
        factor.with_tables([next(tables) for _ in range(count)], types)
        for factor, count in zip(problem.factors, counts, strict=True)
    ]
    wanted = pseudo_loss(problem, own, told, 1.7)
    wanted += 0.3 * ((vector - objective.start)[1:] ** 2).sum()
    assert objective(vector)[0] == pytest.approx(wanted)


@pytest.mark.parametrize("factors", [*LEARNT, "all"])
def test_the_gradient_is_that_of_the_loss(factors):
    problem = Problem(16, factors=factors, documents=((3, 2, 2), (2, 3)))
    with Workers(2) as workers:
        lessons = [lesson(problem, 1), lesson(problem, 2, 0.1)]
        objective = PseudoLikelihood(lessons, workers, l2=0.3)
        vector = objective.start + np.random.default_rng(1).normal(0, 0.5, 1 + objective.size)
        _, gradient = objective(vector)
        for k in range(len(vector)):
            step = 1e-5 * (np.arange(len(vector)) == k)
            slope = (objective(vector + step)[0] - objective(vector - step)[0]) / 2e-5
            assert gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_learning_begins_with_what_there_is_and_ties_pairs_without_order():
    problem = Problem(17, factors="consistency")
    objective = PseudoLikelihood([lesson(problem, 0)], problem.workers, l2=1.0)
    assert objective.size == 3 + 4  # a symmetric table, and one that is not
    same, inside = objective.tables(objective.start)
    own = problem.factors[0]
    np.testing.assert_allclose(same[:2, :2], own.same)
    np.testing.assert_allclose(inside[:2, :2], own.inside)
    vector = np.random.default_rng(0).normal(2.0, 1.0, 1 + objective.size)
    same, inside = objective.tables(vector)
    np.testing.assert_array_equal(same, same.T)
    assert not np.array_equal(inside, inside.T)
    assert not same[2].any()
    assert not inside[:, 2].any()
    np.testing.assert_allclose(same[0, 1], vector[2] / vector[0])


def test_what_is_forbidden_is_not_learnt():
    problem = Problem(17, factors="forbidden")
    objective = PseudoLikelihood([lesson(problem, 0)], problem.workers, l2=1.0)
    assert objective.size == 0
    assert problem.factors[0].with_tables(objective.tables(np.ones(1)), ("A", "B")) == Forbidden(
        "B", "A"
    )


# Two passes --------------------------------------------------------------------------------------


def test_what_words_are_elsewhere_by_hand():
    corpus = Corpus.of([["x", "y", "x"], ["x"], ["x", "y"]], documents=[2, 1])
    marginals = np.array([
        [0.5, 0.2, 0.2, 0.1], [1.0, 0.0, 0.0, 0.0], [0.1, 0.3, 0.3, 0.3], [0.9, 0.0, 0.1, 0.0],
        [0.3, 0.3, 0.4, 0.0], [0.0, 0.0, 0.0, 1.0],
    ])  # fmt: skip
    kinds = np.array([-1, 0, 0, 1], np.int32)
    np.testing.assert_allclose(other_occurrence_marginals(marginals, corpus, kinds), [
        [0.35, 0.15, 0.5], [0.0, 0.0, 0.0], [0.25, 0.05, 0.7], [0.5, 0.2, 0.3],
        [0.0, 0.0, 0.0], [0.0, 0.0, 0.0],
    ])  # fmt: skip


@pytest.mark.parametrize(("encoding", "order", "local"), MODELS)
def test_the_second_pass_is_the_best_labelling_with_what_the_first_told(encoding, order, local):
    problem = Problem(18, encoding, order, local, documents=((3, 3),), spread=0.3)
    kinds = problem.label_types.type_ids
    marginals = chains.marginals(problem.scores, problem.workers)
    told = other_occurrence_marginals(marginals, problem.corpus, kinds)[:, kinds]
    found = two_pass(problem.scores, problem.corpus, kinds, problem.workers, 3.0)
    plain = problem.plain(factors=())
    for first, every in zip((0, 3), plain.sentences, strict=True):
        own = {
            codes: plain.sentence(first, codes)
            + sum(3.0 * told[first + t, code] for t, code in enumerate(codes))
            for codes in every
        }
        assert tuple(found[first : first + 3]) == max(own, key=own.get)
    again = two_pass(problem.scores, problem.corpus, kinds, problem.workers, 0.0)
    np.testing.assert_array_equal(again, problem.best)


# What is refused ---------------------------------------------------------------------------------

REFUSED = [
    (lambda: Consistency(("A", "B"), np.zeros((3, 3)), PAIR), "2 by 2, got"),
    (lambda: Consistency(("A", "B"), PAIR, np.full((2, 2), np.nan)), "finite numbers"),
    (lambda: Consistency(("A", "B"), np.full((2, 2), np.nan), PAIR), "finite numbers"),
    (lambda: Consistency(("A", "B"), np.array([[0.0, 1], [2, 0]]), PAIR), "symmetric"),
    (lambda: Consistency(("A", "B"), PAIR, PAIR, strength=-1.0), "strength .* at least 0"),
    (lambda: Consistency(("A", "B"), PAIR, PAIR, strength=np.nan), "strength .* at least 0"),
    (lambda: Agreement("A", "sound"), "no key 'sound'; there are words, lower"),
    (lambda: Agreement("A", by="letters"), "by must be one of pair, words, got 'letters'"),
    (lambda: Agreement("A", penalty=np.inf), "finite number, got inf"),
    (lambda: LastWord("A", penalty=np.nan), "finite number, got nan"),
    (lambda: Forbidden("A", "A"), "'A' twice"),
    (lambda: CandidateLimits(-0.1), "tolerance must be from 0 to 1"),
    (lambda: CandidateLimits(np.nan), "tolerance must be from 0 to 1"),
    (lambda: CandidateLimits(0.1, 0), "most must be a whole number of at least 1"),
    (lambda: Annealing(0), "samples must be a whole number of at least 1, got 0"),
    (lambda: Annealing(2.5), "samples must be a whole number"),
    (lambda: Annealing(2, chains=0), "chains must be"),
    (lambda: Annealing(2, seed=-1), "seed must be"),
    (lambda: Annealing(2, "slowly"), "'linear' or one number a sweep, got 'slowly'"),
    (lambda: Annealing(2, (1.0,)), "1 numbers for 2 samples"),
    (lambda: Annealing(2, (1.0, -0.5)), "at least 0, got -0.5"),
    (lambda: Annealing(2, (1.0, np.nan)), "at least 0, got nan"),
    (lambda: parse_factors("harmony"), "no factor 'harmony'; there are consistency"),
    (lambda: parse_factors("consistency; "), "no factor ''"),
    (lambda: parse_factors("consistency(A)"), r"cannot read the factor 'consistency\(A\)'"),
    (lambda: parse_factors("forbidden(A)"), "the forms are"),
    (lambda: parse_factors("agreement(, lower)"), "cannot read"),
    (lambda: parse_factors("agreement(A, sound)"), "no key 'sound'"),
    (lambda: parse_factors("agreement(A, by=sound)"), "one of pair, words, got 'sound'"),
    (lambda: parse_factors("agreement(A, by=words, lower)"), "no key 'by=words'"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


@pytest.mark.parametrize(
    "factor",
    [Consistency.blank(("A", "X")), Agreement("X"), LastWord("X"), Forbidden("A", "X")],
    ids=lambda factor: type(factor).__name__,
)
def test_types_that_a_model_does_not_have_are_refused(factor):
    with pytest.raises(SkipchainError, match=f"{type(factor).__name__} is about X, but .* A, B"):
        factor.check(("A", "B"))


def test_factors_are_read_from_text():
    found = parse_factors(
        "consistency ; agreement( T , own);forbidden(A, B); last_word(P); agreement(T); "
        "agreement(T, lower, by=words); agreement(T, by=words); agreement(T, by=pair)",
        {"own": initial},
    )
    assert found[1:] == (
        Agreement("T", initial), Forbidden("A", "B"), LastWord("P"), Agreement("T", "words"),
        Agreement("T", "lower", by="words"), Agreement("T", by="words"), Agreement("T"),
    )  # fmt: skip
    assert isinstance(found[0], Consistency)
    assert found[0].types == ()


def test_strength_multiplies_what_can_be_weaker():
    rng = np.random.default_rng(0)
    for factors in ("consistency", "words", "by words", "last word", "forbidden"):
        problem = Problem(19, factors=factors)
        picks = problem.candidate_graph().arrays.first[:-1]
        weaker = [factor.scaled(0.5) for factor in problem.factors]
        found = problem.candidate_graph(factors=weaker).score(picks)
        plain = problem.plain()
        codes = problem.candidate_graph().candidates.assemble_labels(picks)
        share = 1.0 if factors == "forbidden" else 0.5
        wanted = problem.candidate_graph(factors=()).score(picks) + share * plain.candidate_graph(
            codes
        )
        assert found == pytest.approx(wanted)
    assert consistency(rng, strength=0.5).scaled(0.5).strength == 0.25


def test_cooling_of_ones_own():
    np.testing.assert_array_equal(Annealing(3, (2.0, 1.0, 0.5)).temperatures, [2.0, 1.0, 0.5])
    assert Annealing(1).temperatures.tolist() == [1.0]
