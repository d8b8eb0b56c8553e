"""Brown clusters: merge the two clusters whose merge loses the least mutual information.

Clusters stand in slots. n(a, b) is how often a word of b follows one of a, l(a) and r(b) are how
often their words come first and second in any pair, T is the number of pairs. With f(x) = x log x

    T · MI = Σ_ab f(n(a, b)) − Σ_a R(a) log l(a) − Σ_b K(b) log r(b) + N log T

where R(a) = Σ_b n(a, b), K(b) = Σ_a n(a, b) and N = Σ_ab n(a, b) are sums over the words that have
been taken in. A merge of a and b changes the first sum by ``pair_terms[a, b]``, and the other two
by terms that follow from ``left_logs[a, b]`` = log(l(a) + l(b)) and ``right_logs``.

What makes it fast: g(x, y) = f(x) + f(y) − f(x + y) is 0 where x or y is 0. The pair terms are

    Σ_c g(n(a, c), n(b, c)) + g(n(c, a), n(c, b)),  put right where c is a or b,

so a word changes it only through the clusters beside which it stands, and most words are rare.
Brown and others (1992) merge in this order; the tables serve the purpose of Liang's (2005).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skipchain.kernels.kernel import kernel

TABLE_SIZE = 1 << 14  # values of f that are looked up
TIE_TOLERANCE = 1e-9  # nats; of losses this close to the least, that of the lowest slots is taken


class ClusterTables(NamedTuple):
    """The clusters as tables over S slots; kernels change them in place."""

    pairs: NDArray[np.int64]  # [S, S], n(a, b)
    transposed: NDArray[np.int64]  # [S, S], n(b, a)
    pair_terms: NDArray[np.float64]  # [S, S] above the diagonal; ∞ where a slot is free
    left_logs: NDArray[np.float64]  # [S, S], log(l(a) + l(b))
    right_logs: NDArray[np.float64]  # [S, S]
    left: NDArray[np.int64]  # [S], l(a)
    right: NDArray[np.int64]  # [S], r(a)
    row_terms: NDArray[np.int64]  # [S], R(a)
    column_terms: NDArray[np.int64]  # [S], K(a)
    used: NDArray[np.bool_]  # [S]
    dirty: NDArray[np.bool_]  # [S], changed since the best pair was sought
    min_loss: NDArray[np.float64]  # [S], the least loss with a later slot
    partner: NDArray[np.int64]  # [S], that slot; a itself where there is none
    root: NDArray[np.int64]  # [S], the word that stands for the cluster
    parent: NDArray[np.int64]  # [V], towards that word
    slot: NDArray[np.int64]  # [V], the slot of a word that stands for a cluster
    known: NDArray[np.float64]  # f(0), f(1) …

    @classmethod
    def empty(cls, slots: int, words: int) -> ClusterTables:
        """No cluster yet."""
        square = (slots, slots)
        return cls(
            pairs=np.zeros(square, np.int64), transposed=np.zeros(square, np.int64),
            pair_terms=np.full(square, np.inf),
            left_logs=np.zeros(square), right_logs=np.zeros(square),
            left=np.zeros(slots, np.int64), right=np.zeros(slots, np.int64),
            row_terms=np.zeros(slots, np.int64), column_terms=np.zeros(slots, np.int64),
            used=np.zeros(slots, np.bool_), dirty=np.zeros(slots, np.bool_),
            min_loss=np.full(slots, np.inf), partner=np.arange(slots), root=np.full(slots, -1),
            parent=np.arange(words), slot=np.full(words, -1), known=xlogx_table(),
        )  # fmt: skip


def xlogx_table() -> NDArray[np.float64]:
    """f(0), f(1) …, to be looked up."""
    numbers = np.arange(TABLE_SIZE, dtype=np.float64)
    table: NDArray[np.float64] = numbers * np.log(np.maximum(numbers, 1.0))
    return table


@kernel
def add_words(clusters, after, before, left, right, total, span, limit):
    """Take in the words ``span``, merging a pair each time that there are more than ``limit``.

    ``after`` is (indptr [V + 1], words [K], counts [K]): what follows each word, sorted by word;
    ``before`` what it follows. left, right [V] are l and r of each word, total is T.
    """
    size = clusters.used.shape[0]
    row, column = np.zeros(size, np.int64), np.zeros(size, np.int64)
    free = 0
    for w in range(span[0], span[1]):
        while clusters.used[free]:
            free += 1
        clusters.root[free] = w
        clusters.slot[w] = free
        repeats = _count_neighbours(clusters, after, w, row)
        _count_neighbours(clusters, before, w, column)
        _insert(clusters, free, row, column, repeats, left[w], right[w])
        row[:] = 0
        column[:] = 0
        if clusters.used.sum() > limit:
            a, b, _ = best_pair(clusters, total)
            free = _merge(clusters, a, b)[1]


@kernel
def merge_all(clusters, total):
    """Merge until one cluster is left: [K, 2] slots, that which stayed and that which was freed."""
    count = clusters.used.sum()
    merges = np.empty((max(count - 1, 0), 2), np.int64)
    for k in range(count - 1):
        a, b, _ = best_pair(clusters, total)
        merges[k] = _merge(clusters, a, b)
    return merges


@kernel
def best_pair(clusters, total):
    """The pair of slots whose merge loses least, and T times the loss.

    Only pairs with a slot that has been touched since the last call can have changed. Of each slot
    the least loss with a later one is kept, and sought anew only where it may have grown.
    """
    size = clusters.used.shape[0]
    margins = np.empty(size)
    for a in range(size):
        margins[a] = _margin(clusters, a)
    touched = np.nonzero(clusters.dirty)[0]
    for a in range(size):
        if clusters.dirty[a] or clusters.dirty[clusters.partner[a]]:
            _seek_partner(clusters, margins, a)
            continue
        for b in touched:
            if b > a:
                loss = _loss(clusters, margins, a, b)
                if loss < clusters.min_loss[a]:
                    clusters.min_loss[a], clusters.partner[a] = loss, b
    clusters.dirty[:] = False
    bar = clusters.min_loss.min() + TIE_TOLERANCE * total
    first = 0
    while clusters.min_loss[first] > bar:
        first += 1
    for second in range(first + 1, size):
        loss = _loss(clusters, margins, first, second)
        if loss <= bar:
            return first, second, loss
    return first, clusters.partner[first], clusters.min_loss[first]


@kernel
def _seek_partner(clusters, margins, a):
    """The later slot that is best merged with a, and the loss."""
    clusters.min_loss[a], clusters.partner[a] = np.inf, a
    if not clusters.used[a]:
        return
    for b in range(a + 1, clusters.used.shape[0]):
        loss = _loss(clusters, margins, a, b)
        if loss < clusters.min_loss[a]:
            clusters.min_loss[a], clusters.partner[a] = loss, b


@kernel
def _margin(clusters, a):
    """What a's margins take off the information."""
    rows = clusters.row_terms[a] * _log(clusters.left[a])
    return rows + clusters.column_terms[a] * _log(clusters.right[a])


