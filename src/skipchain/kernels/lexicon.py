"""Phrases found in tokens: a trie over numbers of tokens.

The nodes of a level follow those of the level above, and the children of a node stand together,
sorted by token: ``first [V + 1]`` says where. A phrase's first token finds its node by a table.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.intern import BASIS, PRIME
from skipchain.kernels.kernel import kernel
from skipchain.kernels.token_sets import _resized


@kernel
def hash_slices(points, starts, lengths):
    """A number for each slice of a text, by all of its characters. [K]"""
    hashes = np.empty(starts.shape[0], np.uint64)
    for k in range(starts.shape[0]):
        h = BASIS
        for m in range(starts[k], starts[k] + lengths[k]):
            h = (h ^ np.uint64(points[m])) * PRIME
        hashes[k] = h
    return hashes


@kernel
def hash_phrases(offsets, hashes):
    """A number for each phrase, by those of its tokens in order. [P]"""
    phrase_hashes = np.empty(offsets.shape[0] - 1, np.uint32)
    for p in range(offsets.shape[0] - 1):
        h = BASIS
        for m in range(offsets[p], offsets[p + 1]):
            h = (h ^ hashes[m]) * PRIME
        phrase_hashes[p] = np.uint32(h >> np.uint64(32))
    return phrase_hashes


@kernel
def _child(first, tokens, node, token):
    """The child of a node by a token, or −1."""
    low, high = first[node], first[node + 1]
    while low < high:
        middle = (low + high) // 2
        if tokens[middle] < token:
            low = middle + 1
        else:
            high = middle
    if low < first[node + 1] and tokens[low] == token:
        return low
    return -1


@kernel
def find_phrases(codes, hashes, sentences, root, first, tokens, ends, lists, forms, longest):
    """All phrases in sentences of token numbers [N] (−1: in no phrase).

    ``hashes`` [N] are those of the words as they are written; ``ends`` [nodes + 1] are the entries
    of each node: the lists that have the phrase, and the hash of how they write it. With
    ``longest`` only the longest phrase that begins at a token counts, and none begins inside it.
    Returns the matches: first token, one past the last, list, whether written alike.
    """
    room = 1024
    starts, stops = np.empty(room, np.int32), np.empty(room, np.int32)
    which, alike = np.empty(room, np.int32), np.empty(room, np.bool_)
    count = 0
    for s in range(sentences.shape[0] - 1):
        i = sentences[s]
        stop = sentences[s + 1]
        while i < stop:
            node = root[codes[i]] if codes[i] >= 0 else -1
            h = BASIS
            j = i
            begun = count
            furthest = i + 1
            while node >= 0:
                h = (h ^ hashes[j]) * PRIME
                j += 1
                form = np.uint32(h >> np.uint64(32))
                if longest and ends[node + 1] > ends[node]:
                    count = begun
                    furthest = j
                for e in range(ends[node], ends[node + 1]):
                    if e > ends[node] and lists[e] == lists[e - 1]:  # another way to write it
                        alike[count - 1] |= forms[e] == form
                        continue
                    if count == room:
                        room *= 2
                        starts = _resized(starts, room)
                        stops = _resized(stops, room)
                        which = _resized(which, room)
                        alike = _resized(alike, room)
                    starts[count] = i
                    stops[count] = j
                    which[count] = lists[e]
                    alike[count] = forms[e] == form
                    count += 1
                if j == stop or codes[j] < 0:
                    break
                node = _child(first, tokens, node, codes[j])
            i = furthest if longest else i + 1
    return starts[:count], stops[:count], which[:count], alike[:count]


@kernel
def spread_matches(starts, stops, which, alike):
    """Pairs of tokens and codes: ((list · 4 + place) · 2 + written otherwise).

    The place in the phrase is 0 for its first token, 1 inside, 2 for its last, 3 where it is all.
    """
    total = 0
    for k in range(starts.shape[0]):
        total += stops[k] - starts[k]
    tokens, codes = np.empty(total, np.int64), np.empty(total, np.int32)
    at = 0
    for k in range(starts.shape[0]):
        for t in range(starts[k], stops[k]):
            place = 1
            if stops[k] - starts[k] == 1:
                place = 3
            elif t == starts[k]:
                place = 0
            elif t == stops[k] - 1:
                place = 2
            tokens[at] = t
            codes[at] = (which[k] * 4 + place) * 2 + (0 if alike[k] else 1)
            at += 1
    return tokens, codes
