"""The candidate graph: a chain model times factors between spans anywhere in a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from skipchain.arrays import Bools, Floats, Ints, Labels, concat_ranges, members, offsets_of
from skipchain.corpus import Column, Corpus
from skipchain.corpus.schemes import decode
from skipchain.corpus.schemes.labels import parse
from skipchain.corpus.schemes.scheme import OUTSIDE, TABLE
from skipchain.kernels import factors as kernel
from skipchain.kernels.factors import CandidateArrays, StringEdges, StringVariables
from skipchain.metrics.consistency import number_pairs
from skipchain.models.document.candidates import Candidates
from skipchain.models.document.factors.base import FactorEdges, PairPotential, SpanFactor
from skipchain.models.document.factors.mentions import MentionStrings

MIN_CONTEST = 1e-9  # smaller differences are rounding


@dataclass(frozen=True, slots=True)
class LabelTypes:
    """The labels of a model and the numbers of their types, −1 outside of spans."""

    labels: tuple[str, ...]
    encoding: str
    types: tuple[str, ...]
    type_ids: Labels  # [L]

    @classmethod
    def of(
        cls, labels: Sequence[str], encoding: str, extra_types: Sequence[str] = ()
    ) -> LabelTypes:
        """The types of labels and further ones, sorted.

        >>> LabelTypes.of(["O", "B-PER", "I-PER", "B-LOC"], "iob2").type_ids.tolist()
        [-1, 1, 1, 0]
        """
        _, type_ids, names = parse(labels, TABLE[encoding])
        types = tuple(sorted({*names, *extra_types}))
        rank = np.array([types.index(name) for name in names] + [OUTSIDE], np.int32)
        return cls(tuple(labels), encoding, types, rank[type_ids])

    def spans(self, codes: Labels, offsets: Ints) -> tuple[Ints, Ints, Ints]:
        """The spans of labels: where they start and stop, and the numbers of their types."""
        spans = decode(Column(codes, self.labels), offsets, self.encoding)
        rank = np.array([self.types.index(name) for name in spans.names], np.int64)
        return spans.starts, spans.stops, rank[spans.types] if len(spans) else spans.starts

    @property
    def joins(self) -> Bools:
        """Whether the second of two labels goes on with the span of the first. [L, L]

        >>> LabelTypes.of(["O", "B-PER", "I-PER"], "iob2").joins.astype(int).tolist()
        [[0, 0, 0], [0, 0, 1], [0, 0, 1]]
        """
        size = len(self.labels)
        pairs = np.indices((size, size), np.int32).reshape(2, -1).T.ravel()
        starts, stops, _ = self.spans(pairs, np.arange(0, len(pairs) + 1, 2))
        joined = np.zeros(size * size, np.bool_)
        joined[starts[stops - starts == 2] // 2] = True
        return joined.reshape(size, size)


class MentionSpans(NamedTuple):
    """Spans of tokens as factors see them, by mention string and type.

    They belong to candidates ``candidate_ids``, or are fixed (−1).
    """

    starts: Ints
    stops: Ints
    string_ids: Ints
    type_ids: Ints
    candidate_ids: Ints

    def take(self, which: Ints | slice) -> MentionSpans:
        """The spans with some numbers."""
        return MentionSpans(*(array[which] for array in self))


@dataclass(frozen=True)
class CandidateGraph:
    """The candidates of a corpus with their spans and the factor edges between mention strings.

    ``weights`` [D, K + 1, K + 1] are the tables of the edges: ``directions`` says of which pair
    potential each is, and whether it is transposed.
    """

    candidates: Candidates
    fixed: MentionSpans
    candidate_mentions: MentionSpans
    """The spans of candidates, in their order."""
    arrays: CandidateArrays
    edges: StringEdges
    weights: Floats  # [D, K + 1, K + 1]
    directions: tuple[tuple[int, bool], ...]
    pair_potentials: tuple[PairPotential, ...]
    potentials_per_factor: tuple[int, ...]
    """How many pair potentials each factor has."""
    documents: Ints  # [V]
    all_interacting: bool = False
    """Whether all segments count as interacting."""

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        candidates: Candidates,
        label_types: LabelTypes,
        factors: Sequence[SpanFactor],
    ) -> CandidateGraph:
        """Find the spans of all candidates, and the factor edges between them."""
        spans = find_mention_spans(candidates, label_types, corpus.sentences)
        types = label_types.types
        mentions, string_ids = MentionStrings.of(
            corpus, spans.starts, spans.stops, spans.type_ids, len(types)
        )
        spans = spans._replace(string_ids=string_ids)
        by_factor, potentials, edges, directions = link_strings(mentions, types, factors)
        spans = _all_mention_spans(candidates, label_types, spans, by_factor)
        spans = spans.take(np.argsort(spans.candidate_ids, kind="stable"))
        n_fixed = int(np.searchsorted(spans.candidate_ids, 0))
        chosen = spans.take(slice(n_fixed, None))
        ends = offsets_of(np.bincount(chosen.candidate_ids, minlength=len(candidates.scores)))
        return cls(
            candidates=candidates,
            fixed=spans.take(slice(n_fixed)),
            candidate_mentions=chosen,
            arrays=CandidateArrays(
                candidates.first, candidates.scores, ends, chosen.string_ids, chosen.type_ids
            ),
            edges=edges,
            weights=directed_tables([p.table for p in potentials], directions, len(types) + 1),
            directions=directions,
            pair_potentials=potentials,
            potentials_per_factor=tuple(len(each.pair_potentials) for each in by_factor),
            documents=corpus.document_of(candidates.starts),
        )

    @cached_property
    def internal_scores(self) -> Floats:
        """What pairs of each candidate's own spans add. [Q]"""
        scores = np.empty(len(self.arrays.unary))
        kernel.internal_scores(self.arrays, self.edges, self.weights, scores)
        return scores

    @cached_property
    def isolated_log_probs(self) -> Floats:
        """The log-probabilities of candidates without any span outside of their segment. [Q]"""
        scores = self.arrays.unary + self.internal_scores
        first = self.arrays.first[:-1]
        if not len(first):
            return scores
        counts = np.diff(self.arrays.first)
        scores = scores - np.repeat(np.maximum.reduceat(scores, first), counts)
        log_probs: Floats = scores - np.repeat(
            np.log(np.add.reduceat(np.exp(scores), first)), counts
        )
        return log_probs

    @cached_property
    def interacting(self) -> Bools:
        """The segments with spans that interact with spans outside of them. [V]"""
        if self.all_interacting:
            return np.ones(len(self.documents), np.bool_)
        arrays, edges = self.arrays, self.edges
        counts = np.diff(arrays.spans)
        segment = np.repeat(self.candidates.segment_ids, counts)  # of each span
        low = np.full(len(edges.starts) - 1, len(self.documents))
        high = np.full(len(edges.starts) - 1, -2)
        for string_ids, owners in ((arrays.string_ids, segment), (self.fixed.string_ids, -1)):
            np.minimum.at(low, string_ids, owners)
            np.maximum.at(high, string_ids, owners)
        other = edges.neighbours[members(edges.starts, arrays.string_ids)]
        owner = np.repeat(segment, np.diff(edges.starts)[arrays.string_ids])
        known = high[other] > -2
        away = known & ((low[other] != owner) | (high[other] != owner))
        interacting = np.zeros(len(self.documents), np.bool_)
        interacting[owner[away]] = True
        return interacting

    @cached_property
    def document_segments(self) -> list[Ints]:
        """The interacting segments of each document that has any."""
        live = np.flatnonzero(self.interacting)
        if not len(live):
            return []
        bounds = np.flatnonzero(np.diff(self.documents[live], prepend=-1))
        return np.split(live, bounds[1:])

    @cached_property
    def string_variables(self) -> StringVariables:
        """The interacting segments that have spans of each mention string."""
        segment = np.repeat(self.candidates.segment_ids, np.diff(self.arrays.spans))
        live = self.interacting[segment]
        pairs = np.unique(np.stack([self.arrays.string_ids[live], segment[live]]), axis=1)
        sizes = np.bincount(pairs[0], minlength=len(self.edges.starts) - 1)
        return StringVariables(offsets_of(sizes), pairs[1])

    @cached_property
    def shared_strings(self) -> list[Ints]:
        """For each of `document_segments`, the mention strings that several segments have."""
        users = self.string_variables
        string_ids = np.flatnonzero(np.diff(users.starts) > 1)
        owner = self.documents[users.variables[users.starts[string_ids]]]
        order = np.argsort(owner, kind="stable")
        string_ids, owner = string_ids[order], owner[order]
        wanted = np.array(
            [self.documents[segments[0]] for segments in self.document_segments], np.int64
        )
        low = np.searchsorted(owner, wanted).tolist()
        high = np.searchsorted(owner, wanted, side="right").tolist()
        return [string_ids[a:b] for a, b in zip(low, high, strict=True)]

    def argmax(self, scores: Floats) -> Ints:
        """The candidate of each segment with the highest score, the first of equals. [V]"""
        first = self.arrays.first[:-1]
        if not len(first):
            return first
        counts = np.diff(self.arrays.first)
        best = scores == np.repeat(np.maximum.reduceat(scores, first), counts)
        places = np.flatnonzero(best)
        return places[np.searchsorted(places, first)]

    def field(self, probabilities: Floats) -> Floats:
        """What fixed spans and candidates with some probabilities add to spans. [S, K + 1]"""
        field = np.zeros((len(self.edges.starts) - 1, self.weights.shape[1]))
        amounts = np.repeat(probabilities, np.diff(self.arrays.spans))
        for spans, times in ((self.fixed, np.ones(len(self.fixed.starts))), (self.arrays, amounts)):
            kernel.add_spans(
                self.edges, self.weights, spans.string_ids, spans.type_ids, times, field
            )
        return field

    def kernel_arguments(
        self, probabilities: Floats
    ) -> tuple[CandidateArrays, StringEdges, Floats, Floats, Floats]:
        """What kernels take: candidates, edges, weights, scores of pairs inside, and the field."""
        field = self.field(probabilities)
        return self.arrays, self.edges, self.weights, self.internal_scores, field

    def expected_counts(self, probabilities: Floats) -> Floats:
        """How many spans of each mention string and type are expected. [S, K + 1]"""
        counts = np.zeros((len(self.edges.starts) - 1, self.weights.shape[1]))
        np.add.at(counts, (self.fixed.string_ids, self.fixed.type_ids), 1.0)
        amounts = np.repeat(probabilities, np.diff(self.arrays.spans))
        np.add.at(counts, (self.arrays.string_ids, self.arrays.type_ids), amounts)
        return counts

    def one_hot(self, assignment: Ints) -> Floats:
        """Probabilities of 1 for the candidates of an assignment [V], else 0. [Q]"""
        probabilities = np.zeros(len(self.arrays.unary))
        probabilities[assignment] = 1.0
        return probabilities

    def contested(self) -> MentionSpans:
        """The fixed spans that other fixed ones would score higher with another type, or absent."""
        fixed, edges = self.fixed, self.edges
        field = self.field(np.zeros(len(self.arrays.unary)))[fixed.string_ids]  # [E, K + 1]
        edge = members(edges.starts, fixed.string_ids)
        span = np.repeat(np.arange(len(fixed.string_ids)), np.diff(edges.starts)[fixed.string_ids])
        itself = edges.neighbours[edge] == fixed.string_ids[span]
        edge, span = edge[itself], span[itself]
        tables = self.weights[edges.table_ids[edge], fixed.type_ids[span]]
        np.subtract.at(field, span, edges.scales[edge, None] * tables)
        rows = np.arange(len(field))
        here = field[rows, fixed.type_ids]
        field[rows, fixed.type_ids] = 0.0  # as if it were not there
        # a span may count for several strings, and what one of them takes another may give back
        span = number_pairs(fixed.starts, fixed.type_ids) if len(rows) else rows
        now, other = np.bincount(span, here), np.zeros(len(rows))
        np.maximum.at(other, span, field.max(axis=1))
        return fixed.take(np.flatnonzero(now[span] < other[span] - MIN_CONTEST))

    def document_scores(self, assignment: Ints) -> list[float]:
        """What an assignment [V] scores on the interacting segments of each document."""
        return self._scores(self.document_segments, assignment)

    def score(self, assignment: Ints) -> float:
        """The log-probability of an assignment [V], up to a constant."""
        return self._scores([np.arange(len(assignment))], assignment)[0]

    def _scores(self, groups: Sequence[Ints], assignment: Ints) -> list[float]:
        """What an assignment scores on groups of segments, one after the other."""
        parts = self.kernel_arguments(np.zeros(len(self.arrays.unary)))
        return [float(kernel.add_and_score(*parts, group, assignment)) for group in groups]


