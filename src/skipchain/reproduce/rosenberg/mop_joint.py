"""What joint training of the mixture of parents is worth, away from the test sets.

The training data of CoNLL-2003 in three thirds, each labelled by mixtures of the other two, which
have the paper's form (see `skipchain.reproduce.rosenberg.mop_ner`). Joint training goes on from the
separate solution; its other rows differ from that in one thing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from skipchain import Corpus, MoPMEMM
from skipchain.arrays import Floats, Labels
from skipchain.chains.from_marginals import POSTERIOR
from skipchain.chains.learn import MEMORY
from skipchain.learn.lbfgs import minimize
from skipchain.learn.solvers import LBFGS
from skipchain.learn.step import Step
from skipchain.learn.vectors import dot
from skipchain.metrics import evaluate
from skipchain.models.graph.mixture_likelihood import MixtureLikelihood
from skipchain.models.graph.model import GraphModel
from skipchain.parallel import Workers
from skipchain.reproduce.rosenberg.mop_ner import (
    EDGES,
    ENCODING,
    FEATURES,
    JOINT,
    L2,
    LABEL_PAIRS,
    POSTERIOR_MEMM,
    SEPARATE,
    without_skip_edges,
)
from skipchain.reproduce.run import Run, Timer
from skipchain.reproduce.system import DecodedModel
from skipchain.reproduce.table import Row, Table, of_metric

NAME = "mop-joint"
F1, GAIN, LOSS = "F1", "gain on separate", "loss"
CERTAINTY = "% certainty of parents"
THIRDS = 3
ITERATIONS = (10, 20, 40)
PULLS = (L2, 0.2)  # penalties towards the separate solution
SKIP_EDGE = "same_word"
FROM_ZERO, WHOLE = f"{JOINT}, from zero", "chains of whole documents"


@dataclass(frozen=True, slots=True)
class PulledTo:
    """An objective with the penalty l2 · |x|², which becomes l2 · |x − centre|²."""

    objective: Callable[[Floats], tuple[float, Floats]]
    centre: Floats
    l2: float

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Loss and gradient.

        >>> PulledTo(lambda x: (2.0 * float(x @ x), 4.0 * x), np.ones(1), 2.0)(np.array([3.0]))
        (8.0, array([8.]))
        """
        loss, gradient = self.objective(vector)
        towards = 2.0 * self.l2 * self.centre
        return loss + dot(towards, self.centre / 2.0 - vector), gradient - towards


def measure(run: Run) -> Table:
    """Label each third by all systems."""
    (train,) = run.read("conll2003", train=90)
    clock, by_metric = Timer(), dict[str, dict[str, list[float]]]()
    thirds = np.array_split(np.arange(train.n_documents), THIRDS)
    for number, third in enumerate(thirds[:1] if run.quick else thirds):
        rest = np.setdiff1d(np.arange(train.n_documents), third)
        parts = train.take_documents(rest), train.take_documents(third)
        for name, found in _systems(*parts, run, clock):
            told = ", ".join(f"{metric} {figure:.2f}" for metric, figure in found.items())
            run.say(f"{NAME}: third {number + 1}, {name}: {told}")
            for metric, figure in found.items():
                by_metric.setdefault(metric, {}).setdefault(name, []).append(figure)
    rows = [
        Row.of_runs(NAME, name, metric, None, own, seconds=clock.seconds(name))
        for metric, scores in by_metric.items()
        for name, own in scores.items()
    ]
    for name, own in by_metric[F1].items():
        base = f"{SEPARATE}, {WHOLE}" if WHOLE in name else SEPARATE
        if name == base:
            continue
        gains = (np.array(own) - by_metric[F1][base]).tolist()
        each = ", ".join(f"{gain:+.2f}" for gain in gains)
        rows.append(Row.of_runs(NAME, name, GAIN, None, gains, verdict=each))
    return Table(
        NAME,
        "Mixture-of-parents MEMM: what joint training is worth",
        "Rosenberg, Klein and Taskar (2007), Figure 2, has a gain of 0.4",
        rows,
        notes=(
            f"Mixtures as in mop-ner (features, edges, encoding, l2 = {L2}). Mean, worst and best "
            f"third of the training data ({train.n_documents} documents, in their order), labelled "
            "by a model of the other two; the verdict has the gain on each.",
            "N iterations: joint training stopped there. towards separate: its penalty pulls the "
            "weights to the separate solution instead of zero, by the factor given. from zero: it "
            "begins at zero weights; loss: that of training, which tells local optima apart.",
            f"{CERTAINTY}: the mean probability of the right labels of tokens to which skip edges "
            "lead back, in the documents of training and in the third held out.",
            f"{WHOLE}: a chain goes on from one sentence to the next, in training and tagging, and "
            "so do the windows of features; their gain is on separate training of the same form.",
        ),
        verdict=_conclusion(rows),
    )


