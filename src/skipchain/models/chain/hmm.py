"""The hidden Markov model: labels and what they emit, learnt by counting."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from skipchain.arrays import Bools, Floats
from skipchain.chains.dataset import Dataset
from skipchain.chains.learn import ChainProblem, FittedWeights, Monitor
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import Weights
from skipchain.checks import check_choice, check_number
from skipchain.errors import FeatureError, ParameterError
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.learn.step import OptimisationResult
from skipchain.models.chain.estimator import ChainEstimator
from skipchain.parallel import Workers

EMISSIONS = ("token", "features")


class HMM(ChainEstimator):
    """Labels follow one another, and each emits what stands at its position: p(x, y) jointly.

    The decoder ``viterbi`` finds the best labels under p(x, y), ``posterior`` the best label of
    each position under p(y | x).

    Parameters
    ----------
    emissions
        What a label emits: ``token`` one value, that of the one template, with a probability for
        values that training did not see; ``features`` all features of the position, each drawn
        independently of the others given the label.
    smoothing
        What is added to every count, before counts become probabilities.
    dictionary
        As for `CRF`, but it limits decoding only: counts are as they are.
    features, encoding, min_count, constraints, scheme, functions, threads
        As for `CRF`.

    Examples
    --------
    >>> from skipchain import HMM, Corpus
    >>> corpus = Corpus.of([["Ada", "slept"], ["Bo", "ran"]],
    ...                    [["B-PER", "O"], ["B-PER", "O"]], scheme="iob2")
    >>> HMM("word").fit(corpus).predict(Corpus.of([["Bo", "slept"], ["Cy", "ran"]]))
    [['B-PER', 'O'], ['B-PER', 'O']]
    """

    kind = "hmm"
    partial = False
    resumable = False
    learns_from_disk = False
    solvers = ()
    emissions: str
    smoothing: float

    def __init__(
        self,
        features: str | Path | Templates = "word",
        *,
        encoding: str | None = "bioes",
        emissions: str = "token",
        smoothing: float = 0.1,
        min_count: int = 1,
        constraints: str = "decoding",
        dictionary: int | None = None,
        scheme: str | None = None,
        functions: Mapping[str, UserView] | None = None,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        self._keep(locals())

    @property
    def partial_fit(self) -> Any:
        """There is none: an HMM is counted, and takes all its data at once."""
        raise AttributeError("an HMM has no partial_fit; fit it to all data together")

    def _check(self) -> None:
        super()._check()
        check_choice("emissions", self.emissions, EMISSIONS)
        check_number("smoothing", self.smoothing)
        if self.smoothing == 0:
            raise ParameterError(
                "smoothing must be above 0, or what was never seen is impossible; "
                "give a small number such as 1e-6"
            )

    def _check_fit(self, dev: Any, start: Any) -> None:
        super()._check_fit(dev, start)
        if start is not None:
            raise ParameterError("an HMM is counted afresh; it cannot start from another model")

    def _learn(self, problem: ChainProblem, workers: Workers, monitor: Monitor) -> FittedWeights:
        data, size = problem.data, problem.n_labels
        single = self.emissions == "token"
        emitted = _emission_counts(data, size, single=single)
        steps = _transition_counts(data, size)
        parameters = emitted.size + sum(table.size for table in steps)
        if monitor.begin is not None:
            monitor.begin(parameters, 2 * sum(table.nbytes for table in (emitted, *steps)))
        possible = _allowed_transitions(problem.constraints, size)
        start, follow = (
            _log_relative_frequencies(counts, self.smoothing, own)
            for counts, own in zip(steps, possible, strict=True)
        )
        emission = _log_relative_frequencies(emitted, self.smoothing)  # [L, V]
        loss = -sum(
            float((counts * logs).sum())
            for counts, logs in zip((emitted, *steps), (emission, start, follow), strict=True)
        )
        # What a position emits is not always a feature that has a weight: an unknown value is
        # dropped by the vocabulary. So every position pays log p(unknown | y), by way of the
        # transition or the start that leads to it, and a known value only has the difference.
        unknown = emission[:, -1] if single else np.zeros(size)
        known = emission[:, :-1] if single else emission
        weights = Weights(
            np.ascontiguousarray(known.T - unknown),
            follow[:, :-1] + unknown,
            start + unknown,
            np.ascontiguousarray(follow[:, -1]),
            np.zeros((0, (size + 1) * size)),
            np.zeros((0, size, size)),
        )
        result = OptimisationResult(weights.vector, loss, 1, 1, "counted")
        return FittedWeights(weights, result, parameters, {"unknown": unknown.tolist()})


def _emission_counts(data: Dataset, n_labels: int, *, single: bool) -> Floats:
    """How often each label emits each feature; ``single`` adds the unknown value. [L, F (+ 1)]

    A position without a known value emits the unknown one.
    """
    assert data.labels is not None
    rows = data.rows
    if rows.n_edge_features:
        raise FeatureError(
            "an HMM's emissions depend on one label; leave out templates with label[-1]"
        )
    index = rows.expanded()
    owners, values = index.row_ids, index.values
    sizes = np.diff(index.indptr)
    if single and (sizes.max(initial=0) > 1 or (values != 1.0).any()):
        token = int(np.append(np.flatnonzero(sizes > 1), owners[: len(values)][values != 1.0])[0])
        raise FeatureError(
            f"token {token} has several features or a weighted one, but emissions='token' wants "
            "one value a position; give one template, such as 'word', or emissions='features'"
        )
    if (values < 0).any():
        where = int(np.flatnonzero(values < 0)[0])
        raise FeatureError(
            f"token {owners[where]}: feature value {values[where]} is below 0, but an HMM counts "
            "how often features are emitted"
        )
    cells = data.labels[owners] * np.int64(rows.n_features) + index.indices
    counts = np.bincount(
        cells, values if len(values) else None, minlength=n_labels * rows.n_features
    )
    table = counts.reshape(n_labels, rows.n_features).astype(np.float64)
    if not single:
        return table
    unknown = np.bincount(data.labels[sizes == 0], minlength=n_labels)
    return np.column_stack([table, unknown])


def _transition_counts(data: Dataset, n_labels: int) -> tuple[Floats, Floats]:
    """How often chains begin with a label [L]; what follows each, the end last. [L, L + 1]"""
    assert data.labels is not None
    labels, offsets = data.labels.astype(np.int64), data.offsets
    filled = np.diff(offsets) > 0
    heads, tails = offsets[:-1][filled], offsets[1:][filled] - 1
    after = np.append(labels[1:], n_labels)
    after[tails] = n_labels
    start = np.bincount(labels[heads], minlength=n_labels)
    width = n_labels + 1
    follow = np.bincount(labels * width + after, minlength=n_labels * width)
    return start.astype(np.float64), follow.reshape(n_labels, width).astype(np.float64)


def _allowed_transitions(constraints: Constraints | None, n_labels: int) -> tuple[Bools, Bools]:
    """What may begin a chain [L], and what may follow each label [L, L + 1], the end included."""
    if constraints is None:
        return np.ones(n_labels, np.bool_), np.ones((n_labels, n_labels + 1), np.bool_)
    return constraints.start, np.column_stack([constraints.pairs, constraints.end])


def _log_relative_frequencies(
    counts: Floats, smoothing: float, possible: Bools | None = None
) -> Floats:
    """log (c + a) / Σ (c + a) along the last axis, the sum over what is possible.

    In log space, so that no smoothing is too small or too large. What is not possible keeps a
    finite number, which decoding never looks at.

    >>> np.exp(_log_relative_frequencies(np.array([[3.0, 1.0], [0.0, 0.0]]), 1.0)).round(3)
    array([[0.667, 0.333],
           [0.5  , 0.5  ]])
    """
    if possible is None:
        possible = np.ones(counts.shape, np.bool_)
    with np.errstate(divide="ignore"):
        smoothed = np.logaddexp(np.log(counts), np.log(smoothing))
        summed = np.log(np.where(possible, counts, 0.0).sum(axis=-1, keepdims=True))
        outcomes = np.log(possible.sum(axis=-1, keepdims=True))
    total: Floats = np.logaddexp(summed, outcomes + np.log(smoothing))
    return smoothed - total
