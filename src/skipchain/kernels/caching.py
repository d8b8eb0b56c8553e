"""Where compiled code is kept.

Numba keeps what it compiled beside the source, or in the user's cache folder. Where it may write to
neither, `njit` reads what lies beside the source and keeps the rest in a temporary folder.
"""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, InTreeCacheLocator

NO_FOLDER = "no locator available"  # what numba says where it finds no folder to write to


class CacheWarning(UserWarning):
    """Compiled kernels cannot be kept where they should be."""


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """As `numba.njit`, which with ``cache=True`` fails where there is no folder to write to.

    >>> @njit(nogil=True)
    ... def add(a, b):
    ...     return a + b
    >>> add(1, 2)
    3
    """

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError as error:
            if NO_FOLDER not in str(error):
                raise
        dispatcher = numba.njit(**{**options, "cache": False})(function)
        dispatcher._cache = _FallbackCache(function)
        return dispatcher

    return compiled


class _ReadOnlyLocator(InTreeCacheLocator):
    """The folder beside the source, whether or not it can be written to."""

    def ensure_cache_path(self) -> None:
        pass


class _TemporaryLocator(InTreeCacheLocator):
    """A folder of this user among the temporary ones."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        super().__init__(py_func, py_file)  # type: ignore[no-untyped-call]
        self._cache_path = os.path.join(
            temporary_cache() or "", self.get_suitable_cache_subpath(py_file)
        )


class _ReadOnlyImplementation(CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [_ReadOnlyLocator]  # noqa: RUF012 (as numba has it)


class _TemporaryImplementation(CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [_TemporaryLocator]  # noqa: RUF012


class _TemporaryCache(FunctionCache):
    _impl_class = _TemporaryImplementation


class _FallbackCache(FunctionCache):
    """Reads what lies beside the source, then what is in the temporary folder; writes there."""

    _impl_class = _ReadOnlyImplementation

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code of a signature; None where there is none."""
        with suppress(OSError):  # no permission to read
            found = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
            if found is not None:
                return found
        temporary = self._temporary
        return None if temporary is None else temporary.load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, where that is possible."""
        _tell(temporary_cache())
        if self._temporary is not None:
            with suppress(OSError):  # a full disk: it is compiled again next time
                self._temporary.save_overload(sig, data)

    @property
    def _temporary(self) -> Any:
        return None if temporary_cache() is None else _TemporaryCache(self._py_func)


@cache
def temporary_cache() -> str | None:
    """The folder of this user for compiled code, where there is no other; None if none can be had.

    What lies in it is run, so it must be a folder of this user that nobody else can write to.
    """
    try:
        folder = tempfile.gettempdir()
        if folder == os.getcwd() != os.environ.get("TMPDIR"):
            return None  # the last resort of gettempdir, where nobody looks for compiled code
        path = os.path.join(folder, f"skipchain-kernels-{os.getuid()}")
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
        if _is_private(path):
            tempfile.TemporaryFile(dir=path).close()
            return path
    except (OSError, AttributeError):  # AttributeError: Windows has no getuid
        pass
    return None


@cache
def _tell(folder: str | None) -> None:
    """Say once where compiled kernels are kept, when one has been compiled."""
    what = "are kept nowhere, and every process compiles them anew"
    if folder is not None:
        what = f"are kept in {folder}"
    where = "neither the folder of the program nor a cache folder of this user can be written to"
    advice = "set NUMBA_CACHE_DIR to a folder that can"
    fault = f"compiled kernels {what}, for {where}; {advice}"
    warnings.warn(fault, CacheWarning, stacklevel=2)


def _is_private(path: str) -> bool:
    status = os.lstat(path)
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and not stat.S_IMODE(status.st_mode) & 0o077
    )
