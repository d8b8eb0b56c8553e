"""Sampling finds what Viterbi finds: Table 1 of Finkel, Grenager and Manning (2005)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from skipchain.corpus import Column, Corpus
from skipchain.corpus.column import frozen
from skipchain.datasets.registry import data_set
from skipchain.metrics import evaluate
from skipchain.models.chain.crf import CRF
from skipchain.models.document.annealing import Annealing, anneal_chain
from skipchain.models.document.model import FactoredModel
from skipchain.models.document.token_gibbs import anneal_tokens
from skipchain.parallel import Workers
from skipchain.reproduce.run import Run, Timer
from skipchain.reproduce.system import DecodedModel
from skipchain.reproduce.table import FAILS, HOLDS, Row, Table

NAME = "gibbs-viterbi"
METRIC = "F1 testb"
VITERBI, SEGMENTS, TOKENS = "Viterbi", "Gibbs, stretches", "Gibbs, single labels"
PUBLISHED = (85.54, 85.51, 85.49, 85.51, 85.51, 85.51, 85.51, 85.51, 85.51)
CLOSE = 0.05
SWEEPS = 1000


def measure(run: Run) -> Table:
    """One CRF, decoded by Viterbi and by annealed sampling from random labels."""
    data = data_set("conll2003")
    train, test = data.read("train"), data.read("testb")
    seeds = tuple(range(2 if run.quick else 10))
    sweeps = 100 if run.quick else SWEEPS
    settings: dict[str, Any] = {}
    if run.quick:
        train = train.take_documents(np.arange(160))
        test = test.take_documents(np.arange(30))
        settings = {"epochs": 5}
    run.say(f"{NAME}: training")
    base = CRF("ner", encoding="iob2", threads=run.threads, **settings).fit(train).model_
    model = FactoredModel.from_chain(base, ())
    clock = Timer()
    found: dict[str, list[float]] = {VITERBI: [], SEGMENTS: [], TOKENS: []}
    with clock(VITERBI):
        best = DecodedModel(base).label(test, run.threads)
    found[VITERBI].append(evaluate(test, best).f1)
    for seed in seeds:
        run.say(f"{NAME}: seed {seed}")
        annealing = Annealing(sweeps, seed=seed, random_start=True)
        with clock(SEGMENTS):
            own = _sample_segments(model, test, annealing, run.threads)
        found[SEGMENTS].append(evaluate(test, own).f1)
        with clock(TOKENS):
            own = _sample_tokens(model, test, annealing, run.threads)
        found[TOKENS].append(evaluate(test, own).f1)
    rows = [Row(NAME, VITERBI, METRIC, 85.51, found[VITERBI][0], seconds=clock.seconds(VITERBI))]
    for system in (SEGMENTS, TOKENS):
        for seed, f1 in zip(seeds, found[system], strict=True):
            gap = f1 - found[VITERBI][0]
            verdict = f"{HOLDS if abs(gap) <= CLOSE else FAILS}: {gap:+.2f}"
            published = PUBLISHED[seed] if seed < len(PUBLISHED) else None
            rows.append(
                Row(
                    NAME,
                    f"{system}, {seed}",
                    METRIC,
                    published,
                    f1,
                    seconds=clock.seconds(system) / len(seeds),
                    verdict=verdict,
                )
            )
        mean_and_range = float(np.std(found[system], ddof=1))
        rows.append(Row(NAME, system, "mean", 85.51, float(np.mean(found[system]))))
        rows.append(Row(NAME, system, "standard deviation", 0.01, mean_and_range))
    good = all(abs(f1 - found[VITERBI][0]) <= CLOSE for f1 in found[SEGMENTS])
    slow = float(np.mean(found[TOKENS])) - found[VITERBI][0]
    return Table(
        NAME,
        "Annealed sampling and Viterbi",
        "Finkel, Grenager and Manning (2005), Table 1, CoNLL",
        tuple(rows),
        (
            f"A CRF with the features 'ner' in iob2, {train.n_documents} documents to learn from; "
            f"{sweeps} sweeps, cooled linearly from 1 to 0, from random labels. Published are nine "
            "runs.",
            "Stretches: runs of tokens in doubt are drawn as wholes, from the labellings that come "
            "into question; all other tokens are fixed. Single labels: each token is drawn given "
            "its neighbours, and nothing is forbidden.",
        ),
        seeds,
        f"Runs over stretches {'agree' if good else 'do not agree'} with Viterbi; those over "
        f"single labels are off by {slow:+.2f} on average.",
    )


def _sample_segments(
    model: FactoredModel, test: Corpus, annealing: Annealing, threads: int | None
) -> Corpus:
    """The corpus with labels of stretches that were sampled, all of them."""
    with Workers(threads) as workers:
        graph = model.candidate_graph(model.scores(test, workers), workers)
        assignment = anneal_chain(replace(graph, all_interacting=True), annealing, workers)
    labels = Column(frozen(graph.candidates.assemble_labels(assignment)), model.labels)
    return test.with_labels(model.to_scheme(labels, test.sentences), model.scheme)


def _sample_tokens(
    model: FactoredModel, test: Corpus, annealing: Annealing, threads: int | None
) -> Corpus:
    """The corpus with labels that were sampled one at a time."""
    with Workers(threads) as workers:
        codes = anneal_tokens(model.base.scores(test, workers), annealing, workers)
    labels = Column(frozen(codes), model.labels)
    return test.with_labels(model.to_scheme(labels, test.sentences), model.scheme)
