"""Where labels are in doubt, and the labellings that come into question there.

A sentence of a trained model is mostly certain. Tokens whose label is nearly sure are fixed; what
remains are short stretches, and given the fixed labels around them they do not depend on each
other. Each stretch has a list of its best labellings with their probabilities. So a document
becomes a few variables with a few values each, whatever the order and the encoding of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Bools, Floats, Ints, Labels, offsets_of
from skipchain.chains.potentials import Potentials
from skipchain.chains.scores import ChainScores
from skipchain.errors import ParameterError
from skipchain.kernels import chain, paths
from skipchain.kernels import chain2 as second
from skipchain.parallel import Workers, blocks

BLOCK_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class CandidateLimits:
    """What is taken for certain: tokens that leave less than ``tolerance`` to other labels.

    A stretch in doubt keeps the ``most`` probable labellings, and beside them the best one in which
    each of its spans has another type.

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
        if self.most < 1:
            raise ParameterError(f"most must be at least 1, got {self.most}")


@dataclass(frozen=True, slots=True)
class Candidates:
    """Stretches of tokens with the labellings that come into question, best first.

    Stretch v covers tokens starts[v] … stops[v] − 1. Its candidates are first[v] … first[v + 1] −
    1; the labels of candidate q begin at places[q]. ``scores`` are log-probabilities given the
    labels around, so exp(scores) of a stretch adds up to what its list covers. All other tokens
    have the labels of ``fixed``. ``uncovered_mass`` is the probability that a sentence is labelled
    in a way that cannot be put together from all this, at most.
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
        """The stretch of each candidate. [Q]"""
        return np.repeat(np.arange(len(self.starts)), np.diff(self.first))

    @property
    def offsets(self) -> Ints:
        """Where the labels of each candidate begin, and where the last end. [Q + 1]"""
        return np.append(self.label_starts, len(self.labels))

    def assemble_labels(self, chosen: Ints) -> Labels:
        """The labels of all tokens where each stretch has a candidate, ``chosen`` [V]. [N]"""
        found = self.fixed.copy()
        lengths = self.stops - self.starts
        found[concat_ranges(self.starts, lengths)] = self.labels[
            concat_ranges(self.label_starts[chosen], lengths)
        ]
        return found


def find_candidates(
    scores: ChainScores,
    best: Labels,
    marginals: Floats,
    type_ids: NDArray[np.int32],
    workers: Workers,
    candidate_limits: CandidateLimits,
    opened: Bools,
) -> Candidates:
    """The stretches in doubt of all sentences, and their labellings.

    best [N] are the jointly best labels, marginals [N, L] their probabilities. kinds [L] are the
    numbers of the labels' types, −1 for labels outside spans; only tokens fixed at such a label
    separate stretches. Tokens ``opened`` [N] count as doubtful however sure they are.
    """
    gaps = 1.0 - marginals[np.arange(len(best)), best]
    sure = (gaps <= candidate_limits.tolerance) & ~opened
    offsets = scores.data.offsets
    starts, stops = _uncertain_segments(sure, type_ids[best] < 0, offsets, scores.weights.order)
    sentences = np.searchsorted(offsets, starts, side="right") - 1

    def run(block: tuple[int, int]) -> list[_SegmentCandidates]:
        a, b = np.searchsorted(sentences, block).tolist()
        if a == b:
            return []
        return _segment_candidates(
            scores, block, starts[a:b], stops[a:b], best, sure, type_ids, candidate_limits.most
        )

    parts = workers.map(run, blocks(offsets, BLOCK_TOKENS))
    listed = [own for part in parts for own in part]
    counts = np.array([len(own.scores) for own in listed], np.int64)
    lengths = np.repeat(stops - starts, counts)
    found = np.concatenate([own.scores for own in listed]) if listed else np.zeros(0)
    missed = np.array([max(0.0, 1.0 - np.exp(own.scores).sum()) for own in listed])
    doubt = np.bincount(sentences, missed, minlength=len(offsets) - 1)
    spent = np.concatenate([[0.0], np.cumsum(np.where(sure, gaps, 0.0))])
    return Candidates(
        best,
        starts,
        stops,
        offsets_of(counts),
        offsets_of(lengths)[:-1],
        np.concatenate([own.paths.ravel() for own in listed] or [np.zeros(0, np.int32)]),
        found,
        doubt + spent[offsets[1:]] - spent[offsets[:-1]],
    )


def all_fixed(best: Labels, sentences: int) -> Candidates:
    """All labels fixed, nothing in doubt."""
    none = np.zeros(0, np.int64)
    return Candidates(
        best, none, none, np.zeros(1, np.int64), none, best[:0], np.zeros(0), np.zeros(sentences)
    )


class _SegmentCandidates(NamedTuple):
    """The candidates of one stretch: paths [K, T], scores [K]."""

    paths: Labels
    scores: Floats


def _uncertain_segments(
    sure: Bools, outside: Bools, offsets: Ints, order: int
) -> tuple[Ints, Ints]:
    """Runs of tokens between certain ones outside of spans, with some token in doubt."""
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
    type_ids: NDArray[np.int32],
    most: int,
) -> list[_SegmentCandidates]:
    """The candidates of the stretches of one block of sentences."""
    p, raw = scores.potentials(block), scores.raw(block)
    bounds = p.offsets + p.first
    owner = np.searchsorted(bounds, starts, side="right") - 1
    order = scores.weights.order
    low = np.maximum(starts - order, bounds[owner])
    high = np.minimum(stops + order, bounds[owner + 1])
    rivals = _other_type_spans(starts, stops, best, type_ids)
    which = np.concatenate([np.arange(len(starts)), [own[0] for own in rivals]]).astype(np.int64)
    lengths = (high - low)[which]
    tokens = concat_ranges(low[which], lengths) - p.first
    cuts = offsets_of(lengths)
    fixed = sure[tokens + p.first]
    fixed |= tokens + p.first < np.repeat(starts[which], lengths)
    fixed |= tokens + p.first >= np.repeat(stops[which], lengths)
    node = np.where(fixed[:, None], -np.inf, p.node[tokens])
    kept = np.flatnonzero(fixed)
    own = best[tokens[kept] + p.first]
    node[kept, own] = p.node[tokens[kept], own]
    for row, (segment, a, b, kind) in enumerate(rivals, start=len(starts)):
        at = cuts[row] - low[segment]
        node[at + a : at + b] = np.where(
            type_ids == kind, p.node[a - p.first : b - p.first], -np.inf
        )
    windows = Potentials(node, p.edge[tokens] if len(p.edge) > 1 else p.edge, cuts)
    opened = Potentials(raw.node[tokens], raw.edge[tokens] if len(raw.edge) > 1 else raw.edge, cuts)
    sums = _log_partition(scores, windows, opened)
    found: list[_SegmentCandidates] = []
    for row, segment in enumerate(which.tolist()):
        paths, values = _nbest(scores, windows, opened, row, most if row < len(starts) else 1)
        at = int(starts[segment] - low[segment])
        size = int(stops[segment] - starts[segment])
        listed = _SegmentCandidates(paths[:, at : at + size], values - sums[segment])
        if row < len(starts):
            found.append(listed)
        elif len(values) and not (found[segment].paths == listed.paths).all(axis=1).any():
            found[segment] = _SegmentCandidates(
                np.concatenate([found[segment].paths, listed.paths]),
                np.concatenate([found[segment].scores, listed.scores]),
            )
    return found


def _other_type_spans(
    starts: Ints, stops: Ints, best: Labels, type_ids: NDArray[np.int32]
) -> list[tuple[int, int, int, int]]:
    """Spans of the best labelling and the other types they could have: stretch, start, stop, type.

    Runs of one type stand for spans.
    """
    found = []
    types = sorted(set(type_ids.tolist()) - {-1})
    for segment, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        own = type_ids[best[start:stop]]
        cuts = [0, *(np.flatnonzero(np.diff(own)) + 1).tolist(), stop - start]
        for a, b in pairwise(cuts):
            if own[a] >= 0:
                found += [(segment, start + a, start + b, kind) for kind in types if kind != own[a]]
    return found


def _log_partition(scores: ChainScores, windows: Potentials, opened: Potentials) -> Floats:
    """log Z of every window."""
    states = windows.node.shape[1]
    log_z = np.empty(len(windows.offsets) - 1)
    none = np.empty((0, states, states))
    if scores.weights.order == 1:
        chain.forward_backward(
            windows.node, windows.edge, windows.offsets, np.empty_like(windows.node), none, log_z
        )
    else:
        second.forward_backward(
            windows.node,
            windows.edge,
            opened.node,
            opened.edge,
            scores.weights.triples,
            windows.offsets,
            scores.local,
            np.empty_like(windows.node),
            np.zeros((1, states, states)),
            none,
            log_z,
        )
    return log_z


def _nbest(
    scores: ChainScores, windows: Potentials, opened: Potentials, row: int, most: int
) -> tuple[Labels, Floats]:
    """The best paths of one window and their scores."""
    a, b = windows.offsets[row : row + 2].tolist()
    found, values = np.empty((most, b - a), np.int32), np.empty(most)
    if scores.weights.order == 1:
        paths.nbest(windows.node[a:b], windows.tables(a, b), most, found, values)
    else:
        second.nbest(
            windows.node[a:b],
            windows.tables(a, b),
            opened.node[a:b],
            opened.tables(a, b),
            scores.weights.triples,
            scores.local,
            most,
            found,
            values,
        )
    real = values > -np.inf
    return found[real], values[real]


def concat_ranges(starts: Ints, lengths: Ints) -> Ints:
    """starts[k], starts[k] + 1 … for lengths[k] numbers each, one after the other."""
    return np.repeat(starts - offsets_of(lengths)[:-1], lengths) + np.arange(lengths.sum())
