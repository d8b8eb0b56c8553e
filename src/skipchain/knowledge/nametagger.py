"""Persons in text without labelled data: by gender and animacy of the words of their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from skipchain.corpus.corpus import Corpus
from skipchain.errors import ParameterError
from skipchain.knowledge.candidates import (
    INITIAL,
    Span,
    is_shouted,
    name_candidates,
    nominal_candidates,
)
from skipchain.knowledge.confidence import check_measure
from skipchain.knowledge.properties import GENDERS, PropertyCounts
from skipchain.knowledge.wordlists import ADDRESSES, PARTICLES, plain
from skipchain.metrics.score import Score
from skipchain.schemes import Spans, encode

PERSONS = (0, 1)  # masculine and feminine among the genders; animate is the first of the animacies
MATCHINGS = ("full", "composite", "relaxed", "partial")


@dataclass(frozen=True)
class NameTagger:
    """Finds persons by what `sources` know of their names.

    For each source, the commonest gender and the commonest animacy of a string speak for a person
    (masculine, feminine, animate) or against one. How loud is the confidence ``measure`` m,
    squashed to $m / (1 + m)$; the score of the string is the sum.

    A candidate's score is that of the whole string (``full`` matching), else the lowest of its
    words' (``composite``), else the second of its words' (``relaxed``); with ``partial``, else
    the mean of those words that are known. It is a person above the ``threshold``. With
    ``document``, a name that was found makes persons of its last word elsewhere in the document
    and of its words in headlines, and so does an address such as *Mr.* before it.

    >>> known = PropertyCounts("ours", {"ada": (0, 9, 0, 0, 0, 0), "oslo": (0, 0, 9, 0, 0, 0)}, True)
    >>> tagger = NameTagger((known,))
    >>> corpus = Corpus.of(["Ada Lee left Oslo .".split(), "Lee slept .".split()])
    >>> tagger.predict(corpus).spans().tolist()
    [(0, 2, 'PER'), (5, 6, 'PER')]
    """

    sources: tuple[PropertyCounts, ...]
    measure: str = "margin"
    matching: str = "partial"
    threshold: float = 0.0
    document: bool = True
    common: frozenset[str] = frozenset()
    label: str = "PER"
    _scores: dict[str, float | None] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_measure(self.measure)
        if self.matching not in MATCHINGS:
            raise ParameterError(f"no matching {self.matching!r}; there are {', '.join(MATCHINGS)}")

    def predict(self, corpus: Corpus) -> Corpus:
        """The corpus with the persons as labels, in iob2."""
        spans = [(a, b, self.label) for a, b in self.spans(corpus)]
        labels = encode(Spans.of(spans), corpus.sentences, "iob2")
        return corpus.with_labels(labels, "iob2")

    def spans(self, corpus: Corpus) -> list[Span]:
        """The persons, as tokens of the corpus."""
        return [span for own in self.scored(corpus) for span in own.spans(self)]

    def nominals(self, words: Sequence[str]) -> list[Span]:
        """Nouns of a sentence that speak of persons, such as *writer*; the longest at each place."""
        found: list[Span] = []
        for start, stop in sorted(nominal_candidates(words), key=lambda own: (own[0], -own[1])):
            score = self.score(" ".join(words[start:stop]))
            free = not found or start >= found[-1][1]
            if free and score is not None and score > self.threshold:
                found.append((start, stop))
        return found

    # Scores ------------------------------------------------------------------------------------

    def score(self, phrase: str) -> float | None:
        """What all sources say of a string together; None where none knows it."""
        if phrase not in self._scores:
            self._scores[phrase] = self._sum(phrase)
        return self._scores[phrase]

    def _sum(self, phrase: str) -> float | None:
        measure = check_measure(self.measure)
        voices = []
        for source in self.sources:
            counts = source.of(phrase)
            if counts is None:
                continue
            for group in (counts[: len(GENDERS)], counts[len(GENDERS) :]):
                if any(group):
                    best = group.index(max(group))
                    person = best in PERSONS if len(group) == len(GENDERS) else best == 0
                    own = measure(group)
                    voices.append(own / (1.0 + own) * (1 if person else -1))
        return sum(voices) if voices else None

    def match(self, words: Sequence[str]) -> float | None:
        """The score of a candidate of these words, by the ways of matching allowed."""
        whole = self.score(" ".join(words))
        if whole is not None or self.matching == "full" or len(words) == 1:
            return whole
        parts = [word for word in words if word not in PARTICLES and not INITIAL.fullmatch(word)]
        scores = sorted((self.score(word) for word in parts if self.score(word) is not None),
                        key=lambda own: own or 0.0)  # fmt: skip
        known = [own for own in scores if own is not None]
        if len(known) == len(words) or (known and self.matching == "partial"):
            return known[0] if self.matching != "partial" else sum(known) / len(known)
        if len(known) >= 2 and self.matching == "relaxed":
            return known[-2]
        return None

    def ordinary(self, word: str) -> bool:
        """Whether a word that begins a sentence is no name."""
        if word.lower() not in self.common:
            return False
        score = self.score(word)
        return score is None or score <= self.threshold

    # Choosing the threshold --------------------------------------------------------------------

    def scored(self, corpus: Corpus) -> list[DocumentCandidates]:
        """The candidates of each document with their scores, which no threshold changes."""
        words = corpus.words.tolist()
        found = []
        for first, last in zip(corpus.documents[:-1], corpus.documents[1:], strict=True):
            bounds = corpus.sentences[first : last + 1].tolist()
            candidates: list[tuple[Span, tuple[str, ...], float | None, bool]] = []
            shouted: list[Span] = []
            for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
                own = words[start:stop]
                if is_shouted(own):
                    shouted.append((start, stop))
                for a, b in name_candidates(own, self.ordinary):
                    addressed = a > 0 and plain(own[a - 1]) in ADDRESSES
                    name = tuple(own[a:b])
                    candidates.append(((start + a, start + b), name, self.match(name), addressed))
            found.append(DocumentCandidates(candidates, [
                (start, tuple(words[start:stop])) for start, stop in shouted
            ]))  # fmt: skip
        return found

    def tuned(self, corpus: Corpus, thresholds: Iterable[float]) -> NameTagger:
        """The tagger with the threshold that has the best F1 on a labelled corpus."""
        gold = {(a, b) for a, b, kind in corpus.spans().tolist() if kind == self.label}
        best, best_f1 = self, -1.0
        for threshold in thresholds:
            own = replace(self, threshold=threshold)
            found = set(own.spans(corpus))
            f1 = Score(len(gold), len(found), len(gold & found)).f1
            if f1 > best_f1:
                best, best_f1 = own, f1
        return best


@dataclass(frozen=True, slots=True)
class DocumentCandidates:
    """The candidates of one document, and its headlines."""

    candidates: list[tuple[Span, tuple[str, ...], float | None, bool]]
    shouted: list[tuple[int, tuple[str, ...]]]

    def spans(self, tagger: NameTagger) -> list[Span]:
        """Those that are persons, by the threshold and by each other."""
        sure = {
            name
            for _, name, score, addressed in self.candidates
            if (score is not None and score > tagger.threshold) or (tagger.document and addressed)
        }
        if not tagger.document:
            return sorted(span for span, name, _, _ in self.candidates if name in sure)
        lasts = {name[-1] for name in sure if len(name) > 1}
        initials = {
            name for _, name, _, _ in self.candidates
            if len(name) > 1 and INITIAL.fullmatch(name[0]) and name[-1] in lasts
        }  # fmt: skip
        alone = {(last,) for last in lasts}
        found = [span for span, name, _, _ in self.candidates if name in sure | initials | alone]
        loud = {tuple(word.upper() for word in name) for name in sure | alone}
        for start, words in self.shouted:
            found += within(words, loud, start)
        return sorted(found)


def within(words: Sequence[str], names: set[tuple[str, ...]], offset: int) -> list[Span]:
    """Where names stand in words, the longest first, none inside another."""
    found = []
    k = 0
    while k < len(words):
        sizes = (size for size in range(5, 0, -1) if tuple(words[k : k + size]) in names)
        size = next(sizes, 0)
        if size:
            found.append((offset + k, offset + k + size))
        k += max(size, 1)
    return found
