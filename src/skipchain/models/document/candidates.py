"""Uncertain segments of sentences, and the candidate labellings of each.

A sentence of a trained model is mostly certain. Tokens whose label is nearly sure are fixed; what
remains are short uncertain segments, and given the fixed labels around them they do not depend on
each other. Each segment has a list of its best labellings with their probabilities. So a document
becomes a few variables with a few values each, whatever the order and the encoding of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from skipchain.arrays import Bools, Floats, Ints, Labels, concat_ranges, offsets_of
from skipchain.chains import order2
from skipchain.chains.potentials import Potentials
from skipchain.chains.scores import ChainScores
from skipchain.checks import check_integer
from skipchain.errors import ParameterError
from skipchain.kernels import chain, paths
from skipchain.parallel import Workers, blocks

BLOCK_TOKENS = 4096
MAX_LABELLINGS = 1_000  # of a segment


@dataclass(frozen=True, slots=True)
class CandidateLimits:
    """Which tokens are certain, and how many labellings an uncertain segment has.

    Certain are tokens that leave less than ``tolerance`` to other labels. A segment keeps the
    ``most`` probable labellings, and for each of its spans and each other type the best labelling
    in which the span has that type.

    >>> CandidateLimits(tolerance=2.0)
    Traceback (most recent call last):
    ...
    skipchain.errors.ParameterError: tolerance must be from 0 to 1, got 2.0
    """

    tolerance: float = 1e-3
    most: int = 24

    def __post_init__(self) -> None:
        if not 0.0 <= self.tolerance <= 1.0:
            raise ParameterError(f"tolerance must be from 0 to 1, got {self.tolerance}")
        check_integer("most", self.most, most=MAX_LABELLINGS)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Uncertain segments with their candidate labellings, best first.

    Segment v covers tokens starts[v] … stops[v] − 1. Its candidates are first[v] … first[v + 1] −
    1; the labels of candidate q begin at label_starts[q]. ``scores`` are log-probabilities given
    the labels around, so exp(scores) of a segment adds up to what its list covers. All other tokens
    have the labels of ``fixed``. ``uncovered_mass`` is an upper bound of the probability that a
    sentence has a labelling that no choice of candidates gives.
    """

    fixed: Labels  # [N]
    starts: Ints  # [V]
    stops: Ints  # [V]
    first: Ints  # [V + 1]
    label_starts: Ints  # [Q]
    labels: Labels  # [Σ lengths]
    scores: Floats  # [Q]
    uncovered_mass: Floats  # [C]

    @property
    def segment_ids(self) -> Ints:
        """The segment of each candidate. [Q]"""
        return np.repeat(np.arange(len(self.starts)), np.diff(self.first))

    @property
    def offsets(self) -> Ints:
        """Where the labels of each candidate begin, and where the last end. [Q + 1]"""
        return np.append(self.label_starts, len(self.labels))

    def assemble_labels(self, chosen: Ints) -> Labels:
        """The labels of all tokens where segments have the candidates ``chosen`` [V]. [N]"""
        labels = self.fixed.copy()
        lengths = self.stops - self.starts
        places = concat_ranges(self.label_starts[chosen], lengths)
        labels[concat_ranges(self.starts, lengths)] = self.labels[places]
        return labels


def find_candidates(
    scores: ChainScores,
    best: Labels,
    marginals: Floats,
    type_ids: Labels,
    workers: Workers,
    candidate_limits: CandidateLimits,
    opened: Bools,
) -> Candidates:
    """The uncertain segments of all sentences, and their labellings.

    best [N] are the jointly best labels, marginals [N, L] the probabilities of labels. type_ids [L]
    are the numbers of the labels' types, −1 for labels outside spans; only tokens fixed at such a
    label separate segments. Tokens ``opened`` [N] count as uncertain whatever their marginals.
    """
    gaps = 1.0 - marginals[np.arange(len(best)), best]
    sure = (gaps <= candidate_limits.tolerance) & ~opened
    offsets = scores.data.offsets
    starts, stops = uncertain_segments(sure, type_ids[best] < 0, offsets, scores.weights.order)
    sentences = np.searchsorted(offsets, starts, side="right") - 1

    def run(block: tuple[int, int]) -> list[_SegmentCandidates]:
        a, b = np.searchsorted(sentences, block).tolist()
        if a == b:
            return []
        return _segment_candidates(
            scores, block, starts[a:b], stops[a:b], best, sure, type_ids, candidate_limits.most
        )

    parts = workers.map(run, blocks(offsets, BLOCK_TOKENS))
    segments = [segment for part in parts for segment in part]
    counts = np.array([len(segment.scores) for segment in segments], np.int64)
    missed = np.array([max(0.0, 1.0 - np.exp(segment.scores).sum()) for segment in segments])
    unlisted = np.bincount(sentences, missed, minlength=len(offsets) - 1)
    spent = np.concatenate([[0.0], np.cumsum(np.where(sure, gaps, 0.0))])
    return Candidates(
        fixed=best,
        starts=starts,
        stops=stops,
        first=offsets_of(counts),
        label_starts=offsets_of(np.repeat(stops - starts, counts))[:-1],
        labels=np.concatenate([best[:0], *(segment.paths.ravel() for segment in segments)]),
        scores=np.concatenate([np.zeros(0), *(segment.scores for segment in segments)]),
        uncovered_mass=unlisted + spent[offsets[1:]] - spent[offsets[:-1]],
    )


def all_fixed(best: Labels, sentences: int) -> Candidates:
    """All labels fixed, no uncertain segment."""
    none = np.zeros(0, np.int64)
    return Candidates(
        best, none, none, np.zeros(1, np.int64), none, best[:0], np.zeros(0), np.zeros(sentences)
    )


