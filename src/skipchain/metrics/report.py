"""Scores as tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skipchain.metrics.evaluation import Evaluation
from skipchain.metrics.partial import PartialScores
from skipchain.metrics.score import Score
from skipchain.metrics.token import TokenScores
from skipchain.report.grid import split_to_width
from skipchain.report.printable import printable

if TYPE_CHECKING:
    from rich.console import Group

COUNTS = ("correct", "incorrect", "partial", "missed", "spurious")
HEADINGS = ("precision", "recall", "F1", "gold", "found", "correct")


def render(evaluation: Evaluation) -> Group:
    """The scores as a table for a rich console, with the other figures below."""
    from rich.console import Group
    from rich.table import Table

    from skipchain.report.terminal import styled

    table = Table(box=None, pad_edge=False)
    table.add_column(first_heading(evaluation))
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for name, score in evaluation.by_type.items():
        table.add_row(styled(name), *cells(score))
    if evaluation.entities is not None:  # of tokens it would be their accuracy, which stands below
        table.add_section()
        table.add_row("all", *cells(evaluation.micro), style="bold")
    return Group(table, styled(""), styled("\n".join(footer(evaluation))))


def plain_text(evaluation: Evaluation) -> str:
    """The scores as a table in plain text, with the other figures below.

    >>> from skipchain.corpus import Corpus
    >>> from skipchain.metrics import evaluate
    >>> gold = Corpus.of([["Ada", "slept"]], [["B-PER", "O"]], scheme="iob2")
    >>> print(evaluate(gold, gold))
    type  precision  recall      F1  gold  found  correct
    PER      100.00  100.00  100.00     1      1        1
    all      100.00  100.00  100.00     1      1        1
    <BLANKLINE>
    token accuracy     100.00  (2 of 2)
    sequence accuracy  100.00  (1 of 1)
    mean per sequence  100.00  (token accuracy of each sequence, averaged)
    consistency                (no name recurs in a document)
    """
    rows: list[tuple[str, ...]] = [(first_heading(evaluation), *HEADINGS)]
    rows += [(printable(name), *cells(score)) for name, score in evaluation.by_type.items()]
    if evaluation.entities is not None:
        rows.append(("all", *cells(evaluation.micro)))
    return "\n".join([*aligned(rows), "", *footer(evaluation)])


def confusion_table(scores: TokenScores, *, limit: int = 12, width: int = 80) -> Group:
    """The confusion matrix for a rich console, rows gold, columns predicted.

    Where there are more than ``limit`` labels, those with the most errors are shown; what is wider
    than ``width`` is cut into several tables.
    """
    from rich.console import Group
    from rich.table import Table

    from skipchain.report.terminal import styled

    errors = scores.confusion.sum(axis=0) + scores.confusion.sum(axis=1)
    errors -= 2 * np.diagonal(scores.confusion)
    shown = np.sort(np.argsort(-errors, kind="stable")[:limit])
    names = tuple(scores.labels[k] for k in shown.tolist())
    rows = [
        (name, *(f"{count:,}" if count else "·" for count in scores.confusion[k, shown].tolist()))
        for name, k in zip(names, shown.tolist(), strict=True)
    ]
    blocks: list[Any] = []
    for (corner, *columns), lines in split_to_width((("gold \\ found", *names), rows), width):
        table = Table(box=None, pad_edge=False)
        table.add_column(corner, no_wrap=True)
        for column in columns:
            table.add_column(styled(column), justify="right", no_wrap=True)
        for name, *counts in lines:
            styles = ("bold" if column == name else "" for column in columns)
            pairs = zip(counts, styles, strict=True)
            table.add_row(styled(name), *(styled(pair) for pair in pairs))
        blocks += [table] if not blocks else [styled(""), table]
    hidden = len(scores.labels) - len(shown)
    if hidden:
        note = f"the {len(shown)} labels with the most errors; {hidden} more not shown"
        blocks.append(styled(note))
    return Group(*blocks)


def partial_table(scores: PartialScores) -> str:
    """The scores with partial credit as a table in plain text, a row a way to count.

    >>> from skipchain.corpus.schemes import Spans
    >>> from skipchain.metrics import partial_scores
    >>> print(partial_table(partial_scores(Spans.of([(0, 2, "A")]), Spans.of([(0, 1, "A")]))))
    way      precision  recall      F1  correct  incorrect  partial  missed  spurious
    strict        0.00    0.00    0.00        0          1        0       0         0
    exact         0.00    0.00    0.00        0          1        0       0         0
    partial      50.00   50.00   50.00        0          0        1       0         0
    type        100.00  100.00  100.00        1          0        0       0         0
    MUC          50.00   50.00   50.00        1          1        0       0         0
    """
    rows: list[tuple[str, ...]] = [("way", *HEADINGS[:3], *COUNTS)]
    for way, score in (*scores.overall.items(), ("MUC", scores.overall.muc)):
        rates = (score.precision, score.recall, score.f1)
        counts = (f"{getattr(score, name):,}" for name in COUNTS)
        rows.append((way, *(f"{rate:.2f}" for rate in rates), *counts))
    return "\n".join(aligned(rows))


def label_table(scores: TokenScores) -> str:
    """The scores of each label as a table in plain text, with its accuracy.

    >>> from skipchain.corpus import Column
    >>> from skipchain.metrics import token_scores
    >>> gold, found = Column.encode(["A", "B", "B"]), Column.encode(["A", "B", "A"])
    >>> print(label_table(token_scores(gold, found, np.array([0, 3]))))
    label  accuracy  precision  recall     F1  gold  found  correct
    A         66.67      50.00  100.00  66.67     1      2        1
    B         66.67     100.00   50.00  66.67     2      1        1
    """
    accuracy = scores.label_accuracy
    rows: list[tuple[str, ...]] = [("label", "accuracy", *HEADINGS)]
    for label, score in scores.by_label.items():
        rows.append((printable(label), f"{accuracy[label]:.2f}", *cells(score)))
    return "\n".join(aligned(rows))


def first_heading(evaluation: Evaluation) -> str:
    """The heading of the first column: what a row is."""
    return "label" if evaluation.entities is None else "type"


def cells(score: Score) -> tuple[str, ...]:
    """One row of figures, in the order of the headings."""
    rates = (score.precision, score.recall, score.f1)
    counts = (score.gold, score.predicted, score.correct)
    return (*(f"{rate:.2f}" for rate in rates), *(f"{count:,}" for count in counts))


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Lines with the first column to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    form = "  ".join([f"{{:<{widths[0]}}}", *(f"{{:>{width}}}" for width in widths[1:])])
    return [form.format(*row) for row in rows]


def footer(evaluation: Evaluation) -> list[str]:
    """The figures that belong to no type."""
    tokens, consistency = evaluation.tokens, evaluation.consistency
    lines = [
        f"token accuracy     {tokens.accuracy:6.2f}  ({tokens.correct:,} of {tokens.tokens:,})",
        f"sequence accuracy  {tokens.sequence_accuracy:6.2f}  "
        f"({tokens.correct_sequences:,} of {tokens.sequences:,})",
        f"mean per sequence  {tokens.mean_sequence_accuracy:6.2f}  "
        "(token accuracy of each sequence, averaged)",
    ]
    if consistency is not None:
        detail = "no name recurs in a document"
        if consistency.groups:
            kept = consistency.groups - consistency.inconsistent
            detail = f"{kept:,} of {consistency.groups:,} recurring names keep one type"
        share = "" if consistency.percent is None else f"{consistency.percent:.2f}"
        lines.append(f"consistency        {share:>6}  ({detail})")
    if evaluation.interval is not None:
        low, high = evaluation.interval
        lines.append(f"F1, 95 % interval  {low:6.2f} to {high:.2f}")
    return lines
