"""Signals: an orderly end at every moment, one line at most, the exit code of the signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals of POSIX"),
    pytest.mark.usefixtures("interruptible"),
]

# As the script that pip installs. The signal is sent when the import of that number begins, counted
# from the moment on when the handlers are there: what comes before is the interpreter's.
START = """
import os, signal, sys
left = int(sys.argv.pop(1))
def count(event, _):
    global left
    if event == "import" and "skipchain.cli.signals" in sys.modules:
        if hasattr(sys.modules["skipchain.cli.signals"], "IS_COMMAND"):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), getattr(signal, SIGNAL))
sys.addaudithook(count)
sys.argv[0] = "/somewhere/bin/skipchain"
from skipchain.cli import main
sys.exit(main())
"""


def start(number, *arguments, name="SIGINT"):
    program = START.replace("SIGNAL", repr(name))
    return subprocess.run(
        [sys.executable, "-c", program, str(number), *arguments],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize("number", [1, 2, 5, 19, 20, 60, 150, 300, 400, 500])
def test_an_interrupt_during_the_imports_is_one_line(number):
    done = start(number, "tag", "--text", "Ada slept.")
    assert (done.returncode, done.stderr) == (130, "skipchain: interrupted\n")


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("number", [1, 200, 500])
def test_other_signals_during_the_imports_say_nothing(number, name, code):
    done = start(number, "tag", "--text", "Ada slept.", name=name)
    assert (done.returncode, done.stderr) == (code, "")


def python(program, **settings):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120,
        **settings,
    )  # fmt: skip


GUARDED = """
import os, signal, sys, time
from skipchain.cli.signals import SIGNALS
from skipchain.unfinished import Clearing
def wait():
    for _ in range(1000):
        time.sleep(0.01)
    print("the signal was lost")
def command():
    BODY
SIGNALS.install()
try:
    SIGNALS.catch(command)
except KeyboardInterrupt:
    print("interrupted")
"""


def guarded(*lines, **settings):
    return python(GUARDED.replace("BODY", "\n    ".join(lines)), **settings)


def test_an_interrupt_that_a_destructor_loses_comes_again():
    done = guarded(
        "class Owner:",
        "    def __del__(self): os.kill(os.getpid(), signal.SIGINT)",
        "Owner()",
        "wait()",
    )
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_other_signals_raise_nothing_and_clear_up(name, code):
    done = guarded(
        "try:",
        "    with Clearing(lambda: os.write(1, b'cleared up')):",
        f"        os.kill(os.getpid(), signal.{name})",
        "        wait()",
        "except BaseException:",
        "    print('raised')",
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "cleared up", "")


@pytest.mark.parametrize("package", ["numba", "llvmlite"])
def test_an_interrupt_waits_until_compiled_code_does_not_call(tmp_path, package):
    """Code that calls Python and does not look for exceptions would crash."""
    (tmp_path / package / "core").mkdir(parents=True)
    file = tmp_path / package / "core" / "serialize.py"
    file.write_text(
        "def call(inner):\n"
        "    try: inner()\n"
        "    except BaseException: print('raised inside')\n"
        "    print('whole')\n"
    )
    done = guarded(
        "import runpy",
        f"call = runpy.run_path({str(file)!r})['call']",
        "call(lambda: (os.kill(os.getpid(), signal.SIGINT), time.sleep(0.05)))",
        "wait()",
    )
    assert (done.stdout, done.stderr) == ("whole\ninterrupted\n", "")


def test_a_signal_waits_until_a_kernel_has_been_written(tmp_path):
    (tmp_path / "kernels").mkdir()
    file = tmp_path / "kernels" / "caching.py"
    file.write_text("def save(inner):\n    inner()\n    print('renamed', flush=True)\n")
    done = guarded(
        "import runpy",
        f"save = runpy.run_path({str(file)!r})['save']",
        "save(lambda: (os.kill(os.getpid(), signal.SIGTERM), time.sleep(0.05)))",
        "wait()",
    )
    assert (done.returncode, done.stdout, done.stderr) == (143, "renamed\n", "")


def test_a_signal_waits_for_the_end_of_an_import(tmp_path):
    (tmp_path / "careless.py").write_text(
        "import os, signal\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    for _ in range(1000): pass\n"
        "except BaseException:\n"
        "    raise ImportError('something is wrong with the installation')\n"
        "print('whole')\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = guarded("import careless", "wait()", env={**os.environ, "PYTHONPATH": path})
    assert (done.stdout, done.stderr) == ("whole\ninterrupted\n", "")


def test_an_interrupt_that_comes_twice_in_a_moment_is_one():
    """`timeout` sends its signal to the process, and then to its group."""
    done = guarded(
        "try:",
        "    os.kill(os.getpid(), signal.SIGINT)",
        "    wait()",
        "except KeyboardInterrupt:",
        "    os.kill(os.getpid(), signal.SIGINT)",
        "    print('kept')",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "kept\n", "")


def test_another_signal_after_an_interrupt_ends_the_command():
    done = guarded(
        "try:",
        "    os.kill(os.getpid(), signal.SIGINT)",
        "    wait()",
        "except KeyboardInterrupt:",
        "    os.kill(os.getpid(), signal.SIGTERM)",
        "    wait()",
    )
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "")


def test_a_later_interrupt_ends_the_command():
    done = guarded(
        "try:",
        "    os.kill(os.getpid(), signal.SIGINT)",
        "    wait()",
        "except KeyboardInterrupt:",
        "    SIGNALS._since -= 1",
        "    os.kill(os.getpid(), signal.SIGINT)",
        "    wait()",
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "skipchain: interrupted\n")


def test_where_nobody_catches_it_the_end_comes_at_once():
    program = """
