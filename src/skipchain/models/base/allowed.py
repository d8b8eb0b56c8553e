"""Whether labels to learn from are such that decoding could give them back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skipchain.chains.dataset import Dataset
from skipchain.chains.potentials import Constraints
from skipchain.errors import SchemeError


def require_allowed(data: Dataset, allowed: Constraints, names: Sequence[str]) -> None:
    """Refuse known labels that decoding could never give back, naming the first."""
    assert data.labels is not None
    known = data.labels[:, None] == np.arange(len(names)) if data.allowed is None else data.allowed
    token = allowed.dead_end(known, data.offsets)
    if token is None:
        return
    own = [names[k] for k in np.flatnonzero(known[token]).tolist()]
    told = f"label {own[0]!r} breaks" if len(own) == 1 else f"all of {', '.join(own)} break"
    raise SchemeError(
        f"token {token}: {told} the scheme where it stands; "
        "repair labels when reading (--repair, repair=True), or use --set constraints=none "
        "(constraints='none')"
    )
