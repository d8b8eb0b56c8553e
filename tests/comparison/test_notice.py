"""The process in which an entry is trained can tell that it compiles."""

from __future__ import annotations

import sys
from contextlib import contextmanager

from skipchain.comparison import compare
from skipchain.comparison import run as comparison_run
from skipchain.datasets.harbour import harbour


@contextmanager
def told():
    """Tell of the beginning and the end, in whatever process."""
    print("compiling?", file=sys.stderr)
    yield
    print("compiled", file=sys.stderr)


def test_a_notice_is_given_in_the_process_of_the_entry(capfd):
    train = harbour()[:20]
    compare("hmm", train, train, features="word", notice=told)
    lines = capfd.readouterr().err.splitlines()
    assert lines[-2:] == ["compiling?", "compiled"]


def test_the_command_asks_for_it_unless_it_is_quiet(run, tmp_path, monkeypatch):
    from skipchain.cli.compiling import compile_notice

    harbour()[:20].write(tmp_path / "train.conll")
    asked = []
    original = comparison_run.run_in_subprocess

    def watched(entry_run, display, notice):
        asked.append(notice)
        return original(entry_run, display, notice)

    monkeypatch.setattr(comparison_run, "run_in_subprocess", watched)
    file = tmp_path / "train.conll"
    how = ("compare", file, "--test", file, "--models", "hmm", "--features", "word")
    assert run(*how)[0] == 0
    assert run(*how, "-q")[0] == 0
    assert asked == [compile_notice, None]
