"""The folder of an n-gram store: only a store is replaced, and none is lost on the way."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skipchain.corpus import Corpus
from skipchain.errors import SkipchainError
from skipchain.io.temporary import temporary_names
from skipchain.resources.ngrams import NgramStore
from skipchain.resources.ngrams.replacing import ASIDE

pytest.importorskip("duckdb")
OLD, NEW = Corpus.of([["old", "words"]]), Corpus.of([["new", "words"]])

# The change of that number to the folder ends the process, before or after it is done.
ENDED = """
import os, signal, sys
sys.argv[0] = "skipchain"
import skipchain.cli.signals
from skipchain.corpus import Corpus
from skipchain.resources.ngrams import NgramStore
number, when = int(sys.argv[2]), sys.argv[3]
def counted(call):
    def act(*arguments, **named):
        global number
        number -= 1
        if number == -1 and when == "before":
            os.kill(os.getpid(), signal.SIGTERM)
        try:
            return call(*arguments, **named)
        finally:
            if number == -1 and when == "after":
                os.kill(os.getpid(), signal.SIGTERM)
    return act
os.rename, os.mkdir = counted(os.rename), counted(os.mkdir)
NgramStore.count([Corpus.of([["new", "words"]])], sys.argv[1], overwrite=True)
"""

# The rename or removal of that number kills the process, before it is done.
KILLED = """
import os, signal, shutil, sys
from skipchain.corpus import Corpus
from skipchain.resources.ngrams import NgramStore
number = int(sys.argv[2])
def counted(call):
    def act(*arguments, **named):
        global number
        number -= 1
        if number < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **named)
    return act
