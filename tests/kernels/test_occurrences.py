"""What is counted over other occurrences, against the same sums in numpy."""

from __future__ import annotations

import numpy as np

from skipchain.kernels.occurrences import likeliest_elsewhere


def test_likeliest_elsewhere_as_counted_by_token():
    random = np.random.default_rng(0)
    for size in (0, 1, 7, 200):
        group = random.integers(0, max(size // 3, 1), size)
        scores = random.dirichlet(np.ones(4), size)
        if size:
            scores[::5] = np.eye(4)[0]  # means that are whole bins
        found = likeliest_elsewhere(group, scores, 5)
        for t in range(size):
            others = np.flatnonzero((group == group[t]) & (np.arange(size) != t))
            if not len(others):
                assert found[t] == 20
                continue
            means = scores[others].mean(axis=0)
            best = found[t] // 5
            assert means[best] > means.max() - 1e-12
            assert found[t] % 5 == min(int(means[best] * 5 + 1e-6), 4)
