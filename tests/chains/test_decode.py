"""Span confidences, allowed labels and block-wise decoding, against enumeration."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from skipchain import Column, Corpus, SkipchainError
from skipchain.chains import decode as chains
from skipchain.chains.allowed import allowed_labels
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import Weights
from skipchain.corpus.schemes import SCHEMES, Spans, convert, decode, transitions, validate
from skipchain.errors import CorpusError
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.models.chain.model import DECODERS, ChainModel
from skipchain.parallel import Workers, blocks

PREFIXES = {
    "io": "I", "iob1": "BI", "iob2": "BI", "ioe1": "EI", "ioe2": "EI", "bioes": "BIES",
    "bilou": "BILU",
}  # fmt: skip
MERGING = ("io", "bare")


def labels_of(scheme, types):
    """All labels of a scheme."""
    if scheme == "bare":
        return ("O", *types)
    return ("O", *(f"{prefix}-{kind}" for kind in types for prefix in PREFIXES[scheme]))


def model_of(scheme, types=("X", "Y"), seed=0, constrained=True):
    """A model with random weights over three words."""
    rng = np.random.default_rng(seed)
    labels = labels_of(scheme, types)
    corpus = Corpus.of([["a", "b", "c"]])
    vocabulary, _ = Vocabulary.fit(corpus, Templates.parse("word\nlabel[-1] & word"))
    size = len(labels)
    weights = Weights(
        rng.normal(size=(vocabulary.n_features, size)),
        rng.normal(size=(size, size)),
        rng.normal(size=size),
        rng.normal(size=size),
        rng.normal(size=(vocabulary.n_edge_features, (size + 1) * size)),
        np.zeros((0, size, size)),
    )
    return ChainModel("crf", labels, vocabulary, weights, scheme, scheme, constrained)


def enumerated(scores, block=(0, 1)):
    """All paths of the first chain with their probabilities."""
    p = scores.potentials(block)
    last = int(p.offsets[1])
    paths = list(itertools.product(range(p.node.shape[1]), repeat=last))
    values = []
    for path in paths:
        value = sum(p.node[t, y] for t, y in enumerate(path))
        value += sum(p.edge[t, path[t - 1], path[t]] for t in range(1, last))
        values.append(value)
    values = np.array(values)
    weights = np.exp(values - values.max())
    return paths, weights / weights.sum()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("words", [["a"], ["b", "a"], ["a", "c", "b"]])
def test_the_confidence_of_a_span_is_the_share_of_labellings_that_have_it(scheme, words):
    model = model_of(scheme, types=("X", "Y") if len(words) < 3 else ("X",))
    sentence = Corpus.of([words])
    with Workers(1) as workers:
        scores = model.scores(sentence, workers)
        paths, probabilities = enumerated(scores)
        shares = {}
        for path, p in zip(paths, probabilities, strict=True):
            column = Column.encode([model.labels[k] for k in path])
            for span in decode(column, sentence.sentences, scheme).tolist():
                shares[span] = shares.get(span, 0.0) + p
        spans = Spans.of(sorted(shares))
        overlapping = [Spans.of([span]) for span in spans.tolist()]
        found = [model.confidences(scores, span, workers)[0] for span in overlapping]
    np.testing.assert_allclose(found, [shares[s] for s in spans.tolist()], atol=1e-9)


def test_confidences_of_many_spans_in_many_blocks():
    model = model_of("iob2")
    rng = np.random.default_rng(1)
    corpus = Corpus.of([list(rng.choice(["a", "b", "c"], 7)) for _ in range(4000)])
    with Workers(2) as workers:
        scores = model.scores(corpus, workers)
        assert len(scores.data.blocks()) > 2
        labels = model.decode(scores, workers)
        spans = model.spans(labels, corpus.sentences)
        found = model.confidences(scores, spans, workers)
        assert len(found) == len(spans) > 100
        for sentence in (0, 1700, 3999):
            own = corpus[sentence : sentence + 1]
            alone = model.scores(own, workers)
            there = (spans.starts >= corpus.sentences[sentence]) & (
                spans.starts < corpus.sentences[sentence + 1]
            )
            again = model.spans(model.decode(alone, workers), own.sentences)
            np.testing.assert_allclose(
                found[there], model.confidences(alone, again, workers), atol=1e-12
            )


@pytest.mark.parametrize(("scheme", "encoding"), [*itertools.product(SCHEMES, SCHEMES)])
def test_given_labels_allow_exactly_the_encodings_that_can_follow_from_them(scheme, encoding):
    """Over all sentences of three tokens: every re-encoding is allowed, label by label."""
    labels = list(labels_of(encoding, "X"))
    offsets = np.array([0, 3])
    for path in itertools.product(labels_of(scheme, "X"), repeat=3):
        given = Column.encode(path)
        if validate(given, offsets, scheme):
            continue
        wanted = convert(given, offsets, scheme, encoding, lossy=True).tolist()
        allowed = allowed_labels(path, offsets, scheme, labels, encoding)
        assert all(allowed[t, labels.index(label)] for t, label in enumerate(wanted))
        for t, label in enumerate(path):
            assert allowed[t, 0] == (label == "O")


def test_allowed_labels_without_schemes_are_the_labels_themselves():
    pair = np.array([0, 2])
    found = allowed_labels(["NN", None], pair, None, ["NN", "VB"], None)
    np.testing.assert_array_equal(found, [[True, False], [True, True]])
    with pytest.raises(SkipchainError, match=r"token 1: label 'XX' is unknown.*NN, VB"):
        allowed_labels(["NN", "XX"], pair, None, ["NN", "VB"], None)
    with pytest.raises(SkipchainError, match=r"'S-X' does not belong to iob2, which has O, B-TYPE"):
        allowed_labels(["S-X", None], pair, "iob2", ["O", "S-X"], "bioes")


@pytest.mark.parametrize(("scheme", "encoding"), [*itertools.product(SCHEMES, SCHEMES)])
def test_forced_labels_come_back_as_they_were_given(scheme, encoding):
    """Every valid labelling of three tokens, forced on a model of any encoding."""
    if encoding in MERGING and scheme not in MERGING:
        return  # these cannot hold neighbouring spans apart
    model = replace(model_of(encoding, types=("X",), seed=4), scheme=scheme)
    sentence = Corpus.of([["a", "b", "c"]])
    with Workers(1) as workers:
        for path in itertools.product(labels_of(scheme, "X"), repeat=3):
            if validate(Column.encode(path), sentence.sentences, scheme):
                continue
            for decoder in DECODERS:
                scores = model.scores(sentence, workers, path)
                labels = model.decode(scores, workers, decoder, beam=2)
                assert tuple(model.to_scheme(labels, sentence.sentences).tolist()) == path


def test_a_marked_neighbour_must_be_of_the_same_type():
    labels = ["O", "B-X", "I-X", "E-X", "S-X", "S-Y"]
    found = allowed_labels([None, "B-X", None], np.array([0, 3]), "iob1", labels, "bioes")
    np.testing.assert_array_equal(found[0], [False, True, True, True, True, False])
    np.testing.assert_array_equal(found[1], [False, True, False, False, True, False])
    assert found[2].all()


def test_constraints_that_leave_a_length_without_labels_are_not_used():
    model = model_of("bioes", types=("X",))
    pairs_only = replace(
        model, labels=("B-X", "E-X"),
        weights=Weights(np.zeros((3, 2)), np.zeros((2, 2)), np.zeros(2), np.zeros(2),
                        np.zeros((model.features.n_edge_features, 6)), np.zeros((0, 2, 2))),
    )  # fmt: skip
    assert pairs_only.constraints is None
    with Workers(1) as workers:
        assert len(pairs_only.label(Corpus.of([["a"]]), workers)[0]) == 1


def test_forced_decoding_is_the_best_path_that_agrees():
    model = model_of("iob2", seed=3)
    sentence = Corpus.of([["a", "b", "c", "a"]])
    with Workers(1) as workers:
        free = model.scores(sentence, workers)
        forced = model.scores(sentence, workers, [None, "B-Y", None, "O"])
        paths, probabilities = enumerated(free)
        fits = [
            p if model.labels[path[1]] == "B-Y" and model.labels[path[3]] == "O" else 0.0
            for path, p in zip(paths, probabilities, strict=True)
        ]
        best = [model.labels[k] for k in paths[int(np.argmax(fits))]]
        assert model.decode(forced, workers).tolist() == best
        with pytest.raises(SkipchainError, match="2 forced labels"):
            model.scores(sentence, workers, ["O", "O"])


@pytest.mark.parametrize(
    ("scheme", "forced", "told"),
    [
        ("iob2", [None, "O", "I-X"], "'O' given for token 1 and 'I-X' given for token 2"),
        ("iob2", ["I-Y", None, None], "'I-Y' given for token 0 contradicts the scheme"),
        ("bioes", [None, "B-X", "B-Y"], "'B-X' given for token 1 and 'B-Y' given for token 2"),
        ("bioes", ["B-X", None, None], "'B-X' given for token 0 contradicts the scheme"),
        ("bioes", [None, "E-X", None], "'E-X' given for token 1 contradicts the scheme"),
    ],
)
def test_contradictions_are_named(scheme, forced, told):
    corpus = Corpus.of([["a"], ["a", "b"]])
    with Workers(1) as workers, pytest.raises(CorpusError, match=told):
        model_of(scheme).scores(corpus, workers, forced)


def test_what_has_no_path_is_refused_by_every_decoder():
    model = model_of("iob2")
    corpus = Corpus.of([["a"], ["a", "b"]])
    allowed = np.ones((3, len(model.labels)), bool)
    allowed[2] = False
    with Workers(1) as workers:
        scores = model.score_dataset(model.dataset(corpus), workers, allowed)
        for decoder in DECODERS:
            with pytest.raises(CorpusError, match="sequence at token 1 has no possible labelling"):
                model.decode(scores, workers, decoder)
        with pytest.raises(CorpusError, match="no possible labelling"):
            chains.nbest(scores, 2, workers)


def test_a_dead_end_is_where_every_labelling_fails():
    """The first token up to which no labelling is legal; the last one counts with its end."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        pairs, start, end = (rng.random(shape) < 0.5 for shape in ((3, 3), 3, 3))
        allowed = rng.random((4, 3)) < 0.6
        wanted = None
        for length in range(1, 5):
            legal = [
                path
                for path in itertools.product(range(3), repeat=length)
                if start[path[0]]
                and all(pairs[a, b] for a, b in itertools.pairwise(path))
                and all(allowed[t, y] for t, y in enumerate(path))
                and (length < 4 or end[path[-1]])
            ]
            if not legal:
                wanted = length  # the chain begins at token 1
                break
        before = np.vstack([np.ones((1, 3), bool), allowed])
        one = Constraints(pairs, start, end).dead_end(before, np.array([0, 0, 1, 1, 5]))
        assert one == (0 if not (start & end).any() else wanted)
        found.append(one)
    assert {None, 0, 1, 2, 3, 4} <= set(found)


