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
from skipchain.kernels.factors import Links, Lists, Users
from skipchain.metrics.consistency import numbered
from skipchain.models.document.candidates import Candidates, runs
from skipchain.models.document.factors.base import Relation, SpanFactor, Wiring
from skipchain.models.document.factors.mentions import Mentions

SMALLEST_CONTEST = 1e-9  # smaller differences are rounding


@dataclass(frozen=True, slots=True)
class Labelling:
    """The labels of a model and the types they belong to: kinds [L], −1 outside of spans."""

    labels: tuple[str, ...]
    encoding: str
    types: tuple[str, ...]
    kinds: NDArray[np.int32]  # [L]

    @classmethod
    def of(cls, labels: Sequence[str], encoding: str, further: Sequence[str] = ()) -> Labelling:
        """The types of labels and further ones, sorted.

        >>> Labelling.of(["O", "B-PER", "I-PER", "B-LOC"], "iob2").kinds.tolist()
        [-1, 1, 1, 0]
        """
        _, kinds, names = parse(labels, PREFIXES, "any scheme")
        types = tuple(sorted({*names, *further}))
        rank = np.array([types.index(name) for name in names] + [OUTSIDE], np.int32)
        return cls(tuple(labels), encoding, types, rank[kinds])

    def spans(self, codes: Labels, offsets: Ints) -> tuple[Ints, Ints, Ints]:
        """The spans of labels: where they start and stop, and the numbers of their types."""
        found = decode(Column(codes, self.labels), offsets, self.encoding)
        rank = np.array([self.types.index(name) for name in found.names], np.int64)
        return found.starts, found.stops, rank[found.types] if len(found) else found.starts


class Spans(NamedTuple):
    """Spans of tokens as factors see them, by slot and kind.

    They belong to candidates ``owners``, or are fixed (−1).
    """

    starts: Ints
    stops: Ints
    slots: Ints
    kinds: Ints
    owners: Ints

    def chosen(self, which: Ints | slice) -> Spans:
        """Some of them."""
        return Spans(*(own[which] for own in self))


