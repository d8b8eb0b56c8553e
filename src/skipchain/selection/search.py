"""The search: the default first, then one change after the other of the best so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol
from warnings import catch_warnings

import numpy as np

from skipchain.corpus import Corpus
from skipchain.errors import CorpusError, SkipchainError
from skipchain.learn.step import INTERRUPTED as STOPPED
from skipchain.models.base.crossfit import Fold, deal
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.base.held_out import accuracy_reason
from skipchain.models.base.progress import Progress
from skipchain.selection.budget import BudgetSpentError, Deadline, parse_budget
from skipchain.selection.selection import EVERYTHING, INTERRUPTED, SPENT, Selection
from skipchain.selection.steps import SearchStep, steps_for
from skipchain.selection.traits import DataTraits
from skipchain.selection.trial import Trial
from skipchain.selection.trial_settings import TrialSettings

BUDGET, FOLDS = 300.0, 3
WARMUP_SENTENCES = 8  # enough to have every kernel compiled, so that no trial is charged for it
NO_TIME = "the budget was spent on the way"


class SearchDisplay(Progress, Protocol):
    """What a display of a search is told, besides what goes on in each training."""

    def trying(self, name: str, number: int, count: int, left: float) -> None:
        """Before each trial but the first: at most ``left`` seconds are left for all."""

    def tried(self, trial: Trial, default: Trial, best: bool) -> None:
        """After each trial, whether it is the ``best`` so far."""


def select_model(
    train: Corpus,
    dev: Corpus | None = None,
    *,
    budget: str | float = BUDGET,
    display: SearchDisplay | None = None,
    clock: Callable[[], float] = time.monotonic,
    **settings: Any,
) -> Selection:
    """Try settings that suit the data within a budget of time, and keep the best on ``dev``.

    The default comes first and is always trained to the end, so what is kept is never worse than
    it on the held-out data. Each further candidate changes one thing in the best so far: features
    with knowledge from outside, factors across documents, the solver, the order. Without ``dev``
    candidates are measured by three folds of the training data (whole documents where there are
    enough, else runs of neighbouring sentences), and the best is learnt from all of them.

    ``budget`` is in seconds, or text such as ``"5m"``. A training that goes on when it is spent is
    given up; the best so far is kept, as with a keyboard interrupt. ``settings`` are those of
    `skipchain.assembly.build_estimator`, and what they name is not changed. With the same seed the
    same is chosen, as long as the budget suffices.

    >>> from skipchain.datasets.harbour import harbour
    >>> train, dev = harbour().split(0.75)
    >>> found = select_model(train, dev, budget="20s", epochs=4, recipe="ner-knowledge")
    >>> found.best.score >= found.default.score
    True
    >>> labels = found.estimator.predict(dev.without_labels())
    """
    seconds = parse_budget(budget)
    for what, corpus in (("training", train), ("development", dev)):
        if corpus is not None and not corpus.labelled:
            raise CorpusError(f"the {what} data have no labels")
    return _ModelSearch(train, dev, seconds, display, clock, settings).run()


class _ModelSearch:
    """The state of a search."""

    def __init__(
        self,
        train: Corpus,
        dev: Corpus | None,
        budget: float,
        display: SearchDisplay | None,
        clock: Callable[[], float],
        settings: Mapping[str, Any],
    ) -> None:
        given = {k: v for k, v in settings.items() if v not in (None, (), []) or k == "encoding"}
        if given.get("model") == "crf":  # which is the default
            del given["model"]
        self._train, self._dev, self._budget = train, dev, budget
        self._display, self._clock = display, clock
        self._base = TrialSettings(given)
        self._base.estimator().check(dev=dev)
        seed = given.get("seed", 0)
        if dev is None and len(train) < 2:
            raise CorpusError(
                "without development data settings are measured by folds, which need at least 2 "
                f"sentences, and there are {len(train)}; give development data"
            )
        self._folds: Sequence[Fold] = []
        if dev is None:  # sentences that stand together may be of one text, whose names recur
            self._folds = deal(train, FOLDS, seed, most=True, runs=True)
        self._trials: list[Trial] = []
        self._best: tuple[Trial, BaseEstimator] | None = None
        self._began = clock()

    def run(self) -> Selection:
        """The default, and whatever of the steps there is time for."""
        ended = EVERYTHING
        try:
            self._warm_up()
            self._try_default()
            steps = self._steps()
            for number, step in enumerate(steps, 2):
                if self._left <= 0 or not self._try(step, number, len(steps) + 1):
                    ended = SPENT
        except KeyboardInterrupt:
            if self._best is None:
                raise
            ended = INTERRUPTED
        assert self._best is not None
        best, estimator = self._best
        return Selection(
            trials=tuple(self._trials),
            best=best,
            estimator=estimator,
            measure="f1" if accuracy_reason(estimator.fitted) is None else "accuracy",
            folds=len(self._folds) or None,
            budget=self._budget,
            seconds=self._clock() - self._began,
            ended=ended,
        )

    @property
    def _end(self) -> float:
        return self._began + self._budget

    @property
    def _left(self) -> float:
        return self._end - self._clock()

    def _warm_up(self) -> None:
        small = self._base.estimator().for_warmup()
        with suppress(SkipchainError), catch_warnings(action="ignore"):
            small.fit(self._train[:WARMUP_SENTENCES])  # too few are no mistake

    # Trials ------------------------------------------------------------------------------------

    def _try_default(self) -> None:
        """Train the default to the end, then measure it as far as there is time."""
        began = self._clock()
        estimator, interrupted = self._base.estimator(), False
        estimator.fit(self._train, dev=self._dev, progress=Deadline(self._display))
        interrupted = estimator.result_.reason == STOPPED
        score, note = estimator.fitted.summary["dev"], "interrupted" if interrupted else ""
        trial = Trial(self._base, "", score, self._clock() - began, note)
        self._trials, self._best = [trial], (trial, estimator)  # which nothing can take away
        if interrupted:
            raise KeyboardInterrupt
        if self._folds:
            try:
                score = self._score_by_folds(self._base)
            except BudgetSpentError:
                note = NO_TIME
        trial = Trial(self._base, "", score, self._clock() - began, note)
        self._trials, self._best = [trial], (trial, estimator)
        self._tell(trial)

    def _try(self, step: SearchStep, number: int, count: int) -> bool:
        """Try a step from the best so far; whether there was time for it."""
        assert self._best is not None
        best = self._best[0]
        candidate = best.candidate.changed(**step.change)
        options = self._options(candidate)
        if any(trial.options == options for trial in self._trials) or best.score is None:
            return best.score is not None
        expected = step.cost * best.seconds
        if expected > self._left:
            note = f"left out: needs about {expected:.0f} s"
            self._add(Trial(candidate, options, None, 0.0, note))
            return False
        if self._display is not None:
            self._display.trying(options, number, count, self._left)
        began, note, score = self._clock(), "", None
        try:
            with catch_warnings(action="ignore"):  # the default has given them
                estimator, score = self._fit(candidate, best.score)
        except BudgetSpentError:
            note = NO_TIME
        except SkipchainError as error:
            note = str(error)
        trial = Trial(candidate, options, score, self._clock() - began, note)
        if score is not None and score > best.score:
            self._best = trial, estimator
        self._add(trial)
        return note != NO_TIME

    def _fit(self, candidate: TrialSettings, best: float) -> tuple[BaseEstimator, float]:
        """A candidate with its score in percent; fitted to all data if it is above the ``best``."""
        if not self._folds:
            estimator = self._fitted(candidate, self._train)
            return estimator, float(estimator.fitted.summary["dev"])
        score = self._score_by_folds(candidate)
        if score <= best:
            return candidate.estimator(), score
        return self._fitted(candidate, self._train), score

    def _score_by_folds(self, candidate: TrialSettings) -> float:
        """The mean score on the folds, in percent."""
        scores = []
        for fold in self._folds:
            estimator = self._fitted(candidate, fold.training()[0])
            scores.append(estimator.held_out_score(fold.held()[0]))
        return 100.0 * float(np.mean(scores))

    def _fitted(self, candidate: TrialSettings, corpus: Corpus) -> BaseEstimator:
        """A candidate learnt from a corpus before the budget is spent."""
        watch = Deadline(self._display, self._end, self._clock)
        watch.check()
        estimator = candidate.estimator()
        estimator.fit(corpus, dev=self._dev, progress=watch)
        if estimator.result_.reason == STOPPED:
            raise KeyboardInterrupt
        return estimator

    def _add(self, trial: Trial) -> None:
        self._trials.append(trial)
        self._tell(trial)

    def _tell(self, trial: Trial) -> None:
        assert self._best is not None
        if self._display is not None:
            self._display.tried(trial, self._trials[0], best=trial is self._best[0])

    # What to try -------------------------------------------------------------------------------

    def _steps(self) -> list[SearchStep]:
        """What suits the data and leaves alone what was given."""
        given = set(self._base.settings)
        if given & {"features", "recipe"}:
            given |= {"features", "recipe"}
        return [
            step
            for step in steps_for(DataTraits.of(self._train))
            if not given & set(step.change) and self._fits(step)
        ]

    def _fits(self, step: SearchStep) -> bool:
        """Whether a step goes together with what was given."""
        try:
            self._base.changed(**step.change).estimator().check(dev=self._dev)
        except SkipchainError:
            return False
        return True

    def _options(self, candidate: TrialSettings) -> str:
        """The options of a candidate that the default does not have."""
        base = self._base.settings
        own = {k: v for k, v in candidate.settings.items() if k not in base or base[k] != v}
        return TrialSettings(own).options
