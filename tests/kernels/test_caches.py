"""Compiled kernels that are kept on disk must notice when a kernel that they call has changed.

Numba keeps a compiled kernel until the file that it stands in changes; a kernel of another file may
change unnoticed, and the old code goes on running. So a file whose kernels call those of others
names them with a digest, and has to be changed with them.
"""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

import pytest

from skipchain import kernels

FOLDER = Path(kernels.__file__).parent
MARK = "# Compiled with "
NO_KERNELS = {"caching"}  # how kernels are compiled and kept, not what is compiled


def callees(path):
    """The kernel modules that a module imports from."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "skipchain.kernels":
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skipchain.kern"):
            found.add(node.module.rpartition(".")[2])
    return sorted(found - NO_KERNELS)


def digest(module):
    return hashlib.sha256((FOLDER / f"{module}.py").read_bytes()).hexdigest()[:12]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_file_changes_with_the_kernels_that_it_calls(path):
    wanted = [f"{MARK}{name} {digest(name)}" for name in callees(path)]
    found = [line for line in path.read_text(encoding="utf-8").splitlines() if MARK in line]
    assert found == wanted, "put these lines below the imports:\n" + "\n".join(wanted)