def test_all_decoders_give_the_same_in_one_block_and_in_many():
    model = model_of("bioes")
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 9, 3000)
    corpus = Corpus.of([list(rng.choice(["a", "b", "c"], n)) for n in lengths])
    with Workers(2) as workers:
        scores = model.scores(corpus, workers)
        path, marginals = chains.viterbi(scores, workers), chains.marginals(scores, workers)
        greedy, narrow = chains.greedy(scores, workers), chains.beam(scores, 3, workers)
        ranked = chains.nbest(scores, 2, workers)
        assert len(ranked) == len(corpus)
        for k in (0, 1500, 2999):
            alone = model.scores(corpus[k : k + 1], workers)
            tokens = corpus[k].tokens
            np.testing.assert_array_equal(path[tokens], chains.viterbi(alone, workers))
            np.testing.assert_array_equal(greedy[tokens], chains.greedy(alone, workers))
            np.testing.assert_array_equal(narrow[tokens], chains.beam(alone, 3, workers))
            np.testing.assert_allclose(marginals[tokens], chains.marginals(alone, workers))
            if len(corpus[k]):
                np.testing.assert_array_equal(ranked[k].paths[0], path[tokens])


def test_models_without_spans_say_so():
    model = model_of("iob2")
    plain = ChainModel("crf", model.labels, model.features, model.weights)
    with Workers(1) as workers:
        scores = plain.scores(Corpus.of([["a"]]), workers)
        with pytest.raises(SkipchainError, match="no spans"):
            plain.confidences(scores, Spans.of([(0, 1, "X")]), workers)
        with pytest.raises(SkipchainError, match="no spans"):
            plain.spans(Column.encode(["O"]), np.array([0, 1]))


