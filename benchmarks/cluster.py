"""Training on a local Ray: an iteration beside threads of one process, the loss, and mixed passes.

Two million tokens are CoNLL-2003 ten times, with other names in each copy.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from skipchain import CRF, Perceptron
from skipchain.cluster import Cluster
from skipchain.cluster.connection import import_ray
from skipchain.corpus import Corpus
from skipchain.corpus.corpus import WORD
from skipchain.datasets.registry import data_set

COPIES = 10
ITERATIONS = 8
SHARE = 0.9  # of the speed-up of two threads
LOST = 0.5  # F1
START = {
    "num_cpus": 4,
    "include_dashboard": False,
    "log_to_driver": False,
    "logging_level": "CRITICAL",
}


class Clock:
    """Notes when iterations end, and how often the loss was asked for."""

    def __init__(self):
        self.marks = []

    def begin(self, problem):
        pass

    def end(self, result):
        pass

    def step(self, step, dev):
        self.marks.append((time.perf_counter(), step.evaluations))

    @property
    def seconds(self):
        """The median time of an evaluation."""
        times, counts = np.array(self.marks).T
        return statistics.median(np.diff(times) / np.diff(counts))


def measure(report, setting):
    ray = import_ray()
    ray.init(address="local", **START)
    try:
        train, dev = (data_set("conll2003").read(part) for part in ("train", "testa"))
        compare_iterations(report, repeated(train, COPIES))
        compare_losses(report, train[:2000])
        compare_scores(report, train, dev)
    finally:
        ray.shutdown()


def repeated(corpus, copies):
    """The corpus so many times, the words of spans changed in each copy but the first."""
    named = corpus.labels.codes != corpus.labels.values.index("O")
    words = np.array(corpus.words.tolist(), object)
    parts = [corpus]
    for k in range(1, copies):
        own = words.copy()
        own[named] = [f"{word[:-1]}{chr(ord('a') + k)}{word[-1:]}" for word in words[named]]
        parts.append(corpus.with_column(WORD, type(corpus.words).encode(own.tolist())))
    return Corpus.concatenate(parts)


def compare_iterations(report, corpus):
    """An iteration of L-BFGS: one thread, two threads, two workers of one thread."""
    spent = {}
    how = {"solver": "lbfgs", "passes": 0, "tolerance": 0.0, "max_iterations": ITERATIONS}
    for name, threads, cluster in (
        ("one thread", 1, None),
        ("two threads", 2, None),
        ("two workers", 1, Cluster(workers=2)),
    ):
        clock = Clock()
        CRF(**how, threads=threads).fit(corpus, progress=clock, cluster=cluster)
        spent[name] = clock.seconds
        told = f"{corpus.n_tokens:,} tokens, {name}: {clock.seconds:.3f} s an evaluation"
        report.console.print(told)
    threads, workers = (spent["one thread"] / spent[n] for n in ("two threads", "two workers"))
    report.console.print(f"speed-up of two threads {threads:.2f}, of two workers {workers:.2f}")
    report.add("cluster: speed-up of two workers beside two threads", workers / threads, SHARE)


def compare_losses(report, corpus):
    """The optimum, beside that of one machine."""
    how = {"solver": "lbfgs", "tolerance": 1e-9, "max_iterations": 3000, "threads": 1}
    one = CRF("word\nsuffix(3)\nword[-1]\nword[1]", **how)
    losses = [
        one.replaced().fit(corpus, cluster=cluster).result_.loss
        for cluster in (None, Cluster(workers=2))
    ]
    difference = abs(losses[1] - losses[0]) / losses[0]
    report.add("cluster: loss, relative difference", difference, 1e-6, at_most=True)


def compare_scores(report, train, dev):
    """F1 on held-out text where passes are mixed, beside one machine."""
    for name, make in (("SGD, 10 epochs", CRF(epochs=10)), ("perceptron", Perceptron())):
        make.set_params(threads=1)
        one = 100 * make.replaced().fit(train).held_out_score(dev)
        for workers in (2, 4):
            found = make.replaced().fit(train, cluster=Cluster(workers=workers))
            lost = one - 100 * found.held_out_score(dev)
            report.add(f"cluster: F1 lost, {name}, {workers} workers", lost, LOST, at_most=True)
