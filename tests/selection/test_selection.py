"""The search for settings: the default first, never worse than it, within its budget."""

from __future__ import annotations

import pytest

from skipchain import Corpus
from skipchain.datasets.harbour import harbour
from skipchain.errors import CorpusError, ParameterError, SkipchainError
from skipchain.modelfile import save
from skipchain.selection import search, select_model
from skipchain.selection.budget import Deadline, parse_budget
from skipchain.selection.search import NO_TIME
from skipchain.selection.selection import EVERYTHING, INTERRUPTED, SPENT
from skipchain.selection.steps import SearchStep, steps_for
from skipchain.selection.traits import DataTraits
from skipchain.selection.trial_settings import TrialSettings

LINES = "word[-1..1]\nshape"
STEPS = [SearchStep({"solver": "lbfgs"}), SearchStep({"model": "crf:order=2"})]


@pytest.fixture(scope="module")
def parts():
    """A training and a development part of the harbour."""
    return harbour().split(0.75)


@pytest.fixture
def few_steps(monkeypatch):
    """Two quick steps instead of those that suit the data."""
    monkeypatch.setattr(search, "steps_for", lambda traits: STEPS)


class Clock:
    """A clock that moves by so many seconds whenever somebody looks at it."""

    def __init__(self, pace):
        self.now, self.pace = 0.0, pace

    def __call__(self):
        self.now += self.pace
        return self.now


class Recorder:
    """A display that notes what it is told."""

    def __init__(self, interrupt=None):
        self.trials, self.names, self.steps = [], [], 0
        self.interrupt = interrupt

    def begin(self, problem):
        if self.interrupt == len(self.trials):
            raise KeyboardInterrupt

    def step(self, step, dev):
        self.steps += 1

    def end(self, result):
        pass

    def trying(self, name, number, count, left):
        self.names.append(name)

    def tried(self, trial, default, best):
        self.trials.append((trial, best))


def test_the_default_is_first_and_what_is_kept_is_never_worse(parts, few_steps):
    display = Recorder()
    found = select_model(*parts, features=LINES, display=display, threads=1)
    assert found.trials[0].options == ""
    assert found.trials[0] is found.default
    assert [trial.options for trial in found.trials[1:]] == display.names
    assert found.best.score == max(trial.score for trial in found.trials)
    assert found.estimator.fitted.summary["dev"] == found.best.score
    assert found.ended == EVERYTHING
    assert found.measure == "f1"
    assert [trial for trial, _ in display.trials] == list(found.trials)
    assert display.steps > 0
    assert found.as_dict()["kept"] == found.best.options
    assert repr(found).startswith("Selection(")
    headings, rows = found.table()
    assert headings[1] == "F1 on dev"
    assert [row[0] for row in rows] == [trial.name for trial in found.trials]


def test_the_same_settings_by_hand_give_the_same_model(parts, few_steps, tmp_path):
    train, dev = parts
    found = select_model(train, dev, features=LINES, seed=3)
    by_hand = found.best.candidate.estimator().fit(train, dev=dev)
    for name, estimator in (("searched", found.estimator), ("by hand", by_hand)):
        save(estimator.fitted, tmp_path / name)
    assert (tmp_path / "searched").read_bytes() == (tmp_path / "by hand").read_bytes()
    again = select_model(train, dev, features=LINES, seed=3)
    assert again.best.options == found.best.options


def test_without_dev_folds_decide_and_all_data_are_learnt_from(parts, few_steps):
    train, dev = parts
    found = select_model(train, features=LINES)
    assert found.folds == 3
    assert found.metric == "F1 on 3 folds"
    assert found.estimator.fitted.summary["tokens"] == train.n_tokens
    assert found.best.score >= found.default.score
    assert found.estimator.score(dev) > 0.4


def test_a_later_step_builds_on_the_best_so_far(monkeypatch):
    steps = [SearchStep({"model": "crf:order=2"}), SearchStep({"l2": 0.1})]
    monkeypatch.setattr(search, "steps_for", lambda traits: steps)
    pattern = Corpus.of(
        [["x"] * 8] * 30, [list("AABBAABB")] * 30, scheme="none"
    )  # two labels back decide
    found = select_model(pattern, pattern, features="word")
    assert found.trials[1].score == 100 > found.default.score
    assert found.trials[2].options == "--model crf:order=2 --l2 0.1"
    assert found.best is found.trials[1]  # the first of equals


def test_the_default_is_kept_when_the_budget_is_spent_on_it(parts, few_steps):
    found = select_model(*parts, features=LINES, budget=1, clock=Clock(10))
    assert found.best is found.default
    assert len(found.trials) == 1
    assert found.ended == SPENT
    assert found.estimator.fitted.summary["dev"] == found.default.score


def test_by_folds_the_default_is_there_though_nothing_could_be_measured(parts, few_steps):
    found = select_model(parts[0], features=LINES, budget=1, clock=Clock(10))
    assert found.default.score is None
    assert found.default.note == NO_TIME
    assert found.table()[1][0][1] == "–"
    assert found.estimator.fitted.summary["tokens"] == parts[0].n_tokens


