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
