"""Lexicons: lists of phrases, and where they stand in a corpus."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skipchain.annotators.casing import word_facts
from skipchain.annotators.set_column import set_column
from skipchain.arrays import Arrays, Bools, Ints, Labels, offsets_of
from skipchain.checks import check_choice
from skipchain.corpus import Corpus
from skipchain.corpus.corpus import plural
from skipchain.errors import ParameterError
from skipchain.features.annotator import COLUMN, Columns, StatelessAnnotator
from skipchain.features.strings import (
    StringTable,
    TextSlices,
    strings_from_arrays,
    strings_schema,
    strings_to_arrays,
)
from skipchain.kernels import lexicon as kernels
from skipchain.parallel import Workers
from skipchain.schema.arrays import RISING, ArrayError, ArraySchema, check_arrays
from skipchain.schema.fields import Field, Items, Text

EXACT, FOLDED, LIGHT = CASES = "exact", "folded", "light"
ALL, LONGEST = MATCHES = "all", "longest"
POSITION_TAGS = ("B", "I", "E", "S")
VARIANT_MARK = "~"  # marks a phrase that the text writes otherwise than the list


@dataclass(frozen=True, slots=True, eq=False)
class PhraseTrie:
    """The phrases of all lists, as a trie over the numbers of their tokens."""

    tokens: StringTable  # the distinct tokens, as they are compared [T]
    root: Labels  # the node of a phrase that begins with a token, or −1 [T]
    first: Labels  # where the children of a node begin [nodes + 1]
    token: Labels  # the token of a node [nodes]
    ends: Labels  # where the entries of a node begin [nodes + 1]
    lists: Labels  # the list of an entry [entries]
    forms: NDArray[np.uint32]  # the hash of how the list writes the phrase [entries]

    def __len__(self) -> int:
        return len(self.lists)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        strings = self.tokens.starts.nbytes + self.tokens.lengths.nbytes + len(self.tokens.text)
        return int(strings + sum(array.nbytes for array in self.arrays.values()))

    @property
    def arrays(self) -> Arrays:
        """The trie without its tokens, as arrays by name."""
        return {name: getattr(self, name) for name in TRIE_ARRAYS}

    @classmethod
    def of(cls, words: Sequence[str], offsets: Ints, lists: Labels, case: str) -> PhraseTrie:
        """The trie of phrases ``words[offsets[p] : offsets[p + 1]]``, of the lists ``lists[p]``."""
        numbers: dict[str, int] = {}
        distinct = ((word, match_key(word, case)) for word in dict.fromkeys(words))
        keys = {word: numbers.setdefault(key, len(numbers)) for word, key in distinct}
        flat = np.fromiter(map(keys.__getitem__, words), np.int64, len(words))
        forms = kernels.hash_phrases(offsets, kernels.hash_slices(*TextSlices.of(words)))
        size, lengths = len(numbers), np.diff(offsets)
        node = np.zeros(len(lengths), np.int64)  # that a phrase has come to
        root = np.full(size, -1, np.int32)
        parents, token, nodes = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)], 0
        for depth in range(int(lengths.max(initial=0))):
            alive = np.flatnonzero(lengths > depth)
            pairs = node[alive] * size * (depth > 0) + flat[offsets[:-1][alive] + depth]
            distinct, inverse = np.unique(pairs, return_inverse=True)
            if depth:
                parents.append(distinct // size)
            else:
                root[distinct] = np.arange(len(distinct))
            token.append((distinct % size).astype(np.int32))
            node[alive] = nodes + inverse
            nodes += len(distinct)
        parent = np.concatenate(parents)
        first = nodes - len(parent) + np.searchsorted(parent, np.arange(nodes + 1))
        entries = np.unique(np.stack([node, lists, forms], axis=1), axis=0)
        return cls(
            StringTable.of(list(numbers)),
            root,
            first.astype(np.int32),
            np.concatenate(token),
            np.searchsorted(entries[:, 0], np.arange(nodes + 1)).astype(np.int32),
            entries[:, 1].astype(np.int32),
            entries[:, 2].astype(np.uint32),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon(StatelessAnnotator):
    """Lists of phrases, as a column: which lists a token's phrase is in, and the token's place.

    ``case`` says how tokens are compared: ``exact``; ``folded``, regardless of case; ``light``,
    also without accents, hyphens and full stops, all digits alike. ``matches`` takes ``all``
    phrases or the ``longest``. The column's cells look like ``B-company S-name~``: the second token
    of `New York` would have ``E-place``, and ``~`` says that the text writes the phrase otherwise.

    >>> lexicon = Lexicon.of({"place": ["New York", "York"], "name": ["york"]})
    >>> corpus = Corpus.of([["In", "New", "York"]])
    >>> lexicon.columns(corpus, Workers(1))["lexicon"].tolist()
    ['', 'B-place', 'E-place S-place S-name~']
    """

    kind: ClassVar[str] = "lexicon"
    config_fields: ClassVar[Mapping[str, Field]] = {
        "column": COLUMN,
        "case": Text(CASES),
        "matches": Text(MATCHES),
        "names": Items(Text(least=1, most=1000)),
    }

    names: tuple[str, ...]
    phrases: PhraseTrie
    column: str = "lexicon"
    case: str = FOLDED
    matches: str = ALL

    def __post_init__(self) -> None:
        check_choice("case", self.case, CASES)
        check_choice("matches", self.matches, MATCHES)
        for name in self.names:
            if not name or re.search(r"\s", name):
                raise ParameterError(f"a list of phrases cannot be called {name!r}")

    @classmethod
    def of(cls, lists: Mapping[str, Sequence[str]], **settings: Any) -> Lexicon:
        """The lexicon of lists of phrases, by name, with spaces between their tokens."""
        words: list[str] = []
        sizes: list[int] = []
        owners: list[int] = []
        for number, (name, phrases) in enumerate(lists.items()):
            if isinstance(phrases, str):
                raise ParameterError(f"{name}: expected a list of phrases, got {phrases[:40]!r}")
            for phrase in phrases:
                tokens = phrase.split()
                if tokens:
                    words.extend(tokens)
                    sizes.append(len(tokens))
                    owners.append(number)
        case = settings.get("case", FOLDED)
        trie = PhraseTrie.of(words, offsets_of(sizes), np.array(owners, np.int32), case)
        return cls(tuple(lists), trie, **settings)

    def __len__(self) -> int:
        return len(self.phrases)

    def __repr__(self) -> str:
        return f"<Lexicon {self.column!r}: {self.description}>"

    def find(self, corpus: Corpus) -> tuple[Labels, Labels, Labels, Bools]:
        """All matches: first token, one past the last, number of the list, written alike."""
        words, trie = corpus.words, self.phrases
        keys: Sequence[str] = words.values
        if self.case == FOLDED:
            keys = word_facts(words.values).lowercase.tolist()
        elif self.case == LIGHT:
            keys = [match_key(word, self.case) for word in words.values]
        numbers, _ = trie.tokens.number(TextSlices.of(keys))
        numbers[numbers >= len(trie.tokens)] = -1
        hashes = kernels.hash_slices(*TextSlices.of(words.values))
        trie_arrays, longest = list(trie.arrays.values()), self.matches == LONGEST
        matches: tuple[Labels, Labels, Labels, Bools] = kernels.find_phrases(
            numbers[words.codes], hashes[words.codes], corpus.sentences, *trie_arrays, longest
        )
        return matches

    @property
    def description(self) -> str:
        """A short description of the annotator, for summaries."""
        return f"{plural(len(self), 'phrase')} in {plural(len(self.names), 'list')}"

    def columns(self, corpus: Corpus, workers: Workers) -> Columns:
        """The lists that each token's phrases are in."""
        starts, stops, which, alike = self.find(corpus)
        if self.case == EXACT:
            alike = np.ones(len(alike), np.bool_)
        tokens, codes = kernels.spread_matches(starts, stops, which, alike)
        texts = [
            f"{place}-{name}{variant}"
            for name in self.names
            for place in POSITION_TAGS
            for variant in ("", VARIANT_MARK)
        ]
        table = np.array(texts, object)
        cells = set_column(tokens, codes, corpus.n_tokens, lambda k: table[k].tolist())
        return {self.column: cells}

    def config(self) -> dict[str, Any]:
        """The settings, as JSON can hold them."""
        return {**{name: getattr(self, name) for name in SETTINGS}, "names": list(self.names)}

    def arrays(self) -> Arrays:
        """The phrases, as arrays by name."""
        return self.phrases.arrays | strings_to_arrays("tokens", self.phrases.tokens)

    @classmethod
    def from_config(cls, config: Mapping[str, Any], arrays: Arrays) -> Lexicon:
        """The annotator of a `config` and `arrays`; an `ArrayError` says what does not fit."""
        names = tuple(config["names"])
        check_arrays(cls.array_schema(config), arrays)
        tokens = strings_from_arrays("tokens", arrays)
        trie = {name: arrays[name] for name in TRIE_ARRAYS}
        nodes = len(trie["token"])
        if (trie["first"][:-1] <= np.arange(nodes)).any():
            raise ArrayError("first of the lexicon leads back to where it came from")
        settings = {name: config[name] for name in SETTINGS}
        return cls(names, PhraseTrie(tokens, **trie), **settings)

    @classmethod
    def array_schema(cls, config: Mapping[str, Any]) -> dict[str, ArraySchema]:
        """What the arrays of a lexicon with such a `config` must be."""
        return {
            **strings_schema("tokens", "tokens"),
            "root": ArraySchema("int32", ("tokens",), least=-1, below="nodes"),
            "token": ArraySchema("int32", ("nodes",), least=0, below="tokens"),
            "first": ArraySchema("int32", ("nodes + 1",), least=0, order=RISING, last="nodes"),
            "ends": ArraySchema("int32", ("nodes + 1",), least=0, order=RISING, last="entries"),
            "lists": ArraySchema("int32", ("entries",), least=0, below=len(config["names"])),
            "forms": ArraySchema("uint32", ("entries",)),
        }


SETTINGS = ("column", "case", "matches")
TRIE_ARRAYS = ("root", "first", "token", "ends", "lists", "forms")


def match_key(word: str, case: str) -> str:
    """A token as it is compared.

    >>> match_key("Saint-Étienne", "folded"), match_key("Saint-Étienne", "light")
    ('saint-étienne', 'saintetienne')
    >>> match_key("B-52s", "light")
    'b00s'
    """
    if case == EXACT:
        return word
    if case == FOLDED:
        return word.lower()
    plain = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    bare = re.sub(r"[-.'’]", "", plain.lower())
    return re.sub(r"\d", "0", bare or plain)