os.rename, shutil.rmtree = counted(os.rename), counted(shutil.rmtree)
NgramStore.count([Corpus.of([["new", "words"]])], sys.argv[1], overwrite=True)
"""


def first_word(store):
    return NgramStore.open(store).query("* words")[0].text


def count(corpus, path, **settings):
    return NgramStore.count([corpus], path, orders=2, **settings)


def test_a_project_with_a_manifest_is_not_a_store(tmp_path):
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "manifest.json").write_text('{"name": "my extension", "version": 1}')
    with pytest.raises(SkipchainError, match=r"is no n-gram store: its manifest.json is not"):
        count(NEW, project, overwrite=True)
    assert (project / "src").is_dir()


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda own: (own / "notes.txt").write_text("mine"), "it holds notes.txt"),
        (lambda own: (own / "3.parquet").write_text("mine"), "it holds 3.parquet"),
        (lambda own: (own / "more").mkdir(), "it holds more,"),
        (lambda own: (own / "2.parquet").unlink() or (own / "2.parquet").mkdir(), "2.parquet"),
        (lambda own: (own / "manifest.json").write_text("[]"), "is not that of a store"),
        (lambda own: (own / "manifest.json").write_text("[" * 10**6), "is not that of a store"),
        (lambda own: (own / "manifest.json").write_bytes(b"\xff"), "invalid UTF-8"),
    ],
)  # fmt: skip
def test_a_store_with_anything_else_in_it_stays(tmp_path, spoil, told):
    count(OLD, tmp_path / "store")
    spoil(tmp_path / "store")
    before = sorted(os.listdir(tmp_path / "store"))
    with pytest.raises(SkipchainError, match=told):
        count(NEW, tmp_path / "store", overwrite=True)
    assert sorted(os.listdir(tmp_path / "store")) == before


def test_what_comes_into_the_store_while_counting_stays(tmp_path):
    count(OLD, tmp_path / "store")

    def watch(*_):
        (tmp_path / "store" / "notes.txt").write_text("mine")

    with pytest.raises(SkipchainError, match=r"it holds notes.txt"):
        count(NEW, tmp_path / "store", overwrite=True, watch=watch)
    assert (tmp_path / "store" / "notes.txt").read_text() == "mine"
    assert os.listdir(tmp_path) == ["store"]


def test_a_damaged_store_can_be_counted_again(tmp_path):
    count(OLD, tmp_path / "store")
    (tmp_path / "store" / "1.parquet").unlink()
    (tmp_path / "store" / "2.parquet").write_bytes(b"cut")
    count(NEW, tmp_path / "store", overwrite=True)
    assert first_word(tmp_path / "store") == "new"


def test_a_file_a_link_and_a_store_behind_a_link(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(SkipchainError, match="it is no folder"):
        count(NEW, tmp_path / "file", overwrite=True)
    count(OLD, tmp_path / "store")
    (tmp_path / "link").symlink_to("store")
    count(NEW, tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert first_word(tmp_path / "store") == "new"


@pytest.mark.parametrize("failing", [1, 2])
def test_a_failure_puts_the_older_store_back(tmp_path, monkeypatch, failing):
    count(OLD, tmp_path / "store")
    rename, calls = os.rename, []

    def fail(source, target):
        calls.append(source)
        if len(calls) == failing:
            raise OSError(16, "Device or resource busy")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(SkipchainError, match="Device or resource busy; nothing was written"):
        count(NEW, tmp_path / "store", overwrite=True)
    assert os.listdir(tmp_path) == ["store"]
    assert first_word(tmp_path / "store") == "old"


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("number", range(5))
def test_a_process_killed_anywhere_loses_no_store(tmp_path, number):
    path = tmp_path / "store"
    count(OLD, path)
    done = subprocess.run([sys.executable, "-c", KILLED, path, str(number)], check=False)
    assert done.returncode == -signal.SIGKILL
    with pytest.raises(SkipchainError, match="exists already"):
        count(NEW, path)
    assert first_word(path) in ("old", "new")
    count(Corpus.of([["newest", "words"]]), path, overwrite=True)
    assert first_word(path) == "newest"
    assert os.listdir(tmp_path) == ["store"]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(5))
def test_a_signal_anywhere_leaves_a_store_and_nothing_else(tmp_path, number, when):
    path = tmp_path / "store"
    count(OLD, path)
    done = subprocess.run([sys.executable, "-c", ENDED, path, str(number), when], check=False)
    assert done.returncode == 143
    assert os.listdir(tmp_path) == ["store"]
    assert first_word(path) in ("old", "new")


def test_a_rival_is_named(tmp_path, monkeypatch):
    count(OLD, tmp_path / "store")
    rename = os.rename

    def rival(source, target):
        rename(source, target)
        if str(target).endswith(ASIDE):
            monkeypatch.setattr(os, "rename", rename)
            count(NEW, tmp_path / "rivals")
            rename(tmp_path / "rivals", tmp_path / "store")

    monkeypatch.setattr(os, "rename", rival)
    with pytest.raises(SkipchainError, match=r"another process wrote .* give the command again"):
        count(OLD, tmp_path / "store", overwrite=True)
    assert os.listdir(tmp_path) == ["store"]
    assert first_word(tmp_path / "store") == "new"


def test_what_a_living_process_has_moved_aside_stays(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    path = tmp_path / "store"
    count(OLD, path)
    aside = Path(temporary_names(os.path.realpath(path), ASIDE)[0])
    shutil.copytree(path, aside)
    descriptor = os.open(aside, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    count(NEW, path, overwrite=True)
    assert first_word(aside) == "old"
    os.close(descriptor)
    (path / "manifest.json").rename(path / "moved.json")  # it is not replaced by a store
    with pytest.raises(SkipchainError):
        count(NEW, path, overwrite=True)
    assert first_word(aside) == "old"


def test_the_manifest_names_what_is_there(tmp_path):
    count(OLD, tmp_path / "store")
    manifest = json.loads((tmp_path / "store" / "manifest.json").read_text())
    files = {own["file"] for own in manifest["orders"].values()}
    assert files | {"manifest.json"} == set(os.listdir(tmp_path / "store"))