@kernel
def _loss(clusters, margins, a, b):
    """T times the loss of merging a and b, a < b; ``margins`` [S] as from `_margin`."""
    rows = (clusters.row_terms[a] + clusters.row_terms[b]) * clusters.left_logs[a, b]
    columns = (clusters.column_terms[a] + clusters.column_terms[b]) * clusters.right_logs[a, b]
    return clusters.pair_terms[a, b] + rows + columns - margins[a] - margins[b]


@kernel
def mutual_information(clusters, total):
    """The mutual information of neighbouring clusters, in nats."""
    size = clusters.used.shape[0]
    information, count = 0.0, 0
    for a in range(size):
        for b in range(size):
            information += _xlogx(clusters.known, clusters.pairs[a, b])
        information -= _margin(clusters, a)
        count += clusters.row_terms[a]
    return (information + count * np.log(max(total, 1))) / max(total, 1)


@kernel
def members(clusters):
    """The slot of each word's cluster. [V]"""
    slots = np.empty(clusters.parent.shape[0], np.int64)
    for w in range(slots.shape[0]):
        slots[w] = clusters.slot[_root(clusters.parent, w)]
    return slots


@kernel
def exchange(member, table, after, before, left, right, known, total):
    """Move each word, in order, to the cluster where it leaves most information; how many moved.

    member [V] is the cluster of each word and table [C, C] how often one follows another; both
    change in place. Here all words are taken in, so that T · MI = Σ_ab f(n(a, b)) − Σ_a f(l(a)) −
    Σ_b f(r(b)) + f(T), and it never falls. A word stays where another cluster is no better by
    `TIE_TOLERANCE`, or where it is alone. The rest is as in `add_words`. (Martin, Liermann and Ney,
    1998.)
    """
    size = table.shape[0]
    transposed = table.T.copy()
    firsts, seconds = table.sum(axis=1), transposed.sum(axis=1)
    sizes = np.bincount(member, minlength=size)
    row, column, gains = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size)
    moved = 0
    for w in range(member.shape[0]):
        home = member[w]
        if sizes[home] == 1:
            continue
        repeats = _count_neighbour_clusters(member, after, w, row)
        _count_neighbour_clusters(member, before, w, column)
        _move_word(table, transposed, row, column, repeats, home, -1)
        firsts[home] -= left[w]
        seconds[home] -= right[w]
        followers, precursors = _nonzero(row), _nonzero(column)
        for b in range(size):
            gain = _xlogx(known, firsts[b]) - _xlogx(known, firsts[b] + left[w])
            gain += _xlogx(known, seconds[b]) - _xlogx(known, seconds[b] + right[w])
            own = table[b, b]
            gain += _xlogx(known, own + row[b] + column[b] + repeats) - _xlogx(known, own)
            for d in followers:
                if d != b:
                    gain += _xlogx(known, table[b, d] + row[d]) - _xlogx(known, table[b, d])
            for d in precursors:
                if d != b:
                    count = transposed[b, d]
                    gain += _xlogx(known, count + column[d]) - _xlogx(known, count)
            gains[b] = gain
        best = np.argmax(gains)
        if gains[best] <= gains[home] + TIE_TOLERANCE * total:
            best = home
        _move_word(table, transposed, row, column, repeats, best, 1)
        firsts[best] += left[w]
        seconds[best] += right[w]
        row[:] = 0
        column[:] = 0
        if best != home:
            sizes[home] -= 1
            sizes[best] += 1
            member[w] = best
            moved += 1
    return moved


