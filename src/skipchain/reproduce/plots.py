"""Pictures of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skipchain.pictures import Picture
from skipchain.reproduce.table import Row


def side_by_side(rows: Sequence[Row], caption: str) -> Picture:
    """Published and measured bars of each system, one panel a metric, with the measured range."""

    def draw(figure: Any) -> None:
        metrics = list(dict.fromkeys(row.metric for row in rows))
        panels = figure.subplots(1, len(metrics), squeeze=False, sharey=True)[0]
        for panel, metric in zip(panels, metrics, strict=True):
            own = [row for row in rows if row.metric == metric]
            places = np.arange(len(own))
            published = [np.nan if row.published is None else row.published for row in own]
            measured = np.array([row.measured for row in own])
            low = np.array([row.measured if row.low is None else row.low for row in own])
            high = np.array([row.measured if row.high is None else row.high for row in own])
            panel.bar(places - 0.2, published, 0.4, label="published", color="0.75")
            panel.bar(places + 0.2, measured, 0.4, label="measured", color="tab:blue",
                      yerr=np.clip([measured - low, high - measured], 0.0, None))  # fmt: skip
            panel.set_xticks(places, [row.system for row in own], rotation=30, ha="right")
            panel.set_title(metric)
        panels[0].legend()

    return Picture("bars", caption, draw)


def points(rows: Sequence[Row], caption: str) -> Picture:
    """Published and measured figures of one metric as points, on an axis that fits them."""

    def draw(figure: Any) -> None:
        panel = figure.subplots()
        places = np.arange(len(rows))[::-1]
        measured = np.array([row.measured for row in rows])
        ends = [(row.low, row.high) if row.low is not None else (row.measured,) * 2 for row in rows]
        low, high = np.array(ends, np.float64).T
        panel.errorbar(measured, places, xerr=np.clip([measured - low, high - measured], 0, None),
                       fmt="o", capsize=3, color="tab:blue", label="measured")  # fmt: skip
        told = [(row.published, y) for row, y in zip(rows, places, strict=True)]
        told = [(x, y) for x, y in told if x is not None]
        if told:
            panel.plot(*zip(*told, strict=True), "D", color="0.6", label="published")
            panel.legend()
        panel.set_yticks(places, [row.system for row in rows])
        panel.set_xlabel(rows[0].metric)
        panel.grid(axis="x", color="0.9")

    return Picture("points", caption, draw)
