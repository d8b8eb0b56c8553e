"""Figures of labelled sequences compared with published ones, and the pictures of them."""

from __future__ import annotations

import pytest

from skipchain.metrics import TokenScores
from skipchain.report.pictures import png
from skipchain.reproduce.labelling import (
    AVERAGE_ACCURACY,
    AVERAGE_F1,
    INSTANCE_ACCURACY,
    TOKEN_ACCURACY,
    SystemResults,
    describe_speedup,
    parse_figures,
    score_labels,
)
from skipchain.reproduce.plots import confusions, curves, errors_by_states, label_bars

GOLD = [["A", "A", "B"], ["B"], []]


def test_accuracies_by_token_and_by_sequence_differ():
    scores = score_labels(GOLD, [["A", "B", "B"], ["B"], []], 2.0, {"errors of R": 7.0})
    assert isinstance(scores.tokens, TokenScores)
    assert scores.figures == pytest.approx({
        "A": 200 / 3,
        "B": 80.0,
        AVERAGE_F1: (200 / 3 + 80) / 2,
        AVERAGE_ACCURACY: (200 / 3 + 100) / 2,
        TOKEN_ACCURACY: 75.0,
        INSTANCE_ACCURACY: 50.0,
        "errors of R": 7.0,
    })  # fmt: skip
    with pytest.raises(ValueError, match="zip"):
        score_labels(GOLD, [["A", "B", "B"], ["B"]])


def test_rows_have_the_mean_and_the_range():
    results = SystemResults()
    results.add("LR", score_labels(GOLD, GOLD, 1.0))
    results.add("LR", score_labels(GOLD, [["A", "B", "B"], ["B"], []], 3.0))
    results.add("CRF", score_labels(GOLD, GOLD, 4.0))
    published = parse_figures(["LR", "RBM(1)"], "instance accuracy 50 60 | B - 9 | C 1 2")
    rows = results.rows("toy", "6.4", published, lambda system, metric: f"{system} {metric}")
    assert [(row.system, row.metric) for row in rows] == [
        ("LR", "6.4: instance accuracy"),
        ("CRF", "6.4: instance accuracy"),
        ("LR", "6.4: B"),
        ("CRF", "6.4: B"),
    ]
    first, third, second, _ = rows
    assert (first.published, first.measured, first.low, first.high) == (50.0, 75.0, 50.0, 100.0)
    assert (first.seconds, first.verdict) == (4.0, "LR instance accuracy")
    assert (second.published, second.measured, third.published) == (None, 90.0, None)
    assert len(results.rows("toy", "6.4", published, systems=["CRF"])) == 2
    assert results.f1("LR") == pytest.approx({"A": 250 / 3, "B": 90.0})


def test_times_are_compared_with_the_published():
    results = SystemResults()
    results.add("LR", score_labels(GOLD, GOLD, 1.0))
    results.add("LR", score_labels(GOLD, GOLD, 3.0))
    results.add("CRF", score_labels(GOLD, GOLD, 0.0))
    first, second = results.time_rows("toy", "6.3", {"LR": 3000.0, "CRF": 1.0})
    assert (first.metric, first.measured, first.high) == ("6.3: seconds to train", 2.0, 3.0)
    assert (first.verdict, second.verdict) == ("1,500 times as fast", "")
    assert describe_speedup(0.25) == "0.2 times as fast"


def test_pictures_can_be_drawn():
    one, two = score_labels(GOLD, GOLD), score_labels(GOLD, [["A", "B", "B"], ["B"], []])
    made = [
        label_bars({"LR": one.f1, "CRF": two.f1}, "bars"),
        label_bars({"LR": {"A": 100.0, "long": 3.0}}, "bars", log=True),
        confusions({"LR": one.tokens, "CRF": two.tokens}, "confusions"),
        curves({"LR": [9.0, 5.0, 4.0], "CRF": [8.0]}, "curves"),
        errors_by_states({"training": {"IOHMM": {2: 5.0, 8: 0.0}}, "test": {"IOHMM": {2: 9.0}}},
                         "states"),
    ]  # fmt: skip
    assert [picture.name for picture in made] == [
        "labels", "labels", "confusions", "curves", "states",
    ]  # fmt: skip
    assert all(png(picture).startswith(b"\x89PNG") for picture in made)