# Steps -------------------------------------------------------------------------------------------


@kernel
def _xlogx(known, x):
    return known[x] if x < known.shape[0] else x * np.log(x)


@kernel
def _g(known, x, y):
    if x == 0 or y == 0:
        return 0.0
    return _xlogx(known, x) + _xlogx(known, y) - _xlogx(known, x + y)


@kernel
def _log(x):
    """log x; of nothing it is multiplied by 0."""
    return np.log(x) if x > 0 else 0.0


@kernel
def _root(parent, w):
    while parent[w] != w:
        parent[w] = parent[parent[w]]
        w = parent[w]
    return w


@kernel
def _count_neighbours(clusters, side, w, counts):
    """Add up what stands beside word w, by slot; returns how often it is w itself."""
    indptr, words, numbers = side
    repeats = 0
    for k in range(indptr[w], indptr[w + 1]):
        if words[k] > w:
            break
        if words[k] == w:
            repeats = numbers[k]
        else:
            counts[clusters.slot[_root(clusters.parent, words[k])]] += numbers[k]
    return repeats


@kernel
def _count_neighbour_clusters(member, side, w, counts):
    """Add up what stands beside word w, by cluster; returns how often it is w itself."""
    indptr, words, numbers = side
    repeats = 0
    for k in range(indptr[w], indptr[w + 1]):
        if words[k] == w:
            repeats = numbers[k]
        else:
            counts[member[words[k]]] += numbers[k]
    return repeats


@kernel
def _move_word(table, transposed, row, column, repeats, c, sign):
    """Put a word's neighbours into cluster c of a table, or (sign −1) take them out."""
    for d in range(table.shape[0]):
        table[c, d] += sign * row[d]
        table[d, c] += sign * column[d]
        transposed[d, c] += sign * row[d]
        transposed[c, d] += sign * column[d]
    table[c, c] += sign * repeats
    transposed[c, c] += sign * repeats


@kernel
def _block_correction(clusters, a, b):
    """What the sum over all c has to be put right by, where c is a or b."""
    n, known = clusters.pairs, clusters.known
    aa, ab, ba, bb = n[a, a], n[a, b], n[b, a], n[b, b]
    term = 0.0
    for x in (aa + ab, ba + bb, aa + ba, ab + bb):
        term += _xlogx(known, x)
    for x in (aa, ab, ba, bb, aa + ab + ba + bb):
        term -= _xlogx(known, x)
    return term


@kernel
def _context_term(clusters, a, b, c):
    """What c adds to the sum for a and b."""
    n, t, known = clusters.pairs, clusters.transposed, clusters.known
    return _g(known, n[a, c], n[b, c]) + _g(known, t[a, c], t[b, c])


@kernel
def _nonzero(row):
    """The places where a row of counts is not 0."""
    places = np.empty(row.shape[0], np.int64)
    count = 0
    for c in range(row.shape[0]):
        if row[c] > 0:
            places[count] = c
            count += 1
    return places[:count]


@kernel
def _insert(clusters, s, row, column, repeats, left, right):
    """Put a word into the free slot s: row [S] is what follows it, column [S] what it follows."""
    n, t, terms, known = clusters.pairs, clusters.transposed, clusters.pair_terms, clusters.known
    size = n.shape[0]
    row[s] = column[s] = repeats
    for c in range(size):
        n[s, c] = t[c, s] = row[c]
        t[s, c] = n[c, s] = column[c]
        if c != s:
            clusters.row_terms[c] += column[c]
            clusters.column_terms[c] += row[c]
    clusters.row_terms[s], clusters.column_terms[s] = row.sum(), column.sum()
    clusters.left[s], clusters.right[s] = left, right
    clusters.used[s] = True
    followers, precursors = _nonzero(n[s]), _nonzero(t[s])
    _mark_dirty(clusters, s, followers, precursors)
    for beside, counts in ((followers, n[s]), (precursors, t[s])):
        for i in range(beside.shape[0]):
            a = beside[i]
            for k in range(i + 1, beside.shape[0]):
                b = beside[k]
                if s not in (a, b):
                    terms[a, b] += _g(known, counts[a], counts[b])
    for a in range(size):
        if a == s or not clusters.used[a]:
            continue
        value = 0.0
        for c in followers:
            value += _g(known, n[a, c], n[s, c])
        for c in precursors:
            value += _g(known, t[a, c], t[s, c])
        terms[min(a, s), max(a, s)] = value + _block_correction(clusters, a, s)
    _update_margin_logs(clusters, s)


