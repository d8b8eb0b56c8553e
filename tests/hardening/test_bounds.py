"""Models of every form at work, and files tampered with, with the bounds of arrays checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hardening.fuzz.samples import train_samples

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_no_index_leads_a_kernel_out_of_its_arrays(tmp_path):
    """The warm-up puts every sample model to work; then come every twentieth of 6,000 cases."""
    samples = tmp_path / "samples"
    samples.mkdir()
    train_samples(samples)
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    done = subprocess.run(
        [sys.executable, "-m", "hardening.fuzz.bounds", samples, "0", "0", "6000"],
        cwd=ROOT, env={**os.environ, **checked, "XDG_CACHE_HOME": str(tmp_path)}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == []
