"""Which fields of references are taken for which: Tables A.3 to A.6, published and measured."""

from __future__ import annotations

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.metrics.token import TokenScores
from skipchain.report import markdown
from skipchain.report.pictures import Picture
from skipchain.reproduce.labelling import SystemResults
from skipchain.reproduce.plots import confusions
from skipchain.reproduce.stewart.cora_published import CONFUSION_TABLES, FIELDS, confusion
from skipchain.reproduce.table import Row

LARGEST = 3  # of the published confusions of a system
LEAST = 0.5  # per cent that are shown


def confusion_rows(table: str, results: SystemResults) -> list[Row]:
    """The largest published confusions of each system, in percent of a field's tokens."""
    names = list(FIELDS.values())
    rows = []
    for system, number in _tables(results).items():
        published = confusion(system)
        wrong = np.where(np.eye(len(names), dtype=bool), 0, published)
        for cell in np.argsort(-wrong, axis=None, kind="stable")[:LARGEST].tolist():
            gold, taken = divmod(cell, len(names))
            metric = f"{number}: {names[gold]} taken for {names[taken]}"
            share = float(percent(published)[gold, taken])
            values = [float(percent(each)[gold, taken]) for each in measured(results, system)]
            rows.append(Row.of_runs(table, system, metric, share, values))
    return rows


def matrices(results: SystemResults) -> tuple[str, ...]:
    """Every table as Markdown, published and measured in percent of a field's tokens."""
    sections = []
    for system, number in _tables(results).items():
        published, ours = percent(confusion(system)), percent(total(results, system))
        rows = zip(FIELDS, published.tolist(), ours.tolist(), strict=True)
        body = [[f"**{name}**", *map(_cell, known, found)] for name, known, found in rows]
        sections.append(
            f"Table {number}, {system}: what tokens of each field (a row) are taken for, in "
            f"percent, published / measured.\n\n{markdown.table(['', *FIELDS], body)}"
        )
    return tuple(sections)


def picture(results: SystemResults) -> Picture:
    """The measured confusions, a panel a system."""
    names = tuple(FIELDS)
    scores = {
        name: TokenScores(names, total(results, name), 0, 0, 0.0) for name in _tables(results)
    }
    return confusions(scores, "What tokens of each field are taken for, all splits together")


def measured(results: SystemResults, system: str) -> list[Ints]:
    """The confusions of each split, in the order of the published tables. [L, L] each"""
    tables = []
    for scores in results.by_system[system]:
        number = {name: k for k, name in enumerate(scores.tokens.labels)}
        places = np.array([number.get(name, -1) for name in FIELDS.values()])
        known = places >= 0
        table = np.zeros((len(places), len(places)), np.int64)
        cells = np.ix_(places[known], places[known])
        table[np.ix_(known, known)] = scores.tokens.confusion[cells]
        tables.append(table)
    return tables


def total(results: SystemResults, system: str) -> Ints:
    """The confusions of all splits together. [L, L]"""
    summed: Ints = np.sum(measured(results, system), axis=0)
    return summed


def percent(table: Ints) -> Floats:
    """Rows that sum to 100."""
    shares: Floats = 100.0 * table / np.maximum(table.sum(axis=1), 1)[:, None]
    return shares


def _tables(results: SystemResults) -> dict[str, str]:
    """The tables of the systems that were measured."""
    return {name: number for name, number in CONFUSION_TABLES.items() if name in results.by_system}


def _cell(published: float, ours: float) -> str:
    return "" if max(published, ours) < LEAST else f"{published:.0f} / {ours:.0f}"