def _systems(
    train: Corpus, test: Corpus, run: Run, clock: Timer
) -> Iterator[tuple[str, dict[str, float]]]:
    """Name and figures of each system."""

    def f1(model: GraphModel, given: Corpus = test) -> dict[str, float]:
        found = DecodedModel(model, POSTERIOR).label(given, run.threads)
        return {F1: evaluate(test, test.with_labels(found.labels, found.scheme)).f1}

    with clock(SEPARATE):
        separate = _separate(train, run)
    yield POSTERIOR_MEMM, f1(without_skip_edges(separate))
    sure = {
        f"{CERTAINTY}, {part}": certainty_of_parents(separate, given, run)
        for part, given in (("training", train), ("held out", test))
    }
    yield SEPARATE, {**f1(separate), **sure}
    with clock(JOINT):
        stages = train_jointly(separate, train, run)
    for iteration, (model, loss) in stages.items():
        name = f"{JOINT}, {iteration} iterations" if iteration else JOINT
        yield name, {**f1(model), LOSS: loss}
    for l2 in PULLS:
        name = f"{JOINT}, towards separate, {l2:g}"
        with clock(name):
            model, _ = train_jointly(separate, train, run, pull=l2)[0]
        yield name, f1(model)
    with clock(FROM_ZERO):
        model, loss = train_jointly(separate, train, run, from_zero=True)[0]
    yield FROM_ZERO, {**f1(model), LOSS: loss}
    whole, labelled = whole_documents(train), whole_documents(test)
    with clock(f"{SEPARATE}, {WHOLE}"):
        separate = _separate(whole, run)
    yield f"{SEPARATE}, {WHOLE}", f1(separate, labelled)
    with clock(f"{JOINT}, {WHOLE}"):
        model, _ = train_jointly(separate, whole, run)[0]
    yield f"{JOINT}, {WHOLE}", f1(model, labelled)


def certainty_of_parents(model: GraphModel, corpus: Corpus, run: Run) -> float:
    """The mean probability of the right label, in per cent, at the other end of skip edges."""
    with Workers(run.threads) as workers:
        scores = model.scores(corpus, workers)
        marginals = model.marginals(scores, workers)
    (dag,) = scores.dataset.dags(model.orderings)
    parents = dag.parents[dag.edge_types == scores.dataset.type_index(SKIP_EDGE)]
    labels = _label_numbers(model, corpus)[parents]
    return 100.0 * float(marginals[parents, labels][labels >= 0].mean())


def _label_numbers(model: GraphModel, corpus: Corpus) -> Labels:
    """The gold labels by the model's numbers, −1 where it does not know them. [N]"""
    number = {label: k for k, label in enumerate(model.labels)}
    known = [number.get(label, -1) for label in corpus.labels.values]
    return np.array(known, np.int32)[corpus.labels.codes]


def _solver(run: Run) -> LBFGS:
    return LBFGS(max_iterations=25, passes=0) if run.quick else LBFGS(passes=0)


def _separate(train: Corpus, run: Run) -> GraphModel:
    mixture = MoPMEMM(
        f"{FEATURES}\n{LABEL_PAIRS}",
        edges=EDGES,
        orderings="forward",
        encoding=ENCODING,
        solver=_solver(run),
        l2=L2,
        threads=run.threads,
    )
    return mixture.fit(train).model_


def train_jointly(
    model: GraphModel,
    train: Corpus,
    run: Run,
    *,
    pull: float | None = None,
    from_zero: bool = False,
) -> dict[int, tuple[GraphModel, float]]:
    """The model trained jointly, and its loss: after some iterations, and (0) at the end."""
    with Workers(run.threads) as workers:
        data = model.dataset(train, workers)
        objective = MixtureLikelihood(
            data,
            _label_numbers(model, train),
            len(model.labels),
            data.dags(model.orderings),
            workers,
            l2=L2 if pull is None else pull,
            single_precision=True,
            label_pairs=model.label_pairs,
        )
        start = objective.pack(model.edge_weights)
        found: dict[int, tuple[GraphModel, float]] = {}

        def keep(step: Step) -> None:
            if step.iteration in ITERATIONS:
                kept = model.with_weights(objective.weights(step.vector))
                found[step.iteration] = kept, step.loss

        result = minimize(
            objective if pull is None else PulledTo(objective, start, pull),
            np.zeros_like(start) if from_zero else start,
            memory=MEMORY,
            **_solver(run).stopping,
            curvature=objective.curvature,
            callback=keep,
        )
        return {**found, 0: (model.with_weights(objective.weights(result.vector)), result.loss)}


def whole_documents(corpus: Corpus) -> Corpus:
    """The corpus with one sentence a document.

    >>> whole_documents(Corpus.of([["a", "b"], ["c"], ["d"]], documents=[2, 1])).sentences.tolist()
    [0, 3, 4]
    """
    documents = np.arange(corpus.n_documents + 1)
    return replace(corpus, sentences=corpus.sentences[corpus.documents], documents=documents)


def _conclusion(rows: list[Row]) -> str:
    """What joint training gains, and between what its other forms lie."""
    gains = {row.system: row.measured for row in of_metric(rows, GAIN)}
    others = sorted(gains[name] for name in gains if name.startswith(f"{JOINT}, "))
    return (
        f"Joint training gains {gains[JOINT]:+.2f} on separate training (published 0.4), its other "
        f"forms between {others[0]:+.2f} and {others[-1]:+.2f}."
    )
