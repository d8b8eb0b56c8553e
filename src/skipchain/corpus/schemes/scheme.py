"""The table of schemes by name."""

from __future__ import annotations

from dataclasses import dataclass

from skipchain.errors import SchemeError


def check_scheme(name: str) -> str:
    """The canonical name of a scheme that is named in any case, or by an alias.

    >>> check_scheme("BIO"), check_scheme("IOBES"), check_scheme("iob1")
    ('iob2', 'bioes', 'iob1')
    """
    plain = str(name).strip().lower()
    plain = ALIASES.get(plain, plain)
    if plain == "iob":
        raise SchemeError(
            f"scheme {name!r} can mean two things: say 'iob2' if B- opens every span, or 'iob1' "
            "if B- only splits neighbours of the same type"
        )
    if plain not in TABLE:
        raise SchemeError(f"unknown scheme {name!r}; the schemes are {', '.join(SCHEMES)}")
    return plain


def is_no_scheme(name: str | None) -> bool:
    """Whether labels are said to mark no spans; None says nothing.

    >>> is_no_scheme("none"), is_no_scheme("iob2"), is_no_scheme(None)
    (True, False, False)
    """
    return name is not None and str(name).strip().lower() == NO_SCHEME


@dataclass(frozen=True, slots=True)
class Scheme:
    """A scheme: which marks of a token it writes, and with which letters.

    A mark has two bits: 1, the token opens its span; 2, the token closes it. ``letters`` spells the
    four marks (inside, opens, closes, both), and ``bits`` are those the scheme writes at all. An
    ``only_if_needed`` scheme writes its bit only where two spans of the same type touch. A ``bare``
    one writes the type alone.
    """

    name: str
    letters: str
    bits: int
    only_if_needed: bool = False
    bare: bool = False

    @property
    def prefixes(self) -> dict[str, int]:
        """The marks that the scheme can write, by letter."""
        if self.bare:
            return {}
        return {letter: mark for mark, letter in enumerate(self.letters) if not mark & ~self.bits}

    @property
    def merges(self) -> bool:
        """Whether touching spans of one type come out as one."""
        return not self.bits

    @property
    def forms(self) -> str:
        """What a label of a span looks like, for errors."""
        return "TYPE" if self.bare else ", ".join(f"{letter}-TYPE" for letter in self.prefixes)

    def spell(self, mark: int, name: str) -> str:
        """The label of a token with that mark in a span of that type."""
        return name if self.bare else f"{self.letters[mark]}-{name}"


OPENS, CLOSES = 1, 2  # the bits of a mark
OUTSIDE = -1  # the mark, and the type, of a token labelled O

TABLE = {
    scheme.name: scheme
    for scheme in (
        Scheme("io", "IBES", 0),
        Scheme("iob1", "IBES", OPENS, only_if_needed=True),
        Scheme("iob2", "IBES", OPENS),
        Scheme("ioe1", "IBES", CLOSES, only_if_needed=True),
        Scheme("ioe2", "IBES", CLOSES),
        Scheme("bioes", "IBES", OPENS | CLOSES),
        Scheme("bilou", "IBLU", OPENS | CLOSES),
        Scheme("bare", "IBES", 0, bare=True),
    )
}
SCHEMES: tuple[str, ...] = tuple(TABLE)
NO_SCHEME = "none"  # what a user calls labels that mark no spans
ALIASES = {"bio": "iob2", "iobes": "bioes", "biluo": "bilou", "bioul": "bilou"}
