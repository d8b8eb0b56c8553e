"""Imports point down only, packages of one layer do not import each other in a circle."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import skipchain

ROOT = Path(skipchain.__file__).parent

# From the bottom up; a package may import from its own layer and those below. The families of
# models are packages of their own.
LAYERS = [
    {"arrays", "errors", "extras", "growing", "kernels", "pretrained", "unfinished", "watching"},
    {"checks", "memory", "learn", "parallel", "report", "schema"},
    {"corpus"},
    {"io", "features", "edges", "metrics", "scratch"},
    {"annotators", "resources", "datasets", "chains"},
    {"lookup"},
    {
        "nametagger",
        "models.base",
        "models.registry",
        "models.specification",
        "models.parameter_help",
    },
    {"models.chain"},
    {"models.graph", "models.document", "models.latent", "models.stacking"},
    {"models.rbm"},
    {
        *("modelfile", "recipes", "assembly", "batches"),
        *("label_columns", "tagged", "tagged_file", "tagged_output", "tagger", "warming"),
    },
    {"cluster"},
    {"comparison", "induction", "selection"},
    {"reproduce"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
ALONE = {"kernels": set(), "learn": {"arrays", "checks", "errors", "kernels", "parallel"}}
"""What imports nothing of ours but this: `learn` knows vectors, threads and callbacks only."""
# Lazy registries and methods that name what is above them; it is imported when it is asked for.
LAZY = {
    ("corpus.corpus", "io"),  # Corpus.write
    ("models.base.estimator", "modelfile"),  # fit(…, checkpoint=PATH)
    ("models.base.estimator", "cluster"),  # fit(…, cluster=ADDRESS)
}
ABOVE_ALL = {"", "__main__"}  # the package itself, which imports names as they are used


def modules():
    """Every module of the package by its dotted name, without ``skipchain.``."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def package(module):
    """The package of the layers that a module belongs to."""
    parts = module.split(".")
    if parts[0] == "models" and len(parts) > 1:
        return ".".join(parts[:2])
    return parts[0]


def named(dotted):
    """The module that a dotted name is, or is in; None where it is not one of ours."""
    if dotted.split(".")[0] != "skipchain":
        return None
    name = dotted.partition(".")[2]
    while name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def imports(path):
    """The modules of skipchain that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (named(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (named(f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in ("import_module", "__import__") and node.args:
                yield _dynamic(node.args[0])


def _dynamic(argument):
    """The module that a string given to import_module names, as far as it is written out."""
    if isinstance(argument, ast.JoinedStr):
        argument = argument.values[0]
    if isinstance(argument, ast.Constant):
        return named(str(argument.value).rstrip("."))
    return None


def edges():
    """(module, imported module) for every import of one package from another."""
    for module, path in MODULES.items():
        for target in imports(path):
            if target and package(module) not in ABOVE_ALL and package(target) != package(module):
                yield module, target


def test_every_package_has_a_layer():
    assert {package(m) for m in MODULES} - ABOVE_ALL - {"models"} == set(LEVEL)


def test_imports_point_down():
    wrong = [
        f"{module} imports {target}"
        for module, target in edges()
        if LEVEL.get(package(target), -1) > LEVEL.get(package(module), -1)
        and (module, package(target)) not in LAZY
    ]
    assert wrong == []


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: sorted(layer)[0])
def test_no_circle_inside_a_layer(layer):
    graph = {name: set() for name in layer}
    for module, target in edges():
        if package(module) in layer and package(target) in layer:
            graph[package(module)].add(package(target))
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_kernels_and_optimisers_stand_alone():
    wrong = [
        f"{module} imports {target}"
        for module, target in edges()
        if package(module) in ALONE and package(target) not in ALONE[package(module)]
    ]
    assert wrong == []


def test_imports_by_name_are_read(tmp_path):
    file = tmp_path / "m.py"
    file.write_text(
        'from importlib import import_module\nimport_module("skipchain.io.conll")\n'
        'import_module(f"skipchain.modelfile.{name}")\nfrom skipchain import corpus\n'
        "from skipchain.models.chain import crf\nimport skipchain.cli.app\nimport_module(x)\n"
    )
    assert sorted(filter(None, imports(file))) == [
        "cli.app", "corpus", "io.conll", "modelfile", "models.chain.crf"
    ]  # fmt: skip