class _SegmentCandidates(NamedTuple):
    """The candidates of one segment: paths [K, T], scores [K]."""

    paths: Labels
    scores: Floats


def uncertain_segments(sure: Bools, outside: Bools, offsets: Ints, order: int) -> tuple[Ints, Ints]:
    """Runs of tokens between certain ones outside of spans, with at least one uncertain token."""
    between = sure & outside
    heads = np.zeros(len(sure) + 1, np.bool_)
    heads[offsets] = True
    if order > 1:  # a single certain label does not part what is on its sides
        alone = between.copy()
        alone[1:] &= ~between[:-1] | heads[1:-1]
        alone[:-1] &= ~between[1:] | heads[1:-1]
        alone &= ~heads[:-1] & ~heads[1:]
        between &= ~alone
    inside = ~between
    begins = inside & (heads[:-1] | np.concatenate([[True], between[:-1]])[: len(sure)])
    ends = inside & (heads[1:] | np.concatenate([between[1:], [True]])[: len(sure)])
    starts, stops = np.flatnonzero(begins), np.flatnonzero(ends) + 1
    known = offsets_of(~sure)
    some = known[stops] > known[starts]
    return starts[some], stops[some]


def _segment_candidates(
    scores: ChainScores,
    block: tuple[int, int],
    starts: Ints,
    stops: Ints,
    best: Labels,
    sure: Bools,
    type_ids: Labels,
    most: int,
) -> list[_SegmentCandidates]:
    """The candidates of the segments of one block of sentences."""
    p, raw = scores.potentials(block), scores.raw(block)
    bounds = p.offsets + p.first
    owner = np.searchsorted(bounds, starts, side="right") - 1
    order = scores.weights.order
    low = np.maximum(starts - order, bounds[owner])
    high = np.minimum(stops + order, bounds[owner + 1])
    rivals = _other_type_spans(starts, stops, best, type_ids)
    which = np.array([*range(len(starts)), *(rival[0] for rival in rivals)], np.int64)
    lengths = (high - low)[which]
    tokens = concat_ranges(low[which], lengths) - p.first
    cuts = offsets_of(lengths)
    fixed = sure[tokens + p.first]
    fixed |= tokens + p.first < np.repeat(starts[which], lengths)
    fixed |= tokens + p.first >= np.repeat(stops[which], lengths)
    node = np.where(fixed[:, None], -np.inf, p.node[tokens])
    kept = np.flatnonzero(fixed)
    labels = best[tokens[kept] + p.first]
    node[kept, labels] = p.node[tokens[kept], labels]
    for row, (segment, a, b, type_id) in enumerate(rivals, start=len(starts)):
        at = cuts[row] - low[segment]
        node[at + a : at + b] = np.where(
            type_ids == type_id, p.node[a - p.first : b - p.first], -np.inf
        )
    varying = len(p.edge) > 1
    windows = Potentials(node, p.edge[tokens] if varying else p.edge, cuts)
    free = Potentials(raw.node[tokens], raw.edge[tokens] if varying else raw.edge, cuts)
    sums = _log_partition(scores, windows, free)
    candidates: list[_SegmentCandidates] = []
    for row, segment in enumerate(which.tolist()):
        paths, values = _nbest(scores, windows, free, row, most if row < len(starts) else 1)
        at = int(starts[segment] - low[segment])
        size = int(stops[segment] - starts[segment])
        ranked = _SegmentCandidates(paths[:, at : at + size], values - sums[segment])
        if row < len(starts):
            candidates.append(ranked)
        elif len(values) and not (candidates[segment].paths == ranked.paths).all(axis=1).any():
            candidates[segment] = _SegmentCandidates(
                np.concatenate([candidates[segment].paths, ranked.paths]),
                np.concatenate([candidates[segment].scores, ranked.scores]),
            )
    return candidates


def _other_type_spans(
    starts: Ints, stops: Ints, best: Labels, type_ids: Labels
) -> list[tuple[int, int, int, int]]:
    """Spans of the best labelling and the other types they could have: segment, start, stop, type.

    Runs of one type stand for spans.
    """
    rivals = []
    types = sorted(set(type_ids.tolist()) - {-1})
    for segment, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        types_at = type_ids[best[start:stop]]
        cuts = [0, *(np.flatnonzero(np.diff(types_at)) + 1).tolist(), stop - start]
        for a, b in pairwise(cuts):
            if types_at[a] >= 0:
                rivals += [
                    (segment, start + a, start + b, other)
                    for other in types
                    if other != types_at[a]
                ]
    return rivals


def _log_partition(scores: ChainScores, windows: Potentials, raw: Potentials) -> Floats:
    """log Z of every window."""
    if scores.weights.order > 1:
        return order2.log_partition(scores, windows, raw)
    states = windows.node.shape[1]
    log_z = np.empty(len(windows.offsets) - 1)
    none = np.empty((0, states, states))
    chain.forward_backward(
        windows.node, windows.edge, windows.offsets, np.empty_like(windows.node), none, log_z
    )
    return log_z


def _nbest(
    scores: ChainScores, windows: Potentials, raw: Potentials, row: int, most: int
) -> tuple[Labels, Floats]:
    """The best paths of one window and their scores."""
    a, b = windows.offsets[row : row + 2].tolist()
    if scores.weights.order == 1:
        ranked, values = np.zeros((most, b - a), np.int32), np.empty(most)
        paths.nbest(windows.node[a:b], windows.tables(a, b), most, ranked, values)
    else:
        ranked, values = order2.best_paths(scores, windows.part(a, b), raw.part(a, b), most)
    real = values > -np.inf
    return ranked[real], values[real]