def find_mention_spans(
    candidates: Candidates, label_types: LabelTypes, sentences: Ints
) -> MentionSpans:
    """The spans of fixed labels and of all candidates; their mention strings are not known yet."""
    fixed = candidates.fixed.copy()
    lengths = candidates.stops - candidates.starts
    if len(lengths):
        outside = int(np.flatnonzero(label_types.type_ids < 0)[0])
        fixed[concat_ranges(candidates.starts, lengths)] = outside
    fixed_starts, fixed_stops, fixed_types = label_types.spans(fixed, sentences)
    starts, stops, type_ids = label_types.spans(candidates.labels, candidates.offsets)
    owners = np.searchsorted(candidates.offsets, starts, side="right") - 1
    shift = candidates.starts[candidates.segment_ids[owners]] - candidates.label_starts[owners]
    every = np.append(fixed_starts, starts + shift)
    return MentionSpans(
        every,
        np.append(fixed_stops, stops + shift),
        np.zeros_like(every),
        np.append(fixed_types, type_ids),
        np.append(np.full(len(fixed_starts), -1), owners),
    )


def directed_tables(
    tables: Sequence[Floats], directions: Sequence[tuple[int, bool]], size: int
) -> Floats:
    """The tables of pair potentials in the directions of their edges. [D, K + 1, K + 1]"""
    directed = [tables[number].T if flipped else tables[number] for number, flipped in directions]
    return np.array(directed).reshape(-1, size, size)


