"""Connections to a cluster: what is there is used and left, what is not is started and stopped."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from skipchain.cluster import Cluster, ClusterError, connection
from skipchain.cluster.connection import check_address, import_ray
from skipchain.errors import ParameterError


class FakeRay:
    """What the connection uses of Ray, and what it has done with it."""

    def __init__(self, running=(), processors=4, version=connection.__version__, answers=True):
        self.running, self.processors, self.version = running, processors, version
        self.answers = answers
        self.done, self.connected = [], "here" in running
        self.exceptions = SimpleNamespace(GetTimeoutError=TimeoutError)

    def is_initialized(self):
        return self.connected

    def init(self, address, **how):
        self.done.append(f"init {address}")
        if address == "auto" and "machine" not in self.running:
            raise ConnectionError("none")
        if address.startswith("ray://") and "head" not in self.running:
            raise ConnectionError("Ray Client connection timed out.\nand more lines")
        self.connected = True

    def shutdown(self):
        self.done.append("shutdown")
        self.connected = False

    def cluster_resources(self):
        return {"CPU": self.processors}

    def remote(self, **options):
        return lambda function: SimpleNamespace(remote=lambda: function)

    def get(self, function, timeout):
        if not self.answers:
            raise TimeoutError
        return self.version


@pytest.fixture
def given(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(connection, "_reach", lambda address, limit: None)

    def call(**how):
        ray = FakeRay(**how)
        monkeypatch.setattr(connection, "import_ray", lambda: ray)
        return ray

    return call


@pytest.mark.parametrize(
    ("running", "address", "done"),
    [
        (["here"], "auto", []),
        (["machine"], "auto", ["init auto", "shutdown"]),
        ([], "auto", ["init auto", "init local", "shutdown"]),
        (["head"], "ray://head:1", ["init ray://head:1", "shutdown"]),
    ],
)
def test_what_is_there_is_used_and_what_is_not_is_started(given, running, address, done):
    ray = given(running=running)
    with Cluster(address):
        pass
    assert ray.done == done


def test_a_process_has_one_connection(given):
    ray = given(running=["here", "head"])
    with pytest.raises(ClusterError, match="is connected to a cluster already, so not to ray://h"):
        Cluster("ray://head:1").__enter__()
    assert ray.done == []


def test_a_named_cluster_is_never_replaced_by_one_of_our_own(given, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "ray://head:1")
    ray = given()
    told = r"cannot reach the cluster at ray://head:1: Ray Client connection timed out; give"
    with pytest.raises(ClusterError, match=told), Cluster("auto"):
        pass
    assert ray.done == ["init ray://head:1"]


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"processors": 1}, "2 workers of 1 threads need 2 processors, and the cluster has 1"),
        ({"version": "0.0.1"}, "have skipchain 0.0.1, and this program is"),
        ({"version": None}, "have no skipchain, and this program is"),
        ({"answers": False}, "it gave no answer within 60 s"),
    ],
)
def test_a_cluster_that_will_not_do_is_left_as_it_was(given, how, told):
    ray = given(running=["machine"], **how)
    with pytest.raises(ClusterError, match=told), Cluster("auto"):
        pass
    assert ray.done[-1] == "shutdown"
    ray = given(running=["here"], **how)
    with pytest.raises(ClusterError, match=told), Cluster("auto"):
        pass
    assert ray.done == []


@pytest.mark.parametrize("address", ["ray://127.0.0.1:9", "ray://nowhere.invalid:10001"])
def test_an_address_at_which_nobody_listens(address, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setattr(connection, "import_ray", FakeRay)
    with pytest.raises(ClusterError, match=f"cannot reach the cluster at {address}: "):
        Cluster(address).__enter__()


@pytest.mark.parametrize("address", ["", "local", "head:6379", "ray://", "ray://head", 7, None])
def test_what_is_no_address(address):
    with pytest.raises(ParameterError, match="is no address of a cluster; give ray://HOST:PORT"):
        check_address(address)


def test_workers_are_whole_numbers():
    with pytest.raises(ParameterError, match="workers"):
        Cluster(workers=0)


def test_ray_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ClusterError, match="needs Ray, which is not installed; pip install"):
        import_ray()
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(__path__=["/here/ray"]))
    with pytest.raises(ClusterError, match="is not Ray; pip install"):
        import_ray()


def test_a_client_that_is_not_installed(given, monkeypatch):
    ray = given()

    def init(**how):
        raise ImportError("no grpc", name="grpc")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(ClusterError, match="needs Ray's client, and grpc is not installed; pip"):
        Cluster("ray://head:1").__enter__()
