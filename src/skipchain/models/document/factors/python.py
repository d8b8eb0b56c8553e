"""Factors that users write in Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from skipchain.errors import SkipchainError


@runtime_checkable
class PythonFactor(Protocol):
    """The methods that a user's factor must have: it keeps track of one document's labels.

    Labels are those of the model, in the encoding it learnt. `update` is called for every change,
    so that the factor can keep whatever sums it needs.
    """

    def begin(self, words: Sequence[str], labels: Sequence[str]) -> None:
        """A document, and the labels that its tokens have now."""

    def score(self, position: int, label: str) -> float:
        """What the labelling is worth if this token had the label, all others being as they are.

        It is a logarithm: 0 is indifferent, −4 a heavy penalty. Only differences between the labels
        of one token count.
        """

    def update(self, position: int, label: str) -> None:
        """The token has this label now."""


def checked_score(factor: PythonFactor, words: Sequence[str], position: int, label: str) -> float:
    """The score that a factor gives, checked; its errors name the token and label."""
    try:
        score = float(factor.score(position, label))
    except Exception as error:
        raise _factor_error(factor, words, position, label, error) from error
    if not math.isfinite(score):
        raise SkipchainError(
            f"the factor {type(factor).__name__} gave {score} {_where(words, position, label)}; a "
            "score is a finite number, and -10000 forbids"
        )
    return score


def checked_update(factor: PythonFactor, words: Sequence[str], position: int, label: str) -> None:
    """Report a change to a factor; its errors name the token and label."""
    try:
        factor.update(position, label)
    except Exception as error:
        raise _factor_error(factor, words, position, label, error) from error


def _factor_error(
    factor: PythonFactor, words: Sequence[str], position: int, label: str, error: Exception
) -> SkipchainError:
    return SkipchainError(
        f"the factor {type(factor).__name__} failed {_where(words, position, label)}: "
        f"{type(error).__name__}: {error}"
    )


def _where(words: Sequence[str], position: int, label: str) -> str:
    return f"at token {position} of its document ({words[position]!r}), label {label}"
