"""Candidates whose spans mind each other: a chain model times factors across a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Bools, Floats, Ints, Labels, offsets_of
from skipchain.corpus import Column, Corpus
from skipchain.corpus.schemes import decode
from skipchain.corpus.schemes.labels import PREFIXES, parse
from skipchain.corpus.schemes.scheme import OUTSIDE
from skipchain.kernels import factors as kernel
from skipchain.kernels.factors import CandidateArrays, StringEdges, StringVariables
from skipchain.metrics.consistency import number_pairs
from skipchain.models.document.candidates import Candidates, concat_ranges
from skipchain.models.document.factors.base import FactorEdges, PairPotential, SpanFactor
from skipchain.models.document.factors.mentions import MentionStrings

MIN_CONTEST = 1e-9  # smaller differences are rounding


@dataclass(frozen=True, slots=True)
class LabelTypes:
    """The labels of a model and the types they belong to: kinds [L], −1 outside of spans."""

    labels: tuple[str, ...]
    encoding: str
    types: tuple[str, ...]
    type_ids: NDArray[np.int32]  # [L]

    @classmethod
    def of(
        cls, labels: Sequence[str], encoding: str, extra_types: Sequence[str] = ()
    ) -> LabelTypes:
        """The types of labels and further ones, sorted.

        >>> LabelTypes.of(["O", "B-PER", "I-PER", "B-LOC"], "iob2").type_ids.tolist()
        [-1, 1, 1, 0]
        """
        _, type_ids, names = parse(labels, PREFIXES, "any scheme")
        types = tuple(sorted({*names, *extra_types}))
        rank = np.array([types.index(name) for name in names] + [OUTSIDE], np.int32)
        return cls(tuple(labels), encoding, types, rank[type_ids])

    def spans(self, codes: Labels, offsets: Ints) -> tuple[Ints, Ints, Ints]:
        """The spans of labels: where they start and stop, and the numbers of their types."""
        found = decode(Column(codes, self.labels), offsets, self.encoding)
        rank = np.array([self.types.index(name) for name in found.names], np.int64)
        return found.starts, found.stops, rank[found.types] if len(found) else found.starts


class MentionSpans(NamedTuple):
    """Spans of tokens as factors see them, by slot and kind.

    They belong to candidates ``candidate_ids``, or are fixed (−1).
    """

    starts: Ints
    stops: Ints
    string_ids: Ints
    type_ids: Ints
    candidate_ids: Ints

    def take(self, which: Ints | slice) -> MentionSpans:
        """Some of them."""
        return MentionSpans(*(own[which] for own in self))


@dataclass(frozen=True)
class CandidateGraph:
    """The candidates of a corpus with their spans and the links between them.

    ``weights`` [D, K + 1, K + 1] are the tables of the links' directions: `directions` says of
    which relation each is, and whether it is turned.
    """

    candidates: Candidates
    fixed: MentionSpans
    candidate_mentions: MentionSpans
    """Those of candidates, in their order."""
    arrays: CandidateArrays
    edges: StringEdges
    weights: Floats  # [D, K + 1, K + 1]
    directions: tuple[tuple[int, bool], ...]
    pair_potentials: tuple[PairPotential, ...]
    potentials_per_factor: tuple[int, ...]
    """How many relations each factor has."""
    documents: Ints  # [V]
    all_interacting: bool = False
    """Whether all stretches count as live."""

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        candidates: Candidates,
        label_types: LabelTypes,
        factors: Sequence[SpanFactor],
    ) -> CandidateGraph:
        """Find the spans of all candidates, and wire them."""
        own = find_mention_spans(candidates, label_types, corpus.sentences)
        size = len(label_types.types)
        mentions, string_ids = MentionStrings.of(corpus, own.starts, own.stops, own.type_ids, size)
        own = own._replace(string_ids=string_ids)
        factor_edges_list: list[FactorEdges] = []
        first = len(mentions)
        for factor in factors:
            factor_edges_list.append(factor.build_edges(mentions, label_types.types, first))
            first += factor_edges_list[-1].n_strings
        relations = tuple(
            relation
            for factor_edges in factor_edges_list
            for relation in factor_edges.pair_potentials
        )
        edges, directions = _string_edges(relations, first)
        spans = _all_mention_spans(candidates, label_types, own, factor_edges_list)
        spans = spans.take(np.argsort(spans.candidate_ids, kind="stable"))
        still = int(np.searchsorted(spans.candidate_ids, 0))
        fixed, candidate_mentions = spans.take(slice(still)), spans.take(slice(still, None))
        ends = offsets_of(
            np.bincount(candidate_mentions.candidate_ids, minlength=len(candidates.scores))
        )
        return cls(
            candidates,
            fixed,
            candidate_mentions,
            CandidateArrays(
                candidates.first,
                candidates.scores,
                ends,
                candidate_mentions.string_ids,
                candidate_mentions.type_ids,
            ),
            edges,
            directed_tables([relation.table for relation in relations], directions, size + 1),
            directions,
            relations,
            tuple(len(factor_edges.pair_potentials) for factor_edges in factor_edges_list),
            corpus.document_of(candidates.starts),
        )

    @cached_property
    def internal_scores(self) -> Floats:
        """What pairs of each candidate's own spans add. [Q]"""
        found = np.empty(len(self.arrays.unary))
        kernel.internal_scores(self.arrays, self.edges, self.weights, found)
        return found

    @cached_property
    def isolated_log_probs(self) -> Floats:
        """The log-probabilities of candidates if no other stretch were in doubt or fixed. [Q]"""
        scores = self.arrays.unary + self.internal_scores
        first = self.arrays.first[:-1]
        if not len(first):
            return scores
        counts = np.diff(self.arrays.first)
        scores = scores - np.repeat(np.maximum.reduceat(scores, first), counts)
        found: Floats = scores - np.repeat(np.log(np.add.reduceat(np.exp(scores), first)), counts)
        return found

    @cached_property
    def interacting(self) -> Bools:
        """The stretches with spans that mind spans outside of them. [V]"""
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
        degree = np.diff(edges.starts)[arrays.string_ids]
        other = edges.neighbours[concat_ranges(edges.starts[:-1][arrays.string_ids], degree)]
        own = np.repeat(segment, degree)
        known = high[other] > -2
        away = known & ((low[other] != own) | (high[other] != own))
        found = np.zeros(len(self.documents), np.bool_)
        found[own[away]] = True
        return found

    @cached_property
    def document_segments(self) -> list[Ints]:
        """The live stretches of each document that has any."""
        live = np.flatnonzero(self.interacting)
        if not len(live):
            return []
        bounds = np.flatnonzero(np.diff(self.documents[live], prepend=-1))
        return np.split(live, bounds[1:])

    @cached_property
    def string_variables(self) -> StringVariables:
        """The live stretches that have spans of each slot."""
        segment = np.repeat(self.candidates.segment_ids, np.diff(self.arrays.spans))
        live = self.interacting[segment]
        pairs = np.unique(np.stack([self.arrays.string_ids[live], segment[live]]), axis=1)
        sizes = np.bincount(pairs[0], minlength=len(self.edges.starts) - 1)
        return StringVariables(offsets_of(sizes), pairs[1])

    @cached_property
    def shared_strings(self) -> list[Ints]:
        """For each of the groups, the slots that several of its stretches have."""
        sizes = np.diff(self.string_variables.starts)
        string_ids = np.flatnonzero(sizes > 1)
        owner = self.documents[
            self.string_variables.variables[self.string_variables.starts[string_ids]]
        ]
        order = np.argsort(owner, kind="stable")
        string_ids, owner = string_ids[order], owner[order]
        wanted = np.array([self.documents[own[0]] for own in self.document_segments], np.int64)
        low = np.searchsorted(owner, wanted).tolist()
        high = np.searchsorted(owner, wanted, side="right").tolist()
        return [string_ids[a:b] for a, b in zip(low, high, strict=True)]

    def argmax(self, scores: Floats) -> Ints:
        """The candidate of each stretch with the highest score, the first of equals. [V]"""
        first = self.arrays.first[:-1]
        if not len(first):
            return first
        counts = np.diff(self.arrays.first)
        best = scores == np.repeat(np.maximum.reduceat(scores, first), counts)
        places = np.flatnonzero(best)
        return places[np.searchsorted(places, first)]

    def field(self, probabilities: Floats) -> Floats:
        """What fixed spans and candidates with some chances add to spans. [S, K + 1]"""
        field = np.zeros((len(self.edges.starts) - 1, self.weights.shape[1]))
        string_ids = self.fixed.string_ids
        kernel.add_spans(
            self.edges,
            self.weights,
            string_ids,
            self.fixed.type_ids,
            np.ones(len(string_ids)),
            field,
        )
        amounts = np.repeat(probabilities, np.diff(self.arrays.spans))
        kernel.add_spans(
            self.edges, self.weights, self.arrays.string_ids, self.arrays.type_ids, amounts, field
        )
        return field

    def expected_counts(self, probabilities: Floats) -> Floats:
        """How many spans of each slot and kind are expected. [S, K + 1]"""
        found = np.zeros((len(self.edges.starts) - 1, self.weights.shape[1]))
        np.add.at(found, (self.fixed.string_ids, self.fixed.type_ids), 1.0)
        amounts = np.repeat(probabilities, np.diff(self.arrays.spans))
        np.add.at(found, (self.arrays.string_ids, self.arrays.type_ids), amounts)
        return found

    def one_hot(self, assignment: Ints) -> Floats:
        """Chances of 1 for the candidates picked, else 0. [Q]"""
        found = np.zeros(len(self.arrays.unary))
        found[assignment] = 1.0
        return found

    def contested(self) -> MentionSpans:
        """The fixed spans that other fixed ones would rather have another kind, or not there."""
        own = self.fixed
        field = self.field(np.zeros(len(self.arrays.unary)))[own.string_ids]  # [E, K + 1]
        degree = np.diff(self.edges.starts)[own.string_ids]
        link = concat_ranges(self.edges.starts[:-1][own.string_ids], degree)
        span = np.repeat(np.arange(len(own.string_ids)), degree)
        itself = self.edges.neighbours[link] == own.string_ids[span]
        link, span = link[itself], span[itself]
        met = (
            self.edges.scales[link, None]
            * self.weights[self.edges.table_ids[link], own.type_ids[span]]
        )
        np.subtract.at(field, span, met)
        rows = np.arange(len(field))
        here = field[rows, own.type_ids]
        field[rows, own.type_ids] = 0.0  # as if it were not there
        # a span may count in several slots, and what one of them takes another may give back
        span = number_pairs(own.starts, own.type_ids) if len(rows) else rows
        now, other = np.bincount(span, here), np.zeros(len(rows))
        np.maximum.at(other, span, field.max(axis=1))
        return own.take(np.flatnonzero(now[span] < other[span] - MIN_CONTEST))

    def document_scores(self, assignment: Ints) -> list[float]:
        """What the chosen candidates [V] of the live stretches of each of the groups score."""
        field = self.field(np.zeros(len(self.arrays.unary)))
        return [
            float(
                kernel.add_and_score(
                    self.arrays,
                    self.edges,
                    self.weights,
                    self.internal_scores,
                    field,
                    own,
                    assignment,
                )
            )
            for own in self.document_segments
        ]

    def score(self, assignment: Ints) -> float:
        """The log-probability of a choice [V], up to a constant."""
        field = self.field(np.zeros(len(self.arrays.unary)))
        return float(
            kernel.add_and_score(
                self.arrays,
                self.edges,
                self.weights,
                self.internal_scores,
                field,
                np.arange(len(assignment)),
                assignment,
            )
        )