def link_strings(
    mentions: MentionStrings, types: Sequence[str], factors: Sequence[SpanFactor]
) -> tuple[list[FactorEdges], tuple[PairPotential, ...], StringEdges, tuple[tuple[int, bool], ...]]:
    """What factors say of mention strings, each and as one set of edges with their directions."""
    by_factor: list[FactorEdges] = []
    n_strings = len(mentions)
    for factor in factors:
        by_factor.append(factor.build_edges(mentions, types, n_strings))
        n_strings += by_factor[-1].n_strings
    potentials = tuple(p for factor_edges in by_factor for p in factor_edges.pair_potentials)
    return by_factor, potentials, *_string_edges(potentials, n_strings)


def _string_edges(
    potentials: Sequence[PairPotential], n_strings: int
) -> tuple[StringEdges, tuple[tuple[int, bool], ...]]:
    """The edges of all mention strings, each in both directions."""
    directions: list[tuple[int, bool]] = []
    parts = []
    for number, p in enumerate(potentials):
        ends = [(p.rows, p.columns, p.scales, False)]
        if p.rows is not p.columns:
            apart = p.rows != p.columns  # a string and itself are linked already
            ends.append((p.columns[apart], p.rows[apart], p.scales[apart], True))
        for sources, targets, scales, flipped in ends:
            table = np.full(len(sources), len(directions))
            parts.append((sources, targets, table, scales))
            directions.append((number, flipped))
    if not parts:
        none = np.zeros(0, np.int64)
        return StringEdges(np.zeros(n_strings + 1, np.int64), none, none, np.zeros(0)), ()
    sources, targets, tables, scales = map(np.concatenate, zip(*parts, strict=True))
    order = np.argsort(sources, kind="stable")
    starts = offsets_of(np.bincount(sources, minlength=n_strings))
    return StringEdges(starts, targets[order], tables[order], scales[order]), tuple(directions)


