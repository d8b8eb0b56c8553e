"""Label encodings: whether IO is as accurate as those that mark where names begin, and faster.

One CRF is trained on the same names in each encoding. IO cannot tell two adjacent names of one type
from one long name; all scores are against the names as they are in the corpus.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skipchain import CRF, Corpus
from skipchain.corpus.schemes import convert
from skipchain.corpus.schemes.codec import count_merged
from skipchain.learn.step import INTERRUPTED, OptimisationResult, Step
from skipchain.models.base.progress import TrainingSize
from skipchain.reproduce.plots import points
from skipchain.reproduce.run import Run
from skipchain.reproduce.table import Row, Table, judge, of_metric

NAME = "encodings"
ENCODINGS = ("io", "iob1", "iob2", "bioes")
FEATURES = "ner"
F1, SECONDS, RATIO = "F1", "learning (s)", "learning (times IO's)"
NEGLIGIBLE = 0.5  # points of F1
MUCH = 2.0  # times


def measure(run: Run) -> Table:
    """Train and score a CRF in every encoding, with several seeds, on one thread."""
    train, test = run.read("conll2003", by_sentences=True, train=1500, testb=800)
    seeds, epochs = run.seeds(3, quick=1), 8 if run.quick else 30
    f1, spent, labels = defaultdict(list), defaultdict(list), {}
    CRF(FEATURES, epochs=1, threads=1).fit(train[:10])  # the first call may compile kernels
    run.plan(len(seeds) * len(ENCODINGS))
    for seed in seeds:
        for encoding in ENCODINGS:
            run.say(f"{NAME}: {encoding}, seed {seed}")
            timer = LearningTimer()
            crf = CRF(FEATURES, encoding=encoding, epochs=epochs, seed=seed, threads=1)
            crf.fit(re_encoded(train, encoding), progress=timer)
            spent[encoding].append(timer.seconds)
            f1[encoding].append(100 * crf.score(test))
            labels[encoding] = len(crf.model_.labels)
    rows = _rows(f1, spent)
    merged = count_merged(test.spans(), test.sentences)
    return Table(
        NAME,
        "Encodings of names",
        "Mausam's slides say that IO and IOB differ negligibly in accuracy and that IO is much "
        "faster; they give no figures",
        rows,
        notes=(
            f"CRF with the features {FEATURES!r}, trained on {train.n_tokens:,} tokens of "
            f"CoNLL-2003 by {epochs} epochs of SGD on one thread, tested on {test.n_tokens:,} of "
            "testb.",
            f"Labels: {', '.join(f'{labels[name]} of {name}' for name in ENCODINGS)}.",
            f"The test set has {len(test.spans()):,} names; {merged} of them follow another of "
            "their type without a gap, and IO cannot tell the two apart.",
            "low and high: worst and best seed; seconds are processor time, without feature "
            "extraction, which takes the same time for all. "
            f"Negligible: less than {NEGLIGIBLE} F1 from IO; much faster: {MUCH:g} times.",
        ),
        seeds=seeds,
        verdict=conclusion(rows),
        pictures=(
            points(of_metric(rows, F1), "F1 by encoding"),
            points(of_metric(rows, SECONDS), "Seconds of learning by encoding", name="seconds"),
        ),
    )


class LearningTimer:
    """Keeps the processor time of learning: ``fit(…, progress=LearningTimer())``."""

    seconds = 0.0
    _began = 0.0

    def begin(self, problem: TrainingSize) -> None:
        """Called when features are extracted and learning begins."""
        self._began = time.process_time()

    def step(self, step: Step, dev: float | None) -> None:
        """Called after each epoch."""

    def end(self, result: OptimisationResult) -> None:
        """Called after the last epoch; an interrupt ends the measurement."""
        self.seconds = time.process_time() - self._began
        if result.reason == INTERRUPTED:
            raise KeyboardInterrupt


def re_encoded(corpus: Corpus, encoding: str) -> Corpus:
    """The corpus with its labels in an encoding; IO merges adjacent names of one type."""
    assert corpus.scheme is not None
    labels = convert(corpus.labels, corpus.sentences, corpus.scheme, encoding, lossy=True)
    return corpus.with_labels(labels, encoding)


def _rows(f1: dict[str, list[float]], spent: dict[str, list[float]]) -> list[Row]:
    rows = []
    for encoding in ENCODINGS:
        # seed by seed, which were run one after the other
        difference = float(np.mean(np.subtract(f1[encoding], f1["io"])))
        ratios = np.divide(spent[encoding], spent["io"]).tolist()
        ratio = float(np.mean(ratios))
        verdicts = {
            F1: judge(abs(difference) < NEGLIGIBLE, f"{difference:+.2f} from IO"),
            RATIO: judge(ratio >= MUCH, f"IO is {ratio:.2f} times as fast"),
        }
        for metric, values in ((F1, f1[encoding]), (SECONDS, spent[encoding]), (RATIO, ratios)):
            verdict = "" if encoding == "io" else verdicts.get(metric, "")
            row = Row.of_runs(NAME, encoding, metric, None, values, verdict=verdict)
            rows.append(replace(row, seconds=sum(spent[encoding])))
    return rows


def conclusion(rows: Sequence[Row]) -> str:
    """Whether both halves of the claim hold, and for which encodings they do not."""
    verdicts = []
    for metric, claim in ((F1, "the accuracies differ negligibly"), (RATIO, "IO is much faster")):
        failing = [row.system for row in of_metric(rows, metric) if row.fails]
        where = "" if len(failing) in (0, len(ENCODINGS) - 1) else f" for {' and '.join(failing)}"
        verdicts.append(f"That {claim} {judge(not failing)}{where}.")
    return " ".join(verdicts)