def find_mention_spans(
    candidates: Candidates, label_types: LabelTypes, sentences: Ints
) -> MentionSpans:
    """The spans of fixed labels and of all candidates; their slots are not known yet."""
    still = candidates.fixed.copy()
    lengths = candidates.stops - candidates.starts
    if len(lengths):
        still[concat_ranges(candidates.starts, lengths)] = int(
            np.flatnonzero(label_types.type_ids < 0)[0]
        )
    starts, stops, type_ids = label_types.spans(still, sentences)
    own_starts, own_stops, own_kinds = label_types.spans(candidates.labels, candidates.offsets)
    owners = np.searchsorted(candidates.offsets, own_starts, side="right") - 1
    shift = candidates.starts[candidates.segment_ids[owners]] - candidates.label_starts[owners]
    every = np.append(starts, own_starts + shift)
    return MentionSpans(
        every,
        np.append(stops, own_stops + shift),
        np.zeros_like(every),
        np.append(type_ids, own_kinds),
        np.append(np.full(len(starts), -1), owners),
    )


def directed_tables(
    tables: Sequence[Floats], directions: Sequence[tuple[int, bool]], size: int
) -> Floats:
    """The tables of relations in the directions of their links. [D, K + 1, K + 1]"""
    found = [tables[number].T if turned else tables[number] for number, turned in directions]
    return np.array(found) if found else np.zeros((0, size, size))


