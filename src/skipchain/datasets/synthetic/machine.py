"""Finite state machines whose steps are drawn at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

Steps = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class StateMachine:
    """The transition probabilities from each state to the next; ``silent`` states emit nothing.

    >>> machine = StateMachine({"a": {"s": 1.0}, "s": {"b": 1.0}, "b": {"a": 1.0}}, silent={"s"})
    >>> machine.next("a", np.random.default_rng(0))
    'b'
    """

    steps: Steps
    silent: frozenset[str] | set[str] = frozenset()

    def next(self, state: str, rng: np.random.Generator) -> str:
        """The next state that is not silent."""
        while True:
            choices = self.steps[state]
            state = str(rng.choice(list(choices), p=list(choices.values())))
            if state not in self.silent:
                return state