@dataclass(frozen=True)
class Interplay:
    """The candidates of a corpus with their spans and the links between them.

    ``weights`` [D, K + 1, K + 1] are the tables of the links' directions: `directions` says of
    which relation each is, and whether it is turned.
    """

    candidates: Candidates
    fixed: Spans
    moving: Spans
    """Those of candidates, in their order."""
    lists: Lists
    links: Links
    weights: Floats  # [D, K + 1, K + 1]
    directions: tuple[tuple[int, bool], ...]
    relations: tuple[Relation, ...]
    counts: tuple[int, ...]
    """How many relations each factor has."""
    documents: Ints  # [V]
    awake: bool = False
    """Whether all stretches count as live."""

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        candidates: Candidates,
        labelling: Labelling,
        factors: Sequence[SpanFactor],
    ) -> Interplay:
        """Find the spans of all candidates, and wire them."""
        own = place(candidates, labelling, corpus.sentences)
        size = len(labelling.types)
        mentions, slots = Mentions.of(corpus, own.starts, own.stops, own.kinds, size)
        own = own._replace(slots=slots)
        wirings: list[Wiring] = []
        first = len(mentions)
        for factor in factors:
            wirings.append(factor.wiring(mentions, labelling.types, first))
            first += wirings[-1].slots
        relations = tuple(relation for wiring in wirings for relation in wiring.relations)
        links, directions = _links(relations, first)
        spans = _all_spans(candidates, labelling, own, wirings)
        spans = spans.chosen(np.argsort(spans.owners, kind="stable"))
        still = int(np.searchsorted(spans.owners, 0))
        fixed, moving = spans.chosen(slice(still)), spans.chosen(slice(still, None))
        ends = offsets_of(np.bincount(moving.owners, minlength=len(candidates.scores)))
        return cls(
            candidates,
            fixed,
            moving,
            Lists(candidates.first, candidates.scores, ends, moving.slots, moving.kinds),
            links,
            directed([relation.table for relation in relations], directions, size + 1),
            directions,
            relations,
            tuple(len(wiring.relations) for wiring in wirings),
            corpus.document_of(candidates.starts),
        )

    @cached_property
    def pairs(self) -> Floats:
        """What pairs of each candidate's own spans add. [Q]"""
        found = np.empty(len(self.lists.local))
        kernel.own_pairs(self.lists, self.links, self.weights, found)
        return found

    @cached_property
    def alone(self) -> Floats:
        """The log-probabilities of candidates if no other stretch were in doubt or fixed. [Q]"""
        scores = self.lists.local + self.pairs
        first = self.lists.first[:-1]
        if not len(first):
            return scores
        counts = np.diff(self.lists.first)
        scores = scores - np.repeat(np.maximum.reduceat(scores, first), counts)
        found: Floats = scores - np.repeat(np.log(np.add.reduceat(np.exp(scores), first)), counts)
        return found

    @cached_property
    def live(self) -> Bools:
        """The stretches with spans that mind spans outside of them. [V]"""
        if self.awake:
            return np.ones(len(self.documents), np.bool_)
        lists, links = self.lists, self.links
        counts = np.diff(lists.spans)
        stretch = np.repeat(self.candidates.stretches, counts)  # of each span
        low = np.full(len(links.starts) - 1, len(self.documents))
        high = np.full(len(links.starts) - 1, -2)
        for slots, owners in ((lists.slots, stretch), (self.fixed.slots, -1)):
            np.minimum.at(low, slots, owners)
            np.maximum.at(high, slots, owners)
        degree = np.diff(links.starts)[lists.slots]
        other = links.others[runs(links.starts[:-1][lists.slots], degree)]
        own = np.repeat(stretch, degree)
        known = high[other] > -2
        away = known & ((low[other] != own) | (high[other] != own))
        found = np.zeros(len(self.documents), np.bool_)
        found[own[away]] = True
        return found

    @cached_property
    def groups(self) -> list[Ints]:
        """The live stretches of each document that has any."""
        live = np.flatnonzero(self.live)
        if not len(live):
            return []
        bounds = np.flatnonzero(np.diff(self.documents[live], prepend=-1))
        return np.split(live, bounds[1:])

    @cached_property
    def users(self) -> Users:
        """The live stretches that have spans of each slot."""
        stretch = np.repeat(self.candidates.stretches, np.diff(self.lists.spans))
        live = self.live[stretch]
        pairs = np.unique(np.stack([self.lists.slots[live], stretch[live]]), axis=1)
        sizes = np.bincount(pairs[0], minlength=len(self.links.starts) - 1)
        return Users(offsets_of(sizes), pairs[1])

    @cached_property
    def shared(self) -> list[Ints]:
        """For each of the groups, the slots that several of its stretches have."""
        sizes = np.diff(self.users.starts)
        slots = np.flatnonzero(sizes > 1)
        owner = self.documents[self.users.variables[self.users.starts[slots]]]
        order = np.argsort(owner, kind="stable")
        slots, owner = slots[order], owner[order]
        wanted = np.array([self.documents[own[0]] for own in self.groups], np.int64)
        low = np.searchsorted(owner, wanted).tolist()
        high = np.searchsorted(owner, wanted, side="right").tolist()
        return [slots[a:b] for a, b in zip(low, high, strict=True)]

    def tops(self, scores: Floats) -> Ints:
        """The candidate of each stretch with the highest score, the first of equals. [V]"""
        first = self.lists.first[:-1]
        if not len(first):
            return first
        counts = np.diff(self.lists.first)
        best = scores == np.repeat(np.maximum.reduceat(scores, first), counts)
        places = np.flatnonzero(best)
        return places[np.searchsorted(places, first)]

    def field(self, chances: Floats) -> Floats:
        """What fixed spans and candidates with some chances add to spans. [S, K + 1]"""
        field = np.zeros((len(self.links.starts) - 1, self.weights.shape[1]))
        slots = self.fixed.slots
        kernel.fill(self.links, self.weights, slots, self.fixed.kinds, np.ones(len(slots)), field)
        amounts = np.repeat(chances, np.diff(self.lists.spans))
        kernel.fill(self.links, self.weights, self.lists.slots, self.lists.kinds, amounts, field)
        return field

    def expected(self, chances: Floats) -> Floats:
        """How many spans of each slot and kind are expected. [S, K + 1]"""
        found = np.zeros((len(self.links.starts) - 1, self.weights.shape[1]))
        np.add.at(found, (self.fixed.slots, self.fixed.kinds), 1.0)
        amounts = np.repeat(chances, np.diff(self.lists.spans))
        np.add.at(found, (self.lists.slots, self.lists.kinds), amounts)
        return found

    def chosen(self, picks: Ints) -> Floats:
        """Chances of 1 for the candidates picked, else 0. [Q]"""
        found = np.zeros(len(self.lists.local))
        found[picks] = 1.0
        return found

    def contested(self) -> Spans:
        """The fixed spans that other fixed ones would rather have another kind, or not there."""
        own = self.fixed
        field = self.field(np.zeros(len(self.lists.local)))[own.slots]  # [E, K + 1]
        degree = np.diff(self.links.starts)[own.slots]
        link = runs(self.links.starts[:-1][own.slots], degree)
        span = np.repeat(np.arange(len(own.slots)), degree)
        itself = self.links.others[link] == own.slots[span]
        link, span = link[itself], span[itself]
        met = self.links.sizes[link, None] * self.weights[self.links.tables[link], own.kinds[span]]
        np.subtract.at(field, span, met)
        rows = np.arange(len(field))
        here = field[rows, own.kinds]
        field[rows, own.kinds] = 0.0  # as if it were not there
        # a span may count in several slots, and what one of them takes another may give back
        span = numbered(own.starts, own.kinds) if len(rows) else rows
        now, other = np.bincount(span, here), np.zeros(len(rows))
        np.maximum.at(other, span, field.max(axis=1))
        return own.chosen(np.flatnonzero(now[span] < other[span] - SMALLEST_CONTEST))

    def document_scores(self, picks: Ints) -> list[float]:
        """What the chosen candidates [V] of the live stretches of each of the groups score."""
        field = self.field(np.zeros(len(self.lists.local)))
        return [
            float(kernel.tally(self.lists, self.links, self.weights, self.pairs, field, own, picks))
            for own in self.groups
        ]

    def score(self, picks: Ints) -> float:
        """The log-probability of a choice [V], up to a constant."""
        field = self.field(np.zeros(len(self.lists.local)))
        return float(
            kernel.tally(
                self.lists,
                self.links,
                self.weights,
                self.pairs,
                field,
                np.arange(len(picks)),
                picks,
            )
        )


