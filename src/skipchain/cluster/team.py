"""The workers of a training: asked all at once, and replaced where one is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from skipchain.cluster.connection import Cluster, ClusterError, first_line
from skipchain.cluster.shard import Shard, add_up
from skipchain.errors import SkipchainError

Result = TypeVar("Result")

FAN_IN = 8  # results that one process adds up
MORE_MEMORY = "use more workers (--workers), or larger machines"
MAX_LOSSES = 3  # times that workers are lost in one step before it is given up


class Lost(Exception):
    """A worker did not answer, or what it had is gone."""


class Team:
    """As many workers as a cluster is to have, each with a shard.

    ``prepare`` brings workers, of which some are new, to where they can take part; it is called
    before the first step, and again where a worker was replaced.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._ray = cluster.ray
        self.members = [self._start(number) for number in range(cluster.workers)]
        self.replaced = 0
        self._reason = ""

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(self._ray.exceptions.RayError, ConnectionError):  # it may be gone
            for member in self.members:
                self._ray.kill(member)

    def __len__(self) -> int:
        return len(self.members)

    def put(self, value: Any) -> Any:
        """A reference to a value, which is sent to each machine once."""
        return self._ray.put(value)

    def ask(self, method: str, *arguments: Any, parts: int = 1) -> list[Any]:
        """References to what a method of each worker gives, or to its parts."""
        return [
            getattr(member, method).options(num_returns=parts).remote(*arguments)
            for member in self.members
        ]

    def ask_each(
        self, method: str, arguments: Sequence[Sequence[Any]], parts: int = 1
    ) -> list[Any]:
        """As `ask`, each worker with arguments of its own."""
        return [
            getattr(member, method).options(num_returns=parts).remote(*own)
            for member, own in zip(self.members, arguments, strict=True)
        ]

    def answers(self, references: Sequence[Any]) -> list[Any]:
        """What references stand for, in their order; `Lost` where a worker is."""
        errors = self._ray.exceptions
        try:
            found: list[Any] = self._ray.get(list(references))
        except errors.RayTaskError as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, SkipchainError):
                raise cause from None
            if isinstance(cause, MemoryError):
                raise ClusterError(f"a worker ran out of memory; {MORE_MEMORY}") from None
            if isinstance(cause, errors.RayError):  # what it was to be given was lost
                self._reason = first_line(cause)
                raise Lost from None
            raise
        except (errors.RayActorError, errors.ObjectLostError, errors.WorkerCrashedError) as error:
            self._reason = first_line(error)
            raise Lost from None
        except (errors.RayError, ConnectionError) as error:
            raise ClusterError(f"the cluster has gone away: {first_line(error)}") from None
        return found

    def exchange(self, offers: Sequence[Any], method: str) -> tuple[list[Any], list[list[Any]]]:
        """Every worker is given the part of each offer that is for it, and answers each.

        ``offers`` are the references of each worker's parts. The results of a worker are one for
        the program and one for each worker: references to the former, and those to the answers that
        each worker gets.
        """
        count = len(self)
        parts = [own if isinstance(own, list) else [own] for own in offers]
        columns = [[own[k] for own in parts] for k in range(count)]
        results = self.ask_each(method, columns, parts=count + 1)
        return [own[0] for own in results], [[own[1 + k] for own in results] for k in range(count)]

    def total(self, references: Sequence[Any]) -> tuple[float, Any]:
        """The sum of results, in the order of the workers, by a tree where there are many."""
        parts = list(references)
        while len(parts) > FAN_IN:
            groups = [parts[k : k + FAN_IN] for k in range(0, len(parts), FAN_IN)]
            parts = [
                self.members[k * FAN_IN].add.remote(*group) if len(group) > 1 else group[0]
                for k, group in enumerate(groups)
            ]
        return add_up(self.answers(parts))

    def repeat(self, step: Callable[[], Result], prepare: Callable[[], None]) -> Result:
        """The result of a step, which is taken again where a worker is lost."""
        losses, ready = 0, True
        while True:
            try:
                if not ready:
                    self._replace()
                    prepare()
                    ready = True
                return step()
            except Lost:
                losses, ready = losses + 1, False
                if losses > MAX_LOSSES:
                    raise ClusterError(
                        f"workers were lost {losses} times in one step ({self._reason}); have they "
                        f"too little memory? {MORE_MEMORY}"
                    ) from None

    def _start(self, number: int) -> Any:
        return self._cluster.start(Shard, number, self._cluster.threads)

    def _replace(self) -> None:
        """Start another worker for each that is lost."""
        for number, member in enumerate(self.members):
            try:
                self._ray.get(member.process.remote())
            except self._ray.exceptions.RayActorError as error:
                self._reason = first_line(error)
                self._cluster.check_room()
                self.members[number] = self._start(number)
                self.replaced += 1
