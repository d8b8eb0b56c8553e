"""The vocabulary: templates with the features that the training data have, frozen after fitting.

Features are integers throughout. A view turns the distinct strings of a column into numbers, once;
an offset is a shifted column; a conjunction is a tuple of numbers. Feature k of a template is a row
of view numbers, one per atom, so that its name can be written out when somebody asks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Arrays, Bools, Ints
from skipchain.corpus import Corpus
from skipchain.errors import TemplateError
from skipchain.features.annotator import annotate
from skipchain.features.matrix import FeatureMatrix, FeatureMatrixBuilder
from skipchain.features.reader import RESERVED, ViewReader, ViewTuples
from skipchain.features.strings import (
    StringTable,
    strings_from_arrays,
    strings_schema,
    strings_to_arrays,
)
from skipchain.features.template import PAIR, STATE, TRIGRAM, Atom, Template, View
from skipchain.features.templates import Templates
from skipchain.kernels.intern import empty_slots, find_tuples, index_tuples, number_tuples
from skipchain.parallel import Workers
from skipchain.schema.arrays import ArraySchema, check_arrays

if TYPE_CHECKING:
    from skipchain.features.numbers import Scale

SMALLEST = float(np.finfo(np.float64).tiny)
BOUNDARIES = ("<s>", "</s>")  # the names of the places BEFORE and AFTER a sentence


@dataclass(slots=True, repr=False)
class Vocabulary:
    """Templates, the strings of their views, and the features kept of each template.

    ``rows[k]`` is ``int32 [F_k, atoms]``: the view numbers of each feature of template k. State
    features are numbered template by template; the features of transition templates, and of those
    that look two labels back, have numbers of their own. ``scales`` has the mean and deviation of
    each view that gives numbers.

    >>> corpus = Corpus.of([["Ada", "saw", "Bo"]])
    >>> vocabulary, rows = Vocabulary.fit(corpus, Templates.parse("word\\nword[-1] & word"))
    >>> vocabulary.names()[:4]
    ['word=Ada', 'word=saw', 'word=Bo', 'word[-1] & word=<s>|Ada']
    >>> rows.n_features
    6
    """

    templates: Templates
    views: Mapping[View, StringTable]
    rows: tuple[NDArray[np.int32], ...]
    scales: Mapping[View, Scale] = field(default_factory=dict)
    _slots: dict[int, NDArray[np.int32]] = field(default_factory=dict)
    _columns: set[str] = field(default_factory=set)  # that are read

    def __repr__(self) -> str:
        from skipchain.corpus.corpus import plural

        sizes = (len(self.templates.templates), "template"), (self.n_features, "feature")
        return f"<Vocabulary: {', '.join(plural(count, noun) for count, noun in sizes)}>"

    @classmethod
    def fit(
        cls, corpus: Corpus, templates: Templates, min_count: int = 1
    ) -> tuple[Vocabulary, FeatureMatrix]:
        """Collect the features that occur at least ``min_count`` times, and encode the corpus."""
        templates, corpus = templates.fit_annotators(corpus)
        templates = templates.for_corpus(corpus)
        reader = ViewReader(corpus, templates.functions)
        views: dict[View, StringTable] = {}
        rows = []
        for template in templates.templates:
            for atom in template.atoms:
                if atom.view not in views:
                    views[atom.view] = reader.fit_view(atom.view)
            rows.append(_frequent_features(template, reader, min_count))
        return cls.of_features(templates, reader, views, rows)

    @classmethod
    def of_features(
        cls,
        templates: Templates,
        reader: ViewReader,
        views: Mapping[View, StringTable],
        rows: Sequence[NDArray[np.int32]],
    ) -> tuple[Vocabulary, FeatureMatrix]:
        """The vocabulary of these features, and the corpus that the reader has, encoded."""
        vocabulary = cls(templates, views, tuple(rows), reader.scales)
        return vocabulary, vocabulary._encode(reader, Workers(1), joined=True)

    def encode(self, corpus: Corpus, workers: Workers | None = None) -> FeatureMatrix:
        """The features of another corpus; those not in the vocabulary are dropped and counted.

        Views and templates are looked up by the workers, where there are any.
        """
        corpus = self.annotated(corpus, workers or Workers(1))
        reader = ViewReader(corpus, self.templates.functions, self.scales)
        if workers is None or self.templates.functions:  # users' functions may not be thread-safe
            workers = Workers(1)
        workers.map(lambda view: reader.encode_view(view, self.views[view]), self.views)
        return self._encode(reader, workers, joined=False)

    def annotated(self, corpus: Corpus, workers: Workers) -> Corpus:
        """The corpus with the columns of all annotators; one without what is read is refused."""
        corpus = annotate(self.templates.annotators, corpus, workers)
        self._columns = self._columns or self.templates.columns
        if self._columns <= corpus.columns.keys():
            return corpus
        for template in self.templates.all_templates:
            for name in sorted(template.columns - set(corpus.columns)):
                line = self.templates.line_of(template)
                raise TemplateError(
                    f"the model reads column {name!r} ({line}), but the corpus has "
                    f"{', '.join(corpus.columns)}; name that column when reading (--columns), or "
                    f"train a model without it (--without {name})"
                )
        return corpus

    # Sizes and names ---------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """The number of state features."""
        return self._count(STATE)

    @property
    def n_edge_features(self) -> int:
        """The number of label-pair features."""
        return self._count(PAIR)

    @property
    def n_trigram_features(self) -> int:
        """The number of features that go with the label two tokens back."""
        return self._count(TRIGRAM)

    @property
    def trigram_has_previous(self) -> Bools:
        """Which features of trigrams go with the label before, too. [n_trigram_features]"""
        trigrams = [(t, len(rows)) for t, rows in self._pairs() if t.trigram]
        flags = np.array([t.transition for t, _ in trigrams], np.bool_)
        return np.repeat(flags, [count for _, count in trigrams])

    def _count(self, family: str) -> int:
        return sum(len(rows) for template, rows in self._pairs() if template.family == family)

    def names(self, *, transition: bool = False) -> list[str]:
        """Every feature's name, in the order of their numbers; no two are the same."""
        return list(self._names(PAIR if transition else STATE))

    def trigram_names(self) -> list[str]:
        """The names of the features that go with the label two tokens back."""
        return list(self._names(TRIGRAM))

    def _names(self, family: str) -> Iterator[str]:
        strings: dict[View, list[str]] = {}
        for template, rows in self._pairs():
            if template.family != family:
                continue
            for atom in template.atoms:
                if atom.view not in strings:
                    inner = map(_escape_boundary, self.views[atom.view].tolist())
                    strings[atom.view] = [*BOUNDARIES, *inner]
            tables = [strings[atom.view] for atom in template.atoms]
            for row in rows.tolist():
                yield template.format(table[code] for table, code in zip(tables, row, strict=True))

    def _pairs(self) -> Iterator[tuple[Template, NDArray[np.int32]]]:
        return zip(self.templates.templates, self.rows, strict=True)

    def blocks(self) -> Iterator[tuple[Template, NDArray[np.int32], int]]:
        """Each template, its features, and the number of the first of them."""
        first = dict.fromkeys((STATE, PAIR, TRIGRAM), 0)
        for template, rows in self._pairs():
            yield template, rows, first[template.family]
            first[template.family] += len(rows)

    def features_of(self, templates: Collection[Template]) -> Bools:
        """Which state features are those of some of the templates. [F]"""
        chosen = np.zeros(self.n_features, np.bool_)
        for template, rows, first in self.blocks():
            if template.family == STATE and template in templates:
                chosen[first : first + len(rows)] = True
        return chosen

    # Encoding ----------------------------------------------------------------------------------

    def _encode(self, reader: ViewReader, workers: Workers, *, joined: bool) -> FeatureMatrix:
        """Unary templates of one (column, offset) share feature bundles; the others are columns."""
        wide = [k for k, t in enumerate(self.templates.templates) if len(t.atoms) > 1]
        looked_up = dict(zip(wide, workers.map(partial(self.look_up, reader), wide), strict=True))
        builders = {
            family: FeatureMatrixBuilder(reader, self._count(family))
            for family in (STATE, PAIR, TRIGRAM)
        }
        for k, (template, rows, first) in enumerate(self.blocks()):
            builder = builders[template.family]
            if len(template.atoms) == 1:
                self._encode_unary(builder, template.atoms[0], rows, first)
            else:
                builder.add_tuples(template.atoms, *looked_up[k], first)
        return FeatureMatrix.of(*builders.values(), joined=joined)

    def look_up(self, reader: ViewReader, k: int) -> tuple[ViewTuples, NDArray[np.int32]]:
        """The conjunctions of template k that the corpus has, and which features they are."""
        tuples = reader.tuples(self.templates.templates[k].atoms)
        return tuples, find_tuples(tuples.keys, self.rows[k], self._table(k))

    def _encode_unary(
        self, builder: FeatureMatrixBuilder, atom: Atom, rows: NDArray[np.int32], first: int
    ) -> None:
        values = builder.reader.values[atom.view]
        numbers = np.full(values.size, -1, np.int32)
        numbers[rows[:, 0]] = np.arange(first, first + len(rows), dtype=np.int32)
        if atom.bag:
            for tuples in builder.reader.bag(atom):
                codes = tuples.keys[:, 0]
                features = np.where(codes >= 0, numbers[codes], -1).astype(np.int32)
                builder.add_tuples((atom,), tuples, features, 0)
        else:
            builder.add_values(atom, values, numbers)

    def _table(self, k: int) -> NDArray[np.int32]:
        if k not in self._slots:
            slots = empty_slots(len(self.rows[k]))
            index_tuples(self.rows[k], slots)
            self._slots[k] = slots
        return self._slots[k]

    def forget_tables(self) -> None:
        """Let go of what makes look-up fast; it is made again when it is needed."""
        self._slots.clear()

    # Pruning and storage -----------------------------------------------------------------------

    def keep(self, state: Bools, edge: Bools, trigram: Bools | None = None) -> Vocabulary:
        """The vocabulary with only the chosen features, and only the strings they need.

        Without ``trigram`` all features that go with the label two tokens back are kept.
        """
        if trigram is None:
            trigram = np.ones(self.n_trigram_features, np.bool_)
        families = {STATE: state, PAIR: edge, TRIGRAM: trigram}
        kept = []
        for template, rows, first in self.blocks():
            kept.append(rows[families[template.family][first : first + len(rows)]])
        renumber, views = {}, {}
        for view, strings in self.views.items():
            used = np.zeros(len(strings) + RESERVED, np.bool_)
            for template, rows in zip(self.templates.templates, kept, strict=True):
                for m, atom in enumerate(template.atoms):
                    if atom.view == view:
                        used[rows[:, m]] = True
            used[:RESERVED] = True
            renumber[view] = (np.cumsum(used) - 1).astype(np.int32)
            views[view] = strings.keep(used[RESERVED:])
        rows_out = []
        for template, rows in zip(self.templates.templates, kept, strict=True):
            columns = [renumber[atom.view][rows[:, m]] for m, atom in enumerate(template.atoms)]
            rows_out.append(np.stack(columns, axis=1).astype(np.int32))
        return Vocabulary(self.templates, views, tuple(rows_out), self.scales)

    def to_arrays(self) -> Arrays:
        """The vocabulary without the template text, as arrays for a model file."""
        arrays: Arrays = {}
        for k, (view, strings) in enumerate(self.views.items()):
            arrays |= strings_to_arrays(f"view.{k}", strings)
            if view in self.scales:
                arrays[f"view.{k}.mean"] = self.scales[view].mean
                arrays[f"view.{k}.deviation"] = self.scales[view].deviation
        for k, rows in enumerate(self.rows):
            arrays[f"template.{k}.rows"] = rows
        return arrays

    @staticmethod
    def array_schema(templates: Templates) -> dict[str, ArraySchema]:
        """What the arrays of a vocabulary of these templates must be."""
        views = _numbered_views(templates)
        schema: dict[str, ArraySchema] = {}
        for view, k in views.items():
            schema |= strings_schema(f"view.{k}")
            if view.numeric:
                width = (f"view.{k} width",)
                schema[f"view.{k}.mean"] = ArraySchema("float64", width)
                schema[f"view.{k}.deviation"] = ArraySchema("float64", width, least=SMALLEST)
        for k, template in enumerate(templates.templates):
            shape = (f"template.{k} features", len(template.atoms))
            below = tuple(f"view.{views[a.view]} strings + {RESERVED}" for a in template.atoms)
            schema[f"template.{k}.rows"] = ArraySchema("int32", shape, least=0, below=below)
        return schema

    @classmethod
    def from_arrays(cls, templates: Templates, arrays: Mapping[str, NDArray[Any]]) -> Vocabulary:
        """The vocabulary that `to_arrays` wrote; an `ArrayError` says what does not fit."""
        check_arrays(cls.array_schema(templates), arrays)
        views, scales = {}, {}
        for view, k in _numbered_views(templates).items():
            views[view] = strings_from_arrays(f"view.{k}", arrays)
            if view.numeric:
                from skipchain.features.numbers import Scale

                scales[view] = Scale(arrays[f"view.{k}.mean"], arrays[f"view.{k}.deviation"])
        rows = tuple(arrays[f"template.{k}.rows"] for k in range(len(templates.templates)))
        return cls(templates, views, rows, scales)


