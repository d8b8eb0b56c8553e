"""Training on a local Ray: an iteration beside threads of one process, the loss, and mixed passes.

Two million tokens are CoNLL-2003 ten times, with other names in each copy.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from unittest.mock import patch

import numpy as np

from benchmarks.setting import in_turn
from skipchain import CRF, Perceptron
from skipchain.cluster import Cluster
from skipchain.cluster.connection import import_ray, start_local
from skipchain.corpus import Corpus
from skipchain.corpus.corpus import WORD
from skipchain.datasets.registry import data_set
from skipchain.learn import lbfgs

COPIES = 10
SHARE = 0.9  # of the speed-up of two threads
LOST = 0.5  # F1


class Measured(Exception):
    """What was to be measured is done."""


def measure(report, setting):
    ray = import_ray()
    start_local(ray, 4)
    try:
        train, dev = (data_set("conll2003").read(part) for part in ("train", "testa"))
        compare_iterations(report, setting, repeated(train, COPIES))
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


def compare_iterations(report, setting, corpus):
    """Loss and gradient in turn: by one thread, by two threads, by two workers of one thread."""
    held = []

    def keep(function, start, **how):
        held.append(partial(function, start))
        raise Measured

    def measure(function, start, **how):
        times.extend(in_turn([*held, partial(function, start)], setting.repeat))
        raise Measured

    times = []
    make = CRF(solver="lbfgs", passes=0)
    for threads, cluster, minimize in (
        (1, None, keep),
        (2, None, keep),
        (1, Cluster(workers=2), measure),
    ):
        with suppress(Measured), patch.object(lbfgs, "minimize", minimize):
            make.replaced(threads=threads).fit(corpus, cluster=cluster)
    one, two, workers = times
    report.console.print(
        f"{corpus.n_tokens:,} tokens: one thread {one:.3f} s an evaluation, two threads {two:.3f}, "
        f"two workers {workers:.3f}; speed-up {one / two:.2f} and {one / workers:.2f}"
    )
    report.add("cluster: speed-up of two workers beside two threads", two / workers, SHARE)


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
