"""Scores of tokens from tables of distinct values, each of which is looked at once.

A *value* is one string of one column, under a number. From ``row_at[value]`` on it has consecutive
rows in ``rows`` [·, W]: a slot for each offset, or bag, from which templates of one view look at
the column, with the summed weights of all its features there. Place L of a row counts the features
that the model does not know; what is behind it is there for the processor's sake. The value has
also cells in ``codes`` from ``code_at[value]`` on, the numbers of its views: −1 where a view has
nothing, below that where the string of a view is unknown (a number of its own for each), and for a
view of several strings the first of them in ``lists`` and how many there are.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.kernel import kernel
from skipchain.kernels.trie import slot_of, spread

ABSENT = -1
MAX_ATOMS = 20  # views that a conjunction joins, as in the template language
PART = 1024  # places whose tables stay in the cache
MEMO = 1024  # sums of conjunctions of lists that are remembered
NOTHING = -(1 << 40)
DIRECT = -1  # in place of a hash table's mask: rows stand under the keys themselves


@kernel
def merge_values(codes, code_at, lists, terms, numbers, state, rows, row_at, first):
    """Add up the weights of the features of all values from ``first`` on, slot by slot.

    ``terms`` [T, 4] are the templates of one view: slot, cell, whether the view has several
    strings, and where its features by view number begin in ``numbers``.
    """
    labels = state.shape[1]
    for value in range(first, row_at.shape[0]):
        for term in range(terms.shape[0]):
            row = rows[row_at[value] + terms[term, 0]]
            cell = code_at[value] + terms[term, 1]
            if terms[term, 2]:
                begin = codes[cell]
                for k in range(begin, begin + codes[cell + 1]):
                    _add_feature(lists[k], terms[term, 3], numbers, state, labels, row)
            else:
                _add_feature(codes[cell], terms[term, 3], numbers, state, labels, row)


@kernel
def _add_feature(code, start, numbers, state, labels, row):
    """Add the weights of the feature of a view number, or count it as unknown."""
    if code == ABSENT:
        return
    feature = numbers[start + code] if code >= 0 else -1
    if feature < 0:
        row[labels] += 1.0
    else:
        for j in range(labels):
            row[j] += state[feature, j]


@kernel
def score_tokens(
    values,
    offsets,
    outside,
    rows,
    row_at,
    codes,
    code_at,
    lists,
    slots,
    bags,
    cells,
    joins,
    atoms,
    strides,
    keys,
    found,
    labels,
    node,
):
    """node_t = Σ of the rows of all that templates find at token t [N, W], W as of ``rows``.

    ``values`` [C, N] has the value of each column at each token, ``outside`` [C, 2] what stands
    before and after a chain. ``slots`` [·, 3]: column, offset, slot of a row that is added.
    ``bags`` [·, 4]: first and last offset, where its view stands in ``cells``, slot; each distinct
    view number is added once. ``cells`` [·, 3]: column, place among the value's codes, whether the
    view has several strings. ``joins`` [M + 1, 4]: where the atoms of conjunction m begin, and its
    table in ``found``, the mask of a hash table or `DIRECT`, whether one of its views has several
    strings. ``atoms`` [·, 2]: place in ``cells``, offset. The key of a conjunction is
    Σ code · ``strides``; ``keys`` are the hash tables, −1 where free, and ``found`` has the row of
    each slot, or of each key in a direct table. What is unknown is counted in place ``labels`` of a
    row. Row 0 is all zeros, and stands for what is no feature.

    Chains are taken some at a time, with what stands outside on both sides, so that no offset
    leaves the tables ``bases`` and ``seen``. Conjunctions are looked up for all their tokens, step
    by step: first the keys, then what stands in their slots, then those few that were pushed on. So
    memory is asked for many at a time, and little depends on guesses of the processor. Last come
    the sums, four rows at a time.
    """
    reach, window, most = 0, 0, slots.shape[0] + joins.shape[0] + 3
    for k in range(slots.shape[0]):
        reach = max(reach, abs(slots[k, 1]))
    for a in range(atoms.shape[0]):
        reach = max(reach, abs(atoms[a, 1]))
    for g in range(bags.shape[0]):
        window = max(window, bags[g, 1] - bags[g, 0])
        most += bags[g, 1] - bags[g, 0] + 1
    room = _longest_part(offsets, reach)
    bases = np.zeros((values.shape[0], room), np.int32)
    seen = np.zeros((cells.shape[0], room), np.int32)
    repeated = np.empty((bags.shape[0], room), np.int64)
    joined = np.empty((joins.shape[0], room), np.int32)
    wanted, places = np.empty(room, np.int64), np.empty(room, np.int64)
    peeked, strange = np.empty(room, np.int64), np.empty(room, np.int64)
    chosen = np.zeros(most, np.int64)
    counters = np.empty((3, MAX_ATOMS), np.int64)
    pairs = np.full((MEMO, 2), -1, np.int64)
    sums = np.empty((MEMO, rows.shape[1]), rows.dtype)
    chain = 0
    while chain < offsets.shape[0] - 1:
        stop, size = _next_part(offsets, chain, reach)
        for column in range(values.shape[0]):
            _lay_out(values, outside, offsets, chain, stop, reach, column, row_at, 0, bases[column])
        for u in range(cells.shape[0]):
            column, place = cells[u, 0], cells[u, 1]
            _lay_out(values, outside, offsets, chain, stop, reach, column, code_at, place, seen[u])
            for at in range(size):
                seen[u, at] = codes[seen[u, at]]
        for g in range(bags.shape[0]):
            _find_repeated(seen[bags[g, 2]], size, window, repeated[g])
        for at in range(size):
            strange[at] = 0
        for m in range(joins.shape[0] - 1):
            if not joins[m, 3]:
                _find_joined(
                    joins[m], joins[m + 1, 0], atoms, strides, seen, reach, size, keys, found,
                    wanted, places, peeked, joined[m], strange,
                )  # fmt: skip
        at = 0
        for c in range(chain, stop):
            at += reach
            begin, end = at, at + offsets[c + 1] - offsets[c]
            for here in range(begin, end):
                t = offsets[c] + here - begin
                count = 0
                for k in range(slots.shape[0]):
                    chosen[count] = bases[slots[k, 0], here + slots[k, 1]] + slots[k, 2]
                    count += 1
                for g in range(bags.shape[0]):
                    column, lowest = cells[bags[g, 2], 0], max(begin, here + bags[g, 0])
                    for there in range(lowest, min(end, here + bags[g, 1] + 1)):
                        chosen[count] = bases[column, there] + bags[g, 3]
                        count += repeated[g, there] < lowest
                for m in range(joins.shape[0] - 1):
                    if not joins[m, 3]:
                        chosen[count] = joined[m, here]
                        count += joined[m, here] > 0
                for k in range(count, count + 3):
                    chosen[k] = 0
                for j in range(node.shape[1]):
                    node[t, j] = 0.0
                for k in range(0, count, 4):
                    r0, r1, r2, r3 = chosen[k], chosen[k + 1], chosen[k + 2], chosen[k + 3]
                    for j in range(node.shape[1]):
                        node[t, j] += (rows[r0, j] + rows[r1, j]) + (rows[r2, j] + rows[r3, j])
                node[t, labels] += strange[here]
                for m in range(joins.shape[0] - 1):
                    if joins[m, 3]:
                        slot = _memo_slot(
                            m,
                            t,
                            offsets[c],
                            offsets[c + 1],
                            values,
                            outside,
                            codes,
                            code_at,
                            cells,
                            joins,
                            atoms,
                            pairs,
                        )
                        if slot == NOTHING:
                            continue
                        if slot < 0:
                            slot = -1 - slot
                            for j in range(sums.shape[1]):
                                sums[slot, j] = 0.0
                            unknown = _add_tuples(
                                m, t, offsets[c], offsets[c + 1], values, outside, codes, code_at,
                                lists, cells, joins, atoms, strides, keys, found, rows, counters,
                                sums[slot],
                            )  # fmt: skip
                            sums[slot, labels] += unknown
                        for j in range(node.shape[1]):
                            node[t, j] += sums[slot, j]
            at = end + reach
        chain = stop


@kernel
def _next_part(offsets, chain, reach):
    """Where the part that begins with a chain ends, and how many places it takes."""
    size = 0
    while chain < offsets.shape[0] - 1 and size < PART:
        size += offsets[chain + 1] - offsets[chain] + 2 * reach
        chain += 1
    return chain, size


@kernel
def _longest_part(offsets, reach):
    """The most places that a part takes, and as many more as an offset may go beyond."""
    chain, longest = 0, 0
    while chain < offsets.shape[0] - 1:
        chain, size = _next_part(offsets, chain, reach)
        longest = max(longest, size)
    return longest + reach


@kernel
def _lay_out(values, outside, offsets, chain, stop, reach, column, starts, place, laid):
    """Where the values of a column start, plus ``place``, with those outside of each chain."""
    at = 0
    before, after = starts[outside[column, 0]] + place, starts[outside[column, 1]] + place
    for c in range(chain, stop):
        for _ in range(reach):
            laid[at] = before
            at += 1
        for t in range(offsets[c], offsets[c + 1]):
            laid[at] = starts[values[column, t]] + place
            at += 1
        for _ in range(reach):
            laid[at] = after
            at += 1


@kernel
def _find_joined(
    join,
    stop,
    atoms,
    strides,
    seen,
    reach,
    size,
    keys,
    found,
    wanted,
    places,
    peeked,
    joined,
    strange,
):
    """The row of a conjunction at each place of a part, 0 for none; counts what is unknown.

    ``wanted``, ``places`` and ``peeked`` are room for keys, their slots, and what stands there.
    """
    begin, mask, first = join[1], join[2], join[0]
    inner = size - 2 * reach  # places, the neighbours of which are all there
    row_of, news = joined[reach:], strange[reach:]
    stride, stride2 = strides[first], strides[first + 1]
    ones = seen[atoms[first, 0], reach + atoms[first, 1] :]
    others = seen[atoms[first + 1, 0], reach + atoms[first + 1, 1] :]
    for at in range(inner):
        code, code2 = np.int64(ones[at]), np.int64(others[at])
        wanted[at] = code * stride + code2 * stride2
        places[at] = code | code2  # below zero where one of the numbers is
        peeked[at] = (code == ABSENT) | (code2 == ABSENT)
    for a in range(first + 2, stop):
        stride, ones = strides[a], seen[atoms[a, 0], reach + atoms[a, 1] :]
        for at in range(inner):
            code = np.int64(ones[at])
            wanted[at] += code * stride
            places[at] |= code
            peeked[at] |= code == ABSENT
    if mask == DIRECT:
        for at in range(inner):
            below = places[at] < 0
            row = found[begin + (0 if below else wanted[at])]
            row_of[at] = 0 if below else row
        for at in range(inner):
            news[at] += (row_of[at] == 0) & (peeked[at] == 0)
        return
    for at in range(inner):
        below = places[at] < 0
        news[at] += below & (peeked[at] == 0)
        wanted[at] = -2 if below else wanted[at]
        places[at] = begin + (spread(wanted[at]) & mask)
    for at in range(inner):
        peeked[at] = keys[places[at]]
    for at in range(inner):
        if peeked[at] >= 0 and peeked[at] != wanted[at] and wanted[at] >= 0:
            places[at] = slot_of(keys, begin, mask, wanted[at])
            peeked[at] = keys[places[at]]
    for at in range(inner):
        row_of[at] = found[places[at]] if peeked[at] == wanted[at] else 0
        news[at] += (wanted[at] >= 0) & (peeked[at] < 0)


@kernel
def _find_repeated(seen, size, window, repeated):
    """For each place the last one before it, within a window, that has its number.

    A place that has no number repeats itself; one without a like before it gets −1.
    """
    for at in range(size):
        repeated[at] = at if seen[at] == ABSENT else -1
        for before in range(max(0, at - window), at):
            if seen[before] == seen[at]:
                repeated[at] = max(repeated[at], before)


@kernel
def _lower(lowest, code):
    """The lower of two view numbers, where none at all (ABSENT) counts as the lowest."""
    if lowest == ABSENT or code == ABSENT:
        return ABSENT
    return min(lowest, code)


@kernel
def _value_at(values, column, at, first, last, outside):
    """The value of a column at a place, which may lie outside of the chain."""
    if at < first:
        return outside[column, 0]
    if at >= last:
        return outside[column, 1]
    return values[column, at]


@kernel
def _memo_slot(m, t, first, last, values, outside, codes, code_at, cells, joins, atoms, pairs):
    """Where the sums of a conjunction of lists at a token are remembered.

    Below zero, −1 − slot, they are yet to be found, and `NOTHING` says that a list is empty. The
    ``pairs`` [MEMO, 2] tell which lists and numbers of which conjunction each slot has; only
    conjunctions of two views are remembered.
    """
    begin, size = joins[m, 0], joins[m + 1, 0] - joins[m, 0]
    pair = np.int64(0)
    for a in range(size):
        cell = atoms[begin + a, 0]
        value = _value_at(values, cells[cell, 0], t + atoms[begin + a, 1], first, last, outside)
        place = code_at[value] + cells[cell, 1]
        if cells[cell, 2]:
            if codes[place + 1] == 0:
                return NOTHING
            pair = (pair << 31) | np.int64(place)
        elif codes[place] == ABSENT:
            return NOTHING
        else:
            pair = (pair << 31) | np.int64(codes[place] & 0x7FFFFFFF)
    slot = (spread(pair ^ (pair >> 31)) + m) & (MEMO - 1)  # the low bits of both count
    if size == 2 and pairs[slot, 0] == pair and pairs[slot, 1] == m:
        return slot
    pairs[slot, 0] = pair
    pairs[slot, 1] = m
    return -1 - slot


@kernel
def _add_tuples(
    m,
    t,
    first,
    last,
    values,
    outside,
    codes,
    code_at,
    lists,
    cells,
    joins,
    atoms,
    strides,
    keys,
    found,
    rows,
    counters,
    sums,
):
    """Add the rows of all tuples of a conjunction whose views may have several strings.

    All combinations are gone through as a counter goes through its digits; returns how many of
    them are unknown. ``counters`` is room for where lists begin, their lengths, and the digits.
    """
    begin, size = joins[m, 0], joins[m + 1, 0] - joins[m, 0]
    starts, counts, digits = counters[0], counters[1], counters[2]
    for a in range(size):
        digits[a] = 0
        cell = atoms[begin + a, 0]
        column, place, several = cells[cell, 0], cells[cell, 1], cells[cell, 2]
        value = _value_at(values, column, t + atoms[begin + a, 1], first, last, outside)
        cell = code_at[value] + place
        # of a view of one string the cell itself is the list
        starts[a] = codes[cell] if several else cell
        counts[a] = codes[cell + 1] if several else 1
        if counts[a] == 0:
            return 0
    unknown = 0
    while True:
        lowest, key = 0, np.int64(0)
        for a in range(size):
            at = starts[a] + digits[a]
            code = lists[at] if cells[atoms[begin + a, 0], 2] else codes[at]
            lowest = _lower(lowest, code)
            key += code * strides[begin + a]
        if lowest >= 0:
            if joins[m, 2] == DIRECT:
                row = found[joins[m, 1] + key]
            else:
                at = slot_of(keys, joins[m, 1], joins[m, 2], key)
                row = found[at] if keys[at] >= 0 else 0
            unknown += row == 0
            for j in range(rows.shape[1]):
                sums[j] += rows[row, j]
        elif lowest != ABSENT:
            unknown += 1
        a = 0
        while a < size and digits[a] + 1 == counts[a]:
            digits[a] = 0
            a += 1
        if a == size:
            return unknown
        digits[a] += 1


@kernel
def fill_table(wanted, first, mask, rows, keys, found):
    """Put keys [F] and their rows [F] into the hash table of ``mask + 1`` slots from ``first``."""
    for k in range(wanted.shape[0]):
        at = slot_of(keys, first, mask, wanted[k])
        keys[at] = wanted[k]
        found[at] = rows[k]
