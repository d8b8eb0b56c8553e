"""One row of a comparison: the scores of an entry, and its costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skipchain.comparison.entry import Entry
from skipchain.comparison.run_result import RunResult
from skipchain.corpus import Column, Corpus
from skipchain.metrics import Evaluation, Significance, evaluate, significance
from skipchain.metrics.score import percent, rounded
from skipchain.metrics.token import renumbered


@dataclass(frozen=True, slots=True)
class DecoderScore:
    """The scores of one decoder on the test data.

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
        """The figures as JSON can hold them."""
        return {
            "decoder": self.decoder,
            **_scores(self.evaluation),
            "disagreements": self.disagreements,
            "disagreement": rounded(self.disagreement),
            "seconds": round(self.seconds, 6),
        }


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """An entry's scores with its default decoder, its run, and how it differs from the first.

    ``significance`` is None for the first itself; ``decoder_scores`` has the decoders that were
    asked for and that the model has.
    """

    entry: Entry
    run_result: RunResult
    evaluation: Evaluation
    significance: Significance | None
    decoder_scores: tuple[DecoderScore, ...] = ()

    @classmethod
    def of(
        cls, entry: Entry, run_result: RunResult, test: Corpus, first: RunResult | None, seed: int
    ) -> ComparisonRow:
        """The row of a run; ``first`` is the result to compare with, None for the first itself."""
        predicted = _predicted(test, run_result)
        evaluation = evaluate(test, predicted, intervals=True, seed=seed)
        test_of_difference, scores = None, []
        if first is not None:
            test_of_difference = significance(test, predicted, _predicted(test, first), seed=seed)
        for decoder, seconds in run_result.decoding_seconds.items():
            differing = count_differing(run_result.labels[decoder], predicted.labels)
            decoded = evaluate(test, _predicted(test, run_result, decoder))
            scores.append(DecoderScore(decoder, decoded, differing, seconds))
        return cls(entry, run_result, evaluation, test_of_difference, tuple(scores))

    @property
    def tokens_per_second(self) -> float:
        """The number of tokens tagged in a second, from words to labels."""
        return self.evaluation.tokens.tokens / max(self.run_result.tagging_seconds, 1e-9)

    def as_dict(self) -> dict[str, Any]:
        """The row as JSON can hold it: scores in percent, times in seconds, memory in bytes."""
        run, test = self.run_result, self.significance
        low, high = self.evaluation.interval or (None, None)
        return {
            "model": self.entry.name,
            "kind": self.entry.kind,
            "settings": dict(self.entry.settings),
            **_scores(self.evaluation),
            "low": None if low is None else rounded(low),
            "high": None if high is None else rounded(high),
            "difference": None if test is None else rounded(test.difference),
            "p_value": None if test is None else round(test.p_value, 6),
            "dev": None if run.dev is None else rounded(run.dev),
            "training_seconds": round(run.training_seconds, 3),
            "tagging_seconds": round(run.tagging_seconds, 4),
            "tokens_per_second": round(self.tokens_per_second),
            "memory": run.memory,
            "features": run.features,
            "parameters": run.parameters,
            "weights": run.weights,
            "iterations": run.iterations,
            "stopped": run.stopped,
            "decoders": [score.as_dict() for score in self.decoder_scores],
        }


def count_differing(labels: Column, others: Column) -> int:
    """The number of tokens that have different labels in two columns.

    >>> count_differing(Column.encode(["O", "B"]), Column.encode(["B", "B"]))
    1
    """
    return int(np.count_nonzero(renumbered(labels, others.values) != others.codes))


def _predicted(test: Corpus, result: RunResult, decoder: str | None = None) -> Corpus:
    return test.with_labels(result.labels[decoder or result.decoder], result.scheme)


def _scores(evaluation: Evaluation) -> dict[str, Any]:
    figures = evaluation.as_dict()
    names = ("f1", "precision", "recall", "token_accuracy", "sequence_accuracy", "consistency")
    spans = evaluation.entities is not None
    return {name: figures[name] if spans or name not in names[:3] else None for name in names}
