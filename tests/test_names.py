"""What the source keeps to as a whole: unique class names, small constructors, small folders.

A class name that means two things cannot be searched for, and a constructor of thirty parameters
or a folder of forty files is not read by anybody.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from pathlib import Path

import pytest

import skipchain

ROOT = Path(skipchain.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
PACKAGES = [path for path in SOURCES if path.name == "__init__.py"]

MOST_PARAMETERS = 16
MOST_FILES = 20
MOST_HAND_FORMATTED = 60
FLAT = {"kernels"}
"""Folders that may be larger: kernels are pure functions on arrays, found by the file's name."""


def name_of(path):
    """A file's path below the package: the same on every machine."""
    return path.relative_to(ROOT).as_posix()


def public_estimators():
    """The public classes that are fitted."""
    public = (getattr(skipchain, name) for name in skipchain.__all__)
    return [own for own in public if inspect.isclass(own) and hasattr(own, "get_params")]


def test_class_names_are_unique():
    places = defaultdict(list)
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name_of(path))
    assert len(places) > 100  # else the package was not found
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_every_model_is_a_public_estimator():
    assert {"CRF", "HMM", "MoPMEMM", "Factored"} <= {own.__name__ for own in public_estimators()}


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda own: own.__name__)
def test_constructors_are_small(estimator):
    parameters = list(inspect.signature(estimator).parameters)
    assert len(parameters) <= MOST_PARAMETERS, parameters


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda own: own.__name__)
def test_estimators_are_three_classes_deep_at_most(estimator):
    ours = [own for own in estimator.__mro__ if own.__module__.startswith("skipchain.")]
    assert len(ours) <= 3, ours


def test_folders_are_small():
    sizes = defaultdict(int)
    for path in SOURCES:
        sizes[name_of(path.parent)] += 1
    large = {own: n for own, n in sizes.items() if n > MOST_FILES and own not in FLAT}
    assert large == {}, f"more than {MOST_FILES} files; make a folder of what belongs together"


def test_little_is_formatted_by_hand():
    found = {name_of(own): own.read_text(encoding="utf-8").count("# fmt: skip") for own in SOURCES}
    assert sum(found.values()) <= MOST_HAND_FORMATTED, {own: n for own, n in found.items() if n}


@pytest.mark.parametrize("path", PACKAGES, ids=lambda own: name_of(own.parent))
def test_packages_say_what_they_hold(path):
    """In one full sentence at least: several words, a capital or a name first, a full stop."""
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = said.split("\n\n", maxsplit=1)[0]
    assert re.match(r"[A-Z`].*[.!?]$", first, re.DOTALL), f"{name_of(path)} begins {first!r}"
    assert len(first.split()) >= 4, f"{name_of(path)}: {first!r} is no sentence"
