"""``python -m benchmarks``: every figure with its bar, us and the peer in one run."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import ours, peer
from benchmarks.features import TEMPLATES
from skipchain import load, read
from skipchain.dataset import Dataset
from skipchain.datasets import data_set, root
from skipchain.errors import SkipchainError
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.io.files import write_text
from skipchain.objectives.likelihood import ConditionalLikelihood
from skipchain.parallel import Workers
from skipchain.scorers.linear import LinearScorer

TOLERANCE = 1e-5
LATEST = Path(__file__).with_name("latest.json")


@dataclass(frozen=True)
class Figure:
    """One measurement. Where there is a peer, the bar is on the ratio; else on our value."""

    name: str
    ours: float
    peer: float | None
    ratio: float | None
    bar: str
    holds: bool


class Report:
    """Collects figures and says each as soon as it is known."""

    def __init__(self):
        self.figures = []
        self.console = Console(stderr=True, highlight=False)

    def add(self, name, value, bar, *, against=None, ratio=None, at_most=False):
        compared = value if ratio is None else ratio
        holds = compared <= bar if at_most else compared >= bar
        sign = "≤" if at_most else "≥"
        unit = "" if ratio is None else " ×"
        figure = Figure(name, value, against, ratio, f"{sign} {bar:g}{unit}", bool(holds))
        self.figures.append(figure)
        self.console.print(
            f"{name}: {value:.4g}"
            + ("" if against is None else f", peer {against:.4g}")
            + ("" if ratio is None else f", ratio {ratio:.2f}")
            + f"  (bar {figure.bar}: {'holds' if holds else 'MISSED'})"
        )

    def table(self):
        table = Table(box=None, pad_edge=False)
        for heading in ("figure", "skipchain", "peer", "ratio", "bar", ""):
            table.add_column(heading, justify="left" if heading in ("figure", "") else "right")
        for f in self.figures:
            table.add_row(
                f.name,
                f"{f.ours:,.4g}",
                "" if f.peer is None else f"{f.peer:,.4g}",
                "" if f.ratio is None else f"{f.ratio:.2f}",
                f.bar,
                "holds" if f.holds else "MISSED",
            )
        return table


def seconds(function, repeat):
    """The median of several runs."""
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def compare_passes(report, folder, train, repeat):
    """One objective and gradient pass: identical features, labels and weights."""
    model = folder / "peer-short.model"
    trainer = peer.train(train, model, TOLERANCE, max_iterations=30)
    log = trainer.logparser.iterations
    trials = [entry["linesearch_trials"] for entry in log]
    theirs = sum(entry["time"] for entry in log) / sum(trials)

    corpus = data_set("conll2003").read("train")
    vocabulary, rows = Vocabulary.fit(corpus, Templates.parse(TEMPLATES))
    data = Dataset(rows, corpus.sentences, corpus.labels.codes)
    names = corpus.labels.values
    report.console.print(
        f"{corpus.n_tokens:,} tokens, {rows.n_active:,} active features, {len(names)} labels"
    )
    for threads, bar in ((1, 3.0), (2, 5.0)):
        with Workers(threads) as workers:
            scorer = LinearScorer(
                data, len(names), observed=True, boundaries=False, workers=workers
            )
            objective = ConditionalLikelihood(data, scorer, workers, l2=peer.L2)
            vector = peer_weights(model, scorer, vocabulary, names)
            loss, _ = objective(vector)
            mine = seconds(partial(objective, vector), repeat)
        report.add(
            f"one pass, {threads} thread{'s' * (threads > 1)} (s)", mine, bar,
            against=theirs, ratio=theirs / mine,
        )  # fmt: skip
    difference = abs(loss - log[-1]["loss"]) / log[-1]["loss"]
    report.add("loss at CRFsuite's weights, relative difference", difference, 1e-5, at_most=True)


def peer_weights(model, scorer, vocabulary, names):
    """CRFsuite's weights as a parameter vector of ours."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    dump = tagger.info()
    weights = scorer.unpack(np.zeros(scorer.size))
    number = {name: k for k, name in enumerate(names)}
    # our names mark a sign that belongs to a value, such as the | of the tag NN|SYM
    feature = {name.replace("\\", ""): k for k, name in enumerate(vocabulary.names())}
    for (attribute, label), weight in dump.state_features.items():
        weights.state[feature[attribute], number[label]] = weight
    for (source, target), weight in dump.transitions.items():
        weights.transitions[number[source], number[target]] = weight
    return scorer.pack(weights)


