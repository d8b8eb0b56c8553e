"""Brown clusters from raw text: words in a binary tree by the company they keep."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skipchain.errors import CorpusError, ParameterError
from skipchain.features.strings import Strings
from skipchain.kernels import brown as kernel
from skipchain.knowledge.bigrams import Bigrams, Text
from skipchain.knowledge.clusters import Clusters

STEPS = 200  # times that progress is told


def induce(
    text: Text | Bigrams,
    clusters: int = 500,
    min_count: int = 1,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Clusters:
    """Cluster the words of a text so that neighbouring clusters tell most about each other.

    ``text`` is a corpus, or sentences or corpora one after the other, or pairs counted before. The
    most frequent words begin as clusters of their own; each further word is added, and the two
    clusters are merged whose merge loses least mutual information. The clusters that remain become
    a binary tree in the same way. Words that are rarer than ``min_count`` are left out.
    ``progress`` is told of the words done, and of how many there are.

    The same text gives the same clusters. Time grows with the words that are clustered and, for the
    frequent ones, with the square of ``clusters``.

    >>> story = ["the cat ran and the dog slept", "a dog ran and a cat slept",
    ...          "the dog ran and a cat ran"]
    >>> found = induce(map(str.split, story), clusters=4)
    >>> for path in sorted(found.paths.tolist()):
    ...     print(path, *(word for word in found.words.tolist() if found[word] == path))
    000 ran slept
    001 and
    01 a the
    1 cat dog
    """
    for name, value in (("clusters", clusters), ("min_count", min_count)):
        if not isinstance(value, int | np.integer) or value < 1:
            raise ParameterError(f"{name} must be a whole number from 1 up, got {value!r}")
    bigrams = text if isinstance(text, Bigrams) else Bigrams.count(text, min_count)
    size = len(bigrams.words)
    if size == 0:
        raise CorpusError(
            f"no word of the text occurs {min_count} times; give more text or a lower min_count"
            if bigrams.tokens
            else "there is no word in the text"
        )
    left, right = bigrams.margins()
    total = int(bigrams.times.sum())
    sides = bigrams.beside(after=True), bigrams.beside(after=False)
    slots = kernel.Slots.empty(min(clusters, size) + 1, size)
    step = max(1, size // STEPS)
    for first in range(0, size, step):
        last = min(size, first + step)
        kernel.absorb(slots, *sides, left, right, total, (first, last), clusters)
        if progress is not None:
            progress(last, size)
    member = kernel.members(slots)
    names = _bit_strings(kernel.join_all(slots, total).tolist(), np.unique(member).tolist())
    used, path = np.unique(member, return_inverse=True)
    return Clusters(
        Strings.of(bigrams.words),
        Strings.of([names[slot] for slot in used.tolist()]),
        path.astype(np.int32),
        bigrams.counts,
    )


def information(text: Text | Bigrams, clusters: Clusters) -> float:
    """The mutual information of neighbouring clusters in a text, in nats.

    Words that are in no cluster are left out, and so are their pairs. Clusterings can be compared
    where they have the same words.

    >>> story = [["a", "b", "a", "b", "a"]]
    >>> round(information(story, induce(story, clusters=2)), 3)
    0.693
    """
    bigrams = text if isinstance(text, Bigrams) else Bigrams.count(text)
    number = np.array(clusters.words.find(bigrams.words))
    cluster = np.append(clusters.path, -1)[np.where(number < 0, len(clusters), number)]
    firsts, seconds = cluster[bigrams.firsts], cluster[bigrams.seconds]
    both = (firsts >= 0) & (seconds >= 0)
    size = len(clusters.paths)
    table = np.zeros((size, size), np.int64)
    np.add.at(table, (firsts[both], seconds[both]), bigrams.times[both])
    total = table.sum()
    a, b = np.nonzero(table)
    share = table[a, b] / total
    expected = table.sum(axis=1)[a] / total * (table.sum(axis=0)[b] / total)
    return float((share * np.log(share / expected)).sum())


def _bit_strings(merges: list[list[int]], slots: list[int]) -> dict[int, str]:
    """The way from the root to each slot: 0 to the one that stayed, 1 to the one that was freed."""
    if len(slots) == 1:
        return {slots[0]: "0"}
    names: dict[int, str] = {}
    for keep, gone in reversed(merges):
        above = names.get(keep, "")
        names[keep], names[gone] = above + "0", above + "1"
    return names
