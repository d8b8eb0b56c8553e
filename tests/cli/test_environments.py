"""The main commands where little is given: memory, descriptors, rights, an encoding."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import skipchain
from skipchain import cli
from skipchain.datasets.harbour import harbour

resource = pytest.importorskip("resource", reason="limits of POSIX")
NOBODY = 65534
TAGGED = "Mayor <PER>"
SOURCE = Path(skipchain.__file__).parent


def call(folder, *arguments, python=(sys.executable,), limits=None, cwd=None, **variables):
    """Run a command in a folder: exit code, stdout, stderr; no traceback, whatever happens."""

    def limit():
        for name, value in (limits or {}).items():
            resource.setrlimit(getattr(resource, name), (value, value))

    done = subprocess.run(
        [*python, "-m", "skipchain", *map(str, arguments)], cwd=cwd or folder, timeout=200,
        stdin=subprocess.DEVNULL, capture_output=True, check=False, preexec_fn=limit,
        env={**os.environ, **variables},
    )  # fmt: skip
    err = done.stderr.decode(errors="replace")
    assert "Traceback" not in err
    return done.returncode, done.stdout.decode(errors="replace"), err


def journey(folder, **how):
    """Train, score, tag, convert; what the tagging says."""
    train = ("train", "train.conll", "--features", "ner", "--set", "epochs=3", "--overwrite")
    for arguments in (
        (*train, "-o", "names.skip"),
        ("eval", "names.skip", "test.conll"),
        ("inspect", "names.skip", "--top", 2),
        ("convert", "test.conll", "test.jsonl", "--overwrite"),
    ):
        code, _, err = call(folder, *arguments, **how)
        assert code == 0, err
    text = ("--text", "Mayor Ingrid Aske met Tomas Brandt in Ostley.", "--format", "inline")
    code, out, err = call(folder, "tag", "names.skip", *text, **how)
    assert code == 0, err
    assert out.startswith(TAGGED)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "with spaces" / "Straße 東京"
    place.mkdir(parents=True)
    train, test = harbour().split(0.75)
    train.write(place / "train.conll")
    test.write(place / "test.conll")
    return place


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"LANG": "C", "LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii", "TERM": "dumb"},
    ],
    ids=["plain", "C", "C without UTF-8", "ascii"],
)
def test_languages_and_paths(folder, variables):
    journey(folder, **variables)
    code, out, err = call(folder, "tag", "names.skip", "--text", "Zoë slept", **variables)
    if variables.get("PYTHONUTF8") == "0":  # Python itself cannot read the argument
        assert (code, err.count("\n")) == (2, 1)
    else:
        assert code == 0, err
        assert "Zo" in out
    code, _, err = call(folder, "tag", folder / "no — such.skip", "--text", "a", **variables)
    assert code == 2
    assert err.count("\n") == 1


def test_little_memory_suffices_where_nothing_is_compiled(folder):
    limits = {"RLIMIT_AS": 300 << 20}
    assert call(folder, "convert", "train.conll", "small.jsonl", limits=limits)[0] == 0


def test_few_descriptors(folder):
    journey(folder, limits={"RLIMIT_NOFILE": 20})


def test_enough_memory(folder):
    journey(folder, limits={"RLIMIT_AS": 3 << 30})


@pytest.mark.parametrize("megabytes", [150, 300, 400, 500, 700])
def test_too_little_memory_is_one_line(folder, megabytes):
    limits = {"RLIMIT_AS": megabytes << 20}
    for arguments in (
        ("train", "train.conll", "-o", "m.skip"),
        ("tag", "--text", "a"),
        ("compare", "train.conll", "--test", "test.conll"),
        ("states", "train.conll"),
        ("brown", "train.conll", "-o", "paths.txt"),
        ("reproduce", "labelbias"),
        ("ngrams", "count", "train.conll", "-o", "store"),
    ):
        code, out, err = call(folder, *arguments, limits=limits)
        assert (code, out) == (2, "")
        wanted = f"{megabytes} MB, but skipchain {arguments[0]} needs "
        assert err.startswith(f"skipchain: the limit of memory is {wanted}")
        assert err.count("\n") == 1
    assert call(folder, "--version", limits=limits)[0] == 0
    assert not (folder / "m.skip").exists()


def test_no_room_for_the_file_is_one_line(folder):
    code, _, err = call(
        folder, "convert", "train.conll", "out.jsonl", limits={"RLIMIT_FSIZE": 1000}
    )
    assert code == 2
    told = "skipchain: cannot write out.jsonl: File too large; nothing was written"
    assert err.splitlines()[-1] == told
    assert sorted(os.listdir(folder)) == ["test.conll", "train.conll"]


@pytest.mark.parametrize(
    ("command", "error", "told"),
    [
        ("train", MemoryError(), "out of memory; use less data, fewer features or --set min_count"),
        ("tag", MemoryError(), "out of memory; tag the file in parts"),
        ("models", MemoryError(), "out of memory; end other programs"),
        ("tag", OSError(12, "Cannot allocate memory"), "out of memory; tag the file in parts"),
        ("tag", RuntimeError("can't start new thread"), "out of memory; tag the file in parts"),
        ("tag", OSError(24, "Too many open files", "a.txt"), "too many open files; allow more"),
        ("tag", OSError(5, "Input/output error", "a.txt"), "a.txt: Input/output error"),
        ("tag", OSError(5, "Input/output error"), "Input/output error"),
        ("tag", OSError(28, "No space left on device"), "cannot write stdout: No space left"),
    ],
)
def test_what_the_system_lacks_is_one_line(run, monkeypatch, command, error, told):
    def fail():
        raise error

    monkeypatch.setattr("skipchain.cli._drop_stdout", lambda: None)  # it is that of the tests
    monkeypatch.setattr("skipchain.cli.app.app", fail)
    code, out, err = run(command)
    assert (code, out) == (2, "")
    assert err.startswith(f"skipchain: {told}")
    assert err.count("\n") == 1


def test_an_error_of_our_own_is_not_hidden(monkeypatch):
    def fail():
        raise RuntimeError("a mistake in the program")

    monkeypatch.setattr("skipchain.cli.app.app", fail)
    with pytest.raises(RuntimeError, match="a mistake"):
        cli.main()


def test_closed_streams(folder):
    command = f"{sys.executable} -m skipchain convert train.conll out.conllu --to-scheme bio"
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        (folder / "out.conllu").unlink(missing_ok=True)
        done = subprocess.run(
            f"{command} {closed}", shell=True, cwd=folder, capture_output=True, check=False
        )
        assert b"Traceback" not in done.stderr
        assert done.returncode in (0, 2), (closed, done.stderr)


@pytest.fixture(scope="module")
def nobody():
    """A command that starts Python as another user, who can read the packages."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can become another user, with setpriv")
    drop = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env")
    packages = sysconfig.get_path("purelib")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for interpreter in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        start = (*drop, f"PYTHONPATH={packages}", interpreter)
        done = subprocess.run([*start, "-c", "import numba, typer"], check=False, cwd="/",
                              capture_output=True)  # fmt: skip
        if done.returncode == 0:
            return drop, packages, interpreter
    pytest.skip("another user can read no Python with the packages")


