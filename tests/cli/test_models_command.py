"""``skipchain models``: kinds, solvers, and what can be set."""

from __future__ import annotations

import json

import pytest

from skipchain.models.parameter_help import describe_kind, known_solvers, parameter_texts
from skipchain.models.registry import model_kinds


def test_all_kinds_and_solvers_are_listed(run):
    code, out, _ = run("models")
    assert code == 0
    for name in (*model_kinds(), "sgd", "lbfgs", "newton", "adagrad", "cg", "gd", "gis"):
        assert any(line.split()[:1] == [name] for line in out.splitlines()), name
    answer = json.loads(run("models", "--json")[1])
    assert set(answer["models"]) == set(model_kinds())
    assert {"sgd", "lbfgs"} <= set(answer["solvers"])


@pytest.mark.parametrize("name", [*model_kinds(), *known_solvers()])
def test_every_setting_has_a_meaning(run, name):
    code, out, _ = run("models", name, "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["summary"].endswith(".")
    for part in (answer, *answer["solvers"], *answer["groups"]):
        for own in part["settings"]:
            assert own["meaning"], f"{part['name']}: {own['name']}"
            assert not own["meaning"].startswith("As "), own


def test_settings_are_shown_with_defaults(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run("models", "rbm-crf")
    assert code == 0
    assert "groups = 6:0..1; 6:0..4" in out
    code, out, _ = run("models", "lbfgs")
    assert (code, "max_iterations = 1000" in out, "`" in out) == (0, True, False)


def test_settings_of_other_objects_are_shown(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    out = run("models", "skip-chain-crf")[1]
    assert "damping = 0.0" in out
    assert "max_sweeps = 100" in out


def test_a_misspelt_kind_is_named(run):
    code, out, err = run("models", "rbmcrf")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "there is no model or solver 'rbmcrf'; did you mean rbm-crf" in err


def test_references_are_followed():
    """What one class says "As for" another is the text of the other."""

    def meaning(kind, name):
        return next(own.meaning for own in describe_kind(kind).settings if own.name == name)

    assert meaning("memm", "min_count") == meaning("crf", "min_count")
    assert meaning("skip-chain-crf", "features") == meaning("crf", "features")
    assert meaning("adagrad", "dropout") == meaning("sgd", "dropout")


def test_docstrings_are_read():
    text = """A thing.

    Parameters
    ----------
    a, b
        Two
        sizes.
    c and others
        As for `CRF`.

    Examples
    --------
    >>> 1
    """
    import inspect

    found = parameter_texts(inspect.cleandoc(text))
    assert found == {
        "a": "Two sizes.",
        "b": "Two sizes.",
        "c": "As for `CRF`.",
        "others": "As for `CRF`.",
    }
