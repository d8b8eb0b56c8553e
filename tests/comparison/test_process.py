"""The process of a run ends with the one that started it, whatever ended that."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys

import pytest

from skipchain.comparison import process
from skipchain.comparison.process import PROGRAM
from skipchain.datasets.harbour import harbour

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("SIGKILL", -signal.SIGKILL, ""),
        ("SIGTERM", 143, ""),
        ("SIGHUP", 129, ""),
        ("SIGINT", 130, "skipchain: interrupted; nothing is kept without --output\n"),
    ],
)
@pytest.mark.usefixtures("interruptible")
def test_a_run_ends_with_the_command(tmp_path, name, code, told):
    train, test = harbour().split(0.75)
    train.write(tmp_path / "train.conll")
    test.write(tmp_path / "test.conll")
    command = subprocess.Popen(
        [sys.executable, "-m", "skipchain", "compare", "train.conll", "--test", "test.conll",
         "--features", "word", "--models", "crf:epochs=1000000"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    seen = []
    while not seen or "training: " not in seen[-1]:
        seen.append(command.stderr.readline())
        assert seen[-1], seen  # it has ended
    command.send_signal(getattr(signal, name))
    # The run writes to the same pipe, which has an end only when both processes have ended.
    rest = [line for line in command.stderr if not line.startswith(("epoch", "trained"))]
    assert "".join(rest) == told
    assert command.wait(60) == code
    assert sorted(os.listdir(tmp_path)) == ["test.conll", "train.conll"]


def test_a_process_is_born_with_interrupts_blocked(monkeypatch):
    """Ctrl-C reaches it, too, before its program has begun."""
    mask = "sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ())))"
    program = f"import pickle, signal, sys; pickle.dump({mask}, sys.stdout.buffer)"
    monkeypatch.setattr(process, "PROGRAM", program)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert set(process._ask((None, None, False))) >= {signal.SIGINT, signal.SIGHUP}
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


@pytest.mark.parametrize("question", [b"", pickle.dumps("half a question")[:-4]])
def test_without_a_whole_question_it_ends(question):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=question, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
