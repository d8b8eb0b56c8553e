"""Kernels that index by data, with the bounds of arrays checked, which compiled code does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_no_score_leads_a_kernel_out_of_its_arrays(tmp_path):
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.hostile_scores"], cwd=ROOT, check=False,
        env={**os.environ, **checked}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == "200 attacks\n", done.stderr[-3000:]
