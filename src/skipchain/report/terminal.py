"""A console whose text is text: no markup in it, and no control characters but our own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from skipchain.report.printable import LAYOUT, printable


class Terminal(Console):
    """Where everything for people is printed; stdout, or ``stderr``.

    Strings are shown as they are: ``[bold]`` is no style, and an escape character is written out.
    Styles are given apart, by `styled`.

    >>> Terminal().print("[bold]\\x1b[31m", "a", "b")
    [bold]\\x1b[31m a b
    """

    def __init__(
        self, *, stderr: bool = False, width: int | None = None, file: IO[str] | None = None
    ) -> None:
        super().__init__(
            stderr=stderr, width=width, file=file, markup=False, emoji=False, highlight=False
        )

    def render_str(self, text: str, **settings: Any) -> Text:
        """A string as text; before it is measured, so that columns fit."""
        return super().render_str(printable(text, layout=LAYOUT), **settings)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The pieces that are written, whatever they were made of."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(printable(text, layout=LAYOUT), style)


def styled(*parts: str | tuple[str, str]) -> Text:
    """Text of strings, and of pairs of a string and its style.

    >>> styled(("[red]", "bold"), " \\x07").plain
    '[red] \\\\x07'
    """
    text = Text()
    for part in parts:
        string, style = (part, "") if isinstance(part, str) else part
        text.append(printable(string, layout=LAYOUT), style)
    return text