def test_scores_of_an_empty_dataset():
    model = model_of("iob2")
    with Workers(2) as workers:
        scores = model.scores(Corpus.of([]), workers)
        for decoder in DECODERS:
            assert len(model.decode(scores, workers, decoder)) == 0
        assert chains.nbest(scores, 1, workers) == []


def test_blocks_cover_all_rows_once():
    rng = np.random.default_rng(0)
    for _ in range(50):
        offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 30, rng.integers(0, 40)))])
        found = blocks(offsets, 50)
        rows = [row for first, last in found for row in range(first, last)]
        assert rows == list(range(len(offsets) - 1))


def test_constraints_keep_every_decoder_inside_the_scheme():
    model = model_of("bioes", seed=8)
    free = model_of("bioes", seed=8, constrained=False)
    assert free.constraints is None
    corpus = Corpus.of([["a", "b", "c"] * 20] * 20)
    allowed = Constraints(*transitions(model.labels, "bioes"))
    with Workers(1) as workers:
        for decoder in ("viterbi", "greedy", "beam"):
            path = model.decode(model.scores(corpus, workers), workers, decoder, beam=2).codes
            loose = free.decode(free.scores(corpus, workers), workers, decoder, beam=2).codes
            inner = np.setdiff1d(np.arange(1, len(path)), corpus.sentences)
            assert allowed.pairs[path[inner - 1], path[inner]].all()
            assert allowed.start[path[corpus.sentences[:-1]]].all()
            assert allowed.end[path[corpus.sentences[1:] - 1]].all()
            assert not allowed.pairs[loose[inner - 1], loose[inner]].all()


