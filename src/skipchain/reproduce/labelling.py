"""Labels of several systems on several data sets, as figures beside those of a published table.

>>> results = SystemResults()
>>> for found in (["A", "B"], ["A", "A"]):
...     results.add("LR", score_labels([["A", "B"]], [found], seconds=0.5))
>>> published = columns(["LR", "CRF"], "A 70 80 | average accuracy 75 -")
>>> for row in results.rows("toy", "6.4", published):
...     print(row.metric, row.published, round(row.measured, 1), row.low, row.high)
6.4: A 70.0 83.3 66.66666666666667 100.0
6.4: average accuracy 75.0 75.0 50.0 100.0
>>> print(results.time_rows("toy", "6.3", {"LR": 30.0})[0].verdict)
60 times as fast
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from skipchain.corpus.column import Column
from skipchain.learn.step import OptimisationResult, Step
from skipchain.metrics.entity import EntityScores
from skipchain.metrics.token import TokenScores, token_scores
from skipchain.models.base.progress import TrainingSize
from skipchain.reproduce.run import mean_and_range
from skipchain.reproduce.table import Row

AVERAGE_F1, AVERAGE_ACCURACY = "average F1", "average accuracy"
TOKEN_ACCURACY, INSTANCE_ACCURACY = "token accuracy", "instance accuracy"
OVERALL = (AVERAGE_F1, AVERAGE_ACCURACY, TOKEN_ACCURACY, INSTANCE_ACCURACY)
TRAINING = "seconds to train"

Published = Mapping[str, Mapping[str, float]]
"""Metric to system to figure."""


@dataclass(frozen=True, slots=True, eq=False)
class LabellingScores:
    """How one system labelled one data set, and how long it took to learn to.

    ``average_accuracy`` is the mean over sequences of the share of right labels, in percent, where
    that of ``tokens`` counts all labels alike.
    """

    tokens: TokenScores
    average_accuracy: float
    seconds: float = 0.0
    others: Mapping[str, float] = field(default_factory=dict)
    """Further figures by name, such as errors of single inputs."""

    @property
    def f1(self) -> dict[str, float]:
        """The F1 of each label, in percent."""
        return {label: score.f1 for label, score in self.tokens.by_label.items()}

    @property
    def figures(self) -> dict[str, float]:
        """All figures by name, in percent: F1 by label, then the overall ones."""
        return {
            **self.f1,
            AVERAGE_F1: EntityScores(self.tokens.by_label).macro_f1,
            AVERAGE_ACCURACY: self.average_accuracy,
            TOKEN_ACCURACY: self.tokens.accuracy,
            INSTANCE_ACCURACY: self.tokens.sequence_accuracy,
            **self.others,
        }


def score_labels(
    gold: Sequence[Sequence[str]],
    found: Sequence[Sequence[str]],
    seconds: float = 0.0,
    others: Mapping[str, float] | None = None,
) -> LabellingScores:
    """Compare the labels of sequences with the right ones.

    >>> score_labels([["A", "B"], ["B"]], [["A", "A"], ["B"]]).figures
    {'A': 66.66666666666667, 'B': 66.66666666666667, 'average F1': 66.66666666666667,
     'average accuracy': 75.0, 'token accuracy': 66.66666666666667, 'instance accuracy': 50.0}
    """
    right, own = (Column.encode([label for y in labels for label in y]) for labels in (gold, found))
    offsets = np.cumsum([0, *map(len, gold)])
    shares = [
        100.0 * np.mean([a == b for a, b in zip(y, z, strict=True)])
        for y, z in zip(gold, found, strict=True)
        if len(y)
    ]
    scores = token_scores(right, own, offsets)
    return LabellingScores(scores, float(np.mean(shares)), seconds, others or {})


class SystemResults:
    """What each system made of each data set (or split, or seed), in the order of adding."""

    def __init__(self) -> None:
        self.by_system: dict[str, list[LabellingScores]] = {}

    def add(self, system: str, scores: LabellingScores) -> None:
        """Keep what a system made of one more data set."""
        self.by_system.setdefault(system, []).append(scores)

    def values(self, system: str, metric: str) -> list[float]:
        """One figure of a system on every data set that has it."""
        return [own.figures[metric] for own in self.by_system[system] if metric in own.figures]

    def mean(self, system: str, metric: str) -> float:
        """The mean of a figure over the data sets."""
        return float(np.mean(self.values(system, metric)))

    def seconds(self, system: str) -> list[float]:
        """The time of training on each data set."""
        return [own.seconds for own in self.by_system[system]]

    def f1(self, system: str) -> dict[str, float]:
        """The F1 of each label, mean over the data sets."""
        labels = sorted({label for own in self.by_system[system] for label in own.f1})
        return {label: self.mean(system, label) for label in labels}

    def rows(
        self,
        table: str,
        number: str,
        published: Published,
        verdict: Callable[[str, str], str] = lambda system, metric: "",
        systems: Sequence[str] | None = None,
    ) -> list[Row]:
        """A row a metric and system of a published table, whose ``number`` goes before the metric.

        Measured is the mean over the data sets, low and high are the worst and the best, and
        ``seconds`` is all of the system's time of training. ``systems`` names those to be shown
        (all unless told), published or not. ``verdict`` is asked for each row.
        """
        rows = []
        for metric, told in published.items():
            for system in self.by_system if systems is None else systems:
                own = self.values(system, metric)
                if not own:  # a label that no data set has
                    continue
                rows.append(
                    Row(
                        table,
                        system,
                        f"{number}: {metric}",
                        told.get(system),
                        *mean_and_range(own),
                        sum(self.seconds(system)),
                        verdict(system, metric),
                    )
                )
        return rows

    def time_rows(
        self,
        table: str,
        number: str,
        published: Mapping[str, float],
        systems: Sequence[str] | None = None,
    ) -> list[Row]:
        """A row a system: seconds of training, all restarts together, beside the published."""
        rows = []
        for system in self.by_system if systems is None else systems:
            own = self.seconds(system)
            mean, low, high = mean_and_range(own)
            told = published.get(system)
            rows.append(
                Row(
                    table,
                    system,
                    f"{number}: {TRAINING}",
                    told,
                    mean,
                    low,
                    high,
                    sum(own),
                    "" if told is None or not mean else describe_speedup(told / mean),
                )
            )
        return rows


class LossRecorder:
    """A display of training (``fit(…, progress=Losses())``) that keeps the loss of each iteration.

    >>> from skipchain import MaxEnt
    >>> losses = LossRecorder()
    >>> fitted = MaxEnt(solver="lbfgs").fit([np.eye(2)], [["A", "B"]], progress=losses)
    >>> losses.found[0] > losses.found[-1]
    True
    """

    def __init__(self) -> None:
        self.found: list[float] = []

    def begin(self, problem: TrainingSize) -> None:
        """Before the first iteration."""

    def step(self, step: Step, dev: float | None) -> None:
        """After each iteration."""
        self.found.append(step.loss)

    def end(self, result: OptimisationResult) -> None:
        """After the last."""


def describe_speedup(times: float) -> str:
    """How much faster than published, in words.

    >>> describe_speedup(1234.5), describe_speedup(3.14159)
    ('1,230 times as fast', '3.1 times as fast')
    """
    digits = f"{float(f'{times:.3g}'):,.0f}" if times >= 10 else f"{times:.1f}"
    return f"{digits} times as fast"


def columns(systems: Sequence[str], text: str) -> dict[str, dict[str, float]]:
    """A published table as text: lines (or parts between ``|``) of a metric and a figure a system.

    >>> columns(["LR", "CRF"], "A  100  - | average F1  77.75  80")
    {'A': {'LR': 100.0}, 'average F1': {'LR': 77.75, 'CRF': 80.0}}
    """
    found = {}
    for line in filter(None, map(str.strip, text.replace("|", "\n").splitlines())):
        name = line.split()[: -len(systems)]
        figures = zip(systems, line.split()[-len(systems) :], strict=True)
        found[" ".join(name)] = {
            system: float(figure) for system, figure in figures if figure != "-"
        }
    return found
