"""Training as it goes on: a live line in a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skipchain.cli.options import say

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
        self._live: Any = None
        self._last = -PLAIN_EVERY
        self._improvements: list[float] = []
        self._noun = ""
        self._warm = 0.0  # seconds until the first step was done: it may have compiled kernels
        self._stage: str | None = None
        self._running = False

    def __enter__(self) -> Self:
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
        say(f"training{what}: {', '.join(sizes)}; about {megabytes(problem.bytes)} of memory")
        if sys.stderr.isatty():
            from rich.live import Live

            from skipchain.report.terminal import Terminal

            self._live = Live(console=Terminal(stderr=True), refresh_per_second=8, transient=True)
            self._live.start()

    def step(self, step: Step, dev: float | None) -> None:
        """Show one iteration."""
        if step.improvement is not None:
            self._improvements.append(step.improvement)
        if not self._noun:
            self._warm = step.seconds
        self._noun = "iteration" if step.planned is None else "epoch"
        planned = "" if step.planned is None else f" of {step.planned}"
        parts = [f"{self._noun} {step.iteration}{planned}", f"loss {step.loss:,.1f}"]
        if step.gradient_norm is not None:
            parts.append(f"gradient {step.gradient_norm:.2g}")
        parts.append(f"weights {int(np.count_nonzero(step.vector)):,}")
        if dev is not None:
            parts.append(f"dev {dev:.2f}")
        parts.append(f"{step.seconds:.0f} s")
        if (left := self.remaining(step)) is not None:
            parts.append(f"about {left:.0f} s left")
        line = "  ".join(parts)
        if self._live is not None:
            self._live.update(line)
        elif time.monotonic() - self._last >= PLAIN_EVERY:
            self._last = time.monotonic()
            say(line)

    def end(self, result: OptimisationResult) -> None:
        """Say how training ended, or a part of it, or all of the parts."""
        from skipchain.corpus.corpus import plural

        self.close()
        ended = result.reason
        if not self._running:
            say(f"trained: loss {result.loss:,.1f} in all")
            return
        if self._noun and ended != (count := plural(result.iterations, self._noun)):
            ended = f"{count} ({ended})"
        what = "" if self._stage is None else f" {self._stage}"
        say(f"trained{what}: {ended}, loss {result.loss:,.1f}")
        self._running = False

    def close(self) -> None:
        """Take the live line away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def remaining(self, step: Step) -> float | None:
        """Seconds until the planned end, or until the loss falls slowly enough if it goes on so."""
        if step.iteration == 1:
            return None
        pace = (step.seconds - self._warm) / (step.iteration - 1)
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
