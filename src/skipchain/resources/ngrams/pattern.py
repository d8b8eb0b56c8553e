"""Patterns over n-grams: ``died in (a|an) * accident``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from skipchain.errors import SkipchainError
from skipchain.resources.ngrams.duck import sql_literal

START, END = "<s>", "</s>"  # around every sentence of counted text
SHAPES = {
    "Cap": r"^\p{Lu}",
    "UPPER": r"^\P{Ll}*\p{Lu}\P{Ll}*$",
    "lower": r"^\P{Lu}*\p{Ll}\P{Lu}*$",
    "num": r"^[+-]?\d[\d.,:/-]*$",
    "punct": r"^[^\p{L}\p{N}]+$",
}
CLASS = re.compile(r"<([^<>\s|]+(?:\|[^<>\s|]+)*)>")
MIN_TAG_SHARE = 0.1  # of its occurrences that a word must have a tag in to be of that class


class PatternError(SkipchainError, ValueError):
    """A pattern cannot be read, or asks for what a store does not have."""


@dataclass(frozen=True, slots=True)
class Item:
    """What one word of an n-gram may be: one of words or classes, all words where both are empty.

    A ``slot`` is told; ``negated`` turns the condition round.
    """

    words: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    slot: bool = False
    negated: bool = False

    def condition(self, column: str) -> str:
        """The condition as SQL, for the words of a column."""
        tests = []
        if self.words:
            tests.append(f"{column} IN ({', '.join(map(sql_literal, self.words))})")
        for name in self.classes:
            if name in SHAPES:
                tests.append(f"regexp_matches({column}, {sql_literal(SHAPES[name])})")
                continue
            tag = name.removesuffix("*")
            same = (
                f"starts_with(tag, {sql_literal(tag)})"
                if tag != name
                else f"tag = {sql_literal(tag)}"
            )
            tests.append(
                f"{column} IN (SELECT word FROM tags WHERE {same} "
                f"GROUP BY word HAVING sum(share) >= {MIN_TAG_SHARE})"
            )
        found = f"({' OR '.join(tests)})" if tests else "TRUE"
        if self.negated:
            return f"NOT {found}"
        if not self.words:  # a class or any word: the marks of sentences are none
            return f"{found} AND {column} NOT IN ({sql_literal(START)}, {sql_literal(END)})"
        return found


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern: words, ``(one|of|several)``, classes, and slots ``*``, with spaces between.

    A class is ``<Cap>``, ``<UPPER>``, ``<lower>``, ``<num>`` or ``<punct>`` by the word's letters,
    or a part of speech that the store knows, such as ``<NN>``; ``<NN*>`` is every tag that begins
    so, and ``<NN|JJ>`` one of both. ``*<Cap>`` is a slot for words of a class. Without any ``*``
    the classes are the slots. ``!`` before a word, a bracket or a class: anything else. A backslash
    makes a word of what would be a sign.

    >>> pattern = Pattern.parse("died in (a|an) * accident")
    >>> len(pattern), pattern.slots
    (5, (3,))
    >>> Pattern.parse("<Cap> and his").slots
    (0,)
    """

    text: str
    items: tuple[Item, ...]

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """The pattern that a text spells; a `PatternError` says what is wrong with it."""
        items = [parse_item(part, text) for part in text.split()]
        if not any(own.slot for own in items):
            items = [
                Item(own.words, own.classes, bool(own.classes) and not own.negated, own.negated)
                for own in items
            ]
        if not any(own.slot for own in items):
            raise PatternError(
                f"the pattern {text!r} has no slot; write * where the fillers stand, such as "
                "'died in (a|an) * accident'"
            )
        return cls(text, tuple(items))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def slots(self) -> tuple[int, ...]:
        """Where the slots are."""
        return tuple(k for k, own in enumerate(self.items) if own.slot)

    @property
    def tags(self) -> tuple[str, ...]:
        """The classes that are parts of speech."""
        return tuple(name for own in self.items for name in own.classes if name not in SHAPES)

    def select(self, source: str) -> str:
        """The query for fillers and their counts, commonest first."""
        slots = ", ".join(f"w{k + 1}" for k in self.slots)
        tests = " AND ".join(own.condition(f"w{k + 1}") for k, own in enumerate(self.items))
        return (
            f"SELECT {slots}, CAST(sum(count) AS BIGINT) AS total FROM {source} "
            f"WHERE {tests} GROUP BY {slots} ORDER BY total DESC, {slots}"
        )


def parse_item(part: str, whole: str) -> Item:
    """One word of a pattern."""
    if part.startswith("\\"):
        return Item((part[1:] or part,))
    negated = part.startswith("!") and len(part) > 1
    rest = part[1:] if negated else part
    slot = rest.startswith("*") and not negated
    if slot:
        rest = rest[1:]
        if not rest:
            return Item(slot=True)
    if rest in (START, END):
        return Item((rest,), slot=slot, negated=negated)
    if match := CLASS.fullmatch(rest):
        return Item(classes=tuple(match[1].split("|")), slot=slot, negated=negated)
    if len(rest) > 1 and rest.startswith("("):
        if not rest.endswith(")"):
            raise PatternError(f"the bracket {part!r} of the pattern {whole!r} is not closed")
        options = rest[1:-1].split("|")
        if "" in options:
            raise PatternError(f"{part!r} of the pattern {whole!r} has an empty alternative")
        marks = [own for own in options if own in (START, END)]
        classes = [
            match[1] for own in options if own not in marks and (match := CLASS.fullmatch(own))
        ]
        words = [own for own in options if own in marks or not CLASS.fullmatch(own)]
        if any(len(own) > 1 and own[0] == "<" for own in words if own not in marks):
            raise PatternError(
                f"{part!r} of the pattern {whole!r}: in a bracket each class stands by itself, "
                "such as (<NN>|<JJ>|it)"
            )
        return Item(tuple(words), tuple(classes), slot, negated)
    if slot:
        raise PatternError(
            f"{part!r} of the pattern {whole!r}: behind * stands a class such as *<Cap>, or nothing"
        )
    return Item((rest,), negated=negated)
