"""Fragments of HTML for notebooks: tables, and text with marks.

They bring their styles with them, have no colours of their own but translucent ones, and take the
rest from the page: so they can be read on a light ground and on a dark one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from skipchain.report.printable import printable

# The golden angle keeps the hues of neighbouring types far apart, however many there are.
GOLDEN_ANGLE = 137.508

TEXT = "white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.9; margin: .3em 0;"
MARK = (
    "color: inherit; background: hsla({hue}, 65%, 50%, .22); border-radius: .2em; "
    "border-bottom: 2px solid hsl({hue}, 60%, 50%); padding: .1em .25em;"
)
KIND = "font-size: .7em; font-weight: 600; margin-left: .4em; opacity: .85;"
CELL = "color: inherit; background: none; padding: .15em .8em .15em 0; text-align: {side};"


def hue(number: int) -> int:
    """The hue of a type by its number, far from those of its neighbours.

    >>> hue(0), hue(1)
    (210, 348)
    """
    return round(210 + number * GOLDEN_ANGLE) % 360


def type_hues(kinds: Iterable[str]) -> dict[str, int]:
    """The hue of each type, in alphabetical order."""
    return {kind: hue(number) for number, kind in enumerate(sorted(set(kinds)))}


def paragraph(text: str, *, faint: bool = False) -> str:
    """A line of text.

    >>> paragraph("a < b")
    '<p style="margin: .3em 0;">a &lt; b</p>'
    """
    style = "margin: .3em 0;" + (" opacity: .7;" if faint else "")
    return f'<p style="{style}">{shown(text)}</p>'


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()
) -> str:
    """A table of cells that are text; columns of ``numbers`` are aligned to the right.

    >>> "<b>" in table(("word",), [("<b>",)])
    False
    """
    sides = ["right" if k in numbers else "left" for k in range(len(headings))]

    def line(cells: Sequence[str], tag: str) -> str:
        pairs = zip(cells, sides, strict=True)
        styled = (
            f'<{tag} style="{CELL.format(side=side)}">{shown(cell)}</{tag}>' for cell, side in pairs
        )
        return f'<tr style="background: none;">{"".join(styled)}</tr>'

    head = f"<thead>{line(headings, 'th')}</thead>" if any(headings) else ""
    body = "\n".join(line(row, "td") for row in rows)
    return f'<table style="border-collapse: collapse;">{head}<tbody>\n{body}\n</tbody></table>'


def marked_text(text: str, spans: Iterable[tuple[int, int, str, str]]) -> str:
    """A text with the spans (start, end, type, tooltip) in it marked.

    >>> marked_text("Ada <3", [(0, 3, "PER", "sure")]).endswith("</mark> &lt;3</p>")
    True
    """
    listed = list(spans)
    hues = type_hues(kind for _, _, kind, _ in listed)
    marks = [
        (start, end, mark(text[start:end], kind, hues[kind], tip))
        for start, end, kind, tip in listed
    ]
    return f'<p style="{TEXT}">{interleaved(text, marks)}</p>'


def mark(text: str, kind: str, hue: int, tip: str) -> str:
    """A piece of text with its type behind it, in the colour of that type."""
    small = f'<small style="{KIND}">{shown(kind)}</small>'
    style = MARK.format(hue=hue)
    inside = escape(text, quote=False)
    return f'<mark style="{style}" title="{shown(tip)}">{inside}{small}</mark>'


def interleaved(text: str, pieces: Iterable[tuple[int, int, str]]) -> str:
    """A text as HTML in which some places (start, end) are replaced by pieces of HTML.

    >>> interleaved("a < b", [(4, 5, "<b>b</b>")])
    'a &lt; <b>b</b>'
    """
    parts: list[str] = []
    at = 0
    for start, end, piece in pieces:
        parts += [escape(text[at:start], quote=False), piece]
        at = end
    return "".join([*parts, escape(text[at:], quote=False)])


def shown(text: str) -> str:
    """A string of others as HTML, with its control characters written out."""
    return escape(printable(text))