def _all_mention_spans(
    candidates: Candidates,
    label_types: LabelTypes,
    spans: MentionSpans,
    by_factor: Sequence[FactorEdges],
) -> MentionSpans:
    """Spans with those that aliases and violations add."""
    parts = [spans]
    size = len(label_types.types)
    for factor_edges in by_factor:
        parts.append(alias_spans(spans, factor_edges, size))
        if len(factor_edges.violation_tokens):
            parts.append(_violations(candidates, label_types, factor_edges))
    return MentionSpans(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def alias_spans(spans: MentionSpans, factor_edges: FactorEdges, n_types: int) -> MentionSpans:
    """Spans once more, as spans of the strings that a factor has for them."""
    keys = factor_edges.alias_sources * n_types + factor_edges.type_ids
    order = np.argsort(keys, kind="stable")
    asked = spans.string_ids * n_types + spans.type_ids
    first = np.searchsorted(keys[order], asked)
    count = np.searchsorted(keys[order], asked, side="right") - first
    targets = factor_edges.alias_targets[order][concat_ranges(first, count)]
    return spans.take(np.repeat(np.arange(len(asked)), count))._replace(string_ids=targets)


def _violations(
    candidates: Candidates, label_types: LabelTypes, factor_edges: FactorEdges
) -> MentionSpans:
    """Tokens without the required type, fixed or in candidates, as spans of the type after all."""
    tokens = factor_edges.violation_tokens
    segment = np.searchsorted(candidates.starts, tokens, side="right") - 1
    inside = segment >= 0
    inside[inside] = tokens[inside] < candidates.stops[segment[inside]]
    differs = label_types.type_ids[candidates.fixed[tokens]] != factor_edges.required_types
    fixed = np.flatnonzero(~inside & differs)
    open_tokens = np.flatnonzero(inside)
    number = members(candidates.first, segment[open_tokens])  # candidates
    which = np.repeat(open_tokens, np.diff(candidates.first)[segment[open_tokens]])
    at = candidates.label_starts[number] + tokens[which] - candidates.starts[segment[which]]
    violated = label_types.type_ids[candidates.labels[at]] != factor_edges.required_types[which]
    which = np.append(fixed, which[violated])
    return MentionSpans(
        tokens[which],
        tokens[which] + 1,
        factor_edges.violation_strings[which],
        np.full(len(which), len(label_types.types)),
        np.append(np.full(len(fixed), -1), number[violated]),
    )
