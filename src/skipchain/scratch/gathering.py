"""A corpus whose columns lie in files, gathered from blocks as they are read."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from skipchain.arrays import Ints, Labels, offsets_of
from skipchain.corpus import Column, Corpus
from skipchain.corpus.column import frozen
from skipchain.errors import CorpusError
from skipchain.scratch.folder import Scratch


def gather(blocks: Iterable[Corpus], scratch: Scratch) -> Corpus:
    """One corpus of all blocks, with its columns in files.

    The distinct values of columns are held, and where sentences and documents begin. Texts, names,
    offsets of characters, notes and links are left behind.

    >>> from tempfile import gettempdir
    >>> with Scratch(gettempdir()) as scratch:
    ...     gather([Corpus.of([["Ada", "ran"]]), Corpus.of([["Bo", "ran"]])], scratch)
    Corpus(2 documents, 2 sentences, 4 tokens, columns word)
    """
    columns: dict[str, GatheredColumn] = {}
    sentences: list[Ints] = []
    documents: list[Ints] = []
    scheme: str | None = None
    for number, block in enumerate(blocks):
        if number == 0:
            columns = {name: GatheredColumn(scratch) for name in block.columns}
            scheme = block.scheme
        if list(block.columns) != list(columns) or block.scheme != scheme:
            own = f"{', '.join(block.columns)} ({block.scheme})"
            before = f"{', '.join(columns)} ({scheme})"
            raise CorpusError(
                f"block {number} has other columns or another scheme than those before: {own} "
                f"after {before}; name scheme= when reading"
            )
        for name, column in columns.items():
            column.add(block.columns[name])
        sentences.append(np.diff(block.sentences).astype(np.int32))
        documents.append(np.diff(block.documents))
    if not sentences:
        raise CorpusError("there is no block to learn from")
    return Corpus(
        {name: column.column() for name, column in columns.items()},
        offsets_of(np.concatenate(sentences)),
        offsets_of(np.concatenate(documents)),
        scheme,
    )


class GatheredColumn:
    """A column to which those of further blocks are added."""

    def __init__(self, scratch: Scratch) -> None:
        self._numbers: dict[str, int] = {}
        self._codes = scratch.growing(np.int32)

    def add(self, column: Column) -> None:
        """Put a column behind those that came before; its values are numbered as they appear."""
        numbers = self._numbers
        renumber: Labels = np.full(len(column.values), -1, np.int32)
        for code in in_order(column):
            renumber[code] = numbers.setdefault(column.values[code], len(numbers))
        self._codes.add(renumber[column.codes])

    def column(self) -> Column:
        """All of it."""
        return Column(frozen(self._codes.array()), tuple(self._numbers))


def in_order(column: Column) -> list[int]:
    """The codes that some token has, in the order in which they first appear.

    >>> in_order(Column(np.array([2, 0, 2], np.int32), ("a", "b", "c")))
    [2, 0]
    """
    first = np.full(len(column.values), len(column))
    first[column.codes[::-1]] = np.arange(len(column) - 1, -1, -1)
    order = np.argsort(first, kind="stable")
    used: list[int] = order[: int((first < len(column)).sum())].tolist()
    return used
