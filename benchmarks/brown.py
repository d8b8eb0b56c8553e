"""Brown clusters: words a second and mutual information as the text grows.

The real text is that of all data sets, a little over two million words. The ten million are sampled
from a model: hidden classes that follow each other at random, and in each of them words by Zipf's
law. Such a text measures speed only.
"""

from __future__ import annotations

import time
from itertools import islice

import numpy as np

from skipchain.datasets.registry import data_set
from skipchain.resources.bigrams import Bigrams
from skipchain.resources.brown import induce, mutual_information

REAL = {
    "gmb": ("all",), "conll2003": ("train", "testa", "testb"), "conll2000": ("train", "test"),
    "ud-ewt": ("train", "dev", "test"), "ptb-sample": ("all",), "wikigold": ("all",),
    "wnut17": ("train", "dev", "test"), "btc": ("a", "b", "e", "f", "g", "h"),
}  # fmt: skip
CLUSTERS, MIN_COUNT = 500, 5
SIZES = (100_000, 300_000, 1_000_000)
LARGE = 10_000_000
MINUTES = 5.0
CLASSES, WORDS, STEEPNESS = 200, 400_000, 1.07
SENTENCE, BATCH = 20, 10_000


def measure(report, setting):
    induce([["a", "b"]])  # compiled
    sentences = real_text()
    total = sum(map(len, sentences))
    ends = np.cumsum([len(sentence) for sentence in sentences])
    for size in (*SIZES, total):
        cluster(report, "real", islice(sentences, int(np.searchsorted(ends, size)) + 1))
    spent = cluster(report, "sampled", sampled_text(LARGE))
    report.add(
        f"{LARGE:,} words into {CLUSTERS} clusters (minutes)", spent / 60, MINUTES, at_most=True
    )


def cluster(report, kind, text):
    """Count the bigrams of a text and cluster its words; returns the seconds that both took."""
    began = time.perf_counter()
    bigrams = Bigrams.count(text, MIN_COUNT)
    counted = time.perf_counter()
    clusters = induce(bigrams, CLUSTERS)
    counting, clustering = counted - began, time.perf_counter() - counted
    tokens, spent = bigrams.tokens, counting + clustering
    report.console.print(
        f"{kind} text, {tokens:,} tokens, {len(clusters):,} words of count {MIN_COUNT} or more: "
        f"counted in {counting:.1f} s, clustered in {clustering:.1f} s, "
        f"{tokens / spent:,.0f} tokens/s; "
        f"mutual information {mutual_information(bigrams, clusters):.4f} nats"
    )
    return spent


def real_text():
    """The sentences of all data sets, as lists of words."""
    corpora = (data_set(name).read(part) for name, parts in REAL.items() for part in parts)
    return [sentence.words for corpus in corpora for sentence in corpus]


def sampled_text(length, seed=0):
    """Sentences of twenty words, sampled from a Markov chain of classes."""
    return [sentence for batch in sampled_batches(length, seed) for sentence in batch]


def sampled_batches(length, seed=0):
    """The same in batches, so that a text may be larger than memory."""
    rng = np.random.default_rng(seed)
    follow = np.cumsum(rng.dirichlet(np.full(CLASSES, 0.05), CLASSES), axis=1)
    # word w is the w-th most frequent; each class has the words of one remainder
    weights = np.cumsum(np.arange(1.0, WORDS // CLASSES + 1) ** -STEEPNESS)
    names = [str(word) for word in range(WORDS)]
    for size in [BATCH] * (length // SENTENCE // BATCH):
        last = rng.integers(0, CLASSES, size)
        classes = np.empty((size, SENTENCE), np.int64)
        for t in range(SENTENCE):
            below = follow[last] < rng.random(size)[:, None]
            last = np.minimum(below.sum(axis=1), CLASSES - 1)
            classes[:, t] = last
        rank = np.searchsorted(weights, rng.random(classes.shape) * weights[-1])
        words = np.minimum(rank, len(weights) - 1) * CLASSES + classes
        yield [[names[word] for word in row] for row in words.tolist()]
