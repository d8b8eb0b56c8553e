"""Words of headlines and at the start of sentences as running text would write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.annotators.casing import TokenCasing, word_facts
from skipchain.arrays import Ints
from skipchain.corpus import Column
from skipchain.features.strings import StringTable


@dataclass(frozen=True, slots=True, eq=False)
class Truecase:
    """The most frequent written form of each word, where not all letters are capitals."""

    lowercase_forms: StringTable
    forms: StringTable

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Truecase:
        """The commonest form of each word.

        >>> Truecase.of({"may": 9, "May": 7, "Japan": 3}).forms.tolist()
        ['may', 'Japan']
        """
        best: dict[str, tuple[int, str]] = {}
        for form, count in counts.items():
            fold = form.lower()
            if fold not in best or count > best[fold][0]:
                best[fold] = (count, form)
        return cls(StringTable.of(list(best)), StringTable.of([form for _, form in best.values()]))

    def extended(self, words: TokenCasing) -> Truecase:
        """The truecaser with the words of a corpus that it does not have yet."""
        table = dict(zip(self.lowercase_forms.tolist(), self.forms.tolist(), strict=True))
        folds, forms = _most_frequent_forms(words, np.zeros(words.corpus.n_tokens, np.int64))
        for fold, form in zip(folds.tolist(), forms.tolist(), strict=True):
            table.setdefault(words.lowercase_forms[fold], words.corpus.words.values[form])
        return Truecase(StringTable.of(list(table)), StringTable.of(list(table.values())))

    def column(self, words: TokenCasing) -> Column:
        """Each token as running text would write it.

        Changed are tokens whose case says nothing: those of sentences in capitals, and capitalised
        ones that begin a sentence. They are written as elsewhere in their document, else as this
        truecaser has them; unknown ones begin with a capital.
        """
        corpus = words.corpus
        column = corpus.words
        size = len(words.lowercase_forms)
        key, form = _most_frequent_forms(words, words.document_ids)
        upper = words.sentence_is_upper[words.sentence_ids]
        where = np.flatnonzero(upper | (words.is_capitalized & ~words.not_first))
        sought = words.document_ids[where] * size + words.lowercase_ids[where]
        at = np.minimum(np.searchsorted(key, sought), max(len(key) - 1, 0))
        seen = key[at] == sought if len(key) else np.zeros(len(sought), np.bool_)
        codes = column.codes.copy()
        codes[where[seen]] = form[at[seen]]
        values = list(column.values)
        numbers = dict(zip(values, range(len(values)), strict=True))
        rest = where[~seen]
        distinct, inverse = np.unique(column.codes[rest], return_inverse=True)
        words_left = [values[k] for k in distinct.tolist()]
        known = self.lowercase_forms.find(word_facts(words_left).lowercase.tolist())
        new = []
        for word, k in zip(words_left, known, strict=True):
            written = self.forms[k] if k >= 0 else word.capitalize() if word.isupper() else word
            if written not in numbers:
                numbers[written] = len(values)
                values.append(written)
            new.append(numbers[written])
        codes[rest] = np.array(new, np.int32)[inverse]
        return Column(codes, tuple(values))


def _most_frequent_forms(words: TokenCasing, scope: Ints) -> tuple[Ints, Ints]:
    """The commonest form of each word of a scope: scope · folds + fold, ascending; its code.

    Only tokens inside sentences count whose letters are not all capitals. Of forms that are as
    common it is the first of the column, and where documents are texts the first of the scope: a
    text is labelled the same whatever stands beside it.
    """
    kept = words.not_first & ~words.sentence_is_upper[words.sentence_ids]
    size, forms = len(words.lowercase_forms), len(words.corpus.words.values)
    key = (scope[kept] * size + words.lowercase_ids[kept]) * forms + words.corpus.words.codes[kept]
    distinct, counts = np.unique(key, return_counts=True)
    owner, form = distinct // forms, distinct % forms
    begins = np.flatnonzero(np.append(True, owner[1:] != owner[:-1])[: len(owner)])
    if not len(begins):
        return owner, form
    most = np.repeat(np.maximum.reduceat(counts, begins), np.diff(begins, append=len(owner)))
    best = np.flatnonzero(counts == most)
    owner, form = owner[best], form[best]  # by owner, and those of one by form
    again = owner[1:] == owner[:-1]
    if words.corpus.texts is not None and again.any():
        rival = np.flatnonzero(np.append(again, False) | np.append(False, again))
        met = _first_places(owner[rival] // size, form[rival], scope, words.corpus.words.codes)
        form[rival] = form[rival[np.lexsort((met, owner[rival]))]]
    first = np.append(True, ~again)
    return owner[first], form[first]


def _first_places(
    scopes: Ints, forms: NDArray[np.integer], scope: Ints, codes: NDArray[np.int32]
) -> Ints:
    """The first token of each scope that is written in a form, for pairs that there are."""
    sought = np.zeros(codes.max(initial=0) + 1, np.bool_)
    sought[forms] = True
    tokens = np.flatnonzero(sought[codes])
    width = len(sought)
    pairs, first = np.unique(scope[tokens] * width + codes[tokens], return_index=True)
    places: Ints = tokens[first[np.searchsorted(pairs, scopes * width + forms)]]
    return places
