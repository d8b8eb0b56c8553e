"""File to saved model, equal labels, and the ends: reading and loading."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks import ours, peer
from benchmarks.setting import path, seconds
from skipchain import load, read


def measure(report, setting):
    train, test = path("conll2003", "train"), path("conll2003", "testb")
    their_model, our_model = setting.folder / "peer.model", setting.folder / "ours.skip"
    began = time.perf_counter()
    trainer = peer.train(train, their_model)
    theirs = time.perf_counter() - began
    began = time.perf_counter()
    crf = ours.train(train, our_model, peer.TOLERANCE)
    spent = time.perf_counter() - began
    report.console.print(
        f"CRFsuite: {len(trainer.logparser.iterations)} iterations, loss "
        f"{trainer.logparser.last_iteration['loss']:,.1f}; skipchain: {crf.result_.iterations} "
        f"iterations, loss {crf.result_.loss:,.1f}"
    )
    report.faster("file to saved model (s)", spent, theirs, 8.0)
    compare_labels(report, setting, their_model, our_model, test)
    report.add(
        "read 203,621 tokens (s)", seconds(lambda: read(train), setting.repeat), 0.5, at_most=True
    )
    spent = seconds(lambda: load(our_model), setting.repeat)
    report.add("load a CoNLL-size model (s)", spent, 0.3, at_most=True)


def compare_labels(report, setting, their_model, our_model, test):
    """The share of equal labels."""
    their_file, our_file = setting.folder / "peer.out", setting.folder / "ours.out"
    peer.tag(peer.load(their_model), test, their_file)
    load(our_model).tag_file(test, our_file, overwrite=True)
    report.add("share of tokens with CRFsuite's label (%)", agreement(their_file, our_file), 99.0)


def agreement(first, second):
    """Percent of equal labels in two column files."""
    lines = [
        [line.split()[-1] for line in Path(path).read_text().splitlines()
         if line and not line.startswith("-DOCSTART-")]
        for path in (first, second)
    ]  # fmt: skip
    pairs = list(zip(*lines, strict=True))
    return 100.0 * sum(a == b for a, b in pairs) / len(pairs)
