"""Settings of all tests."""

from __future__ import annotations

import io
import sys

import pytest
from hypothesis import settings

from skipchain import cli

# a slow machine is no mistake: no example has to be done in a given time
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture
def run(monkeypatch, capfd):
    """Run a command line in this process: exit code, stdout, stderr."""

    def call(*arguments, stdin=""):
        monkeypatch.setattr(sys, "argv", ["skipchain", *map(str, arguments)])
        data = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capfd.readouterr()
        return left.value.code or 0, out, err

    return call