def compare_pipelines(report, folder, train, test, repeat):
    """File to model, and file to tagged file."""
    began = time.perf_counter()
    trainer = peer.train(train, folder / "peer.model", TOLERANCE)
    theirs = time.perf_counter() - began
    began = time.perf_counter()
    crf = ours.train(train, folder / "ours.skip", TOLERANCE)
    mine = time.perf_counter() - began
    report.console.print(
        f"CRFsuite: {len(trainer.logparser.iterations)} iterations, loss "
        f"{trainer.logparser.last_iteration['loss']:,.1f}; skipchain: {crf.minimum_.iterations} "
        f"iterations, loss {crf.minimum_.loss:,.1f}"
    )
    report.add("file to saved model (s)", mine, 8.0, against=theirs, ratio=theirs / mine)
    their_tagger, our_tagger = peer.load(folder / "peer.model"), load(folder / "ours.skip")
    tokens = peer.tag(their_tagger, test, folder / "peer.out")
    slow = seconds(lambda: peer.tag(their_tagger, test, folder / "peer.out"), 3)
    fast = seconds(lambda: ours.tag(our_tagger, test, folder / "ours.out"), repeat)
    report.add(
        "file to tagged file (tokens/s)", tokens / fast, 10.0,
        against=tokens / slow, ratio=slow / fast,
    )  # fmt: skip
    report.add("file to tagged file (tokens/s), absolute", tokens / fast, 300_000)
    agreement = agree(folder / "peer.out", folder / "ours.out")
    report.add("share of tokens with CRFsuite's label (%)", agreement, 99.0)


def agree(first, second):
    """Percent of equal labels in two column files."""
    lines = [
        [line.split()[-1] for line in Path(path).read_text().splitlines()
         if line and not line.startswith("-DOCSTART-")]
        for path in (first, second)
    ]  # fmt: skip
    pairs = list(zip(*lines, strict=True))
    return 100.0 * sum(a == b for a, b in pairs) / len(pairs)


def compare_memory(report, folder, train):
    """Peak memory of training, each in a process of its own."""
    code = (
        "import resource, sys; from benchmarks import {0}; "
        "{0}.train(sys.argv[1], sys.argv[2], {1}{2}); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = []
    for name, extra in (("ours", ""), ("peer", ", 5")):
        command = [
            sys.executable, "-c", code.format(name, TOLERANCE, extra), str(train),
            str(folder / f"memory-{name}"),
        ]  # fmt: skip
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        peaks.append(int(done.stdout.split()[-1]) / 1024)
    mine, theirs = peaks
    report.add(
        "peak memory of training (MB)",
        mine,
        0.65,
        against=theirs,
        ratio=mine / theirs,
        at_most=True,
    )


def measure_start(report, folder):
    """The command line from a cold process, kernels cached."""
    program = [sys.executable, "-m", "skipchain"]

    def run(*arguments):
        subprocess.run([*program, *arguments], check=True, capture_output=True)

    report.add("skipchain --help (s)", seconds(lambda: run("--help"), 5), 0.3, at_most=True)
    run("demo", "-o", str(folder / "demo"))
    model = str(folder / "demo" / "harbour.skip")
    text = "Mayor Aske flew to Oslo."
    run("tag", model, "--text", text)
    report.add(
        "skipchain tag of one sentence (s)", seconds(lambda: run("tag", model, "--text", text), 5),
        1.5, at_most=True,
    )  # fmt: skip


def measure_reading(report, folder, train, repeat):
    """Reading a column file, and loading a model."""
    report.add("read 203,621 tokens (s)", seconds(lambda: read(train), repeat), 0.5, at_most=True)
    report.add(
        "load a CoNLL-size model (s)", seconds(lambda: load(folder / "ours.skip"), repeat), 0.3,
        at_most=True,
    )  # fmt: skip


def measure_accuracy(report, folder, parts):
    """Entity F1 of the standard set, by the commands a user would type."""
    model = str(folder / "ner.skip")
    program = [sys.executable, "-m", "skipchain"]
    subprocess.run(
        [*program, "train", parts["train"], "--dev", parts["testa"], "--model", "crf",
         "--features", "ner", "-o", model, "--quiet"],
        check=True,
    )  # fmt: skip
    for part, bar in (("testa", 91.0), ("testb", 85.5)):
        done = subprocess.run(
            [*program, "eval", model, parts[part], "--json"], check=True, capture_output=True
        )
        report.add(f"F1 on {part}, --features ner", json.loads(done.stdout)["f1"], bar)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--repeat", type=int, default=7, help="runs of each short measurement")
    parser.add_argument("--no-accuracy", action="store_true", help="leave out the F1 figures")
    arguments = parser.parse_args()
    report = Report()
    parts = {name: str(root() / part.path) for name, part in data_set("conll2003").parts.items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measure_start(report, folder)
        compare_memory(report, folder, parts["train"])
        compare_passes(report, folder, parts["train"], arguments.repeat)
        compare_pipelines(report, folder, parts["train"], parts["testb"], arguments.repeat)
        measure_reading(report, folder, parts["train"], arguments.repeat)
        if not arguments.no_accuracy:
            measure_accuracy(report, folder, parts)
    write_text(
        LATEST, json.dumps([asdict(f) for f in report.figures], indent=2) + "\n", overwrite=True
    )
    Console(highlight=False).print(report.table())


if __name__ == "__main__":
    try:
        main()
    except SkipchainError as error:
        sys.exit(f"benchmarks: {error}")
