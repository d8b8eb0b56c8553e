"""``skipchain train --scratch``: the model of memory, whatever the files; what is refused."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from skipchain import Corpus, load
from skipchain.cli import from_disk
from skipchain.datasets.harbour import harbour

FAST = ("--set", "epochs=2", "--features", "word\nsuffix(2)", "--overwrite")
IOB1 = "Ada I-PER\nBo B-PER\nran O\n\nOslo I-LOC\nCity I-LOC\nis O\n\n"
LATE = "ran O\n\nOslo I-LOC\n\n" * 40 + "Ada I-PER\nBo B-PER\n\n"  # what tells the scheme is last


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(from_disk, "BLOCK", 30)
    (tmp_path / "scratch").mkdir()
    corpus = harbour()
    corpus[:40].write("a.conll")
    corpus[40:70].write("b.conll")
    corpus[:40].write("a.jsonl")
    for name in ("a.conll", "b.conll"):
        Path(f"{name}.gz").write_bytes(gzip.compress(Path(name).read_bytes()))
    Path("iob1.conll").write_text(IOB1 * 9)
    Path("late.conll").write_text(LATE)
    Path("pos.conll").write_text("Ada NNP B-PER\nran VBD O\n\n" * 30)
    return tmp_path


@pytest.mark.parametrize(
    "files",
    ["a.conll", "a.conll b.conll", "a.conll.gz b.conll", "a.jsonl", "iob1.conll", "late.conll",
     "a.conll iob1.conll", "a.conll pos.conll", "late.conll a.conll.gz"],
)  # fmt: skip
@pytest.mark.parametrize("more", [(), ("--solver", "lbfgs:max_iterations=5")])
def test_the_same_model_file(run, here, files, more):
    given = ("train", *files.split(), *FAST[2:], *(more or FAST[:2]))
    code, _, told = run(*given, "-o", "memory.skip")
    assert code == 0, told
    code, _, err = run(*given, "-o", "disk.skip", "--scratch", "scratch")
    assert code == 0, err
    assert Path("disk.skip").read_bytes() == Path("memory.skip").read_bytes()
    assert os.listdir("scratch") == []
    lines = [line for line in told.splitlines() if "; scheme " in line]
    assert [line for line in err.splitlines() if "; scheme " in line] == lines
    assert "tokens from disk: about" in err
    assert "MB of disk" in err or "iob1" in files or "late" in files


def test_answers_as_json(run, here):
    code, out, err = run(
        "train", "a.conll", *FAST, "-o", "m.skip", "--scratch", "scratch", "--json", "--quiet",
        "--dev", "b.conll",
    )  # fmt: skip
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert {"loss", "iterations", "seconds"} <= answer.keys()
    assert answer["dev"] is not None
    assert load("m.skip").model.labels


def test_it_goes_on_from_a_checkpoint(run, here):
    given = ("train", "a.conll", *FAST, "--scratch", "scratch")
    run(*given, "-o", "whole.skip")
    code, _, err = run(*given, "-o", "m.skip", "--checkpoint", "c", "--checkpoint-every", "1")
    assert code == 0, err
    assert Path("m.skip").read_bytes() == Path("whole.skip").read_bytes()
    assert not Path("c").exists()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--scratch", "none"), "the scratch folder none: there is no such folder; make it first"),
        (("--scratch", "a.conll"), "the scratch folder a.conll: it is a file"),
        (("--scratch", "scratch", "--model", "hrf"), "HRF learns in memory only"),
        (("--scratch", "scratch", "--recipe", "ner-knowledge"), "looks at all of the corpus"),
        (("--scratch", "scratch", "--consistency"), "learns in memory only"),
        (("--scratch", "scratch", "--solver", "newton", "--model", "memm"), "'newton' does not"),
    ],
)  # fmt: skip
def test_what_is_refused(run, here, more, told):
    features = ("--features", "word") if "--recipe" not in more else ()
    code, _, err = run("train", "a.conll", "-o", "m.skip", "--quiet", *features, *more)
    assert (code, err.count("\n")) == (2, 1)
    assert told in err
    assert not Path("m.skip").exists()
    assert os.listdir("scratch") == []


def test_a_file_that_changes_while_it_is_read(run, here, monkeypatch):
    counted = from_disk._counted

    def changing(blocks, path, activity):
        for block in counted(blocks, path, activity):
            with Path(path).open("a") as file:
                file.write("\n")
            yield block

    monkeypatch.setattr(from_disk, "_counted", changing)
    code, _, err = run("train", "a.conll", *FAST, "-o", "m.skip", "--scratch", "scratch", "-q")
    assert (code, err) == (
        2,
        "skipchain: a.conll: the file changed while it was read; train again\n",
    )
    assert not Path("m.skip").exists()


def test_a_file_without_labels(run, here):
    Path("plain.conll").write_text("Ada\nran\n\n" * 20)
    code, _, err = run("train", "plain.conll", "-o", "m.skip", "--scratch", "scratch", "-q")
    assert (code, err.count("\n")) == (2, 1)
    assert "plain.conll has no labels" in err


def test_more_than_the_disk_has(run, here, monkeypatch):
    usage = shutil.disk_usage(here)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    code, _, err = run("train", "a.conll", *FAST, "-o", "m.skip", "--scratch", "scratch", "-q")
    assert (code, err.count("\n")) == (2, 1)
    assert "this training takes about" in err
    assert "name a folder on a larger disk" in err


@pytest.mark.parametrize("size", [4096, 64 << 10, 300 << 10])
def test_a_full_disk(run, here, size):
    """Wherever the room ends, it is one line, and nothing is left."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", "scratch"]
    if shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
        pytest.skip("no disk may be mounted here")
    many = [[f"w{k}", f"v{k}", "ran"] for k in range(20_000)]
    Corpus.of(many, [["B-PER", "I-PER", "O"]] * len(many)).write("many.conll")
    try:
        with pytest.MonkeyPatch.context() as patch:  # which the check before all work would find
            patch.setattr("skipchain.scratch.folder.Scratch.require", lambda *_: None)
            code, _, err = run(
                "train", "many.conll", *FAST, "-o", "m.skip", "--scratch", "scratch", "-q"
            )
        assert (code, err.count("\n")) == (2, 1)
        assert "the scratch folder scratch: No space left on device; " in err
        assert os.listdir("scratch") == []
        assert not Path("m.skip").exists()
    finally:
        subprocess.run(["umount", "-l", "scratch"], check=True)
