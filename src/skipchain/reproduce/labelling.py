"""Labels of several systems on several data sets, compared with the figures of a published table.

>>> results = SystemResults()
>>> for labels in (["A", "B"], ["A", "A"]):
...     results.add("LR", score_labels([["A", "B"]], [labels], seconds=0.5))
>>> published = parse_figures(["LR", "CRF"], "A 70 80 | average accuracy 75 -")
>>> for row in results.rows("toy", "6.4", published):
...     print(row.metric, row.published, round(row.measured, 1), row.low, row.high)
6.4: A 70.0 83.3 66.66666666666667 100.0
6.4: average accuracy 75.0 75.0 50.0 100.0
>>> print(results.time_rows("toy", "6.3", {"LR": 30.0})[0].verdict)
60 times as fast
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from skipchain.arrays import offsets_of
from skipchain.corpus.column import Column
from skipchain.learn.step import OptimisationResult, Step
from skipchain.metrics.entity import EntityScores
from skipchain.metrics.token import TokenScores, token_scores
from skipchain.models.base.progress import TrainingSize
from skipchain.reproduce.table import Row

AVERAGE_F1, AVERAGE_ACCURACY = "average F1", "average accuracy"
TOKEN_ACCURACY, INSTANCE_ACCURACY = "token accuracy", "instance accuracy"
TRAINING = "seconds to train"

Published = Mapping[str, Mapping[str, float]]
"""Metric to system to figure."""


@dataclass(frozen=True, slots=True, eq=False)
class LabellingScores:
    """How well one system labelled one data set, and how long its training took."""

    tokens: TokenScores
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
            AVERAGE_ACCURACY: self.tokens.mean_sequence_accuracy,
            TOKEN_ACCURACY: self.tokens.accuracy,
            INSTANCE_ACCURACY: self.tokens.sequence_accuracy,
            **self.others,
        }


def score_labels(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    seconds: float = 0.0,
    others: Mapping[str, float] | None = None,
) -> LabellingScores:
    """Compare the predicted labels of sequences with the gold ones.

    >>> score_labels([["A", "B"], ["B"]], [["A", "A"], ["B"]]).figures
    {'A': 66.66666666666667, 'B': 66.66666666666667, 'average F1': 66.66666666666667,
     'average accuracy': 75.0, 'token accuracy': 66.66666666666667, 'instance accuracy': 50.0}
    """
    sequences = zip(gold, predicted, strict=True)
    pairs = [pair for y, z in sequences for pair in zip(y, z, strict=True)]
    true, ours = (Column.encode([pair[k] for pair in pairs]) for k in range(2))
    scores = token_scores(true, ours, offsets_of(map(len, gold)))
    return LabellingScores(scores, seconds, others or {})


class SystemResults:
    """The scores of each system on each data set (or split, or seed), in the order of adding."""

    def __init__(self) -> None:
        self.by_system: dict[str, list[LabellingScores]] = {}

    def add(self, system: str, scores: LabellingScores) -> None:
        """Keep the scores of a system on one more data set."""
        self.by_system.setdefault(system, []).append(scores)

    def values(self, system: str, metric: str) -> list[float]:
        """One figure of a system on every data set that has it."""
        figures = [scores.figures for scores in self.by_system[system]]
        return [each[metric] for each in figures if metric in each]

    def mean(self, system: str, metric: str) -> float:
        """The mean of a figure over the data sets."""
        return float(np.mean(self.values(system, metric)))

    def seconds(self, system: str) -> list[float]:
        """The time of training on each data set."""
        return [scores.seconds for scores in self.by_system[system]]

    def f1(self, system: str) -> dict[str, float]:
        """The F1 of each label, mean over the data sets."""
        labels = sorted({label for scores in self.by_system[system] for label in scores.f1})
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
        ``seconds`` is the training time on all data sets together. ``systems`` names those to be
        shown (by default all), published or not. ``verdict`` is called for each row.
        """
        return [
            Row.of_runs(
                table,
                system,
                f"{number}: {metric}",
                figures.get(system),
                values,
                seconds=sum(self.seconds(system)),
                verdict=verdict(system, metric),
            )
            for metric, figures in published.items()
            for system in (self.by_system if systems is None else systems)
            if (values := self.values(system, metric))  # a label may be in no data set
        ]

    def time_rows(self, table: str, number: str, published: Mapping[str, float]) -> list[Row]:
        """A row a system: seconds of training, all restarts together, and how much faster."""
        metric, rows = f"{number}: {TRAINING}", []
        for system in self.by_system:
            seconds, known = self.seconds(system), published.get(system)
            row = Row.of_runs(table, system, metric, known, seconds, seconds=sum(seconds))
            if known is not None and row.measured:
                row = replace(row, verdict=describe_speedup(known / row.measured))
            rows.append(row)
        return rows


class LossRecorder:
    """Keeps the loss of each iteration of training: ``fit(…, progress=LossRecorder())``.

    >>> from skipchain import MaxEnt
    >>> recorder = LossRecorder()
    >>> fitted = MaxEnt(solver="lbfgs").fit([np.eye(2)], [["A", "B"]], progress=recorder)
    >>> recorder.losses[0] > recorder.losses[-1]
    True
    """

    def __init__(self) -> None:
        self.losses: list[float] = []

    def begin(self, problem: TrainingSize) -> None:
        """Called before the first iteration."""

    def step(self, step: Step, dev: float | None) -> None:
        """Called after each iteration."""
        self.losses.append(step.loss)

    def end(self, result: OptimisationResult) -> None:
        """Called after the last iteration."""


def describe_speedup(times: float) -> str:
    """How much faster than published, in words.

    >>> describe_speedup(1234.5), describe_speedup(3.14159)
    ('1,230 times as fast', '3.1 times as fast')
    """
    digits = f"{float(f'{times:.3g}'):,.0f}" if times >= 10 else f"{times:.1f}"
    return f"{digits} times as fast"


def parse_figures(systems: Sequence[str], text: str) -> dict[str, dict[str, float]]:
    """A published table from its text: lines (or parts between ``|``) of a metric and its figures.

    There is a figure for each system, or a dash.

    >>> parse_figures(["LR", "CRF"], "A  100  - | average F1  77.75  80")
    {'A': {'LR': 100.0}, 'average F1': {'LR': 77.75, 'CRF': 80.0}}
    """
    table = {}
    for line in filter(None, map(str.split, text.replace("|", "\n").splitlines())):
        metric, figures = " ".join(line[: -len(systems)]), line[-len(systems) :]
        by_system = zip(systems, figures, strict=True)
        table[metric] = {system: float(figure) for system, figure in by_system if figure != "-"}
    return table
