"""Whether labels to learn from are such that decoding could give them back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skipchain.arrays import Bools
from skipchain.chains.dataset import Dataset
from skipchain.chains.potentials import Constraints
from skipchain.errors import SchemeError


def require_allowed(data: Dataset, allowed: Constraints, names: Sequence[str]) -> None:
    """Refuse known labels that decoding could never give back, naming the first."""
    assert data.labels is not None
    for first, last in data.blocks():
        offsets = data.offsets[first : last + 1]
        tokens = slice(*offsets[[0, -1]].tolist())
        if data.allowed is None:
            known = data.labels[tokens, None] == np.arange(len(names))
        else:
            known = data.allowed[tokens]
        lost = allowed.dead_end(known, offsets - offsets[0])
        if lost is not None:
            raise _broken(names, known[lost], int(offsets[0]) + lost)


def _broken(names: Sequence[str], known: Bools, token: int) -> SchemeError:
    own = [names[k] for k in np.flatnonzero(known).tolist()]
    told = f"label {own[0]!r} breaks" if len(own) == 1 else f"all of {', '.join(own)} break"
    return SchemeError(
        f"token {token}: {told} the scheme where it stands; "
        "repair labels when reading (--repair, repair=True), or use --set constraints=none "
        "(constraints='none')"
    )
