"""Potentials: the scores of one block of chains, from which all inference follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from skipchain.arrays import Bools, Floats, Ints
from skipchain.errors import CorpusError
from skipchain.kernels.chain import normalisers
from skipchain.kernels.paths import dead_ends

if TYPE_CHECKING:
    from skipchain.kernels.sgd import LogMasks


@dataclass(frozen=True, slots=True)
class Potentials:
    """Log scores of C chains with N tokens together.

    ``edge`` has one table for all positions (E = 1) or one per token (E = N, unused where a chain
    begins), indexed [prev, cur]. ``offsets`` count from the block's first token, which is token
    ``first`` of the whole.
    """

    node: Floats  # [N, S]
    edge: Floats  # [E, S, S]
    offsets: Ints  # [C + 1]
    first: int = 0

    @property
    def tokens(self) -> slice:
        """Where the block stands in the whole."""
        return slice(self.first, self.first + len(self.node))

    def heads(self) -> Ints:
        """The first token of each chain that has one."""
        return self.offsets[:-1][self.offsets[1:] > self.offsets[:-1]]

    def tails(self) -> Ints:
        """The last token of each chain that has one."""
        return self.offsets[1:][self.offsets[1:] > self.offsets[:-1]] - 1

    def tables(self, first: int, last: int) -> Floats:
        """The edge tables of some tokens of the block, or the one that all share."""
        return self.edge[first:last] if len(self.edge) > 1 else self.edge

    def part(self, first: int, last: int) -> Potentials:
        """The chain of tokens ``first … last − 1`` of the block, by itself."""
        bounds = np.array([0, last - first])
        return Potentials(
            self.node[first:last], self.tables(first, last), bounds, self.first + first
        )

    def like(self, other: Potentials) -> Potentials:
        """With one edge table per token where the potentials of the same tokens have that."""
        if len(self.edge) == len(other.edge):
            return self
        return replace(self, edge=np.repeat(self.edge, len(other.edge), axis=0))

    def stopping(self, stop: Floats) -> Potentials:
        """With the probability of going on after each label, and of stopping after the last.

        ``stop`` [S] has the log odds of stopping after a label, or [S + 1, S] after the last two;
        the first index S stands for the place before the chain.
        """
        go, end = -np.logaddexp(0.0, stop), -np.logaddexp(0.0, -stop)
        heads, tails = self.heads(), self.tails()
        node = self.node.copy()
        if stop.ndim == 1:
            node += go
            node[tails] += end - go
            return replace(self, node=node)
        single = np.isin(heads, tails)
        node[heads] += np.where(single[:, None], end[-1], go[-1])
        edge = (self.edge if len(self.edge) > 1 else self.edge[0]) + np.broadcast_to(
            go[:-1], (len(node), *go[:-1].shape)
        )
        edge[tails] += end[:-1] - go[:-1]
        return replace(self, node=node, edge=edge)

    def constrained(self, constraints: Constraints) -> Potentials:
        """With −∞ for whatever the constraints forbid."""
        node, masks = self.node.copy(), constraints.masks
        node[self.heads()] += masks.start
        node[self.tails()] += masks.end
        return Potentials(node, self.edge + masks.pairs, self.offsets, self.first)

    def normalised(self) -> Potentials:
        """The chain in which every label is drawn given the one before it.

        p(y_t = j | y_{t−1} = i) ∝ exp(node_t(j) + edge_t(i, j)). What each row of that table adds
        up to depends on position t and on the label at t − 1 only, so it is taken off the node
        score there: the edges stay as they are, and all paths together have the probability one.
        """
        norms = self.normalisers()
        node = self.node.copy()
        follows = np.ones(len(node), np.bool_)
        heads = self.heads()
        follows[heads] = False
        after = np.flatnonzero(follows)
        node[after - 1] -= norms[after]
        node[heads] -= norms[heads]
        return replace(self, node=node)

    def normalisers(self) -> Floats:
        """log Σ_j exp(node_t(j) + edge_t(i, j)) of each position t and label i before it. [N, S]

        Where a chain begins, log Σ_j exp(node_t(j)) for all i.
        """
        norms = np.empty_like(self.node)
        normalisers(self.node, self.edge, self.offsets, norms)
        return norms

    def clamped(self, allowed: Bools) -> Potentials:
        """With −∞ for the labels that a token may not have. allowed [N, S]"""
        return replace(self, node=np.where(allowed, self.node, -np.inf))


@dataclass(frozen=True)
class Constraints:
    """Which label pairs [prev, cur], first labels and last labels are allowed."""

    pairs: Bools  # [S, S]
    start: Bools  # [S]
    end: Bools  # [S]

    @cached_property
    def masks(self) -> LogMasks:
        """What is added to scores: −∞ for what is forbidden."""
        from skipchain.kernels.sgd import LogMasks

        return LogMasks(*(log_mask(part) for part in (self.pairs, self.start, self.end)))

    def dead_end(self, allowed: Bools, offsets: Ints) -> int | None:
        """The first token that no path reaches where tokens may have the labels ``allowed`` [N, S].

        None where every chain has a path.

        >>> rule = Constraints(np.array([[1, 0], [1, 1]], bool), np.ones(2, bool), np.ones(2, bool))
        >>> rule.dead_end(np.array([[1, 0], [1, 1], [0, 1]], bool), np.array([0, 3]))
        2
        """
        lost = self.dead_ends(allowed, offsets)
        return int(lost[lost >= 0][0]) if (lost >= 0).any() else None

    def dead_ends(self, allowed: Bools, offsets: Ints) -> Ints:
        """The first token of each chain that no path reaches, or −1. [C]"""
        where = np.empty(len(offsets) - 1, np.int64)
        dead_ends(allowed, self.pairs, self.start, self.end, offsets, where)
        return where

    def allow_every_length(self) -> bool:
        """Whether a chain of any length has at least one allowed path."""
        reached, seen = self.start.copy(), set[bytes]()
        while reached.tobytes() not in seen and len(seen) <= len(self.start):
            seen.add(reached.tobytes())
            if not (reached & self.end).any():
                return False
            reached = np.asarray(self.pairs[reached].any(axis=0))
        return True  # sets of labels that are reached repeat


def log_mask(allowed: Bools) -> Floats:
    """0 where allowed, −∞ where not."""
    return np.where(allowed, 0.0, -np.inf)


def require_paths(scores: Floats, potentials: Potentials) -> None:
    """Raise where a chain has no path at all, or no scores, naming its first token."""
    lost = np.flatnonzero(~(scores > -np.inf))
    if len(lost):
        token = potentials.first + int(potentials.offsets[lost[0]])
        if np.isnan(scores[lost[0]]):
            raise CorpusError(
                f"the sequence at token {token} has scores that are no numbers: its feature values "
                "or the weights of the model are too large"
            )
        raise CorpusError(
            f"the sequence at token {token} has no possible labelling: the labels given contradict "
            "each other or the scheme; free one of them, or decode without constraints"
        )
