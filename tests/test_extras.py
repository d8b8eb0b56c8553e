"""The advice to install an optional part can be pasted, wherever the package came from."""

from __future__ import annotations

import re
import shlex
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from skipchain import extras
from skipchain.extras import PACKAGES, install_command, requirement

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"


def test_an_extra_of_a_clone_is_installed_from_the_clone(tmp_path):
    folder = tmp_path / "my clone"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    origin = {"url": folder.as_uri(), "dir_info": {"editable": True}}
    assert shlex.split(requirement("plot", origin)) == ["-e", f"{folder}[plot]"]
    origin = {"url": folder.as_uri(), "dir_info": {}}
    assert shlex.split(requirement("plot", origin)) == [f"{folder}[plot]"]


def test_where_the_clone_has_gone_its_packages_are_named():
    archive = {"url": "file:///tmp/skipchain-0.1.0.whl", "archive_info": {}}
    assert requirement("ngrams", archive) == "duckdb"


def test_the_command_follows_what_pip_has_noted(monkeypatch):
    class Installed:
        def read_text(self, name):
            assert name == "direct_url.json"
            return  # from an index

    monkeypatch.setattr(extras, "distribution", lambda name: Installed())
    assert install_command("plot") == "pip install 'skipchain[plot]'"

    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "distribution", missing)
    assert install_command("plot") == "pip install matplotlib"


def test_extras_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra, packages in PACKAGES.items():
        wanted = [re.match(r"[\w-]+", own)[0] for own in project["optional-dependencies"][extra]]
        assert packages.split() == wanted


def test_no_other_text_knows_how_the_package_was_installed():
    """All advice to install goes through one function."""
    found = [
        path.name
        for path in SOURCE.rglob("*.py")
        if re.search(r"pip install", path.read_text(encoding="utf-8"))
    ]
    assert found == ["extras.py"]


@pytest.mark.parametrize("extra", PACKAGES)
def test_the_advice_of_this_installation_can_be_read_by_a_shell(extra):
    assert distribution("skipchain")
    words = shlex.split(install_command(extra))
    assert words[:2] == ["pip", "install"]
