"""A corpus being read by templates: columns shifted, views numbered, conjunctions as tuples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Floats, Ints, members, offsets_of
from skipchain.corpus import Column, Corpus
from skipchain.errors import FeatureError, TemplateError
from skipchain.features.strings import StringTable, TextSlices, code_points
from skipchain.features.template import RAW, Atom, View
from skipchain.features.views import LISTS, LONGEST_NGRAM, NGRAMS, UserViews, Values, evaluate_view
from skipchain.kernels import intern

if TYPE_CHECKING:
    from skipchain.features.numbers import Scale

BEFORE, AFTER, RESERVED = 0, 1, 2  # numbers of the places outside a sentence; strings come after
ABSENT = -1
FEW = 32  # offsets of a bag that are compared with each other; those of more are sorted
MAX_TUPLES, TUPLES_PER_TOKEN = 1 << 24, 2_000  # of a template in an input

# Views that are a piece of the value itself: found without making a string of each.
AFFIXES = {"prefix": TextSlices.prefixes, "suffix": TextSlices.suffixes}


@dataclass(frozen=True, slots=True)
class ViewValues:
    """A view of each distinct value of a column, as numbers.

    One number per value: ``indptr`` is None and ``codes`` is [V + 2], −1 where the view has
    nothing; several: value v has ``codes[indptr[v] : indptr[v + 1]]``. The last two values are the
    places before and after a sentence. ``size`` numbers are in use; strings that are not in the
    vocabulary have the last ones, so that their features can be counted. ``weights`` go with the
    codes of a view that gives numbers; a string weighs one.
    """

    codes: NDArray[np.int32]
    indptr: Ints | None
    size: int
    weights: Floats | None = None

    def mapped(self, numbers: NDArray[np.int32]) -> ViewValues:
        """The values with ``numbers[code]`` for each code, without those of numbers below 0."""
        codes = np.where(self.codes >= 0, numbers[self.codes], ABSENT).astype(np.int32)
        if self.indptr is None:
            return ViewValues(codes, None, self.size)
        keep = codes >= 0
        indptr = offsets_of(keep)[self.indptr]
        weights = None if self.weights is None else self.weights[keep]
        return ViewValues(codes[keep], indptr, self.size, weights)

    def lost(self, mapped: ViewValues) -> Ints:
        """How many codes of each value are not among the values mapped. [V + 2]"""
        if self.indptr is None or mapped.indptr is None:
            return ((self.codes >= 0) & (mapped.codes < 0)).astype(np.int64)
        return np.diff(self.indptr) - np.diff(mapped.indptr)


@dataclass(frozen=True, slots=True)
class ViewTuples:
    """Tuples of view numbers [K, M]: one per token (``tokens`` None), or of those tokens [K]."""

    keys: NDArray[np.int32]
    tokens: Ints | None = None

    def owners(self, n_tokens: int) -> Ints:
        """The token of each tuple. [K]"""
        return np.arange(n_tokens) if self.tokens is None else self.tokens


class ViewReader:
    """The numbers that the templates' views give for one corpus.

    ``scales`` are those of views that give numbers, as far as they are known already.
    """

    def __init__(
        self, corpus: Corpus, functions: UserViews, scales: Mapping[View, Scale] | None = None
    ) -> None:
        self.corpus = corpus
        self.functions = functions
        self.scales = dict(scales or {})
        self.values: dict[View, ViewValues] = {}
        self._columns: dict[str, Column] = {}
        self._texts: dict[str, TextSlices] = {}
        self._shifted: dict[tuple[str, int], NDArray[np.int32]] = {}
        self.tokens = slice(0, corpus.n_tokens)
        """Where these tokens stand among those of all blocks."""
        self._bounds: tuple[Ints, Ints] | None = None
        self._longest: int | None = None

    def block(self, first: int, last: int) -> ViewReader:
        """The reader of some sentences alone, with the numbers that all of them have."""
        corpus = self.corpus[first:last]
        start = int(self.corpus.sentences[first])
        reader = ViewReader(corpus, self.functions, self.scales)
        reader.values, reader._longest = self.values, self.longest
        names = {view.column for view in self.values}
        tokens = slice(start, start + corpus.n_tokens)
        reader.tokens = slice(self.tokens.start + start, self.tokens.start + tokens.stop)
        reader._columns = {name: self.column(name)[tokens] for name in names}
        return reader

    @property
    def longest(self) -> int:
        """The number of tokens of the longest sentence."""
        if self._longest is None:
            self._longest = int(np.diff(self.corpus.sentences).max(initial=1))
        return self._longest

    @property
    def n_tokens(self) -> int:
        """The number of tokens."""
        return self.corpus.n_tokens

    def fit_view(self, view: View) -> StringTable:
        """Number the view's distinct strings, and keep its values under these numbers.

        The strings of a view that gives numbers are their places: 0, 1 …
        """
        if view.numeric:
            self._store_numbers(view, None)
            return StringTable.of([str(k) for k in range(len(self.scales[view].mean))])
        if view.function == NGRAMS:
            strings, self.values[view] = self._fit_ngrams(view)
            return strings
        values = self._evaluate(view)
        flat = self._flatten(view, values)
        strings = StringTable.of([s for s in dict.fromkeys(flat) if s is not None])
        self._store_values(view, TextSlices.of(flat), strings, None if flat is values else values)
        return strings

    def encode_view(self, view: View, strings: StringTable) -> None:
        """Keep the view's values under the numbers that ``strings`` has for them."""
        if view.numeric:
            self._store_numbers(view, strings)
        elif view.function == NGRAMS:
            self.values[view] = self._find_ngrams(view, strings)
        elif view.function is None:
            self._store_values(view, self._slices(view.column), strings)
        elif view.function in AFFIXES and view.source == View(view.column):
            whole = self._slices(view.column)
            self._store_values(view, AFFIXES[view.function](whole, int(view.arguments[0])), strings)
        else:
            values = self._evaluate(view)
            flat = self._flatten(view, values)
            lists = None if flat is values else values
            self._store_values(view, TextSlices.of(flat), strings, lists)

    def _store_values(
        self, view: View, slices: TextSlices, strings: StringTable, lists: Values | None = None
    ) -> None:
        """Number the slices: one per distinct value, or as many as each of ``lists`` has."""
        numbers, size = strings.number(slices)
        if lists is not None:
            lengths = [len(v) if isinstance(v, list) else int(v is not None) for v in lists]
            self.values[view] = _multi_valued(offsets_of(lengths), numbers, size)
            return
        codes = np.append(numbers + np.int32(RESERVED), np.array([BEFORE, AFTER], np.int32))
        codes[:-RESERVED][numbers < 0] = ABSENT
        self.values[view] = ViewValues(codes, None, size + RESERVED)

    def _store_numbers(self, view: View, strings: StringTable | None) -> None:
        """Keep the numbers that are not zero, on the view's scale, which is fitted if need be."""
        from skipchain.features.numbers import NotANumber, Scale, parse_numbers

        scale, several = self.scales.get(view), view.function == "vector"
        width = None if scale is None else len(scale.mean)
        try:
            numbers, present = parse_numbers(self._source(view), several=several, width=width)
        except NotANumber as error:
            token = int(np.argmax(self.column(view.column).codes == error.place))
            raise FeatureError(f"token {token}, {view}: {error}") from None
        if scale is None:
            scale = Scale.identity(numbers.shape[1])
            if RAW not in view.arguments:
                counts = np.bincount(self.column(view.column).codes, minlength=len(present))
                scale = Scale.fit(numbers, np.where(present, counts, 0))
            self.scales[view] = scale
        numbers = np.where(present[:, None], scale.apply(numbers), 0.0)
        owner, place = np.nonzero(numbers)
        codes, size = np.arange(numbers.shape[1], dtype=np.int32), numbers.shape[1]
        if strings is not None:
            codes, size = strings.number(TextSlices.of([str(k) for k in range(size)]))
        codes = codes[place] + np.int32(RESERVED)
        outside = [len(owner)] * (1 + RESERVED)
        indptr = np.append(np.searchsorted(owner, np.arange(len(present))), outside)
        self.values[view] = ViewValues(codes, indptr, size + RESERVED, numbers[owner, place])

    def _slices(self, column: str) -> TextSlices:
        if column not in self._texts:
            self._texts[column] = TextSlices.of(self.column(column).values)
        return self._texts[column]

    def _evaluate(self, view: View) -> Values:
        return view_values(view, self.column(view.column).values, self.functions)

    def _flatten(self, view: View, values: Values) -> Sequence[str | None]:
        return flat_values(view, values, self.functions)

    def _source(self, view: View) -> Sequence[str | None]:
        return source_values(view, self.column(view.column).values, self.functions)

    def _ngram_text(self, view: View) -> tuple[str, Ints, int, int]:
        """All strings with their ends marked, their offsets, the lengths of n-grams."""
        words = marked_words(view, self.column(view.column).values, self.functions)
        return "".join(words), offsets_of(map(len, words)), *ngram_limits(view, words)

    def _fit_ngrams(self, view: View) -> tuple[StringTable, ViewValues]:
        text, offsets, shortest, longest = self._ngram_text(view)
        total = intern.count_ngrams(offsets, shortest, longest)
        starts, lengths, indptr, numbers = intern.number_ngrams(
            code_points(text), offsets, shortest, longest, total, intern.empty_slots(total)
        )
        return StringTable(text, starts, lengths), _multi_valued(indptr, numbers, len(starts))

    def _find_ngrams(self, view: View, strings: StringTable) -> ViewValues:
        text, offsets, shortest, longest = self._ngram_text(view)
        total = intern.count_ngrams(offsets, shortest, longest)
        limits = shortest, longest, total
        slots = intern.empty_slots(total)
        ngrams = intern.find_ngrams(code_points(text), offsets, *limits, *strings.index, slots)
        return _multi_valued(*ngrams)

    def column(self, name: str) -> Column:
        """The corpus' column without values that no token has, which a slice keeps."""
        if name not in self._columns:
            column = self.corpus.column(name)
            used = column.used()
            if len(used) < len(column.values):
                codes = np.searchsorted(used, column.codes).astype(np.int32)
                column = Column(codes, tuple(column.values[code] for code in used))
            self._columns[name] = column
        return self._columns[name]

    def shifted(self, column: str, offset: int) -> NDArray[np.int32]:
        """The code of the value ``offset`` tokens away; V and V + 1 outside the sentence. [N]"""
        key = (column, offset)
        if key not in self._shifted:
            codes = self.column(column).codes
            if offset:
                v = len(self.column(column).values)
                codes = np.roll(codes, -offset)
                place = np.arange(self.n_tokens) + offset
                begin, end = self._sentence_bounds()
                codes[place < begin] = v + BEFORE
                codes[place >= end] = v + AFTER
            self._shifted[key] = codes
        return self._shifted[key]

    def _sentence_bounds(self) -> tuple[Ints, Ints]:
        """Where the sentence of each token begins, and where it ends. [N]"""
        if self._bounds is None:
            sentences = self.corpus.sentences
            lengths = np.diff(sentences)
            self._bounds = np.repeat(sentences[:-1], lengths), np.repeat(sentences[1:], lengths)
        return self._bounds

    def token_counts(self, column: str, offset: int) -> Ints:
        """The number of tokens that have each value of a column so many tokens away. [V + 2]"""
        size = len(self.column(column).values) + RESERVED
        return np.bincount(self.shifted(column, offset), minlength=size)

    def counts(self, atom: Atom, tokens: Ints | None = None) -> Ints:
        """The number of tokens that have each code of the atom's view. [size]

        ``tokens`` are those of its column's values, as `token_counts` gives them.
        """
        values = self.values[atom.view]
        if tokens is None:
            tokens = self.token_counts(atom.view.column, atom.offsets[0])
        codes = values.codes
        if values.indptr is not None:
            tokens = np.repeat(tokens, np.diff(values.indptr))
        present = codes >= 0
        counted = np.bincount(codes[present], tokens[present], minlength=values.size)
        return counted.astype(np.int64)

    def bag_offsets(self, atom: Atom) -> list[int]:
        """The offsets of a bag at which there may be a token."""
        offsets = [offset for offset in atom.offsets if abs(offset) < self.longest]
        return offsets or [atom.offsets[0]]  # all lie outside

    def bag(self, atom: Atom) -> list[ViewTuples]:
        """The numbers within the bag's window, each once a token, never from outside it."""
        parts = [self._codes(atom.view, offset) for offset in self.bag_offsets(atom)]
        if len(parts) <= FEW and all(part.tokens is None for part in parts):
            keys = (part.keys[:, 0] for part in parts)
            columns = [np.where(codes < RESERVED, ABSENT, codes) for codes in keys]
            for k, column in enumerate(columns):
                for earlier in columns[:k]:
                    column[column == earlier] = ABSENT
            return [ViewTuples(column.astype(np.int32)[:, None]) for column in columns]
        size = self.values[atom.view].size
        codes = np.concatenate([part.keys[:, 0] for part in parts])
        pairs = np.concatenate([part.owners(self.n_tokens) for part in parts]) * size + codes
        distinct = np.unique(pairs[codes >= RESERVED])
        return [ViewTuples((distinct % size).astype(np.int32)[:, None], distinct // size)]

    def bag_counts(self, atom: Atom) -> Ints:
        """The number of tokens that have each code within the bag's window. [size]"""
        counts = np.zeros(self.values[atom.view].size, np.int64)
        for tuples in self.bag(atom):
            codes = tuples.keys[:, 0]
            counts += np.bincount(codes[codes >= 0], minlength=len(counts))
        return counts

    def tuples(self, atoms: Sequence[Atom]) -> ViewTuples:
        """The tuples that a conjunction gives at each token: the product of its atoms' values."""
        factors = []
        for atom in atoms:
            if atom.bag:
                factors.append(_merge_bags(self.bag(atom), self.n_tokens))
            else:
                factors.append(self._codes(atom.view, atom.offsets[0]))
        if all(factor.tokens is None for factor in factors):
            return ViewTuples(np.concatenate([factor.keys for factor in factors], axis=1))
        return reduce(lambda a, b: _token_product(a, b, self.n_tokens), factors)

    def _codes(self, view: View, offset: int) -> ViewTuples:
        values = self.values[view]
        column = self.shifted(view.column, offset)
        if values.indptr is None:
            return ViewTuples(values.codes[column][:, None])
        tokens, entries = expand_entries(values.indptr, column)
        return ViewTuples(values.codes[entries][:, None], tokens)


def view_values(view: View, strings: Sequence[str], functions: UserViews) -> Values:
    """A view of each string of its column.

    >>> lower = View("word", "lower", View("word"))
    >>> view_values(View("word", "suffix", lower, (2,)), ["LonDON", "a"], {})
    ['on', None]
    """
    if view.function is None:
        return strings
    source = source_values(view, strings, functions)
    present = [value for value in source if value is not None] if None in source else source
    values = evaluate_view(view.function, view.arguments, present, functions)  # type: ignore[arg-type]
    if len(present) == len(source):
        return values
    remaining = iter(values)
    return [None if value is None else next(remaining) for value in source]


def source_values(view: View, strings: Sequence[str], functions: UserViews) -> Sequence[str | None]:
    """What a view looks at, of each string of its column."""
    assert view.source is not None
    source = view_values(view.source, strings, functions)
    if flat_values(view.source, source, functions) is not source:
        raise TemplateError(f"{view}: {view.source} gives several values; use it directly")
    return source  # type: ignore[return-value]


def flat_values(view: View, values: Values, functions: UserViews) -> Sequence[str | None]:
    """All strings one after the other, where a value may be a list: words, users' views."""
    own = view.function in functions and any(isinstance(v, list) for v in values)
    if not own and view.function not in LISTS:
        return values  # type: ignore[return-value]
    flat: list[str | None] = []
    for value in values:
        if isinstance(value, list):
            flat.extend(value)
        elif value is not None:
            flat.append(value)
    return flat


def marked_words(view: View, strings: Sequence[str], functions: UserViews) -> list[str]:
    """The strings of which a view takes n-grams, with ``<`` and ``>`` around each."""
    source = source_values(view, strings, functions)
    return ["" if value is None else f"<{value}>" for value in source]


def ngram_limits(view: View, words: Sequence[str]) -> tuple[int, int]:
    """The shortest and longest n-grams that a view takes of these words."""
    size = sum(map(len, words)) + 1
    shortest, longest = view.arguments or (1, LONGEST_NGRAM)
    return min(int(shortest), size), min(int(longest), size)


def expand_entries(
    indptr: Ints, chosen: NDArray[np.int32], n_tokens: int | None = None
) -> tuple[Ints, Ints]:
    """All entries of the chosen rows of an index: which choice [K], which entry [K].

    They belong to ``n_tokens``, or to a token each; more of them than memory can hold are refused.
    """
    sizes = np.diff(indptr)[chosen]
    most = max(MAX_TUPLES, TUPLES_PER_TOKEN * (len(chosen) if n_tokens is None else n_tokens))
    if sizes.sum() > most:
        fault = f"a template has {sizes.sum():,} tuples of values in this input"
        raise FeatureError(f"{fault}; wanted at most {most:,}: join fewer views of several values")
    return np.repeat(np.arange(len(chosen)), sizes), members(indptr, chosen)


def _multi_valued(indptr: Ints, numbers: NDArray[np.int32], strings: int) -> ViewValues:
    codes = np.append(numbers + np.int32(RESERVED), np.array([BEFORE, AFTER], np.int32))
    return ViewValues(codes, np.append(indptr, indptr[-1] + [1, 2]), strings + RESERVED)


def _merge_bags(bags: list[ViewTuples], n_tokens: int) -> ViewTuples:
    """A bag's tuples at all offsets as one list of (token, key), in the order of tokens."""
    tokens = np.concatenate([bag.owners(n_tokens) for bag in bags])
    keys = np.concatenate([bag.keys for bag in bags])
    order = np.argsort(tokens, kind="stable")
    order = order[keys[order, 0] >= 0]
    return ViewTuples(keys[order], tokens[order])


def _token_product(a: ViewTuples, b: ViewTuples, n_tokens: int) -> ViewTuples:
    """Every tuple of ``a`` with every tuple of ``b`` at the same token."""
    if b.tokens is None:
        if a.tokens is None:
            return ViewTuples(np.concatenate([a.keys, b.keys], axis=1))
        return ViewTuples(np.concatenate([a.keys, b.keys[a.tokens]], axis=1), a.tokens)
    indptr = offsets_of(np.bincount(b.tokens, minlength=n_tokens))
    tokens = a.owners(n_tokens)
    owner, entries = expand_entries(indptr, tokens.astype(np.int32), n_tokens)
    return ViewTuples(np.concatenate([a.keys[owner], b.keys[entries]], axis=1), tokens[owner])
