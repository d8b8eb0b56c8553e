"""Words of headlines and at the start of sentences as running text would write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skipchain.annotators.casing import Words
from skipchain.arrays import Ints
from skipchain.corpus import Column
from skipchain.features.strings import Strings


@dataclass(frozen=True, slots=True, eq=False)
class Truecase:
    """How words are mostly written where not all letters are capitals."""

    folds: Strings
    forms: Strings

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Truecase:
        """The commonest form of each word.

        >>> found = Truecase.of({"may": 9, "May": 7, "Japan": 3})
        >>> found.forms.tolist()
        ['may', 'Japan']
        """
        best: dict[str, tuple[int, str]] = {}
        for form, count in counts.items():
            fold = form.lower()
            if fold not in best or count > best[fold][0]:
                best[fold] = (count, form)
        return cls(Strings.of(list(best)), Strings.of([form for _, form in best.values()]))

    def widened(self, words: Words) -> Truecase:
        """With the words of a corpus that are not here yet."""
        known = set(self.folds.tolist())
        fold, form = _commonest(words, np.zeros(words.corpus.n_tokens, np.int64))
        values = words.corpus.words.values
        new = [
            (name, values[k])
            for name, k in zip((words.folds[f] for f in fold.tolist()), form.tolist(), strict=True)
            if name not in known
        ]
        folds = self.folds.tolist() + [name for name, _ in new]
        forms = self.forms.tolist() + [form for _, form in new]
        return Truecase(Strings.of(folds), Strings.of(forms))

    def column(self, words: Words) -> Column:
        """Each token; those whose case says nothing as their document writes them elsewhere.

        These are the tokens of shouted sentences, and capitalised ones that begin a sentence. Words
        that the document does not write elsewhere are looked up; those that are not here begin with
        a capital.
        """
        corpus = words.corpus
        own = corpus.words
        size = len(words.folds)
        key, form = _commonest(words, words.document)
        where = np.flatnonzero(words.shouted[words.sentence] | (words.capitalised & ~words.inside))
        sought = words.document[where] * size + words.fold[where]
        at = np.minimum(np.searchsorted(key, sought), max(len(key) - 1, 0))
        found = key[at] == sought if len(key) else np.zeros(len(sought), np.bool_)
        codes = own.codes.copy()
        codes[where[found]] = form[at[found]]
        values = list(own.values)
        numbers = {value: k for k, value in enumerate(values)}
        rest = where[~found]
        distinct, inverse = np.unique(own.codes[rest], return_inverse=True)
        words_left = [values[k] for k in distinct.tolist()]
        known = self.folds.find([word.lower() for word in words_left])
        new = []
        for word, k in zip(words_left, known, strict=True):
            written = self.forms[k] if k >= 0 else word.capitalize() if word.isupper() else word
            if written not in numbers:
                numbers[written] = len(values)
                values.append(written)
            new.append(numbers[written])
        codes[rest] = np.array(new, np.int32)[inverse]
        return Column(codes, tuple(values))


def _commonest(words: Words, scope: Ints) -> tuple[Ints, Ints]:
    """The commonest form of each word of a scope: scope · folds + fold, ascending; its code.

    Only tokens inside sentences count whose letters are not all capitals.
    """
    kept = words.inside & ~words.shouted[words.sentence]
    size, forms = len(words.folds), len(words.corpus.words.values)
    key = (scope[kept] * size + words.fold[kept]) * forms + words.corpus.words.codes[kept]
    distinct, counts = np.unique(key, return_counts=True)
    owner, form = distinct // forms, distinct % forms
    order = np.lexsort((form, -counts, owner))
    owner, form = owner[order], form[order]
    first = np.append(True, owner[1:] != owner[:-1])[: len(owner)]
    return owner[first], form[first]
