"""The scores of hidden states as kernels that sample them take them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.kernels.experts import ExpertTables
from skipchain.models.latent.scorer import StatePotentials


def expert_tables(experts: Sequence[StatePotentials]) -> ExpertTables:
    """The potentials of several models of hidden states for the same block of chains.

    >>> expert_tables([]).sizes
    array([], dtype=int64)
    """
    moves = [_exp_transitions(own) for own in experts]
    emits = [
        own.emission_probs
        * np.exp(own.log_norms - own.log_norms.max(axis=1, keepdims=True))[:, :, None]
        for own in experts
    ]
    return ExpertTables(
        np.array([own.log_norms.shape[1] for own in experts], np.int64),
        _starts(moves),
        _starts(emits),
        _flat([own.transitions for own in experts]),
        _flat([own.emissions + own.log_norms[:, :, None] for own in experts]),
        _flat(moves),
        _flat(emits),
    )


def split_tables(flat: Floats, starts: Ints, like: Sequence[Floats]) -> list[Floats]:
    """The parts of a flat array that are laid out as the tables of experts, in their shapes."""
    return [
        flat[start : start + own.size].reshape(own.shape)
        for start, own in zip(starts.tolist(), like, strict=True)
    ]


def _exp_transitions(own: StatePotentials) -> Floats:
    if len(own.transition_probs) == len(own.transitions):
        return own.transition_probs
    peaks = own.transitions.max(axis=(1, 2), keepdims=True)
    found: Floats = np.exp(own.transitions - peaks)
    return found


def _starts(tables: Sequence[Floats]) -> Ints:
    return np.cumsum([0, *(own.size for own in tables)], dtype=np.int64)[:-1]


def _flat(tables: Sequence[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *(own.ravel() for own in tables)])
