"""The help: groups of options, examples, and a length that can be read."""

from __future__ import annotations

import ast
import inspect
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from skipchain import cli
from skipchain.cli.app import app
from skipchain.cli.commands.train import train

ROOT = get_command(app)
COMMANDS = {name: ROOT.get_command(None, name) for name in ROOT.list_commands(None)}


def every_command():
    for name, command in COMMANDS.items():
        for other, own in getattr(command, "commands", {"": command}).items():
            yield f"{name} {other}".strip(), own


EVERY = dict(every_command())


def test_train_is_small():
    assert len(inspect.signature(train).parameters) <= 36


def test_the_options_of_train_stand_in_groups(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    groups = {param.rich_help_panel for param in COMMANDS["train"].params if param.name != "files"}
    assert groups == {"data", "model", "knowledge", "learning", "output"}
    out = run("train", "--help")[1]
    places = [
        out.index(f" {name} ──") for name in ("data", "model", "knowledge", "learning", "output")
    ]
    assert places == sorted(places)
    assert len(out.splitlines()) <= 96


@pytest.mark.parametrize("name", EVERY)
def test_every_command_has_help_and_an_example_that_can_be_read(run, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    command = EVERY[name]
    code, out, _ = run(*name.split(), "--help")
    assert code == 0
    assert command.epilog in " ".join(out.split())
    words = shlex.split(command.epilog.removeprefix("Example: "))
    assert words[: 1 + len(name.split())] == ["skipchain", *name.split()]
    command.make_context(name, words[1 + len(name.split()) :])
    for param in command.params:
        assert getattr(param, "help", None), f"{name}: {param.name}"


def test_the_command_line_knows_little_of_models():
    """What it needs is offered by the tagger, the recipes and the registry."""
    found = []
    for path in Path(cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            module = getattr(node, "module", None) or ""
            if module.startswith(("skipchain.models", "skipchain.annotators", "skipchain.learn")):
                found.append(f"{path.name}: {module}")
    assert len(found) <= 8, found
