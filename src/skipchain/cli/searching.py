"""A search for good settings as it goes on: a table that grows, and a live line below it."""

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING, Any

from skipchain.cli.options import say
from skipchain.cli.waiting import Activity, duration, waiting
from skipchain.errors import SkipchainError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skipchain.corpus import Corpus
    from skipchain.learn.step import OptimisationResult, Step
    from skipchain.models.base.progress import TrainingSize
    from skipchain.selection import Selection, Trial


def search(
    train: Corpus,
    dev: Corpus | None,
    budget: str | None,
    settings: Mapping[str, Any],
    *,
    quiet: bool,
) -> Selection:
    """The best settings that a budget of time finds; unless ``quiet``, told as they are tried."""
    from skipchain.selection import select_model
    from skipchain.selection.budget import parse_budget
    from skipchain.selection.search import BUDGET

    seconds = BUDGET if budget is None else parse_budget(budget)
    with waiting("the default", quiet=quiet, plain=False) as activity:
        display = None if quiet else SearchProgress(activity, seconds)
        found = select_model(train, dev, budget=seconds, display=display, **settings)
    if not quiet:
        _tell(found)
    return found


def check_search(auto: bool, budget: str | None, start: str | None) -> None:
    """Refuse options that do not go with --auto, or not without it."""
    from skipchain.selection.budget import parse_budget

    if budget is not None:
        if not auto:
            raise SkipchainError("--budget is the time that --auto may take; give --auto, too")
        parse_budget(budget)
    if auto and start is not None:
        raise SkipchainError("--auto tries several settings, and --start belongs to one of them")


def command(arguments: list[str], options: str) -> str:
    """The command that trains with what was found, without a search.

    >>> command(["train", "a.conll", "--auto", "--budget", "5m", "-o", "m"], "--consistency")
    'skipchain train a.conll -o m --consistency'
    """
    kept = []
    words = iter(arguments)
    for word in words:
        if word == "--budget":
            next(words, None)
        elif word != "--auto" and not word.startswith("--budget="):
            kept.append(word)
    return " ".join(filter(None, [shlex.join(["skipchain", *kept]), options]))


class SearchProgress:
    """Says a row of the table after each trial; on a terminal the live line shows the next one."""

    def __init__(self, activity: Activity, budget: float) -> None:
        self._activity = activity
        self._what, self._stage = "the default", ""
        self._end = time.monotonic() + budget
        self._headed = False
        say(f"trying settings for at most {duration(budget)}, the default first")

    def begin(self, problem: TrainingSize) -> None:
        """Before the first iteration of a training."""
        self._stage = "" if problem.stage is None else f" ({problem.stage})"

    def step(self, step: Step, dev: float | None) -> None:
        """After each iteration."""
        noun = "iteration" if step.planned is None else "epoch"
        planned = "" if step.planned is None else f" of {step.planned}"
        left = max(0.0, self._end - time.monotonic())
        most = f"at most {duration(left)} left, " if left else ""
        where = f"{noun} {step.iteration}{planned}"
        self._activity.update(f"{most}{self._what}{self._stage}: {where};")

    def end(self, result: OptimisationResult) -> None:
        """After the last."""

    def trying(self, name: str, number: int, count: int, left: float) -> None:
        """Before each trial but the first."""
        self._what, self._stage = f"{number} of {count}, {name}", ""

    def tried(self, trial: Trial, default: Trial, best: bool) -> None:
        """After each trial: its row."""
        from skipchain.selection.selection import difference, percent

        if not self._headed:
            say(f"{'score':>7}  {'change':>7}  {'seconds':>7}  settings")
            self._headed = True
        cells = (percent(trial.score), difference(trial, default), f"{trial.seconds:.1f}")
        marks = [trial.note] if trial.note else ["best so far"] if best and trial.options else []
        name = "  ".join([trial.name, *(f"({mark})" for mark in marks)])
        say("  ".join([*(f"{cell:>7}" for cell in cells), name]))


def _tell(found: Selection) -> None:
    """Say what was kept, and how to have it again."""
    from skipchain.corpus.corpus import plural
    from skipchain.selection.selection import percent

    tried = sum(trial.score is not None for trial in found.trials)
    default = f" (default {percent(found.default.score)})" if found.best.options else ""
    say(
        f"kept {found.best.name}: {found.metric} {percent(found.best.score)}{default}; "
        f"{plural(tried, 'setting')} tried in {duration(found.seconds)}; {found.ended}"
    )
    if found.best.options:
        say(f"the same without the search: {command(sys.argv[1:], found.best.options)}")
