"""``skipchain warm``."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from skipchain.kernels.folders import SUFFIX


def warm(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "skipchain", "warm", *arguments], capture_output=True, text=True,
        check=False, timeout=600, env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
    )  # fmt: skip


@pytest.mark.slow
def test_what_tagging_needs_is_compiled_once(tmp_path):
    first = warm(tmp_path, "tag", "--json")
    assert (first.returncode, first.stderr) == (0, "tagging\n")
    told = json.loads(first.stdout)
    names = {own["kernel"] for own in told["kernels"]}
    assert {"kernels.lookup.score_tokens", "kernels.chain.viterbi", "numba"} <= names
    assert told["folders"] == [str(tmp_path)]
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert all(name.endswith(SUFFIX) for name in kept)
    again = warm(tmp_path, "tag", "--report", "--quiet")
    assert (again.returncode, again.stderr) == (0, "")
    assert "0 kernels compiled" in again.stdout
    assert str(tmp_path) in again.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == kept


def test_what_it_does_not_know_is_refused(tmp_path):
    done = warm(tmp_path, "tagging")
    assert done.returncode == 2
    assert "tag, train" in done.stderr
    assert len(done.stderr.splitlines()) == 1
