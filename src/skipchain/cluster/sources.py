"""What a worker reads: its share of files, in whole documents, or a corpus that was sent to it."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heapreplace
from pathlib import Path
from typing import Any

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus import Corpus
from skipchain.corpus.schemes import NO_SCHEME
from skipchain.errors import CorpusError, ParameterError, ReadError
from skipchain.io.files import STDIO
from skipchain.io.formats import read
from skipchain.io.scanning.scan import TABLES, scan
from skipchain.io.schemes import resolve_scheme

URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
RUN = 64  # sentences of a file without documents that stay together
EVEN = 1.1  # the largest share beside the mean one with which whole files are dealt


@dataclass(frozen=True)
class Files:
    """Labelled files that the workers of a cluster read themselves, by paths or URIs.

    A path is the same file on every machine; a URI (``s3://…``, ``gs://…``, ``hdfs://…``) is what
    `fsspec <https://filesystem-spec.readthedocs.io>`_ knows. ``options`` are those of
    `skipchain.read`, such as ``columns`` and ``scheme``. Columns that are ``left_out`` of the
    features must be there.

    >>> Files.of(["s3://news/a.conll"], columns=["word", "label"]).paths
    ('s3://news/a.conll',)
    """

    paths: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, paths: str | Path | Sequence[str | Path], **options: Any) -> Files:
        """The files of these paths, which may be relative to the folder of this program."""
        listed = [paths] if isinstance(paths, (str, Path)) else list(paths)
        if not listed:
            raise ParameterError("there is no file to read; name one or more")
        if STDIO in map(str, listed):
            raise ParameterError("workers of a cluster cannot read stdin; name a file, or a URI")
        absolute = (str(p) if URI.match(str(p)) else os.path.abspath(p) for p in listed)
        return cls(tuple(absolute), options)


@dataclass(frozen=True)
class Share:
    """The part of files that is one worker's, the ``number``-th of ``of`` from 0 on.

    ``own`` are the numbers of files that are its alone; None where documents of all are dealt.
    """

    files: Files
    number: int
    of: int
    own: tuple[int, ...] | None = None

    @property
    def told(self) -> str:
        """How errors name it."""
        paths = self.files.paths if self.own is None else [self.files.paths[k] for k in self.own]
        more = f" and {len(paths) - 1} more files" if len(paths) > 1 else ""
        return f"{paths[0]}{more}" if paths else "no file"

    def read(self) -> Corpus:
        """The corpus of the share; one of no token where there is nothing for it."""
        parts: list[Corpus] = []
        deal = Dealer(self.of)
        for k, path in enumerate(self.files.paths):
            if self.own is not None and k not in self.own:
                continue
            for corpus in _blocks(path, self.files.options):
                if self.own is None:
                    corpus = deal.share(corpus, self.number)  # noqa: PLW2901
                if corpus is not None:
                    parts.append(_checked(corpus, parts, path))
        if not parts:
            return Corpus.of([])
        return _resolved(Corpus.concatenate(parts), self.told, self.files.options)


class Dealer:
    """Deals whole documents to shares, each to the smallest one, the first of these.

    >>> corpus = Corpus.of([["a", "b"], ["c"], ["d"], ["e"]], documents=[1, 1, 2])
    >>> [Dealer(2).share(corpus, number).words.tolist() for number in (0, 1)]
    [['a', 'b'], ['c', 'd', 'e']]
    """

    def __init__(self, shares: int) -> None:
        self._sizes = [(0, number) for number in range(shares)]

    def share(self, corpus: Corpus, number: int) -> Corpus | None:
        """What of a corpus is dealt to a share; None where it is nothing."""
        units = _units(corpus)
        sizes = np.diff(corpus.sentences[units]).tolist()
        mine = [k for k, size in enumerate(sizes) if self._next(size) == number]
        if not mine:
            return None
        if len(mine) == len(sizes):
            return corpus
        return corpus.take(np.concatenate([np.arange(units[k], units[k + 1]) for k in mine]))

    def _next(self, size: int) -> int:
        least, number = self._sizes[0]
        heapreplace(self._sizes, (least + size, number))
        return number


def deal_files(files: Files, sizes: Sequence[int], shares: int) -> list[Share]:
    """The shares of files of so many bytes: of whole files where that is fair, else of documents.

    >>> [share.own for share in deal_files(Files.of(["a", "b", "c"]), [4, 2, 2], 2)]
    [(0,), (1, 2)]
    >>> [share.own for share in deal_files(Files.of("a"), [4], 2)]
    [None, None]
    """
    held: list[list[int]] = [[] for _ in range(shares)]
    total = [0] * shares
    for k in sorted(range(len(sizes)), key=lambda k: (-sizes[k], k)):
        smallest = min(range(shares), key=total.__getitem__)
        held[smallest].append(k)
        total[smallest] += sizes[k]
    fair = all(held) and max(total) * shares <= EVEN * sum(total)
    owned = [tuple(sorted(own)) if fair else None for own in held]
    return [Share(files, number, shares, own) for number, own in enumerate(owned)]


def sizes_of(files: Files) -> list[int]:
    """How many bytes each file has; one that is not there is refused."""
    return [_size(path) for path in files.paths]


def _size(path: str) -> int:
    if not URI.match(path):
        from skipchain.io.files import describe_os_error

        try:
            return os.stat(path).st_size
        except (OSError, ValueError) as error:
            raise describe_os_error(path, error) from None
    with _told(path):
        system, inner = _file_system(path)
        return int(system.info(inner).get("size") or 0)


def _blocks(path: str, options: Mapping[str, Any]) -> Iterator[Corpus]:
    """The corpora of a file in whole documents, their labels as they stand in it where it can be.

    What scheme they have is seen when all of a share is there.
    """
    from skipchain.io.formats import format_of_path

    how = {**options}
    form = how.pop("format", None)
    with _local(path) as local:
        try:
            if (form or format_of_path(local)) in TABLES:
                how.pop("repair", None)
                yield from scan(local, form, **{**how, "scheme": NO_SCHEME})
            else:
                yield read(local, form, **how)
        except ReadError as error:
            if local == path:
                raise
            raise ReadError(str(error).replace(local, path)) from None


def _resolved(corpus: Corpus, told: str, options: Mapping[str, Any]) -> Corpus:
    """The corpus with the scheme that its labels show, or that is named."""
    if corpus.scheme is not None or not corpus.labelled:
        return corpus
    return resolve_scheme(corpus, options.get("scheme"), told, repair=options.get("repair"))


def _checked(corpus: Corpus, before: Sequence[Corpus], path: str) -> Corpus:
    """The corpus; one without labels, or with other columns than those before it, is refused."""
    if not corpus.labelled:
        raise ReadError(
            f"there are no labels (its columns are {', '.join(corpus.columns)}); name the label "
            "column with columns= (on the command line, --columns), such as word,label",
            path=path,
        )
    if before and set(corpus.columns) != set(before[0].columns):
        found, first = (", ".join(own.columns) for own in (corpus, before[0]))
        raise ReadError(f"it has the columns {found}, and a file before it {first}", path=path)
    return corpus


def _units(corpus: Corpus) -> Ints:
    """Where the documents of a corpus begin, or runs of sentences where none are marked."""
    if corpus.n_documents > 1 or corpus.names is not None:
        return corpus.documents
    return np.append(np.arange(0, len(corpus), RUN), len(corpus))


@contextmanager
def _local(path: str) -> Iterator[str]:
    """A path at which a file can be read: that of a copy, where it is one of another system."""
    if not URI.match(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="skipchain-") as folder:
        with _told(path):
            system, inner = _file_system(path)
            copy = os.path.join(folder, inner.rstrip("/").rpartition("/")[2] or "file")
            system.get(inner, copy)
        yield copy


def _file_system(path: str) -> tuple[Any, str]:
    """The file system of a URI, and the path in it."""
    from fsspec.core import url_to_fs

    system, inner = url_to_fs(path)
    return system, str(inner)


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Whatever a file system complains of is an error that names the URI."""
    try:
        yield
    except Exception as error:
        reason = str(error).strip() or type(error).__name__
        if isinstance(error, FileNotFoundError):
            reason = "there is no such file"
        raise ReadError(reason.splitlines()[0], path=path) from None


@contextmanager
def noted() -> Iterator[list[str]]:
    """The warnings of a block as texts, which the program shows that asked for the work."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    texts += dict.fromkeys(str(own.message) for own in caught)


def deal_corpus(corpus: Corpus, shares: int) -> list[Corpus | None]:
    """A corpus in whole documents for each share, as files are dealt."""
    if not corpus.labelled:
        raise CorpusError("the corpus has no labels to learn from")
    return [Dealer(shares).share(corpus, number) for number in range(shares)]
