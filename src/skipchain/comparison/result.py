"""One row of a comparison: how good a contender is, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skipchain.comparison.contender import Contender
from skipchain.comparison.outcome import Outcome
from skipchain.corpus import Column, Corpus
from skipchain.metrics import Evaluation, Significance, evaluate, significance
from skipchain.metrics.score import percent, rounded
from skipchain.metrics.token import renumbered


@dataclass(frozen=True, slots=True)
class Decoding:
    """What one decoder makes of the test data.

    ``disagreements`` counts the tokens that it labels otherwise than Viterbi does; ``seconds`` is
    its time for scores and search.
    """

    decoder: str
    evaluation: Evaluation
    disagreements: int
    seconds: float

    @property
    def disagreement(self) -> float:
        """The share of tokens that it labels otherwise than Viterbi does, in percent."""
        return percent(self.disagreements, self.evaluation.tokens.tokens)

    def as_dict(self) -> dict[str, Any]:
        """The figures for programs."""
        return {
            "decoder": self.decoder,
            **_scores(self.evaluation),
            "disagreements": self.disagreements,
            "disagreement": rounded(self.disagreement),
            "seconds": round(self.seconds, 6),
        }


@dataclass(frozen=True, slots=True)
class Result:
    """A contender's scores with Viterbi, what was measured, and how it differs from the first.

    ``significance`` is None for the first itself; ``decodings`` has the decoders that were asked
    for and that the model has.
    """

    contender: Contender
    outcome: Outcome
    evaluation: Evaluation
    significance: Significance | None
    decodings: tuple[Decoding, ...] = ()

    @classmethod
    def of(
        cls, contender: Contender, outcome: Outcome, test: Corpus, first: Outcome | None, seed: int
    ) -> Result:
        """The result on the test data; ``first`` is the outcome to compare with."""
        predicted = _predicted(test, outcome)
        return cls(
            contender,
            outcome,
            evaluate(test, predicted, intervals=True, seed=seed),
            None
            if first is None
            else significance(test, predicted, _predicted(test, first), seed=seed),
            tuple(
                Decoding(
                    decoder,
                    evaluate(test, _predicted(test, outcome, decoder)),
                    differing(outcome.labels[decoder], outcome.labels[outcome.decoder]),
                    seconds,
                )
                for decoder, seconds in outcome.decoding_seconds.items()
            ),
        )

    @property
    def tokens_per_second(self) -> float:
        """How many tokens are tagged in a second, from words to labels."""
        return self.evaluation.tokens.tokens / max(self.outcome.tagging_seconds, 1e-9)

    def as_dict(self) -> dict[str, Any]:
        """The row for programs: scores in percent, times in seconds, memory in bytes."""
        outcome, test = self.outcome, self.significance
        low, high = self.evaluation.interval or (None, None)
        return {
            "model": self.contender.name,
            "kind": self.contender.kind,
            "settings": dict(self.contender.settings),
            **_scores(self.evaluation),
            "low": None if low is None else rounded(low),
            "high": None if high is None else rounded(high),
            "difference": None if test is None else rounded(test.difference),
            "p_value": None if test is None else round(test.p_value, 6),
            "dev": None if outcome.dev is None else rounded(outcome.dev),
            "training_seconds": round(outcome.training_seconds, 3),
            "tagging_seconds": round(outcome.tagging_seconds, 4),
            "tokens_per_second": round(self.tokens_per_second),
            "memory": outcome.memory,
            "features": outcome.features,
            "parameters": outcome.parameters,
            "weights": outcome.weights,
            "iterations": outcome.iterations,
            "stopped": outcome.stopped,
            "decoders": [decoding.as_dict() for decoding in self.decodings],
        }


def differing(labels: Column, others: Column) -> int:
    """How many tokens have another label.

    >>> differing(Column.encode(["O", "B"]), Column.encode(["B", "B"]))
    1
    """
    return int(np.count_nonzero(renumbered(labels, others.values) != others.codes))


def _predicted(test: Corpus, outcome: Outcome, decoder: str | None = None) -> Corpus:
    return test.with_labels(outcome.labels[decoder or outcome.decoder], outcome.scheme)


def _scores(evaluation: Evaluation) -> dict[str, Any]:
    found = evaluation.as_dict()
    names = ("f1", "precision", "recall", "token_accuracy", "sequence_accuracy", "consistency")
    spans = evaluation.entities is not None
    return {name: found[name] if spans or name not in names[:3] else None for name in names}
