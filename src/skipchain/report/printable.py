"""Strings of others as a terminal may be given them."""

from __future__ import annotations

import re

# Control characters (C0, DEL, C1: escape sequences begin with one), characters that turn the
# direction of the text around them, separators of lines, and halves of characters.
_HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
LAYOUT = "\n\t"


def printable(text: str, *, layout: str = "") -> str:
    """The text with its control characters written out, but for those of its own ``layout``.

    A word or a label may hold anything: sent as it is, it could colour the screen, rename the
    window, or make a line read as another.

    >>> print(printable("\\x1b[31mAda\\x07\\u202e"))
    \\x1b[31mAda\\x07\\u202e
    >>> printable("one\\n\\ttwo\\r", layout=LAYOUT)
    'one\\n\\ttwo\\\\r'
    """
    return _HIDDEN.sub(lambda match: match[0] if match[0] in layout else _escape(match[0]), text)


def one_line(text: str) -> str:
    """The text on one line: runs of white space are a space, other control characters are shown.

    >>> one_line("no such file:\\n  a\\x1bb")
    'no such file: a\\\\x1bb'
    """
    return " ".join(printable(text, layout=LAYOUT).split())


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
