"""One pass of objective and gradient over CoNLL-2003: identical features, labels and weights."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks import peer
from benchmarks.features import TEMPLATES
from benchmarks.setting import in_turn, path, seconds
from skipchain.chains.dataset import Dataset
from skipchain.chains.likelihood import ConditionalLikelihood, MarginalLikelihood
from skipchain.chains.online import StochasticLikelihood
from skipchain.chains.scorer import LinearScorer
from skipchain.corpus.schemes import convert
from skipchain.datasets.registry import data_set
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.parallel import Workers


def measure(report, setting):
    corpus = data_set("conll2003").read("train")
    vocabulary, rows = Vocabulary.fit(corpus, Templates.parse(TEMPLATES))
    report.console.print(f"{corpus.n_tokens:,} tokens, {rows.n_active:,} active features")
    data = Dataset(rows, corpus.sentences, corpus.labels.codes)
    compare_with_peer(report, setting, data, vocabulary, corpus.labels.values)
    for encoding in ("iob1", "bioes"):
        labels = convert(corpus.labels, corpus.sentences, corpus.scheme, encoding)
        data = Dataset(rows, corpus.sentences, labels.codes)
        compare_objectives(report, setting, data, len(labels.values))
        compare_orders(report, setting, data, len(labels.values))


def compare_with_peer(report, setting, data, vocabulary, names):
    """The conditional likelihood, compared with python-crfsuite."""
    model = setting.folder / "peer-short.model"
    log = peer.train(path("conll2003", "train"), model, max_iterations=30).logparser.iterations
    theirs = sum(step["time"] for step in log) / sum(step["linesearch_trials"] for step in log)
    for threads, bar in ((1, 3.0), (2, 5.0)):
        with Workers(threads) as workers:
            # single precision, as in training without a tight tolerance
            scorer = LinearScorer(
                data, len(names), observed=True, boundaries=False, workers=workers,
                single_precision=True,
            )  # fmt: skip
            objective = ConditionalLikelihood(data, scorer, workers, l2=peer.L2)
            vector = peer_weights(model, scorer, vocabulary, names)
            loss, _ = objective(vector)
            spent = seconds(partial(objective, vector), setting.repeat)
        report.faster(f"one pass, {threads} thread{'s' * (threads > 1)} (s)", spent, theirs, bar)
    difference = abs(loss - log[-1]["loss"]) / log[-1]["loss"]
    report.add("loss at CRFsuite's weights, relative difference", difference, 1e-5, at_most=True)


def peer_weights(model, scorer, vocabulary, names):
    """CRFsuite's weights as a parameter vector of ours."""
    dump = peer.load(model).info()
    weights = scorer.unpack(np.zeros(scorer.size))
    number = {name: k for k, name in enumerate(names)}
    # our names escape a sign that belongs to a value, such as the | of the tag NN|SYM
    feature = {name.replace("\\", ""): k for k, name in enumerate(vocabulary.names())}
    for (attribute, label), weight in dump.state_features.items():
        weights.state[feature[attribute], number[label]] = weight
    for (source, target), weight in dump.transitions.items():
        weights.transitions[number[source], number[target]] = weight
    return scorer.pack(weights)


def compare_objectives(report, setting, data, labels):
    """The marginal likelihood against the conditional one, on one thread."""
    with Workers(1) as workers:
        scorer = LinearScorer(data, labels, observed=True, boundaries=True, workers=workers)
        vector = np.random.default_rng(0).normal(0.0, 0.1, scorer.size)
        for model, local in (("CRF", False), ("MEMM", True)):
            passes = []
            for kind in (ConditionalLikelihood, MarginalLikelihood):
                objective = kind(data, scorer, workers, l2=peer.L2, local=local)
                objective(vector)
                passes.append(partial(objective, vector))
            conditional, marginal = in_turn(passes, setting.repeat)
            report.within(
                f"{model}, {labels} labels: L_M pass against L_C (s)", marginal, conditional, 2.0
            )


def compare_orders(report, setting, data, labels):
    """Order 2 of a MEMM against order 1: a pass for L-BFGS, and an epoch of SGD."""
    passes, epochs = [], []
    with Workers(1) as workers:
        for order in (1, 2):
            scorer = LinearScorer(
                data, labels, observed=True, boundaries=True, workers=workers, order=order
            )
            objective = ConditionalLikelihood(data, scorer, workers, l2=peer.L2, local=True)
            passes.append(partial(objective, np.zeros(scorer.size)))
            learner = StochasticLikelihood(data, labels, order=order, local=True, dropout=0.5)
            epochs.append(partial(learner.epoch, 0.01))
        for name, both in (("pass", passes), ("epoch", epochs)):
            for run in both:
                run()
            first, second = in_turn(both, setting.repeat)
            report.within(
                f"MEMM, {labels} labels: order 2 against order 1, {name} (s)", second, first, 2.0
            )