@pytest.fixture
def installation(nobody, tmp_path_factory):
    """The package where another user can read it and not write; a folder that is theirs."""
    root = Path("/tmp" if os.access("/tmp", os.W_OK) else "/var/tmp")
    place = root / f"skipchain-test-{os.getpid()}"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(SOURCE, place / "lib" / "skipchain")
    subprocess.run(["chmod", "-R", "a+rX,a-w", place / "lib"], check=True)
    for name in ("home", "tmp"):
        (place / name).mkdir()
        os.chown(place / name, NOBODY, NOBODY)
    place.chmod(0o755)
    yield place
    shutil.rmtree(place, ignore_errors=True)


def as_nobody(nobody, installation, temporary):
    drop, packages, interpreter = nobody
    variables = (
        f"PYTHONPATH={installation / 'lib'}{os.pathsep}{packages}", "HOME=/nonexistent",
        "XDG_CACHE_HOME=/nonexistent", f"TMPDIR={temporary}",
    )  # fmt: skip
    return {"python": (*drop, *variables, interpreter), "cwd": installation / "home"}


def test_a_read_only_installation_with_compiled_kernels(nobody, installation):
    how = as_nobody(nobody, installation, installation / "tmp")
    code, _, err = call(None, "tag", "--text", "Ada slept.", **how)
    assert code == 0, err
    code, _, err = call(None, "tag", "--text", "Ada slept.", **how)
    assert (code, err) == (0, "")  # all is found, here or there


@pytest.mark.slow
def test_a_read_only_installation_without_compiled_kernels(nobody, installation):
    for cache in (installation / "lib").rglob("__pycache__"):
        shutil.rmtree(cache)
    how = as_nobody(nobody, installation, installation / "tmp")
    assert call(None, "tag", "--text", "Ada slept.", **how)[::2] == (0, "")  # needs none
    code, _, err = call(None, "warm", "tag", **how)
    assert code == 0, err
    assert err.count("compiled kernels are kept in") == 1
    (kept,) = (installation / "tmp").iterdir()
    assert kept.name == f"skipchain-kernels-{NOBODY}"
    assert kept.stat().st_mode & 0o777 == 0o700
    assert call(None, "warm", "tag", "-q", **how)[2] == ""
