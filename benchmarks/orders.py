"""What a higher order costs in training: ``python -m benchmarks.orders``.

One L-BFGS pass and one stochastic epoch on CoNLL-2003, order 2 against order 1, in seconds of
processor time on one core. A MEMM of order 2 is to take at most twice as long as one of order 1.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from skipchain.dataset import Dataset
from skipchain.datasets import data_set
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.models.inputs import Known
from skipchain.objectives.likelihood import ConditionalLikelihood
from skipchain.objectives.online import StochasticLikelihood
from skipchain.parallel import Workers
from skipchain.schemes import convert
from skipchain.scorers.linear import LinearScorer

REPEAT = 3
BAR = 2.0


def main():
    data, labels = encoded()
    for local, kind in ((True, "MEMM"), (False, "CRF")):
        once = measured(data, labels, local, 1)
        twice = measured(data, labels, local, 2)
        for what in once:
            ratio = twice[what] / once[what]
            verdict = "" if not local else " ok" if ratio <= BAR else f" above {BAR}"
            print(f"{kind} {what}: {once[what]:.3f} s, order 2 {twice[what]:.3f} s, "
                  f"× {ratio:.2f}{verdict}", flush=True)  # fmt: skip


def encoded():
    """The training data with the standard features of names, and how many labels there are."""
    corpus = data_set("conll2003").read("train")
    column = convert(corpus.labels, corpus.sentences, corpus.scheme, "bioes")
    known = Known(column, corpus.sentences, {})
    _, rows = Vocabulary.fit(corpus, Templates.of("ner", None, ("word", "pos", "chunk")))
    return Dataset(rows, corpus.sentences, *known.numbers(known.names)), len(known.names)


def measured(data, labels, local, order):
    """The seconds of each kind of pass."""
    with Workers(1) as workers:
        scorer = LinearScorer(
            data, labels, observed=True, boundaries=True, workers=workers, order=order, single=True
        )
        objective = ConditionalLikelihood(data, scorer, workers, l2=0.2, local=local)
        vector = np.random.default_rng(0).normal(0, 0.1, scorer.size)
        sweep = seconds(partial(objective, vector))
    learner = StochasticLikelihood(
        data, labels, order=order, local=local, l2=0.2, dropout=0.5, unit_dropout=0.1
    )
    return {"L-BFGS pass": sweep, "stochastic epoch": seconds(partial(learner.epoch, 0.05))}


def seconds(function):
    """The quickest of several runs, after one that may compile."""
    function()
    times = []
    for _ in range(REPEAT):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    return min(times)


if __name__ == "__main__":
    main()
