"""``skipchain train --checkpoint`` and ``--resume``: killed at any moment, the same model."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from skipchain.datasets.harbour import harbour
from skipchain.modelfile.checkpoint import read_checkpoint

SOLVERS = {
    "sgd": ("--solver", "sgd:epochs=60"),
    "lbfgs": ("--solver", "lbfgs:passes=30,tolerance=0,max_iterations=60"),
}
DEADLINE = 120.0  # seconds after which a process counts as hanging


@pytest.fixture
def here(tmp_path, monkeypatch):
    harbour()[:120].write(tmp_path / "train.conll")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def line(model, *others, solver="sgd"):
    """A command line that trains."""
    return ("train", "train.conll", "--features", "word", "-o", model, *SOLVERS[solver], *others)


def killed(arguments, moment):
    """Run a command and kill it when ``moment`` says so; whether it was killed."""
    child = subprocess.Popen([sys.executable, "-m", "skipchain", *arguments])
    end = time.monotonic() + DEADLINE
    try:
        while child.poll() is None and not moment() and time.monotonic() < end:
            time.sleep(0.002)
    finally:
        child.kill()
    return child.wait() == -signal.SIGKILL


def written(path, times):
    """A moment: when the file has been written so many times."""
    seen = set()

    def moment():
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return False
        seen.add((status.st_ino, status.st_mtime_ns))
        return len(seen) > times

    return moment


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "times"), [("sgd", 4), ("lbfgs", 7), ("lbfgs", 45)])
def test_a_killed_training_ends_with_the_same_bits(here, run, solver, times):
    assert run(*line("whole.skip", "-q", solver=solver))[0] == 0
    keeping = ("-q", "--checkpoint", "c", "--checkpoint-every", "1")
    assert killed(line("m.skip", *keeping, solver=solver), written("c", times))
    assert not (here / "m.skip").exists()
    assert read_checkpoint("c")[2] is not None
    code, _, err = run("train", "--resume", "c")
    assert (code, err) == (0, "")
    assert (here / "m.skip").read_bytes() == (here / "whole.skip").read_bytes()
    assert sorted(own.name for own in here.iterdir()) == ["m.skip", "train.conll", "whole.skip"]


def left(run, *others):
    """A checkpoint as a training leaves it that a fault ends: here, a model that has no folder."""
    os.mkdir("out")
    assert run(*line("out/m.skip", "-q", *others))[0] == 0
    # the state as it was before the end
    from skipchain import CRF, read
    from skipchain.modelfile import Checkpoint

    # a stranger's may have --overwrite
    arguments = line("out/n.skip", "--overwrite", *others)[1:]
    kept = Checkpoint("c", every=1, arguments=arguments)
    corpus = read("train.conll")
    CRF("word", solver=None, epochs=60).fit(corpus, checkpoint=kept)


def test_the_command_again_or_the_file_alone(here, run):
    left(run)
    code, _, err = run(*line("a.skip", "--resume", "c"))
    assert code == 0
    assert "going on with" not in err
    assert not (here / "c").exists()
    assert (here / "a.skip").read_bytes() == (here / "out" / "m.skip").read_bytes()


def test_the_file_alone_says_what_it_runs(here, run):
    left(run)
    code, _, err = run("train", "--resume=c", "--threads", "1", "--json")
    assert code == 0
    assert "going on with: skipchain train train.conll --features word -o out/n.skip" in err
    assert (here / "out" / "n.skip").exists()


def test_a_checkpoint_replaces_no_model_unless_told_again(here, run):
    left(run)
    (here / "out" / "n.skip").write_bytes(b"mine")
    code, _, err = run("train", "--resume", "c")
    assert code == 2
    assert "out/n.skip exists already; use --overwrite" in err
    assert (here / "c").exists()
    assert run("train", "--resume", "c", "--overwrite", "-q")[0] == 0


@pytest.mark.parametrize(
    ("others", "told"),
    [
        (("--seed", "3"), "another training: it has seed=0, and this training 3"),
        (("--l2", "1"), "another training: it has l2=0.2, and this training 1.0"),
        (("--dev", "train.conll"), "it was written without held-out data"),
    ],
)
def test_another_command_is_refused_by_what_differs(here, run, others, told):
    left(run)
    code, out, err = run(*line("a.skip", "-q", "--resume", "c", *others))
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert (here / "c").exists()
    assert not (here / "a.skip").exists()


def test_changed_files_are_refused(here, run):
    left(run)
    text = (here / "train.conll").read_text()
    (here / "train.conll").write_text(text + "Oslo B-LOC\n")
    code, _, err = run("train", "--resume", "c", "-q")
    assert code == 2
    assert "the training data are not those that it was written for" in err


def test_before_the_first_state_a_training_begins_at_the_beginning(here, run):
    code, _, err = run(*line("a.skip", "--resume", "none"))
    assert code == 0
    assert "none: there is no such file yet; the training begins at the beginning" in err
    assert killed(line("b.skip", "-q", "--checkpoint", "c"), written("c", 0))
    assert read_checkpoint("c")[1] == line("b.skip", "-q")[1:]
    assert run("train", "--resume", "c")[0] == 0
    assert (here / "b.skip").read_bytes() == (here / "a.skip").read_bytes()


@pytest.mark.parametrize(
    ("others", "told"),
    [
        (("--checkpoint", "c", "--auto"), "--auto trains many models"),
        (("--checkpoint", "c", "--consistency"), "Factored keeps no checkpoint"),
        (("--checkpoint", "c", "--model", "hmm"), "--solver"),
        (("--checkpoint", "a.skip"), "a.skip cannot be the model and its checkpoint"),
        (("--checkpoint", "c", "--resume", "d"), "--resume d goes on writing to that file"),
        (("--checkpoint", "train.conll", "--overwrite"), "not a skipchain checkpoint"),
        (("--checkpoint", "c", "--checkpoint-every", "soon"), "or so often, such as"),
        (("--checkpoint-every", "10"), "--checkpoint-every says how often; give --checkpoint"),
        (("--checkpoint", "no/c"), "there is no folder"),
        (("--checkpoint", "c", "--dev", "none.conll"), "none.conll: there is no such file"),
    ],
)
def test_what_cannot_be_is_one_line_and_leaves_nothing(here, run, others, told):
    code, out, err = run(*line("a.skip", "-q", *others))
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert [own.name for own in here.iterdir()] == ["train.conll"]


def test_a_file_alone_that_is_not_there(here, run):
    code, _, err = run("train", "--resume", "none")
    assert (code, err) == (2, "skipchain: none: there is no such file\n")


def test_an_interrupted_training_keeps_its_checkpoint(here, run, monkeypatch):
    from skipchain.learn import epochs
    from skipchain.learn.step import INTERRUPTED, OptimisationResult

    real = epochs.run_epochs

    def interrupted(*arguments, **how):
        found = real(*arguments, **how)
        return OptimisationResult(found.vector, found.loss, 3, 3, INTERRUPTED)

    with monkeypatch.context() as patch:
        patch.setattr("skipchain.chains.learn.run_epochs", interrupted)
        code, _, err = run(*line("a.skip", "--checkpoint", "c", "--checkpoint-every", "1"))
    assert code == 0
    assert "to go on: skipchain train --resume c --overwrite" in err
    assert run("train", "--resume", "c", "--overwrite", "-q")[0] == 0
    assert not (here / "c").exists()
