"""Searches from left to right that keep few hypotheses: greedy, and beam of a given width.

Blocks of chains as in `skipchain.kernels.chain`: ``node [N, S]``, ``edge [E, S, S]`` with E = 1 or
E = N, ``offsets [C + 1]``, −∞ forbids. Neither search walks into a dead end: a label from which the
rest of the chain cannot be completed is not taken, so a path is found wherever there is one.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.chain import _longest, _trace_back
from skipchain.kernels.kernel import kernel

LOWEST = np.finfo(np.float64).min  # above −∞ only


@kernel
def greedy(node, edge, offsets, path, score):
    """At each position the best label given the one chosen before it.

    y_t = argmax_j node_t(j) + edge_t(y_{t−1}, j); ties go to the lower state. path [N] and score
    [C], that of the path, are written; score is −∞ where there is no path. Dead ends are looked for
    only after walking into one: a walk that reaches the end has met none.
    """
    states = node.shape[1]
    alive = np.empty((_longest(offsets), states), np.bool_)
    free = alive[:0]
    for c in range(offsets.shape[0] - 1):
        first, last = offsets[c], offsets[c + 1]
        score[c] = _walk(node, edge, first, last, free, path)
        if score[c] == -np.inf:
            _find_completable(node, edge, first, last, alive)
            score[c] = _walk(node, edge, first, last, alive, path)


@kernel
def _walk(node, edge, first, last, alive, path):
    """One chain, label by label; with ``alive`` [T, S] only through labels that are."""
    states, varying = node.shape[1], edge.shape[0] > 1
    limited = alive.shape[0] > 0
    total, state = 0.0, 0
    for t in range(first, last):
        best, label = -np.inf, 0
        if t == first:
            for j in range(states):
                if node[t, j] > best and (not limited or alive[0, j]):
                    best = node[t, j]
                    label = j
        else:
            row = edge[t if varying else 0, state]
            for j in range(states):
                candidate = node[t, j] + row[j]
                if candidate > best and (not limited or alive[t - first, j]):
                    best = candidate
                    label = j
        total += best
        if total == -np.inf:
            break
        state = label
        path[t] = state
    return total


@kernel
def beam(node, edge, norms, offsets, width, path, score):
    """The best path among those whose every prefix is one of the ``width`` best kept.

    Hypotheses that end in the same state are recombined: what follows depends on that state only,
    so the best of them is kept and stands for all. Of the states at t those with the ``width``
    highest scores

        δ_t(j) = node_t(j) + max_i δ_{t−1}(i) − norms_t(i) + edge_t(i, j)

    go on, i over those that did at t − 1. With width ≥ S nothing is dropped, and this is Viterbi.
    Ties go to the lower state. States that lead to dead ends take no place in the beam.

    ``norms`` of shape [N, S] makes the prefixes of a locally normalised chain comparable: what the
    scores at t add up to after i is charged at t, and δ is the log-probability of a prefix. Without
    it (shape [0, S]) prefixes are compared by their scores. path [N] and score [C] are written;
    score is −∞ where there is no path.
    """
    states, varying = node.shape[1], edge.shape[0] > 1
    local = norms.shape[0] > 0
    narrow = width < states
    longest = _longest(offsets)
    back = np.empty((longest, states), np.int32)
    alive = np.empty((longest if narrow else 0, states), np.bool_)
    delta, best, work = np.empty(states), np.empty(states), np.empty(states)
    kept = np.arange(states + 1)  # one place more, for what is not kept
    count = states
    for c in range(offsets.shape[0] - 1):
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        if length == 0:
            score[c] = 0.0
            continue
        if narrow:
            _find_completable(node, edge, first, first + length, alive)
        for j in range(states):
            delta[j] = node[first, j]
            if local:
                delta[j] -= norms[first, j]
        for t in range(1, length):
            if narrow:
                count = _best_live(delta, alive[t - 1], width, work, kept)
            here = first + t
            table = edge[here] if varying else edge[0]
            for j in range(states):
                best[j] = -np.inf
                back[t, j] = 0
            for k in range(count):
                i = kept[k]
                d = delta[i]
                if local:
                    d -= norms[here, i]
                for j in range(states):
                    candidate = d + table[i, j]
                    if candidate > best[j]:
                        best[j] = candidate
                        back[t, j] = i
            for j in range(states):
                delta[j] = best[j] + node[here, j]
        score[c] = _trace_back(delta, back, first, length, path)


@kernel
def _best_live(delta, alive, width, work, kept):
    """The live states with the ``width`` highest scores into kept; returns how many they are.

    Dead states get the score −∞. No jump depends on a single score: scores cannot be foretold, and
    a jump taken wrongly costs more than the rest.
    """
    states = delta.shape[0]
    for j in range(states):
        delta[j] = delta[j] if alive[j] else -np.inf
        work[j] = delta[j]
    bar = max(_select(work, width - 1), LOWEST)
    count = 0
    for j in range(states):
        kept[count] = j
        count += delta[j] >= bar
    if count > width:  # several have the score of the last place; the lower states get in
        room = width
        for k in range(count):
            room -= delta[kept[k]] > bar
        tied, count = count, 0
        for k in range(tied):
            j = kept[k]
            if delta[j] > bar or room > 0:
                room -= delta[j] == bar
                kept[count] = j
                count += 1
    return count


@kernel
def _select(values, rank):
    """The value of a rank, 0 for the highest, by quickselect; the values change places."""
    low, high = 0, values.shape[0] - 1
    while low < high:
        middle = (low + high) >> 1
        pivot = values[middle]
        values[middle] = values[high]
        cut = low  # those before it are above the pivot
        for j in range(low, high):
            value = values[j]
            values[j] = values[cut]
            values[cut] = value
            cut += value > pivot
        values[high] = values[cut]
        values[cut] = pivot
        if rank < cut:
            high = cut - 1
        elif rank > cut:
            low = cut + 1
        else:
            break
    return values[rank]


@kernel
def _find_completable(node, edge, first, last, alive):
    """Which states of one chain have a path to its end: alive [T, S].

    Where one table serves all positions and two full rows follow each other, every state has a
    successor, and the row before them is full unless a node score forbids.
    """
    states, varying = node.shape[1], edge.shape[0] > 1
    full = 0  # how many full rows follow
    for here in range(last - 1, first - 1, -1):
        t = here - first
        barred = 0
        for i in range(states):
            barred += node[here, i] == -np.inf
        if full >= 2 and barred == 0 and not varying:
            for i in range(states):
                alive[t, i] = True
            continue
        table = edge[here + 1 if varying and here + 1 < last else 0]
        full += 1
        for i in range(states):
            alive[t, i] = node[here, i] > -np.inf and (
                here + 1 == last or _leads_on(table[i], alive[t + 1])
            )
            if not alive[t, i]:
                full = 0


@kernel
def _leads_on(row, alive):
    """Whether a live state can be reached by a row of edge scores."""
    for j in range(row.shape[0]):
        if alive[j] and row[j] > -np.inf:
            return True
    return False


@kernel
def _top_k(grown, values, many, width, places):
    """The places of the ``width`` largest of ``grown``, in order, into ``places``; how many.

    ``values[:many]`` are those of them that are above −∞; they are put into another order. Of
    equals the first are kept. What is no number gets no place: it is below any bar and above none.
    """
    bar, above = -np.inf, many
    if many > width:
        bar = _select(values[:many], width - 1)
        above = 0
        for k in range(grown.shape[0]):
            above += grown[k] > bar
    equal = width - above  # places for those that reach the bar and no more
    kept = 0
    for k in range(grown.shape[0]):
        if kept == width or grown[k] == -np.inf or not grown[k] >= bar:
            continue
        if grown[k] == bar:
            if equal == 0:
                continue
            equal -= 1
        places[kept] = k
        kept += 1
    return kept
