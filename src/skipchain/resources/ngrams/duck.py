"""DuckDB, where it is installed, with a limit to its memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skipchain.errors import ParameterError, SkipchainError
from skipchain.extras import install_command

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "1GB"


@contextmanager
def connection(
    memory: str = MEMORY, spill: Path | None = None, threads: int | None = None
) -> Iterator[DuckDBPyConnection]:
    """A database in memory that spills to the folder ``spill``; closed at the end.

    >>> with connection() as database:
    ...     database.execute("SELECT 1 + 1").fetchall()
    [(2,)]
    """
    duckdb = import_duckdb()
    database = duckdb.connect(":memory:")
    try:
        try:
            database.execute(f"SET memory_limit = {sql_literal(memory)}")
        except duckdb.Error:
            raise ParameterError(f"memory: expected a size such as 2GB, got {memory!r}") from None
        if spill is not None:
            database.execute(f"SET temp_directory = {sql_literal(str(spill))}")
        if threads is not None:
            database.execute(f"SET threads = {threads}")
        database.execute("SET enable_progress_bar = false")
        database.execute("SET preserve_insertion_order = false")
        yield database
    finally:
        database.close()


def is_installed() -> bool:
    """Whether there is DuckDB."""
    try:
        import_duckdb()
    except SkipchainError:
        return False
    return True


def import_duckdb() -> Any:
    """The module duckdb."""
    try:
        import duckdb
    except ImportError:
        advice = f"install it with: {install_command('ngrams')}"
        fault = "n-gram stores need DuckDB, which is not installed"
        raise SkipchainError(f"{fault}; {advice}") from None
    return duckdb


def sql_literal(text: str) -> str:
    """A text as SQL writes it.

    >>> sql_literal("O'Hara")
    "'O''Hara'"
    """
    return "'" + text.replace("'", "''") + "'"
