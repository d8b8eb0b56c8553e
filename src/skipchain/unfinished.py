"""What has to be cleared up if the process ends before its work is done.

A signal may come inside foreign code that bears no exception. What is begun is noted here, so that
the process can clear it up and end without one.
"""

from __future__ import annotations

TYPE_CHECKING = False  # quick to import: it is imported before signals are handled
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self


_OPEN: dict[int, Clearing] = {}


class Clearing:
    """A block at whose end, or that of the process, an action clears up; it may be called twice.

    >>> with Clearing(lambda: print("cleared up")):
    ...     print("begun")
    begun
    cleared up
    """

    def __init__(self, action: Callable[[], object]) -> None:
        self.action = action

    def __enter__(self) -> Self:
        _OPEN[id(self)] = self
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.action()
        finally:
            _OPEN.pop(id(self), None)


def clear_up() -> None:
    """Clear up whatever is open, the last first, as far as that is possible.

    >>> with Clearing(lambda: print("cleared up")) as clearing:
    ...     clear_up()
    ...     clearing.action = lambda: None
    cleared up
    """
    for key, clearing in reversed(list(_OPEN.items())):
        try:
            clearing.action()
        except Exception:  # there is nobody to tell, and the others are to have their turn
            continue
        finally:
            _OPEN.pop(key, None)
