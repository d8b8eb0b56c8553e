"""Pictures of hidden units: which labels they look for, and where they are on."""

from __future__ import annotations

from typing import Any

import numpy as np

from skipchain.arrays import Floats
from skipchain.models.rbm.model import RBMModel
from skipchain.report.pictures import Picture

PANELS_PER_ROW = 6  # panels beside each other
CELL = 0.28  # inches


def weight_pictures(model: RBMModel) -> tuple[Picture, ...]:
    """A Hinton diagram of each group: rows labels, columns offsets, a panel a unit.

    A square's area is the size of a weight, relative to the largest of its group; light squares
    are above zero, dark ones below. Rows of a second level are the units that it looks at.
    """
    return tuple(_weights(model, number) for number in range(len(model.units.groups)))


def trace_picture(model: RBMModel, sequence: Any) -> Picture:
    """How units fire along one sequence while its labels are sampled: a panel a unit.

    Rows are the places of a unit along the sequence, from the top; columns are samples.
    """
    labels, traces = model.trace(sequence)
    panels = [
        (f"{group}, unit {unit + 1}", trace[:, :, unit].T, int(first))
        for group, trace, first in zip(
            model.units.groups, traces, model.units.layout.replica_start, strict=True
        )
        for unit in range(group.units)
    ]
    rows = _rows(len(panels))

    def draw(figure: Any) -> None:
        places = figure.subplots(rows, min(PANELS_PER_ROW, len(panels)), squeeze=False).ravel()
        for place, (title, values, first) in zip(places, panels, strict=False):
            ends = (0.5, values.shape[1] + 0.5, first + len(values) - 0.5, first - 0.5)
            place.imshow(values, cmap="gray", vmin=0.0, vmax=1.0, aspect="auto", extent=ends)
            place.set_title(title, fontsize="small")
            place.set_xlabel("sample")
            place.set_ylabel("place")
        for place in places[len(panels) :]:
            place.axis("off")

    caption = f"p(unit is on | labels) while the labels of {len(labels)} tokens are sampled"
    return Picture("trace", caption, draw, (12.0, 1.0 + 3.0 * rows))


def _weights(model: RBMModel, number: int) -> Picture:
    group, table = model.units.groups[number], model.units.table(number)  # [K, L + 1, n]
    names = model.units.seen_by(number, model.labels, "outside")
    shown = len(names)
    rows = _rows(group.units)
    largest = float(np.abs(table).max()) or 1.0

    def draw(figure: Any) -> None:
        columns = min(PANELS_PER_ROW, group.units)
        places = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
        for unit, place in enumerate(places):
            if unit >= group.units:
                place.axis("off")
                continue
            _hinton(place, table[:, :shown, unit].T / largest)
            place.set_title(f"unit {unit + 1}", fontsize="small")
            place.set_xticks(range(len(group.offsets)), [str(offset) for offset in group.offsets])
            place.set_yticks(range(shown), names)

    width = max(3.0, min(PANELS_PER_ROW, group.units) * (0.6 + CELL * len(group.offsets)))
    height = rows * (0.8 + CELL * shown)
    seen = "labels" if group.below is None else f"units of group {group.below}"
    caption = f"hidden units of the group {group}: {seen} by offsets, largest weight {largest:.1f}"
    return Picture(f"group-{number + 1}", caption, draw, (width, height))


def _hinton(panel: Any, values: Floats) -> None:
    """Squares whose areas are the sizes of values from −1 to 1. [rows, columns]"""
    from matplotlib.patches import Rectangle

    panel.set_facecolor("0.6")
    panel.set_aspect("equal")
    for (row, column), value in np.ndenumerate(values):
        side = float(np.sqrt(abs(value)))
        colour = "white" if value > 0 else "black"
        corner = (column - side / 2.0, row - side / 2.0)
        panel.add_patch(Rectangle(corner, side, side, facecolor=colour, edgecolor=colour))
    panel.set_xlim(-0.5, values.shape[1] - 0.5)
    panel.set_ylim(values.shape[0] - 0.5, -0.5)
    panel.tick_params(length=0, labelsize="small")


def _rows(panels: int) -> int:
    return -(-panels // PANELS_PER_ROW)
