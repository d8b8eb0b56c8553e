"""The factor of the end: probabilities of labellings of all lengths, and how it is learnt."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from skipchain import MEMM, Corpus, load, save
from skipchain.errors import ParameterError
from skipchain.models.chain.stop import LARGEST_ODDS, fit_stop
from skipchain.parallel import Workers
from tests.oracles.label_contexts import Enumeration

WORDS = [["a", "b", "c"], ["b"], ["c", "a"], ["a", "a", "b", "c"]] * 3
LABELS = [["X", "Y", "Y"], ["Y"], ["X", "Y"], ["X", "X", "Y", "X"]] * 3
TRAIN = Corpus.of(WORDS, LABELS, scheme="none")
SETTINGS = {"solver": "lbfgs", "l2": 0.1, "boundaries": False, "stop": True}


def chance(odds, labels):
    """The probability of stopping after some labels."""
    before = odds if odds.ndim == 1 else odds[labels[-2] if len(labels) > 1 else -1]
    return 1.0 / (1.0 + np.exp(-before[labels[-1]]))


@pytest.mark.parametrize(
    ("order", "text"),
    [(1, "word"), (2, "word"), (2, "word\nlabel[-2] & word"), (3, "word"), (1, "label[-1] & word")],
)
def test_labellings_of_all_lengths_and_what_goes_on_are_one(order, text):
    model = MEMM(text, order=order, **SETTINGS).fit(TRAIN).model_
    plain = MEMM(text, order=order, **{**SETTINGS, "stop": False}).fit(TRAIN).model_
    words, total = ["a", "c", "b", "a"], 0.0
    with Workers(1) as workers:
        for length in range(1, len(words) + 1):
            given = Corpus.of([words[:length]])
            scores = model.scores(given, workers)
            every = Enumeration(scores, 0)
            total += np.exp(every.log_z)  # the chain stops here
            # the same, by the labels' own probabilities and those of stopping and going on
            free = Enumeration(plain.scores(given, workers), 0)
            assert free.log_z == pytest.approx(0.0, abs=1e-9)
            for path, found, labels in zip(every.paths, every.totals, free.totals, strict=True):
                going = [1.0 - chance(model.stop, path[: t + 1]) for t in range(length - 1)]
                wanted = np.exp(labels) * np.prod(going) * chance(model.stop, path)
                assert np.exp(found) == pytest.approx(wanted)
            np.testing.assert_allclose(model.marginals(scores, workers), every.marginals, atol=1e-9)
    goes_on = sum(
        np.exp(labels) * np.prod([1.0 - chance(model.stop, p[: t + 1]) for t in range(len(p))])
        for p, labels in zip(free.paths, free.totals, strict=True)
    )
    assert total + goes_on == pytest.approx(1.0)
    assert total < 1.0


def test_it_changes_what_is_predicted():
    corpus = Corpus.of(
        [["?", "?", "?"]] * 20, [["X", "X", "Y"]] * 19 + [["X", "Y", "X"]], scheme="none"
    )
    given = {"order": 1, "l2": 0.01, "solver": "lbfgs", "boundaries": False}
    without = MEMM("word", **given).fit(corpus).predict(corpus[:1])
    found = MEMM("word", stop=True, **given).fit(corpus).predict(corpus[:1])
    assert without == [["X", "Y", "X"]]
    assert found == [["X", "X", "Y"]]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_greedy_counts_going_on_and_stopping(order):
    """Each label is the best by its own probability and that of what follows it."""
    rng = np.random.default_rng(order)
    words = [list(rng.choice(["a", "b"], n)) for n in rng.integers(1, 6, 40)]
    corpus = Corpus.of(
        words, [list(rng.choice(["X", "Y", "Z"], len(own))) for own in words], scheme="none"
    )
    model = MEMM("word", order=order, **SETTINGS).fit(corpus).model_
    plain, changed = replace(model, stop=None), 0
    with Workers(1) as workers:
        for k in range(len(corpus)):
            own = corpus[k : k + 1].without_labels()
            every = Enumeration(plain.scores(own, workers), 0)
            totals = dict(zip(every.paths, every.totals, strict=True))
            wanted = {}
            for stop in (True, False):
                path = ()
                for t in range(len(own.words)):
                    best = {}
                    for label in range(len(model.labels)):
                        begun = (*path, label)
                        logs = [v for p, v in totals.items() if p[: t + 1] == begun]
                        best[label] = np.logaddexp.reduce(logs)
                        if stop:
                            ends = chance(model.stop, begun)
                            best[label] += np.log(ends if t + 1 == len(own.words) else 1.0 - ends)
                    path = (*path, max(best, key=best.get))
                wanted[stop] = path
            found = model.decode(model.scores(own, workers), workers, "greedy")
            assert tuple(found.codes.tolist()) == wanted[True]
            changed += wanted[True] != wanted[False]
    assert changed


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_the_odds_are_the_best_ones(order, l2):
    rng = np.random.default_rng(order)
    labels, offsets = rng.integers(0, 3, 60).astype(np.int32), np.array([0, 7, 7, 8, 30, 60])
    odds = fit_stop(labels, offsets, 3, order, l2)
    assert odds.shape == ((3,) if order == 1 else (4, 3))
    stops, goes = np.zeros(odds.shape), np.zeros(odds.shape)
    for first, last in itertools.pairwise(offsets.tolist()):
        for t in range(first, last):
            before = labels[t - 1] if t > first else 3
            cell = labels[t] if order == 1 else (before, labels[t])
            (stops if t + 1 == last else goes)[cell] += 1

    def loss(s):
        return stops * np.logaddexp(0.0, -s) + goes * np.logaddexp(0.0, s) + l2 * s**2

    seen = stops + goes > 0
    assert (odds[~seen] == 0.0).all()
    for step in (-1e-3, 1e-3):
        moved = np.clip(odds + step, -LARGEST_ODDS, LARGEST_ODDS)
        assert (loss(odds)[seen] <= loss(moved)[seen] + 1e-12).all()


@pytest.mark.parametrize("order", [1, 2])
def test_files_and_summaries(order, tmp_path):
    memm = MEMM("word", order=order, **SETTINGS).fit(TRAIN)
    save(memm, tmp_path / "m.skip")
    loaded = load(tmp_path / "m.skip")
    np.testing.assert_array_equal(loaded.model.stop, memm.model_.stop)
    assert loaded.label(TRAIN) == memm.predict(TRAIN)
    told = memm.model_.summarise()["stop"]
    assert set(told) == ({"X", "Y"} if order == 1 else {"X", "Y", "<start>"})


@pytest.mark.parametrize("order", [1, 2])
def test_inspect_shows_the_chances(order, run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    memm = MEMM("word", order=order, **SETTINGS).fit(TRAIN)
    save(memm, tmp_path / "m.skip")
    code, out, _ = run("inspect", tmp_path / "m.skip")
    assert code == 0
    shown = out[out.index("Stop (probability of stopping after the label") :]
    for chance in 1.0 / (1.0 + np.exp(-memm.model_.stop.ravel())):
        assert f"{chance:+.2f}" in shown


def test_what_does_not_go_with_it_is_refused():
    for name, value in (("stop", "no"), ("stop", 0), ("dependent", None), ("boundaries", "false")):
        with pytest.raises(ParameterError, match=f"{name} must be True or False, got {value!r}"):
            MEMM("word", **{name: value}).fit(TRAIN)
    with pytest.raises(ParameterError, match="stop must be True or False, got 'no'"):
        MEMM("word", stop="no").partial_fit(TRAIN)
    with pytest.raises(ParameterError, match="stop=True needs full labels"):
        MEMM("word", stop=True, solver="lbfgs").fit(Corpus.of([["a", "b"]]), [["A", None]])
    with pytest.raises(ParameterError, match="stop=True counts where all chains end"):
        MEMM("word", stop=True).partial_fit(TRAIN)
    documents = Corpus.of(WORDS, LABELS, documents=[2, 10], scheme="none")
    with pytest.raises(ParameterError, match=r"history\(word\) does not go with stop=True"):
        MEMM("word\nhistory(word)", stop=True).fit(documents)
