"""Scores of the standard sets, by the commands that a user would type."""

from __future__ import annotations

import json

from benchmarks.setting import command, path


def measure(report, setting):
    names(report, setting)
    chunks(report, setting)
    parts_of_speech(report, setting)


def names(report, setting):
    """CoNLL-2003, chosen on testa."""
    model = setting.folder / "ner.skip"
    command(
        "train", path("conll2003", "train"), "--dev", path("conll2003", "testa"),
        "--model", "crf", "--features", "ner", "-o", model, "--quiet",
    )  # fmt: skip
    for part, bar in (("testa", 91.0), ("testb", 85.5)):
        scores = evaluate(model, path("conll2003", part))
        report.add(f"F1 on {part}, --features ner", scores["f1"], bar)


def chunks(report, setting):
    """CoNLL-2000, chosen on the last fifth of train."""
    model = setting.folder / "chunk.skip"
    command(
        "train", path("conll2000", "train"), "--model", "crf", "--features", "chunk",
        "--dropout", 0.2, "-o", model, "--quiet",
    )  # fmt: skip
    scores = evaluate(model, path("conll2000", "test"))
    report.add("F1 on CoNLL-2000's test, --features chunk", scores["f1"], 94.0)


def parts_of_speech(report, setting):
    """UD-EWT, universal tags."""
    model = setting.folder / "pos.skip"
    command(
        "train", path("ud-ewt", "train"), "--model", "crf", "--features", "pos", "--order", 2,
        "-o", model, "--quiet",
    )  # fmt: skip
    scores = evaluate(model, path("ud-ewt", "test"))
    report.add("accuracy on UD-EWT's test, --features pos", scores["token_accuracy"], 94.0)


def evaluate(model, file):
    return json.loads(command("eval", model, file, "--json"))
