"""Files labelled on a cluster: blocks of whole documents go to workers that have the model."""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from skipchain.cluster.connection import Cluster, ClusterError, first_line
from skipchain.errors import SkipchainError, SkipchainWarning
from skipchain.io.scanning.blocks import TextBlock
from skipchain.modelfile import load_model, save
from skipchain.models.base.model import AnyModel
from skipchain.parallel import Workers
from skipchain.tagged_file import BlockTagger, LabelledBlock
from skipchain.tagger import Tagger

JOB = 1 << 20  # bytes of text that go to a worker at once, if a block is not larger
GIVEN = 2  # jobs that a worker has: one that it does, and one that waits
AHEAD = 4  # jobs for each worker that have been read, of which some are done before their turn
TRIES = 3  # of a job whose worker ends
PATIENCE = 120.0  # seconds in which some worker must come up


class ClusterLabeller:
    """Labels the blocks of files on a cluster, for `Tagger.tag_file`, within a ``with`` block.

    Each worker reads the model once. Blocks come back in order, and what is held does not grow with
    the file: no more is read than ``AHEAD`` jobs for each worker. Where a worker ends another one
    is started, which does again what was lost; the result is the same.

    .. code-block:: python

        with Cluster("auto", workers=2) as cluster, ClusterLabeller(cluster, tagger) as labeller:
            tagger.tag_file("large.conll.gz", "tagged.conll", labeller=labeller)
    """

    def __init__(self, cluster: Cluster, tagger: Tagger) -> None:
        self._cluster = cluster
        self._tagger = tagger
        self._workers: list[_Worker] = []

    def __enter__(self) -> ClusterLabeller:
        self._model = self._cluster.ray.put(model_bytes(self._tagger.model))
        self._workers = [self._start() for _ in range(self._cluster.workers)]
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._workers:
            self._end(worker)
        self._workers = []

    def labelled(self, stream: BlockTagger, blocks: Iterator[TextBlock]) -> Iterator[LabelledBlock]:
        """The blocks with labels, in order.

        Where reading them or labelling one fails, the results of those before come first.
        """
        given = self._cluster.ray.put(sent(stream))
        source, failure, ended = jobs_of(blocks, self._cluster.threads), None, False
        jobs: deque[_Job] = deque()
        try:
            while True:
                while not ended and len(jobs) < AHEAD * len(self._workers):
                    try:
                        jobs.append(_Job(next(source), stream.reader.path))
                    except StopIteration:
                        ended = True
                    except Exception as error:
                        failure, ended = error, True
                self._give(jobs, given)
                if not jobs:
                    break
                answer = jobs[0].answer
                if answer is None:
                    self._wait()
                    continue
                jobs.popleft()
                for category, message in answer.warnings:
                    warnings.warn(message, category, stacklevel=2)
                yield from answer.blocks
                if answer.error is not None:
                    raise answer.error
        finally:
            for worker in self._workers:
                worker.jobs.clear()
        if failure is not None:
            raise failure

    def process_ids(self) -> list[int]:
        """The process of each worker, as its machine numbers it; those that ended are replaced."""
        found: list[int] = []
        while len(found) < len(self._workers):
            worker = self._workers[len(found)]
            try:
                found.append(self._cluster.ray.get(worker.actor.process_id.remote()))
            except self._cluster.ray.exceptions.RayError as error:
                self._replace(worker, error)
        return found

    def _start(self, tries: int = 0) -> _Worker:
        actor = self._cluster.start(BlockWorker, self._cluster.threads)
        return _Worker(actor, actor.load.remote(self._model), tries)

    def _end(self, worker: _Worker) -> None:
        with suppress(Exception):  # it may be gone, and the cluster with it
            self._cluster.ray.kill(worker.actor)

    def _give(self, jobs: deque[_Job], stream: Any) -> None:
        """Give what nobody does to those workers that have the model and least to do."""
        for job in jobs:
            if job.answer is not None or job.given is not None:
                continue
            free = [own for own in self._workers if own.ready and len(own.jobs) < GIVEN]
            if not free:
                return
            worker = min(free, key=lambda own: len(own.jobs))
            job.given = worker.actor.label.remote(stream, job.blocks)
            worker.jobs.append(job)

    def _wait(self) -> None:
        """Wait until something is done, or a worker has come up or has ended."""
        ray = self._cluster.ray
        waiting = {}
        for worker in self._workers:
            if not worker.ready:
                waiting[worker.loading] = worker
            elif worker.jobs:
                waiting[worker.jobs[0].given] = worker  # a worker does them one after the other
        done, _ = ray.wait(list(waiting), num_returns=1, timeout=PATIENCE)
        if not done and not any(worker.ready for worker in self._workers):
            raise ClusterError(
                f"no worker came up within {PATIENCE:g} s; is the cluster busy with other work?"
            )
        for reference in done:
            worker = waiting[reference]
            try:
                answer = ray.get(reference)
            except ray.exceptions.RayError as error:  # the worker, or its machine, ended
                own = isinstance(error, ray.exceptions.RayTaskError)
                if own and not isinstance(getattr(error, "cause", None), ray.exceptions.RayError):
                    raise  # a fault in what it does
                self._replace(worker, error)
                continue
            except ConnectionError as error:
                raise ClusterError(f"the cluster went away: {error}") from None
            if not worker.ready:
                if isinstance(answer, SkipchainError):
                    raise answer
                worker.ready = True
            else:
                job = worker.jobs.popleft()
                job.answer, job.given = answer, None

    def _replace(self, worker: _Worker, reason: Exception) -> None:
        """Start another worker for one that has ended, whose jobs are then to be given anew."""
        self._end(worker)
        tries = 0 if worker.ready else worker.tries + 1
        if tries == TRIES:
            raise ClusterError(f"a worker ended {TRIES} times as it came up: {first_line(reason)}")
        for job in worker.jobs:
            job.given = None
        if worker.jobs:
            worker.jobs[0].count(reason)
        self._workers[self._workers.index(worker)] = self._start(tries)


