"""Sampling finds what Viterbi finds: Table 1 of Finkel, Grenager and Manning (2005)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from skipchain import CRF, Column, Corpus
from skipchain.corpus.column import frozen
from skipchain.metrics import evaluate
from skipchain.models.document.annealing import Annealing, anneal_chain
from skipchain.models.document.model import FactoredModel
from skipchain.models.document.token_gibbs import anneal_tokens
from skipchain.parallel import Workers
from skipchain.reproduce.run import Run, Timer
from skipchain.reproduce.system import DecodedModel
from skipchain.reproduce.table import Row, Table, judge

NAME = "gibbs-viterbi"
METRIC = "F1 testb"
VITERBI, SEGMENTS, TOKENS = "Viterbi", "Gibbs, segments", "Gibbs, single labels"
PUBLISHED = (85.54, 85.51, 85.49, 85.51, 85.51, 85.51, 85.51, 85.51, 85.51)
CLOSE = 0.05
SWEEPS = 1000


def measure(run: Run) -> Table:
    """One CRF, decoded by Viterbi and by annealed sampling from random labels."""
    train, test = run.read("conll2003", train=160, testb=30)
    seeds, sweeps = run.seeds(10, quick=2), 100 if run.quick else SWEEPS
    settings: dict[str, Any] = {"epochs": 5} if run.quick else {}
    run.say(f"{NAME}: training")
    base = CRF("ner", encoding="iob2", threads=run.threads, **settings).fit(train).model_
    model = FactoredModel.from_chain(base, ())
    clock = Timer()
    with clock(VITERBI):
        best = DecodedModel(base).label(test, run.threads)
    viterbi = evaluate(test, best).f1
    f1: dict[str, list[float]] = {SEGMENTS: [], TOKENS: []}
    for seed in seeds:
        run.say(f"{NAME}: seed {seed}")
        annealing = Annealing(sweeps, seed=seed, random_start=True)
        for system, values in f1.items():
            with clock(system):
                labelled = _sample(model, test, annealing, run.threads, system == SEGMENTS)
            values.append(evaluate(test, labelled).f1)
    rows = [Row(NAME, VITERBI, METRIC, 85.51, viterbi, seconds=clock.seconds(VITERBI))]
    for system, values in f1.items():
        for seed, value in zip(seeds, values, strict=True):
            published = PUBLISHED[seed] if seed < len(PUBLISHED) else None
            row = Row(NAME, f"{system}, {seed}", METRIC, published, value)
            verdict = judge(abs(value - viterbi) <= CLOSE, f"{value - viterbi:+.2f}")
            rows.append(replace(row, seconds=clock.seconds(system) / len(seeds), verdict=verdict))
        rows.append(Row(NAME, system, "mean", 85.51, float(np.mean(values))))
        deviation = float(np.std(values, ddof=1))
        rows.append(Row(NAME, system, "standard deviation", 0.01, deviation))
    agree = all(abs(value - viterbi) <= CLOSE for value in f1[SEGMENTS])
    return Table(
        NAME,
        "Annealed sampling and Viterbi",
        "Finkel, Grenager and Manning (2005), Table 1, CoNLL",
        rows,
        notes=(
            f"A CRF with the features 'ner' in iob2, {train.n_documents} training documents; "
            f"{sweeps} sweeps with a temperature that falls linearly from 1 to 0, from random "
            "labels. Published are nine runs.",
            "segments: uncertain segments are sampled as a whole, among their candidate "
            "labellings; all other tokens are fixed. single labels: each token is sampled given "
            "its neighbours, and nothing is forbidden.",
        ),
        seeds=seeds,
        verdict=f"Sampled segments {'agree' if agree else 'do not agree'} with Viterbi; single "
        f"labels are off by {float(np.mean(f1[TOKENS])) - viterbi:+.2f} on average.",
    )


def _sample(
    model: FactoredModel, test: Corpus, annealing: Annealing, threads: int | None, segments: bool
) -> Corpus:
    """The corpus with labels sampled segment by segment, or one token at a time.

    All segments are sampled, whether they interact or not.
    """
    with Workers(threads) as workers:
        if segments:
            graph = model.candidate_graph(model.scores(test, workers), workers)
            assignment = anneal_chain(replace(graph, all_interacting=True), annealing, workers)
            codes = graph.candidates.assemble_labels(assignment)
        else:
            codes = anneal_tokens(model.base.scores(test, workers), annealing, workers)
    labels = Column(frozen(codes), model.labels)
    return test.with_labels(model.to_scheme(labels, test.sentences), model.scheme)
