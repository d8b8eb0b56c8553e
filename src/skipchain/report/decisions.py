"""Pictures of what decides between two labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skipchain.report.pictures import Picture
from skipchain.report.printable import printable

FIRST, SECOND = "tab:blue", "tab:orange"
MOST = 12  # bars
MOST_PARENTS = 6  # pieces of a bar
ROW = 0.28  # inches
PLAIN: dict[str, Any] = {"parse_math": False}  # what is named by words may have dollar signs


def weighed(title: str, labels: tuple[str, str], parts: Sequence[tuple[str, float]]) -> Picture:
    """What speaks for the first label (above zero) and for the second, one bar a reason."""
    shown = list(parts[:MOST])
    rest = parts[MOST:]
    if rest:
        shown.append((f"… {len(rest)} more", sum(value for _, value in rest)))

    def draw(figure: Any) -> None:
        panel = figure.subplots()
        places = range(len(shown))[::-1]
        values = [value for _, value in shown]
        panel.barh(places, values, color=[FIRST if value > 0 else SECOND for value in values])
        panel.set_yticks(places, [printable(name) for name, _ in shown], **PLAIN)
        panel.axvline(0, color="0.4", linewidth=0.8)
        sides = f"for {labels[1]}  ←  difference of scores  →  for {labels[0]}"
        panel.set_xlabel(printable(sides), **PLAIN)
        panel.set_title(printable(title), **PLAIN)

    caption = f"{title}: what speaks for {labels[0]} and what for {labels[1]}"
    return Picture("explain", caption, draw, (7.5, 1.2 + ROW * len(shown)))


def shared(
    title: str, labels: tuple[str, str], parents: Sequence[tuple[str, tuple[float, float]]]
) -> Picture:
    """From where the probability of each label comes: a bar a label, a piece a parent."""
    shown, rest = list(parents[:MOST_PARENTS]), parents[MOST_PARENTS:]
    if rest:
        first, second = (sum(shares[k] for _, shares in rest) for k in (0, 1))
        shown.append((f"… {len(rest)} more", (first, second)))

    def draw(figure: Any) -> None:
        panel = figure.subplots()
        left = [0.0, 0.0]
        for name, shares in shown:
            panel.barh([1, 0], shares, left=left, label=printable(name))
            left = [sofar + share for sofar, share in zip(left, shares, strict=True)]
        panel.set_yticks([1, 0], [printable(label) for label in labels], **PLAIN)
        panel.set_xlim(0.0, 1.0)
        panel.set_xlabel("probability, by the token that it comes from")
        panel.set_title(printable(title), **PLAIN)
        for text in figure.legend(loc="outside right center", fontsize="small").get_texts():
            text.set(**PLAIN)

    caption = f"{title}: from where the probabilities of {labels[0]} and {labels[1]} come"
    return Picture("parents", caption, draw, (8.5, 2.8))
