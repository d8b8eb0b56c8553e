"""The n-grams of text, counted in chunks that go to disk, and merged there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count as numbers
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skipchain.arrays import Ints, offsets_of
from skipchain.corpus.corpus import Corpus
from skipchain.errors import ReadError
from skipchain.io.files import STDIO, check_text, display_path
from skipchain.io.formats import format_of_path, format_of_text, read
from skipchain.io.streams import BLOCK, text_blocks
from skipchain.io.text import parse_plain
from skipchain.resources.ngrams.duck import sql_literal
from skipchain.resources.ngrams.manifest import ParquetFile
from skipchain.resources.ngrams.pattern import END, START

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TAGS = ("pos", "xpos", "upos")  # the columns that hold parts of speech


def read_blocks(
    path: str | Path, format: str | None = None, *, charset: str | None = None, **how: Any
) -> Iterator[Corpus]:
    """A file as corpora: plain text block by block, other formats as a whole.

    The options are those of `skipchain.read`; plain text has no limit of ``max_bytes``.
    """
    format = format or format_of_path(path)
    if format not in (None, "text"):
        yield read(path, format, charset=charset, **how)
        return
    for number, text in enumerate(text_blocks(path, BLOCK, charset=charset)):
        if number == 0:
            check_text(text, path)
            if (format or format_of_text(text, path)) != "text":
                if str(path) == STDIO:
                    fault = "is no plain text, and cannot be read twice; name its format"
                    raise ReadError(fault, path=display_path(path))
                yield read(path, format, charset=charset, **how)
                return
        if text.strip():
            yield parse_plain(text, path)


class NgramCounter:
    """Counts n-grams of corpora; what it has counted lies in Parquet files of a folder."""

    def __init__(self, database: DuckDBPyConnection, folder: Path, orders: int) -> None:
        self._database = database
        self._folder = folder
        self._numbers = numbers()
        self.orders = orders
        self.total = dict.fromkeys(range(1, orders + 1), 0)

    def add(self, corpus: Corpus) -> None:
        """Count the n-grams of a corpus, and its parts of speech where it has any."""
        words = np.array([*corpus.words.values, START, END], object)
        codes, offsets = pad_sentences(corpus)
        for order, (firsts, counts) in enumerate(ngrams(codes, offsets, self.orders), 1):
            columns = {f"w{k + 1}": words[codes[firsts + k]] for k in range(order)}
            self.write(order, {**columns, "count": counts})
        self.add_tags(corpus)

    def add_tags(self, corpus: Corpus, labels: bool = False) -> bool:
        """Count the parts of speech of words; whether there were any.

        They are columns of their own, or else the ``labels``, where these mark no spans.
        """
        columns = [corpus.columns[name] for name in TAGS if name in corpus.columns]
        if corpus.labelled and corpus.scheme is None and (labels or "xpos" in corpus.columns):
            columns.append(corpus.labels)
        for column in columns:
            width = len(column.values) + 1
            keys = corpus.words.codes.astype(np.int64) * width + column.codes
            pairs, counts = np.unique(keys, return_counts=True)
            words = np.array([*corpus.words.values, ""], object)[pairs // width]
            tags = np.array([*column.values, ""], object)[pairs % width]
            self.write("tags", {"word": words, "tag": tags, "count": counts})
        return bool(columns)

    def write(self, kind: int | str, columns: dict[str, Any]) -> None:
        """One file of counts, of n-grams of an order or of tags."""
        if not len(columns["count"]):
            return
        if isinstance(kind, int):
            self.total[kind] = self.total.get(kind, 0) + int(np.sum(columns["count"]))
        path = self._folder / f"chunk-{kind}-{next(self._numbers)}.parquet"
        self._database.register("chunk", columns)
        self._database.execute(f"COPY chunk TO {sql_literal(str(path))} (FORMAT parquet)")
        self._database.unregister("chunk")

    def merge(self, kind: int | str, target: Path, min_count: int = 1) -> ParquetFile | None:
        """Sum the counts of a kind into one sorted file; None where nothing was counted."""
        chunks = sorted(self._folder.glob(f"chunk-{kind}-*.parquet"))
        if not chunks:
            return None
        keys = "word, tag" if kind == "tags" else ", ".join(f"w{k + 1}" for k in range(int(kind)))
        sources = ", ".join(sql_literal(str(chunk)) for chunk in chunks)
        self._database.execute(
            f"COPY (SELECT {keys}, CAST(sum(count) AS BIGINT) AS count "
            f"FROM read_parquet([{sources}]) GROUP BY {keys} HAVING sum(count) >= {min_count} "
            f"ORDER BY {keys}) TO {sql_literal(str(target))} (FORMAT parquet, COMPRESSION zstd)"
        )
        for chunk in chunks:
            chunk.unlink()
        sql = f"SELECT count(*), coalesce(sum(count), 0) FROM {sql_literal(str(target))}"
        rows, kept = self._database.execute(sql).fetchall()[0]
        total = self.total[kind] if isinstance(kind, int) else int(kept)
        return ParquetFile(target.name, int(rows), total, target.stat().st_size)


def pad_sentences(corpus: Corpus) -> tuple[Ints, Ints]:
    """Codes of words with a mark before and behind each sentence ``[N + 2 M]``, and offsets."""
    size = len(corpus.words.values)
    lengths = np.diff(corpus.sentences)
    lengths = lengths[lengths > 0]
    offsets = offsets_of(lengths + 2)
    codes = np.full(int(offsets[-1]), size, np.int64)
    codes[offsets[1:] - 1] = size + 1
    inner = np.ones(len(codes), bool)
    inner[offsets[:-1]] = inner[offsets[1:] - 1] = False
    codes[inner] = corpus.words.codes
    return codes, offsets


def ngrams(codes: Ints, offsets: Ints, orders: int) -> Iterator[tuple[Ints, Ints]]:
    """For each order from 1 on: where each distinct n-gram stands first, and how often it occurs.

    An n-gram of order k is numbered by those of order k − 1 and its last word.

    >>> by_order = ngrams(np.array([5, 6, 5, 6]), np.array([0, 4]), 2)
    >>> [(firsts.tolist(), counts.tolist()) for firsts, counts in by_order]
    [([0, 1], [2, 2]), ([0, 1], [2, 1])]
    """
    ends = np.repeat(offsets[1:], np.diff(offsets))  # [N], where the sentence of a token ends
    places = np.arange(len(codes))
    ids = np.zeros(len(codes), np.int64)
    width = int(codes.max(initial=0)) + 1
    for order in range(1, orders + 1):
        places = places[places + order <= ends[places]]
        keys = ids[places] * width + codes[places + order - 1]
        _, firsts, inverse, counts = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        ids[places] = inverse
        yield places[firsts], counts
