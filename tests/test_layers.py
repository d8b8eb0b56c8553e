"""Imports point down only, and the kernels import nothing of ours."""

from __future__ import annotations

import ast
from pathlib import Path

import skipchain

ROOT = Path(skipchain.__file__).parent

# From the bottom up; a module may import from its own layer and those below.
LAYERS = [
    {"errors", "kernels", "learn", "parallel", "pictures", "markdown", "grid", "boxed"},
    {
        "corpus",
        "schemes",
        "features",
        "graph",
        "metrics",
        "io",
        "potentials",
        "dataset",
        "linked",
        "groups",
        "factors",
    },
    {"scorers"},
    {"objectives", "inference", "knowledge"},
    {"models"},
    {"modelfile", "recipes"},
    {"tagger", "datasets", "examples", "problems"},
    {"comparison"},
    {"reproduce"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
ALONE = {"kernels", "learn"}


def imports(path):
    """The parts of skipchain that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "skipchain" and len(parts) > 1:
                yield parts[1]


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if part not in ("__init__", "__main__"):
            yield part, path


def test_every_part_has_a_layer():
    assert {part for part, _ in modules()} == set(LEVEL)


def test_imports_point_down():
    wrong = [
        f"{path.relative_to(ROOT)} imports {target}"
        for part, path in modules()
        for target in imports(path)
        if LEVEL.get(target, -1) > LEVEL[part]
    ]
    assert wrong == []


def test_kernels_and_optimisers_stand_alone():
    wrong = [
        f"{path.relative_to(ROOT)} imports {target}"
        for part, path in modules()
        if part in ALONE
        for target in imports(path)
        if target != part
    ]
    assert wrong == []