def place(candidates: Candidates, labelling: Labelling, sentences: Ints) -> Spans:
    """The spans of fixed labels and of all candidates; their slots are not known yet."""
    still = candidates.fixed.copy()
    lengths = candidates.stops - candidates.starts
    if len(lengths):
        still[runs(candidates.starts, lengths)] = int(np.flatnonzero(labelling.kinds < 0)[0])
    starts, stops, kinds = labelling.spans(still, sentences)
    own_starts, own_stops, own_kinds = labelling.spans(candidates.labels, candidates.offsets)
    owners = np.searchsorted(candidates.offsets, own_starts, side="right") - 1
    shift = candidates.starts[candidates.stretches[owners]] - candidates.places[owners]
    every = np.append(starts, own_starts + shift)
    return Spans(
        every,
        np.append(stops, own_stops + shift),
        np.zeros_like(every),
        np.append(kinds, own_kinds),
        np.append(np.full(len(starts), -1), owners),
    )


def directed(tables: Sequence[Floats], directions: Sequence[tuple[int, bool]], size: int) -> Floats:
    """The tables of relations in the directions of their links. [D, K + 1, K + 1]"""
    found = [tables[number].T if turned else tables[number] for number, turned in directions]
    return np.array(found) if found else np.zeros((0, size, size))


def _links(relations: Sequence[Relation], slots: int) -> tuple[Links, tuple[tuple[int, bool], ...]]:
    """The links of all slots, each in both directions."""
    directions: list[tuple[int, bool]] = []
    parts = []
    for number, relation in enumerate(relations):
        ends = [(relation.rows, relation.columns, relation.sizes, False)]
        if relation.rows is not relation.columns:
            apart = relation.rows != relation.columns  # a slot and itself are linked already
            ends.append(
                (relation.columns[apart], relation.rows[apart], relation.sizes[apart], True)
            )
        for sources, targets, sizes, turned in ends:
            table = np.full(len(sources), len(directions))
            parts.append((sources, targets, table, sizes))
            directions.append((number, turned))
    if not parts:
        none = np.zeros(0, np.int64)
        return Links(np.zeros(slots + 1, np.int64), none, none, np.zeros(0)), ()
    sources, targets, tables, sizes = (np.concatenate(own) for own in zip(*parts, strict=True))
    order = np.argsort(sources, kind="stable")
    starts = offsets_of(np.bincount(sources, minlength=slots))
    return Links(starts, targets[order], tables[order], sizes[order]), tuple(directions)


def _all_spans(
    candidates: Candidates, labelling: Labelling, own: Spans, wirings: Sequence[Wiring]
) -> Spans:
    """Spans with those that marks and lapses add."""
    parts = [own]
    size = len(labelling.types)
    for wiring in wirings:
        if len(wiring.sources):
            keys = wiring.sources * size + wiring.kinds
            order = np.argsort(keys, kind="stable")
            asked = own.slots * size + own.kinds
            first = np.searchsorted(keys[order], asked)
            count = np.searchsorted(keys[order], asked, side="right") - first
            marked = own.chosen(np.repeat(np.arange(len(asked)), count))
            parts.append(marked._replace(slots=wiring.targets[order][runs(first, count)]))
        if len(wiring.tokens):
            parts.append(_lapses(candidates, labelling, wiring))
    return Spans(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _lapses(candidates: Candidates, labelling: Labelling, wiring: Wiring) -> Spans:
    """Tokens without the type that is wanted, fixed or in candidates."""
    tokens = wiring.tokens
    stretch = np.searchsorted(candidates.starts, tokens, side="right") - 1
    inside = stretch >= 0
    inside[inside] = tokens[inside] < candidates.stops[stretch[inside]]
    still = np.flatnonzero(~inside & (labelling.kinds[candidates.fixed[tokens]] != wiring.wanted))
    own = np.flatnonzero(inside)
    counts = np.diff(candidates.first)[stretch[own]]
    number = runs(candidates.first[:-1][stretch[own]], counts)  # candidates
    which = np.repeat(own, counts)
    at = candidates.places[number] + tokens[which] - candidates.starts[stretch[which]]
    lapsed = labelling.kinds[candidates.labels[at]] != wiring.wanted[which]
    which = np.append(still, which[lapsed])
    return Spans(
        tokens[which],
        tokens[which] + 1,
        wiring.missed[which],
        np.full(len(which), len(labelling.types)),
        np.append(np.full(len(still), -1), number[lapsed]),
    )
