"""The solvers that section 4.1.3 names: passes over the data to the same loss.

The thesis lists iterative scaling, gradient descent, conjugate gradients and second-order methods,
and takes L-BFGS on the word of Malouf (2002). Here each of them minimises one loss, and what counts
is how many passes over the data, and seconds, it takes to come near the minimum that a long run of
L-BFGS finds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skipchain import Corpus
from skipchain.arrays import Floats
from skipchain.chains.dataset import Dataset
from skipchain.chains.feature_counts import FeatureCounts
from skipchain.chains.learn import ChainProblem, Monitor, batch_objective, learn_chain
from skipchain.chains.scorer import Weights
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.learn.lbfgs import minimize
from skipchain.learn.solvers import (
    GIS,
    LBFGS,
    SGD,
    ConjugateGradient,
    GradientDescent,
    Newton,
    Solver,
)
from skipchain.learn.step import Step
from skipchain.parallel import Workers
from skipchain.report.pictures import Picture
from skipchain.reproduce.run import Run
from skipchain.reproduce.table import Row, Table, judge

NAME = "solvers"
TEMPLATES = "pos[-1..1]"
L2 = 0.2
GAPS = (0.01, 0.001)  # of the minimum, above it
EPOCHS = 30  # of SGD
SENTENCES = 1000  # so that a full run is a matter of minutes
PASSES = 200  # the most that a solver may take
MODELS = ("MaxEnt", "MEMM", "CRF")
GIS_NAME, LBFGS_NAME, BARE = "GIS", "L-BFGS", ", no penalty"
STOCHASTIC = "SGD"  # makes a step after each sequence, and is no rival by passes


@dataclass
class Curve:
    """The losses that a solver reached, with the passes and seconds up to each."""

    passes: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)

    def add(self, passes: float, seconds: float, loss: float) -> None:
        """One more point."""
        self.passes.append(passes)
        self.seconds.append(seconds)
        self.losses.append(loss)

    def reached(self, loss: float) -> tuple[float, float] | None:
        """Passes and seconds to the first loss that is as low.

        >>> Curve([1, 3], [0.5, 0.9], [9.0, 4.0]).reached(5.0)
        (3, 0.9)
        """
        for k, own in enumerate(self.losses):
            if own <= loss:
                return self.passes[k], self.seconds[k]
        return None


def measure(run: Run) -> Table:
    """Let every solver minimise the losses of the three models, and see when it comes near."""
    (train,) = run.read("conll2000", by_sentences=True, train=100)
    train, passes = train[:SENTENCES], 60 if run.quick else PASSES
    rows: list[Row] = []
    gaps: dict[str, dict[str, Curve]] = {}
    with Workers(run.threads) as workers:
        for model in MODELS:
            for penalty in (L2, 0.0):
                if penalty == 0.0 and model == "CRF":
                    continue  # where GIS is not defined
                name = model if penalty else model + BARE
                task = SolverTask.of(train, model, penalty, workers)
                curves = {}
                solvers = _solvers(model, penalty, passes)
                run.plan(len(solvers))
                for system, solver in solvers.items():
                    run.say(f"{NAME}: {name}, {system}")
                    curves[system] = task.follow(solver)
                best = min(task.minimum(), *(min(own.losses) for own in curves.values()))
                rows += solver_rows(name, curves, best, passes)
                gaps[name] = {
                    system: replace(own, losses=[loss / best - 1.0 for loss in own.losses])
                    for system, own in curves.items()
                }
    fewest = not any(row.fails for row in rows)
    return Table(
        NAME,
        "Solvers of log-linear models: passes over the data to the same loss",
        "nothing to compare with; Stewart's thesis names the solvers in section 4.1.3 and takes "
        "L-BFGS, after Malouf's comparison",
        rows,
        notes=(
            f"CoNLL-2000, {train.n_tokens:,} tokens, parts of speech in a window of three, labels "
            f"as they are; l2 = {L2}, and none where GIS is compared: its updates have none.",
            "measured: passes over the data until the loss lies within 1 % or 0.1 % of the "
            "minimum, which is the lowest loss of a long run of L-BFGS; seconds: the processor's "
            f"time to get there. The most are {passes} passes; who does not get there within "
            "them is named, with the passes that it took.",
            "A pass computes the loss and its gradient once, trials of line searches included; for "
            "Newton's method a table of second derivatives counts as one more; for SGD (no "
            f"dropout, rate 0.05, {EPOCHS} epochs, the average of the late ones) it is an epoch, "
            "and its loss is computed apart, off the clock.",
            f"Without a penalty ({BARE[2:]}) label pairs that do not occur have no weight, for "
            "L-BFGS as for GIS; so both have the same minimum.",
        ),
        seeds=(0,),
        verdict="L-BFGS takes the fewest passes of the methods that need nothing but gradients."
        if fewest
        else "L-BFGS does not always take the fewest passes: see the verdicts.",
        pictures=(_picture(gaps),),
    )


def _solvers(model: str, penalty: float, passes: int) -> dict[str, Solver]:
    """The solvers that are compared; they go on for long after they are near."""
    ends: dict[str, Any] = {"tolerance": 1e-6, "max_iterations": passes}
    if not penalty:
        return {GIS_NAME: GIS(**ends), LBFGS_NAME: LBFGS(passes=0, **ends)}
    solvers: dict[str, Solver] = {
        LBFGS_NAME: LBFGS(passes=0, **ends),
        "conjugate gradient": ConjugateGradient(**ends),
        "gradient descent": GradientDescent(**ends),
    }
    if model != "CRF":
        solvers["Newton"] = Newton(max_iterations=passes)
    plain: dict[str, Any] = {"dropout": 0.0, "bundle_dropout": 0.0, "prune": 0.0}
    return {**solvers, STOCHASTIC: SGD(epochs=EPOCHS, pairs="observed", **plain)}


@dataclass(frozen=True)
class SolverTask:
    """A problem with its loss, on which solvers are followed."""

    problem: ChainProblem
    objective: Any
    workers: Workers

    @classmethod
    def of(cls, train: Corpus, model: str, penalty: float, workers: Workers) -> SolverTask:
        """The problem that one of the models learns from a corpus."""
        _, features = Vocabulary.fit(train, Templates.parse(TEMPLATES))
        assert train.labels is not None
        names, codes = np.unique(train.labels.codes, return_inverse=True)  # of those that occur
        data = Dataset(features, train.sentences, codes.astype(np.int32))
        local = model != "CRF"
        problem = ChainProblem(data, len(names), local=local, l2=penalty)
        problem = problem.of_positions() if model == "MaxEnt" else problem
        return cls(problem, batch_objective(problem, workers, observed=True), workers)

    def minimum(self) -> float:
        """The lowest loss that a long run of L-BFGS finds."""
        start = np.zeros(self.objective.scorer.size)
        return minimize(self._function(), start, tolerance=1e-7, max_iterations=1000).loss

    def follow(self, solver: Solver) -> Curve:
        """The losses of a solver by passes and seconds, as far as it may go."""
        if isinstance(solver, LBFGS) and not self.problem.l2:
            return self._follow_bare(solver)
        curve, began, lost = Curve(), time.process_time(), 0.0
        most = getattr(solver, "max_iterations", None)

        def loss(weights: Weights) -> float:
            nonlocal lost
            before = time.process_time()
            value: float = self.objective(self.objective.scorer.pack(weights))[0]
            lost += time.process_time() - before
            return value

        def tell(step: Step, measured: float | None) -> None:
            passes = step.evaluations or 0
            if isinstance(solver, Newton):
                passes += step.iteration
            seconds = time.process_time() - began - lost
            if most is None or passes <= most:
                curve.add(passes, seconds, step.loss if measured is None else measured)

        score = loss if isinstance(solver, SGD) else None
        learn_chain(self.problem, solver, self.workers, Monitor(score=score, tell=tell))
        return curve

    def _follow_bare(self, solver: LBFGS) -> Curve:
        """L-BFGS on what GIS has weights for."""
        curve, began = Curve(), time.process_time()

        def tell(step: Step) -> None:
            curve.add(step.evaluations or 0, time.process_time() - began, step.loss)

        start = np.zeros(self.objective.scorer.size)
        how: dict[str, Any] = {"curvature": self.objective.curvature, **solver.stopping}
        minimize(self._function(), start, **how, callback=tell)
        return curve

    def _function(self) -> Any:
        """The loss; without a penalty, only what occurs in the data has a gradient."""
        if self.problem.l2:
            return self.objective
        kept = FeatureCounts.of(self.problem.data, self.objective.scorer).counts > 0.0

        def function(vector: Floats) -> tuple[float, Floats]:
            loss, gradient = self.objective(vector)
            return loss, np.where(kept, gradient, 0.0)

        return function


def solver_rows(name: str, curves: Mapping[str, Curve], best: float, passes: int) -> list[Row]:
    """Passes and seconds of every solver to each gap; verdicts are on L-BFGS."""
    rows = []
    for gap in GAPS:
        reached = {system: own.reached(best * (1.0 + gap)) for system, own in curves.items()}
        by_gradients = {
            system: own[0] if own else np.inf
            for system, own in reached.items()
            if system not in (STOCHASTIC, "Newton")
        }
        fewest_passes = min(by_gradients.values())
        for system, own in reached.items():
            taken = float(EPOCHS if system == STOCHASTIC else passes)
            verdict = "" if own else f"not within {taken:g} passes"
            if system == LBFGS_NAME and fewest_passes < np.inf:
                fewest = by_gradients[system] == fewest_passes
                verdict = judge(fewest, "the fewest passes by gradients" if fewest else "")
            measured, seconds = own or (taken, curves[system].seconds[-1])
            metric = f"passes to {100 * gap:g} %"
            row = Row(NAME, f"{name}: {system}", metric, None, measured)
            rows.append(replace(row, seconds=seconds, verdict=verdict))
    return rows


def _picture(gaps: Mapping[str, Mapping[str, Curve]]) -> Picture:
    """How far above the minimum each solver is, by passes: a panel a loss."""
    names = list(dict.fromkeys(system for curves in gaps.values() for system in curves))

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(gaps), squeeze=False, sharey=True)[0]
        for panel, (name, curves) in zip(panels, gaps.items(), strict=True):
            for system, own in curves.items():
                colour = f"C{names.index(system)}"
                panel.loglog(own.passes, np.maximum(own.losses, 1e-7), color=colour, label=system)
            for gap in GAPS:
                panel.axhline(gap, color="0.7", linewidth=0.8, linestyle=":")
            panel.set_title(name, fontsize="medium")
            panel.set_xlabel("passes over the data")
            panel.set_ylim(bottom=1e-6)
            panel.grid(color="0.93")
        panels[0].set_ylabel("loss above the minimum (relative)")
        handles = {
            label: handle
            for panel in panels
            for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=6)

    caption = "How far above the minimum solvers are, by passes over the data"
    return Picture("losses", caption, draw, (3.2 * len(gaps), 4.2))
