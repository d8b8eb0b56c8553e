"""The features of one worker: first all that there are, then those that all workers have kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints
from skipchain.cluster.claims import DROPPED, Answer, Claims, Numbering
from skipchain.cluster.hashing import feature_hashes, range_of
from skipchain.cluster.supports import Bits, ShownLabels, places_of
from skipchain.corpus import Corpus
from skipchain.features.matrix import FeatureMatrix
from skipchain.features.reader import ViewReader
from skipchain.features.strings import StringTable
from skipchain.features.template import PAIR, STATE, View
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary, counted_features

FAMILIES = (STATE, PAIR)


@dataclass(frozen=True)
class Named:
    """Features with their strings, and the numbers that they have among all of their template."""

    vocabulary: Vocabulary
    numbers: tuple[Ints, ...]  # of each template


@dataclass
class Draft:
    """A corpus with all its features, before it is known which of them are kept."""

    templates: Templates
    reader: ViewReader
    views: Mapping[View, StringTable]
    rows: Sequence[NDArray[np.int32]]
    claims: Claims

    @classmethod
    def of(cls, corpus: Corpus, templates: Templates) -> Draft:
        """All features of a corpus, by templates whose columns it has."""
        reader = ViewReader(corpus, templates.functions)
        views: dict[View, StringTable] = {}
        rows, counts = [], []
        for template in templates.templates:
            for atom in template.atoms:
                if atom.view not in views:
                    views[atom.view] = reader.fit_view(atom.view)
            own, often = counted_features(template, reader)
            present = int(np.searchsorted(-often, 0, side="left"))
            rows.append(own[:present])
            counts.append(often[:present])
        claims = Claims(
            np.concatenate(feature_hashes(templates.templates, views, rows)),
            np.repeat(np.arange(len(rows)), [len(own) for own in rows]),
            np.concatenate(counts),
        )
        return cls(templates, reader, views, rows, claims)

    def kept(
        self, numbering: Numbering, answers: Sequence[Answer]
    ) -> tuple[LocalFeatures, Named, FeatureMatrix]:
        """The features that are kept, those to be named here, and the corpus encoded."""
        size = len(self.claims.hashes)
        inside, names = np.full(size, DROPPED, np.int64), np.zeros(size, np.bool_)
        for (_, places), answer in zip(self.claims.by_range(len(answers)), answers, strict=True):
            inside[places], names[places] = answer.numbers, answer.names
        kept = inside != DROPPED
        ends = np.cumsum([len(own) for own in self.rows])[:-1]
        rows = [
            np.ascontiguousarray(own[chosen])
            for own, chosen in zip(self.rows, np.split(kept, ends), strict=True)
        ]
        found = Vocabulary.of_features(self.templates, self.reader, self.views, rows)
        features = LocalFeatures(self.claims.take(np.flatnonzero(kept)), inside[kept], numbering)
        return features, features.to_name(found[0], names[kept]), found[1]


@dataclass
class LocalFeatures:
    """The features that a worker has of those that are kept, in the order of its own numbers.

    ``inside`` are their numbers in the ranges that own them.
    """

    claims: Claims
    inside: Ints  # [K]
    numbering: Numbering
    placed: dict[str, tuple[Ints, Ints]] = field(default_factory=dict)
    """By family: which (feature, label) pairs are parameters, and their numbers among all."""

    def of_family(self, family: str) -> NDArray[np.bool_]:
        """Which features belong to a family. [K]"""
        families = self.numbering.families[self.claims.templates]
        return np.asarray(families == FAMILIES.index(family))

    def numbers(self, family: str) -> Ints:
        """The numbers of a family's features among all of it, in the order here."""
        chosen = self.of_family(family)
        return self._shifted(self.inside, self.numbering)[chosen]

    def to_name(self, vocabulary: Vocabulary, named: NDArray[np.bool_]) -> Named:
        """What of the features is to be named here."""
        of_state, of_pairs = (named[self.of_family(family)] for family in FAMILIES)
        count = len(vocabulary.templates.templates)
        begins = self.numbering.first[0]
        numbers = (self._shifted(self.inside, self.numbering) - begins[self.claims.templates])[
            named
        ]
        ends = np.searchsorted(self.claims.templates[named], np.arange(1, count))
        return Named(vocabulary.keep(of_state, of_pairs), tuple(np.split(numbers, ends)))

    def shown(self, family: str, bits: Bits, ranges: int) -> list[ShownLabels]:
        """Rows of flags of a family's features, for each range that owns some of them."""
        chosen = self.of_family(family)
        owners, inside = range_of(self.claims.hashes[chosen], ranges), self.inside[chosen]
        return [ShownLabels(inside[owners == k], bits[owners == k]) for k in range(ranges)]

    def place(
        self, family: str, parameters: Numbering, answers: Sequence[tuple[Bits, Ints]], width: int
    ) -> None:
        """Take which flags are set anywhere, and where the parameters of each feature begin."""
        chosen = self.of_family(family)
        owners = range_of(self.claims.hashes[chosen], len(answers))
        templates = self.claims.templates[chosen]
        bits = np.zeros((len(owners), -(-width // 8)), np.uint8)
        offsets = np.zeros(len(owners), np.int64)
        for k, (own, begins) in enumerate(answers):
            here = owners == k
            bits[here] = own
            offsets[here] = begins + parameters.shifts[k][templates[here]]
        self.placed[family] = places_of(bits, offsets, width)

    def _shifted(self, inside: Ints, numbering: Numbering) -> Ints:
        owners = range_of(self.claims.hashes, len(numbering.per_template))
        shifted: Ints = inside + numbering.shifts[owners, self.claims.templates]
        return shifted


def vocabulary_of(templates: Templates, numbering: Numbering, named: Sequence[Named]) -> Vocabulary:
    """The vocabulary of all features, put together from what each worker names."""
    views: dict[View, StringTable] = {}
    codes: dict[View, list[NDArray[np.int32]]] = {}
    for view in dict.fromkeys(atom.view for t in templates.templates for atom in t.atoms):
        views[view], codes[view] = _joined([own.vocabulary.views[view] for own in named])
    rows = []
    sizes = numbering.per_template.sum(axis=0)
    for k, template in enumerate(templates.templates):
        table = np.zeros((int(sizes[k]), len(template.atoms)), np.int32)
        for worker, own in enumerate(named):
            for column, atom in enumerate(template.atoms):
                of_view = codes[atom.view][worker][own.vocabulary.rows[k][:, column]]
                table[own.numbers[k], column] = of_view
        rows.append(table)
    return Vocabulary(templates, views, tuple(rows))


def _joined(tables: Sequence[StringTable]) -> tuple[StringTable, list[NDArray[np.int32]]]:
    """One table of all strings, and the code of each string (and place outside) of each table."""
    lists = [table.tolist() for table in tables]
    numbers = {text: k for k, text in enumerate(dict.fromkeys(s for own in lists for s in own))}
    codes = [np.array([0, 1, *(numbers[text] + 2 for text in own)], np.int32) for own in lists]
    return StringTable.of(list(numbers)), codes