def _string_edges(
    relations: Sequence[PairPotential], string_ids: int
) -> tuple[StringEdges, tuple[tuple[int, bool], ...]]:
    """The links of all slots, each in both directions."""
    directions: list[tuple[int, bool]] = []
    parts = []
    for number, relation in enumerate(relations):
        ends = [(relation.rows, relation.columns, relation.scales, False)]
        if relation.rows is not relation.columns:
            apart = relation.rows != relation.columns  # a slot and itself are linked already
            ends.append(
                (relation.columns[apart], relation.rows[apart], relation.scales[apart], True)
            )
        for sources, targets, sizes, turned in ends:
            table = np.full(len(sources), len(directions))
            parts.append((sources, targets, table, sizes))
            directions.append((number, turned))
    if not parts:
        none = np.zeros(0, np.int64)
        return StringEdges(np.zeros(string_ids + 1, np.int64), none, none, np.zeros(0)), ()
    sources, targets, tables, sizes = (np.concatenate(own) for own in zip(*parts, strict=True))
    order = np.argsort(sources, kind="stable")
    starts = offsets_of(np.bincount(sources, minlength=string_ids))
    return StringEdges(starts, targets[order], tables[order], sizes[order]), tuple(directions)


def _all_mention_spans(
    candidates: Candidates,
    label_types: LabelTypes,
    own: MentionSpans,
    factor_edges_list: Sequence[FactorEdges],
) -> MentionSpans:
    """Spans with those that marks and lapses add."""
    parts = [own]
    size = len(label_types.types)
    for factor_edges in factor_edges_list:
        if len(factor_edges.alias_sources):
            keys = factor_edges.alias_sources * size + factor_edges.type_ids
            order = np.argsort(keys, kind="stable")
            asked = own.string_ids * size + own.type_ids
            first = np.searchsorted(keys[order], asked)
            count = np.searchsorted(keys[order], asked, side="right") - first
            marked = own.take(np.repeat(np.arange(len(asked)), count))
            parts.append(
                marked._replace(
                    string_ids=factor_edges.alias_targets[order][concat_ranges(first, count)]
                )
            )
        if len(factor_edges.violation_tokens):
            parts.append(_violations(candidates, label_types, factor_edges))
    return MentionSpans(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _violations(
    candidates: Candidates, label_types: LabelTypes, factor_edges: FactorEdges
) -> MentionSpans:
    """Tokens without the type that is wanted, fixed or in candidates."""
    tokens = factor_edges.violation_tokens
    segment = np.searchsorted(candidates.starts, tokens, side="right") - 1
    inside = segment >= 0
    inside[inside] = tokens[inside] < candidates.stops[segment[inside]]
    still = np.flatnonzero(
        ~inside & (label_types.type_ids[candidates.fixed[tokens]] != factor_edges.required_types)
    )
    own = np.flatnonzero(inside)
    counts = np.diff(candidates.first)[segment[own]]
    number = concat_ranges(candidates.first[:-1][segment[own]], counts)  # candidates
    which = np.repeat(own, counts)
    at = candidates.label_starts[number] + tokens[which] - candidates.starts[segment[which]]
    lapsed = label_types.type_ids[candidates.labels[at]] != factor_edges.required_types[which]
    which = np.append(still, which[lapsed])
    return MentionSpans(
        tokens[which],
        tokens[which] + 1,
        factor_edges.violation_strings[which],
        np.full(len(which), len(label_types.types)),
        np.append(np.full(len(still), -1), number[lapsed]),
    )
