"""Those who wait are told what is done, how much of it, and how long it will take."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import pytest

from skipchain import CRF, parallel
from skipchain.cli import compiling, waiting
from skipchain.cli.waiting import COMPILED, Activity, PlainActivity, each_file
from skipchain.datasets.harbour import harbour
from skipchain.kernels.compile_times import CompileTimes
from skipchain.kernels.kernel import tell_of_compiling
from skipchain.tagger import Tagger
from skipchain.watching import counted, watched


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def talkative(monkeypatch):
    """Lines are not five seconds apart, and little text is cut in blocks, too."""
    monkeypatch.setattr(waiting, "PLAIN_EVERY", 0.0)
    monkeypatch.setattr(parallel.blocks, "__defaults__", (64,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("waiting")
    harbour()[:30].write(here / "train.conll")
    harbour()[30:60].write(here / "more.conll")
    harbour()[30:60].write(here / "more.jsonl")
    Tagger(CRF("word", epochs=1).fit(harbour()[:30])).save(here / "small.skip")
    return here


# What is reckoned --------------------------------------------------------------------------------


def test_time_left_is_what_the_rest_takes_at_the_pace_so_far(clock):
    activity = Activity("work", clock)
    assert activity.line == "work  0 s"
    clock.now = 10.0
    activity.progress(1, 4)
    assert activity.line == "work: 25 %  10 s  about 30 s left"
    clock.now = 20.0
    assert activity.line == "work: 25 %  20 s  about 20 s left"
    clock.now = 50.0  # it is slower than it was, and nobody knows how much
    assert activity.line == "work: 25 %  50 s"
    activity.progress(2, 4, "2 of 4 parts")
    assert activity.line == "work: 50 %  2 of 4 parts  50 s  about 50 s left"


def test_the_first_hundredth_says_nothing_of_the_rest(clock):
    activity = Activity("work", clock)
    clock.now = 10.0
    activity.progress(1, 1000)
    assert activity.line == "work: 0 %  10 s"


def test_another_part_is_reckoned_by_itself(clock):
    activity = Activity("work", clock)
    clock.now = 100.0
    activity.progress(10, 10)
    activity.progress(0, 5)
    clock.now = 102.0
    activity.progress(1, 5)
    assert activity.line.endswith("about 8 s left")


def test_compiling_is_counted_apart(clock, monkeypatch):
    monkeypatch.setattr(COMPILED, "_times", [])  # whatever this process has compiled already
    activity = Activity("work", clock)
    monkeypatch.setattr(COMPILED, "_times", [{"kernel": 9.0}])
    clock.now = 10.0  # of which it compiled for nine
    activity.progress(1, 4)
    assert activity.line == "work: 25 %  10 s  about 3 s left"


def test_what_takes_known_time_counts_down(clock):
    activity = Activity("work", clock)
    activity.update("epoch 3", 20.0)
    clock.now = 5.0
    assert activity.line == "epoch 3  5 s  about 15 s left"


def test_files_are_counted_by_their_bytes(clock, tmp_path):
    files = [str(tmp_path / name) for name in "abc"]
    for name, size in zip(files[:2], (30, 69), strict=True):
        with open(name, "w") as file:
            file.write("x" * size)
    activity = Activity("reading", clock)
    lines = []
    for _ in each_file(files, activity):
        clock.now += 1.0
        lines.append(activity.line)
    assert lines[1] == "reading: 30 %  1 of 3 files  2 s  about 1 s left"
    assert "99 %" in lines[2]  # the last is not there, which its reader will say
    assert list(each_file(files[:1], activity)) == files[:1]


def test_without_a_terminal_it_is_a_line_now_and_then(clock, capfd):
    activity = PlainActivity("work", clock)
    for clock.now in (1.0, 6.0, 7.0, 12.0):
        activity.progress(clock.now, 20.0)
    assert capfd.readouterr().err.splitlines() == [
        "work: 30 %  6 s  about 14 s left",
        "work: 60 %  12 s  about 8 s left",
    ]


def test_what_is_counted_inside_something_counted_is_not_told():
    told = []
    with watched(lambda done, total: told.append((done, total))):
        for _ in counted("ab", 2):
            list(counted("xyz", 3))
        list(counted("c", 1))  # of which there is nothing to tell
        next(counted("de", 2))  # which is given up
        list(counted("fg", 2))
    list(counted("hi", 2))
    assert told == [(0, 2), (1, 2), (2, 2), (0, 2), (0, 2), (1, 2), (2, 2)]


def test_threads_tell_the_one_who_waits_for_them():
    told = []
    with watched(lambda done, total: told.append((done, total))), parallel.Workers(2) as workers:
        workers.map(lambda k: workers.map(abs, [k]), [1, 2])
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_quiet_commands_say_nothing_but_errors(run, tmp_path):
    source = tmp_path / "a.conll"
    source.write_text("Ada B-PER\n" * 1500)
    given = ("convert", source, tmp_path / "b.jsonl", "--overwrite")
    assert "all 1,500 tokens are one sentence" in run(*given)[2]
    assert run(*given, "-q") == (0, "", "")
    assert "all 1,500 tokens are one sentence" in run(*given)[2]
    code, _, err = run("convert", tmp_path / "none.conll", "-", "-q")
    assert (code, err.count("\n")) == (2, 1)


# Compiling ---------------------------------------------------------------------------------------


def test_compiling_is_announced_and_its_time_told(capfd, monkeypatch):
    monkeypatch.setattr(COMPILED, "_times", [{}])
    with compiling.compile_notice():
        tell_of_compiling(None)
        tell_of_compiling(None)
        COMPILED._times[0]["kernel"] = 12.2
    assert capfd.readouterr().err.splitlines() == [
        "compiling for this machine, which is done once and takes some seconds",
        "compiling took 12 s of this",
    ]
    with compiling.compile_notice(quiet=True):
        tell_of_compiling(None)
    with compiling.compile_notice():
        pass
    assert capfd.readouterr().err == ""


def test_what_had_begun_to_compile_before_is_not_counted():
    times = CompileTimes()
    times.on_end(None)
    assert times.seconds == {}


# Commands ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("states", "train.conll", "--states", "1,2", "--folds", "2", "--features", "word",
          "--set", "max_iterations=1", "--set", "em=1"), r"training 4 models: 100 %"),
        (("induce", "train.conll", "--from", "word", "--rounds", "1", "-o", "t.txt",
          "--model", "maxent:epochs=1"), r"searching: 50 %  round 1 of 1"),
        (("brown", "train.conll", "more.conll", "-c", "5", "--min-count", "2", "-o", "b.txt"),
         r"clustering: \d+ %"),
        (("brown", "train.conll", "more.conll", "-c", "5", "--min-count", "2", "-o", "c.txt"),
         r"counting: \d+ %  1 of 2 files"),
        (("ngrams", "count", "train.conll", "more.conll", "-o", "counts", "--orders", "2"),
         r"counting: \d+ %  more.conll  [\d,]+ tokens"),
        (("tag", "train.conll", "more.conll", "-o", "tagged"),
         r"tagging: \d+ %  1 of 2 files, more.conll"),
        (("train", "train.conll", "more.conll", "-o", "m.skip", "--features", "word",
          "--epochs", "2"), r"reading: \d+ %  1 of 2 files"),
        (("eval", "small.skip", "train.conll"), r"tagging [\d,]+ tokens: \d+ %  \d+ s"),
        (("convert", "more.jsonl", "other.conll", "--overwrite"), r"reading: \d+ %  \d+ s"),
        (("convert", "more.conll", "other.jsonl", "--overwrite"), r"writing: \d+ %  \d+ s"),
        (("reproduce", "maxent", "--json"), r"measuring maxent: \d+ %  1 of 10 steps  \d+ s"),
    ],
)  # fmt: skip
def test_long_commands_say_how_much_is_done(run, folder, monkeypatch, talkative, command, told):
    monkeypatch.chdir(folder)
    if command[0] == "ngrams":
        pytest.importorskip("duckdb")
    code, _, err = run(*command, *(("--overwrite",) if "-o" in command else ()))
    assert code == 0, err
    assert re.search(told, err), err
    if command[0] != "tag":
        quiet = run(*command, "-q", *(("--overwrite",) if "-o" in command else ()))
        assert (quiet[0], quiet[2]) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("train", "train.conll", "-o", "t.skip", "--features", "word", "--epochs", "400"),
         rb"epoch \d+ of 400 .* about \d+ s left"),
        (("eval", "train.conll"), rb"(tagging [\d,]+ tokens|scoring|reading)[^\r]*  \d+ s"),
        (("convert", "train.conll", "t.jsonl"), rb"(reading|writing)[^\r]*  \d+ s"),
    ],
)  # fmt: skip
def test_on_a_terminal_it_is_one_line_that_goes_away(folder, command, told):
    import pty

    program = (
        "import sys; from skipchain import cli\n"
        "from skipchain.cli import waiting\n"
        "waiting.AFTER = 0.0; waiting.EVERY = 0.001\n"
        f"sys.argv = ['skipchain', *{command!r}, '--overwrite']\n"
        "cli.main()\n"
    )
    above, below = pty.openpty()
    line = [sys.executable, "-c", program]
    how = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(line, cwd=folder, stderr=below, stdout=below, env=how) as child:
        os.close(below)
        shown, ended = b"", time.monotonic() + 120
        while time.monotonic() < ended:
            try:
                some = os.read(above, 65536)
            except OSError:  # the other end is closed
                break
            if not some:
                break
            shown += some
        os.close(above)
    assert child.returncode == 0, shown
    assert re.search(told, shown), shown
    assert not re.search(told, shown.rsplit(b"\x1b[K", 1)[-1])
