"""The n-grams of text, counted in chunks that go to disk, and merged there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count as numbers
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from skipchain.arrays import Ints, offsets_of
from skipchain.corpus.corpus import Corpus
from skipchain.resources.ngrams.duck import sql_literal
from skipchain.resources.ngrams.manifest import ParquetFile
from skipchain.resources.ngrams.pattern import END, START

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Kind = int | str
TAGS = ("pos", "xpos", "upos")  # the columns that hold parts of speech


class NgramCounter:
    """Counts n-grams of corpora; what it has counted lies in Parquet files of a folder.

    The kinds of counts are orders of n-grams, and ``tags``, parts of speech of words.
    """

    def __init__(self, database: DuckDBPyConnection, folder: Path, orders: int) -> None:
        self.database = database
        self.folder = folder
        self._numbers = numbers()
        self.orders = orders
        self.summed = False
        """whether the files of n-grams are sums, in the order in which they were added"""
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

    def write(self, kind: Kind, columns: dict[str, Any]) -> None:
        """One file of counts of a kind."""
        if not len(columns["count"]):
            return
        if isinstance(kind, int):
            self.total[kind] = self.total.get(kind, 0) + int(np.sum(columns["count"]))
        self.database.register("chunk", columns)
        target = sql_literal(str(self._new_chunk(kind)))
        self.database.execute(f"COPY chunk TO {target} (FORMAT parquet)")
        self.database.unregister("chunk")

    def add_file(self, kind: Kind, content: bytes) -> None:
        """Take over a file of counts that another counter has written (see `split`)."""
        self._new_chunk(kind).write_bytes(content)

    def kinds(self) -> list[Kind]:
        """The kinds of which there are counts."""
        there = {path.name.split("-")[1] for path in self.folder.glob("chunk-*.parquet")}
        return [int(kind) if kind.isdigit() else kind for kind in sorted(there)]

    def split(self, borders: Sequence[str]) -> Iterator[dict[Kind, list[bytes]]]:
        """The sums of all kinds in parts by the first word: for each part, files by kind.

        A part begins with a border, the first before all of them.
        """
        with TemporaryDirectory(dir=self.folder) as name:
            kinds = self.kinds()
            for kind in kinds:
                word = keys_of(kind)[0]
                below = [f"CAST({word} >= {sql_literal(border)} AS INTEGER)" for border in borders]
                self.database.execute(
                    f"COPY (SELECT *, {' + '.join(['0', *below])} AS part "
                    f"FROM ({self.sums(kind)})) "
                    f"TO {sql_literal(f'{name}/{kind}')} (FORMAT parquet, PARTITION_BY (part))"
                )
            for number in range(len(borders) + 1):
                folders = {kind: Path(name, str(kind), f"part={number}") for kind in kinds}
                yield {
                    kind: [path.read_bytes() for path in sorted(folder.glob("*"))]
                    for kind, folder in folders.items()
                }

    def merge(self, kind: Kind, target: Path, min_count: int = 1) -> ParquetFile | None:
        """Sum the counts of a kind into one sorted file; None where nothing was counted."""
        chunks = self._chunks(kind)
        if not chunks:
            return None
        keys = ", ".join(keys_of(kind))
        rows = f"{self.sums(kind)} HAVING sum(count) >= {min_count} ORDER BY {keys}"
        if self.summed and isinstance(kind, int):
            self.database.execute("SET preserve_insertion_order = true")
            rows = f"SELECT {keys}, count FROM {self.rows(kind)}"
        self.database.execute(
            f"COPY ({rows}) TO {sql_literal(str(target))} (FORMAT parquet, COMPRESSION zstd)"
        )
        for chunk in chunks:
            chunk.unlink()
        sql = f"SELECT count(*), coalesce(sum(count), 0) FROM {sql_literal(str(target))}"
        rows, kept = self.database.execute(sql).fetchall()[0]
        total = self.total.get(kind, int(kept)) if isinstance(kind, int) else int(kept)
        return ParquetFile(target.name, int(rows), total, target.stat().st_size)

    def sums(self, kind: Kind) -> str:
        """The query for the counts of a kind, of all files together."""
        keys = ", ".join(keys_of(kind))
        total = "CAST(sum(count) AS BIGINT) AS count"
        return f"SELECT {keys}, {total} FROM {self.rows(kind)} GROUP BY {keys}"

    def rows(self, kind: Kind) -> str:
        """The counts of a kind as SQL names them, equal keys in several rows."""
        sources = ", ".join(sql_literal(str(chunk)) for chunk in self._chunks(kind))
        return f"read_parquet([{sources}])"

    def _chunks(self, kind: Kind) -> list[Path]:
        found = self.folder.glob(f"chunk-{kind}-*.parquet")
        return sorted(found, key=lambda path: int(path.stem.split("-")[2]))

    def _new_chunk(self, kind: Kind) -> Path:
        return self.folder / f"chunk-{kind}-{next(self._numbers)}.parquet"


def keys_of(kind: Kind) -> list[str]:
    """The columns that what is counted has.

    >>> keys_of(2), keys_of("tags")
    (['w1', 'w2'], ['word', 'tag'])
    """
    return [f"w{k + 1}" for k in range(kind)] if isinstance(kind, int) else ["word", "tag"]


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
