"""Names by looking them up, and nothing else: what knowledge is worth without learning."""

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

TRAINING_LIST = "seen"  # the list of the training data's own names
OUTSIDE = "O"


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
    """What a list stands for, and how often that is right."""
    phrases: Mapping[str, str]
    """What phrases of the training data are."""

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
        found = list(longest_matches((lexicon,), corpus))
        told = set()
        for start, stop, names in found:
            own = set(owner[start:stop])
            kind = gold[owner[start]][2] if len(own) == 1 and owner[start] >= 0 else OUTSIDE
            if (key := (" ".join(words[start:stop]), kind)) not in told:  # lists are of phrases
                told.add(key)
                for name in names:
                    lists[name][kind] += 1
        lookup = cls(
            whole,
            {name: _most_common(counts) for name, counts in lists.items()},
            {text: _most_common(counts)[0] for text, counts in phrases.items()},
        )
        longer: dict[str, Counter[bool]] = defaultdict(Counter)
        free = lookup._is_candidate(corpus, found)
        for _, stop, names in found:
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
        found: list[tuple[int, int, str]] = []
        for start, stop, names in hits:
            kind = self.phrases.get(" ".join(words[start:stop])) or self._type(names)
            if kind == OUTSIDE:
                continue
            if kind in self.extended:
                while stop < len(words) and free[stop]:
                    stop += 1  # noqa: PLW2901
            if found and found[-1][1:] == (start, kind) and start not in first:
                found[-1] = (found[-1][0], stop, kind)
            else:
                found.append((start, stop, kind))
        return Spans.of(found)

    def label(self, corpus: Corpus) -> Corpus:
        """The corpus with the names as labels, in its own scheme or in iob2."""
        scheme = corpus.scheme or "iob2"
        labels = encode(self.spans(corpus), corpus.sentences, scheme)
        return corpus.with_labels(labels, scheme)

    def _type(self, names: Sequence[str]) -> str:
        """What a phrase is that these lists have."""
        known = [self.types[name] for name in names if name in self.types]
        return max(known, key=lambda own: own[1])[0] if known else OUTSIDE

    def _is_candidate(
        self, corpus: Corpus, hits: Sequence[tuple[int, int, list[str]]]
    ) -> list[bool]:
        """Whether a token begins with a capital, stands inside a sentence, and is in no phrase."""
        words = TokenCasing(corpus)
        free = words.is_capitalized & words.not_first
        for start, stop, _ in hits:
            free[start:stop] = False
        found: list[bool] = free.tolist()
        return found


def longest_matches(
    lexicons: Sequence[Lexicon], corpus: Corpus
) -> Iterator[tuple[int, int, list[str]]]:
    """The longest phrases, from left to right and none in another, with the lists that have them.

    Phrases that begin or end in lower case are no names.

    Their first token, one past the last, and the names of the lists.
    """
    found: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    low = TokenCasing(corpus).is_lowercase
    for lexicon in lexicons:
        starts, stops, which, _ = lexicon.find(corpus)
        kept = np.flatnonzero(~low[starts] & ~low[stops - 1])
        for k in kept.tolist():
            found[int(starts[k])][int(stops[k])].append(lexicon.names[which[k]])
    end = 0
    for start in sorted(found):
        if start >= end:
            end = max(found[start])
            yield start, end, found[start][end]


def _most_common(counts: Counter[str]) -> tuple[str, float]:
    """The commonest of all, and its share."""
    kind = min(counts, key=lambda own: (-counts[own], own))
    return kind, counts[kind] / counts.total()
