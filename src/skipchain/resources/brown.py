"""Brown clusters from raw text: words in a binary tree by the company they keep."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skipchain.arrays import Ints
from skipchain.checks import check_integer
from skipchain.errors import CorpusError
from skipchain.features.strings import StringTable
from skipchain.kernels import brown as kernel
from skipchain.resources.bigrams import Bigrams, Text
from skipchain.resources.clusters import Clusters

PROGRESS_STEPS = 200  # calls of the progress callback


def induce(
    text: Text | Bigrams,
    clusters: int = 500,
    min_count: int = 1,
    *,
    exchange: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Clusters:
    """Cluster the words of a text so that neighbouring clusters have most mutual information.

    ``text`` is a corpus, or sentences or corpora one after the other, or pairs counted before. The
    most frequent words begin as clusters of their own; each further word is added, and the two
    clusters are merged whose merge loses least mutual information. The clusters that remain become
    a binary tree in the same way. Words that are rarer than ``min_count`` are left out.
    In up to ``exchange`` rounds every word may then move to a cluster where it loses less, before
    the tree is built. ``progress`` is called with the number of words done, and of all words.

    The same text gives the same clusters. Time grows with the words that are clustered and, for the
    frequent ones, with the square of ``clusters``.

    >>> story = ["the cat ran and the dog slept", "a dog ran and a cat slept",
    ...          "the dog ran and a cat ran"]
    >>> clusters = induce(map(str.split, story), clusters=4)
    >>> for path in sorted(clusters.paths.tolist()):
    ...     print(path, *(word for word in clusters.words.tolist() if clusters[word] == path))
    000 ran slept
    001 and
    01 a the
    1 cat dog
    """
    check_integer("clusters", clusters)
    check_integer("min_count", min_count)
    check_integer("exchange", exchange, least=0)
    bigrams = text if isinstance(text, Bigrams) else Bigrams.count(text, min_count)
    size = len(bigrams.words)
    if size == 0:
        fault = f"no word of the text occurs {min_count} times"
        advice = "give more text or a lower min_count"
        raise CorpusError(
            f"{fault}; {advice}" if bigrams.tokens else "there is no word in the text"
        )
    slots = _agglomerate(bigrams, clusters, progress)
    member = np.unique(kernel.members(slots), return_inverse=True)[1]
    table = _cluster_bigrams(bigrams, member)
    if exchange:
        _exchange_words(bigrams, member, table, exchange)
    words, paths = StringTable.of(bigrams.words), StringTable.of(_paths(table))
    return Clusters(words, paths, member.astype(np.int32), bigrams.counts)


def mutual_information(text: Text | Bigrams, clusters: Clusters) -> float:
    """The mutual information of neighbouring clusters in a text, in nats.

    Words that are in no cluster are left out, and so are their pairs. Clusterings can be compared
    where they have the same words.

    >>> story = [["a", "b", "a", "b", "a"]]
    >>> round(mutual_information(story, induce(story, clusters=2)), 3)
    0.693
    """
    bigrams = text if isinstance(text, Bigrams) else Bigrams.count(text)
    number = np.array(clusters.words.find(bigrams.words))
    cluster = np.append(clusters.path, -1)[np.where(number < 0, len(clusters), number)]
    table = _cluster_bigrams(bigrams, cluster)
    total = table.sum()
    a, b = np.nonzero(table)
    share = table[a, b] / total
    expected = table.sum(axis=1)[a] / total * (table.sum(axis=0)[b] / total)
    return float((share * np.log(share / expected)).sum())


def _agglomerate(
    bigrams: Bigrams, limit: int, progress: Callable[[int, int], None] | None = None
) -> kernel.ClusterTables:
    """All words in at most ``limit`` clusters."""
    size = len(bigrams.words)
    sides = bigrams.adjacent_words(after=True), bigrams.adjacent_words(after=False)
    margins, total = bigrams.margins(), int(bigrams.pair_counts.sum())
    slots = kernel.ClusterTables.empty(min(limit, size) + 1, size)
    step = max(1, size // PROGRESS_STEPS)
    for first in range(0, size, step):
        last = min(size, first + step)
        kernel.add_words(slots, *sides, *margins, total, (first, last), limit)
        if progress is not None:
            progress(last, size)
    return slots


def _cluster_bigrams(bigrams: Bigrams, cluster: Ints) -> Ints:
    """Counts of one cluster after another, by the cluster of each word (−1: none). [C, C]"""
    size = int(cluster.max(initial=-1)) + 1
    firsts, seconds = cluster[bigrams.left_words], cluster[bigrams.right_words]
    both = (firsts >= 0) & (seconds >= 0)
    cells = firsts[both] * np.int64(size) + seconds[both]
    sums = np.bincount(cells, bigrams.pair_counts[both], size * size)
    return sums.astype(np.int64).reshape(size, size)


def _exchange_words(bigrams: Bigrams, member: Ints, table: Ints, rounds: int) -> None:
    """Let words move between clusters until none does; ``member`` and ``table`` change."""
    sides = bigrams.adjacent_words(after=True), bigrams.adjacent_words(after=False)
    known, total = kernel.xlogx_table(), int(bigrams.pair_counts.sum())
    for _ in range(rounds):
        if not kernel.exchange(member, table, *sides, *bigrams.margins(), known, total):
            break


def _paths(table: Ints) -> list[str]:
    """The path of each cluster: 0 to the one whose slot is kept in a merge, 1 to the other."""
    size = len(table)
    if size == 1:
        return ["0"]
    a, b = np.nonzero(table)
    pairs = Bigrams([""] * size, table.sum(axis=1), a, b, table[a, b], int(table.sum()))
    paths = [""] * (size + 1)
    for keep, gone in reversed(kernel.merge_all(_agglomerate(pairs, size), pairs.tokens).tolist()):
        paths[keep], paths[gone] = paths[keep] + "0", paths[keep] + "1"
    return paths[:size]