def _numbered_views(templates: Templates) -> dict[View, int]:
    """The views of the templates with their numbers, by first appearance."""
    views = dict.fromkeys(atom.view for t in templates.templates for atom in t.atoms)
    return {view: k for k, view in enumerate(views)}


def _escape_boundary(value: str) -> str:
    """A string as names show it: one that looks like a boundary is marked by a backslash."""
    return "\\" + value if value in BOUNDARIES or value.startswith("\\") else value


def _frequent_features(template: Template, reader: ViewReader, min_count: int) -> NDArray[np.int32]:
    """The distinct features of a template that occur often enough: rows [F_k, atoms]."""
    rows, counts = counted_features(template, reader)
    frequent = int(np.searchsorted(-counts, -max(min_count, 1), side="right"))
    return np.ascontiguousarray(rows[:frequent])


def counted_features(template: Template, reader: ViewReader) -> tuple[NDArray[np.int32], Ints]:
    """The distinct features of a template, rows [F_k, atoms], and how often they occur. [F_k]

    The most frequent come first, so that their weights lie together in the processor's cache.
    """
    if len(template.atoms) == 1:
        atom = template.atoms[0]
        counts = reader.bag_counts(atom) if atom.bag else reader.counts(atom)
        rows = np.arange(len(counts), dtype=np.int32)[:, None]
    else:
        keys = reader.tuples(template.atoms).keys
        _, rows, counts = number_tuples(keys, empty_slots(len(keys)))
    order = np.argsort(-counts, kind="stable")
    return rows[order], counts[order]