def test_what_would_take_longer_than_is_left_is_not_begun(parts, monkeypatch):
    steps = [SearchStep({"solver": "lbfgs"}, 1e9), SearchStep({"model": "crf:order=2"}, 1e-9)]
    monkeypatch.setattr(search, "steps_for", lambda traits: steps)
    found = select_model(*parts, features=LINES)
    left_out, tried = found.trials[1:]
    assert left_out.note.startswith("left out: needs about ")
    assert left_out.score is None
    assert tried.score is not None
    assert found.ended == SPENT


def test_a_training_is_given_up_when_the_time_is_up(parts, monkeypatch):
    steps = [SearchStep({"model": "crf:order=2"}, 0.0)]
    monkeypatch.setattr(search, "steps_for", lambda traits: steps)
    found = select_model(*parts, features=LINES, budget=8, clock=Clock(1))
    assert found.trials[1].note == NO_TIME
    assert found.best is found.default
    assert found.ended == SPENT


def test_an_interrupt_keeps_the_best_so_far(parts, few_steps):
    found = select_model(*parts, features=LINES, display=Recorder(interrupt=1))
    assert found.ended == INTERRUPTED
    assert found.best is found.default
    assert found.estimator.predict(parts[1].without_labels())


def test_an_interrupt_before_anything_is_learnt_is_raised(parts, few_steps):
    with pytest.raises(KeyboardInterrupt):
        select_model(*parts, features=LINES, display=Recorder(interrupt=0))


def test_a_setting_that_fails_is_noted_and_the_search_goes_on(parts, monkeypatch):
    steps = [SearchStep({"features": "no_such_column"}), *STEPS]
    monkeypatch.setattr(search, "steps_for", lambda traits: steps)
    monkeypatch.setattr(search._ModelSearch, "_fits", lambda self, step: True)
    found = select_model(*parts, model="memm", l2=0.5)
    assert "no_such_column" in found.trials[1].note
    assert found.trials[-1].score is not None


@pytest.mark.parametrize(
    "given", [{"solver": "lbfgs"}, {"assignments": ["dropout=0.1"]}, {"model": "hmm"}]
)
def test_what_was_given_is_left_alone(parts, given):
    found = select_model(*parts, budget=1, clock=Clock(10), features="word", **given)
    assert all(found.best.candidate.settings[name] == value for name, value in given.items())
    steps = search._ModelSearch(*parts, 1.0, None, Clock(0), {"features": "word", **given})._steps()
    assert not [step for step in steps if {"solver", "features", "recipe"} & set(step.change)]


def test_steps_follow_the_data():
    changes = [step.change for step in steps_for(DataTraits.of(harbour()))]
    assert {"recipe": "ner-knowledge"} in changes
    assert {"factors": "consistency"} in changes
    tags = Corpus.of([["a", "b"]] * 20, [["X", "Y"]] * 20, scheme="none")
    assert DataTraits.of(tags).spans is False
    assert {"features": "pos"} in [step.change for step in steps_for(DataTraits.of(tags))]
    fields = Corpus.of([["Main", "St", "12"]] * 9, [["B-s", "I-s", "B-n"]] * 9, scheme="iob2")
    assert DataTraits.of(fields).fields
    chunks = Corpus.of([["we", "see", "it"]] * 9, [["B-np", "O", "O"]] * 9, scheme="iob2")
    traits = DataTraits.of(chunks)
    assert (traits.names, traits.fields, traits.documents) == (False, False, False)
    partial = Corpus.of([["a", "b"]], [["B-PER", "_"]], scheme="iob2")
    assert DataTraits.of(partial).spans is False


def test_data_without_labels_are_refused(parts):
    train, dev = parts
    with pytest.raises(CorpusError, match="training data have no labels"):
        select_model(train.without_labels(), dev)
    with pytest.raises(CorpusError, match="development data have no labels"):
        select_model(train, dev.without_labels())
    with pytest.raises(CorpusError, match="folds, which need at least 2 sentences"):
        select_model(train[:1])


@pytest.mark.parametrize("given", ["x", "", "0s", "5 days", "-3", "1e3", "3 4", 0, True, None])
def test_a_budget_is_a_time(given):
    with pytest.raises(ParameterError, match="30s, 5m or 1h"):
        parse_budget(given)


def test_a_deadline_passes_on_what_it_is_told():
    display = Recorder()
    Deadline(display).step(None, None)
    assert display.steps == 1
    Deadline(None).step(None, None)


def test_a_candidate_is_written_as_the_command_takes_it():
    settings = {
        "model": "crf", "factors": "consistency; agreement(a, b)", "assignments": ("l1=0.1",),
        "without": ("pos", "chunk"), "encoding": None, "seed": 3, "threads": 1, "l2": None,
    }  # fmt: skip
    assert TrialSettings(settings).options == (
        "--factors 'consistency; agreement(a, b)' --set l1=0.1 --without pos,chunk "
        "--learn-as none --seed 3"
    )


def test_labels_of_single_tokens_are_measured_by_accuracy(few_steps):
    words = [["the", "dog", "ran"], ["a", "cat", "sat"]] * 15
    corpus = Corpus.of(words, [["D", "N", "V"]] * 30, scheme="none")
    found = select_model(corpus, corpus, features="word")
    assert found.measure == "accuracy"
    assert found.metric == "token accuracy on dev"
    assert found.default.score == 100
    assert found.best is found.default  # the first of equals


def test_settings_that_cannot_be_are_refused_before_anything_is_learnt(parts):
    with pytest.raises(SkipchainError, match="no model 'crv'"):
        select_model(*parts, model="crv")
