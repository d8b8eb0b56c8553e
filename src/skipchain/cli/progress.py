"""Training as it goes on: a live line in a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skipchain.cli.options import say
from skipchain.cli.waiting import LINE, Activity, duration, is_terminal

if TYPE_CHECKING:
    from skipchain.learn.step import OptimisationResult, Step
    from skipchain.models.base.progress import TrainingSize

PLAIN_EVERY = 5.0  # seconds between lines where there is no terminal


def training_display(estimator: Any) -> TrainingDisplay:
    """The display of an estimator's training."""
    return TrainingDisplay(*estimator.stopping)


class TrainingDisplay:
    """Shows the problem's size, then iteration, loss, gradient, weights, dev score and time."""

    def __init__(self, tolerance: float, max_iterations: int) -> None:
        self._tolerance = tolerance
        self._limit = max_iterations
        self._live = ExitStack()
        self._activity: Activity | None = None
        self._last = -PLAIN_EVERY
        self._improvements: list[float] = []
        self._noun = ""
        self._warm = 0.0  # seconds until the first step was done: it may have compiled kernels
        self._first = 1  # the number of that step; after a restart it is another
        self._stage: str | None = None
        self._running = False

    def __enter__(self) -> Self:
        self._show("preparing")
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, problem: TrainingSize) -> None:
        """Say what is about to be done and what memory it takes."""
        from skipchain.corpus.corpus import plural

        self.close()
        self._improvements, self._noun = [], ""
        self._stage, self._running = problem.stage, True
        sizes = (
            plural(problem.sequences, "sequence"),
            plural(problem.tokens, "token"),
            plural(problem.labels, "label"),
            f"{plural(problem.features, 'feature')} ({problem.active:,} active)",
            plural(problem.parameters, "weight"),
        )
        what = "" if self._stage is None else f" {self._stage}"
        disk = f", {megabytes(problem.disk)} of disk" if problem.disk else ""
        memory = f"about {megabytes(problem.bytes)} of memory"
        say(f"training{what}: {', '.join(sizes)}; {memory}{disk}")
        self._show(f"training{what}")

    def step(self, step: Step, dev: float | None) -> None:
        """Show one iteration."""
        if step.improvement is not None:
            self._improvements.append(step.improvement)
        if not self._noun:
            self._warm, self._first = step.seconds, step.iteration
        self._noun = "iteration" if step.planned is None else "epoch"
        planned = "" if step.planned is None else f" of {step.planned}"
        parts = [f"{self._noun} {step.iteration}{planned}", f"loss {step.loss:,.1f}"]
        if step.gradient_norm is not None:
            parts.append(f"gradient {step.gradient_norm:.2g}")
        parts.append(f"weights {int(np.count_nonzero(step.vector)):,}")
        if dev is not None:
            parts.append(f"dev {dev:.2f}")
        left = self.remaining(step)
        if self._activity is not None and is_terminal():
            self._activity.update("  ".join(parts), left)
        elif time.monotonic() - self._last >= PLAIN_EVERY:
            self._last = time.monotonic()
            parts.append(duration(step.seconds))
            parts += [] if left is None else [f"about {duration(left)} left"]
            say("  ".join(parts))

    def end(self, result: OptimisationResult) -> None:
        """Say how training ended, or a part of it, or all of the parts."""
        from skipchain.corpus.corpus import plural

        self._show("finishing")
        ended = result.reason
        if not self._running:
            say(f"trained: loss {result.loss:,.1f} in all")
            return
        if self._noun and ended != (count := plural(result.iterations, self._noun)):
            ended = f"{count} ({ended})"
        what = "" if self._stage is None else f" {self._stage}"
        say(f"trained{what}: {ended}, loss {result.loss:,.1f}")
        self._running = False

    def _show(self, what: str) -> None:
        """Tell of something else on the live line."""
        self.close()
        self._activity = Activity(what)
        self._live.enter_context(LINE.showing(self._activity))

    def close(self) -> None:
        """Take the live line away."""
        self._live.close()
        self._activity = None

    def remaining(self, step: Step) -> float | None:
        """Seconds until the planned end, or until the loss falls slowly enough if it goes on so."""
        done = step.iteration - self._first
        if done < 1:
            return None
        pace = (step.seconds - self._warm) / done
        if step.planned is not None:
            return (step.planned - step.iteration) * pace
        known = self._improvements[-8:]
        if len(known) < 8 or not known[0] > known[-1] > 0 or self._tolerance <= 0:
            return None
        rate = math.log(known[0] / known[-1]) / (len(known) - 1)
        iterations = max(0.0, math.log(known[-1] / self._tolerance)) / rate
        iterations = min(iterations, self._limit - step.iteration)
        return iterations * pace


def megabytes(count: int) -> str:
    """``255 MB``."""
    return f"{max(1, round(count / 1e6)):,} MB"
