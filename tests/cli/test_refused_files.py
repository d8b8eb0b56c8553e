"""Model files that are refused, and input that is too large: exit code 2 and one line, no more."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys

import pytest

from skipchain import pretrained
from tests.cli.test_help import EVERY

COMMANDS = {
    "tag": ("tag", "MODEL", "text.txt"),
    "tag --text": ("tag", "MODEL", "--text", "Ada slept."),
    "eval": ("eval", "MODEL", "gold.conll"),
    "inspect": ("inspect", "MODEL"),
    "explain": ("explain", "MODEL", "--text", "Ada slept.", "--token", "0"),
    "train": ("train", "gold.conll", "--start", "MODEL", "-o", "new.skip", "-q"),
}
LABELS = "Ada B-PER\nslept O\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that are no models, each under a model's name."""
    here = tmp_path_factory.mktemp("refused")
    (here / "text.txt").write_text("Ada slept.")
    (here / "gold.conll").write_text(LABELS)
    whole = pretrained.path().read_bytes()
    contents = {
        "cut": whole[:3000],
        "shorter": whole[:-1],
        "altered": whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:],
        "random": os.urandom(5000),
        "empty": b"",
        "text": LABELS.encode(),
        "json": b'{"a": 1}',
        "zip": b"PK\x03\x04" + bytes(100),
        "gzip": gzip.compress(whole[:3000]),
        "zeros": bytes(5000),
        "header": (16).to_bytes(8, "little") + b'{"__metadata__":',
    }
    for name, content in contents.items():
        (here / f"{name}.skip").write_bytes(content)
    (here / "folder.skip").mkdir()
    (here / "link.skip").symlink_to("/nowhere")
    os.mkfifo(here / "pipe.skip")
    (here / "device.skip").symlink_to("/dev/zero")
    return here


def command_line(name, model):
    return [model if word == "MODEL" else word for word in COMMANDS[name]]


def assert_refused(answer):
    code, out, err = answer
    assert code == 2, err
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.startswith("skipchain: ")
    assert ".skip: " in err


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    "model",
    ["cut", "shorter", "altered", "random", "empty", "text", "json", "zip", "gzip", "zeros",
     "header", "folder", "link", "missing"],
)  # fmt: skip
def test_a_model_that_is_refused_is_one_line(run, folder, monkeypatch, name, model):
    monkeypatch.chdir(folder)
    assert_refused(run(*command_line(name, f"{model}.skip")))


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("model", ["pipe.skip", "device.skip"])
def test_what_never_ends_is_no_model(folder, name, model):
    """In a process of its own: the pipe has no writer, and opening it would wait for ever."""
    command = [sys.executable, "-m", "skipchain", *command_line(name, model)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert_refused((done.returncode, done.stdout, done.stderr))


@pytest.mark.parametrize("name", ["tag", "eval"])
def test_one_argument_that_is_called_like_a_model_is_one(run, folder, monkeypatch, name):
    monkeypatch.chdir(folder)
    code, out, err = run(name, "random.skip")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "random.skip" in err


@pytest.mark.parametrize(
    "content", [os.urandom(5000) + b"\0", bytes(5000), b"", gzip.compress(bytes(10**6))]
)
@pytest.mark.parametrize("name", ["tag", "eval", "convert"])
def test_input_that_is_no_text_is_one_line(run, tmp_path, name, content):
    (tmp_path / "a").write_bytes(content)
    rest = ["-"] if name == "convert" else []
    code, out, err = run(name, tmp_path / "a", *rest)
    assert (code, out, err.count("\n")) == (2, "", 1), err


@pytest.mark.parametrize(
    "command",
    ["train M -o n.skip", "tag M M", "eval M M", "eval gold.conll M", "convert M -",
     "convert M - --from conll"],
)  # fmt: skip
def test_a_model_where_data_belong(run, folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    path = str(pretrained.path())
    code, out, err = run(*(path if word == "M" else word for word in command.split()))
    assert (code, out) == (2, "")
    assert err.endswith(f"{path}: this is a model file; wanted is text, or a labelled file\n")


@pytest.mark.parametrize("command", ["tag in", "train in -o n.skip", "convert in -"])
def test_a_folder_where_files_are_wanted(run, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    code, out, err = run(*command.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "this folder has no .ann files; name files in it, such as in/*.txt" in err


# Limits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in EVERY if name != "reproduce"])
def test_every_command_that_reads_a_corpus_has_the_limit(name):
    names = {option for param in EVERY[name].params for option in getattr(param, "opts", ())}
    assert ("--max-bytes" in names) == ("--from" in names)


@pytest.mark.parametrize(
    "arguments",
    [
        ("tag", "FILE"),
        ("eval", "FILE"),
        ("eval", "FILE", "FILE"),
        ("explain", "--file", "FILE", "--token", "0"),
        ("convert", "FILE", "-"),
        ("train", "FILE", "-o", "m.skip"),
        ("compare", "FILE", "--test", "FILE"),
        ("states", "FILE"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_limit_holds(run, tmp_path, monkeypatch, arguments, packed):
    monkeypatch.chdir(tmp_path)
    path = "a.conll.gz" if packed else "a.conll"
    content = (LABELS * 1000).encode()
    (tmp_path / path).write_bytes(gzip.compress(content) if packed else content)
    command = [path if word == "FILE" else word for word in arguments]
    code, out, err = run(*command, "--max-bytes", "10k")
    assert (code, out) == (2, "")
    assert f"{path}: {'unpacks to' if packed else 'holds'} more than 10,240 bytes" in err
    assert "--max-bytes" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", [("brown", "-o", "paths"), ("ngrams", "count", "-o", "store")])
def test_what_counts_in_blocks_holds_no_more_than_the_limit(run, tmp_path, monkeypatch, command):
    if command[0] == "ngrams":
        pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.conll").write_text(LABELS * 1000)
    (tmp_path / "a.csv").write_text("word,label\n" + "Ada,O\n" * 9000)
    for options in ((), ("--tokenised",)):
        assert run(*command, "a.conll", *options, "--max-bytes", "10k", "-q", "--overwrite")[0] == 0
    code, out, err = run(*command, "a.csv", "--max-bytes", "10k", "--overwrite")
    assert (code, out) == (2, "")
    assert "a.csv: holds more than 10,240 bytes" in err
    assert "--max-bytes" in err
    assert err.count("\n") == 1


def test_stdin_has_the_limit_too(run):
    code, _, err = run(
        "convert", "-", "-", "--from", "conll", "--max-bytes", "100", stdin="a O\n" * 99
    )
    assert code == 2
    assert "stdin: holds more than 100 bytes" in err


@pytest.mark.parametrize("size", ["", "0", "-1", "x", "1.5G", "1 PB", "٣"])
def test_a_size_is_a_number(run, folder, size):
    code, _, err = run("convert", folder / "gold.conll", "-", "--max-bytes", size)
    assert code == 2
    assert "--max-bytes takes a size such as 500M or 8G" in err


def test_a_larger_limit_lets_a_file_in(run, folder):
    code, out, _ = run(
        "convert", folder / "gold.conll", "-", "--to", "conll", "--max-bytes", "1TiB", "-q"
    )
    assert (code, out) == (0, LABELS + "\n")


@pytest.mark.parametrize("number", ["1000000000", "10001", "-1"])
def test_the_number_of_labellings_has_a_limit(run, number):
    code, out, err = run("tag", "--text", "Ada slept.", "--nbest", number)
    assert (code, out) == (2, "")
    assert err == f"skipchain: --nbest must be from 1 to 10,000, got {int(number):,}\n"
