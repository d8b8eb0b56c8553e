"""A predicted corpus against a gold one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skipchain.arrays import Ints, offsets_of
from skipchain.checks import check_integer
from skipchain.corpus.column import Column
from skipchain.corpus.corpus import Corpus
from skipchain.corpus.schemes import decode, encode, repair
from skipchain.errors import CorpusError
from skipchain.metrics import bootstrap
from skipchain.metrics.bootstrap import Significance, resampling_units, span_counts
from skipchain.metrics.consistency import ConsistencyScore, label_consistency
from skipchain.metrics.entity import EntityScores, entity_scores
from skipchain.metrics.partial import PartialScores, partial_scores
from skipchain.metrics.score import Score, rounded
from skipchain.metrics.token import TokenScores, renumbered, require_known, token_scores


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores of spans (None for labels without a scheme), of tokens, and the consistency of names.

    ``partial`` are the scores with partial credit, ``interval`` is the 95 % bootstrap interval of
    the micro F1, where it was asked for.
    """

    entities: EntityScores | None
    tokens: TokenScores
    consistency: ConsistencyScore | None
    partial: PartialScores | None = None
    interval: tuple[float, float] | None = None

    @property
    def by_type(self) -> Mapping[str, Score]:
        """The score of each span type, or of each label where there is no scheme."""
        return self.tokens.by_label if self.entities is None else self.entities.by_type

    @property
    def micro(self) -> Score:
        """The score over all spans, or over all tokens where there is no scheme."""
        if self.entities is not None:
            return self.entities.micro
        return Score(self.tokens.tokens, self.tokens.tokens, self.tokens.correct)

    @property
    def measure(self) -> str:
        """What the main score is: the ``f1`` of spans, or the ``accuracy`` of tokens."""
        return "accuracy" if self.entities is None else "f1"

    @property
    def f1(self) -> float:
        """The micro F1, in percent; where there is no scheme that of tokens, their accuracy."""
        return self.micro.f1

    @property
    def macro_f1(self) -> float:
        """The mean F1 over ``by_type``, in percent."""
        return EntityScores(self.by_type).macro_f1

    def as_dict(self, *, macro: bool = False) -> dict[str, Any]:
        """All figures, scores in percent with at most four decimals.

        ``measure`` names the main score, ``f1`` or ``accuracy``. For labels without a scheme the
        figures of spans are None: ``precision``, ``recall``, ``f1``, ``consistency``, ``partial``;
        ``consistency`` also where no name recurs. ``macro_f1`` is added where asked for,
        ``interval`` where it was computed.
        """
        spans = None if self.entities is None else self.entities.micro
        same = None if self.consistency is None else self.consistency.percent
        result: dict[str, Any] = {
            "measure": self.measure,
            "precision": None if spans is None else rounded(spans.precision),
            "recall": None if spans is None else rounded(spans.recall),
            "f1": None if spans is None else rounded(spans.f1),
            "token_accuracy": rounded(self.tokens.accuracy),
            "sequence_accuracy": rounded(self.tokens.sequence_accuracy),
            "consistency": None if same is None else rounded(same),
            "by_type": {name: score.as_dict() for name, score in self.by_type.items()},
            "tokens": self.tokens.tokens,
            "mean_sequence_accuracy": rounded(self.tokens.mean_sequence_accuracy),
            "label_accuracy": {k: rounded(v) for k, v in self.tokens.label_accuracy.items()},
            "partial": None if self.partial is None else self.partial.as_dict(),
        }
        if macro:
            result["macro_f1"] = rounded(self.macro_f1)
        if self.interval is not None:
            result["interval"] = [rounded(bound) for bound in self.interval]
        return result

    def __str__(self) -> str:
        from skipchain.metrics.report import plain_text

        return plain_text(self)


def evaluate(
    gold: Corpus, predicted: Corpus, *, strict: bool = False, intervals: bool = False, seed: int = 0
) -> Evaluation:
    """Compare the labels of two corpora of the same words.

    The schemes may differ, because spans are compared; token scores then compare gold and predicted
    spans both written in the gold scheme. ``strict`` counts only well-formed spans on either side
    (see `skipchain.corpus.schemes.decode`). Without a scheme only tokens are compared, and
    precision, recall and F1 pool all labels: each equals the accuracy.

    >>> gold = Corpus.of([["Ada", "Lee", "slept"]], [["B-PER", "I-PER", "O"]], scheme="iob2")
    >>> predicted = Corpus.of([["Ada", "Lee", "slept"]], [["S-PER", "O", "O"]], scheme="bioes")
    >>> result = evaluate(gold, predicted).as_dict()
    >>> result["f1"], result["token_accuracy"], result["by_type"]["PER"]["predicted"]
    (0.0, 66.6667, 1)
    """
    check_alike(gold, predicted)
    check_integer("seed", seed, least=0)
    gold_labels, predicted_labels = comparable_labels(gold, predicted)
    tokens = token_scores(gold_labels, predicted_labels, gold.sentences)
    units, interval = resampling_units(gold), None
    if gold.scheme is None or predicted.scheme is None:
        if intervals:
            counts = token_counts(gold_labels, predicted_labels, units)
            interval = bootstrap.f1_interval(counts, seed=seed)
        return Evaluation(None, tokens, None, interval=interval)
    true = decode(gold.labels, gold.sentences, gold.scheme, strict=strict)
    spans = decode(predicted.labels, gold.sentences, predicted.scheme, strict=strict)
    if intervals:
        interval = bootstrap.f1_interval(span_counts(true, spans, units), seed=seed)
    entities, consistency = entity_scores(true, spans), label_consistency(gold, spans)
    return Evaluation(entities, tokens, consistency, partial_scores(true, spans), interval)


