"""Gibbs sampling of one label at a time, with factors between the spans of a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Bools, Floats, Ints, Labels, concat_ranges, members, offsets_of
from skipchain.chains.potentials import Constraints
from skipchain.chains.scores import ChainScores
from skipchain.corpus import Corpus
from skipchain.kernels import factors as factor_kernel
from skipchain.kernels import token_gibbs as kernel
from skipchain.kernels.factors import StringEdges
from skipchain.kernels.token_gibbs import AllowedLabels, DocumentChain, TokenSpans
from skipchain.models.document.annealing import Annealing
from skipchain.models.document.candidate_graph import (
    LabelTypes,
    MentionSpans,
    alias_spans,
    directed_tables,
    link_strings,
)
from skipchain.models.document.candidates import uncertain_segments
from skipchain.models.document.factors.base import FactorEdges, SpanFactor
from skipchain.models.document.factors.mentions import MentionStrings
from skipchain.parallel import Workers

LONGEST_SPAN = 20  # words of a span that factors look at
DETERRENT = 1.0  # what each thing that the scheme forbids costs while labels are counted


@dataclass(frozen=True, slots=True)
class TokenGraph:
    """The tokens whose labels are in doubt, and the factor edges between all spans they can mark.

    Nothing is forbidden while labels are drawn: single labels could never pass from one span to
    another where all that lies between them is. So ``chain`` has no constraints; labellings are
    kept and counted only where those of the model, ``allowed``, have nothing against them.
    ``tokens`` are drawn anew; all others have the labels of ``best``, those of the chain by itself.
    """

    chain: ChainScores
    best: Labels  # [N]
    tokens: Ints
    bounds: Ints  # [D + 1] where the tokens of each document begin
    sentences: Ints  # [D + 1] where its sentences begin
    spans: TokenSpans
    edges: StringEdges
    weights: Floats  # [R, K + 1, K + 1]
    field: Floats  # [Z, K + 1], of the best labels
    allowed: AllowedLabels

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        chain: ChainScores,
        best: Labels,
        sure: Bools,
        label_types: LabelTypes,
        factors: Sequence[SpanFactor],
        *,
        all_interacting: bool = False,
    ) -> TokenGraph:
        """Tokens that are not ``sure`` [N], where factors have a say or ``all_interacting``.

        ``chain`` are the scores of the chain model, best [N] its best labels.
        """
        labels_of = _possible_labels(chain, best, sure)
        outside = label_types.type_ids[best] < 0
        order = chain.weights.order
        starts, stops = uncertain_segments(sure, outside, corpus.sentences, order)
        builder = _SpanBuilder.of(corpus, label_types, factors, starts, stops, best, labels_of)
        segment_tokens = concat_ranges(starts, stops - starts)
        segment_of = np.repeat(np.arange(len(starts)), stops - starts)
        live = np.ones(len(starts), np.bool_)
        if not all_interacting:
            places = np.full(corpus.n_tokens, -1)
            places[segment_tokens] = segment_of
            live = builder.interacting(best, places, len(starts))
        tokens = segment_tokens[live[segment_of] & ~sure[segment_tokens]]
        sentence_starts = corpus.sentences[corpus.documents]
        return cls(
            chain=replace(chain, constraints=None),
            best=best,
            tokens=tokens,
            bounds=np.searchsorted(tokens, sentence_starts),
            sentences=corpus.documents,
            spans=builder.spans,
            edges=builder.edges,
            weights=builder.weights,
            field=builder.field(best),
            allowed=_allowed(chain.constraints, len(label_types.labels)),
        )

    @property
    def documents(self) -> list[int]:
        """The documents with tokens that are drawn."""
        return np.flatnonzero(np.diff(self.bounds)).tolist()

    def document_chain(self, document: int, deterrent: float = 0.0) -> DocumentChain:
        """The potentials of one document, less ``deterrent`` for each thing not ``allowed``."""
        block = int(self.sentences[document]), int(self.sentences[document + 1])
        potentials, triples = self.chain.potentials(block), self.chain.weights.triples
        norms = np.zeros((0, 0, 0))
        if len(triples) and self.chain.local:
            raw = self.chain.raw(block)
            size = raw.node.shape[1]
            norms = np.empty((len(raw.node), size + 1, size))
            kernel.triple_norms(raw.node, raw.edge, triples, raw.offsets, norms)
        first, node, edge = potentials.first, potentials.node, potentials.edge
        if deterrent:
            node, edge = node.copy(), edge - deterrent * ~self.allowed.pairs
            node[potentials.heads()] -= deterrent * ~self.allowed.start
            node[potentials.tails()] -= deterrent * ~self.allowed.end
        return DocumentChain(first, node, edge, triples, norms)


def anneal_tokens(graph: TokenGraph, annealing: Annealing, workers: Workers) -> Labels:
    """The best labelling that sampling meets, of all chains. [N]"""
    best = graph.best.copy()
    top = np.zeros(len(graph.bounds) - 1)
    if annealing.random_start:
        top[:] = -np.inf
    for number in range(annealing.chains):
        _, found, scores = anneal_token_chain(graph, annealing, workers, number)
        for document in np.flatnonzero(scores > top).tolist():
            tokens = graph.tokens[graph.bounds[document] : graph.bounds[document + 1]]
            best[tokens] = found[tokens]
        top = np.maximum(top, scores)
    return best


def anneal_token_chain(
    graph: TokenGraph, annealing: Annealing, workers: Workers, number: int = 0
) -> tuple[Labels, Labels, Floats]:
    """One chain of samples: where it ends [N], the best labelling met [N], and its score. [D]

    Scores are counted from those of the chain's own labels; a chain that begins at random, and
    meets no labelling that is allowed, has −∞.
    """
    temperatures = annealing.temperatures
    if annealing.random_start:  # a sweep in which all labels are equally good
        temperatures = np.append(np.inf, temperatures)
    none = np.zeros((0, 0), np.int64), np.zeros(0, np.int64)
    return _sample(graph, annealing, workers, number, [(temperatures, *none)])


def sample_token_probabilities(
    graph: TokenGraph, annealing: Annealing, burn_in: int, workers: Workers
) -> tuple[Floats, Floats]:
    """How often each label [N, L] and each span [P] is met at the temperature 1.

    Only samples in which all labels of the document are allowed count, so that the law is that of
    the model, whatever the others cost. They cost `DETERRENT`, at which most samples count and
    spans can still move. In a document in which none counts all are 0.
    """
    size = len(graph.spans.types)
    labels = np.zeros((len(graph.best), size), np.int64)
    spans = np.zeros(len(graph.spans.starts) - 1, np.int64)
    sweeps = [
        (np.ones(burn_in), labels[:0], spans[:0]),
        (np.ones(annealing.samples), labels, spans),
    ]
    for number in range(annealing.chains):
        _sample(graph, annealing, workers, number, sweeps, DETERRENT)
    counts = np.ones(len(graph.bounds) - 1, np.int64)  # of each document
    counts[graph.documents] = labels[graph.tokens[graph.bounds[graph.documents]]].sum(axis=1)
    per_token = np.repeat(np.maximum(counts, 1), np.diff(graph.chain.offsets[graph.sentences]))
    per_span = np.repeat(per_token, np.diff(np.append(graph.spans.base, len(spans))))
    return labels / per_token[:, None], spans / per_span


def _sample(
    graph: TokenGraph,
    annealing: Annealing,
    workers: Workers,
    number: int,
    sweeps: Sequence[tuple[Floats, Ints, Ints]],
    deterrent: float = 0.0,
) -> tuple[Labels, Labels, Floats]:
    """One chain: ``sweeps`` are temperatures, and the visits of labels and spans (or [0])."""
    labels, best, field = graph.best.copy(), graph.best.copy(), graph.field.copy()
    scores = np.full(len(graph.bounds) - 1, -np.inf if annealing.random_start else 0.0)
    states = annealing.states(number, len(scores))

    def run(document: int) -> None:
        chain, state = graph.document_chain(document, deterrent), states[document : document + 1]
        tokens = graph.tokens[graph.bounds[document] : graph.bounds[document + 1]]
        parts = (chain, graph.spans, graph.edges, graph.weights, field, graph.allowed)
        for temperatures, label_visits, span_visits in sweeps:
            scores[document] = kernel.sample_tokens(
                *parts, tokens, labels, temperatures, state, best, scores[document],
                label_visits, span_visits,
            )  # fmt: skip

    workers.map(run, graph.documents)
    return labels, best, scores


@dataclass(frozen=True, slots=True)
class _SpanBuilder:
    """All spans that labels in doubt can mark, and fixed ones, as factors see them."""

    corpus: Corpus
    label_types: LabelTypes
    spans: TokenSpans
    edges: StringEdges
    weights: Floats
    fixed: MentionSpans  # with aliases
    mentions: MentionSpans  # with aliases, in the order of spans
    violations: MentionSpans  # of all tokens; ``type_ids`` are those required

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        label_types: LabelTypes,
        factors: Sequence[SpanFactor],
        starts: Ints,
        stops: Ints,
        best: Labels,
        labels_of: Bools,
    ) -> _SpanBuilder:
        types, joins = label_types.types, label_types.joins
        n_types, lengths = len(types), stops - starts
        longest = np.zeros(corpus.n_tokens, np.int64)
        if factors:
            ends = np.repeat(stops, lengths)
            tokens = concat_ranges(starts, lengths)
            longest[tokens] = np.minimum(ends - tokens, LONGEST_SPAN)
        base = offsets_of(longest * n_types)
        possible = np.zeros(base[-1], np.bool_)
        type_ids = label_types.type_ids.astype(np.int64)
        kernel.possible_spans(labels_of, joins, type_ids, n_types, base[:-1], longest, possible)
        spans = _all_spans(corpus, label_types, starts, stops, best, base, possible)
        mentions, string_ids = MentionStrings.of(
            corpus, spans.starts, spans.stops, spans.type_ids, n_types
        )
        spans = spans._replace(string_ids=string_ids)
        by_factor, potentials, edges, directions = link_strings(mentions, types, factors)
        linked = np.diff(edges.starts) > 0
        parts = [spans, *(alias_spans(spans, own, n_types) for own in by_factor)]
        spans = MentionSpans(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        spans = spans.take(np.flatnonzero(linked[spans.string_ids]))
        spans = spans.take(np.argsort(spans.candidate_ids, kind="stable"))
        n_fixed = int(np.searchsorted(spans.candidate_ids, 0))
        chosen = spans.take(slice(n_fixed, None))
        counts = np.bincount(chosen.candidate_ids, minlength=len(possible))
        violations = _violations(by_factor)
        violation_counts = np.bincount(violations.starts, minlength=corpus.n_tokens)
        most = 3 * int(counts.max(initial=0)) + int(violation_counts.max(initial=0))
        sizes = np.diff(corpus.sentences)
        return cls(
            corpus,
            label_types,
            TokenSpans(
                np.repeat(corpus.sentences[:-1], sizes),
                np.repeat(corpus.sentences[1:], sizes),
                joins,
                type_ids,
                base[:-1],
                longest,
                offsets_of(counts),
                chosen.string_ids,
                offsets_of(violation_counts),
                violations.string_ids,
                violations.type_ids,
                most,
            ),
            edges,
            directed_tables([p.table for p in potentials], directions, n_types + 1),
            spans.take(slice(n_fixed)),
            chosen,
            violations,
        )

    def field(self, labels: Labels) -> Floats:
        """What the spans and violations of a labelling add to others. [Z, K + 1]"""
        n_types = len(self.label_types.types)
        field = np.zeros((len(self.edges.starts) - 1, n_types + 1))
        starts, stops, type_ids = self.label_types.spans(labels, self.corpus.sentences)
        known = stops - starts <= self.spans.longest[starts]
        numbers = self.spans.base[starts] + (stops - starts - 1) * n_types + type_ids
        places = members(self.spans.starts, numbers[known])
        chosen = self.mentions.take(places)
        violated = self._violated(labels)
        parts = (
            (self.fixed.string_ids, self.fixed.type_ids),
            (chosen.string_ids, chosen.type_ids),
            (violated.string_ids, np.full(len(violated.starts), n_types)),
        )
        for string_ids, kinds in parts:
            factor_kernel.add_spans(
                self.edges, self.weights, string_ids, kinds, np.ones(len(kinds)), field
            )
        return field

    def interacting(self, labels: Labels, segment_of: Ints, n_segments: int) -> Bools:
        """The segments with spans that interact with any at another place. [V]

        segment_of [N] are the segments of tokens, −1 elsewhere.
        """
        edges = self.edges
        inside = segment_of[self.violations.starts] >= 0
        own = [self.mentions, self.violations.take(np.flatnonzero(inside))]
        fixed = [self.fixed, self._violated(labels)]
        low = np.full(len(edges.starts) - 1, self.corpus.n_tokens)
        high = np.full(len(edges.starts) - 1, -1)
        for part in (*own, *fixed):
            np.minimum.at(low, part.string_ids, part.starts)
            np.maximum.at(high, part.string_ids, part.starts)
        interacting = np.zeros(n_segments, np.bool_)
        for part in own:
            other = edges.neighbours[members(edges.starts, part.string_ids)]
            place = np.repeat(part.starts, np.diff(edges.starts)[part.string_ids])
            away = (high[other] >= 0) & ((low[other] != place) | (high[other] != place))
            interacting[segment_of[place[away]]] = True
        return interacting

    def _violated(self, labels: Labels) -> MentionSpans:
        """The violations that a labelling has."""
        types = self.label_types.type_ids[labels[self.violations.starts]]
        return self.violations.take(np.flatnonzero(types != self.violations.type_ids))


def _possible_labels(chain: ChainScores, best: Labels, sure: Bools) -> Bools:
    """The labels that each token may have. [N, L]"""
    possible = np.ones((len(best), chain.weights.n_labels), np.bool_)
    if chain.allowed is not None:
        possible = chain.allowed.copy()
    possible[sure] = False
    possible[sure, best[sure]] = True
    return possible


def _all_spans(
    corpus: Corpus,
    label_types: LabelTypes,
    starts: Ints,
    stops: Ints,
    best: Labels,
    base: Ints,
    possible: Bools,
) -> MentionSpans:
    """The fixed spans and all possible ones, which are numbered; mention strings are to come."""
    n_types = len(label_types.types)
    fixed = best.copy()
    fixed[concat_ranges(starts, stops - starts)] = label_types.labels.index("O")
    fixed_starts, fixed_stops, fixed_types = label_types.spans(fixed, corpus.sentences)
    numbers = np.flatnonzero(possible)
    tokens = np.searchsorted(base, numbers, side="right") - 1
    lengths, type_ids = np.divmod(numbers - base[tokens], max(n_types, 1))
    every = np.append(fixed_starts, tokens)
    return MentionSpans(
        every,
        np.append(fixed_stops, tokens + lengths + 1),
        np.zeros_like(every),
        np.append(fixed_types, type_ids),
        np.append(np.full(len(fixed_starts), -1), numbers),
    )


def _violations(by_factor: Sequence[FactorEdges]) -> MentionSpans:
    """The places at which a type is required, in the order of tokens."""
    tokens, required, strings = (
        np.concatenate([np.zeros(0, np.int64), *(getattr(own, name) for own in by_factor)])
        for name in ("violation_tokens", "required_types", "violation_strings")
    )
    order = np.argsort(tokens, kind="stable")
    tokens = tokens[order]
    return MentionSpans(tokens, tokens + 1, strings[order], required[order], np.zeros_like(tokens))


def _allowed(constraints: Constraints | None, size: int) -> AllowedLabels:
    """What constraints allow; everything without them."""
    if constraints is None:
        any_label = np.ones(size, np.bool_)
        return AllowedLabels(np.ones((size, size), np.bool_), any_label, any_label)
    return AllowedLabels(constraints.pairs, constraints.start, constraints.end)
