"""Sampling finds what Viterbi finds: Table 1 of Finkel, Grenager and Manning (2005)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skipchain import CRF, Column, Corpus
from skipchain.chains import decode as chains
from skipchain.corpus.column import frozen
from skipchain.metrics import evaluate, type_scores
from skipchain.models.document.annealing import Annealing, anneal_chain
from skipchain.models.document.model import FactoredModel
from skipchain.models.document.token_gibbs import TokenGraph, anneal_token_chain
from skipchain.parallel import Workers
from skipchain.reproduce.finkel import nonlocal_seminars as seminars
from skipchain.reproduce.run import Run, Timer
from skipchain.reproduce.system import DecodedModel
from skipchain.reproduce.table import Row, Table, judge

NAME = "gibbs-viterbi"
CONLL, SEMINARS = "F1 testb", "F1 seminars"
VITERBI, SEGMENTS, TOKENS = "Viterbi", "Gibbs, segments", "Gibbs, single labels"
SAMPLERS = (SEGMENTS, TOKENS)
# Viterbi, nine runs, the mean of ten and their standard deviation
PUBLISHED: dict[str, tuple[float, tuple[float | None, ...], float, float]] = {
    CONLL: (85.51, (85.54, 85.51, 85.49, *[85.51] * 6, None), 85.51, 0.01),
    SEMINARS: (91.85, (*[91.85] * 8, 91.86, None), 91.85, 0.004),
}
CLOSE = 0.05
SWEEPS, FEW_SWEEPS = 1000, 100


@dataclass(frozen=True, slots=True)
class SamplingTask:
    """Chain models, the data that each labels, and how that is scored; the mean of all counts."""

    metric: str
    parts: Sequence[tuple[FactoredModel, Corpus]]
    score: Callable[[Corpus, Corpus], float]

    def measure(self, label: Callable[[FactoredModel, Corpus], Corpus]) -> float:
        """The score of a way to label the data."""
        return float(np.mean([self.score(test, label(model, test)) for model, test in self.parts]))


def measure(run: Run) -> Table:
    """CRFs, decoded by Viterbi and by annealed sampling from random labels."""
    seeds, sweeps = run.seeds(10, quick=2), FEW_SWEEPS if run.quick else SWEEPS
    rows, off, agree = [], {}, True
    tasks = (_conll(run), _seminars(run))
    run.plan(len(tasks) * len(SAMPLERS) * len(seeds))
    for task in tasks:
        clock = Timer()
        with clock(VITERBI):
            viterbi = task.measure(
                lambda model, test: DecodedModel(model.base).label(test, run.threads)
            )
        seconds = clock.seconds(VITERBI)
        published, runs, mean, deviation = PUBLISHED[task.metric]
        rows.append(Row(NAME, VITERBI, task.metric, published, viterbi, seconds=seconds))
        for system in SAMPLERS:
            values = np.zeros(len(seeds))
            for seed in seeds:
                run.say(f"{NAME}: {task.metric}, {system}, seed {seed}")
                annealing = Annealing(sweeps, seed=seed, random_start=True)
                with clock(system):
                    values[seed] = task.measure(_sampler(system, annealing, run.threads))
            spent = clock.seconds(system) / len(seeds)
            for seed, value in zip(seeds, values.tolist(), strict=True):
                row = Row(NAME, f"{system}, {seed}", task.metric, runs[seed], value, seconds=spent)
                verdict = judge(abs(value - viterbi) <= CLOSE, f"{value - viterbi:+.2f}")
                rows.append(replace(row, verdict=verdict))
            rows.append(Row(NAME, system, f"{task.metric}, mean", mean, float(values.mean())))
            spread = float(values.std(ddof=1))
            rows.append(Row(NAME, system, f"{task.metric}, deviation", deviation, spread))
            if system == SEGMENTS:
                agree = agree and bool((abs(values - viterbi) <= CLOSE).all())
            else:
                off[task.metric] = f"{float(values.mean()) - viterbi:+.2f}"
    messages = sum(test.n_documents for _, test in tasks[1].parts)
    return Table(
        NAME,
        "Annealed sampling and Viterbi",
        "Finkel, Grenager and Manning (2005), Table 1",
        rows,
        notes=(
            "F1 testb: spans of CoNLL-2003, a CRF with the features 'ner' in iob2, "
            f"{tasks[0].parts[0][1].n_documents} documents. F1 seminars: tokens of {messages} "
            "announcements, the mean over four fields and over the five folds of "
            "nonlocal-seminars.",
            "Published are ten runs by the caption, and nine by the table.",
            f"{sweeps} sweeps with a temperature that falls linearly from 1 to 0, from random "
            "labels.",
            "segments: uncertain segments are sampled as a whole, among their candidate "
            "labellings; all other tokens are fixed. single labels: each token is sampled given "
            "its neighbours, all of them, and nothing is forbidden; what counts is where it ends.",
        ),
        seeds=seeds,
        verdict=f"Sampled segments {'agree' if agree else 'do not agree'} with Viterbi; single "
        f"labels are off by {off[CONLL]} (CoNLL) and {off[SEMINARS]} (seminars) on average.",
    )


def _conll(run: Run) -> SamplingTask:
    """Names, by one CRF."""
    train, test = run.read("conll2003", train=160, testb=30)
    settings: dict[str, Any] = {"epochs": 5} if run.quick else {}
    run.say(f"{NAME}: training")
    base = CRF("ner", encoding="iob2", threads=run.threads, **settings).fit(train).model_
    model = FactoredModel.from_chain(base, ())
    return SamplingTask(CONLL, [(model, test)], lambda gold, found: evaluate(gold, found).f1)


def _seminars(run: Run) -> SamplingTask:
    """Fields of announcements, by a CRF for each of five folds."""
    folds = seminars.fit_folds(seminars.messages(run), seminars.FEATURES, run)
    parts = [(FactoredModel.from_chain(fold.model.base, ()), fold.test) for fold in folds]
    return SamplingTask(
        SEMINARS, parts, lambda gold, found: type_scores(gold.labels, found.labels).macro_f1
    )


def _sampler(
    system: str, annealing: Annealing, threads: int | None
) -> Callable[[FactoredModel, Corpus], Corpus]:
    """Label a corpus by samples of segments or of single labels.

    All are sampled, whether they interact or not.
    """

    def label(model: FactoredModel, test: Corpus) -> Corpus:
        plain = test.without_labels()
        with Workers(threads) as workers:
            scores = model.scores(plain, workers)
            if system == SEGMENTS:
                graph = model.candidate_graph(scores, workers)
                assignment = anneal_chain(replace(graph, all_interacting=True), annealing, workers)
                codes = graph.candidates.assemble_labels(assignment)
            else:
                best = chains.viterbi(scores.chain, workers)
                none = np.zeros(len(best), np.bool_)
                parts = plain, scores.chain, best, none, model.label_types, ()
                tokens = TokenGraph.of(*parts, all_interacting=True)
                codes, _, _ = anneal_token_chain(tokens, annealing, workers)
        labels = Column(frozen(codes), model.labels)
        return test.with_labels(model.to_scheme(labels, test.sentences), model.scheme)

    return label
