"""The attack by faults notices commands that behave badly; they are planted here."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from textwrap import dedent

import pytest

from hardening.faults import child as processes
from hardening.faults import kills, trial
from hardening.faults.commands import Command
from hardening.faults.kills import Kill, run_kill
from hardening.faults.place import Place
from hardening.faults.references import References
from hardening.faults.snapshot import like, moved_aside, whole_png

GOOD = """
    import os
    with open("out/a.txt.ours.tmp", "w") as file:
        file.write("new\\n")
    os.replace("out/a.txt.ours.tmp", "out/a.txt")
"""
TIDY = """
    import glob, os
    for path in glob.glob("out/a.txt.*.ours.tmp"):
        os.unlink(path)
    with open(f"out/a.txt.{os.getpid()}.ours.tmp", "w") as file:
        file.write("new\\n")
    os.replace(file.name, "out/a.txt")
"""
UNTIDY = """
    import os
    with open(f"out/a.txt.{os.getpid()}.ours.tmp", "w") as file:
        file.write("new\\n")
    os.replace(file.name, "out/a.txt")
"""
HALF = """
    import os
    with open("out/a.txt", "w") as file:
        file.write("ne")
        file.flush()
        os.mkdir("out/step")
        os.rmdir("out/step")
        file.write("w\\n")
"""
GREEDY = """
    import glob, os
    for path in glob.glob("out/*.tmp"):
        if os.path.isfile(path):
            os.unlink(path)
    with open("out/a.txt", "w") as file:
        file.write("new\\n")
"""
HANGS = """
    import os, signal, time
    signal.signal(signal.SIGTERM, lambda *_: time.sleep(600))
    with open("out/a.txt", "w") as file:
        file.write("new\\n")
"""
TRACEBACK = """
    import signal
    def stop(*_):
        raise RuntimeError("stopped")
    signal.signal(signal.SIGTERM, stop)
    with open("out/a.txt", "w") as file:
        file.write("new\\n")
"""
CRASHES = """
    import os, signal
    signal.signal(signal.SIGTERM, lambda *_: os.abort())
    with open("out/a.txt", "w") as file:
        file.write("new\\n")
"""
ORPHAN = """
    import subprocess, sys
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", __file__])
    with open("out/a.txt", "w") as file:
        file.write("new\\n")
"""


@pytest.fixture
def plant(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "GRACE", 0.1)
    monkeypatch.setattr(kills, "PATIENCE", 1.0)
    root = tmp_path / "root"
    (root / "inputs").mkdir(parents=True)

    def planted(program: str) -> References:
        script = tmp_path / "program.py"
        script.write_text(dedent(program))
        command = Command("planted", (), "a.txt", {"a.txt": b"old\n"}, script=str(script))
        references = References(root, {})
        references.add(command)
        return references

    return planted


def killed(references, number, step, *, old=True):
    kill = Kill(references.by_name["planted"], old, number, False, 0.0, step, outside=False)
    return run_kill(references, kill, "case")


@pytest.mark.parametrize("step", [1, 2, 3])
def test_nothing_is_found_where_all_is_well(plant, step):
    assert killed(plant(TIDY), signal.SIGKILL, step) == []


def test_steps_are_counted(plant):
    assert plant(GOOD).by_name["planted"].steps == 2


def test_half_a_file_is_found(plant):
    ((kind, fault),) = killed(plant(HALF), signal.SIGKILL, 2)
    assert kind == "uncaught"
    assert fault == "a.txt is neither the old nor the new one (2 bytes)"


def test_what_the_next_run_does_not_clear_is_found(plant):
    ((kind, fault),) = killed(plant(UNTIDY), signal.SIGKILL, 2)
    assert kind == "uncaught"
    assert fault.startswith("the next run: left a.txt.")


def test_litter_after_sigterm_is_found(plant):
    ((kind, fault),) = killed(plant(UNTIDY), signal.SIGTERM, 2)
    assert kind == "uncaught"
    assert fault.startswith("left a.txt.")


def test_lost_files_of_others_are_found(plant):
    faults = [fault for _, fault in killed(plant(GREEDY), signal.SIGKILL, 9)]
    assert "a file of others is gone or changed: other.tmp" in faults


def test_a_hang_is_found_and_ended(plant, tmp_path):
    ((kind, _),) = killed(plant(HANGS), signal.SIGTERM, 1)
    assert kind == "hangs"
    assert not _running(tmp_path)


def test_a_traceback_is_found(plant):
    findings = killed(plant(TRACEBACK), signal.SIGTERM, 1)
    assert {kind for kind, _ in findings} == {"uncaught"}
    assert findings[-1][1].startswith("a traceback: Traceback")
    assert findings[-1][1].endswith("RuntimeError: stopped")


def test_a_crash_is_found(plant):
    kinds = [kind for kind, _ in killed(plant(CRASHES), signal.SIGTERM, 1)]
    assert kinds == ["crashes"]


def test_processes_left_running_are_found_and_ended(plant, tmp_path):
    findings = killed(plant(ORPHAN), signal.SIGTERM, 1)
    assert ("uncaught", "1 processes left running") in findings
    assert not _running(tmp_path)


def test_a_success_that_wrote_nothing_is_found(plant):
    references = plant(GOOD)
    place = Place(references, references.by_name["planted"], "case", old=True)
    assert ("uncaught", "it ended with 0, but the output is not the new one") in place.judge(code=0)


def test_two_lines_on_stderr_are_found(plant):
    references = plant(GOOD + "    import sys; print('one\\ntwo', file=sys.stderr)\n")
    place = Place(references, references.by_name["planted"], "case", old=False)
    assert trial.run(place) == [("uncaught", "2 lines on stderr: one / two")]


def test_an_old_folder_moved_aside_is_not_lost():
    old = {"store": None, "store/a": b"1"}
    assert moved_aside({"store.x.tmp": None, "store.x.tmp/a": b"1"}, "store", old)
    assert not moved_aside({"store.x.tmp": None, "store.x.tmp/a": b""}, "store", old)
    assert not moved_aside({"other": None}, "store", old)


def test_limits_reach_the_process(plant):
    references = plant(GOOD.replace("new", "new" * 1000))
    place = Place(references, references.by_name["planted"], "case", old=True)
    findings = trial.run(place, limits={"RLIMIT_FSIZE": 2000})
    assert any("File too large" in fault for _, fault in findings)


def test_pictures_and_figures():
    assert like(b"| 1.2 | 3 |", b"| 10.25 | 4 |")
    assert not like(b"| 1.2 |", b"| 10.25 | names |")
    assert not whole_png(b"\x89PNG\r\n\x1a\n")


def test_a_seed_and_a_number_give_the_same_case():
    from hardening.faults.attack import choose

    chosen = [choose(number, Random(f"1 {number}")) for number in range(1, 200)]
    assert chosen == [choose(number, Random(f"1 {number}")) for number in range(1, 200)]


def test_one_case_can_be_asked_for():
    line = [sys.executable, "-m", "hardening", "faults", "--case", "0"]
    root = Path(__file__).parents[2]
    answer = subprocess.run(line, capture_output=True, text=True, check=False, cwd=root)
    assert answer.returncode == 2
    assert "cases are numbered from 1" in answer.stderr


def _running(folder: Path) -> bool:
    """Whether a process has the folder in its command line."""
    lines = Path("/proc").glob("[0-9]*/cmdline")
    return any(str(folder).encode() in line.read_bytes() for line in lines if line.exists())
