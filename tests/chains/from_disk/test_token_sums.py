"""Sums that are added run by run are those that are made at once, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain.arrays import IN_MEMORY
from skipchain.chains.from_disk.token_sums import TokenSums, observed_pairs
from skipchain.chains.sums import FeatureSums
from skipchain.features.matrix import CSRMatrix, FeatureMatrix
from skipchain.parallel import Workers
from skipchain.scratch.folder import Scratch

TOKENS, FEATURES, BUNDLES, LABELS = 300, 40, 12, 5


def index(random, rows, columns, *, weighted):
    indptr = np.append(0, np.cumsum(random.integers(0, 6, rows)))
    values = random.normal(size=indptr[-1] if weighted else 0)
    return CSRMatrix(indptr, random.integers(0, columns, indptr[-1]).astype(np.int32), values)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("run", [1, 70, 1000])
@pytest.mark.parametrize("threads", [1, 3])
def test_same_bits(weighted, precision, run, threads, tmp_path):
    random = np.random.default_rng(run)
    tokens = index(random, TOKENS, FEATURES + BUNDLES, weighted=weighted)
    bundles = index(random, BUNDLES, FEATURES, weighted=weighted)
    rows = FeatureMatrix(tokens, bundles, CSRMatrix.empty(TOKENS), FEATURES)
    labels = random.integers(-1, LABELS, TOKENS).astype(np.int32)
    residuals = random.normal(size=(TOKENS, LABELS)).astype(precision)
    known = np.asarray(labels[:, None] == np.arange(LABELS))
    known[labels < 0] = True
    with Workers(threads) as workers, Scratch(tmp_path, small=0, resident=1) as scratch:
        at_once = FeatureSums.of(rows)
        support = at_once.unweighted().support(known.astype(np.float64), workers)
        for room in (IN_MEMORY, scratch):
            assert np.array_equal(observed_pairs(rows, labels, LABELS, room), support)
            sums = TokenSums(rows, support, LABELS, workers, room)
            for squared in (False, True):
                wanted = at_once.squared() if squared else at_once
                out = np.full(len(support), np.nan)
                sums.begin(out)
                for first in range(0, TOKENS, run):
                    sums.add(first, residuals[first : first + run], squared=squared)
                sums.finish(squared=squared)
                assert np.array_equal(out, wanted.at(support, residuals, workers))
