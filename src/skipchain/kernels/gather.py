"""Sums of table rows chosen by a sparse index: the one loop behind scores and gradients.

A token's scores are the sum of its features' weight rows; a feature's gradient is the sum of its
tokens' residual rows. Both are ``out[r] = Σ_k values[k] · table[indices[k]]`` over the entries k of
row r, the first with the index as built (CSR), the second with its transpose. Each output row is
written by one thread in a fixed order, so there are no locks, no private copies, and the result has
the same bits whatever the number of threads.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.kernel import kernel


@kernel
def gather(indptr, indices, values, table, more, out, first, last, add):
    """Write rows ``first … last − 1`` of ``out``; ``values`` of length 0 means ones.

    indptr [R + 1], indices [K], values [K] or [0], table [A, L], out [R, L]. Entry A + b means row
    b of ``more`` [B, L], so that two tables serve as one without being copied together. With
    ``add`` the sums are added to what ``out`` holds.
    """
    split, width = table.shape
    weighted = values.shape[0] > 0
    for r in range(first, last):
        if not add:
            for j in range(width):
                out[r, j] = 0.0
        for k in range(indptr[r], indptr[r + 1]):
            source = indices[k]
            v = values[k] if weighted else 1.0
            if source < split:
                for j in range(width):
                    out[r, j] += v * table[source, j]
            else:
                for j in range(width):
                    out[r, j] += v * more[source - split, j]


@kernel
def pick(values, places, first, out):
    """out[k] = values[places[k] − first]: what NumPy does, but without the interpreter's lock."""
    for k in range(places.shape[0]):
        out[k] = values[places[k] - first]


@kernel
def column_starts(indices, starts):
    """Where the entries of each column begin in the transposed index, and end. [C + 1]"""
    for c in range(starts.shape[0]):
        starts[c] = 0
    for k in range(indices.shape[0]):
        starts[indices[k] + 1] += 1
    for c in range(starts.shape[0] - 1):
        starts[c + 1] += starts[c]


@kernel
def transpose(indptr, indices, values, first, last, starts, out_indices, out_values):
    """Write the transposed index of the columns from ``first`` to ``last``, by a counting sort.

    For each column these are its rows in rising order, from ``starts`` [C + 1] on.
    """
    place = starts[first:last].copy()
    weighted = values.shape[0] > 0
    for r in range(indptr.shape[0] - 1):
        for k in range(indptr[r], indptr[r + 1]):
            c = indices[k] - first
            if 0 <= c < last - first:
                out_indices[place[c]] = r
                if weighted:
                    out_values[place[c]] = values[k]
                place[c] += 1


@kernel
def scatter(indptr, indices, values, residuals, low, high, starts, labels, out, bundle_out):
    """Add the residuals [n, L] of n rows to the sums of their entries from ``low`` to ``high``.

    Entry f below F has the sums ``out[starts[f] : starts[f + 1]]``, one for each of its ``labels``;
    entry F + b has row b of ``bundle_out`` [B, L].
    """
    split, width = starts.shape[0] - 1, bundle_out.shape[1]
    weighted = values.shape[0] > 0
    for r in range(indptr.shape[0] - 1):
        for k in range(indptr[r], indptr[r + 1]):
            c = indices[k]
            if c < low or c >= high:
                continue
            v = values[k] if weighted else 1.0
            if c < split:
                for s in range(starts[c], starts[c + 1]):
                    out[s] += v * residuals[r, labels[s]]
            else:
                for j in range(width):
                    bundle_out[c - split, j] += v * residuals[r, j]


@kernel
def add_bundles(indptr, indices, values, bundle_sums, first, last, starts, labels, out):
    """Add to the sums of features ``first … last − 1`` those of the bundles that have them.

    ``starts``, ``labels`` and ``out`` are as for `scatter`.
    """
    weighted = values.shape[0] > 0
    for f in range(first, last):
        for k in range(indptr[f], indptr[f + 1]):
            v = values[k] if weighted else 1.0
            for s in range(starts[f], starts[f + 1]):
                out[s] += v * bundle_sums[indices[k], labels[s]]


@kernel
def expand_bundles(indptr, indices, values, split, bundle_indptr, bundle_indices, bundle_values):
    """The index in which every entry split + u is replaced by the entries of bundle u.

    ``values`` and ``bundle_values`` of length 0 mean ones; where both do, so do those returned.
    """
    rows = indptr.shape[0] - 1
    expanded_indptr = np.empty(rows + 1, np.int64)
    size = 0
    for r in range(rows):
        expanded_indptr[r] = size
        for k in range(indptr[r], indptr[r + 1]):
            u = indices[k] - split
            size += 1 if u < 0 else bundle_indptr[u + 1] - bundle_indptr[u]
    expanded_indptr[rows] = size
    weighted, bundle_weighted = values.shape[0] > 0, bundle_values.shape[0] > 0
    expanded_indices = np.empty(size, np.int32)
    expanded_values = np.ones(size if weighted or bundle_weighted else 0)
    n = 0
    for k in range(indptr[0], indptr[rows]):
        u = indices[k] - split
        last = n + (1 if u < 0 else bundle_indptr[u + 1] - bundle_indptr[u])
        if weighted:
            expanded_values[n:last] = values[k]
        if u < 0:
            expanded_indices[n] = indices[k]
            n = last
            continue
        for e in range(bundle_indptr[u], bundle_indptr[u + 1]):
            expanded_indices[n] = bundle_indices[e]
            if bundle_weighted:
                expanded_values[n] *= bundle_values[e]
            n += 1
    return expanded_indptr, expanded_indices, expanded_values


@kernel
def compress_columns(columns, extra_indptr, extra_indices):
    """One index of N rows from columns [K, N] of numbers (−1: none) and a further index."""
    width, rows = columns.shape
    indptr = np.zeros(rows + 1, np.int64)
    for k in range(width):
        for r in range(rows):
            if columns[k, r] >= 0:
                indptr[r + 1] += 1
    for r in range(rows):
        indptr[r + 1] += indptr[r] + extra_indptr[r + 1] - extra_indptr[r]
    indices = np.empty(indptr[rows], np.int32)
    place = indptr[:-1].copy()
    for k in range(width):
        for r in range(rows):
            if columns[k, r] >= 0:
                indices[place[r]] = columns[k, r]
                place[r] += 1
    for r in range(rows):
        for k in range(extra_indptr[r], extra_indptr[r + 1]):
            indices[place[r]] = extra_indices[k]
            place[r] += 1
    return indptr, indices
