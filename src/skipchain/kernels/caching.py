"""Where compiled kernels are kept: a file each, which other processes find or do not find.

Numba's own cache has an index beside the code, so two processes that compile at once may get each
other's code, and it looks at one source file only. Here a file's name says what is in it.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import config
from numba.core import serialize
from numba.core.compiler import CompileResult

from skipchain.kernels.folders import (
    SUFFIX,
    VARIABLE,
    kernel_folders,
    make_folder,
    temporary_folder,
)
from skipchain.kernels.kernel import Kernel, tell_of_compiling

UNFINISHED = "unfinished-"
OPTIONS = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX")
"""Settings of numba that the code depends on."""


class CacheWarning(UserWarning):
    """Compiled kernels cannot be kept where they should be."""


def compiled(kernel: Kernel) -> Any:
    """Numba's dispatcher of a kernel, with a cache of ours.

    Code that is read asks for its module, so what no module has is not kept.
    """
    dispatcher = numba.njit(nogil=True, **kernel.targetoptions)(kernel.plain)
    if getattr(sys.modules.get(kernel.__module__), kernel.__name__, None) is kernel:
        dispatcher._cache = KernelCache(kernel)
    return dispatcher


class KernelCache:
    """The compiled forms of one kernel, by the types of its arguments; what numba asks for them."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled code of a signature; None where there is none that can be read."""
        target.refresh()
        name = self._name(signature, target.codegen())
        for folder in kernel_folders():
            code = _read(folder / name)
            made_of = None if code is None else _parts(code)
            if made_of is not None:
                return CompileResult._rebuild(target, *made_of)  # type: ignore[no-untyped-call]
        tell_of_compiling(self._kernel)
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep compiled code in the first folder that can be written to."""
        if result.library.has_dynamic_globals or any(not x.can_cache for x in result.lifted):
            return
        name = self._name(signature, result.codegen)
        code = serialize.dumps(result._reduce())  # type: ignore[no-untyped-call]
        for folder in kernel_folders():
            with suppress(OSError):  # no folder of ours to write to, or a full disk
                _write(folder / name, code)
                self._clear_up(folder)
                if folder == temporary_folder():
                    _tell(folder)
                return
        _tell(None)

    def flush(self) -> None:
        """There is no index to forget."""

    def _clear_up(self, folder: Path) -> None:
        """Remove compiled forms of what the kernel was before it, or what it calls, was changed."""
        for path in folder.glob(f"{self._kernel}-*{SUFFIX}"):
            if not path.name.startswith(self._stem):
                with suppress(OSError):
                    path.unlink()

    @property
    def _stem(self) -> str:
        return f"{self._kernel}-{self._kernel.digest[:16]}-"

    def _name(self, signature: Any, codegen: Any) -> str:
        machine = codegen.magic_tuple(), numba.__version__, sys.version_info[:3]
        options = [getattr(config, name) for name in OPTIONS]
        made = str(signature), machine, options
        return self._stem + hashlib.sha256(repr(made).encode()).hexdigest()[:16] + SUFFIX


def _read(path: Path) -> bytes | None:
    """The code in a file; None where there is none, or a machine went down while it was written."""
    try:
        kept = path.read_bytes()
    except OSError:
        return None
    digest, code = kept[:32], kept[32:]
    return code if hashlib.sha256(code).digest() == digest else None


def _parts(code: bytes) -> tuple[Any, ...] | None:
    """What compiled code is put together from; None where a class of an argument has moved since.

    A digest tells what a kernel does, and not where the classes of its arguments stand.
    """
    try:
        parts: tuple[Any, ...] = pickle.loads(code)
    except (AttributeError, ImportError):
        return None
    return parts


def _write(path: Path, code: bytes) -> None:
    """Write a file whole, or not at all; of several processes the last one stays."""
    make_folder(path.parent)
    descriptor, unfinished = tempfile.mkstemp(prefix=UNFINISHED, dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(hashlib.sha256(code).digest() + code)
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise


@cache
def _tell(folder: Path | None) -> None:
    """Say once where compiled kernels are kept, if it is nowhere or among temporary files."""
    what = "are kept nowhere, and every process compiles them anew"
    if folder is not None:
        what = f"are kept in {folder}"
    where = "neither the folder of the program nor a cache folder of this user can be written to"
    advice = f"set {VARIABLE} to a folder that can"
    fault = f"compiled kernels {what}, for {where}; {advice}"
    warnings.warn(fault, CacheWarning, stacklevel=2)