def significance(
    gold: Corpus, first: Corpus, second: Corpus, *, samples: int = 10_000, seed: int = 0
) -> Significance:
    """Whether two predictions for the same gold corpus differ by more than chance would make them.

    The difference is that of F1, or of token accuracy for labels without a scheme; the predictions
    are swapped document by document, or sentence by sentence where there is one document (see
    `paired_significance`).

    >>> gold = Corpus.of([["Ada"], ["Bo"]] * 4, [["N"], ["N"]] * 4)
    >>> wrong = gold.with_labels(Column.constant("V", 8))
    >>> result = significance(gold, gold, wrong)
    >>> result.difference, result.p_value < 0.05
    (100.0, True)
    """
    check_integer("seed", seed, least=0)
    check_integer("samples", samples)
    pair = (unit_counts(gold, predicted) for predicted in (first, second))
    return bootstrap.significance_of_counts(*pair, samples=samples, seed=seed)


def unit_counts(gold: Corpus, predicted: Corpus) -> Ints:
    """Gold, predicted and correct spans (tokens without a scheme) by resampling unit. [U, 3]"""
    check_alike(gold, predicted)
    if gold.scheme is None:
        return token_counts(*comparable_labels(gold, predicted), resampling_units(gold))
    return span_counts(gold.spans(), predicted.spans(), resampling_units(gold))


def check_alike(gold: Corpus, predicted: Corpus) -> None:
    """Refuse corpora that do not have the same sentences and words, or cannot be compared."""
    for name, corpus in (("gold", gold), ("predicted", predicted)):
        if not isinstance(corpus, Corpus):
            advice = "make one with Corpus.of(words, labels)"
            kind = type(corpus).__name__
            raise CorpusError(f"the {name} labels must be those of a Corpus, got {kind}; {advice}")
        if not corpus.labelled:
            raise CorpusError(f"the {name} corpus has no labels, so there is nothing to compare")
    if len(gold) != len(predicted):
        fault = f"the gold corpus has {len(gold)} sentences, the predicted one {len(predicted)}"
        raise CorpusError(f"{fault}; tag the gold file itself")
    lengths, others = np.diff(gold.sentences), np.diff(predicted.sentences)
    if (lengths != others).any():
        k = int((lengths != others).argmax())
        sizes = f"{lengths[k]} words in the gold corpus, but {others[k]} in the predicted one"
        raise CorpusError(f"sentence {k} has {sizes}; were the words split differently?")
    check_words(gold, predicted)
    require_known(gold.labels, "gold")
    require_known(predicted.labels, "predicted")
    if (gold.scheme is None) != (predicted.scheme is None):
        fault = f"the gold labels are in scheme {gold.scheme}, the predicted in {predicted.scheme}"
        raise CorpusError(f"{fault}; name the scheme of both or of neither")


def check_words(gold: Corpus, predicted: Corpus) -> None:
    """Refuse corpora whose words differ."""
    words, others = gold.words, predicted.words
    if words.values is others.values and words.codes is others.codes:
        return
    wrong = words.codes != renumbered(others, words.values)
    if wrong.any():
        token = int(wrong.argmax())
        sentence = int(np.searchsorted(gold.sentences, token, side="right")) - 1
        raise CorpusError(
            f"sentence {sentence}, word {token - gold.sentences[sentence]} is "
            f"{words.values[words.codes[token]]!r} in the gold corpus, but "
            f"{others.values[others.codes[token]]!r} in the predicted one; tag the gold file itself"
        )


def comparable_labels(gold: Corpus, predicted: Corpus) -> tuple[Column, Column]:
    """The labels as they stand, or both written properly in the gold scheme if schemes differ."""
    if gold.scheme == predicted.scheme or gold.scheme is None or predicted.scheme is None:
        return gold.labels, predicted.labels
    labels, _ = repair(gold.labels, gold.sentences, gold.scheme)
    spans = decode(predicted.labels, gold.sentences, predicted.scheme)
    return labels, encode(spans, gold.sentences, gold.scheme, lossy=True)


def token_counts(gold: Column, predicted: Column, offsets: Ints) -> Ints:
    """Tokens, tokens again and correct tokens by resampling unit, so that F1 is accuracy. [U, 3]"""
    right = gold.codes == renumbered(predicted, gold.values)
    correct = np.diff(offsets_of(right)[offsets])
    lengths = np.diff(offsets)
    return np.stack([lengths, lengths, correct], axis=1)
