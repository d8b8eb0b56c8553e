"""Learning that is kept: what tells one problem from another, and the trails of its stages."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from skipchain.learn.saved_state import Resumable, SavedState, StateKeeper, Trail

STEPS, PASSES, ITERATIONS = STAGES = "steps", "passes", "iterations"


def digest(value: Any) -> str:
    """A digest of arrays, plain values, and data classes of them.

    >>> digest(np.arange(3)) == digest(np.arange(3)) != digest(np.arange(4))
    True
    """
    hashed = hashlib.blake2b(digest_size=16)
    _add(hashed, value)
    return hashed.hexdigest()


def _add(hashed: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        hashed.update(f"{value.dtype.str}{value.shape}".encode())
        hashed.update(np.ascontiguousarray(value).data)
    elif is_dataclass(value):
        for own in fields(value):
            hashed.update(f"{own.name}(".encode())
            _add(hashed, getattr(value, own.name))
            hashed.update(b")")
    else:
        hashed.update(repr(value).encode())


@dataclass(frozen=True, slots=True)
class Keeping:
    """A keeper of states, and what is said to it of the learning beside the data."""

    keeper: StateKeeper
    identity: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of a learning whose states are kept, and the state to go on from, if any.

    Without a keeper nothing is kept, and nothing has a trail.
    """

    keeper: StateKeeper | None = None
    saved: SavedState | None = None

    @classmethod
    def begin(cls, keeping: Keeping | None, identity: Callable[[], Mapping[str, str]]) -> Stages:
        """The stages of a learning; its ``identity`` is asked for where there is a keeper."""
        if keeping is None:
            return cls()
        saved = keeping.keeper.begin({**keeping.identity, **identity()})
        if saved is not None and {name.partition(".")[0] for name in saved.values} - {*STAGES}:
            saved.refuse("the stage", "one that there is")
        return cls(keeping.keeper, saved)

    def reached(self, stage: str) -> SavedState | None:
        """The state in a stage; None where the learning is to begin, or is in another stage."""
        if self.saved is None:
            return None
        part = self.saved.part(stage)
        return part if part.values else None

    def trail(self, stage: str, size: int, **parts: Resumable) -> Trail | None:
        """The trail of a stage that learns so many weights, with all that is restored with it."""
        if self.keeper is None:
            return None
        keep, saved = self.keeper.keep, self.reached(stage)
        if saved is not None and "stopping.best" in saved.arrays:
            saved.array("stopping.best", np.float64, size)
        return Trail(lambda state: keep(lambda: SavedState.joined({stage: state()})), saved, parts)


@dataclass(frozen=True, slots=True)
class KeptValues:
    """Values that do not change while they are kept."""

    values: Mapping[str, Any]

    def state(self) -> SavedState:
        """The values."""
        return SavedState(self.values)

    def restore(self, saved: SavedState) -> None:
        """They are what they were."""
