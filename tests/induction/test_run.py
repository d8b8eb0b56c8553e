"""Induction from end to end on problems whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain import CRF, MEMM, Corpus, MaxEnt, Templates
from skipchain.errors import CorpusError, ParameterError, TemplateError
from skipchain.induction import induce, run
from skipchain.learn.step import INTERRUPTED

ATOMS = "word\nother\nthird"


def exclusive_or(sentences=60, seed=0):
    """The label says whether word and other are the same; the third column says nothing."""
    rng = np.random.default_rng(seed)
    shape = sentences, 4
    word, other, third = (rng.choice(["x", "y"], size=shape) for _ in range(3))
    labels = np.where(word == other, "SAME", "OTHER")
    columns = {"other": other.tolist(), "third": third.tolist()}
    return Corpus.of(word.tolist(), labels.tolist(), **columns)


def maxent(**settings):
    return MaxEnt(solver="lbfgs", threads=1, **settings)


def crf(**settings):
    return CRF(solver="lbfgs", threads=1, **settings)


@pytest.mark.parametrize("model", [crf(), maxent()], ids=["crf", "maxent"])
def test_the_conjunction_that_decides_is_found(model):
    found = induce(exclusive_or(), ATOMS, model=model, rounds=2, per_round=1, prune=False)
    start, first = found.rounds[:2]
    assert str(first.added[0].template) == "word & other"
    assert first.candidates[0].gain > 10 * max(own.gain for own in first.candidates[1:])
    assert start.score < 70 < 99 < first.score
    assert found.best is first
    assert found.measure == "accuracy"


def test_what_does_not_help_is_pruned():
    found = induce(exclusive_or(), ATOMS, model=maxent(), rounds=1)
    assert "third" not in found.text
    assert "word & other" in [str(own) for own in found.templates.templates]
    assert any(own.removed for own in found.rounds)
    assert found.best.score == 100.0


def test_prunings_are_no_rounds():
    told = []
    found = induce(exclusive_or(), ATOMS, model=maxent(), rounds=2, per_round=1, say=told.append)
    counted = [(own.number, own.pruning) for own in found.rounds]
    rounds = [number for number, pruning in counted if not pruning]
    prunings = [pruning for _, pruning in counted if pruning]
    assert rounds == list(range(len(rounds)))
    assert prunings == list(range(1, len(prunings) + 1))
    assert len(rounds) <= 3 < len(counted)
    # what was pruned are the templates of the first round, which was no worse than the second
    assert (found.best.number, found.best.pruning > 0) == (1, True)
    assert {number for number, pruning in counted if pruning} == {1}
    said = "after 1 round: 1 of them new, 3 of the start left out."
    assert f"100.00 with 1 {said}" in found.text
    assert found.as_dict()["best_pruning"] == found.best.pruning
    assert any(line.startswith("pruning 1: ") for line in told)


def test_without_an_encoding_dev_is_judged_by_its_tokens():
    data = Corpus.of([["to", "Ada"]] * 8, [["O", "B-A"]] * 8, scheme="iob2")
    for dev in (None, data):
        found = induce(data, "word", model=crf(encoding=None), dev=dev, rounds=1)
        assert (found.measure, found.best.score) == ("accuracy", 100.0)


def test_what_is_missed_least_is_pruned_first():
    start = "word & other\nword\nthird"
    found = induce(exclusive_or(), start, model=maxent(), rounds=1, longest=2)
    removed = next(own.removed for own in found.rounds if own.removed)
    assert "word & other" not in map(str, removed)


def test_a_copy_of_what_was_added_brings_little():
    data = exclusive_or()
    data = data.with_column("third", data.column("other"))
    settings = {"rounds": 1, "per_round": 2, "shrinkage": 0.1, "prune": False}
    found = induce(data, ATOMS, model=maxent(), **settings).rounds[1]
    first, second = found.candidates[:2]
    assert second.gain == pytest.approx(first.gain)
    assert [str(own.template) for own in found.added[:1]] == ["word & other"]
    assert all(own.gain < 0.5 * second.gain for own in found.added[1:])


def test_the_same_seed_finds_the_same():
    data = exclusive_or()

    def rounds(seed):
        found = induce(data, ATOMS, model=CRF(epochs=2, seed=seed, threads=1), rounds=2)
        return [{**own.as_dict(), "seconds": 0} for own in found.rounds]

    assert rounds(1) == rounds(1)
    assert rounds(1) != rounds(2)  # other folds, other gains


def test_spans_are_judged_by_f1_on_dev_or_folds():
    words = [["to", "Ada", "Lee"], ["by", "Ada", "Lee"]] * 20
    labels = [["O", "B-A", "I-A"], ["O", "B-B", "I-B"]] * 20
    data = Corpus.of(words, labels, scheme="iob2")
    found = induce(data, "word[-2..0]", model=crf(), dev=data[:10], rounds=1)
    assert (found.measure, found.held_out) == ("F1", "dev")
    assert induce(data, "word[-2..0]", model=crf(), rounds=1).held_out.startswith("2 folds")
    assert found.best.score == 100.0


def test_the_text_is_a_template_file_with_comments(tmp_path):
    found = induce(exclusive_or(), ATOMS, model=maxent(), rounds=1, prune=False)
    lines = found.text.split("\n")
    assert lines[0].startswith("# Induced by skipchain")
    assert "accuracy on 2 folds of the training data" in lines[1]
    file = tmp_path / "templates.txt"
    file.write_text(found.text)
    assert Templates.of(file).templates == found.templates.templates
    assert found.as_dict()["rounds"][1]["added"][0]["template"] == "word & other"


def test_each_round_is_told():
    told = []
    induce(exclusive_or(), ATOMS, model=maxent(), rounds=1, prune=False, say=told.append)
    assert told[0].startswith("start: 3 templates")
    assert any(line.startswith("  + word & other") for line in told)
    assert told[-1].startswith("round 1, 3 candidates")


def test_nothing_to_join_ends_the_search():
    found = induce(exclusive_or(), "word", model=maxent(), prune=False)
    assert found.stopped == "no candidate has a gain"
    assert [str(own) for own in found.templates.templates] == ["word"]


def test_rounds_that_bring_nothing_end_the_search():
    rng = np.random.default_rng(0)
    noise = rng.choice(list("abcd"), size=(40, 5)).tolist()
    labels = rng.choice(["A", "B"], size=(40, 5)).tolist()
    data = Corpus.of(noise, labels, scheme="none")
    settings = {"shrinkage": 1.0, "prune": False, "per_round": 1, "longest": 6, "rounds": 50}
    found = induce(data, "word[-3..3]", model=maxent(), **settings)
    assert found.stopped in ("2 rounds brought nothing", "no candidate has a gain")
    assert len(found.rounds) < 50


def test_an_interrupt_keeps_what_was_found(monkeypatch):
    data, calls = exclusive_or(), []

    def interrupted(self, *arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return ranked(self, *arguments)

    ranked = run._Search._ranked
    monkeypatch.setattr(run._Search, "_ranked", interrupted)
    found = induce(data, ATOMS, model=maxent(), rounds=3, per_round=1)
    assert found.stopped == INTERRUPTED
    assert "word & other" in [str(own) for own in found.templates.templates]


def test_an_interrupt_at_once_gives_the_start(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(run._Search, "_evaluate", interrupted)
    found = induce(exclusive_or(), ATOMS, model=maxent())
    assert (found.best, found.stopped) == (None, INTERRUPTED)
    assert [str(own) for own in found.templates.templates] == ATOMS.split("\n")
    assert "word" in found.text


def test_optional_columns_that_are_missing_are_left_out():
    found = induce(exclusive_or(20), "word\nnone?\nother", model=maxent(), rounds=1, prune=False)
    assert "none" not in found.text


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"model": MEMM()}, ParameterError, "CRF or MaxEnt, got MEMM"),
        ({"rounds": 0}, ParameterError, "rounds"),
        ({"per_round": 0}, ParameterError, "per_round"),
        ({"longest": 1}, ParameterError, "longest"),
        ({"folds": 1}, ParameterError, "folds"),
        ({"shrinkage": -1.0}, ParameterError, "shrinkage"),
        ({"templates": "nothing & "}, TemplateError, "wanted"),
        ({"templates": "missing"}, TemplateError, "reads column 'missing'"),
        ({"templates": "word\nhistory(word)", "model": maxent()}, ParameterError, "leave it out"),
        ({"corpus": Corpus.of([["a"]])}, CorpusError, "has no labels"),
        ({"dev": Corpus.of([["a"]])}, CorpusError, "dev has no labels"),
        ({"corpus": Corpus.of([["a", "b"]], [["A", "_"]], scheme="none")}, CorpusError, "_"),
        ({"corpus": Corpus.of([], [], scheme="none")}, CorpusError, "the corpus has no token"),
        (
            {"dev": Corpus.of([], [], other=[], third=[], scheme="none")},
            CorpusError,
            "dev has no token",
        ),
        ({"corpus": [["a"]]}, CorpusError, "must be a Corpus, got list"),
        ({"corpus": exclusive_or(1), "folds": 3}, ParameterError, "folds"),
        ({"folds": 100_000}, ParameterError, "100000 folds .* there are 10; give fewer"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, error, said):
    given = {"corpus": exclusive_or(10), "templates": ATOMS, **arguments}
    with pytest.raises(error, match=said):
        induce(**given)
