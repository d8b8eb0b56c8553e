"""Patterns over n-grams: ``died in (a|an) * accident``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

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
    """What one word of an n-gram may be: one of words or classes, any word where both are empty.

    The word in a ``slot`` is part of the result; ``negated`` turns the condition round.
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
            same = f"tag = {sql_literal(tag)}"
            if tag != name:
                same = f"starts_with(tag, {sql_literal(tag)})"
            tests.append(
                f"{column} IN (SELECT word FROM tags WHERE {same} "
                f"GROUP BY word HAVING sum(share) >= {MIN_TAG_SHARE})"
            )
        sql = f"({' OR '.join(tests)})" if tests else "TRUE"
        if self.negated:
            return f"NOT {sql}"
        if not self.words:  # a class or any word: the marks of sentences are none
            return f"{sql} AND {column} NOT IN ({sql_literal(START)}, {sql_literal(END)})"
        return sql


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
        if not any(item.slot for item in items):
            items = [replace(i, slot=bool(i.classes) and not i.negated) for i in items]
        if not any(item.slot for item in items):
            advice = "write * where the fillers stand, such as 'died in (a|an) * accident'"
            raise PatternError(f"the pattern {text!r} has no slot; {advice}")
        return cls(text, tuple(items))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def slots(self) -> tuple[int, ...]:
        """Where the slots are."""
        return tuple(k for k, item in enumerate(self.items) if item.slot)

    @property
    def tags(self) -> tuple[str, ...]:
        """The classes that are parts of speech."""
        return tuple(name for item in self.items for name in item.classes if name not in SHAPES)

    def select(self, source: str) -> str:
        """The query for fillers and their counts, commonest first."""
        slots = ", ".join(f"w{k + 1}" for k in self.slots)
        tests = " AND ".join(item.condition(f"w{k + 1}") for k, item in enumerate(self.items))
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
        marks = [option for option in options if option in (START, END)]
        matches = {option: CLASS.fullmatch(option) for option in options if option not in marks}
        classes = [match[1] for match in matches.values() if match]
        words = [option for option in options if not matches.get(option)]
        if any(len(option) > 1 and option[0] == "<" for option in words if option not in marks):
            fault = "in a bracket each class stands by itself, such as (<NN>|<JJ>|it)"
            raise PatternError(f"{part!r} of the pattern {whole!r}: {fault}")
        return Item(tuple(words), tuple(classes), slot, negated)
    if slot:
        fault = "behind * stands a class such as *<Cap>, or nothing"
        raise PatternError(f"{part!r} of the pattern {whole!r}: {fault}")
    return Item((rest,), negated=negated)
