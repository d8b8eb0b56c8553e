"""Hidden states against enumeration of all their paths, and gradients against differences."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from skipchain import HRF, IOHMM, Corpus, MaxEnt, SkipchainError, Tagger, load, save
from skipchain.chains.dataset import Dataset
from skipchain.chains.span_events import SpanEvents
from skipchain.cli import main
from skipchain.errors import CorpusError, ModelFileError, ParameterError
from skipchain.features.direct import NumberedFeatures
from skipchain.kernels import latent
from skipchain.modelfile import HEADER, checksum, read_arrays
from skipchain.models.latent.inference import StateScores, marginals, window_sums
from skipchain.models.latent.likelihood import (
    ExpectedLikelihood,
    StateLikelihood,
    StateMarginalLikelihood,
)
from skipchain.models.latent.scorer import StateScorer, state_bundle_sums, state_potentials
from skipchain.models.latent.selection import _StopSignal, choose_states
from skipchain.parallel import Workers

LENGTHS, STATES, LABELS, COLUMNS = (3, 0, 1, 2), 3, 2, 2


def problem(seed=0, known="all", bias=True, scale=1.0):
    """Random inputs, labels and weights: data, scorer, vector."""
    rng = np.random.default_rng(seed)
    _, rows, offsets = NumberedFeatures.fit(
        [rng.normal(size=(length, COLUMNS)) for length in LENGTHS]
    )
    size = sum(LENGTHS)
    labels = rng.integers(LABELS, size=size).astype(np.int32)
    allowed = None
    if known != "all":
        allowed = labels[:, None] == np.arange(LABELS)
        free = [1, 3] if known == "some" else range(size)
        allowed[free] = True
        labels[free] = -1
    data = Dataset(rows, offsets, labels, allowed)
    scorer = StateScorer(rows, STATES, LABELS, bias=bias)
    return data, scorer, rng.normal(scale=scale, size=scorer.size)


def potentials(data, scorer, vector, local):
    weights = scorer.weights(vector)
    units = state_bundle_sums(data.rows, weights, Workers(1))
    block = (0, len(data.offsets) - 1)
    return state_potentials(data.rows, weights, units, data.offsets, block, local=local)


def softmax_logs(row):
    return row - np.logaddexp.reduce(row)


class Enumeration:
    """Every path of states and labels of every chain, with its probability."""

    def __init__(self, data, scorer, vector, local):
        weights = scorer.weights(vector)
        x = np.zeros((data.n_tokens, COLUMNS + 1))
        tokens = data.rows.tokens
        for t in range(data.n_tokens):
            for k in range(tokens.indptr[t], tokens.indptr[t + 1]):
                x[t, tokens.indices[k]] = tokens.values[k]
        x[:, -1] = 1.0
        moves = np.einsum("tf,fij->tij", x, weights.transitions)
        emits = np.einsum("tf,fsy->tsy", x, weights.emissions)
        if local:
            moves = np.apply_along_axis(softmax_logs, 2, moves)
            emits = np.apply_along_axis(softmax_logs, 2, emits)
        self.chains = []
        for a, b in itertools.pairwise(data.offsets.tolist()):
            paths = []
            for states in itertools.product(range(STATES), repeat=b - a):
                for labels in itertools.product(range(LABELS), repeat=b - a):
                    total, before = 0.0, STATES
                    for t in range(b - a):
                        total += (
                            moves[a + t, before, states[t]] + emits[a + t, states[t], labels[t]]
                        )
                        before = states[t]
                    paths.append((states, labels, np.exp(total)))
            z = sum(p for *_, p in paths)
            self.chains.append((a, [(s, y, p / z) for s, y, p in paths]))

    def agreeing(self, data):
        """The chains with the paths that agree with what is known."""
        for a, paths in self.chains:
            yield (
                a,
                [
                    (s, y, p)
                    for s, y, p in paths
                    if all(
                        data.labels[a + t] == y[t]
                        if data.allowed is None
                        else data.allowed[a + t, y[t]]
                        for t in range(len(y))
                    )
                ],
            )

    def conditional_loss(self, data):
        return -sum(np.log(sum(p for *_, p in paths)) for _, paths in self.agreeing(data))

    def marginals(self, data):
        found = np.zeros((data.n_tokens, LABELS))
        for a, paths in self.chains:
            for _, labels, p in paths:
                for t, label in enumerate(labels):
                    found[a + t, label] += p
        return found


CASES = [
    pytest.param(local, known, id=f"{'iohmm' if local else 'hrf'}, {known} labels known")
    for local in (True, False)
    for known in ("all", "some", "no")
]


@pytest.mark.parametrize(("local", "known"), CASES)
def test_losses_equal_enumeration(local, known):
    data, scorer, vector = problem(1, known)
    oracle = Enumeration(data, scorer, vector, local)
    loss, _ = StateLikelihood(data, scorer, Workers(1), local=local)(vector)
    assert loss == pytest.approx(oracle.conditional_loss(data))
    marginals = oracle.marginals(data)
    allowed = data.allowed
    if allowed is None:
        allowed = data.labels[:, None] == np.arange(LABELS)
    loss, _ = StateMarginalLikelihood(data, scorer, Workers(1), local=local)(vector)
    assert loss == pytest.approx(-np.log((marginals * allowed).sum(axis=1)).sum(), abs=1e-12)


@pytest.mark.parametrize(("local", "known"), CASES)
@pytest.mark.parametrize(
    "objective", [StateLikelihood, StateMarginalLikelihood, ExpectedLikelihood]
)
@pytest.mark.parametrize("bias", [True, False])
def test_gradients_equal_differences(objective, local, known, bias):
    data, scorer, vector = problem(2, known, bias)
    function = objective(data, scorer, Workers(1), l2=0.3, local=local)
    if objective is ExpectedLikelihood:
        function.e_step(np.random.default_rng(0).normal(size=scorer.size), 0.5)
    _, gradient = function(vector)
    step = 1e-6
    differences = [
        (function(vector + step * unit)[0] - function(vector - step * unit)[0]) / (2 * step)
        for unit in np.eye(scorer.size)
    ]
    np.testing.assert_allclose(gradient, differences, atol=1e-7)


@pytest.mark.parametrize("local", [True, False])
def test_an_m_step_raises_the_likelihood(local):
    """E[log p(states, labels)] bounds the likelihood, and touches it where it was found."""
    data, scorer, vector = problem(3, "some")
    likelihood = StateLikelihood(data, scorer, Workers(1), local=local)
    bound = ExpectedLikelihood(data, scorer, Workers(1), local=local)
    bound.e_step(vector)
    loss, gradient = likelihood(vector)
    expected, own = bound(vector)
    np.testing.assert_allclose(own, gradient, atol=1e-12)
    for seed in range(5):
        other = np.random.default_rng(seed).normal(size=scorer.size)
        assert likelihood(other)[0] - loss <= bound(other)[0] - expected + 1e-9


@pytest.mark.parametrize("local", [True, False])
def test_expected_counts_equal_enumeration(local):
    data, scorer, vector = problem(4, "some")
    bound = ExpectedLikelihood(data, scorer, Workers(1), local=local)
    bound.e_step(vector)
    pairs, emitted = np.zeros((STATES + 1, STATES)), np.zeros((STATES, LABELS))
    for _, paths in Enumeration(data, scorer, vector, local).agreeing(data):
        total = sum(p for *_, p in paths)
        for states, labels, p in paths:
            for before, state, label in zip((STATES, *states), states, labels, strict=False):
                pairs[before, state] += p / total
                emitted[state, label] += p / total
    found = bound.counts()
    np.testing.assert_allclose(found[0], pairs)
    np.testing.assert_allclose(found[1], emitted)


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("objective", [StateLikelihood, StateMarginalLikelihood])
def test_huge_weights_do_not_break_the_sums(objective, local):
    """Where plain products of probabilities would vanish."""
    data, scorer, vector = problem(5, scale=400.0)
    loss, gradient = objective(data, scorer, Workers(1), local=local)(vector)
    assert np.isfinite(loss)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("constrained", [True, False])
def test_best_paths_equal_enumeration(local, constrained):
    data, scorer, vector = problem(6)
    p = potentials(data, scorer, vector, local)
    pairs = np.ones((LABELS, LABELS), bool)
    start, end = np.ones(LABELS, bool), np.ones(LABELS, bool)
    if constrained:
        pairs[0, 1] = start[1] = False
    labels, score = np.empty(data.n_tokens, np.int32), np.empty(len(data.offsets) - 1)
    latent.best_paths(
        p.transitions,
        p.emissions + p.log_norms[:, :, None],
        pairs,
        start,
        end,
        p.offsets,
        labels,
        score,
    )
    for a, paths in Enumeration(data, scorer, vector, local).chains:
        legal = [
            (prob, y)
            for _, y, prob in paths
            if not constrained
            or ((not y or start[y[0]]) and all(pairs[i, j] for i, j in itertools.pairwise(y)))
        ]
        best = max(legal)[1]
        assert labels[a : a + len(best)].tolist() == list(best)


def test_window_probabilities_equal_enumeration():
    data, scorer, vector = problem(7, bias=False)
    weights = scorer.weights(vector)
    rng = np.random.default_rng(0)
    for local in (True, False):
        scores = StateScores.of(data, weights, Workers(1), local=local)
        sets = rng.random((3, LABELS)) < 0.7
        sets[~sets.any(axis=1)] = True
        number = np.zeros(1, np.int64)
        windows = SpanEvents(number, number + 3, number, number, sets)
        _, paths = Enumeration(data, scorer, vector, local).chains[0]
        wanted = sum(p for _, y, p in paths if all(sets[t, y[t]] for t in range(3)))
        assert window_sums(scores, windows, Workers(1)) == pytest.approx([wanted])


def test_marginals_equal_enumeration_with_labels_given():
    data, scorer, vector = problem(8, "some")
    for local in (True, False):
        oracle = Enumeration(data, scorer, vector, local)
        wanted = np.zeros((data.n_tokens, LABELS))
        for a, paths in oracle.agreeing(data):
            total = sum(p for *_, p in paths)
            for _, labels, p in paths:
                for t, label in enumerate(labels):
                    wanted[a + t, label] += p / total
        scores = StateScores.of(
            data, scorer.weights(vector), Workers(1), local=local, allowed=data.allowed
        )
        np.testing.assert_allclose(marginals(scores, Workers(1)), wanted)


def test_m_steps_on_distinct_tokens_are_those_on_all():
    X = [np.eye(2)[[0, 1, 1, 0, 1]], np.eye(2)[[1, 1, 0]]]
    _, rows, offsets = NumberedFeatures.fit(X)
    data = Dataset(rows, offsets, np.array([0, 1, 0, 0, 1, 1, 0, 1], np.int32))
    scorer = StateScorer(rows, 3, 2, bias=True)
    bound = ExpectedLikelihood(data, scorer, Workers(1), l2=0.1, local=True)
    rng = np.random.default_rng(0)
    bound.e_step(rng.normal(size=scorer.size))
    together = bound.m_step()
    assert together is not bound
    vector = rng.normal(size=scorer.size)
    loss, gradient = bound(vector)
    assert together(vector)[0] == pytest.approx(loss)
    np.testing.assert_allclose(together(vector)[1], gradient)


# Estimators --------------------------------------------------------------------------------------


def parity(size=30, length=8, seed=0):
    """Labels that say whether the number of ones so far is odd."""
    bits = np.random.default_rng(seed).integers(2, size=(size, length))
    return [np.eye(2)[row] for row in bits], (bits.cumsum(axis=1) % 2).astype(str).tolist()


QUICK = {"states": 2, "restarts": 3, "em": 10}


@pytest.mark.parametrize("model", [IOHMM, HRF])
def test_memory_is_learnt(model):
    fitted = model(**QUICK).fit(*parity())
    X, y = parity(10, 30, seed=1)
    for decoder in ("legal", "posterior", "viterbi"):
        assert fitted.predict(X, decoder=decoder) == y
    assert fitted.score(X, y) == 1.0


@pytest.mark.parametrize("model", [IOHMM, HRF])
def test_labels_may_be_missing(model):
    X, y = parity(60)
    rng = np.random.default_rng(0)
    y = [[None if rng.random() < 0.3 else label for label in own] for own in y]
    y[0] = [None] * len(y[0])
    fitted = model(**QUICK).fit(X, y)
    assert fitted.predict(parity(5, 20, seed=1)[0]) == parity(5, 20, seed=1)[1]


def test_restarts_are_told_and_the_best_is_kept():
    fitted = IOHMM(states=2, restarts=5, em=10).fit(*parity())
    told = fitted.model_.summary["restarts"]
    assert len(told) == 5
    assert sum(own["finished"] for own in told) == 3
    assert fitted.result_.loss == min(own["loss"] for own in told)
    assert fitted.model_.summary["loss"] == fitted.result_.loss


def test_another_seed_is_another_start():
    losses = [
        IOHMM(**QUICK, seed=seed, max_iterations=2).fit(*parity()).result_.loss
        for seed in (0, 0, 1)
    ]
    assert losses[0] == losses[1] != losses[2]


def test_annealing_and_no_em_learn_too():
    for settings in ({"em": 0, "restarts": 5}, {"em": 20, "annealing": 0.5, "restarts": 5}):
        fitted = IOHMM(states=2, **settings).fit(*parity())
        assert fitted.score(*parity(seed=1)) == 1.0


def test_the_marginal_objective_lowers_its_own_loss():
    X, y = parity(20)
    y = [[label if t % 3 else "0" for t, label in enumerate(own)] for own in y]  # cannot be learnt
    plain = IOHMM(**QUICK).fit(X, y)
    marginal = IOHMM(**QUICK, objective="marginal").fit(X, y)
    losses = []
    for fitted in (plain, marginal):
        chosen = [
            m[np.arange(len(own)), [fitted.classes_.index(label) for label in own]]
            for m, own in zip(fitted.predict_marginals(X), y, strict=True)
        ]
        losses.append(-np.log(np.concatenate(chosen)).sum())
    assert losses[1] <= losses[0] + 1e-3


def test_an_hrf_may_begin_with_an_iohmm():
    iohmm = IOHMM(**QUICK).fit(*parity())
    hrf = HRF(states=2).fit(*parity(), start=iohmm)
    assert hrf.predict(parity(seed=1)[0]) == parity(seed=1)[1]
    with pytest.raises(ParameterError, match="has 2 states, and 3 are wanted"):
        HRF(states=3).fit(*parity(), start=iohmm)
    with pytest.raises(
        ParameterError, match=r"another one of them only \(IOHMM, HRF\), got maxent"
    ):
        HRF(states=2).fit(*parity(), start=MaxEnt().fit(*parity()))
    words = Corpus.of([["a", "b"]], [["x", "y"]], scheme="none")
    with pytest.raises(ParameterError, match="shares no label or no feature"):
        HRF("word", states=2).fit(words, start=iohmm)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"states": 0}, "states must be a whole number of at least 1, got 0"),
        ({"restarts": 0}, "restarts must be"),
        ({"em": -1}, "em must be a whole number of at least 0, got -1"),
        ({"annealing": 1.5}, "annealing must be a power above 0, and 1 at most, got 1.5"),
        ({"objective": "joint"}, "objective must be one of conditional, marginal"),
        ({"constraints": "training"}, "uses constraints when it decodes"),
        ({"init": "crf"}, "init must be one of iohmm, random"),
        ({"patience": 3}, "patience needs dev"),
        ({"tolerance": -1.0}, "tolerance must be a number of at least 0"),
    ],
)
def test_senseless_settings_are_refused(settings, told):
    with pytest.raises(ParameterError, match=told):
        HRF(**settings).fit(*parity())


def test_senseless_data_are_refused():
    with pytest.raises(CorpusError, match="no token has a label"):
        IOHMM().fit([np.eye(2)], [[None, None]])
    with pytest.raises(CorpusError, match="no token to learn from"):
        IOHMM("word").fit(Corpus.of([[]], [[]], scheme="none"))
    with pytest.raises(ParameterError, match="no features of label pairs"):
        IOHMM("word\nlabel[-1] & word").fit(Corpus.of([["a", "b"]], [["x", "y"]], scheme="none"))


def test_patience_watches_held_out_data():
    X, y = parity()
    fitted = IOHMM(**QUICK, patience=2).fit(X, y, dev=X, dev_y=y)
    assert fitted.model_.summary["dev"] == 100.0


class Impatient:
    """A display that gives up after some steps."""

    def __init__(self, steps):
        self.left = steps
        self.ends = 0

    def begin(self, problem):
        assert problem.parameters > 0

    def step(self, step, dev):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt

    def end(self, minimum):
        self.ends += 1
        assert minimum.reason == "interrupted"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("model", [IOHMM, HRF])
def test_an_interrupt_keeps_the_best(model, threads):
    display = Impatient(5)
    # few steps of EM, so that there is something left to be interrupted
    fitted = model(**{**QUICK, "em": 2}, threads=threads).fit(*parity(), progress=display)
    assert display.ends == 1
    assert fitted.result_.reason == "interrupted"
    assert len(fitted.predict(parity()[0])) == 30


def test_what_hidden_states_do_not_have_is_said():
    words = Corpus.of([["a", "b", "a"]] * 5, [["x", "y", "x"]] * 5, scheme="none")
    tagger = Tagger(IOHMM("word", **QUICK).fit(words).model_)
    with pytest.raises(SkipchainError, match="no n-best sequences: hidden states"):
        tagger.predict(words, nbest=2)
    with pytest.raises(SkipchainError, match="no explanation by feature"):
        tagger.explain(words, 0)
    with pytest.raises(SkipchainError, match="mark no spans"):
        tagger.model.confidences(None, None, None)


def test_spans_have_probabilities():
    words = Corpus.of([["Ada", "slept"]] * 5, [["B-PER", "O"]] * 5, scheme="iob2")
    entity = Tagger(IOHMM("word", **QUICK).fit(words).model_).tag("Ada slept").entities[0]
    assert entity.label == "PER"
    assert 0.9 < entity.confidence <= 1.0 + 1e-9


def test_a_summary_shows_the_states():
    fitted = IOHMM(**QUICK).fit(*parity())
    found = fitted.model_.summarise(top=2)
    assert [own["state"] for own in found["states"]] == [1, 2]
    assert sum(own["share"] for own in found["states"]) == pytest.approx(100.0)
    for own in found["states"]:
        assert sum(own["emits"].values()) == pytest.approx(100.0)
        assert sum(own["next"].values()) == pytest.approx(100.0)
        assert len(own["features"]) == len(own["moves"]) == 2
    assert len(found["restarts"]) == 3


def test_damaged_model_files_are_refused(tmp_path):
    fitted = IOHMM(**QUICK).fit(*parity())
    save(fitted, tmp_path / "m.skip")
    header, arrays = read_arrays(tmp_path / "m.skip")
    for change, told in (
        ({"states": 0}, "states is 0"),
        ({"states": 1}, "weights.transitions.at has 11"),
        ({"states": "many"}, "damaged"),
    ):
        write(tmp_path / "broken.skip", {**header, **change}, arrays)
        with pytest.raises(ModelFileError, match=told):
            load(tmp_path / "broken.skip")
    arrays["weights.emissions.values"][0] = np.nan
    write(tmp_path / "broken.skip", header, arrays)
    with pytest.raises(ModelFileError, match=r"emissions.values: numbers are not all"):
        load(tmp_path / "broken.skip")


def write(path, header, arrays):
    from safetensors.numpy import save_file

    sealed = {**header, "checksum": checksum(header, arrays)}
    save_file(arrays, path, {HEADER: json.dumps(sealed)})


# The number of states ----------------------------------------------------------------------------


def test_the_number_of_states_is_found():
    quick = IOHMM(restarts=2, em=8)
    found = choose_states(quick, *parity(40), states=[3, 1, 2], folds=2)
    assert found[0].states == 2  # three are as good, and more
    assert found[0].score == found[0].sequence_accuracies[0] == 100.0
    assert found[-1].states == 1
    assert found[-1].std > 0.0
    again = choose_states(quick, *parity(40), states=[3, 1, 2], folds=2, threads=1)
    assert [own.scores for own in again] == [own.scores for own in found]


def test_senseless_choices_are_refused():
    with pytest.raises(ParameterError, match="at least one number of states"):
        choose_states(IOHMM(), *parity(), states=[])
    with pytest.raises(ParameterError, match="30 sequences can be cut into 2 to 30 folds, got 31"):
        choose_states(IOHMM(), *parity(), states=[2], folds=31)
    with pytest.raises(CorpusError, match="labels are missing"):
        choose_states(IOHMM(), parity()[0], states=[2])


def test_an_interrupt_ends_the_choice():
    stop = _StopSignal()
    stop.check()
    stop.set()
    for call in (lambda: stop.begin(None), lambda: stop.step(None, None)):
        with pytest.raises(KeyboardInterrupt):
            call()


# The command line --------------------------------------------------------------------------------


@pytest.fixture
def bits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = parity(20, 6)
    lines = (
        "".join(f"{'ab'[int(row[1])]} {label}\n" for row, label in zip(own, labels, strict=True))
        for own, labels in zip(X, y, strict=True)
    )
    Path("bits.conll").write_text("\n".join(lines))
    Path("word.txt").write_text("word")
    return ("--columns", "word,label", "--features", "word.txt", "-q")


def run(capsys, *arguments):
    """Exit code, standard output and standard error of a command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["skipchain", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    captured = capsys.readouterr()
    return ended.value.code or 0, captured.out, captured.err


def test_train_inspect_and_explain(bits, capsys):
    train = ("train", "bits.conll", "--model", "iohmm:states=2,restarts=3")
    code, _, err = run(capsys, *train, "--set", "em=10", "-o", "m.skip", *bits)
    assert (code, err) == (0, "")
    code, out, _ = run(capsys, "inspect", "m.skip", "--top", "1")
    assert code == 0
    assert "losses of the restarts" in out
    assert "State 2 is followed by, by feature" in out
    code, out, _ = run(capsys, "inspect", "m.skip", "--json")
    assert [own["state"] for own in json.loads(out)["states"]] == [1, 2]
    code, _, err = run(capsys, "explain", "m.skip", "--text", "a b", "--token", "1")
    assert code == 2
    assert "skipchain inspect shows what these do" in err


def test_states(bits, capsys):
    ask = ("states", "bits.conll", "--folds", "2", "--model", "iohmm:restarts=3,em=10", *bits)
    code, out, _ = run(capsys, *ask, "--states", "1,2")
    assert code == 0
    assert "best: 2 states" in out
    code, out, _ = run(capsys, *ask, "--states", "2,1", "--json")
    answer = json.loads(out)
    assert (answer["best"], answer["measure"]) == (2, "accuracy")
    assert [row["states"] for row in answer["states"]] == [1, 2]
    code, _, err = run(capsys, *ask, "--states", "two")
    assert code == 2
    assert "whole numbers with commas" in err
    code, _, err = run(capsys, *ask[:4], "--model", "crf", *bits)
    assert code == 2
    assert "crf has no hidden states" in err