class BlockWorker:
    """An actor that labels blocks with a model that it reads once."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.tagger: Tagger | None = None

    def load(self, model: bytes) -> SkipchainError | None:
        """Read the model; what is wrong with it is given back."""
        try:
            with TemporaryDirectory() as folder:
                path = Path(folder, "model.skip")
                path.write_bytes(model)
                self.tagger = Tagger(load_model(path), 1)
        except SkipchainError as error:
            return error
        return None

    def process_id(self) -> int:
        """Its process, as the machine numbers it."""
        return os.getpid()

    def label(self, stream: BlockTagger, blocks: Sequence[TextBlock]) -> JobAnswer:
        """The blocks with labels, up to one that fails, and its error."""
        assert self.tagger is not None
        own = received(stream, self.tagger)
        found: list[LabelledBlock] = []
        fault = None
        with warnings.catch_warnings(record=True) as told, Workers(self.threads) as workers:
            warnings.simplefilter("always", SkipchainWarning)
            try:
                for part in workers.stream(own.label, blocks):
                    found.append(replace(part, block=replace(part.block, data=b"")))
            except SkipchainError as error:
                fault = error
        kept = [(own.category, str(own.message)) for own in told]
        return JobAnswer(
            found, fault, [one for one in kept if issubclass(one[0], SkipchainWarning)]
        )


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """What a worker has made of a job: blocks, an error behind them, and warnings."""

    blocks: list[LabelledBlock]
    error: SkipchainError | None
    warnings: list[tuple[type[Warning], str]]


@dataclass(slots=True)
class _Worker:
    """An actor, the answer to whether it has the model, and the jobs that it was given."""

    actor: Any
    loading: Any
    tries: int = 0
    ready: bool = False
    jobs: deque[_Job] = field(default_factory=deque)


@dataclass(slots=True)
class _Job:
    """Blocks of a file, the answer that is expected, and the answer that has come."""

    blocks: list[TextBlock]
    path: str | Path
    given: Any = None
    answer: JobAnswer | None = None
    tries: int = 0

    def count(self, reason: Exception) -> None:
        """Count a try that failed; a job that ends every worker is refused."""
        self.tries += 1
        if self.tries == TRIES:
            raise ClusterError(
                f"{self.path}:{self.blocks[0].first}: the part that begins here ended its worker "
                f"{TRIES} times: {first_line(reason)}; has a worker enough memory?"
            )


def jobs_of(blocks: Iterator[TextBlock], threads: int) -> Iterator[list[TextBlock]]:
    """Blocks that go to a worker together: one for each of its threads, or more if they are small.

    Where reading them fails, those before come first.
    """
    job: list[TextBlock] = []
    size, failure = 0, None
    while True:
        try:
            block = next(blocks)
        except StopIteration:
            break
        except Exception as error:
            failure = error
            break
        job.append(block)
        size += len(block.data)
        if len(job) >= threads and size >= JOB:
            yield job
            job, size = [], 0
    if job:
        yield job
    if failure is not None:
        raise failure


def model_bytes(model: AnyModel) -> bytes:
    """A model as the bytes of its file: no worker need see the driver's disk."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.skip")
        save(model, path)
        return path.read_bytes()


def sent(stream: BlockTagger) -> Any:
    """What labels blocks, without what a worker has or does not need."""
    lines = stream.lines and replace(stream.lines, chain=None, named=None)  # type: ignore[arg-type]
    reader = replace(stream.reader, borders=None)
    names = ("tagger", "alone", "borders", "told", "labeller", "_shown")
    gone: dict[str, Any] = dict.fromkeys(names)
    return replace(stream, reader=reader, lines=lines, **gone)


def received(stream: Any, tagger: Tagger) -> BlockTagger:
    """What labels blocks, with the tagger of a worker."""
    tagger = tagger.by_documents
    lines = stream.lines and tagger.with_lines(stream.lines)
    labelling: BlockTagger = replace(stream, tagger=tagger, alone=tagger, lines=lines)
    return labelling
