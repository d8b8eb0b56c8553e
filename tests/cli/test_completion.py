"""Completion of commands and options in a shell, and what --version tells."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from skipchain import __version__

SCRIPT = Path(sys.executable).with_name("skipchain")
pytestmark = pytest.mark.skipif(
    os.name != "posix" or not SCRIPT.exists(), reason="needs the script, and a shell of POSIX"
)


def answers(shell, **variables):
    """What the program answers to a shell that asks."""
    how = {**os.environ, "_SKIPCHAIN_COMPLETE": f"complete_{shell}", **variables}
    done = subprocess.run([SCRIPT], env=how, check=True, capture_output=True, text=True)
    return done.stdout


def test_commands_and_options_are_completed():
    assert answers("bash", COMP_WORDS="skipchain tr", COMP_CWORD="1").split() == ["train"]
    options = answers("bash", COMP_WORDS="skipchain tag --o", COMP_CWORD="2").split()
    assert options == ["--output", "--overwrite"]
    inner = answers("bash", COMP_WORDS="skipchain ngrams h", COMP_CWORD="2").split()
    assert inner == ["harvest"]
    assert '"train"' in answers("zsh", _TYPER_COMPLETE_ARGS="skipchain tr")
    asked = {"_TYPER_COMPLETE_ARGS": "skipchain tr", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    assert answers("fish", **asked).startswith("train\t")


def test_files_are_left_to_the_shell():
    assert answers("bash", COMP_WORDS="skipchain tag story", COMP_CWORD="2").split() == []


def in_bash(command, home):
    how = {**os.environ, "HOME": str(home), "PATH": f"{SCRIPT.parent}:{os.environ['PATH']}"}
    line = ["bash", "--norc", "-c", f"{command}; exit $?"]  # the shell stays: it is asked for
    return subprocess.run(line, env=how, check=False, capture_output=True, text=True)


def test_completion_installs_into_the_home_of_the_user(tmp_path):
    (tmp_path / ".bashrc").write_text("alias ll='ls -l'\n")
    done = in_bash("skipchain --install-completion", tmp_path)
    assert done.returncode == 0, done.stderr
    rc = (tmp_path / ".bashrc").read_text()
    assert rc.startswith("alias ll='ls -l'\n")
    script = tmp_path / ".bash_completions" / "skipchain.sh"
    assert f"source '{script}'" in rc
    again = in_bash("skipchain --install-completion", tmp_path)
    assert again.returncode == 0
    assert (tmp_path / ".bashrc").read_text().count("source ") == 1
    asked = f"source {tmp_path}/.bashrc; complete -p skipchain; COMP_WORDS=(skipchain ev)"
    asked += "; COMP_CWORD=1; _skipchain_completion skipchain; echo ${COMPREPLY[*]}"
    registered, found = in_bash(asked, tmp_path).stdout.splitlines()
    assert registered.endswith("-F _skipchain_completion skipchain")
    assert found == "eval"


def test_the_script_can_be_looked_at(tmp_path):
    done = in_bash("skipchain --show-completion", tmp_path)
    assert done.returncode == 0
    assert "complete -o default -F _skipchain_completion skipchain" in done.stdout
    assert not list(tmp_path.iterdir())


def test_a_home_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    done = in_bash("skipchain --install-completion", tmp_path / "file")
    assert done.returncode == 2
    assert re.fullmatch(r"skipchain: .*: (Not a directory|File exists)\n", done.stderr)


def test_version_tells_what_a_report_of_a_fault_needs(run):
    code, out, err = run("--version")
    assert (code, err) == (0, "")
    first, *others = out.splitlines()
    assert first == f"skipchain {__version__}"
    assert others[:2] == [f"numba {numba.__version__}", f"numpy {np.__version__}"]
    assert others[2].startswith(f"python {platform.python_version()} (")


def test_version_imports_neither_numba_nor_numpy():
    lines = (
        "import sys; sys.argv = ['program', '--version']",
        "from skipchain import cli",
        "try: cli.main()",
        "except SystemExit: print({'numba', 'numpy'} & {*sys.modules})",
    )
    line = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(line, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_version_where_nothing_is_noted_of_a_library(run, monkeypatch):
    from importlib import metadata

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert "numba of a version that is not noted" in run("--version")[1]
