"""The Ray that tests of a cluster share."""

from __future__ import annotations

import contextlib
import os
import tempfile

import pytest

LOCK = os.path.join(tempfile.gettempdir(), f"skipchain-tests-ray-{os.getuid()}.lock")


@contextlib.contextmanager
def alone():
    """Of several processes that run tests, one has a Ray at a time."""
    fcntl = pytest.importorskip("fcntl")
    with open(LOCK, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module")
def local_ray():
    """A Ray of three processors in this process, whatever else runs on the machine.

    Two are for workers, and Ray Data needs one to read with.
    """
    ray = pytest.importorskip("ray")
    how = {"include_dashboard": False, "log_to_driver": False, "logging_level": "CRITICAL"}
    with alone():
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(address="local", num_cpus=3, object_store_memory=150_000_000, **how)
        try:
            yield ray
        finally:
            ray.shutdown()


@pytest.fixture
def in_process(monkeypatch):
    """No Ray, but what training uses of it: quick, and errors are those of this process."""
    from skipchain.cluster import connection
    from tests.oracles.in_process_ray import InProcessRay

    found = InProcessRay()
    monkeypatch.setattr(connection, "import_ray", lambda: found)
    return found
