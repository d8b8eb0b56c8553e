"""The connection to a Ray cluster: one that is running, or one of this machine for a single run."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from types import ModuleType
from typing import Any

from skipchain import __version__
from skipchain.checks import check_integer
from skipchain.errors import ParameterError, SkipchainError
from skipchain.extras import install_command
from skipchain.unfinished import Clearing

AUTO = "auto"
CLIENT = re.compile(r"ray://(\[[0-9a-fA-F:]+\]|[^/:\s]+):(\d{1,5})")
TIME_LIMIT = 15.0  # seconds in which a cluster must answer
PATIENCE = 10.0  # seconds in which one that was started here must end
IMPORTED = {"RAY_DISABLE_IMPORT_WARNING": "1", "RAY_DEDUP_LOGS_SKIP_REGEX": "."}
"""What Ray reads when it is imported: it is to print nothing, least of all between our answers."""
STARTED = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",
}
"""What a Ray that is started here reads: it tells nobody of itself, and its workers wait for no
other process."""
ADVICE = "give ray://HOST:PORT, or auto for a cluster of this machine"


class ClusterError(SkipchainError):
    """A cluster cannot be reached, cannot be used, or went away."""


class Cluster:
    """A Ray cluster for the length of a ``with`` block, and what is to run on it.

    ``address`` is ``auto`` or ``ray://HOST:PORT``. With ``auto`` it is the cluster that this
    process is connected to, else the one that ``RAY_ADDRESS`` names or that runs on this machine;
    where there is none, one is started, and stopped when the block ends. A cluster that was there
    before is never stopped. ``workers`` processes of so many ``threads`` each are to run on it.

    >>> Cluster("auto", workers=4)
    Cluster('auto', workers=4, threads=1)
    """

    def __init__(
        self,
        address: str = AUTO,
        *,
        workers: int = 2,
        threads: int = 1,
        time_limit: float = TIME_LIMIT,
    ) -> None:
        check_integer("workers", workers)
        check_integer("threads", threads)
        self.address = check_address(address)
        self.workers = workers
        self.threads = threads
        self.time_limit = time_limit
        self._clearing: Clearing | None = None

    def __repr__(self) -> str:
        return f"Cluster({self.address!r}, workers={self.workers}, threads={self.threads})"

    def __enter__(self) -> Cluster:
        self.ray = import_ray()
        try:
            if not self.ray.is_initialized():
                # what Ray starts would outlive a signal
                self._clearing = Clearing(self._leave).__enter__()
                self._connect()
            elif self.address != AUTO:
                raise ClusterError(
                    "this process is connected to a cluster already, so not to "
                    f"{self.address}; give auto, or end that connection (ray.shutdown())"
                )
            self.check_room()
            self._check_versions()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        # ends what was started here, and only leaves what was not
        clearing, self._clearing = self._clearing, None
        if clearing is not None:
            clearing.__exit__()

    def _leave(self) -> None:
        """End the connection; out of a handler of signals this must not take long."""
        if not self.ray.is_initialized():
            return
        shutting = Thread(target=self.ray.shutdown, daemon=True)
        shutting.start()
        shutting.join(PATIENCE)

    def start(self, kind: type, *arguments: Any, restarts: int = 0) -> Any:
        """An actor of a class, with the threads of one worker.

        Arguments may be references to objects of the cluster.
        """
        actor = self.ray.remote(kind)
        options = {"num_cpus": self.threads, "max_restarts": restarts}
        return actor.options(**options).remote(*arguments)

    def _connect(self) -> None:
        named = os.environ.get("RAY_ADDRESS", "")
        address = named if self.address == AUTO and named not in ("", AUTO) else self.address
        if address != AUTO:
            _reach(address, self.time_limit)
        how: dict[str, Any] = {"log_to_driver": False, "logging_level": "CRITICAL"}
        with _same_handlers():
            try:
                self._begin(address, how)
            except ConnectionError as error:
                if address != AUTO:
                    raise unreachable(address, str(error)) from None
                self._start_local(how)

    def _begin(self, address: str, how: dict[str, Any]) -> None:
        try:
            self.ray.init(address=address, **how)
        except ImportError as error:  # addresses of clients need more than Ray itself
            raise ClusterError(
                f"{address} needs Ray's client, and {error.name or error} is not installed; "
                f"{install_command('ray')}"
            ) from None
        except (RuntimeError, ValueError, TimeoutError) as error:
            raise unreachable(address, str(error)) from None

    def _start_local(self, how: dict[str, Any]) -> None:
        start_local(self.ray, self.workers * self.threads, **how)

    def check_room(self) -> None:
        """Refuse what would wait for processors that the cluster has not."""
        wanted, there = self.workers * self.threads, self.ray.cluster_resources().get("CPU", 0)
        if wanted > there:
            raise ClusterError(
                f"{self.workers} workers of {self.threads} threads need {wanted} processors, and "
                f"the cluster has {there:g}; use fewer (--workers, --threads), or a larger cluster"
            )

    def _check_versions(self) -> None:
        """Refuse workers that have another skipchain, or none."""

        # what is not at the top of a module goes over as it is, also where the package is missing
        def found() -> str | None:
            try:
                from skipchain import __version__ as there
            except ImportError:
                return None
            return there

        answer = self.ray.remote(num_cpus=0)(found).remote()
        try:
            there = self.ray.get(answer, timeout=4 * self.time_limit)
        except self.ray.exceptions.GetTimeoutError:
            limit = 4 * self.time_limit
            raise ClusterError(
                f"the cluster runs nothing: it gave no answer within {limit:g} s; is it busy?"
            ) from None
        if there != __version__:
            has = "no skipchain" if there is None else f"skipchain {there}"
            raise ClusterError(
                f"the workers of the cluster have {has}, and this program is {__version__}; "
                "install the same version on all its machines"
            )


def start_local(ray: Any, processors: int, **how: Any) -> None:
    """Start a Ray of this machine, which ends with this process if not before."""
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "CRITICAL"}
    with _environment(STARTED):
        ray.init(address="local", num_cpus=processors, **{**quiet, **how})


def check_address(address: object) -> str:
    """The address, ``auto`` or ``ray://HOST:PORT``; others are refused.

    >>> check_address("ray://head.example:10001")
    'ray://head.example:10001'
    """
    if isinstance(address, str) and (address == AUTO or CLIENT.fullmatch(address)):
        return address
    raise ParameterError(f"{address!r} is no address of a cluster; {ADVICE}")


def unreachable(address: str, reason: str) -> ClusterError:
    """The error for a cluster that does not answer."""
    first = reason.strip().splitlines()[0].rstrip(".") if reason.strip() else "no answer"
    return ClusterError(f"cannot reach the cluster at {address}: {first}; {ADVICE}")


def first_line(error: Exception) -> str:
    """What an error of Ray says, without its report.

    >>> first_line(ConnectionError("The server is gone.\\nand more lines"))
    'The server is gone'
    """
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")


def import_ray() -> ModuleType:
    """Ray, or an error that says how to have it."""
    try:
        with _environment(IMPORTED):
            import ray
    except ImportError:
        raise ClusterError(
            f"a cluster needs Ray, which is not installed; {install_command('ray')}"
        ) from None
    if not hasattr(ray, "init"):  # a folder of that name, say
        place = getattr(sys.modules["ray"], "__path__", "")
        raise ClusterError(f"the module ray at {place} is not Ray; {install_command('ray')}")
    module: ModuleType = ray
    return module


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for a block, as far as they are not set already."""
    own = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(own)
    try:
        yield
    finally:
        for name in own:
            del os.environ[name]


@contextmanager
def _same_handlers() -> Iterator[None]:
    """Handle signals after a block as before: Ray takes those that end a process for its own."""
    numbers = [signal.SIGINT, signal.SIGTERM] if current_thread() is main_thread() else []
    handlers = [signal.getsignal(number) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, handlers, strict=True):
            signal.signal(number, handler)


def _reach(address: str, time_limit: float) -> None:
    """Refuse an address at which nobody listens, which Ray itself would wait long for."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), time_limit).close()
    except (OSError, ValueError, OverflowError) as error:
        raise unreachable(address, getattr(error, "strerror", None) or str(error)) from None
