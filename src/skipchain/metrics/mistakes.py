"""The mistakes of a prediction, one by one, by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus.corpus import Corpus
from skipchain.corpus.schemes import decode
from skipchain.corpus.schemes.spans import Spans
from skipchain.metrics.evaluation import check_alike
from skipchain.metrics.partial import pair_spans
from skipchain.metrics.token import renumbered

MISTAKE_KINDS = {
    "boundary": "the right type, but other ends",
    "type": "the right ends, but another type",
    "both": "an overlap, but other ends and another type",
    "missed": "a gold span with no predicted one to go with it",
    "spurious": "a predicted span with no gold one to go with it",
}
"""What kinds of mistakes there are, and what each is."""

TypedSpan = tuple[int, int, str]
"""First token and end in the sentence, and the type."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A gold span, a predicted one, or a pair of both that is wrong, in its sentence.

    ``gold`` and ``predicted`` are ``(start, stop, type)`` in tokens of the sentence, whose number
    counts from 0; one of them is None where the span was ``missed`` or is ``spurious``.
    """

    kind: str
    sentence: int
    words: tuple[str, ...]
    gold: TypedSpan | None
    predicted: TypedSpan | None

    @property
    def types(self) -> tuple[str, str]:
        """The gold and the predicted type; empty where there is none."""
        return (self.gold[2] if self.gold else "", self.predicted[2] if self.predicted else "")

    @property
    def start(self) -> int:
        """The first token of either span."""
        return min(span[0] for span in (self.gold, self.predicted) if span is not None)

    @property
    def stop(self) -> int:
        """The end of either span."""
        return max(span[1] for span in (self.gold, self.predicted) if span is not None)

    def as_dict(self) -> dict[str, Any]:
        """The mistake as JSON can hold it, with the words of each span and of the sentence."""
        return {
            "kind": self.kind,
            "sentence": self.sentence,
            "gold": self._span(self.gold),
            "predicted": self._span(self.predicted),
            "words": list(self.words),
        }

    def _span(self, span: TypedSpan | None) -> dict[str, Any] | None:
        if span is None:
            return None
        start, stop, name = span
        return {
            "start": start, "end": stop, "label": name, "text": " ".join(self.words[start:stop])
        }  # fmt: skip


def find_mistakes(gold: Corpus, predicted: Corpus, *, strict: bool = False) -> tuple[Mistake, ...]:
    """All mistakes by kind: the kinds in the order of `MISTAKE_KINDS`, the commonest types first.

    Spans are paired as for the scores by type (`partial_scores`), so the kinds add up to its
    counts: of its correct pairs those with other ends are ``boundary``, its incorrect ones are
    ``type`` and ``both``. Labels without a scheme are wrong token by token, each of kind ``type``.

    >>> words = [["Ada", "Lee", "left", "Rome"]]
    >>> gold = Corpus.of(words, [["B-PER", "I-PER", "O", "B-LOC"]], scheme="iob2")
    >>> predicted = Corpus.of(words, [["B-PER", "O", "O", "O"]], scheme="iob2")
    >>> for mistake in find_mistakes(gold, predicted):
    ...     print(mistake.kind, mistake.gold, mistake.predicted)
    boundary (0, 2, 'PER') (0, 1, 'PER')
    missed (3, 4, 'LOC') None
    """
    check_alike(gold, predicted)
    if gold.scheme is None or predicted.scheme is None:
        true, own = wrong_tokens(gold, predicted)
    else:
        true = decode(gold.labels, gold.sentences, gold.scheme, strict=strict)
        own = decode(predicted.labels, gold.sentences, predicted.scheme, strict=strict)
    mistakes = list(wrong_pairs(gold, true, own))
    order = {kind: k for k, kind in enumerate(MISTAKE_KINDS)}
    common = Counter((mistake.kind, mistake.types) for mistake in mistakes)
    mistakes.sort(
        key=lambda m: (order[m.kind], -common[m.kind, m.types], m.types, m.sentence, m.start)
    )
    return tuple(mistakes)


def count_mistakes(mistakes: Iterable[Mistake]) -> dict[str, int]:
    """How many there are of each kind.

    >>> count_mistakes([Mistake("missed", 0, ("Ada",), (0, 1, "PER"), None)])
    {'boundary': 0, 'type': 0, 'both': 0, 'missed': 1, 'spurious': 0}
    """
    counts = Counter(mistake.kind for mistake in mistakes)
    return {kind: counts[kind] for kind in MISTAKE_KINDS}


def first_of_each_kind(mistakes: Iterable[Mistake], limit: int | None) -> list[Mistake]:
    """At most ``limit`` of each kind, the first; None for all."""
    seen: Counter[str] = Counter()
    chosen = []
    for mistake in mistakes:
        seen[mistake.kind] += 1
        if limit is None or seen[mistake.kind] <= limit:
            chosen.append(mistake)
    return chosen


def wrong_pairs(corpus: Corpus, gold: Spans, predicted: Spans) -> Iterable[Mistake]:
    """A mistake for each pair of spans that is not right, and for each span without a partner."""
    exact, overlapping = pair_spans(gold, predicted, by_type=True)
    true, own = gold.tolist(), predicted.tolist()
    words = corpus.words.tolist()
    first, second = set(range(len(true))), set(range(len(own)))
    pairs: list[tuple[str, TypedSpan | None, TypedSpan | None]] = []
    for ends, group in ((True, exact), (False, overlapping)):
        for k, j in group:
            first.remove(k)
            second.remove(j)
            if ends and true[k][2] == own[j][2]:
                continue
            kind = "type" if ends else "boundary" if true[k][2] == own[j][2] else "both"
            pairs.append((kind, true[k], own[j]))
    pairs += [("missed", true[k], None) for k in first]
    pairs += [("spurious", None, own[j]) for j in second]
    for kind, a, b in pairs:
        token = (a or b or (0, 0, ""))[0]
        number = int(np.searchsorted(corpus.sentences, token, side="right")) - 1
        start, stop = corpus.sentences[number : number + 2].tolist()
        within = (span and (span[0] - start, span[1] - start, span[2]) for span in (a, b))
        yield Mistake(kind, number, tuple(words[start:stop]), *within)


def wrong_tokens(gold: Corpus, predicted: Corpus) -> tuple[Spans, Spans]:
    """The tokens whose labels differ, as spans of one token, by gold and by predicted label."""
    tokens = np.flatnonzero(gold.labels.codes != renumbered(predicted.labels, gold.labels.values))
    return one_token_spans(gold, tokens), one_token_spans(predicted, tokens)


def one_token_spans(corpus: Corpus, tokens: Ints) -> Spans:
    """Spans of one token each, with the label as the type."""
    values = corpus.labels.values
    return Spans.of((k, k + 1, values[corpus.labels.codes[k]]) for k in tokens.tolist())
