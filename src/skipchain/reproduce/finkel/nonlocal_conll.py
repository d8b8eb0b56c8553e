"""Names that keep their type, by sampling: Table 5 of Finkel, Grenager and Manning (2005)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from skipchain import CRF, Corpus, Factored
from skipchain.metrics import Evaluation, evaluate, significance
from skipchain.models.document import annealing
from skipchain.models.document.annealing import Annealing
from skipchain.models.document.factors.consistency import Consistency
from skipchain.models.document.factors.counts import count_pairs
from skipchain.models.document.model import GIBBS, ICM, MEAN_FIELD, TWO_PASS, FactoredModel
from skipchain.parallel import Workers
from skipchain.reproduce.finkel.ilp import solve_ilp
from skipchain.reproduce.plots import points
from skipchain.reproduce.run import Run, Timer
from skipchain.reproduce.system import DecodedModel, consistency_row, t_test
from skipchain.reproduce.table import P_VALUE, Row, Table, judge, measured_by_system, of_metric

NAME = "nonlocal-conll"
TYPES = ("LOC", "ORG", "MISC", "PER")
LOCAL, LEARNED = "Viterbi", "Gibbs, learned"
PAPER, TUNED = "Gibbs, counted", "Gibbs, counted, tuned"
TWICE, ICM_LEARNED, MEAN = "two passes", "ICM, learned", "mean field, learned"
PUBLISHED: Mapping[str, tuple[float, ...]] = {
    LOCAL: (88.16, 80.83, 78.51, 90.36, 85.51),
    PAPER: (88.51, 81.72, 80.43, 92.29, 86.86),
}
STRENGTHS = (1.0, 0.5, 0.25, 0.125)
SWEEPS = 200
GAIN = 1.2  # points of F1 that are wanted
SHORT = 400  # tokens of documents for which the optimum is proven
PROVEN_DOCUMENTS = 60


def measure(run: Run) -> Table:
    """One CRF, and what factors across documents add to it."""
    train, testa, testb = run.read("conll2003", train=160, testa=40, testb=40)
    seeds = run.seeds(5, quick=2)
    settings: dict[str, Any] = {"epochs": 5} if run.quick else {}
    crf = CRF("ner", threads=run.threads, **settings)
    run.say(f"{NAME}: training, and learning penalties on held-out folds")
    folds = 2 if run.quick else 5
    learned = Factored(crf, folds=folds, threads=run.threads).fit(train).model_
    paper = replace(learned, factors=(Consistency.of(count_pairs(train, merged=True)),))
    strength = _best_strength(paper, testa, run)
    tuned = _scaled(paper, strength)
    clock = Timer()
    systems = {
        LOCAL: DecodedModel(learned.base),
        PAPER: DecodedModel(paper, GIBBS),
        TUNED: DecodedModel(tuned, GIBBS),
        LEARNED: DecodedModel(learned, GIBBS),
        TWICE: DecodedModel(learned, TWO_PASS),
        ICM_LEARNED: DecodedModel(learned, ICM),
        MEAN: DecodedModel(learned, MEAN_FIELD),
    }
    labelled: dict[str, list[Corpus]] = {name: [] for name in systems}
    for name, system in systems.items():
        run.say(f"{NAME}: labels by {name}")
        for seed in seeds if system.decoder == GIBBS else seeds[:1]:
            with clock(name):
                labelled[name].append(_seeded(system, seed).label(testb, run.threads))
    scores = {name: [evaluate(testb, each) for each in runs] for name, runs in labelled.items()}
    seconds = {name: clock.seconds(name) / len(runs) for name, runs in labelled.items()}
    rows = _f1_rows(testb, labelled, scores, seconds)
    rows += [consistency_row(NAME, name, "consistency", runs[0]) for name, runs in scores.items()]
    rows += _time_rows(seconds)
    rows += _optimum_rows(learned, testb, run)
    return Table(
        NAME,
        "Names that keep their type",
        "Finkel, Grenager and Manning (2005), Table 5 and section 7",
        rows,
        notes=(
            f"A CRF with the features 'ner' (bioes, SGD), {train.n_documents} training documents. "
            f"{SWEEPS} sweeps with a temperature that falls linearly, from Viterbi's labels; "
            f"{len(seeds)} runs with different seeds.",
            "low and high of F1: worst and best run. std: standard deviation of the runs; t: the "
            f"runs against Viterbi, as in the paper. {P_VALUE} (first run).",
            "counted: penalties by counts in the training data, as published. tuned: the same "
            f"times {strength:g}, the best of {', '.join(f'{each:g}' for each in STRENGTHS)} on "
            "testa. learned: tables learnt on folds of the training data that the CRF was not "
            "trained on; none of their settings was chosen on this table's data.",
            "two passes: Viterbi again, with twice the mean probability of a word's type at its "
            "other occurrences in the document added to the scores.",
        ),
        seeds=seeds,
        verdict=_conclusion(rows),
        pictures=(points(of_metric(rows, "F1 ALL"), "F1 on testb"),),
    )


def _seeded(system: DecodedModel, seed: int) -> DecodedModel:
    """The system with another seed, if it samples."""
    model = system.model
    if not isinstance(model, FactoredModel):
        return system
    return replace(system, model=replace(model, annealing=Annealing(SWEEPS, seed=seed)))


def _scaled(model: FactoredModel, strength: float) -> FactoredModel:
    return replace(model, factors=tuple(factor.scaled(strength) for factor in model.factors))


def _best_strength(model: FactoredModel, testa: Corpus, run: Run) -> float:
    """The strength of penalties with the best F1 on testa."""
    f1 = {}
    for strength in STRENGTHS[: 2 if run.quick else None]:
        run.say(f"{NAME}: strength {strength:g} on testa")
        labelled = DecodedModel(_scaled(model, strength), GIBBS).label(testa, run.threads)
        f1[strength] = evaluate(testa, labelled).f1
    return max(f1, key=f1.__getitem__)


def _f1_rows(
    test: Corpus,
    labelled: Mapping[str, list[Corpus]],
    scores: Mapping[str, list[Evaluation]],
    seconds: Mapping[str, float],
) -> list[Row]:
    rows = []
    local = scores[LOCAL][0].f1
    for name, runs in scores.items():
        *by_type, overall = PUBLISHED.get(name, (None,) * 5)
        for kind, known in zip(TYPES, by_type, strict=True):
            mean = float(np.mean([run.by_type[kind].f1 for run in runs]))
            rows.append(Row(NAME, name, f"F1 {kind}", known, mean))
        f1 = [run.f1 for run in runs]
        row = Row.of_runs(NAME, name, "F1 ALL", overall, f1, seconds=seconds[name])
        if name != LOCAL:
            p = significance(test, labelled[name][0], labelled[LOCAL][0]).p_value
            gain = row.measured - local
            reason = f"{gain:+.2f}, p {p:.4f}{_spread(f1, local)}"
            row = replace(row, verdict=judge(gain > 0, reason))
        rows.append(row)
    return rows


def _spread(f1: list[float], local: float) -> str:
    """Standard deviation and t-test of several runs."""
    if len(f1) < 2:
        return ""
    test = t_test(f1, local)
    return f", std {np.std(f1, ddof=1):.3f}, {test}" if test else ", std 0 (all runs alike)"


def _time_rows(seconds: Mapping[str, float]) -> list[Row]:
    """Seconds to label, and how many times those of Viterbi."""
    rows = []
    published = {LOCAL: 55.0, PAPER: 1738.0}
    for name in (LOCAL, PAPER, LEARNED, TWICE, MEAN):
        known, spent = published.get(name), seconds[name]
        ratio = "" if name == LOCAL else f"{spent / seconds[LOCAL]:.1f} times"
        rows.append(Row(NAME, name, "seconds to label", known, spent, verdict=ratio))
    return rows


def _optimum_rows(model: FactoredModel, test: Corpus, run: Run) -> list[Row]:
    """How often each decoder finds the proven optimum of short documents."""
    lengths = np.diff(test.sentences[test.documents])
    short = np.flatnonzero(lengths < SHORT)[: 10 if run.quick else PROVEN_DOCUMENTS]
    run.say(f"{NAME}: proven optima of {len(short)} documents")
    corpus = test.take_documents(short).without_labels()
    with Workers(run.threads) as workers:
        graph = model.candidate_graph(model.scores(corpus, workers), workers)
        assignments = {
            LEARNED: annealing.anneal(graph, Annealing(SWEEPS), workers),
            ICM_LEARNED: annealing.icm(graph, workers),
            MEAN: graph.argmax(annealing.mean_field(graph, workers)),
        }
    scores = {name: graph.document_scores(each) for name, each in assignments.items()}
    optimal, proven = dict.fromkeys(assignments, 0), 0
    for document, segments in enumerate(graph.document_segments):
        solution = solve_ilp(graph, document)
        if solution is None:
            continue
        proven += 1
        best = assignments[LEARNED].copy()
        best[segments] = solution
        optimum = graph.document_scores(best)[document]
        for name in optimal:
            optimal[name] += scores[name][document] >= optimum - 1e-6
    text = f"of {proven} documents of less than {SHORT} tokens with something to decide"
    return [
        Row(NAME, name, "% optimal", None, 100.0 * count / max(proven, 1), verdict=text)
        for name, count in optimal.items()
    ]


def _conclusion(rows: list[Row]) -> str:
    f1 = measured_by_system(rows, "F1 ALL")
    gain = f1[LEARNED] - f1[LOCAL]
    wanted = f"a gain of {GAIN} {judge(gain >= GAIN)}"
    return (
        f"The published penalties give {f1[PAPER] - f1[LOCAL]:+.2f} ({f1[TUNED] - f1[LOCAL]:+.2f} "
        f"with their strength tuned), learned ones {gain:+.2f}, to {f1[LEARNED]:.2f}: {wanted}."
    )
