"""The vocabulary of a corpus in files: one pass over its blocks counts, another one encodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints
from skipchain.corpus import Corpus
from skipchain.features.blocks.assembling import MatrixAssembler
from skipchain.features.matrix import FeatureMatrix
from skipchain.features.reader import ViewReader
from skipchain.features.strings import StringTable
from skipchain.features.template import PAIR, STATE, Atom, Template, View
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.parallel import blocks
from skipchain.scratch.counting import KeyCounter
from skipchain.scratch.folder import Scratch

BLOCK, HELD = 1 << 15, 1 << 18  # tokens; conjunctions


@dataclass(frozen=True, slots=True)
class CorpusBlocks:
    """A corpus that is read in blocks of whole sentences, with the views of its distinct values.

    About ``held`` distinct conjunctions are counted at once.
    """

    corpus: Corpus
    scratch: Scratch
    size: int = BLOCK
    held: int = HELD
    readers: list[ViewReader] = field(default_factory=list)
    counted: dict[tuple[str, int], Ints] = field(default_factory=dict)

    def fit(self, templates: Templates, min_count: int = 1) -> tuple[Vocabulary, FeatureMatrix]:
        """What `Vocabulary.fit` gives, with the matrix in files."""
        templates = templates.for_corpus(self.corpus)
        reader = ViewReader(self.corpus, templates.functions)
        self.readers.append(reader)
        views: dict[View, StringTable] = {}
        rows = []
        for template in templates.templates:
            for atom in template.atoms:
                if atom.view not in views:
                    views[atom.view] = reader.fit_view(atom.view)
            rows.append(self._frequent_features(template, min_count))
        vocabulary = Vocabulary(templates, views, tuple(rows), reader.scales)
        matrix = self._encode(vocabulary)
        self.readers.clear()
        self.counted.clear()
        return vocabulary, matrix

    @property
    def reader(self) -> ViewReader:
        """The reader of the whole corpus."""
        return self.readers[0]

    def __iter__(self) -> Iterator[ViewReader]:
        for first, last in blocks(self.corpus.sentences, self.size):
            yield self.reader.block(first, last)
            self.scratch.settle()

    def token_counts(self, column: str, offset: int) -> Ints:
        """See `ViewReader.token_counts`."""
        key = (column, offset)
        if key not in self.counted:
            counts = (block.token_counts(*key) for block in self)
            self.counted[key] = sum(counts, np.zeros(1, np.int64))
        return self.counted[key]

    def _frequent_features(self, template: Template, min_count: int) -> NDArray[np.int32]:
        """The distinct features of a template that occur often enough, the most frequent first."""
        if len(template.atoms) > 1:
            with KeyCounter(len(template.atoms), self.scratch.open_file, held=self.held) as counter:
                for block in self:
                    counter.add(block.tuples(template.atoms).keys)
                return counter.frequent(min_count).keys
        counts = self._counts(template.atoms[0])
        order = np.argsort(-counts, kind="stable").astype(np.int32)
        frequent = int(np.count_nonzero(counts >= max(min_count, 1)))
        return np.ascontiguousarray(order[:frequent, None])

    def _counts(self, atom: Atom) -> Ints:
        if atom.bag:
            counts = (block.bag_counts(atom) for block in self)
            return sum(counts, np.zeros(1, np.int64))
        return self.reader.counts(atom, self.token_counts(atom.view.column, atom.offsets[0]))

    def _encode(self, vocabulary: Vocabulary) -> FeatureMatrix:
        state, edge = (MatrixAssembler(self, vocabulary, family) for family in (STATE, PAIR))
        tokens, bundles = state.build(grouped=True)
        edges, _ = edge.build(grouped=False)
        unknown = state.unknown + edge.unknown
        sizes = vocabulary.n_features, vocabulary.n_edge_features, unknown
        vocabulary.forget_tables()
        return FeatureMatrix(tokens, bundles, edges, *sizes)
