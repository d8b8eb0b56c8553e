"""Label filters: binary hidden units that look at windows of labels, sampled together with them.

A group g is n_g hidden units that look at the labels at offsets o_k from their place. It is
repeated along a chain: the replica at r looks at positions r + o_k. With the labels' own scores
node and the units' scores ``input`` [N, Q], which depend on the input (both for a fixed x),

    log p(y, h) = Σ_t node[t, y_t] + Σ_g Σ_r Σ_n h_{g,r,n} a_{g,r,n}(y) − log Z
    a_{g,r,n}(y) = b_{g,n} + Σ_j input[r + i_j, q_g(j, n)] + Σ_k w_g[k, y_{r + o_k}, n]     (5.18)
    p(h_{g,r,n} = 1 | y) = σ(a_{g,r,n}(y))                                                   (5.9)
    p(y_t = j | h) ∝ exp(node[t, j] + Σ_g Σ_{r + o_k = t} Σ_n h_{g,r,n} w_g[k, j, n])        (5.8)

(equations of the thesis on label features in docs/models/rbm-crf.md). A group that looks at the
input at offsets i_j has the columns q_g(j, n) of ``input``; there is none outside the chain, and a
group that does not look at the input has columns that are not read. Labels outside the chain
have a number of their own, L, whose weights are the last of w_g; a replica whose labels all lie
outside is left out. Given the labels all units are independent, and given the units all labels: one
step of Gibbs sampling goes through the replicas once, and adds the weights of those that are on to
the scores of their labels. Units need not be kept.

Where there are experts (`kernels.experts`), their hidden states are drawn in the same step, and
what they say of labels is added to the scores, too. Where there is a second level of units
(`kernels.unit_levels`), what it says of units is added to a(y), and it is drawn given the units.
Its units, ``upper`` [N, H'], are kept from step to step; without one, H' is 0.

Each chain has a generator of random numbers of its own, so that chains can be worked on in any
order, by any number of threads, with the same result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skipchain.kernels.chain import _longest
from skipchain.kernels.experts import add_state_statistics, draw, sample_states
from skipchain.kernels.kernel import kernel
from skipchain.kernels.unit_draws import draw_unit, sigmoid
from skipchain.kernels.unit_levels import (
    add_from_above,
    add_upper_statistics,
    draw_upper,
    first_place,
    lower_units,
)

NEGLIGIBLE_LOG = -40.0  # in a sum with 1, exp of anything below is nothing


class RBMLayout(NamedTuple):
    """Groups of hidden units as arrays.

    Group g has the units units[g] … units[g + 1] − 1 and the offsets from offset_starts[g] on. Its
    weights [K, L + 1, n] begin at ``weight_starts[g]`` of a flat vector. Replicas of a chain of
    length T stand at replica_start[g] … T − replica_margin[g] − 1. Its offsets of the input begin
    at ``input_starts[g]``, and the columns of their scores, units after units, at
    ``input_columns[g]``. A group of the second level looks at the units of the group ``below[g]``,
    which is −1 for others; its weights are [K, n of that group, n], and its units have the columns
    of ``upper`` from ``upper_columns[g]`` on.
    """

    units: np.ndarray  # [G + 1]
    offset_starts: np.ndarray  # [G + 1]
    offsets: np.ndarray  # [Σ K]
    weight_starts: np.ndarray  # [G + 1]
    replica_start: np.ndarray  # [G]
    replica_margin: np.ndarray  # [G]
    input_starts: np.ndarray  # [G + 1]
    input_offsets: np.ndarray  # [Σ J]
    input_columns: np.ndarray  # [G + 1]
    below: np.ndarray  # [G]
    upper_columns: np.ndarray  # [G]


class RBMTables(NamedTuple):
    """Weights and biases of all units: w_g as [K, L + 1, n], and transposed as [n, K, L + 1]."""

    label_to_unit: np.ndarray
    unit_to_label: np.ndarray
    bias: np.ndarray  # [H]


@kernel
def contrastive_divergence(
    node, inputs, offsets, chains, layout, tables, experts, labels, steps, states, current,
    clamped, upper, gradient, bias_gradient, residuals, hidden, moved, emitted
):  # fmt: skip
    """The statistics of labels minus those of what ``steps`` of sampling make of ``current``.

    For chains[0] … chains[1] − 1. ``current`` [N] holds the labels to begin from (the data, or
    where the last call ended), and takes up those reached; ``upper`` is the same of the second
    level, and ``clamped`` its units beside the data's labels, which are as many steps further
    before statistics are taken. To gradient (as ``label_to_unit``) and
    bias_gradient [H] the differences of σ(a) are *added* (5.10, 5.11); residuals [N, L] are the
    labels minus p(y | h) in the last step, the expectation of (5.17); to hidden [N, Q] or [0, Q]
    the differences of σ(a) are added at the input that units look at; to moved and emitted those
    of the experts' states (`add_state_statistics`). Returned is −log p(labels | h), h drawn in the
    first step, summed over positions: how badly labels are reconstructed.
    """
    size = node.shape[1]
    probs = np.empty(size)
    scores = np.empty((_longest(offsets[chains[0] : chains[1] + 1]), size + 1))
    active = np.empty(len(tables.bias))
    lower = lower_units(layout, len(scores), upper)
    lost = 0.0
    base = offsets[chains[0]]
    for c in range(chains[0], chains[1]):
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        for _ in range(steps if upper.shape[1] else 0):
            _score_labels(
                labels,
                first,
                length,
                node,
                inputs,
                1.0,
                layout,
                tables,
                states,
                c,
                active,
                clamped,
                lower,
                scores,
            )
        _statistics(
            labels,
            first,
            length,
            size,
            inputs,
            layout,
            tables,
            1.0,
            states,
            c,
            active,
            clamped,
            lower,
            gradient,
            bias_gradient,
            hidden,
        )
        add_state_statistics(experts, labels, first, length, base, size, 1.0, moved, emitted)
        for step in range(steps):
            _score_labels(
                current,
                first,
                length,
                node,
                inputs,
                1.0,
                layout,
                tables,
                states,
                c,
                active,
                upper,
                lower,
                scores,
            )
            sample_states(experts, current, first, length, base, 1.0, step, states, c, scores, size)
            for t in range(length):
                _normalise(scores, t, probs)
                gold = labels[first + t]
                if step == 0:
                    lost -= np.log(max(probs[gold], 1e-300))
                current[first + t] = draw(probs, states, c)
                if step == steps - 1:
                    for j in range(size):
                        residuals[first + t, j] = -probs[j]
                    residuals[first + t, gold] += 1.0
        _statistics(
            current,
            first,
            length,
            size,
            inputs,
            layout,
            tables,
            -1.0,
            states,
            c,
            active,
            upper,
            lower,
            gradient,
            bias_gradient,
            hidden,
        )
        add_state_statistics(experts, current, first, length, base, size, -1.0, moved, emitted)
    return lost


@kernel
def sample(
    node, inputs, offsets, chains, layout, tables, experts, inverse_temperatures, kept, states,
    current, upper, marginals
):  # fmt: skip
    """Gibbs sampling of labels, for chains[0] … chains[1] − 1.

    In step s all scores are multiplied by inverse_temperatures[s]; over the last ``kept`` steps p(y
    | h) is averaged into marginals [N, L]. ``current`` [N] and ``upper`` hold the labels and the
    units of the second level to begin from, and take up the last ones.
    """
    size = node.shape[1]
    probs = np.empty(size)
    scores = np.empty((_longest(offsets[chains[0] : chains[1] + 1]), size + 1))
    active = np.empty(len(tables.bias))
    lower = lower_units(layout, len(scores), upper)
    base = offsets[chains[0]]
    for c in range(chains[0], chains[1]):
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        marginals[first : first + length] = 0.0
        for s in range(len(inverse_temperatures)):
            beta = inverse_temperatures[s]
            keep = s >= len(inverse_temperatures) - kept
            _score_labels(
                current,
                first,
                length,
                node,
                inputs,
                beta,
                layout,
                tables,
                states,
                c,
                active,
                upper,
                lower,
                scores,
            )
            sample_states(experts, current, first, length, base, beta, s, states, c, scores, size)
            for t in range(length):
                _normalise(scores, t, probs)
                current[first + t] = draw(probs, states, c)
                if keep:
                    for j in range(size):
                        marginals[first + t, j] += probs[j] / kept


@kernel
def unit_probabilities(labels, inputs, layout, tables, size, group, upper, out):
    """p(h = 1 | y) of one group along one chain; NaN where a replica is left out. [R, n]

    Where there is a second level, given its units, too; of its own groups there is nothing to tell.
    """
    active = np.empty(len(tables.bias))
    for r in range(out.shape[0]):
        at = layout.replica_start[group] + r
        seen = _activations(
            labels, 0, len(labels), size, inputs, at, group, layout, tables, upper, active
        )
        for n in range(out.shape[1]):
            out[r, n] = sigmoid(active[n]) if seen else np.nan


@kernel
def _score_labels(
    labels, begin, length, node, inputs, beta, layout, tables, states, c, active, upper, lower,
    scores
):  # fmt: skip
    """Draw all units given the labels, and write the scores of labels given the units. [T, L + 1]

    All scores are multiplied by the inverse temperature ``beta``. Rows have a place for the weights
    of what lies outside, which says nothing here: so the weights of a unit for neighbouring
    positions are added in one run. Units of a second level are drawn after the others.
    """
    size = node.shape[1]
    levels = upper.shape[1] > 0
    lower[:] = 0
    for t in range(length):
        for j in range(size):
            scores[t, j] = beta * node[begin + t, j]
        scores[t, size] = 0.0
    flat = scores.reshape(-1)
    width = size + 1
    for g in range(len(layout.replica_start)):
        if layout.below[g] >= 0:
            continue
        units = layout.units[g + 1] - layout.units[g]
        offsets = layout.offsets[layout.offset_starts[g] : layout.offset_starts[g + 1]]
        places, run = len(offsets), _contiguous(offsets)
        for r in range(layout.replica_start[g], length - layout.replica_margin[g]):
            if not _activations(
                labels, begin, length, size, inputs, r, g, layout, tables, upper, active
            ):
                continue
            for n in range(units):
                if not draw_unit(beta * active[n], states, c):
                    continue
                if levels:
                    lower[r - first_place(layout), layout.units[g] + n] = 1
                row = layout.weight_starts[g] + n * places * width
                for k in range(0, places, run):
                    first = max(r + offsets[k], 0)
                    last = min(r + offsets[k] + run, length)
                    shift = row + (k - r - offsets[k]) * width
                    for m in range(first * width, last * width):
                        flat[m] += beta * tables.unit_to_label[shift + m]
    if levels:
        draw_upper(lower, begin, length, beta, layout, tables, states, c, active, upper)


@kernel
def _contiguous(offsets):
    """How many offsets follow each other without a gap: all, or else one at a time."""
    for k in range(1, len(offsets)):
        if offsets[k] != offsets[0] + k:
            return 1
    return len(offsets)


@kernel
def _statistics(
    labels, begin, length, size, inputs, layout, tables, sign, states, c, active, upper, lower,
    gradient, bias_gradient, hidden
):  # fmt: skip
    """Add σ(a), times the sign, to the gradients of what each unit looks at.

    Where there is a second level, units are drawn, too, and it is told of those that are on.
    """
    levels = upper.shape[1] > 0
    lower[:] = 0
    for g in range(len(layout.replica_start)):
        if layout.below[g] >= 0:
            continue
        first = layout.units[g]
        units = layout.units[g + 1] - first
        for r in range(layout.replica_start[g], length - layout.replica_margin[g]):
            if not _activations(
                labels, begin, length, size, inputs, r, g, layout, tables, upper, active
            ):
                continue
            for n in range(units):
                if levels and draw_unit(active[n], states, c):
                    lower[r - first_place(layout), first + n] = 1
                active[n] = sign * sigmoid(active[n])
                bias_gradient[first + n] += active[n]
            row = layout.weight_starts[g]
            for k in range(layout.offset_starts[g], layout.offset_starts[g + 1]):
                t = r + layout.offsets[k]
                label = labels[begin + t] if 0 <= t < length else size
                for n in range(units):
                    gradient[row + label * units + n] += active[n]
                row += (size + 1) * units
            if hidden.shape[0]:
                column = layout.input_columns[g]
                for k in range(layout.input_starts[g], layout.input_starts[g + 1]):
                    t = r + layout.input_offsets[k]
                    if 0 <= t < length:
                        for n in range(units):
                            hidden[begin + t, column + n] += active[n]
                    column += units
    if levels:
        add_upper_statistics(lower, length, layout, tables, sign, active, gradient, bias_gradient)


@kernel
def _activations(labels, begin, length, size, inputs, r, g, layout, tables, upper, out):
    """Write a(y) of the units of one replica; False if it looks at no position of the chain.

    What the second level says of them is added.
    """
    first = layout.units[g]
    units = layout.units[g + 1] - first
    for n in range(units):
        out[n] = tables.bias[first + n]
    if inputs.shape[0]:
        column = layout.input_columns[g]
        for k in range(layout.input_starts[g], layout.input_starts[g + 1]):
            t = r + layout.input_offsets[k]
            if 0 <= t < length:
                for n in range(units):
                    out[n] += inputs[begin + t, column + n]
            column += units
    seen = False
    row = layout.weight_starts[g]
    for k in range(layout.offset_starts[g], layout.offset_starts[g + 1]):
        t = r + layout.offsets[k]
        label = size
        if 0 <= t < length:
            label = labels[begin + t]
            seen = True
        for n in range(units):
            out[n] += tables.label_to_unit[row + label * units + n]
        row += (size + 1) * units
    if seen and upper.shape[1]:
        add_from_above(upper, begin, length, r, g, layout, tables, out)
    return seen


@kernel
def _normalise(scores, t, probs):
    """Probabilities from the scores of position t."""
    top = scores[t, 0]
    for j in range(1, len(probs)):
        top = max(top, scores[t, j])
    total = 0.0
    for j in range(len(probs)):
        under = scores[t, j] - top
        probs[j] = np.exp(under) if under > NEGLIGIBLE_LOG else 0.0
        total += probs[j]
    for j in range(len(probs)):
        probs[j] /= total
