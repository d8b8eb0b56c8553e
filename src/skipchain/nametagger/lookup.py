"""Names by dictionary look-up alone: the baseline that shows what a lexicon is worth."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skipchain.annotators.casing import TokenCasing
from skipchain.annotators.lexicon import EXACT, Lexicon
from skipchain.corpus import Corpus
from skipchain.corpus.schemes import Spans, encode
from skipchain.errors import CorpusError

TRAINING_LIST = "seen"  # the list of names in the training data
OUTSIDE = "O"
Match = tuple[int, int, list[str]]  # first token, one past the last, the lists with the phrase


@dataclass(frozen=True, slots=True, eq=False)
class DictionaryTagger:
    """A dictionary that tags: phrases of lists, the longest first, with the type of their list.

    What a list stands for is taken from training data: the type that most of its phrases have
    there, or none. So is what to do with a phrase that training data have: its commonest type, or
    none. Where several lists have a phrase, the one counts that is right most often. Names of one
    type that follow each other are one name: first names and surnames.

    >>> lexicon = Lexicon.of({"ports": ["Ostley", "Port Ann"]})
    >>> train = Corpus.of([["Ada", "left", "Ostley"]], [["B-PER", "O", "B-LOC"]], scheme="iob2")
    >>> lookup = DictionaryTagger.fit(train, lexicon)
    >>> lookup.spans(Corpus.of([["Ada", "saw", "Port", "Ann"]])).tolist()
    [(0, 1, 'PER'), (2, 4, 'LOC')]
    """

    lexicons: tuple[Lexicon, ...]
    types: Mapping[str, tuple[str, float]]
    """The type that each list stands for, and how often that is right."""
    phrases: Mapping[str, str]
    """The types of phrases of the training data."""

    extended: frozenset[str] = frozenset()
    """Types of which an unknown capitalised word behind a name is a part."""

    @classmethod
    def fit(cls, corpus: Corpus, lexicon: Lexicon) -> DictionaryTagger:
        """Learn what lists and phrases stand for; names of the training data are a list, too."""
        if corpus.scheme is None:
            raise CorpusError("names are spans, and the corpus' labels mark none")
        words = corpus.words.tolist()
        gold = list(corpus.spans())
        seen = sorted({" ".join(words[start:stop]) for start, stop, _ in gold})
        whole = (lexicon, Lexicon.of({TRAINING_LIST: seen}, case=EXACT))
        at = {(start, stop): kind for start, stop, kind in gold}
        phrases: dict[str, Counter[str]] = defaultdict(Counter)
        for start, stop, _ in longest_matches(whole, corpus):
            phrases[" ".join(words[start:stop])][at.get((start, stop), OUTSIDE)] += 1
        owner = [-1] * len(words)
        for k, (start, stop, _) in enumerate(gold):
            owner[start:stop] = [k] * (stop - start)
        lists: dict[str, Counter[str]] = defaultdict(Counter)
        hits = list(longest_matches((lexicon,), corpus))
        counted = set()
        for start, stop, names in hits:
            owners = set(owner[start:stop])
            kind = gold[owner[start]][2] if len(owners) == 1 and owner[start] >= 0 else OUTSIDE
            if (key := (" ".join(words[start:stop]), kind)) not in counted:  # lists are of phrases
                counted.add(key)
                for name in names:
                    lists[name][kind] += 1
        lookup = cls(
            whole,
            {name: _most_common(counts) for name, counts in lists.items()},
            {text: _most_common(counts)[0] for text, counts in phrases.items()},
        )
        longer: dict[str, Counter[bool]] = defaultdict(Counter)
        free = lookup._is_candidate(corpus, hits)
        for _, stop, names in hits:
            kind = lookup._type(names)
            if stop < len(words) and free[stop]:
                same = owner[stop] == owner[stop - 1] >= 0
                longer[kind][same and gold[owner[stop]][2] == kind] += 1
        yes = (kind for kind, counts in longer.items() if counts[True] > counts[False])
        return replace(lookup, extended=frozenset(yes) - {OUTSIDE})

    def spans(self, corpus: Corpus) -> Spans:
        """The names of a corpus."""
        words = corpus.words.tolist()
        first = set(corpus.sentences.tolist())
        hits = list(longest_matches(self.lexicons, corpus))
        free = self._is_candidate(corpus, hits)
        spans: list[tuple[int, int, str]] = []
        for start, stop, names in hits:
            kind = self.phrases.get(" ".join(words[start:stop])) or self._type(names)
            if kind == OUTSIDE:
                continue
            if kind in self.extended:
                while stop < len(words) and free[stop]:
                    stop += 1  # noqa: PLW2901
            if spans and spans[-1][1:] == (start, kind) and start not in first:
                spans[-1] = (spans[-1][0], stop, kind)
            else:
                spans.append((start, stop, kind))
        return Spans.of(spans)

    def label(self, corpus: Corpus) -> Corpus:
        """The corpus with the names as labels, in its scheme or in iob2."""
        scheme = corpus.scheme or "iob2"
        labels = encode(self.spans(corpus), corpus.sentences, scheme)
        return corpus.with_labels(labels, scheme)

    def _type(self, names: Sequence[str]) -> str:
        """The type of a phrase that these lists have."""
        known = [self.types[name] for name in names if name in self.types]
        return max(known, key=lambda pair: pair[1])[0] if known else OUTSIDE

    def _is_candidate(self, corpus: Corpus, hits: Sequence[Match]) -> list[bool]:
        """Whether a token begins with a capital, stands inside a sentence, and is in no phrase."""
        words = TokenCasing(corpus)
        free = words.is_capitalized & words.not_first
        for start, stop, _ in hits:
            free[start:stop] = False
        flags: list[bool] = free.tolist()
        return flags


def longest_matches(lexicons: Sequence[Lexicon], corpus: Corpus) -> Iterator[Match]:
    """The longest phrases, from left to right, none in another, and the lists that have them.

    Each as its first token, one past the last, and the names of the lists. Phrases that begin or
    end in lower case are no names.
    """
    by_start: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    low = TokenCasing(corpus).is_lowercase
    for lexicon in lexicons:
        starts, stops, which, _ = lexicon.find(corpus)
        kept = np.flatnonzero(~low[starts] & ~low[stops - 1])
        for k in kept.tolist():
            by_start[int(starts[k])][int(stops[k])].append(lexicon.names[which[k]])
    end = 0
    for start in sorted(by_start):
        if start >= end:
            end = max(by_start[start])
            yield start, end, by_start[start][end]


def _most_common(counts: Counter[str]) -> tuple[str, float]:
    """The commonest of all, and its share."""
    commonest = min(counts, key=lambda kind: (-counts[kind], kind))
    return commonest, counts[commonest] / counts.total()
