"""The published tables of Stewart's thesis, as they are in ``published.txt`` beside this module."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from skipchain.reproduce.labelling import Published, parse_figures


@cache
def published(number: str) -> Published:
    """A table by its number: the figure of each column, row by row.

    >>> published("6.3")["seconds"]["HRF"], published("A.2")["average F1"]["CRF*"]
    (3200.0, 91.5)
    """
    for text in (files(__package__) / "published.txt").read_text(encoding="utf-8").split("\n\n"):
        heading, _, body = text.partition("\n")
        name, *columns = heading.removeprefix("Table ").split()
        if name == f"{number}:":
            return parse_figures(columns, body)
    raise KeyError(number)
