"""Lists of neighbours, and an order in which messages are best sent along them."""

from __future__ import annotations

import numpy as np

from skipchain.kernels.kernel import kernel


@kernel
def layout(offsets, ends, order, indptr, middle, other, twin, edges):
    """The slots of a block of D documents, as `kernels.belief` has them.

    offsets [D + 1] and ends [E, 2] count nodes of the block; an edge stays in its document, and the
    edges come document by document. A slot is an edge as seen from one of its ends: those of node n
    are indptr[n] … indptr[n + 1] − 1, neighbours in their order, the later ones from middle[n] on.
    Written are order [N], indptr [N + 1], middle [N], and of each slot [2E] the node at the other
    end, the same edge's slot there (both counted from the document's first), and in ``edges`` 2e if
    the slot's node is the first end of edge e, else 2e + 1.

    Components come one by one. A tree goes breadth first, from the root last: each node then has
    one later neighbour, and messages that go once up and once down are all there is. Others stay as
    they are numbered, so that what is in sequence, such as the words of a text, is passed along it.
    """
    nodes = order.shape[0]
    _by_node(ends, indptr, edges)
    rank, queue = np.full(nodes, -1, np.int64), np.empty(nodes, np.int64)
    for d in range(offsets.shape[0] - 1):
        tail = offsets[d]
        for root in range(offsets[d], offsets[d + 1]):
            if rank[root] < 0:
                begin = tail
                tail = _component(root, ends, indptr, edges, rank, queue, begin)
                slots = 0
                for p in range(begin, tail):
                    slots += indptr[queue[p] + 1] - indptr[queue[p]]
                if slots == 2 * (tail - begin - 1):
                    queue[begin:tail] = queue[begin:tail][::-1].copy()
                else:
                    queue[begin:tail].sort()
    for p in range(nodes):
        rank[queue[p]] = p

    # neighbours in their order: each node in turn is put into the lists of all that it knows
    seen = edges.copy()
    place = np.empty(edges.shape[0], np.int64)
    fill = indptr[:-1].copy()
    for p in range(nodes):
        for s in range(indptr[queue[p]], indptr[queue[p] + 1]):
            back = seen[s] ^ 1
            k = ends[back >> 1, back & 1]
            edges[fill[k]] = back
            place[back] = fill[k]
            fill[k] += 1
    for d in range(offsets.shape[0] - 1):
        first = offsets[d]
        for n in range(first, offsets[d + 1]):
            order[n] = queue[n] - first
            middle[n] = indptr[n]
            for s in range(indptr[n], indptr[n + 1]):
                back = edges[s] ^ 1
                k = ends[back >> 1, back & 1]
                other[s] = k - first
                twin[s] = place[back] - indptr[first]
                if rank[k] < rank[n]:
                    middle[n] = s + 1


@kernel
def _by_node(ends, indptr, edges):
    """The edges of each node: indptr [N + 1], edges [2E] as in `layout`."""
    indptr[:] = 0
    for e in range(ends.shape[0]):
        indptr[ends[e, 0] + 1] += 1
        indptr[ends[e, 1] + 1] += 1
    for n in range(indptr.shape[0] - 1):
        indptr[n + 1] += indptr[n]
    fill = indptr[:-1].copy()
    for e in range(ends.shape[0]):
        for k in range(2):
            edges[fill[ends[e, k]]] = 2 * e + k
            fill[ends[e, k]] += 1


@kernel
def _component(root, ends, indptr, edges, rank, queue, begin):
    """Queue a root and all that is joined to it, breadth first; returns where the queue ends."""
    rank[root] = 0
    queue[begin] = root
    head, tail = begin, begin + 1
    while head < tail:
        n = queue[head]
        head += 1
        for s in range(indptr[n], indptr[n + 1]):
            back = edges[s] ^ 1
            k = ends[back >> 1, back & 1]
            if rank[k] < 0:
                rank[k] = 0
                queue[tail] = k
                tail += 1
    return tail
