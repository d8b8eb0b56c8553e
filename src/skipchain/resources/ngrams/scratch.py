"""Where counts lie until they are summed, and what is said when there is no room for them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from skipchain.errors import ParameterError, SkipchainError
from skipchain.io.temporary import scratch_folder, temporary_folder
from skipchain.resources.ngrams.counting import NgramCounter
from skipchain.resources.ngrams.duck import MEMORY, connection, import_duckdb

SIZE = re.compile(r"\d+(\.\d+)? ?[KMGT]i?B", re.IGNORECASE | re.ASCII)
FULL = "No space left on device"
UNSAVED = "failed to offload"  # what DuckDB says where its scratch folder is full
ADVICE = "name a folder with more room for what is counted meanwhile (--scratch, scratch=)"
MEMORY_ADVICE = "give the database more (--memory, memory=)"


@contextmanager
def counting_space(
    memory: str = MEMORY,
    scratch: str | Path | None = None,
    beside: Path | None = None,
    threads: int | None = None,
) -> Iterator[NgramCounter]:
    """A counter whose files lie in a new folder, which is gone at the end.

    It is made in ``scratch``, else in the folder ``beside``, else among the system's temporary
    ones. The database takes about so much ``memory``, and as many ``threads`` as there are.

    >>> from skipchain.corpus.corpus import Corpus
    >>> with counting_space() as counter:
    ...     counter.orders = 1
    ...     counter.add(Corpus.of([["Ada", "slept"]]))
    ...     counter.database.execute(counter.sums(1) + " ORDER BY w1").fetchall()
    [('</s>', 1), ('<s>', 1), ('Ada', 1), ('slept', 1)]
    """
    check_space(memory, scratch)
    with (
        _folder(scratch, beside) as folder,
        connection(memory, folder / "database", threads) as database,
        naming_scratch_faults(folder),
    ):
        yield NgramCounter(database, folder, 0)


def check_space(memory: str, scratch: str | Path | None) -> None:
    """Refuse settings of a space to count in, before any work is done."""
    if not SIZE.fullmatch(memory):
        raise ParameterError(f"memory: expected a size such as 2GB, got {memory!r}")
    if scratch is not None and not os.path.isdir(scratch):
        raise SkipchainError(f"there is no folder {scratch} for scratch files; make it first")


@contextmanager
def _folder(scratch: str | Path | None, beside: Path | None) -> Iterator[Path]:
    if scratch is None and beside is None:
        with scratch_folder() as folder:
            yield folder
    elif scratch is None:
        with TemporaryDirectory(dir=beside) as name:
            yield Path(name)
    else:
        try:
            with temporary_folder(os.path.join(os.path.realpath(scratch), "counts")) as folder:
                yield folder
        except PermissionError as error:
            detail = error.strerror or error
            raise SkipchainError(f"cannot write in {scratch}: {detail}; {ADVICE}") from None


@contextmanager
def naming_scratch_faults(folder: Path) -> Iterator[None]:
    """Errors for a full scratch disk, and for too little memory, that say what to do."""
    duckdb = import_duckdb()
    below = folder.parent
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        told = str(error)
        if UNSAVED in told or FULL in told:
            raise SkipchainError(f"the disk of {below} is full; {ADVICE}") from None
        fault = told.splitlines()[0].removeprefix("Out of Memory Error: ")
        raise SkipchainError(f"too little memory to count in ({fault}); {MEMORY_ADVICE}") from None
    except (OSError, duckdb.Error) as error:
        told = str(error)
        if FULL in told and str(folder) in told:
            raise SkipchainError(f"the disk of {below} is full; {ADVICE}") from None
        raise