@kernel
def _mark_dirty(clusters, s, followers, precursors):
    """Mark s and what stands beside it: only pairs with one of these can lose otherwise."""
    clusters.dirty[s] = True
    clusters.dirty[followers] = True
    clusters.dirty[precursors] = True


@kernel
def _update_margin_logs(clusters, s):
    """The logarithms of s's margins together with each other's."""
    for a in range(clusters.used.shape[0]):
        i, j = min(a, s), max(a, s)
        clusters.left_logs[i, j] = _log(clusters.left[a] + clusters.left[s])
        clusters.right_logs[i, j] = _log(clusters.right[a] + clusters.right[s])


@kernel
def _merge(clusters, a, b):
    """Merge into the slot of the more frequent cluster (or the lower one): it and the other."""
    keep, gone = a, b
    if clusters.left[b] + clusters.right[b] > clusters.left[a] + clusters.right[a]:
        keep, gone = b, a
    n, t, terms, known = clusters.pairs, clusters.transposed, clusters.pair_terms, clusters.known
    size = n.shape[0]
    others = clusters.used.copy()
    others[keep] = others[gone] = False
    rest = np.nonzero(others)[0]
    fresh = np.zeros(size)
    followers, precursors = _nonzero(n[gone]), _nonzero(t[gone])
    _mark_dirty(clusters, gone, followers, precursors)
    clusters.dirty[keep] = True
    for c in rest:  # the pairs of the new cluster, but for itself as a context
        value = terms[min(c, keep), max(c, keep)] - _block_correction(clusters, keep, c)
        value -= _context_term(clusters, keep, c, keep) + _context_term(clusters, keep, c, gone)
        for d in followers:
            if others[d] and n[c, d] > 0:
                value += _g(known, n[keep, d] + n[gone, d], n[c, d])
                value -= _g(known, n[keep, d], n[c, d])
        for d in precursors:
            if others[d] and t[c, d] > 0:
                value += _g(known, t[keep, d] + t[gone, d], t[c, d])
                value -= _g(known, t[keep, d], t[c, d])
        fresh[c] = value
    _merge_contexts(clusters, n[keep], n[gone], followers, rest, others)
    _merge_contexts(clusters, t[keep], t[gone], precursors, rest, others)
    repeats = n[keep, keep] + n[keep, gone] + n[gone, keep] + n[gone, gone]
    for c in rest:
        n[keep, c] += n[gone, c]
        t[keep, c] += t[gone, c]
        t[c, keep] = n[keep, c]
        n[c, keep] = t[keep, c]
    n[keep, keep] = t[keep, keep] = repeats
    n[gone, :] = n[:, gone] = t[gone, :] = t[:, gone] = 0
    terms[gone, :] = terms[:, gone] = np.inf
    clusters.left[keep] += clusters.left[gone]
    clusters.right[keep] += clusters.right[gone]
    clusters.row_terms[keep] += clusters.row_terms[gone]
    clusters.column_terms[keep] += clusters.column_terms[gone]
    clusters.left[gone] = clusters.right[gone] = 0
    clusters.row_terms[gone] = clusters.column_terms[gone] = 0
    clusters.used[gone] = False
    clusters.parent[clusters.root[gone]] = clusters.root[keep]
    for c in rest:
        value = fresh[c] + _context_term(clusters, keep, c, keep)
        value += _block_correction(clusters, keep, c)
        terms[min(c, keep), max(c, keep)] = value
    _update_margin_logs(clusters, keep)
    return keep, gone


@kernel
def _merge_contexts(clusters, kept, gone, beside, rest, others):
    """Let two contexts be one, for all pairs of other clusters.

    kept, gone [S] are the counts beside the two; where a pair has nothing beside the one that goes,
    nothing changes.
    """
    known, terms = clusters.known, clusters.pair_terms
    for c in beside:
        if not others[c]:
            continue
        for d in rest:
            if d == c or (gone[d] > 0 and d < c) or kept[d] + gone[d] == 0:
                continue
            terms[min(c, d), max(c, d)] += (
                _g(known, kept[c] + gone[c], kept[d] + gone[d])
                - _g(known, kept[c], kept[d])
                - _g(known, gone[c], gone[d])
            )
