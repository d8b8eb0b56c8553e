"""Worked examples of maximum entropy, solved by L-BFGS.

The distribution of largest entropy whose features have the data's expectations is the log-linear
one that makes the data most likely, so minimising the negative log-likelihood finds it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from skipchain.arrays import Floats
from skipchain.learn.lbfgs import minimize
from skipchain.reproduce.run import Run, Timer
from skipchain.reproduce.table import FAILS, Row, Table

NAME = "maxent"
CLOSE = 1e-3
TAGS = ("NN", "NNS", "NNP", "NNPS", "VBZ", "VBD")
TAG_COUNTS = (3, 5, 11, 13, 3, 1)
CELLS = ("A,B", "a,B", "A,b", "a,b")
A, B, BOTH, EITHER = (1, 0, 1, 0), (1, 1, 0, 0), (1, 0, 0, 0), (1, 1, 1, 0)
NOUN, PROPER = (1, 1, 1, 1, 0, 0), (0, 0, 1, 1, 0, 0)


@dataclass(frozen=True, slots=True)
class MaxentExample:
    """An event space with counts, the features whose expectations are kept, and the solution."""

    system: str
    events: tuple[str, ...]
    counts: tuple[int, ...]
    features: tuple[tuple[int, ...], ...]
    published: str


OVERLAP, INTERACTION = (2, 1, 2, 1), (1, 1, 1, 0)

EXAMPLES = (
    MaxentExample("tags, no constraint", TAGS, TAG_COUNTS, (), "1/6 1/6 1/6 1/6 1/6 1/6"),
    MaxentExample("tags, N*", TAGS, TAG_COUNTS, (NOUN,), "8/36 8/36 8/36 8/36 2/36 2/36"),
    MaxentExample(
        "tags, N* and proper nouns",
        TAGS,
        TAG_COUNTS,
        (NOUN, PROPER),
        "4/36 4/36 12/36 12/36 2/36 2/36",
    ),
    MaxentExample("overlap, A", CELLS, OVERLAP, (A,), "1/3 1/6 1/3 1/6"),
    MaxentExample("overlap, A twice", CELLS, OVERLAP, (A, A), "1/3 1/6 1/3 1/6"),
    MaxentExample("interaction, no constraint", CELLS, INTERACTION, (), "1/4 1/4 1/4 1/4"),
    MaxentExample("interaction, A", CELLS, INTERACTION, (A,), "1/3 1/6 1/3 1/6"),
    MaxentExample("interaction, A and B", CELLS, INTERACTION, (A, B), "4/9 2/9 2/9 1/9"),
    MaxentExample("interaction, A, B and AB", CELLS, INTERACTION, (A, B, BOTH), "1/3 1/3 1/3 0"),
    MaxentExample("interaction, A or B alone", CELLS, INTERACTION, (EITHER,), "1/3 1/3 1/3 0"),
)


def measure(run: Run) -> Table:
    """Solve every example; there is nothing to shorten for a quick run."""
    clock, rows, sums = Timer(), [], {}
    run.plan(len(EXAMPLES))
    for example in EXAMPLES:
        run.say(f"{NAME}: {example.system}")
        with clock(example.system):
            p, weights = maximum_entropy(example.counts, example.features)
        sums[example.system] = float(weights.sum())
        seconds, fractions = clock.seconds(example.system), example.published.split()
        for event, fraction, measured in zip(example.events, fractions, p.tolist(), strict=True):
            row = Row(NAME, example.system, f"p({event})", float(Fraction(fraction)), measured)
            close = abs(measured - Fraction(fraction)) <= CLOSE
            verdict = f"= {fraction}" if close else f"{FAILS}: {fraction}"
            rows.append(replace(row, seconds=seconds, verdict=verdict))
    equal = not any(row.fails for row in rows)
    counts = [f"{tag} {count}" for tag, count in zip(TAGS, TAG_COUNTS, strict=True)]
    once, twice = sums["overlap, A"], sums["overlap, A twice"]
    return Table(
        NAME,
        "Maximum entropy by hand and by L-BFGS",
        "the worked examples of Mausam's slides on maximum-entropy Markov models",
        rows,
        notes=(
            f"Part-of-speech counts: {', '.join(counts)}.",
            f"A feature that is there twice does not count twice: one weight of {once:.3f}, or two "
            f"that add up to {twice:.3f}.",
            "The slide on overlap shows its tables without figures; those of the same constraint "
            "on the next slide are used.",
            "A and B with expectation 2/3 each do not model their interaction; AB, or the "
            "disjunction of the two alone, does.",
        ),
        verdict=f"Every probability equals the published fraction within {CLOSE:g}."
        if equal
        else "Some probabilities differ from the published fractions.",
    )


def maximum_entropy(
    counts: tuple[int, ...], features: tuple[tuple[int, ...], ...]
) -> tuple[Floats, Floats]:
    """The distribution p(x) ∝ exp Σ_k w_k f_k(x) with E_p[f_k] as in the data, and w.

    >>> maximum_entropy((3, 1, 0), ((1, 0, 0),))[0].round(3)
    array([0.75 , 0.125, 0.125])
    """
    observed = np.array(counts, np.float64) / sum(counts)  # [X]
    table = np.array(features, np.float64).reshape(len(features), len(counts))  # [K, X]

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = weights @ table
        shift = scores.max()
        p = np.exp(scores - shift)
        log_z = float(np.log(p.sum()) + shift)
        return log_z - float(observed @ scores), table @ (p / p.sum() - observed)

    weights = minimize(loss, np.zeros(len(features)), tolerance=0.0).vector
    scores = np.exp(weights @ table - (weights @ table).max(initial=-np.inf))
    return scores / scores.sum(), weights
