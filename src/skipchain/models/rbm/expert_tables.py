"""The scores of hidden states as kernels that sample them take them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skipchain.arrays import Floats, Ints, offsets_of
from skipchain.kernels.experts import ExpertTables
from skipchain.models.latent.scorer import StatePotentials


def expert_tables(experts: Sequence[StatePotentials]) -> ExpertTables:
    """The potentials of several models of hidden states for the same block of chains.

    >>> expert_tables([]).sizes
    array([], dtype=int64)
    """
    moves, emits = [_exp_transitions(p) for p in experts], [_exp_emissions(p) for p in experts]
    return ExpertTables(
        sizes=np.array([p.log_norms.shape[1] for p in experts], np.int64),
        transition_starts=_starts(moves),
        emission_starts=_starts(emits),
        transitions=_flat([p.transitions for p in experts]),
        emissions=_flat([p.emissions + p.log_norms[:, :, None] for p in experts]),
        exp_transitions=_flat(moves),
        exp_emissions=_flat(emits),
    )


def split_tables(flat: Floats, starts: Ints, like: Sequence[Floats]) -> list[Floats]:
    """The parts of a flat array that are laid out as the tables of experts, in their shapes."""
    return [
        flat[start : start + table.size].reshape(table.shape)
        for start, table in zip(starts.tolist(), like, strict=True)
    ]


def _exp_transitions(p: StatePotentials) -> Floats:
    """exp of the transition scores, up to a factor for each token."""
    if len(p.transition_probs) == len(p.transitions):
        return p.transition_probs
    shifted: Floats = np.exp(p.transitions - p.transitions.max(axis=(1, 2), keepdims=True))
    return shifted


def _exp_emissions(p: StatePotentials) -> Floats:
    """exp of the emission scores, up to a factor for each token."""
    norms = np.exp(p.log_norms - p.log_norms.max(axis=1, keepdims=True))
    scaled: Floats = p.emission_probs * norms[:, :, None]
    return scaled


def _starts(tables: Sequence[Floats]) -> Ints:
    return offsets_of(table.size for table in tables)[:-1]


def _flat(tables: Sequence[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *(table.ravel() for table in tables)])
