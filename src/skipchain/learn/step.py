"""What every optimiser reports: the state after an iteration, and the result."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from skipchain.arrays import Floats

INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Step:
    """The state of a minimisation after one iteration, or one epoch."""

    iteration: int
    vector: NDArray[Any]
    """The weights, which may be those that go on to change: copy what is to stay."""
    loss: float
    seconds: float
    gradient_norm: float | None = None
    improvement: float | None = None
    """Relative fall of the loss over the last iterations; None while there are too few."""
    planned: int | None = None
    """How many iterations there will be, where that is known."""
    evaluations: int | None = None
    """How often the loss was computed so far: passes over the data."""


@dataclass(frozen=True, slots=True)
class OptimisationResult:
    """Where a minimisation ended, and why."""

    vector: Floats = field(repr=False)
    loss: float
    iterations: int
    evaluations: int
    reason: str

    def after(self, earlier: OptimisationResult) -> OptimisationResult:
        """This as the end of a minimisation of which ``earlier`` was the first part."""
        iterations = earlier.iterations + self.iterations
        return replace(
            self, iterations=iterations, evaluations=earlier.evaluations + self.evaluations
        )
