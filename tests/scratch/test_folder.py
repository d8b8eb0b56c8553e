"""Arrays in files: what they hold, what they leave, what is told where a disk is full."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from skipchain.errors import SkipchainError
from skipchain.scratch.folder import STATUS, Scratch, _FilePages


def test_arrays_hold_what_is_written(tmp_path):
    with Scratch(tmp_path) as scratch:
        array = scratch.zeros((300, 200), np.float64)
        array[7] = np.arange(200)
        scratch.drop()
        assert array[7].tolist() == list(range(200))
        assert array[8].sum() == 0
        copy = scratch.copy(array, np.float32)
        assert copy.dtype == np.float32
        assert scratch.nbytes == array.nbytes + copy.nbytes
    assert array[7].tolist() == list(range(200))  # also when the block has ended


def test_files_grow(tmp_path):
    with Scratch(tmp_path) as scratch:
        growing = scratch.growing(np.int64)
        for first in range(0, 100_000, 10_000):
            growing.add(np.arange(first, first + 10_000, dtype=np.int32))
        assert np.array_equal(growing.array(), np.arange(100_000))
        assert scratch.growing(np.int32).array().tolist() == []


def test_small_arrays_have_no_file(tmp_path):
    with Scratch(tmp_path) as scratch:
        scratch.zeros((10,), np.float64)
        assert scratch.nbytes == 0


def test_nothing_is_left(tmp_path):
    with Scratch(tmp_path) as scratch:
        array = scratch.zeros((1000, 1000), np.float64)
        assert not any(tmp_path.iterdir())
    del array


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
def test_a_killed_process_leaves_nothing(tmp_path):
    code = (
        "import sys, os, signal; import numpy as np; from skipchain.scratch.folder import Scratch\n"
        "with Scratch(sys.argv[1]) as scratch:\n"
        "    a = scratch.zeros((1000, 1000), np.float64); a[:] = 1\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not any(tmp_path.iterdir())


@pytest.mark.skipif(not STATUS.exists(), reason="the system does not tell what is resident")
def test_little_is_resident(tmp_path):
    size, most = 64 << 20, 8 << 20
    with Scratch(tmp_path, resident=most) as scratch:
        pages = _FilePages()
        before = pages.size()
        array = scratch.zeros((size,), np.uint8)
        for first in range(0, size, 1 << 20):
            array[first : first + (1 << 20)] = 1
            scratch.settle()
            assert pages.size() - before < most + (2 << 20)
        scratch.drop()
        assert pages.size() - before < 1 << 20
        pages.close()
        assert int(array.sum(dtype=np.int64)) == size


def test_the_disk_has_room_again_when_arrays_are_gone(tmp_path):
    with Scratch(tmp_path) as scratch:
        array = scratch.zeros((1000, 1000), np.float64)
        assert len(scratch._maps) == 1
        del array
        gc.collect()
        assert len(scratch._maps) == 0


def test_folders_that_cannot_be_used(tmp_path):
    with pytest.raises(SkipchainError, match="there is no such folder; make it first"):
        Scratch(tmp_path / "none").__enter__()
    (tmp_path / "file").write_text("")
    with pytest.raises(SkipchainError, match="is a file"):
        Scratch(tmp_path / "file").__enter__()


def test_more_than_the_disk_has(tmp_path):
    with Scratch(tmp_path) as scratch:
        with pytest.raises(SkipchainError, match=r"takes about 4,503,599\.6 GB of disk"):
            scratch.require(1 << 52, "the index")
        scratch.require(10, "the index")


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with Scratch(tmp_path) as scratch:
        monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
        with pytest.raises(
            SkipchainError,
            match="No space left on device; 1 MB were in use; name a folder on a larger disk",
        ):
            scratch.zeros((1000, 1000), np.float64)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
def test_a_file_that_cannot_grow_is_told(tmp_path):
    with Scratch(tmp_path) as scratch:
        growing = scratch.growing(np.int64)
        with open("/dev/full", "wb", buffering=0) as full:
            growing._file._file = full
            with pytest.raises(SkipchainError, match=r"scratch.*No space left on device"):
                growing.add(np.arange(1000))
