"""A second level of hidden units, which look at those of the first.

A group u of the second level is n_u units H that look at the units h of one group g of the first,
at offsets o_k from their place. It is repeated at the places R = 0 … T − 1 of a chain. Beside the
labels and units of `kernels.rbm`,

    log p(y, h, H) = log p̃(y, h) + Σ_u Σ_R Σ_m H_{u,R,m} c_{u,R,m}(h) − log Z
    c_{u,R,m}(h) = b_{u,m} + Σ_k Σ_n v_u[k, n, m] h_{g,R+o_k,n}
    p(H_{u,R,m} = 1 | h) = σ(c_{u,R,m}(h))
    p(h_{g,r,n} = 1 | y, H) = σ(a_{g,r,n}(y) + Σ_u Σ_{R + o_k = r} Σ_m H_{u,R,m} v_u[k, n, m])

with a(y) as there. Where there is no unit of the first level (beyond the ends), nothing is added.
Given h, the labels and the units H are independent; given both, so are the units h. So sampling
takes turns between h and the two others, and the units H have to be kept from one step to the next.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.kernel import kernel
from skipchain.kernels.unit_draws import draw_unit, sigmoid


@kernel
def lower_units(layout, longest, upper):
    """Room for the units of the first level of one chain; none if there is no second. [P, H]"""
    if upper.shape[1] == 0:
        return np.zeros((0, 0), np.uint8)
    last = longest
    for g in range(len(layout.below)):
        last = max(last, longest - layout.replica_margin[g])
    return np.zeros((last - first_place(layout), layout.units[-1]), np.uint8)


@kernel
def first_place(layout):
    """The place that the first row of `lower_units` stands for."""
    first = 0
    for g in range(len(layout.below)):
        first = min(first, layout.replica_start[g])
    return first


@kernel
def add_from_above(upper, begin, length, r, g, layout, tables, out):
    """Add to a(y) of the replica r of group g what the units say that look at it."""
    size = layout.units[g + 1] - layout.units[g]
    for u in range(len(layout.below)):
        if layout.below[u] != g:
            continue
        first = layout.offset_starts[u]
        places = layout.offset_starts[u + 1] - first
        for k in range(places):
            place = r - layout.offsets[first + k]
            if not 0 <= place < length:
                continue
            for m in range(layout.units[u + 1] - layout.units[u]):
                if upper[begin + place, layout.upper_columns[u] + m]:
                    row = layout.weight_starts[u] + (m * places + k) * size
                    for n in range(size):
                        out[n] += tables.unit_to_label[row + n]


@kernel
def draw_upper(lower, begin, length, beta, layout, tables, states, c, active, upper):
    """Draw the units of the second level given those of the first, into upper [N, H']."""
    for u in range(len(layout.below)):
        if layout.below[u] < 0:
            continue
        for place in range(length):
            _activations(lower, place, u, layout, tables, active)
            for m in range(layout.units[u + 1] - layout.units[u]):
                on = draw_unit(beta * active[m], states, c)
                upper[begin + place, layout.upper_columns[u] + m] = on


@kernel
def add_upper_statistics(lower, length, layout, tables, sign, active, gradient, bias_gradient):
    """Add σ(c), times the sign, to the gradients of what each unit of the second level looks at."""
    for u in range(len(layout.below)):
        g = layout.below[u]
        if g < 0:
            continue
        first, units = layout.units[u], layout.units[u + 1] - layout.units[u]
        for place in range(length):
            _activations(lower, place, u, layout, tables, active)
            for m in range(units):
                active[m] = sign * sigmoid(active[m])
                bias_gradient[first + m] += active[m]
            _for_each_on(lower, place, u, layout, gradient, active, True)


@kernel
def _activations(lower, place, u, layout, tables, out):
    """Write c(h) of the units of group u at one place."""
    first = layout.units[u]
    for m in range(layout.units[u + 1] - first):
        out[m] = tables.bias[first + m]
    _for_each_on(lower, place, u, layout, tables.label_to_unit, out, False)


@kernel
def _for_each_on(lower, place, u, layout, weights, units, back):
    """Add the weights of the units below that are on to ``units``; or, if ``back``, these to them.

    ``weights`` has the form of ``label_to_unit``.
    """
    g = layout.below[u]
    first, size = layout.units[g], layout.units[g + 1] - layout.units[g]
    width = layout.units[u + 1] - layout.units[u]
    row = layout.weight_starts[u]
    for k in range(layout.offset_starts[u], layout.offset_starts[u + 1]):
        at = place + layout.offsets[k] - first_place(layout)
        for n in range(size):
            if 0 <= at < lower.shape[0] and lower[at, first + n]:
                for m in range(width):
                    if back:
                        weights[row + m] += units[m]
                    else:
                        units[m] += weights[row + m]
            row += width
