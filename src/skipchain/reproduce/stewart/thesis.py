"""All tables of one thesis: its three toy problems, and the references."""

from __future__ import annotations

from dataclasses import replace

from skipchain.reproduce.run import Run, Timer
from skipchain.reproduce.stewart import cora, toy1, toy2, toy3
from skipchain.reproduce.stewart.toys import SEEDS, SOURCE
from skipchain.reproduce.table import Row, Table

NAME = "thesis"
PARTS = (toy1, toy2, toy3, cora)
PUBLISHED = 2.2e6  # seconds that training on the references alone took


def measure(run: Run) -> Table:
    """Measure the tables one after the other, and put them together."""
    clock = Timer()
    with clock(NAME):
        tables = [part.measure(run) for part in PARTS]
    rows = [
        replace(row, system=f"{table.name}: {row.system}") for table in tables for row in table.rows
    ]
    total = Row(NAME, "everything", "seconds", PUBLISHED, clock.seconds(NAME))
    note = "published: training for the references alone"
    rows.append(replace(total, seconds=clock.seconds(NAME), verdict=note))
    return Table(
        NAME,
        "Models of label structure: chapter 6 and appendix A",
        SOURCE,
        rows,
        notes=tuple(f"{table.name}: {note}" for table in tables for note in table.notes),
        seeds=(*SEEDS, *cora.SEEDS),
        verdict=" ".join(f"{table.name}: {table.verdict}" for table in tables),
        pictures=tuple(
            replace(picture, name=f"{table.name}-{picture.name}")
            for table in tables
            for picture in table.pictures
        ),
        sections=tuple(section for table in tables for section in table.sections),
    )
