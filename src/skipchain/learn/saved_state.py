"""The state of an optimiser between two iterations, kept so that it can go on from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Arrays
from skipchain.errors import ModelFileError

LARGEST_COUNT = 1 << 53


@dataclass(frozen=True, slots=True)
class SavedState:
    """Numbers, texts and arrays by name, read from ``source``, which errors name.

    >>> state = SavedState.joined({"steps": SavedState({"number": 3}, {"x": np.zeros(2)})})
    >>> state.part("steps").whole("number"), state.part("steps").array("x", np.float64, 2)
    (3, array([0., 0.]))
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)
    source: str = ""

    @classmethod
    def joined(cls, parts: Mapping[str, SavedState]) -> SavedState:
        """One state of several, each below its own name."""
        values: dict[str, Any] = {}
        arrays: Arrays = {}
        for part, own in parts.items():
            values |= {f"{part}.{name}": value for name, value in own.values.items()}
            arrays |= {f"{part}.{name}": array for name, array in own.arrays.items()}
        return cls(values, arrays)

    def part(self, name: str) -> SavedState:
        """What was joined below a name."""
        start = f"{name}."
        return SavedState(
            {k.removeprefix(start): v for k, v in self.values.items() if k.startswith(start)},
            {k.removeprefix(start): v for k, v in self.arrays.items() if k.startswith(start)},
            self.source,
        )

    def whole(self, name: str, most: int = LARGEST_COUNT) -> int:
        """A whole number from 0 on."""
        value = self.values.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            self.refuse(name, "a whole number")
        return value

    def number(self, name: str) -> float:
        """A number, which may be infinite or NaN."""
        value = self.values.get(name)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            self.refuse(name, "a number")
        return float(value)

    def text(self, name: str) -> str:
        """A text."""
        value = self.values.get(name)
        if not isinstance(value, str):
            self.refuse(name, "a text")
        return value

    def array(self, name: str, dtype: Any, *shape: int | None) -> NDArray[Any]:
        """A copy of an array of this type and shape, of which None stands for any length."""
        found = self.arrays.get(name)
        fits = found is not None and found.dtype == np.dtype(dtype) and found.ndim == len(shape)
        if found is None or not fits:
            self.refuse(name, f"{np.dtype(dtype)} with {len(shape)} dimensions")
        if any(wanted not in (None, got) for wanted, got in zip(shape, found.shape, strict=True)):
            self.refuse(name, f"of the shape {shape}, but {found.shape}")
        return found.copy()

    def refuse(self, name: str, wanted: str) -> NoReturn:
        """Raise the error for what cannot be so."""
        raise ModelFileError(
            f"{self.source}: the checkpoint is damaged: {name[:60]} is not {wanted}"
        )


class Resumable(Protocol):
    """What has a state that goes into a checkpoint."""

    def state(self) -> SavedState:
        """The state as it is now; what it refers to may change afterwards."""

    def restore(self, saved: SavedState) -> None:
        """Be again as when this state was taken."""


@dataclass(frozen=True, slots=True)
class Trail:
    """Where an optimiser leaves its state after each iteration, and from which it goes on.

    ``keep`` is told of every iteration, and asks for the state where it wants to write it down.
    ``parts`` are kept and restored together with the optimiser.
    """

    keep: Callable[[Callable[[], SavedState]], None]
    saved: SavedState | None = None
    parts: Mapping[str, Resumable] = field(default_factory=dict)

    def having(self, **parts: Resumable) -> Trail:
        """The trail of further parts, too."""
        return replace(self, parts={**self.parts, **parts})

    def restored(self) -> SavedState | None:
        """The optimiser's own state, with all parts restored; None where it is to begin."""
        if self.saved is None:
            return None
        for name, part in self.parts.items():
            part.restore(self.saved.part(name))
        return self.saved.part("optimiser")

    def note(self, own: Callable[[], SavedState]) -> None:
        """Tell of the end of an iteration; ``own`` gives the optimiser's state."""

        def state() -> SavedState:
            parts = {name: part.state() for name, part in self.parts.items()}
            return SavedState.joined({"optimiser": own(), **parts})

        self.keep(state)


class StateKeeper(Protocol):
    """What keeps the states of one learning, and has that of an earlier one."""

    def begin(self, identity: Mapping[str, str]) -> SavedState | None:
        """The state to go on from, if any; ``identity`` says what is learnt from what, and how."""

    def keep(self, state: Callable[[], SavedState]) -> None:
        """Called after each iteration: asks for the state where it is time to write it down."""
