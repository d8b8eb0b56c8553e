"""What the three toy problems of Stewart's thesis share: systems, data sets, and their training."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from skipchain import CRF, MEMM, Corpus, MaxEnt
from skipchain.datasets.synthetic.problem import Inputs, Labels, Problem
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.rbm.model import RBMModel
from skipchain.models.rbm.plots import trace_picture, weight_pictures
from skipchain.report.pictures import Picture
from skipchain.reproduce.labelling import Published, SystemResults, score_labels
from skipchain.reproduce.run import Run
from skipchain.reproduce.stewart import published
from skipchain.reproduce.table import Row

SOURCE = "Stewart, Structure Learning in Sequential Data (thesis, Toronto, 2005)"
SEEDS = (100, 101, 102, 103, 104)
SIGMA = 10.0
NOTE = (
    "The data are new samples of generators written after the description, with seeds that played "
    "no part in the choice of any setting. measured is the mean over the data sets, low and high "
    "are the worst and the best. The published figures are those of one data set."
)
TIMES = (
    "Seconds to train: ours are those of all restarts together on all cores, the published ones of "
    "a single run in MATLAB in 2005."
)
HIDDEN_STATES = ("IOHMM", "HRF")
VITERBI, MARGINALS = "Viterbi", "marginals"
DECODERS = {VITERBI: "viterbi", MARGINALS: "posterior"}
"""How models with hidden states are decoded: as in the thesis, and by our default."""
DECODED = (
    f"{VITERBI}: the labels of the best path of states and labels together, which is how the "
    f"thesis decodes models with hidden states; {MARGINALS}: the best label of each position, all "
    "paths of states added up, which is our default. Both label with one trained model."
)
_FEW = 5  # sequences to compile with


def l2_of(sigma: float) -> float:
    """The penalty on Σw² of a Gaussian prior of width sigma.

    >>> l2_of(10.0)
    0.005
    """
    return 1.0 / (2.0 * sigma**2)


@dataclass(frozen=True, slots=True)
class ToySystem:
    """An estimator with its settings.

    With ``words`` its inputs are words, from which features of label pairs can be made, instead of
    numbers. ``start`` names a system whose model it starts from; the time of that counts, too.
    ``decoders`` are decoders by name, each with a row of its own (by default the model's one).
    """

    estimator: Callable[..., BaseEstimator]
    settings: Mapping[str, Any] = field(default_factory=dict)
    words: bool = False
    start: str | None = None
    decoders: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_states(
        cls,
        estimator: Callable[..., BaseEstimator],
        settings: Mapping[str, Any],
        start: str | None = None,
    ) -> ToySystem:
        """A model with hidden states, which is decoded in both ways."""
        return cls(estimator, settings, start=start, decoders=DECODERS)

    def make(self, threads: int | None) -> BaseEstimator:
        """The estimator, not fitted yet."""
        return self.estimator(**{"encoding": None, "threads": threads, **self.settings})

    def encode_inputs(self, x: Inputs) -> Any:
        """Inputs as the estimator wants them."""
        return Corpus.of([active_columns(rows) for rows in x]) if self.words else x

    def label(self, name: str, fitted: BaseEstimator, x: Inputs) -> dict[str, Labels]:
        """The predicted labels by the name of a row: the system's, and that of the decoder."""
        inputs = self.encode_inputs(x)
        if not self.decoders:
            return {name: fitted.predict(inputs)}
        return {
            decoded(name, how): fitted.predict(inputs, decoder=decoder)
            for how, decoder in self.decoders.items()
        }


def decoded(system: str, decoder: str = VITERBI) -> str:
    """The name of the row of a system and a decoder.

    >>> decoded("HRF"), decoded("HRF", MARGINALS)
    ('HRF, Viterbi', 'HRF, marginals')
    """
    return f"{system}, {decoder}"


def undecoded(row: str) -> str:
    """The name of the system that a row is of.

    >>> undecoded("HRF, chosen, Viterbi"), undecoded("CRF, marginal")
    ('HRF, chosen', 'CRF, marginal')
    """
    name, _, last = row.rpartition(", ")
    return name if last in DECODERS else row


def published_rows(number: str) -> Published:
    """A table of the thesis by the names of rows: its models with hidden states are by Viterbi.

    >>> published_rows("6.12")["instance accuracy"]["HRF, Viterbi"]
    7.0
    """
    return {
        metric: {decoded(name) if name in HIDDEN_STATES else name: own[name] for name in own}
        for metric, own in published(number).items()
    }


def time_rows(table: str, number: str, results: SystemResults) -> list[Row]:
    """The times of training, one row a system: decoders share it."""
    rows = results.time_rows(table, number, published_rows(number)["seconds"])
    by_system = {undecoded(row.system): row for row in reversed(rows)}
    return [replace(row, system=name) for name, row in reversed(by_system.items())]


_CHAIN_SETTINGS = {
    "features": "words", "solver": "lbfgs", "l2": l2_of(SIGMA), "tolerance": 1e-6, "period": 1,
}  # fmt: skip
OBSERVED = {
    "LR": ToySystem(MaxEnt, _CHAIN_SETTINGS, words=True),
    "MEMM": ToySystem(MEMM, {**_CHAIN_SETTINGS, "dependent": True}, words=True),
    "IMEMM": ToySystem(MEMM, _CHAIN_SETTINGS, words=True),
    "CRF": ToySystem(CRF, {**_CHAIN_SETTINGS, "dependent": True}, words=True),
    "ICRF": ToySystem(CRF, _CHAIN_SETTINGS, words=True),
}
"""The models without hidden variables; in MEMM and CRF all features go with pairs of labels."""


def active_columns(x: Any) -> list[str]:
    """The rows of an array of zeros and ones as text: the numbers of the columns with ones.

    >>> active_columns(np.array([[0, 1, 1], [1, 0, 0]]))
    ['x1 x2', 'x0']
    """
    return [" ".join(f"x{column}" for column in np.flatnonzero(row)) for row in x]


class ToyTrainer:
    """Trains systems on one data set after the other, and scores them."""

    def __init__(self, name: str, systems: Mapping[str, ToySystem], run: Run) -> None:
        self.name, self.systems, self.run = name, systems, run
        self._compiled: set[str] = set()

    def plan(self, data_sets: int) -> None:
        """So many data sets come."""
        self.run.plan(data_sets * len(self.systems))

    def train(
        self,
        seed: int,
        problem: Problem,
        results: SystemResults,
        on_training: SystemResults | None = None,
        others: Callable[[Labels], Mapping[str, float]] = lambda labels: {},
    ) -> dict[str, BaseEstimator]:
        """Fit every system to a problem, and add its scores on the test data to ``results``.

        ``on_training`` gets the scores on the training data, and ``others`` are further figures.
        The time of training is without that of compiling.
        """
        fitted: dict[str, BaseEstimator] = {}
        seconds: dict[str, float] = {}
        for name, system in self.systems.items():
            self.run.say(f"{self.name}: data set {seed}, {name}")
            inputs, start = system.encode_inputs(problem.train_x), system.start
            if name not in self._compiled:
                few = inputs[:_FEW]
                warmup = system.make(self.run.threads).for_warmup()
                warmup.fit(few, problem.train_y[:_FEW]).predict(few)
                self._compiled.add(name)
            estimator = system.make(self.run.threads)
            began = time.perf_counter()
            estimator.fit(inputs, problem.train_y, start=fitted[start] if start else None)
            seconds[name] = time.perf_counter() - began + (seconds[start] if start else 0.0)
            fitted[name] = estimator
            for row, labels in system.label(name, estimator, problem.test_x).items():
                scores = score_labels(problem.test_y, labels, seconds[name], others(labels))
                results.add(row, scores)
            if on_training is not None:
                for row, labels in system.label(name, estimator, problem.train_x).items():
                    on_training.add(row, score_labels(problem.train_y, labels, seconds[name]))
        return fitted


def hidden_unit_pictures(
    fitted: Mapping[str, BaseEstimator], names: Iterable[str], sequence: Any = None
) -> Iterator[Picture]:
    """The weights of hidden units, and their probabilities along a sequence.

    Of the systems with these names, as far as they are fitted.
    """
    for name in filter(fitted.__contains__, names):
        model = cast(RBMModel, fitted[name].fitted)
        trace = [] if sequence is None else [trace_picture(model, sequence)]
        stem = re.sub(r"\W+", "", name).lower()
        for picture in (*weight_pictures(model), *trace):
            caption = f"{name}: {picture.caption}"
            yield replace(picture, name=f"{stem}-{picture.name}", caption=caption)
