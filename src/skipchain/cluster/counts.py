"""Counts of more text than one machine reads, on a cluster: n-grams, and pairs for Brown clusters.

Every file, or part of a large one, is counted by one worker in memory that does not grow, and the
counts are cut into as many parts as there are workers, by the first word of what was counted. Then
each worker sums one of the parts, those of the first file first, and leaves out what is too rare;
the parts, one behind the other, are in order. Sums of whole numbers are exact, so that all is as if
one machine had counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from skipchain.cluster.connection import AUTO, Cluster, ClusterError
from skipchain.errors import ParameterError, SkipchainError
from skipchain.io.files import STDIO
from skipchain.resources.bigrams import Bigrams
from skipchain.resources.ngrams.counting import Kind, NgramCounter
from skipchain.resources.ngrams.duck import MEMORY
from skipchain.resources.ngrams.pattern import START
from skipchain.resources.ngrams.scratch import counting_space
from skipchain.resources.ngrams.store import (
    CountCallback,
    NgramStore,
    check_orders,
    count_tags,
    ignore_progress,
    new_store,
)
from skipchain.resources.texts import TextSource, in_parts

Files = dict[Kind, list[bytes]]
"""Parquet files of counts by kind."""


@dataclass(frozen=True, slots=True)
class CountTask:
    """What workers count: n-grams up to ``orders``, or (None) words and pairs of neighbours.

    N-grams, or words, that are rarer than ``min_count`` are left out of the sums.
    """

    orders: int | None
    min_count: int = 1
    memory: str = MEMORY
    scratch: str | None = None

    def borders(self, source: TextSource, parts: int) -> list[str]:
        """The words with which parts of about the same size begin, the first apart.

        They are those that cut the first block of a text.
        """
        corpus = next(source.corpora())
        times = np.bincount(corpus.words.codes, minlength=len(corpus.words.values)).tolist()
        counts = dict(zip(corpus.words.values, times, strict=True))
        if self.orders is not None:
            counts[START] = counts.get(START, 0) + len(corpus)
        words = sorted(counts)
        sums = np.cumsum([counts[word] for word in words])
        places = np.searchsorted(sums, sums[-1] * np.arange(1, parts) / parts)
        return sorted({words[place] for place in places.tolist()})

    def count(self, source: TextSource, borders: Sequence[str]) -> Iterator[Files | dict[int, int]]:
        """The counts of a text in parts, and at last how many n-grams of each order it has."""
        with counting_space(self.memory, self.scratch, threads=1) as counter:
            if self.orders is None:
                Bigrams.count_into(counter, source.corpora())
            else:
                counter.orders = self.orders
                for corpus in source.corpora():
                    counter.add(corpus)
            yield from counter.split(borders)
            yield counter.total

    def sum(self, parts: Iterable[Files]) -> Files:
        """The sums of the counts of one part, from all texts, in order."""
        with counting_space(self.memory, self.scratch, threads=1) as counter:
            for files in parts:
                take_over(counter, files)
            return {kind: [self._summed(counter, kind)] for kind in counter.kinds()}

    def _summed(self, counter: NgramCounter, kind: Kind) -> bytes:
        kept = kind == "tags" or (self.orders is None and kind != 1)  # whatever their counts
        target = counter.folder / "sums.parquet"
        counter.merge(kind, target, 1 if kept else self.min_count)
        return target.read_bytes()


def take_over(counter: NgramCounter, files: Files) -> None:
    """Add files of counts to those of a counter."""
    for kind, contents in files.items():
        for content in contents:
            counter.add_file(kind, content)


def count_ngrams(
    files: Sequence[str | Path],
    path: str | Path,
    *,
    cluster: str = AUTO,
    workers: int = 2,
    orders: int = 5,
    min_count: int = 1,
    tags: Iterable[str | Path] = (),
    format: str | None = None,
    columns: tuple[str, ...] | None = None,
    charset: str | None = None,
    max_bytes: int | None = None,
    tokenised: bool = False,
    overwrite: bool = False,
    memory: str = MEMORY,
    scratch: str | Path | None = None,
    watch: CountCallback = ignore_progress,
) -> NgramStore:
    """The store that `NgramStore.count` makes of files, counted by the workers of a cluster.

    The workers read the files from where they are, so all machines must see them. ``memory`` is
    that of the database of each; ``scratch`` must be a folder on each.
    """
    check_orders(orders, min_count)
    _check_files(files)
    how = TextSource("", format, columns, charset, max_bytes)
    text = replace(how, tokenised=tokenised)
    task = CountTask(orders, min_count, memory, None if scratch is None else str(scratch))
    with new_store(path, overwrite, memory, scratch) as (counter, finish):
        with Cluster(cluster, workers=workers) as connected:
            counter.total = _count(connected, task, files, text, counter, watch)
        for source in tags:
            count_tags(counter, source, how)
        finish(min_count, list(map(str, files)))
    return NgramStore.open(path, memory=memory)


def count_bigrams(
    files: Sequence[str | Path],
    min_count: int = 1,
    *,
    cluster: str = AUTO,
    workers: int = 2,
    format: str | None = None,
    columns: tuple[str, ...] | None = None,
    charset: str | None = None,
    max_bytes: int | None = None,
    tokenised: bool = False,
    memory: str = MEMORY,
    scratch: str | Path | None = None,
    watch: CountCallback = ignore_progress,
) -> Bigrams:
    """What `Bigrams.count` counts in files, counted by the workers of a cluster.

    See `count_ngrams` for what they need.
    """
    _check_files(files)
    how = TextSource("", format, columns, charset, max_bytes, tokenised, labels=False)
    task = CountTask(None, min_count, memory, None if scratch is None else str(scratch))
    with counting_space(memory, scratch) as counter:
        with Cluster(cluster, workers=workers) as connected:
            counter.total = _count(connected, task, files, how, counter, watch)
        return Bigrams.summed(counter, min_count)


def _check_files(files: Sequence[str | Path]) -> None:
    if any(str(file) == STDIO for file in files):
        raise ParameterError("the workers of a cluster cannot read stdin; name files")


def _count(
    cluster: Cluster,
    task: CountTask,
    files: Sequence[str | Path],
    how: TextSource,
    counter: NgramCounter,
    watch: CountCallback,
) -> dict[int, int]:
    """Have all files counted, and the sums in the counter; how many there are of each order."""
    ray, workers = cluster.ray, cluster.workers
    names: dict[str | Path, str] = {os.path.abspath(file): str(file) for file in files}

    shares = in_parts([replace(how, path=os.path.abspath(file)) for file in files], workers)
    total: dict[int, int] = {}
    if not shares:
        return total

    def begin(source: TextSource) -> list[str]:
        return task.borders(source, workers)

    ((_, _, borders),) = _in_turn(cluster, begin, shares[:1], 1)

    def count(source: TextSource) -> Iterator[Files | dict[int, int]]:
        return task.count(source, borders)

    def add_up(parts: list[Any]) -> Iterator[Files | bool]:
        yield task.sum(map(ray.get, parts))
        yield True

    counted: dict[int, list[Any]] = {}
    for number, refs, sizes in _in_turn(cluster, count, shares, len(borders) + 2):
        counted[number] = refs[:-1]
        for order, size in sizes.items():
            total[order] = total.get(order, 0) + size
        watch(names[shares[number].path], sizes.get(1, 0))
    columns = zip(*(counted[number] for number in sorted(counted)), strict=True)
    sums = {number: refs[0] for number, refs, _ in _in_turn(cluster, add_up, [*columns], 2)}
    for number in sorted(sums):
        take_over(counter, _get(ray, sums[number]))
    counter.summed = True
    return total


def _in_turn(
    cluster: Cluster, function: Callable[[Any], Any], items: Sequence[Any], returns: int
) -> Iterator[tuple[int, list[Any], Any]]:
    """As it is done, the number of each item, references to what the function gives, and the last.

    No more run at a time than there are workers. What a worker that died had begun is begun again.
    """
    ray = cluster.ray
    remote = ray.remote(num_cpus=cluster.threads, max_retries=3, num_returns=returns)(function)
    waiting = list(enumerate(items))[::-1]
    running: dict[Any, tuple[int, list[Any]]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < cluster.workers:
                number, item = waiting.pop()
                refs = remote.remote(item)
                refs = refs if isinstance(refs, list) else [refs]
                running[refs[-1]] = number, refs
            done, _ = ray.wait(list(running), num_returns=1)
            number, refs = running.pop(done[0])
            yield number, refs, _get(ray, refs[-1])
    finally:
        for ref in running:
            ray.cancel(ref, force=True)


def _get(ray: Any, ref: Any) -> Any:
    """What a worker has done, or the error that says why it could not."""
    try:
        return ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, SkipchainError):
            raise error.cause from None
        told = str(error.cause).strip() or type(error.cause).__name__
    except ray.exceptions.RayError as error:
        told = str(error).strip() or type(error).__name__
    raise ClusterError(f"a worker of the cluster failed: {told.splitlines()[0]}")
