"""The attack on checkpoints counts trainings that end with other bits."""

from __future__ import annotations

import sys

import pytest

from hardening import resume

TRAINS = """
import pathlib, sys
going_on = "--resume" in sys.argv
pathlib.Path("m.skip").write_text("other" if going_on and {wrong} else "same")
"""


@pytest.mark.parametrize("wrong", [False, True])
def test_another_model_is_found(monkeypatch, wrong):
    program = TRAINS.format(wrong=wrong)

    def command(solver, *others):
        return [sys.executable, "-c", program, *others]

    monkeypatch.setattr(resume, "_command", command)
    monkeypatch.setattr(resume, "_killed", lambda *_: True)
    report = resume.attack(2, 0)
    assert report.cases == 2
    assert len(report.findings["uncaught"]) == 2 * wrong
    told = "0 of 2" if wrong else "2 of 2"
    assert report.notes[0].startswith(f"{told} ended with the same bits after ")


@pytest.mark.slow
def test_a_training_that_is_killed_goes_on():
    assert resume.attack(30, 0, 3).clean
