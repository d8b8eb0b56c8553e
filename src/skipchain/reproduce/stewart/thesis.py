"""All tables of one thesis: its three invented problems, and the references."""

from __future__ import annotations

import time
from dataclasses import replace

from skipchain.reproduce.run import Run
from skipchain.reproduce.stewart import cora, toy1, toy2, toy3
from skipchain.reproduce.stewart.toys import SEEDS, SOURCE
from skipchain.reproduce.table import Row, Table

NAME = "thesis"
PARTS = (toy1, toy2, toy3, cora)
PUBLISHED = 2.2e6  # seconds that training on the references alone took


def measure(run: Run) -> Table:
    """Measure the tables one after the other, and put them together."""
    rows: list[Row] = []
    notes, verdicts, pictures, sections = [], [], [], []
    began = time.perf_counter()
    for part in PARTS:
        table = part.measure(run)
        rows += [replace(row, system=f"{table.name}: {row.system}") for row in table.rows]
        notes += [f"{table.name}: {note}" for note in table.notes]
        verdicts.append(f"{table.name}: {table.verdict}")
        sections += table.sections
        pictures += [replace(own, name=f"{table.name}-{own.name}") for own in table.pictures]
    spent = time.perf_counter() - began
    told = "training for the references alone was published"
    rows.append(Row(NAME, "everything", "seconds", PUBLISHED, spent, seconds=spent, verdict=told))
    return Table(
        NAME,
        "Models of label structure: chapter 6 and appendix A",
        SOURCE,
        tuple(rows),
        tuple(notes),
        (*SEEDS, *cora.SEEDS),
        " ".join(verdicts),
        tuple(pictures),
        tuple(sections),
    )
