"""The scores of hidden states as kernels that sample them take them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.kernels.experts import Experts
from skipchain.models.latent.scorer import StatePotentials


def expert_tables(experts: Sequence[StatePotentials]) -> Experts:
    """The potentials of several models of hidden states for the same block of chains.

    >>> expert_tables([]).sizes
    array([], dtype=int64)
    """
    moves = [_moves(own) for own in experts]
    emits = [
        own.emission_chances * np.exp(own.norms - own.norms.max(axis=1, keepdims=True))[:, :, None]
        for own in experts
    ]
    return Experts(
        np.array([own.norms.shape[1] for own in experts], np.int64),
        _starts(moves),
        _starts(emits),
        _flat([own.transitions for own in experts]),
        _flat([own.emissions + own.norms[:, :, None] for own in experts]),
        _flat(moves),
        _flat(emits),
    )


def split_tables(flat: Floats, starts: Ints, like: Sequence[Floats]) -> list[Floats]:
    """The parts of a flat array that are laid out as the tables of experts, in their shapes."""
    return [
        flat[start : start + own.size].reshape(own.shape)
        for start, own in zip(starts.tolist(), like, strict=True)
    ]


def _moves(own: StatePotentials) -> Floats:
    if len(own.transition_chances) == len(own.transitions):
        return own.transition_chances
    peaks = own.transitions.max(axis=(1, 2), keepdims=True)
    found: Floats = np.exp(own.transitions - peaks)
    return found


def _starts(tables: Sequence[Floats]) -> Ints:
    return np.cumsum([0, *(own.size for own in tables)], dtype=np.int64)[:-1]


def _flat(tables: Sequence[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *(own.ravel() for own in tables)])
