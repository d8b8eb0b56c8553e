"""Labels given for some tokens, as the set of model labels that each token may have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skipchain.errors import SkipchainError
from skipchain.schemes import check_scheme

# What a prefix says of its token: (begins a span, ends a span); None where it leaves that open.
_MEANING: dict[str, dict[str, tuple[bool | None, bool | None]]] = {
    "io": {"I": (None, None)},
    "iob1": {"B": (True, None), "I": (None, None)},
    "iob2": {"B": (True, None), "I": (False, None)},
    "ioe1": {"E": (None, True), "I": (None, None)},
    "ioe2": {"E": (None, True), "I": (None, False)},
    "bioes": {"B": (True, False), "I": (False, False), "E": (False, True), "S": (True, True)},
    "bilou": {"B": (True, False), "I": (False, False), "L": (False, True), "U": (True, True)},
}


def allowed_labels(
    given: Sequence[str | None],
    scheme: str | None,
    labels: Sequence[str],
    encoding: str | None,
) -> NDArray[np.bool_]:
    """Which of the model's labels, written in ``encoding``, agree with labels given in ``scheme``.

    Returns [N, L]; a token given None may have any label.

    >>> labels = ["B-PER", "E-PER", "O", "S-PER"]
    >>> allowed_labels(["B-PER", None], "iob2", labels, "bioes").astype(int)
    array([[1, 0, 0, 1],
           [1, 1, 1, 1]])
    """
    rows = {
        label: _row(label, scheme, labels, encoding) for label in set(given) if label is not None
    }
    for token, label in enumerate(given):
        if label is not None and not rows[label].any():
            raise SkipchainError(
                f"token {token}: label {label!r} is unknown to the model, which has "
                f"{', '.join(labels)}"
            )
    free = np.ones(len(labels), np.bool_)
    found = [free if label is None else rows[label] for label in given]
    return np.array(found, np.bool_).reshape(len(given), len(labels))


def _row(
    label: str, scheme: str | None, labels: Sequence[str], encoding: str | None
) -> NDArray[np.bool_]:
    if scheme is None or encoding is None or scheme == encoding or "-" not in label:
        return np.array([label == own for own in labels])
    wanted = _meaning(label, check_scheme(scheme))
    return np.array(["-" in own and _agree(wanted, _meaning(own, encoding)) for own in labels])


def _meaning(label: str, scheme: str) -> tuple[str, bool | None, bool | None]:
    prefix, _, kind = label.partition("-")
    begins, ends = _MEANING[scheme].get(prefix, (None, None))
    return kind, begins, ends


def _agree(
    a: tuple[str, bool | None, bool | None], b: tuple[str, bool | None, bool | None]
) -> bool:
    same_bits = all(x is None or y is None or x == y for x, y in zip(a[1:], b[1:], strict=True))
    return a[0] == b[0] and same_bits
