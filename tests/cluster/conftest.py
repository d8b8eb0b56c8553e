"""The Ray that tests of a cluster share."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def local_ray():
    """A Ray of three processors in this process, whatever else runs on the machine.

    Two are for workers, and Ray Data needs one to read with.
    """
    ray = pytest.importorskip("ray")
    how = {"include_dashboard": False, "log_to_driver": False, "logging_level": "CRITICAL"}
    ray.init(address="local", num_cpus=3, **how)
    yield ray
    ray.shutdown()
