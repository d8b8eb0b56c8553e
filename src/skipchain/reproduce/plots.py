"""Pictures of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skipchain.arrays import Floats
from skipchain.metrics.token import TokenScores
from skipchain.report.pictures import Picture
from skipchain.reproduce.table import Row, of_metric

ErrorsByStates = Mapping[str, Mapping[str, Mapping[int, float]]]
"""Part of the data (training, test) and system to errors by number of states."""


def side_by_side(rows: Sequence[Row], caption: str) -> Picture:
    """Published and measured bars of each system, one panel a metric, with the measured range."""

    def draw(figure: Any) -> None:
        metrics = list(dict.fromkeys(row.metric for row in rows))
        panels = figure.subplots(1, len(metrics), squeeze=False, sharey=True)[0]
        for panel, metric in zip(panels, metrics, strict=True):
            shown = of_metric(rows, metric)
            places = np.arange(len(shown))
            published = [np.nan if row.published is None else row.published for row in shown]
            measured, errors = _error_bars(shown)
            panel.bar(places - 0.2, published, 0.4, label="published", color="0.75")
            panel.bar(places + 0.2, measured, 0.4, label="measured", color="tab:blue", yerr=errors)
            panel.set_xticks(places, [row.system for row in shown], rotation=30, ha="right")
            panel.set_title(metric)
        # above the panels: bars may be anywhere in them
        named = panels[0].get_legend_handles_labels()
        figure.legend(*named, loc="outside upper center", ncols=2)

    return Picture("bars", caption, draw)


def points(rows: Sequence[Row], caption: str, *, name: str = "points") -> Picture:
    """Published and measured figures of one metric as points, on an axis that fits them."""

    def draw(figure: Any) -> None:
        panel = figure.subplots()
        places = np.arange(len(rows))[::-1]
        measured, errors = _error_bars(rows)
        style = {"fmt": "o", "capsize": 3, "color": "tab:blue", "label": "measured"}
        panel.errorbar(measured, places, xerr=errors, **style)
        both = zip((row.published for row in rows), places, strict=True)
        published = [(x, y) for x, y in both if x is not None]
        if published:
            panel.plot(*zip(*published, strict=True), "D", color="0.6", label="published")
            panel.legend()
        panel.set_yticks(places, [row.system for row in rows])
        panel.set_xlabel(rows[0].metric)
        panel.grid(axis="x", color="0.9")

    return Picture(name, caption, draw)


def _error_bars(rows: Sequence[Row]) -> tuple[Floats, Floats]:
    """The measured figures ``[R]``, and how far their ranges reach down and up ``[2, R]``."""
    measured = np.array([row.measured for row in rows])
    low = np.array([row.measured if row.low is None else row.low for row in rows])
    high = np.array([row.measured if row.high is None else row.high for row in rows])
    return measured, np.clip([measured - low, high - measured], 0.0, None)


def label_bars(f1: Mapping[str, Mapping[str, float]], caption: str, log: bool = False) -> Picture:
    """The F1 of each label, in percent, a bar a system; ``log`` draws −log10(1 − F1), at most 4."""
    labels = list(dict.fromkeys(label for by_label in f1.values() for label in by_label))

    def draw(figure: Any) -> None:
        panel = figure.subplots()
        places, width = np.arange(len(labels)), 0.8 / len(f1)
        for k, (system, by_label) in enumerate(f1.items()):
            heights = np.array([by_label.get(label, np.nan) for label in labels])
            if log:
                heights = -np.log10(np.maximum(1.0 - heights / 100.0, 1e-4))
            panel.bar(places + (k - (len(f1) - 1) / 2) * width, heights, width, label=system)
        panel.set_xticks(places, labels, rotation=30 if max(map(len, labels)) > 3 else 0)
        panel.set_ylabel("−log10(1 − F1)" if log else "F1 (%)")
        panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")

    return Picture("labels", caption, draw, (max(8.0, 0.12 * len(labels) * len(f1) + 3.0), 4.5))


def confusions(scores: Mapping[str, TokenScores], caption: str) -> Picture:
    """A panel a system: what tokens of each gold label (a row) were labelled as, in percent."""

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(scores), squeeze=False)[0]
        for panel, (system, tokens) in zip(panels, scores.items(), strict=True):
            totals = np.maximum(tokens.confusion.sum(axis=1), 1)
            heat_map(panel, 100.0 * tokens.confusion / totals[:, None], "{:.0f}", most=100.0)
            panel.set_xticks(range(len(tokens.labels)), tokens.labels, rotation=90)
            panel.set_yticks(range(len(tokens.labels)), tokens.labels)
            panel.set_title(system, fontsize="medium")
            panel.set_xlabel("predicted")
        panels[0].set_ylabel("gold")

    size = 1.5 + 0.35 * max(len(tokens.labels) for tokens in scores.values())
    return Picture("confusions", caption, draw, (max(4.0, size * len(scores)), max(3.0, size)))


def heat_map(
    panel: Any, table: Floats, style: str, *, most: float = 1.0, aspect: str = "equal"
) -> None:
    """A table of numbers from 0 to ``most`` as shades of blue, with each number that is not 0."""
    panel.imshow(table, cmap="Blues", vmin=0.0, vmax=most, aspect=aspect)
    for (y, x), value in np.ndenumerate(table):
        if value >= 0.005 * most:
            colour = "white" if value > most / 2 else "0.3"
            text = style.format(value)
            panel.text(x, y, text, ha="center", va="center", fontsize="small", color=colour)


def curves(losses: Mapping[str, Sequence[float]], caption: str) -> Picture:
    """Losses (negative log-likelihoods) over the iterations, a line a system."""

    def draw(figure: Any) -> None:
        panel = figure.subplots()
        for system, values in losses.items():
            panel.loglog(np.arange(1, len(values) + 1), values, label=system)
        panel.set_xlabel("iteration")
        panel.set_ylabel("−log-likelihood, penalty included")
        panel.grid(color="0.9")
        panel.legend()

    return Picture("curves", caption, draw)


def errors_by_states(errors: ErrorsByStates, caption: str) -> Picture:
    """Errors in percent by the number of states: a panel a part of the data, a line a system."""
    names = list(dict.fromkeys(system for systems in errors.values() for system in systems))

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(errors), squeeze=False, sharey=True)[0]
        for panel, (part, systems) in zip(panels, errors.items(), strict=True):
            for k, system in enumerate(names):
                by_states = systems.get(system, {})
                x, y = list(by_states), list(by_states.values())
                panel.plot(x, y, "o-", color=f"C{k}", label=system)
            panel.set_xticks(sorted({states for errors in systems.values() for states in errors}))
            panel.set_title(part)
            panel.set_xlabel("states")
            panel.set_ylim(bottom=0.0)
            panel.grid(color="0.9")
        panels[0].set_ylabel("wrong labels (%)")
        panels[0].legend(fontsize="small")

    return Picture("states", caption, draw, (4.5 * len(errors), 4.5))
