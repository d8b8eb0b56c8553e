"""The schema of a header: what each entry of the JSON object may be.

A field checks one value and raises `SchemaError`, which names the entry, what it is and what was
wanted. `Record` has every key that is allowed, so that an unknown key is an error, too.
"""

from __future__ import annotations

import json
import reprlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from skipchain.arrays import LARGEST_WEIGHT

LONGEST_TEXT = 1 << 20  # characters
LARGEST_INTEGER = (1 << 31) - 1
MAX_ITEMS = 10_000  # of a list, where nothing else is said
_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60


class SchemaError(ValueError):
    """Something in a model file is not what the schema says."""


def _refusal(where: str, value: Any, wanted: str) -> SchemaError:
    return SchemaError(f"{where} is {_short.repr(value)}, wanted {wanted}")


class Field(Protocol):
    """What an entry of a header may be."""

    def check(self, value: Any, where: str) -> None:
        """Refuse another value; ``where`` names the entry."""


@dataclass(frozen=True, slots=True)
class Text:
    """A string, of some choices where they are given.

    >>> Text(("linear",)).check("fast", "annealing.cooling")
    Traceback (most recent call last):
    ...
    skipchain.schema.fields.SchemaError: annealing.cooling is 'fast', wanted 'linear'
    """

    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = LONGEST_TEXT

    def check(self, value: Any, where: str) -> None:
        """Refuse what is no such string."""
        if self.choices:
            if not isinstance(value, str) or value not in self.choices:
                raise _refusal(where, value, " or ".join(map(repr, self.choices)))
        elif not isinstance(value, str) or not self.least <= len(value) <= self.most:
            least = "a string" if not self.least else f"a string of at least {self.least}"
            raise _refusal(where, value, f"{least} and at most {self.most:,} characters")


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number from ``least`` to ``most``, both included."""

    least: int = 0
    most: int = LARGEST_INTEGER

    def check(self, value: Any, where: str) -> None:
        """Refuse what is no such number; true and false are none."""
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not self.least <= value <= self.most:
            raise _refusal(where, value, f"a whole number from {self.least} to {self.most:,}")


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number from ``least`` to ``most``, both included."""

    least: float = -LARGEST_WEIGHT
    most: float = LARGEST_WEIGHT

    def check(self, value: Any, where: str) -> None:
        """Refuse what is no such number; true and false are none."""
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not self.least <= value <= self.most:  # NaN is neither
            raise _refusal(where, value, f"a number from {self.least:g} to {self.most:g}")


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def check(self, value: Any, where: str) -> None:
        """Refuse what is neither."""
        if not isinstance(value, bool):
            raise _refusal(where, value, "true or false")


@dataclass(frozen=True, slots=True)
class Nullable:
    """Null, or what another field takes."""

    of: Field

    def check(self, value: Any, where: str) -> None:
        """Refuse what is neither."""
        if value is not None:
            self.of.check(value, where)


@dataclass(frozen=True, slots=True)
class Either:
    """A string that one field takes, or anything else that the other takes."""

    text: Text
    other: Field

    def check(self, value: Any, where: str) -> None:
        """Refuse what is neither."""
        (self.text if isinstance(value, str) else self.other).check(value, where)


@dataclass(frozen=True, slots=True)
class Items:
    """A list; with ``distinct``, of strings of which none comes twice."""

    of: Field
    least: int = 0
    most: int = MAX_ITEMS
    distinct: bool = False

    def check(self, value: Any, where: str) -> None:
        """Refuse what is no such list, and items that are not what they may be."""
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            raise _refusal(where, value, f"a list of {self.least} to {self.most:,} items")
        for k, item in enumerate(value):
            self.of.check(item, f"{where}[{k}]")
        if self.distinct and len(set(value)) < len(value):
            twice, _ = Counter(value).most_common(1)[0]
            raise _refusal(where, value, f"a list without {_short.repr(twice)} twice")


@dataclass(frozen=True, slots=True)
class Pair:
    """A list of two, each with a field of its own."""

    first: Field
    second: Field

    def check(self, value: Any, where: str) -> None:
        """Refuse what is no such list."""
        if not isinstance(value, list) or len(value) != 2:
            raise _refusal(where, value, "a list of two")
        self.first.check(value[0], f"{where}[0]")
        self.second.check(value[1], f"{where}[1]")


@dataclass(frozen=True, slots=True)
class Entries:
    """An object whose keys are the model's own, and whose values are alike."""

    of: Field
    least: int = 0
    most: int = MAX_ITEMS

    def check(self, value: Any, where: str) -> None:
        """Refuse what is no such object."""
        if not isinstance(value, dict) or not self.least <= len(value) <= self.most:
            raise _refusal(where, value, f"an object of {self.least} to {self.most:,} entries")
        for key, item in value.items():
            self.of.check(item, f"{where}.{key[:60]}")


@dataclass(frozen=True, slots=True)
class Record:
    """An object with these keys; the ``optional`` ones may be missing.

    Any other key is refused, or has to be what ``others`` takes.

    >>> Record({"states": Whole(1, 8)}).check({"states": 4, "colour": "red"}, "header")
    Traceback (most recent call last):
    ...
    skipchain.schema.fields.SchemaError: header has an entry 'colour', which this version does not
    know
    """

    fields: Mapping[str, Field]
    optional: Mapping[str, Field] = field(default_factory=dict)
    others: Field | None = None

    def check(self, value: Any, where: str) -> None:
        """Refuse what is no such object, a key too many and a key too few."""
        if not isinstance(value, dict):
            raise _refusal(where, value, "an object")
        for key in self.fields:
            if key not in value:
                raise SchemaError(f"{where} lacks {key!r}")
        for key, item in value.items():
            wanted = self.fields.get(key) or self.optional.get(key) or self.others
            if wanted is None:
                unknown = f"an entry {key[:60]!r}, which this version does not know"
                raise SchemaError(f"{where} has {unknown}")
            wanted.check(item, f"{where}.{key[:60]}")


@dataclass(frozen=True, slots=True)
class Shown:
    """Any value of JSON up to a size: what is shown, and never counted with."""

    most: int = LONGEST_TEXT

    def check(self, value: Any, where: str) -> None:
        """Refuse what is too long to be read."""
        if len(json.dumps(value)) > self.most:
            raise _refusal(where, value, f"at most {self.most:,} characters")


@dataclass(frozen=True, slots=True)
class Anything:
    """Any value of JSON: what another schema checks."""

    def check(self, value: Any, where: str) -> None:
        """Take it."""
