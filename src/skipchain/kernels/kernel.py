"""A kernel: a plain function on arrays, and its compiled form, made when it is first wanted.

Importing a kernel costs nothing, for numba is imported when something is compiled, or read from
the folder of compiled code. Inside `interpreted` kernels run as the plain functions that they
are, and inside `sparingly` they do so while little is asked: an answer about a few words is there
long before a compiler would be ready.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property
from threading import RLock
from types import CodeType, ModuleType
from typing import Any, overload

import numpy as np

Function = Callable[..., Any]

LITTLE = 200
"""Tokens that take as long to label as numba takes to be imported, and kernels to be read."""
LITTLE_COLD = 2000
"""Tokens that take less time to label than kernels to be compiled."""

_LISTENERS: list[Callable[[Kernel], None]] = []
_INTERPRETED: ContextVar[bool] = ContextVar("interpreted", default=False)
_LOCK = RLock()


class Kernel:
    """A function on arrays that is compiled when it is called outside of `interpreted`.

    Compiled code is kept on disk under a digest of the function, of the constants that it uses and
    of all kernels that it calls, so a change to any of them is noticed.

    >>> @kernel
    ... def add(a, b):
    ...     return a + b
    >>> with interpreted():
    ...     add(1, 2)
    3
    """

    def __init__(self, function: Function, **options: Any) -> None:
        self.plain = self.py_func = function
        self.targetoptions = options  # as numba asks for them where a kernel is to be inlined
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self.__module__, self.__qualname__ = function.__module__, function.__qualname__
        self.__wrapped__ = function
        self._dispatcher: Any = None

    def __call__(self, *args: Any) -> Any:
        """Run the plain function inside `interpreted`, the compiled one elsewhere."""
        if _INTERPRETED.get():
            return self.plain(*args)
        return (self._dispatcher or self.compiled)(*args)

    def __str__(self) -> str:
        return f"{self.__module__.removeprefix('skipchain.')}.{self.__name__}"

    @property
    def compiled(self) -> Any:
        """The function as numba compiles it."""
        with _LOCK:
            if self._dispatcher is None:
                from skipchain.kernels.caching import compiled

                self._dispatcher = compiled(self)
                _USE.compiled = True
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:  # a kernel calls another: numba asks for its type
        return self.compiled._numba_type_

    @cached_property
    def digest(self) -> str:
        """A digest of all that the compiled code depends on."""
        parts: list[str] = []
        _describe(self, parts, set())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@contextmanager
def interpreted() -> Iterator[None]:
    """Run kernels as plain Python inside the block, in this thread."""
    token = _INTERPRETED.set(True)
    try:
        with np.errstate(all="ignore"):  # as compiled code, which says nothing
            yield
    finally:
        _INTERPRETED.reset(token)


def is_interpreted() -> bool:
    """Whether kernels run as plain Python here."""
    return _INTERPRETED.get()


class _Use:
    """What this process has asked of kernels so far."""

    def __init__(self) -> None:
        self.compiled = False
        self.tokens = 0.0

    def is_little(self, tokens: float) -> bool:
        """Whether it is too little for a compiler, these tokens included."""
        with _LOCK:
            self.tokens += tokens
            if self.compiled or self.tokens > LITTLE_COLD:
                return False
            return self.tokens <= LITTLE or not are_kept()


_USE = _Use()


@contextmanager
def sparingly(tokens: float) -> Iterator[None]:
    """Compile nothing inside the block for the sake of so many tokens, if they are few.

    They are added to those before; a process that has compiled anything, or read compiled code,
    goes on with it. Numbers may then differ in their last digits, and nothing else.
    """
    if _INTERPRETED.get() or not _USE.is_little(tokens):
        yield
    else:
        with interpreted():
            yield


def compile_from_now_on() -> None:
    """Compile kernels however little is asked of this process."""
    _USE.compiled = True


@contextmanager
def told_of_compiling(listener: Callable[[Kernel], None]) -> Iterator[None]:
    """Call ``listener`` with each kernel that has to be compiled inside the block, before it is."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def tell_of_compiling(kernel: Kernel) -> None:
    """Tell the listeners that a kernel is about to be compiled."""
    for listener in tuple(_LISTENERS):
        listener(kernel)


@cache
def are_kept() -> bool:
    """Whether there is compiled code on the disk, of a kernel that every tagger needs."""
    from skipchain.kernels.folders import SUFFIX, kernel_folders

    pattern = f"kernels.gather.gather-*{SUFFIX}"
    return any(next(folder.glob(pattern), None) for folder in kernel_folders())


@overload
def kernel(function: Function, /) -> Kernel: ...
@overload
def kernel(**options: Any) -> Callable[[Function], Kernel]: ...
def kernel(function: Function | None = None, /, **options: Any) -> Any:
    """Make a function a kernel; options are numba's, such as ``fastmath``."""
    if function is not None:
        return Kernel(function)
    return lambda function: Kernel(function, **options)


def _describe(kernel: Kernel, parts: list[str], seen: set[str]) -> None:
    """What a kernel is made of, in words that do not depend on where it stands in its file."""
    name = f"{kernel.__module__}.{kernel.__qualname__}"
    if name in seen:
        return
    seen.add(name)
    options = {key: _shown(value) for key, value in sorted(kernel.targetoptions.items())}
    parts.append(f"{name} {options} {kernel.plain.__defaults__}")
    names: set[str] = set()
    _describe_code(kernel.plain.__code__, parts, names)
    known = kernel.plain.__globals__
    values = [(name, known[name]) for name in sorted(names) if name in known]
    for name, value in tuple(values):
        if isinstance(value, ModuleType):  # through which other kernels may be called
            values += [(f"{name}.{own}", vars(value).get(own)) for own in sorted(names)]
    for name, value in values:
        if isinstance(value, Kernel):
            parts.append(f"{name} = {value.__module__}.{value.__qualname__}")
            _describe(value, parts, seen)
        elif isinstance(value, np.ndarray):
            parts.append(f"{name} = {value.dtype} {value.shape} {value.tobytes().hex()}")
        elif isinstance(value, (bool, int, float, str, tuple, np.generic)):
            parts.append(f"{name} = {value!r}")


def _describe_code(code: CodeType, parts: list[str], names: set[str]) -> None:
    names.update(code.co_names)
    parts.append(f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars}")
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _describe_code(constant, parts, names)
        elif constant is not code.co_consts[0] or not isinstance(constant, str):  # no docstring
            parts.append(_shown(constant))


def _shown(value: object) -> str:
    """A value as text that is the same in every process, which that of a set is not."""
    return repr(sorted(value)) if isinstance(value, (set, frozenset)) else repr(value)
