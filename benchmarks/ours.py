"""The same work by skipchain."""

from __future__ import annotations

from benchmarks.features import TEMPLATES
from benchmarks.peer import L2
from skipchain import CRF, read
from skipchain.modelfile import save


def train(source, target, tolerance, *, threads=None, progress=None):
    """File to model file; returns the fitted estimator."""
    crf = CRF(
        TEMPLATES, solver="lbfgs", l2=L2, tolerance=tolerance, threads=threads,
        encoding=None, boundaries=False, constraints="none",
    )  # fmt: skip
    crf.fit(read(source), progress=progress)
    save(crf.model_, target, overwrite=True)
    return crf
