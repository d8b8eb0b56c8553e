"""Persons in text without labelled data: by gender and animacy of the words of their names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from skipchain.corpus.corpus import Corpus
from skipchain.corpus.schemes import Spans, encode
from skipchain.metrics.score import Score
from skipchain.nametagger.candidates import (
    INITIAL,
    Span,
    is_headline,
    name_candidates,
    nominal_candidates,
)
from skipchain.nametagger.contexts import Contexts
from skipchain.nametagger.evidence import Evidence
from skipchain.nametagger.wordlists import ADDRESSES, normalized

LONGEST = 5  # words of a name in a headline


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span of tokens, its words, and what speaks for a person.

    ``name`` is the evidence of its words, None where they are unknown; ``context`` are the log odds
    of the place; ``has_title``: a *Mr.* stands before it.
    """

    span: Span
    words: tuple[str, ...]
    name: float | None
    context: float = 0.0
    has_title: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """The candidates of a document, and its headlines: where each begins, and its words."""

    candidates: tuple[Candidate, ...]
    headlines: tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class NameTagger:
    """Finds persons by what ``evidence`` knows of names.

    A candidate is a person if its score, with ``weight`` times the log odds of its ``contexts``, is
    above the ``threshold``; one that nothing is known of has the score of 0 where there are
    contexts, else it is none. ``common`` are words that begin sentences and are no names.

    With ``document``, the same name has the same answer everywhere in a document (contexts are
    averaged); a name that was found makes persons of its last word alone, and of its words in
    headlines; and an address such as *Mr.* before a name makes a person of it.

    >>> from skipchain.nametagger.gender import PropertyCounts
    >>> table = {"ada": (0, 9, 0, 0, 0, 0), "oslo": (0, 0, 9, 0, 0, 0)}
    >>> known = PropertyCounts("ours", table, folded=True)
    >>> tagger = NameTagger(Evidence((known,)))
    >>> corpus = Corpus.of(["Ada Lee left Oslo .".split(), "Lee slept .".split()])
    >>> tagger.predict(corpus).spans().tolist()
    [(0, 2, 'PER'), (5, 6, 'PER')]
    """

    evidence: Evidence
    threshold: float = 0.0
    document: bool = True
    contexts: Contexts | None = None
    weight: float = 0.5
    common: frozenset[str] = frozenset()
    label: str = "PER"

    def predict(self, corpus: Corpus) -> Corpus:
        """The corpus with the persons as labels, in iob2."""
        spans = [(a, b, self.label) for a, b in self.spans(corpus)]
        labels = encode(Spans.of(spans), corpus.sentences, "iob2")
        return corpus.with_labels(labels, "iob2")

    def spans(self, corpus: Corpus) -> list[Span]:
        """The persons, as tokens of the corpus."""
        return [span for document in self.documents(corpus) for span in self.persons(document)]

    def nominals(self, words: Sequence[str]) -> list[Span]:
        """Nouns of a sentence that mean persons, such as *writer*; the longest at each place."""
        spans: list[Span] = []
        for start, stop in sorted(nominal_candidates(words), key=lambda span: (span[0], -span[1])):
            score = self.evidence.score(" ".join(words[start:stop]))
            free = not spans or start >= spans[-1][1]
            if free and score is not None and score > self.threshold:
                spans.append((start, stop))
        return spans

    def documents(self, corpus: Corpus) -> list[Document]:
        """The candidates of every document with their scores, before any threshold is applied."""
        words = corpus.words.tolist()
        documents = []
        for first, last in pairwise(corpus.documents.tolist()):
            candidates: list[Candidate] = []
            headlines = []
            for start, stop in pairwise(corpus.sentences[first : last + 1].tolist()):
                sentence = words[start:stop]
                if is_headline(sentence):
                    headlines.append((start, tuple(sentence)))
                candidates += self._candidates(sentence, start)
            documents.append(Document(tuple(candidates), tuple(headlines)))
        return documents

    def _candidates(self, words: list[str], offset: int) -> Iterator[Candidate]:
        for a, b in name_candidates(words, self.ordinary):
            name = tuple(words[a:b])
            place = 0.0 if self.contexts is None else self.contexts.score(words, (a, b))
            addressed = a > 0 and normalized(words[a - 1]) in ADDRESSES
            score, span = self.evidence.match(name), (offset + a, offset + b)
            yield Candidate(span, name, score, place, addressed)

    def ordinary(self, word: str, alone: bool) -> bool:
        """Whether a word that begins a sentence is no name; a known one may begin a longer name."""
        if word.lower() not in self.common:
            return False
        score = self.evidence.score(word)
        return alone or score is None or score <= 0

    def total_score(self, candidate: Candidate, place: float) -> float:
        """The score of a candidate whose contexts have these log odds."""
        if self.contexts is None:
            return -math.inf if candidate.name is None else candidate.name
        return (candidate.name or 0.0) + self.weight * place

    def persons(self, document: Document) -> list[Span]:
        """The candidates that are persons, by their scores and by each other."""
        candidates = document.candidates
        if not self.document:
            scored = ((c.span, self.total_score(c, c.context)) for c in candidates)
            return [span for span, score in scored if score > self.threshold]
        contexts: dict[tuple[str, ...], list[float]] = {}
        for c in candidates:
            contexts.setdefault(c.words, []).append(c.context)
        means = {words: sum(odds) / len(odds) for words, odds in contexts.items()}
        scores = [self.total_score(c, means[c.words]) for c in candidates]
        pairs = zip(candidates, scores, strict=True)
        sure = {c.words for c, score in pairs if c.has_title or score > self.threshold}
        lasts = {name[-1] for name in sure if len(name) > 1}
        names = sure | {(last,) for last in lasts}
        spans = [
            c.span
            for c in candidates
            if c.words in names or (INITIAL.fullmatch(c.words[0]) and c.words[-1] in lasts)
        ]
        loud = {tuple(word.upper() for word in name) for name in names}
        for start, words in document.headlines:
            spans += find_names(words, loud, start)
        return sorted(spans)

    def bootstrapped(self, corpora: Sequence[Corpus], rounds: int = 1) -> NameTagger:
        """The tagger with contexts learned from raw text by self-training, in rounds.

        In the first round only candidates that something is known of count, in later ones all.
        """
        tagger = replace(self, contexts=None)
        for number in range(rounds):
            cases = [case for corpus in corpora for case in tagger._cases(corpus, number == 0)]
            tagger = replace(self, contexts=Contexts.fit(cases))
        return tagger

    def _cases(self, corpus: Corpus, known: bool) -> Iterator[tuple[Sequence[str], Span, float]]:
        words = corpus.words.tolist()
        bounds = iter(pairwise(corpus.sentences.tolist()))
        start = stop = 0
        for document in self.documents(corpus):
            persons = set(self.persons(document))
            for candidate in document.candidates:
                while candidate.span[0] >= stop:
                    start, stop = next(bounds)
                if known and candidate.name is None and candidate.span not in persons:
                    continue
                span = candidate.span[0] - start, candidate.span[1] - start
                yield words[start:stop], span, float(candidate.span in persons)

    def tuned(
        self, corpus: Corpus, thresholds: Iterable[float], weights: Iterable[float] = ()
    ) -> NameTagger:
        """The tagger with the threshold, and the weight, of the best F1 on a labelled corpus."""
        gold = {(a, b) for a, b, kind in corpus.spans().tolist() if kind == self.label}
        documents = self.documents(corpus)
        best, best_f1 = self, -1.0
        for weight, threshold in product((*weights,) or (self.weight,), thresholds):
            tagger = replace(self, threshold=threshold, weight=weight)
            predicted = {span for document in documents for span in tagger.persons(document)}
            f1 = Score(len(gold), len(predicted), len(gold & predicted)).f1
            if f1 > best_f1:
                best, best_f1 = tagger, f1
        return best


def find_names(words: Sequence[str], names: set[tuple[str, ...]], offset: int) -> list[Span]:
    """Where names stand in words, the longest first, none inside another.

    >>> find_names(["A", "B", "A"], {("A",), ("A", "B")}, 10)
    [(10, 12), (12, 13)]
    """
    spans = []
    k = 0
    while k < len(words):
        sizes = (size for size in range(LONGEST, 0, -1) if tuple(words[k : k + size]) in names)
        size = next((size for size in sizes if k + size <= len(words)), 0)
        if size:
            spans.append((offset + k, offset + k + size))
        k += max(size, 1)
    return spans
