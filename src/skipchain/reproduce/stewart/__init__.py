"""Stewart, *Structure Learning in Sequential Data* (2005): toy problems, Cora references.

Only what the thesis tabulates; the models are in `skipchain.models`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from skipchain.reproduce.labelling import Published, parse_figures


@cache
def published(number: str) -> Published:
    """A table of the thesis, from ``published.txt``: row by row, the figure of each column.

    >>> published("6.3")["seconds"]["HRF"], published("A.2")["average F1"]["CRF*"]
    (3200.0, 91.5)
    """
    for text in (files(__name__) / "published.txt").read_text(encoding="utf-8").split("\n\n"):
        heading, _, body = text.partition("\n")
        name, *columns = heading.removeprefix("Table ").split()
        if name == f"{number}:":
            return parse_figures(columns, body)
    raise KeyError(number)
