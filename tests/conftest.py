"""What all tests share: where they lie, which marks they bear, and the fixtures of every folder.

Folders mirror ``src/skipchain``: the tests of ``skipchain.models.graph`` lie in
``tests/models/graph``. Beside them are ``end_to_end`` (real data, the whole journey), ``oracles``
(plain second versions that fast code is tested against; no tests), ``models/test_contract.py`` (one
table of all estimators, one list of promises) and ``models/test_reductions.py`` (a model that
becomes another one). ``test_layers.py`` and ``test_names.py`` read the source itself. ``README.md``
says how to run them.

Marks:

* ``data(name, ...)``: needs these data sets or paths under ``SKIPCHAIN_DATA``, and is skipped where
  they are not. The variable is taken away from every other test, so that a forgotten mark fails on
  machines that have the data, too.
* ``slow``: takes more than about three seconds on one core.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from skipchain import cli
from skipchain.datasets.registry import DATA_SETS, VARIABLE

# a slow machine is no mistake: no example has to be done in a given time
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture
def run(monkeypatch, capfd):
    """Run a command line in this process: exit code, stdout, stderr."""

    def call(*arguments, stdin=""):
        monkeypatch.setattr(sys, "argv", ["skipchain", *map(str, arguments)])
        data = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capfd.readouterr()
        return left.value.code or 0, out, err

    return call


@pytest.fixture
def interruptible():
    """SIGINT raises KeyboardInterrupt, in this process and in those that it starts.

    A command in the background of a shell ignores SIGINT, and so do its children: a test that
    interrupts itself would wait for ever.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# Data ------------------------------------------------------------------------------------------

PATHS = {known.name: [own.path for own in known.files.values()] for known in DATA_SETS}


def require(path: str) -> Path:
    """A path under the folder of the data sets; the test is skipped where it does not exist."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.skip(f"{VARIABLE} is not set; let it name the folder with the data sets")
    if not Path(folder).is_dir():
        pytest.skip(f"{VARIABLE} names {folder}, which is not a folder")
    if not Path(folder, path).exists():
        pytest.skip(f"there is no {path} in {folder}, which {VARIABLE} names")
    return Path(folder, path)


@pytest.hookimpl(tryfirst=True)  # before fixtures read what is not there
def pytest_runtest_setup(item):
    for mark in item.iter_markers("data"):
        for name in mark.args:
            for path in PATHS.get(name, [name]):
                require(path)


@pytest.fixture
def data_path():
    """For tests that bear the mark `data` and take the file as a parameter: its path, or a skip."""
    return require


@pytest.fixture(autouse=True)
def _data_for_marked_tests_only(request, monkeypatch):
    if request.node.get_closest_marker("data") is None:
        monkeypatch.delenv(VARIABLE, raising=False)


# Several processes -----------------------------------------------------------------------------


def _one_process_at_a_time(method):
    """A cache of compiled kernels that one process reads or writes while no other one does.

    Numba replaces each file of a cache at once, but writes the index first and the code behind
    it later. Of two processes that compile two signatures of one kernel, both may take the same
    number, and the index then names the code of the other signature.
    """

    def locked(self, *arguments):
        folder = Path(self._index_path).parent
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "numba.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return method(self, *arguments)

    return locked


with contextlib.suppress(ImportError):  # there is no fcntl on Windows
    import fcntl

    from numba.core.caching import IndexDataCacheFile

    IndexDataCacheFile.save = _one_process_at_a_time(IndexDataCacheFile.save)
    IndexDataCacheFile.load = _one_process_at_a_time(IndexDataCacheFile.load)
