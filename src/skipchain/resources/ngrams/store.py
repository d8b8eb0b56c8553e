"""A store of n-gram counts: Parquet files in a folder, one an order, asked through DuckDB."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skipchain.checks import check_integer
from skipchain.corpus.corpus import Corpus, plural
from skipchain.errors import ParameterError, ReadError, SkipchainError
from skipchain.io.temporary import scratch_folder
from skipchain.resources.ngrams.counting import NgramCounter
from skipchain.resources.ngrams.duck import MEMORY, connection, import_duckdb, sql_literal
from skipchain.resources.ngrams.importing import LONGEST, add_counts
from skipchain.resources.ngrams.manifest import TAGS_FILE, Manifest, order_file
from skipchain.resources.ngrams.pattern import SHAPES, Pattern, PatternError
from skipchain.resources.ngrams.replacing import replaced_folder
from skipchain.resources.ngrams.scratch import counting_space
from skipchain.resources.texts import TextSource

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CountCallback = Callable[[str, int], None]
"""Called with the name of a text, and how many tokens were counted since the last call."""


def ignore_progress(source: str, tokens: int) -> None:
    """The callback that does nothing."""


@dataclass(frozen=True, slots=True)
class Filler:
    """Words that fill the slots of a pattern, and how often they do."""

    words: tuple[str, ...]
    count: int

    @property
    def text(self) -> str:
        """The words with spaces between."""
        return " ".join(self.words)


@dataclass(frozen=True, slots=True)
class NgramStore:
    """Counts of n-grams in a folder.

    >>> from tempfile import TemporaryDirectory
    >>> text = Corpus.of(["he died in a car accident".split(), "she died in an accident".split(),
    ...                   "they died in a car accident".split()])
    >>> with TemporaryDirectory() as folder:
    ...     store = NgramStore.count([text], folder + "/store", orders=5)
    ...     store.query("died in (a|an) * accident")
    [Filler(words=('car',), count=2)]
    """

    path: Path
    manifest: Manifest
    memory: str = MEMORY

    @classmethod
    def open(cls, path: str | Path, *, memory: str = MEMORY) -> NgramStore:
        """The store in that folder; a `ReadError` names the file that is missing or damaged."""
        return cls(Path(path), Manifest.read(Path(path)), memory)

    @classmethod
    def count(
        cls,
        sources: Iterable[str | Path | Corpus],
        path: str | Path,
        *,
        orders: int = 5,
        min_count: int = 1,
        tags: Iterable[str | Path | Corpus] = (),
        format: str | None = None,
        columns: tuple[str, ...] | None = None,
        charset: str | None = None,
        max_bytes: int | None = None,
        overwrite: bool = False,
        tokenised: bool = False,
        memory: str = MEMORY,
        scratch: str | Path | None = None,
        watch: CountCallback = ignore_progress,
    ) -> NgramStore:
        """Count the n-grams of texts and corpora, of the orders 1 to ``orders``.

        Files are read in blocks, and counts go to disk after each, so that the text may be larger
        than memory; formats that cannot be cut are read whole. Rarer n-grams than ``min_count`` are
        left out. Parts of speech are counted, too, where a corpus has a column of them; ``tags``
        are corpora for this alone. ``tokenised`` texts have a sentence a line, with spaces between
        the words. ``max_bytes`` limits what must be held at once, by default 2 GiB; ``charset`` is
        that of all files, as for `skipchain.read`. Counts lie in the folder ``scratch`` until they
        are summed, by default beside the store.
        """
        how = TextSource("", format, columns, charset, max_bytes)
        check_orders(orders, min_count)
        with new_store(path, overwrite, memory, scratch) as (counter, finish):
            counter.orders = orders
            origin = []
            for source in sources:
                origin.append(named(source))
                for corpus in source_corpora(source, replace(how, tokenised=tokenised)):
                    counter.add(corpus)
                    watch(origin[-1], corpus.n_tokens)
            for source in tags:
                count_tags(counter, source, how)
            finish(min_count, origin)
        return cls.open(path, memory=memory)

    @classmethod
    def load(
        cls,
        files: Sequence[str | Path],
        path: str | Path,
        *,
        min_count: int = 1,
        charset: str | None = None,
        overwrite: bool = False,
        memory: str = MEMORY,
        scratch: str | Path | None = None,
        watch: CountCallback = ignore_progress,
    ) -> NgramStore:
        """A store of counts that were published, by files; see `read_counts` for their form."""
        check_integer("min_count", min_count)
        with new_store(path, overwrite, memory, scratch) as (counter, finish):
            for file in files:
                add_counts(counter, file, charset)
                watch(named(file), 1)
            finish(min_count, [named(file) for file in files])
        return cls.open(path, memory=memory)

    @property
    def orders(self) -> tuple[int, ...]:
        """The orders that the store has."""
        return tuple(sorted(self.manifest.orders))

    def query(self, pattern: str | Pattern, limit: int | None = None) -> list[Filler]:
        """The words that fill the slots of a pattern, commonest first; see `Pattern`."""
        with self.session() as session:
            return session.query(pattern, limit)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """The store opened once for many queries."""
        with scratch_folder() as spill, connection(self.memory, spill) as database:
            source = self.path / self.manifest.tags.file if self.manifest.tags else None
            if source is not None:
                with naming_database_errors(source):
                    database.execute(
                        "CREATE TEMP TABLE tags AS SELECT word, tag, count, "
                        "count / sum(count) OVER (PARTITION BY word) AS share "
                        f"FROM {sql_literal(str(source))}"
                    )
            yield Session(self, database)


@dataclass(frozen=True, slots=True)
class Session:
    """A store that is open for queries, with its connection."""

    store: NgramStore
    database: DuckDBPyConnection

    def query(
        self, pattern: str | Pattern, limit: int | None = None, *, any_tag: bool = False
    ) -> list[Filler]:
        """The words that fill the slots of a pattern, commonest first.

        With ``any_tag``, a part of speech that no word of the store has is a class without words;
        else it is an error, since it may be a slip.
        """
        parsed = Pattern.parse(pattern) if isinstance(pattern, str) else pattern
        self.check(parsed, any_tag=any_tag)
        sql = parsed.select(self.source(len(parsed)))
        if limit is not None:
            check_integer("limit", limit)
            sql += f" LIMIT {limit}"
        return [Filler(tuple(row[:-1]), row[-1]) for row in self.rows(sql, len(parsed))]

    def source(self, order: int) -> str:
        """The n-grams of an order, as SQL names them."""
        return sql_literal(str(self.store.path / self.store.manifest.orders[order].file))

    def rows(self, sql: str, order: int) -> list[tuple[Any, ...]]:
        """The rows of any query; ``order`` says which file an error names."""
        with naming_database_errors(self.store.path / self.store.manifest.orders[order].file):
            return self.database.execute(sql).fetchall()

    def check(self, pattern: Pattern, *, any_tag: bool = False) -> None:
        """Refuse a pattern that the store cannot answer."""
        orders = self.store.orders
        if len(pattern) not in orders:
            size = f"the pattern {pattern.text!r} has {plural(len(pattern), 'word')}"
            there = f"{self.store.path} has n-grams of {', '.join(map(str, orders))}"
            raise PatternError(f"{size}, but {there}")
        if not pattern.tags:
            return
        if self.store.manifest.tags is None:
            raise PatternError(
                f"the pattern {pattern.text!r} asks for parts of speech, but {self.store.path} "
                "knows none; count it with --tags CORPUS, or is the class <Cap>, <UPPER>, <lower>, "
                "<num> or <punct> meant?"
            )
        if any_tag:
            return
        rows = self.database.execute("SELECT DISTINCT tag FROM tags").fetchall()
        known = [tag for (tag,) in rows]
        for name in pattern.tags:
            prefix = name.removesuffix("*")
            if not any(tag == name or (prefix != name and tag.startswith(prefix)) for tag in known):
                there = ", ".join([*SHAPES, *sorted(known)])
                fault = f"there is no class <{name}> in {self.store.path}"
                raise PatternError(f"{fault}; there are {there}")


def common_words(store: NgramStore) -> frozenset[str]:
    """Words that are written with a small letter at least as often as with a capital one.

    Those that are never written with a capital are left out.

    >>> from tempfile import TemporaryDirectory
    >>> text = Corpus.of([["The", "cat", "saw", "the", "cat"], ["Ada", "saw"]])
    >>> with TemporaryDirectory() as folder:
    ...     sorted(common_words(NgramStore.count([text], folder + "/store", orders=1)))
    ['the']
    """
    with store.session() as session:
        if 1 not in store.orders:
            raise PatternError(f"{store.path} has no 1-grams, which tell how words are written")
        return frozenset(word.lower() for (word,) in session.rows(capitals(session), 1))


def capitals(session: Session) -> str:
    """The query for capitalised words that are commoner without their capital."""
    return (
        f"SELECT a.w1 FROM {session.source(1)} a JOIN {session.source(1)} b "
        "ON b.w1 = lower(a.w1) AND a.w1 <> b.w1 WHERE b.count >= a.count"
    )


Finish = Callable[[int, list[str]], None]


@contextmanager
def new_store(
    path: str | Path, overwrite: bool, memory: str, scratch: str | Path | None = None
) -> Iterator[tuple[NgramCounter, Finish]]:
    """A counter, and what to call when all is counted; the store is renamed to ``path`` last."""
    duckdb = import_duckdb()
    try:
        with (
            replaced_folder(path, overwrite) as folder,
            counting_space(memory, scratch, folder) as counter,
        ):

            def finish(min_count: int, origin: list[str]) -> None:
                files = {}
                for order in sorted(counter.total):
                    file = counter.merge(order, folder / order_file(order), min_count)
                    if file is not None:
                        files[order] = file
                if not files:
                    raise SkipchainError(f"nothing to count: there is no word in {origin or 'it'}")
                tags = counter.merge("tags", folder / TAGS_FILE)
                Manifest(files, min_count, tuple(origin), tags).write(folder)

            yield counter, finish
    except (OSError, duckdb.Error) as error:
        name = getattr(error, "filename", None)
        if name is not None and not str(name).startswith(os.path.realpath(path)):
            raise  # of a text that was to be read
        detail = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise SkipchainError(f"cannot write {path}: {detail}; nothing was written") from None


def check_orders(orders: int, min_count: int) -> None:
    """Refuse settings of counting that make no sense."""
    check_integer("orders", orders)
    check_integer("min_count", min_count)
    if orders > LONGEST:
        raise ParameterError(f"orders must be from 1 to {LONGEST}, got {orders}")


def count_tags(counter: NgramCounter, source: str | Path | Corpus, how: TextSource) -> None:
    """Count the parts of speech in a text, which must have them."""
    corpora = source_corpora(source, how)
    tagged = [counter.add_tags(corpus, labels=True) for corpus in corpora]
    if not any(tagged):
        fault = "no column of parts of speech (pos, xpos or upos) in it"
        raise ReadError(f"{fault}; name the columns with --columns", path=named(source))


def source_corpora(source: str | Path | Corpus, how: TextSource) -> Iterator[Corpus]:
    """The corpora of a file that is read as another is, or the corpus itself."""
    return iter([source]) if isinstance(source, Corpus) else replace(how, path=source).corpora()


def named(source: str | Path | Corpus) -> str:
    """The name of a file or corpus in a manifest and in errors."""
    return repr(source) if isinstance(source, Corpus) else str(source)


@contextmanager
def naming_database_errors(path: Path) -> Iterator[None]:
    """Errors of the database as errors that name the file."""
    duckdb = import_duckdb()
    try:
        yield
    except duckdb.Error as error:
        fault = f"cannot be read ({str(error).splitlines()[0]}); count the store again"
        raise ReadError(fault, path=path) from None
