"""Mutations of headers: one declared entry at a time, by what the schema says of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from hardening.fuzz.declared import Place
from hardening.fuzz.mutant import Mutant, Sample
from hardening.fuzz.texts import edited_text
from skipchain.schema.fields import Entries, Field, Flag, Items, Nullable, Number, Text, Whole

LONG, DEEP = "a text of 10 MB", "brackets 1000 deep"  # too long to stand in a recipe
STRANGE: tuple[Any, ...] = (
    None, True, False, "", "x", "\x1b[2J", "-1", [], [[]], {}, {"a": 1}, [None], 0, 1, -1, 2, 0.5,
    -0.0, 1e308, -1e308, 5e-324, float("nan"), float("inf"), -float("inf"), 10**400, 2**31, 2**63,
    -(2**63), 2**64, 1.0, 1e15, 1e16,
)  # fmt: skip
DULL = ("summary", "versions")  # little is read of these, so few cases change them


def mutate_header(rng: Random, mutant: Mutant, samples: Sequence[Sample]) -> None:
    """Change one entry of the header, or the text that it becomes."""
    kind = rng.random()
    if kind < 0.04:
        _edit_text(rng, mutant)
        return
    place, field = _any_place(rng, mutant)
    parent = mutant.header
    try:
        for key in place[:-1]:
            parent = parent[key]
        old = parent[place[-1]] if place else mutant.header
    except (LookupError, TypeError):
        return  # a mutation before has taken it away
    if not isinstance(parent, dict | list):
        return  # or put a string in its place
    if kind < 0.10:
        _change_keys(rng, mutant, place, old if isinstance(old, dict) else parent)
        return
    new = _new_value(rng, old, field, place, samples)
    mutant.recipe.append(f"header {_shown(place)}: {_short(old)} -> {_short(new)}")
    if new is LONG or new is DEEP:
        _put_large(mutant, parent, place, new)
    elif place:
        parent[place[-1]] = new
    else:
        mutant.header = new


def _any_place(rng: Random, mutant: Mutant) -> tuple[Place, Field | None]:
    while True:
        place, field = rng.choice(mutant.sample.fields)
        dull = not place or any(key in DULL for key in place)
        if not dull or rng.random() < 0.2:
            return place, field


def _new_value(
    rng: Random, old: Any, field: Field | None, place: Place, samples: Sequence[Sample]
) -> Any:
    how = rng.random()
    if how < 0.5:
        return _near(rng, old, field, place)
    if how < 0.75:
        return _at_limit(rng, old, field, place)
    if how < 0.85:
        return _of_another(rng, old, place, samples)
    if how < 0.852:
        return LONG
    if how < 0.86:
        return DEEP
    return rng.choice(STRANGE)


def _near(rng: Random, old: Any, field: Field | None, place: Place) -> Any:
    """Another value that may well be allowed."""
    if isinstance(field, Nullable):
        if old is None or rng.random() < 0.2:
            return _inside(rng, field.of) if old is None else None
        field = field.of
    if isinstance(field, Text) and field.choices:
        return rng.choice(field.choices)
    for kind, other in _OTHERS.items():
        if isinstance(old, kind):
            return other(rng, old, place)
    return rng.choice(STRANGE)


def _other_whole(rng: Random, old: int, place: Place) -> int:
    return rng.choice((old + 1, old - 1, 2 * old, 0, 1, 2, 3, rng.randrange(100)))


def _other_number(rng: Random, old: float, place: Place) -> float:
    return rng.choice((2 * old, old / 2, -old, 0.0, 1.0, 1e-9, rng.random(), 100.0))


def _role(place: Place) -> str:
    """The name of the entry that a text is, or is an item of."""
    return next((key for key in reversed(place) if isinstance(key, str)), "")


def _inside(rng: Random, field: Field) -> Any:
    """A value that a field takes."""
    if isinstance(field, Text):
        return rng.choice(field.choices or ("x",))
    if isinstance(field, Whole):
        return rng.randrange(field.least, min(field.most, field.least + 9) + 1)
    if isinstance(field, Number):
        return rng.uniform(max(field.least, -9.0), min(field.most, 9.0))
    return {Flag: True, Items: [], Entries: {}}.get(type(field), "x")  # type: ignore[call-overload]


def _at_limit(rng: Random, old: Any, field: Field | None, place: Place) -> Any:
    """The least and the most that a field takes, and one beyond."""
    field = field.of if isinstance(field, Nullable) else field
    if isinstance(field, Whole):
        return rng.choice((field.least, field.least - 1, field.most, field.most + 1))
    if isinstance(field, Number):
        return rng.choice((field.least, field.most, field.least - 1, 2 * field.most, 5e-324))
    if isinstance(field, Text) and not field.choices:
        most = min(field.most, 10_000) if rng.random() < 0.95 else field.most
        return "x" * rng.choice((field.least, max(field.least - 1, 0), most, most + 1))
    if isinstance(field, (Items, Entries)) and isinstance(old, list) and old:
        most = field.most if field.most <= 1000 or rng.random() < 0.1 else 1000
        return (old * (most // len(old) + 1))[: most + rng.randrange(2)]
    return _near(rng, old, field, place)


def _of_another(rng: Random, old: Any, place: Place, samples: Sequence[Sample]) -> Any:
    """What another sample has in the same place."""
    value: Any = rng.choice(samples).header
    try:
        for key in place:
            value = value[key]
    except (LookupError, TypeError):
        return rng.choice(STRANGE)
    return value


def _other_list(rng: Random, old: list[Any], place: Place) -> list[Any]:
    if not old:
        return [rng.choice(STRANGE)]
    at = rng.randrange(len(old))
    return rng.choice(
        (
            [],
            old[::-1],
            old[:at] + old[at + 1 :],
            old[: at + 1] + old[at:],
            rng.sample(old, len(old)),
            old[:at],
            [*old, rng.choice(old)],
        )
    )


def _other_table(rng: Random, old: dict[str, Any], place: Place) -> dict[str, Any]:
    if not old:
        return {"x": 1}
    keys = list(old)
    one, other = rng.choice(keys), rng.choice(keys)
    return rng.choice(
        (
            {},
            {key: old[key] for key in reversed(keys)},
            {key: old[key] for key in keys if key != one},
            {**old, one: old[other], other: old[one]},
            {(f"{key}x" if key == one else key): value for key, value in old.items()},
        )
    )


_OTHERS: dict[type, Callable[[Random, Any, Place], Any]] = {
    bool: lambda rng, old, place: not old,  # before int, which it is, too
    int: _other_whole,
    float: _other_number,
    str: lambda rng, old, place: edited_text(rng, old, _role(place)),
    list: _other_list,
    dict: _other_table,
}


def _change_keys(rng: Random, mutant: Mutant, place: Place, table: Any) -> None:
    """A key too few, too many, or twice in the text."""
    if not isinstance(table, dict) or not table:
        return
    key = rng.choice(list(table))
    how = rng.choice(("delete", "delete", "add", "twice"))
    mutant.recipe.append(f"header {_shown(place)}: {how} the key {_short(key)}")
    if how == "delete":
        del table[key]
    elif how == "add":
        table[rng.choice(("colour", "", "__class__", "x" * 1000, f"{key} "))] = 1
    else:
        start = json.dumps(key) + ": "
        mutant.text_edits.append(lambda text: text.replace(start, f"{start}1, {start}", 1))


def _put_large(mutant: Mutant, parent: Any, place: Place, what: str) -> None:
    """Put a placeholder into the header, and into the text what it stands for."""
    if not place:
        return
    parent[place[-1]] = what
    large = '"' + "x" * 10_000_000 + '"' if what is LONG else "[" * 1000 + "]" * 1000
    mutant.text_edits.append(lambda text: text.replace(json.dumps(what), large))


def _edit_text(rng: Random, mutant: Mutant) -> None:
    """Change the text of the header as such."""
    at, length, how = rng.random(), rng.randrange(1, 30), rng.randrange(4)
    mutant.recipe.append(f"text of the header: edit {how} of {length} characters at {at:.3f}")

    def edit(text: str) -> str:
        start = int(at * len(text))
        piece = text[start : start + length]
        middle = ("", piece * 2, piece[::-1], "\\u0000" + piece)[how]
        return text[:start] + middle + text[start + length :]

    mutant.text_edits.append(edit)


def _shown(place: Place) -> str:
    return ".".join(map(str, place)) or "itself"


def _short(value: Any) -> str:
    text = value if value is LONG or value is DEEP else repr(value)
    return text if len(text) <= 120 else f"{text[:110]}… ({len(text)} characters)"
