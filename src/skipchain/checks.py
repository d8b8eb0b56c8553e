"""Checks of single values that users give; each error says what was wanted and what was given."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np

from skipchain.errors import ParameterError


def check_integer(name: str, value: Any, *, least: int = 1, most: int | None = None) -> None:
    """Refuse what is not a whole number from ``least`` to ``most``, if there is such a limit.

    >>> check_integer("epochs", 0)
    Traceback (most recent call last):
    ...
    skipchain.errors.ParameterError: epochs must be a whole number of at least 1, got 0
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}")
    if most is not None and value > most:
        raise ParameterError(f"{name} must be at most {most:,}, got {value!r}")


def check_number(name: str, value: Any, *, least: float = 0.0, below: float = np.inf) -> None:
    """Refuse what is not a number of at least ``least``, and below ``below``."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not least <= value < below:
        end = "" if below == np.inf else f" and below {below:g}"
        raise ParameterError(f"{name} must be a number of at least {least:g}{end}, got {value!r}")


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False: any other text would count as True.

    >>> check_flag("stop", "no")
    Traceback (most recent call last):
    ...
    skipchain.errors.ParameterError: stop must be True or False, got 'no'
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False, got {value!r}")


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Refuse what is not one of the choices."""
    listed = list(choices)
    if value not in listed:
        names = ", ".join(str(choice) for choice in listed)
        raise ParameterError(f"{name} must be one of {names}, got {value!r}")


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint at the known names that are most like a misspelt one, or the list of all of them.

    >>> nearest("epoch", ["epochs", "rate"])
    'did you mean epochs?'
    >>> nearest("xyz", ["epochs", "rate"])
    'there are epochs, rate'
    """
    listed = list(known)
    close = difflib.get_close_matches(name, listed, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(listed)}"
