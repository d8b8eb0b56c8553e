"""Passes over the data one after the other, with an average of the late ones."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import IN_MEMORY, Floats, Room
from skipchain.learn.saved_state import SavedState, Trail
from skipchain.learn.step import INTERRUPTED, OptimisationResult, Step
from skipchain.learn.vectors import map_blocks
from skipchain.parallel import Workers


def run_epochs(
    epoch: Callable[[float], float],
    vector: Callable[[], NDArray[np.floating]],
    epochs: int,
    *,
    average_from: float = 1.0,
    callback: Callable[[Step], bool | None] | None = None,
    trail: Trail | None = None,
    room: Room = IN_MEMORY,
    workers: Workers | None = None,
) -> OptimisationResult:
    """Call ``epoch(done)`` so many times, ``done`` rising from 0 towards 1; it returns its loss.

    From ``average_from`` on (a share of all epochs) the result is the average of what ``vector()``
    gives after each epoch, before that what it gives last. It ends early when ``callback`` returns
    True, or on a keyboard interrupt, which keeps what has been reached. A ``trail`` is told of
    every epoch, and may have one to go on after. The average is made in ``room``, by ``workers``.

    >>> x = np.zeros(1)
    >>> def epoch(done):
    ...     x[0] += 1.0
    ...     return 1.0
    >>> run_epochs(epoch, lambda: x, 4, average_from=0.5).vector  # of 3 and 4
    array([3.5])
    """
    began = time.perf_counter()
    average: Floats | None = None
    held = 0
    loss, number = float("nan"), 0
    reason = f"{epochs} epochs"

    def state() -> SavedState:
        values = {"number": number, "loss": loss, "held": held}
        return SavedState(values, {} if average is None else {"average": average})

    saved = None if trail is None else trail.restored()
    if saved is not None:
        number, loss = saved.whole("number", epochs), saved.number("loss")
        held = saved.whole("held", number)
        average = saved.array("average", np.float64, len(vector())) if held else None
    try:
        while number < epochs:
            loss = epoch(number / epochs)
            number += 1
            if number > average_from * epochs:
                held += 1
                if average is None:
                    average = room.copy(vector(), np.float64)
                else:
                    _update(average, vector(), held, workers or Workers(1))
            seconds = time.perf_counter() - began
            now = vector() if average is None else average
            if callback is not None and callback(
                Step(number, now, loss, seconds, planned=epochs, evaluations=number)
            ):
                reason = "stopped early"
                break
            if trail is not None:
                trail.note(state)
    except KeyboardInterrupt:
        reason = INTERRUPTED
    last = room.copy(vector(), np.float64) if average is None else average
    return OptimisationResult(last, loss, number, number, reason)


def _update(average: Floats, vector: NDArray[np.floating], count: int, workers: Workers) -> None:
    """Take one more vector into the average of ``count``, itself included."""

    def update(first: int, last: int) -> None:
        change = vector[first:last] - average[first:last]
        change /= count
        average[first:last] += change

    map_blocks(update, len(average), workers)
