"""How much of some work is done, told to whoever waits for it.

What takes long goes through its items by way of `counted`; inside `watched` somebody is told how
many of them are done. The work itself need not know whether anybody is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")
Watch = Callable[[float, float], None]
"""Is told how much is done, and of how much; another whole means that another part has begun."""
TELLS = 200  # times that something is told of one part


class _Watcher:
    """Who is told, and whether a part is under way whose own parts are not told."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.busy = False


_WATCHER: ContextVar[_Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Tell ``watch`` how much is done of what this thread does inside the block.

    >>> told = []
    >>> with watched(lambda done, total: told.append((done, total))):
    ...     _ = [item for item in counted("ab", 2)]
    >>> told
    [(0, 2), (1, 2), (2, 2)]
    """
    token = _WATCHER.set(_Watcher(watch))
    try:
        yield
    finally:
        _WATCHER.reset(token)


def unwatched() -> AbstractContextManager[None]:
    """Tell nobody of what is counted inside the block."""
    return watched(lambda done, total: None)


def counted(items: Iterable[Item], total: int) -> Iterator[Item]:
    """The items, ``total`` of them; who watches is told how many are done.

    Of what is counted inside something that is counted, nothing is told.
    """
    watcher = _WATCHER.get()
    if watcher is None or watcher.busy or total < 2:
        return iter(items)
    return _counted(items, total, watcher)


def _counted(items: Iterable[Item], total: int, watcher: _Watcher) -> Iterator[Item]:
    every = max(1, total // TELLS)
    watcher.busy = True
    try:
        for done, item in enumerate(items):
            if done % every == 0:
                watcher.watch(done, total)
            yield item
        watcher.watch(total, total)
    finally:
        watcher.busy = False
