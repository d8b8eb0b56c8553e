"""Temporary files and folders: what is dead goes, what lives or is another's stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skipchain.io import temporary
from skipchain.io.files import atomic_write, write_text
from skipchain.io.temporary import TemporaryFile, temporary_folder, temporary_names

fcntl = pytest.importorskip("fcntl", reason="without locks nothing is removed")

KILLED = """
import os, signal, sys
from skipchain.io.files import atomic_write
with atomic_write(sys.argv[1]) as file:
    file.write("half")
    file.flush()
    os.kill(os.getpid(), getattr(signal, sys.argv[2]))
"""


def kill_writer(path, name="SIGKILL"):
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), name], check=False)
    assert done.returncode == -getattr(signal, name)


@pytest.mark.parametrize("name", ["a", "a.gz", "a.xz", "ä b" * 60])
def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path, name):
    kill_writer(tmp_path / name)
    assert len(list(tmp_path.iterdir())) == 1
    write_text(tmp_path / name, "whole")
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_dead_file_goes_where_a_living_one_stands_before_it(tmp_path):
    target = str(tmp_path / "a")
    with TemporaryFile(target) as living:
        kill_writer(target)
        assert len(list(tmp_path.iterdir())) == 2
        write_text(target, "whole")
        assert sorted(os.listdir(tmp_path)) == ["a", os.path.basename(living.path)]


def test_living_writers_do_not_hinder_each_other(tmp_path):
    with atomic_write(tmp_path / "a") as first:
        first.write("first")
        write_text(tmp_path / "a", "second")
        assert (tmp_path / "a").read_text() == "second"
    assert (tmp_path / "a").read_text() == "first"
    assert os.listdir(tmp_path) == ["a"]


def test_more_writers_than_names(tmp_path):
    files = [TemporaryFile(str(tmp_path / "a")) for _ in range(temporary.PLACES + 3)]
    assert len({file.path for file in files}) == len(files)
    for file in files:
        with file:
            pass
    assert not os.listdir(tmp_path)


def test_what_only_looks_similar_stays(tmp_path):
    target = tmp_path / "a"
    machine = temporary.machine_sign()
    for name in ("a.tmp", "a.0123abcd.tmp", "a.skipchain.tmp", "a.ffffffff-0.skipchain.tmp",
                 f"b.{machine}-0.skipchain.tmp", f"a.{machine}-9.skipchain.tmp"):  # fmt: skip
        (tmp_path / name).write_text("mine")
    (tmp_path / "linked").write_text("mine")
    names = temporary_names(str(target))
    os.symlink(tmp_path / "linked", names[0])
    os.link(tmp_path / "linked", names[1])
    os.mkfifo(names[2])
    before = sorted(os.listdir(tmp_path))
    write_text(target, "whole")
    assert sorted(os.listdir(tmp_path)) == ["a", *before]
    assert (tmp_path / "linked").read_text() == "mine"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_stays(tmp_path):
    (first, *_) = temporary_names(str(tmp_path / "a"))
    Path(first).write_text("theirs")
    os.chown(first, 65534, 65534)
    write_text(tmp_path / "a", "whole")
    assert Path(first).read_text() == "theirs"


def test_without_locks_nothing_is_removed(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(95, "Operation not supported")

    kill_writer(tmp_path / "a")
    (left,) = tmp_path.iterdir()
    monkeypatch.setattr(temporary.fcntl, "flock", refuse)
    write_text(tmp_path / "a", "whole")
    assert {file.name for file in tmp_path.iterdir()} == {"a", left.name}


def test_a_dead_folder_is_removed_with_what_is_in_it(tmp_path):
    target = str(tmp_path / "store")
    (first, *_) = temporary_names(target)
    Path(first, "deep").mkdir(parents=True)
    with temporary_folder(target) as folder:
        assert str(folder) == first
        assert not list(folder.iterdir())
        with temporary_folder(target) as other:
            assert other != folder
    assert not os.listdir(tmp_path)


def test_data_are_on_the_disk_before_the_name(tmp_path, monkeypatch):
    done = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda k: (done.append(os.fstat(k).st_size), sync(k)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("name"), replace(a, b)))
    write_text(tmp_path / "a", "Ada")
    assert done[:2] == [3, "name"]
    assert len(done) == 3  # and then the folder


def test_a_private_file_is_never_open_to_others(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o600)
    with TemporaryFile(str(tmp_path / "a")) as file:
        assert os.stat(file.path).st_mode & 0o777 == 0o600


def test_a_file_that_the_caller_cannot_read_is_no_failure_to_write(tmp_path):
    def fail():
        with atomic_write(tmp_path / "a"):
            (tmp_path / "missing").read_text()

    with pytest.raises(FileNotFoundError):
        fail()
    assert not os.listdir(tmp_path)
