"""Label encodings: whether IO is as accurate as those that mark where names begin, and faster.

One CRF learns the same names written in each encoding. IO cannot tell two touching names of one
type from one long name; all scores are against the names as they are.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skipchain.corpus import Corpus
from skipchain.corpus.schemes import convert
from skipchain.corpus.schemes.codec import count_merged
from skipchain.datasets.registry import data_set
from skipchain.learn.step import INTERRUPTED, OptimisationResult, Step
from skipchain.models.base.progress import TrainingSize
from skipchain.models.chain.crf import CRF
from skipchain.reproduce.plots import points
from skipchain.reproduce.run import Run, mean_and_range
from skipchain.reproduce.table import FAILS, HOLDS, Row, Table

NAME = "encodings"
ENCODINGS = ("io", "iob1", "iob2", "bioes")
FEATURES = "ner"
F1, SECONDS, RATIO = "F1", "learning (s)", "learning (times IO's)"
NEGLIGIBLE = 0.5  # points of F1
MUCH = 2.0  # times


def measure(run: Run) -> Table:
    """Learn and score a CRF in every encoding, with several seeds, on one thread."""
    data = data_set("conll2003")
    train, test = data.read("train"), data.read("testb")
    seeds, epochs = tuple(range(1 if run.quick else 3)), 8 if run.quick else 30
    if run.quick:
        train, test = train[:1500], test[:800]
    f1: dict[str, list[float]] = {encoding: [] for encoding in ENCODINGS}
    spent: dict[str, list[float]] = {encoding: [] for encoding in ENCODINGS}
    labels = {}
    # the first call of a kernel may compile it
    CRF(FEATURES, epochs=1, threads=1).fit(train[:10])
    for seed in seeds:
        for encoding in ENCODINGS:
            run.say(f"{NAME}: {encoding}, seed {seed}")
            watch = LearningTimer()
            crf = CRF(FEATURES, encoding=encoding, epochs=epochs, seed=seed, threads=1)
            crf.fit(re_encoded(train, encoding), progress=watch)
            spent[encoding].append(watch.seconds)
            f1[encoding].append(100 * crf.score(test))
            labels[encoding] = len(crf.classes_)
    rows = _rows(f1, spent)
    merged = count_merged(test.spans(), test.sentences)
    return Table(
        NAME,
        "Encodings of names",
        "Mausam's slides say that IO and IOB differ negligibly in accuracy and that IO is much "
        "faster; they give no figures",
        rows,
        (
            f"CRF with the features {FEATURES!r}, learnt from {train.n_tokens:,} tokens of "
            f"CoNLL-2003 by {epochs} epochs of stochastic steps on one thread, tested on "
            f"{test.n_tokens:,} of testb.",
            "Labels: " + ", ".join(f"{labels[each]} of {each}" for each in ENCODINGS) + ".",
            f"The test set has {len(test.spans()):,} names; {merged} of them follow another of "
            "their type without a gap, and IO cannot tell the two apart.",
            "low and high: worst and best seed; seconds are those of the processor, and without "
            "the reading of features, which takes the same time for all. "
            f"Negligible: less than {NEGLIGIBLE} F1 from IO; much faster: {MUCH:g} times.",
        ),
        seeds,
        conclusion(rows),
        (
            points([row for row in rows if row.metric == F1], "F1 by encoding"),
            replace(
                points(
                    [row for row in rows if row.metric == SECONDS],
                    "Seconds of learning by encoding",
                ),
                name="seconds",
            ),
        ),
    )


class LearningTimer:
    """Told how learning goes on, it keeps the processor's seconds that it has taken."""

    seconds = 0.0
    _began = 0.0

    def begin(self, problem: TrainingSize) -> None:
        """Features are read; learning begins."""
        self._began = time.process_time()

    def step(self, step: Step, dev: float | None) -> None:
        """After each epoch."""

    def end(self, result: OptimisationResult) -> None:
        """After the last; an interrupt goes on to whoever runs this."""
        self.seconds = time.process_time() - self._began
        if result.reason == INTERRUPTED:
            raise KeyboardInterrupt


def re_encoded(corpus: Corpus, encoding: str) -> Corpus:
    """The corpus with its labels in an encoding, touching names merged where it must."""
    assert corpus.scheme is not None
    labels = convert(corpus.labels, corpus.sentences, corpus.scheme, encoding, lossy=True)
    return corpus.with_labels(labels, encoding)


def _rows(f1: dict[str, list[float]], spent: dict[str, list[float]]) -> tuple[Row, ...]:
    rows = []
    for encoding in ENCODINGS:
        total = sum(spent[encoding])
        # seed by seed, which were run one after the other
        apart = float(np.mean(np.subtract(f1[encoding], f1["io"])))
        times = np.divide(spent[encoding], spent["io"]).tolist()
        close = HOLDS if abs(apart) < NEGLIGIBLE else FAILS
        slow = HOLDS if float(np.mean(times)) >= MUCH else FAILS
        base = encoding == "io"
        verdicts = {
            F1: "" if base else f"{close}: {apart:+.2f} from IO",
            SECONDS: "",
            RATIO: "" if base else f"{slow}: IO is {np.mean(times):.2f} times as fast",
        }
        for metric, values in ((F1, f1[encoding]), (SECONDS, spent[encoding]), (RATIO, times)):
            rows.append(
                Row(NAME, encoding, metric, None, *mean_and_range(values), total, verdicts[metric])
            )
    return tuple(rows)


def conclusion(rows: Sequence[Row]) -> str:
    """What becomes of both parts of the claim."""
    parts = []
    for metric, claim in ((F1, "the accuracies differ negligibly"), (RATIO, "IO is much faster")):
        bad = [row.system for row in rows if row.metric == metric and FAILS in row.verdict]
        where = "" if len(bad) in (0, len(ENCODINGS) - 1) else f" for {' and '.join(bad)}"
        parts.append(f"That {claim} {FAILS if bad else HOLDS}{where}.")
    return " ".join(parts)