import os, signal
from skipchain.cli.signals import SIGNALS
SIGNALS.install()
try:
    os.kill(os.getpid(), signal.SIGINT)
finally:
    print("this is not reached")
"""
    done = python(program)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "skipchain: interrupted\n")


def test_what_is_ignored_stays_ignored():
    """As after nohup, or in the background of a shell."""
    program = """
import signal, sys
sys.argv[0] = "skipchain"
for number in (signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
import skipchain.cli
assert signal.getsignal(signal.SIGTERM) not in (signal.SIG_IGN, signal.SIG_DFL)
for number in (signal.SIGHUP, signal.SIGINT):
    assert signal.getsignal(number) is signal.SIG_IGN
"""
    done = python(program)
    assert done.returncode == 0, done.stderr


def test_who_imports_the_command_line_keeps_the_signals():
    program = """
import signal
before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
from skipchain import cli
assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
import sys
sys.argv = ["skipchain", "--version"]
try:
    cli.main()
except SystemExit:
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
"""
    done = python(program)
    assert done.returncode == 0, done.stderr


def wait_for(condition):
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen within a minute")


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [("SIGTERM", 143, ""), ("SIGHUP", 129, ""), ("SIGINT", 130, "skipchain: interrupted\n")],
)
def test_nothing_stays_of_what_was_begun(tmp_path, name, code, told):
    """A store of n-grams whose text comes through a pipe that nobody writes to."""
    pytest.importorskip("duckdb")
    os.mkfifo(tmp_path / "text.txt")
    child = subprocess.Popen(
        [sys.executable, "-m", "skipchain", "ngrams", "count", "text.txt", "-o", "store"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for(lambda: len(list(tmp_path.iterdir())) == 2 or child.poll() is not None)
    writer = os.open(tmp_path / "text.txt", os.O_WRONLY)  # until then it waits in `open`
    child.send_signal(getattr(signal, name))
    _, err = child.communicate(timeout=120)
    os.close(writer)
    assert (child.returncode, err) == (code, told)
    assert os.listdir(tmp_path) == ["text.txt"]


def test_training_that_is_terminated_leaves_nothing(tmp_path):
    from skipchain.datasets.harbour import harbour

    harbour().write(tmp_path / "train.conll")
    child = subprocess.Popen(
        [sys.executable, "-m", "skipchain", "train", "train.conll", "--features", "word",
         "--set", "epochs=1000000", "-o", "m.skip"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    seen = ""
    while "training: " not in seen and child.poll() is None:
        seen += child.stderr.readline()
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=120)
    assert child.returncode == 143, seen + err
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == ["train.conll"]


def test_the_program_of_the_package_handles_signals():
    import skipchain

    program = Path(skipchain.__file__).with_name("__main__.py")
    code = f"import sys; sys.argv[0] = {str(program)!r}; import skipchain.cli.signals as own; "
    done = python(code + "print(own.IS_COMMAND)")
    assert done.stdout == "True\n", done.stderr
