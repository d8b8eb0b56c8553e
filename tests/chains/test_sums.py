"""Sums by feature, block by block, against the whole table at once."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain.chains import sums
from skipchain.chains.from_disk.token_sums import label_support
from skipchain.chains.sums import FeatureSums
from skipchain.parallel import Workers
from tests.chains.test_online import NUMBERS, PAIRED, PLAIN, draw

TEMPLATES = pytest.mark.parametrize("templates", [PLAIN, PAIRED, NUMBERS])
LENGTHS = [5, 1, 0, 7, 12]


def table(rows, residuals, power=1):
    """Σ value^power · residual over the tokens of each feature. [F, W]"""
    expanded = rows.expanded()
    values = expanded.values if len(expanded.values) else np.ones(len(expanded.indices))
    out = np.zeros((rows.n_features, residuals.shape[1]))
    moved = values[:, None] ** power * residuals[expanded.row_ids]
    np.add.at(out, expanded.indices, moved)
    return out


@TEMPLATES
@pytest.mark.parametrize("block", [1, 7, 1 << 16])
@pytest.mark.parametrize("threads", [1, 2])
def test_sums_of_blocks_are_those_of_the_whole(monkeypatch, templates, block, threads):
    monkeypatch.setattr(sums, "BLOCK_ROWS", block)
    rows = draw(3, LENGTHS, templates=templates).rows
    residuals = np.random.default_rng(0).normal(size=(sum(LENGTHS), 4))
    found, expected = FeatureSums.of(rows), table(rows, residuals)
    places = np.flatnonzero(np.random.default_rng(1).random(expected.size) < 0.3)
    with Workers(threads) as workers:
        whole = found.at(None, residuals, workers).reshape(expected.shape)
        np.testing.assert_allclose(whole, expected, atol=1e-12)
        np.testing.assert_array_equal(found.at(places, residuals, workers), whole.flat[places])
        squared = found.squared().at(None, residuals, workers).reshape(expected.shape)
        np.testing.assert_allclose(squared, table(rows, residuals, 2), atol=1e-12)
        ones = np.abs(residuals)
        support = found.unweighted().support(ones, workers)
        np.testing.assert_array_equal(support, np.flatnonzero(table(rows, ones, 0)))


@TEMPLATES
def test_labels_that_go_with_a_feature(templates):
    data = draw(4, LENGTHS, templates=templates)
    labels = data.labels.copy()
    labels[::5] = -1
    gold = (labels[:, None] == np.arange(3)) | (labels[:, None] < 0)
    expected = table(data.rows, gold.astype(float), 0) > 0
    np.testing.assert_array_equal(label_support(data.rows, labels, 3), expected)