def test_searches_of_a_local_model_go_by_the_probability_of_each_step():
    """argmax_j p(j given the label before), and a beam of prefixes by their probability."""
    rng = np.random.default_rng(2)
    corpus = Corpus.of([list(rng.choice(["a", "b", "c"], n)) for n in (1, 5, 9, 30)])
    model = replace(model_of("iob2", seed=4, constrained=False), local=True)
    with Workers(1) as workers:
        scores = model.scores(corpus, workers)
        greedy = chains.greedy(scores, workers)
        beams = {width: chains.beam(scores, width, workers) for width in (1, 2, 3, 5)}
        best = chains.viterbi(scores, workers)
    raw = scores.raw((0, len(corpus)))
    differ = 0
    for first, last in itertools.pairwise(corpus.sentences):
        tables = []  # log p(y_t = j given y_{t−1} = i), [S, S]; all rows the same at the start
        for t in range(first, last):
            own = raw.node[t] + (raw.edge[t] if t > first else np.zeros_like(raw.edge[t]))
            tables.append(own - np.log(np.exp(own).sum(axis=1, keepdims=True)))
        state = 0
        for t, table in enumerate(tables, first):
            state = int(table[state].argmax())
            assert greedy[t] == state
        for width, path in beams.items():
            kept = {None: (0.0, ())}
            for table in tables:
                new = {}
                for p, labels in kept.values():
                    for j, q in enumerate(table[labels[-1] if labels else 0]):
                        if j not in new or p + q > new[j][0]:
                            new[j] = (p + q, (*labels, j))
                kept = dict(sorted(new.items(), key=lambda item: -item[1][0])[:width])
            assert tuple(path[first:last]) == max(kept.values())[1]
        np.testing.assert_array_equal(beams[5][first:last], best[first:last])
        np.testing.assert_array_equal(beams[1][first:last], greedy[first:last])
        differ += (greedy[first:last] != best[first:last]).any()
    assert differ  # or the test shows nothing


def test_a_decoder_that_the_model_does_not_have_is_refused_with_those_it_has():
    model = model_of("iob2")
    scored = replace(model, kind="perceptron")  # its scores are no probabilities
    with Workers(1) as workers:
        scores = model.scores(Corpus.of([["a"]]), workers)
        with pytest.raises(SkipchainError, match=r"'best'; it has viterbi, posterior, greedy, be"):
            model.decode(scores, workers, "best")
        with pytest.raises(SkipchainError, match=r"'posterior'; it has viterbi, greedy, beam$"):
            scored.decode(scores, workers, "posterior")


@pytest.mark.parametrize("width", [0, -1, 2.5, True, "10"])
def test_a_width_out_of_range_is_refused(width):
    model = model_of("iob2")
    with Workers(1) as workers:
        scores = model.scores(Corpus.of([["a"]]), workers)
        with pytest.raises(SkipchainError, match=rf"at least 1, got {width!r}"):
            model.decode(scores, workers, "beam", width)
