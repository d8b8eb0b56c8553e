"""Intervals of an F1, and the significance of a difference, by resampling.

The resampling units are documents or sentences. Only the counts of a unit enter the F1, so units
with the same counts are interchangeable: drawing U units with replacement is one multinomial draw
over the R distinct rows of counts, and swapping each unit with probability 1/2 is one binomial draw
per row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.corpus.corpus import Corpus
from skipchain.corpus.schemes.spans import Spans
from skipchain.errors import CorpusError
from skipchain.metrics.entity import span_keys

BLOCK = 2_000_000  # numbers held at once, about 16 MB


@dataclass(frozen=True, slots=True)
class Significance:
    """F1 of the first minus F1 of the second, in percent, and how likely chance alone makes it."""

    difference: float
    p_value: float
    method: str
    samples: int


def f1_interval(
    counts: Ints, *, level: float = 0.95, samples: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """The percentile bootstrap interval of the micro F1, in percent.

    ``counts`` is ``int64 [U, 3]``: gold, predicted and correct spans of each resampling unit (see
    `span_counts`).

    >>> low, high = f1_interval(np.array([[4, 4, 3], [5, 4, 4], [2, 3, 1]]))
    >>> 0 < low < 73 < high < 100
    True
    """
    if not 0.0 < level < 1.0:
        raise CorpusError(f"level must lie between 0 and 1, got {level}; 0.95 is usual")
    drawn = np.concatenate([f1(draw) for draw in bootstrap_samples(counts, samples, seed)])
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail]).tolist()
    return low, high


def paired_significance(
    gold: Spans,
    first: Spans,
    second: Spans,
    offsets: Ints,
    *,
    method: str = "randomisation",
    samples: int = 10_000,
    seed: int = 0,
) -> Significance:
    """The two-sided p-value of the F1 difference between two predictions for the same gold.

    ``offsets int64 [U + 1]`` are the tokens of the resampling units (see `resampling_units`).
    ``randomisation`` swaps the two predictions of each unit at random and counts differences at
    least as large as the one observed (Noreen, 1989). ``bootstrap`` resamples the units and counts
    differences at least twice as far out as the observed one, or on the other side of zero
    (Berg-Kirkpatrick et al., 2012: |d* - d| >= |d|). Both count the observed sample itself, so
    that p is never 0.

    >>> gold = Spans.of([(k, k + 1, "PER") for k in range(8)])
    >>> none = Spans.of([])
    >>> result = paired_significance(gold, gold, none, np.arange(9))
    >>> result.difference, result.p_value < 0.05
    (100.0, True)
    """
    pair = (span_counts(gold, predicted, offsets) for predicted in (first, second))
    return significance_of_counts(*pair, method=method, samples=samples, seed=seed)


def significance_of_counts(
    first: Ints,
    second: Ints,
    *,
    method: str = "randomisation",
    samples: int = 10_000,
    seed: int = 0,
) -> Significance:
    """The two-sided p-value of the F1 difference between two predictions, from their counts.

    Both counts are ``int64 [U, 3]`` (see `span_counts`); for the methods see `paired_significance`.
    """
    if method not in ("randomisation", "bootstrap"):
        raise CorpusError(f"unknown method {method!r}; the methods are randomisation and bootstrap")
    counts = np.hstack([first, second])
    observed = difference(counts.sum(axis=0))
    draw = randomization_samples if method == "randomisation" else bootstrap_samples
    center = 0.0 if method == "randomisation" else observed
    gaps = (np.abs(difference(sums) - center) for sums in draw(counts, samples, seed))
    extreme = sum(int((gap >= abs(observed) - 1e-9).sum()) for gap in gaps)
    p_value = (extreme + 1) / (samples + 1)
    return Significance(float(observed), p_value, method, samples)


def resampling_units(corpus: Corpus) -> Ints:
    """Token offsets ``int64 [U + 1]`` of the documents, or of the sentences of a lone document.

    >>> resampling_units(Corpus.of([["a", "b"], ["c"]])).tolist()
    [0, 2, 3]
    >>> resampling_units(Corpus.of([["a"], ["b"], ["c"]], documents=[2, 1])).tolist()
    [0, 2, 3]
    """
    return corpus.sentences[corpus.documents] if corpus.n_documents > 1 else corpus.sentences


def span_counts(gold: Spans, predicted: Spans, offsets: Ints) -> Ints:
    """Gold, predicted and correct spans of each resampling unit, ``int64 [U, 3]``.

    >>> gold = Spans.of([(0, 1, "PER"), (2, 3, "LOC")])
    >>> span_counts(gold, Spans.of([(0, 1, "PER")]), np.array([0, 2, 3])).tolist()
    [[1, 1, 1], [1, 0, 0]]
    """
    names = tuple({*gold.names, *predicted.names})
    gold_keys, predicted_keys = span_keys(names, gold, predicted)
    _, gold_once = np.unique(gold_keys, return_index=True)
    _, predicted_once = np.unique(predicted_keys, return_index=True)
    correct = gold_once[np.isin(gold_keys[gold_once], predicted_keys)]
    size = len(offsets) - 1
    columns = []
    for starts in (gold.starts[gold_once], predicted.starts[predicted_once], gold.starts[correct]):
        unit = np.searchsorted(offsets, starts, side="right") - 1
        columns.append(np.bincount(unit, minlength=size))
    return np.stack(columns, axis=1).astype(np.int64)


def bootstrap_samples(counts: Ints, samples: int, seed: int) -> Iterator[Ints]:
    """Sums of the counts over as many units drawn with replacement, in blocks ``[B, C]``."""
    rows, times, blocks, random = count_distinct_rows(counts, samples, seed)
    total = int(times.sum())
    for size in blocks:
        yield random.multinomial(total, times / total, size=size) @ rows


def randomization_samples(counts: Ints, samples: int, seed: int) -> Iterator[Ints]:
    """Sums of the counts ``[B, 6]`` after swapping each unit's two predictions by a fair coin."""
    rows, times, blocks, random = count_distinct_rows(counts, samples, seed)
    swapped = np.hstack([rows[:, 3:], rows[:, :3]])
    for size in blocks:
        heads = random.binomial(times, 0.5, size=(size, len(times)))
        yield heads @ swapped + (times - heads) @ rows


def count_distinct_rows(
    counts: Ints, samples: int, seed: int
) -> tuple[Ints, Ints, list[int], np.random.Generator]:
    """The distinct rows, how often each occurs, the sizes of blocks, and the generator."""
    if samples < 1:
        raise CorpusError(f"samples must be at least 1, got {samples}; 2000 is usual")
    if len(counts) == 0:  # nothing to draw from: one unit in which nothing happens
        counts = np.zeros((1, counts.shape[1]), np.int64)
    rows, times = np.unique(counts, axis=0, return_counts=True)
    size = max(1, BLOCK // len(rows))
    blocks = [min(size, samples - begun) for begun in range(0, samples, size)]
    return rows, times.astype(np.int64), blocks, np.random.default_rng(seed)


def f1(sums: Ints) -> Floats:
    """F1 in percent from ``[…, 3]`` gold, predicted and correct."""
    scores: Floats = 200.0 * sums[..., 2] / np.maximum(sums[..., 0] + sums[..., 1], 1)
    return scores


def difference(sums: Ints) -> Floats:
    """F1 of the first three columns minus F1 of the last three."""
    return np.subtract(f1(sums[..., :3]), f1(sums[..., 3:]))
