"""A comparison of models: as a table, as JSON, as Markdown, and as a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from skipchain.comparison.plot import results_picture
from skipchain.comparison.row import ComparisonRow, DecoderScore
from skipchain.report import markdown
from skipchain.report.grid import Grid
from skipchain.report.pictures import Picture

MISSING = "–"
VERSUS, P_VALUE = "vs first", "p"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The results in the order of the entries; the first is what the others are compared with.

    ``data`` has the sizes of the training, development and test data, ``decoders`` the decoders
    that were asked for.
    """

    results: tuple[ComparisonRow, ...]
    data: Mapping[str, Mapping[str, int]]
    decoders: tuple[str, ...] = ()

    @property
    def spans(self) -> bool:
        """Whether spans are compared by F1; otherwise tokens by accuracy."""
        return self.results[0].evaluation.entities is not None

    @property
    def metric(self) -> str:
        """The name of the metric that is compared."""
        return "F1" if self.spans else "token accuracy"

    def about(self) -> str:
        """A sentence on the data, and on how intervals and p-values are computed."""
        sizes = "; ".join(
            f"{part}: {size['sentences']:,} sentences, {size['tokens']:,} tokens"
            for part, size in self.data.items()
        )
        unit = "document" if self.data["test"]["documents"] > 1 else "sentence"
        text = f"{sizes}. {self.metric} in percent with its 95 % bootstrap interval over {unit}s"
        if len(self.results) > 1:
            name = self.results[0].entry.name
            text += (
                f"; '{VERSUS}' is the difference from {name}, {P_VALUE} how likely chance alone "
                f"makes one as large (randomisation, {unit} by {unit})"
            )
        return text + "."

    def table(self) -> Grid:
        """Headings and rows: the scores of each entry, and its costs."""
        spans = self.spans
        paired = len(self.results) > 1
        has_dev = any(result.run_result.dev is not None for result in self.results)
        columns: list[tuple[bool, str, Callable[[ComparisonRow], str]]] = [
            (True, "model", lambda r: r.entry.name),
            (spans, "F1", lambda r: _percent(r.evaluation.f1)),
            (spans, "95 % interval", _interval),
            (spans, "precision", lambda r: _percent(r.evaluation.micro.precision)),
            (spans, "recall", lambda r: _percent(r.evaluation.micro.recall)),
            (True, "token acc.", lambda r: _percent(r.evaluation.tokens.accuracy)),
            (not spans, "95 % interval", _interval),
            (True, "sentence acc.", lambda r: _percent(r.evaluation.tokens.sequence_accuracy)),
            (spans, "consistency", _consistency),
            (paired, VERSUS, _difference),
            (paired, P_VALUE, _p_value),
            (has_dev, "dev", lambda r: _percent(r.run_result.dev)),
            (True, "train s", lambda r: f"{r.run_result.training_seconds:.1f}"),
            (True, "tokens/s", lambda r: f"{r.tokens_per_second:,.0f}"),
            (True, "MB", _memory),
            (True, "parameters", lambda r: f"{r.run_result.parameters:,}"),
            (True, "weights", lambda r: f"{r.run_result.weights:,}"),
        ]
        shown = [(heading, cell) for wanted, heading, cell in columns if wanted]
        rows = [tuple(cell(result) for _, cell in shown) for result in self.results]
        return tuple(heading for heading, _ in shown), rows

    def decoder_scores(self) -> Grid:
        """Headings and rows of every entry with every decoder; a dash where it does not have it.

        There are no rows where no decoders were asked for.
        """
        headings = ("model", "decoder", self.metric, "sentence acc.", "other than Viterbi", "%",
                    "ms")  # fmt: skip
        rows = []
        for result in self.results:
            scores = {score.decoder: score for score in result.decoder_scores}
            for name in self.decoders:
                cells = _decoder_cells(scores[name]) if name in scores else (MISSING,) * 5
                rows.append((result.entry.name, name, *cells))
        return headings, rows

    def as_dict(self) -> dict[str, Any]:
        """The comparison as JSON can hold it."""
        return {
            "metric": "f1" if self.spans else "token_accuracy",
            "data": {part: dict(sizes) for part, sizes in self.data.items()},
            "results": [result.as_dict() for result in self.results],
        }

    def markdown(self, pictures: tuple[tuple[str, str], ...] = ()) -> str:
        """The tables as Markdown; ``pictures`` are files to show below, with their captions."""
        blocks = ["# Comparison", self.about(), markdown.table(*self.table())]
        if self.decoders:
            blocks += ["## Decoders", markdown.table(*self.decoder_scores())]
        blocks.extend(f"![{caption}]({file})" for file, caption in pictures)
        return "\n\n".join(blocks) + "\n"

    def picture(self) -> Picture:
        """Scores with their intervals and training times, one row an entry."""
        return results_picture(self)


def _percent(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"


def _interval(result: ComparisonRow) -> str:
    low, high = result.evaluation.interval or (None, None)
    return f"{_percent(low)}–{_percent(high)}"


def _consistency(result: ComparisonRow) -> str:
    consistency = result.evaluation.consistency
    return _percent(None if consistency is None else consistency.percent)


def _difference(result: ComparisonRow) -> str:
    test = result.significance
    return MISSING if test is None else f"{test.difference:+.2f}"


def _p_value(result: ComparisonRow) -> str:
    test = result.significance
    if test is None:
        return MISSING
    return f"{test.p_value:.3f}" if test.p_value >= 0.001 else "<0.001"


def _memory(result: ComparisonRow) -> str:
    memory = result.run_result.memory
    return MISSING if memory is None else f"{memory / 1e6:,.0f}"


def _decoder_cells(score: DecoderScore) -> tuple[str, ...]:
    return (
        _percent(score.evaluation.f1),
        _percent(score.evaluation.tokens.sequence_accuracy),
        f"{score.disagreements:,}",
        _percent(score.disagreement),
        f"{1000 * score.seconds:,.1f}",
    )
