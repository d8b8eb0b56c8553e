"""Strings as paths from a root, a character a step: all pieces of a word that begin at one place
are found in one walk.

A node is a number, the root is 0. The child of a node by a character stands in an open-addressing
hash table, ``keys int64 [2^b]`` (node · 2²¹ + code point, −1 where free) and ``children int32
[2^b]``; ``ends int32 [nodes]`` has the number of the string that ends at a node, or −1. A key is
the whole of what is asked, so no two steps are ever taken for each other.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.kernel import kernel

CODE_POINT_BITS = 21
SPREAD = np.uint64(0x9E3779B97F4A7C15)


@kernel
def spread(key):
    """A hash of a key, which is not negative: the high bits of a product depend on all its bits."""
    return np.int64((np.uint64(key) * SPREAD) >> np.uint64(20))


@kernel
def slot_of(keys, first, mask, key):
    """The slot of a key in the table of ``mask + 1`` slots from ``first`` on, or a free one."""
    at = spread(key) & mask
    while keys[first + at] >= 0 and keys[first + at] != key:
        at = (at + 1) & mask
    return first + at


@kernel
def insert_strings(points, starts, lengths, first, keys, children, ends, nodes):
    """Put the strings from ``first`` on into the trie, as far as there is room.

    The table is kept at most half full. Returns the first string that is not in it, and how many
    nodes there are.
    """
    mask = keys.shape[0] - 1
    for k in range(first, starts.shape[0]):
        if 2 * (nodes + lengths[k]) > keys.shape[0]:
            return k, nodes
        node = 0
        for m in range(starts[k], starts[k] + lengths[k]):
            key = (np.int64(node) << CODE_POINT_BITS) | np.int64(points[m])
            at = slot_of(keys, 0, mask, key)
            if keys[at] < 0:
                keys[at] = key
                children[at] = nodes
                ends[nodes] = -1
                nodes += 1
            node = children[at]
        ends[node] = k
    return starts.shape[0], nodes


@kernel
def move_slots(old_keys, old_children, keys, children):
    """Fill a larger table with what is in a smaller one."""
    mask = keys.shape[0] - 1
    for k in range(old_keys.shape[0]):
        if old_keys[k] >= 0:
            at = slot_of(keys, 0, mask, old_keys[k])
            keys[at] = old_keys[k]
            children[at] = old_children[k]


@kernel
def add_ngrams(
    text, offsets, shortest, longest, keys, children, ends, numbers, state, rows, first, stride
):
    """Add the weights of the distinct n-grams of each word to a row of its own.

    Word w is ``text[offsets[w] : offsets[w + 1]]``, its row ``rows[first + w · stride]`` [L + 1];
    the last place counts the n-grams that are no features. ``numbers`` are the features of the
    strings of the trie, or −1, ``state`` [F, L] their weights.

    An n-gram at one start that stands at an earlier start, too, has been counted there: of what
    begins at i only pieces are new that are longer than any that i has in common with a start
    before it. This compares starts with each other, so words should be short.
    """
    mask, labels = keys.shape[0] - 1, state.shape[1]
    for w in range(offsets.shape[0] - 1):
        row = rows[first + w * stride]
        end = offsets[w + 1]
        for i in range(offsets[w], end):
            most = min(longest, end - i)
            common = 0
            for before in range(offsets[w], i):
                same = 0
                while same < most and text[before + same] == text[i + same]:
                    same += 1
                common = max(common, same)
            node, length = 0, 0
            while length < most:
                key = (np.int64(node) << CODE_POINT_BITS) | np.int64(text[i + length])
                at = slot_of(keys, 0, mask, key)
                if keys[at] < 0:
                    break
                node = children[at]
                length += 1
                if length <= common or length < shortest:
                    continue
                feature = numbers[ends[node]] if ends[node] >= 0 else -1
                if feature < 0:
                    row[labels] += 1.0
                else:
                    for j in range(labels):
                        row[j] += state[feature, j]
            row[labels] += max(0, most - max(length, common, shortest - 1))
