"""Clusters and vectors of words, as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from skipchain.arrays import Arrays
from skipchain.corpus import Corpus
from skipchain.corpus.corpus import plural
from skipchain.features.annotator import Columns, StatelessAnnotator
from skipchain.features.strings import strings_from_arrays, strings_schema, strings_to_arrays
from skipchain.parallel import Workers
from skipchain.resources.clusters import Clusters
from skipchain.resources.vectors import Vectors
from skipchain.schema.arrays import ArrayError, ArraySchema, check_arrays

LONGEST_PATH = 1_000  # characters; a class is a number or a path through a tree


@dataclass(frozen=True, slots=True, eq=False)
class ClusterColumn(StatelessAnnotator):
    """The clusters of words, as a column of bit strings.

    Templates read coarser clusters as shorter prefixes: ``prefix(brown, 4)``. A word that is not
    there is looked up in lower case; ``_`` stands for words that are not there at all.

    >>> annotator = ClusterColumn(Clusters.of({"cat": "01", "Oslo": "10"}))
    >>> annotator.columns(Corpus.of([["Cat", "in", "Oslo"]]), Workers(1))["brown"].tolist()
    ['01', '_', '10']
    """

    kind: ClassVar[str] = "clusters"

    clusters: Clusters
    column: str = "brown"

    @property
    def description(self) -> str:
        """A short description of the annotator, for summaries."""
        clusters = plural(len(self.clusters.paths), "cluster")
        return f"{clusters} of {plural(len(self.clusters), 'word')}"

    def columns(self, corpus: Corpus, workers: Workers) -> Columns:
        """The cluster of each token."""
        return {self.column: self.clusters.column(corpus, lower=True)}

    def arrays(self) -> Arrays:
        """The words and their clusters; how often they were seen is of no use any more."""
        words = strings_to_arrays("words", self.clusters.words)
        paths = strings_to_arrays("paths", self.clusters.paths)
        return words | paths | {"path": self.clusters.path}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], arrays: Arrays) -> ClusterColumn:
        """The annotator of a `config` and `arrays`; an `ArrayError` says what does not fit."""
        check_arrays(cls.array_schema(config), arrays)
        words, paths = strings_from_arrays("words", arrays), strings_from_arrays("paths", arrays)
        if paths.lengths.max(initial=0) > LONGEST_PATH:
            raise ArrayError(f"paths of clusters are longer than {LONGEST_PATH:,} characters")
        clusters = Clusters(words, paths, arrays["path"], np.zeros(len(words), np.int64))
        return cls(clusters, config["column"])

    @classmethod
    def array_schema(cls, config: Mapping[str, Any]) -> dict[str, ArraySchema]:
        """What the arrays of clusters must be."""
        path = ArraySchema("int32", ("words",), least=0, below="paths")
        tables = strings_schema("words", "words") | strings_schema("paths", "paths")
        return tables | {"path": path}


@dataclass(frozen=True, slots=True, eq=False)
class VectorColumn(StatelessAnnotator):
    """The vectors of words, as a column that ``vector(column)`` reads.

    >>> annotator = VectorColumn(Vectors.of({"cat": [0.5, -1.0]}))
    >>> annotator.columns(Corpus.of([["Cat", "in"]]), Workers(1))["embedding"].tolist()
    ['0.5 -1.0', '_']
    """

    kind: ClassVar[str] = "vectors"

    vectors: Vectors
    column: str = "embedding"

    @property
    def description(self) -> str:
        """A short description of the annotator, for summaries."""
        return f"{plural(len(self.vectors), 'vector')} of {self.vectors.width} numbers"

    def columns(self, corpus: Corpus, workers: Workers) -> Columns:
        """The vector of each token."""
        return {self.column: self.vectors.column(corpus, lower=True)}

    def arrays(self) -> Arrays:
        """The words and their vectors."""
        return strings_to_arrays("words", self.vectors.words) | {"table": self.vectors.table}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], arrays: Arrays) -> VectorColumn:
        """The annotator of a `config` and `arrays`; an `ArrayError` says what does not fit."""
        check_arrays(cls.array_schema(config), arrays)
        return cls(Vectors(strings_from_arrays("words", arrays), arrays["table"]), config["column"])

    @classmethod
    def array_schema(cls, config: Mapping[str, Any]) -> dict[str, ArraySchema]:
        """What the arrays of vectors must be."""
        table = ArraySchema("float32", ("words", "width"))
        return strings_schema("words", "words") | {"table": table}
