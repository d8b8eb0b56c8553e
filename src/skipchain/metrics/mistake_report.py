"""Mistakes as text and as a page, for people."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from operator import add

from skipchain.corpus.corpus import plural
from skipchain.io.html import html_page, hues, marked, type_classes
from skipchain.io.standoff import tight
from skipchain.metrics.mistakes import (
    MISTAKE_KINDS,
    Mistake,
    TypedSpan,
    count_mistakes,
    first_of_each_kind,
)
from skipchain.report.printable import printable

CONTEXT = 4  # words shown on either side of a mistake, in text
LONGEST_CELL = 32  # characters of a span, in text
NONE = "–"  # in the place of a span that is not there

STYLE = """
table { border-collapse: collapse; font: .9rem/1.6 system-ui, sans-serif; }
.kinds td { padding: .1rem 1.25rem .1rem 0; }
.kinds td:nth-child(2) { text-align: right; font-variant-numeric: tabular-nums; }
.mistake { border-top: 1px solid var(--line); padding: .5rem 0; }
.mistake p { margin: 0; overflow-wrap: anywhere; padding-left: 4.5rem; text-indent: -4.5rem; }
.mistake b { display: inline-block; width: 4.5rem; text-indent: 0; color: var(--faint);
  font: .8rem/1.6 system-ui, sans-serif; }
a { color: inherit; }
"""


def mistakes_text(
    mistakes: Sequence[Mistake], *, limit: int | None = None, advice: str = ""
) -> str:
    """The mistakes as lines of text: how many there are of each kind, then each in its context.

    At most ``limit`` of each kind are shown, by default all; ``advice`` says how to see the rest.

    >>> mistake = Mistake("missed", 3, ("in", "New", "York", "."), (1, 3, "LOC"), None)
    >>> print(mistakes_text([mistake]))
    1 mistake
    boundary  0  the right type, but other ends
    type      0  the right ends, but another type
    both      0  an overlap, but other ends and another type
    missed    1  a gold span with no predicted one to go with it
    spurious  0  a predicted span with no gold one to go with it
    <BLANKLINE>
    missed
    sentence  gold          found  context
           3  LOC New York  –      in [New York] .
    """
    counts = count_mistakes(mistakes)
    lines = [plural(len(mistakes), "mistake")]
    lines += columns([(kind, f"{counts[kind]:,}", what) for kind, what in MISTAKE_KINDS.items()])
    chosen = first_of_each_kind(mistakes, limit)
    for kind, count in counts.items():
        rows = [text_row(mistake) for mistake in chosen if mistake.kind == kind]
        if count:
            lines += [
                "",
                kind,
                *columns([("sentence", "gold", "found", "context"), *rows], right=0),
            ]
        if count > len(rows):
            lines.append(f"… and {count - len(rows):,} more{advice}")
    return "\n".join(lines)


def mistakes_page(
    mistakes: Sequence[Mistake], *, limit: int | None = None, title: str = "Mistakes"
) -> str:
    """The mistakes as an HTML page that needs no other file, the whole sentence of each twice.

    Once with the gold span marked, once with the predicted one. At most ``limit`` of each kind are
    shown, by default all.

    >>> mistake = Mistake("missed", 3, ("in", "New", "York", "."), (1, 3, "LOC"), None)
    >>> "New York<small>LOC</small></mark>." in mistakes_page([mistake])
    True
    """
    counts = count_mistakes(mistakes)
    chosen = first_of_each_kind(mistakes, limit)
    classes = type_classes(name for mistake in mistakes for name in mistake.types if name)
    rows = "\n".join(
        f'<tr><td><a href="#{kind}">{kind}</a></td><td>{counts[kind]:,}</td><td>{what}</td></tr>'
        for kind, what in MISTAKE_KINDS.items()
    )
    parts = [f'<table class="kinds">\n{rows}\n</table>']
    for kind, count in ((kind, count) for kind, count in counts.items() if count):
        shown = [page_entry(mistake, classes) for mistake in chosen if mistake.kind == kind]
        rest = f'<p class="about">… and {count - len(shown):,} more</p>'
        more = [rest] if count > len(shown) else []
        parts += [f'<section id="{kind}">', f"<h2>{kind}: {count:,}</h2>", *shown, *more]
        parts.append("</section>")
    about = "A mistake is shown in its sentence, as it should be and as it was found."
    return html_page(title, about, "\n".join(parts), hues(classes) + STYLE)


def text_row(mistake: Mistake) -> tuple[str, ...]:
    """The cells of a mistake: sentence, gold and found span, and the words around them."""
    words, start, stop = mistake.words, mistake.start, mistake.stop
    before = ["…"] * (start > CONTEXT) + list(words[max(start - CONTEXT, 0) : start])
    behind = [*words[stop : stop + CONTEXT], *["…"] * (stop + CONTEXT < len(words))]
    inside = f"[{shortened(' '.join(words[start:stop]))}]"
    context = " ".join([*before, inside, *behind])
    spans = (text_span(mistake.words, span) for span in (mistake.gold, mistake.predicted))
    return (f"{mistake.sentence:,}", *spans, printable(context))


def text_span(words: Sequence[str], span: TypedSpan | None) -> str:
    """The type and the words of a span."""
    if span is None:
        return NONE
    start, stop, name = span
    return printable(f"{name} {shortened(' '.join(words[start:stop]))}")


def shortened(text: str) -> str:
    """The text with its middle left out where it is long."""
    half = LONGEST_CELL // 2 - 1
    return text if len(text) <= LONGEST_CELL else f"{text[:half]} … {text[-half:]}"


def columns(rows: Sequence[tuple[str, ...]], *, right: int = 1) -> list[str]:
    """Lines of aligned cells; column ``right`` stands at the right, the last is not filled up."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if k == right else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def page_entry(mistake: Mistake, classes: dict[str, str]) -> str:
    """One mistake: its sentence with the gold span marked, and with the predicted one."""
    pair = (("gold", mistake.gold), ("found", mistake.predicted))
    lines = "\n".join(
        f"<p><b>{side}</b>{page_sentence(mistake.words, span, classes)}</p>" for side, span in pair
    )
    tip = f"sentence {mistake.sentence}"
    return f'<div class="mistake" title="{tip}">\n{lines}\n</div>'


def page_sentence(words: Sequence[str], span: TypedSpan | None, classes: dict[str, str]) -> str:
    """The sentence with a span marked; a dash where there is no span."""
    if span is None:
        return NONE
    start, stop, _ = span
    pieces = [escape(running(words[:start]), quote=False)]
    pieces.append(marked(running(words[start:stop]), span, classes, None))
    pieces.append(escape(running(words[stop:]), quote=False))
    before = start > 0 and not tight(words[start - 1], words[start])
    behind = stop < len(words) and not tight(words[stop - 1], words[stop])
    return pieces[0] + " " * before + pieces[1] + " " * behind + pieces[2]


def running(words: Sequence[str]) -> str:
    """Words as running text, without blanks around punctuation."""
    blanks = ("" if k == 0 or tight(words[k - 1], words[k]) else " " for k in range(len(words)))
    return "".join(map(add, blanks, words))
