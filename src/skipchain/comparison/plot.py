"""A comparison as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skipchain.report.pictures import Picture

if TYPE_CHECKING:
    from skipchain.comparison.comparison import Comparison

FIRST, OTHER = "tab:red", "tab:blue"
LABEL_BOX = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
LABEL_STYLE: dict[str, Any] = {
    "ha": "center",
    "textcoords": "offset points",
    "fontsize": "small",
    "bbox": LABEL_BOX,
}


def results_picture(comparison: Comparison) -> Picture:
    """F1 (or token accuracy) with its interval, and training time, one row an entry."""
    results = comparison.results
    places = range(len(results))

    def scores(panel: Any) -> None:
        for place, result in zip(places, results, strict=True):
            value = result.evaluation.f1  # without spans the token accuracy
            low, high = result.evaluation.interval or (value, value)
            colour = OTHER if place else FIRST
            panel.plot([low, high], [place, place], color=colour, linewidth=2)
            panel.plot(value, place, "o", color=colour)
            panel.annotate(f"{value:.2f}", (value, place), (0, 6), **LABEL_STYLE)
        panel.axvline(results[0].evaluation.f1, color=FIRST, linewidth=0.8, linestyle=":")
        panel.set_yticks(places, [result.entry.name for result in results])
        panel.set_ylim(len(results) - 0.4, -0.6)  # the first on top
        panel.set_xlabel(f"{comparison.metric} in percent, with 95 % interval")
        panel.grid(axis="x", alpha=0.3)

    def times(panel: Any) -> None:
        seconds = [result.run_result.training_seconds for result in results]
        bars = panel.barh(places, seconds, 0.5, color="0.75")
        panel.bar_label(bars, [f"{spent:.1f} s" for spent in seconds], padding=3, fontsize="small")
        panel.set_xlim(0.0, 1.25 * max(seconds))
        panel.set_xlabel("training, seconds")

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.6, 1.0))
        scores(left)
        times(right)

    caption = f"{comparison.metric} with 95 % interval, and training time"
    return Picture("results", caption, draw, (9.0, 1.6 + 0.5 * len(results)))
