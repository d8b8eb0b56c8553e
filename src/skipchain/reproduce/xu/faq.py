"""Segments of FAQ files: head, questions, answers and tail, found by four methods.

Every line has a label; a segment is a longest run of lines with one label, and is right if both its
ends and its label are. Models are learnt on one part of a FAQ and tested on its other parts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.corpus import Corpus
from skipchain.corpus.schemes import Spans
from skipchain.datasets.registry import data_set
from skipchain.metrics import entity_scores
from skipchain.metrics.score import Score
from skipchain.models.chain.crf import CRF
from skipchain.models.chain.estimator import ChainEstimator
from skipchain.models.chain.maxent import MaxEnt
from skipchain.models.chain.memm import MEMM
from skipchain.reproduce.plots import side_by_side
from skipchain.reproduce.run import Run, Timer
from skipchain.reproduce.table import FAILS, HOLDS, Row, Table

NAME = "faq"
L2 = 0.05
METRICS = ("precision", "recall", "F1")
PUBLISHED = {
    "ME-stateless": (0.038, 0.362),
    "TokenHMM": (0.276, 0.140),
    "FeatureHMM": (0.413, 0.529),
    "MEMM": (0.867, 0.681),
}
QUESTION = "question"
SAMPLES, SEED = 1000, 0  # of the bootstrap

# The line features ----------------------------------------------------------------------------

QUESTION_WORDS = "how|what|when|where|which|who|why"
ORDINAL = (
    r"(?:\d+(?:\.\d+)*[.):]|\(?[a-z0-9]\)"
    r"|(?:first|second|third|fourth|fifth|\d+(?:st|nd|rd|th))\b)"
)
BRACKETED = r"[\[(<{]\s*\d+(?:\.\d+)*\s*[\])>}]"

# Each is looked for in the line without white space around it, in lower case.
PATTERNS = {
    "begins-with-number": r"^\d",
    "begins-with-ordinal": "^" + ORDINAL,
    "begins-with-punctuation": r"^[^\w\s]",
    "begins-with-question-word": rf"^(?:{QUESTION_WORDS})\b",
    "begins-with-subject": "^subject",
    "blank": r"^$",
    "contains-alphanum": r"\w",
    "contains-bracketed-number": BRACKETED,
    "contains-http": "http",
    "contains-non-space": r"\S",
    "contains-number": r"\d",
    "contains-pipe": r"\|",
    "contains-question-mark": r"\?",
    "contains-question-word": rf"\b(?:{QUESTION_WORDS})\b",
    "ends-with-question-mark": r"\?$",
    "only-punctuation": r"^[^\w\s](?:[^\w]*)$",
}
FOUND = {name: re.compile(pattern).search for name, pattern in PATTERNS.items()}
FIRST_LETTER = re.compile(r"[^\W\d_]").search
TEMPLATES = "line\nbefore[-1]"


def line_features(line: str) -> list[str]:
    """The features of a line that need no other line: 22 of the 24.

    >>> line_features("2.6) What cable?")[:3]
    ['begins-with-number', 'begins-with-ordinal', 'contains-alphanum']
    >>> line_features("   ----")
    ['begins-with-punctuation', 'contains-non-space', 'only-punctuation', 'indented',
     'indented-1-to-4', 'more-than-one-third-space', 'shorter-than-30']
    """
    wide = line.expandtabs()
    text = wide.strip()
    lowered = text.lower()
    names = [name for name, found in FOUND.items() if found(lowered)]
    letter = FIRST_LETTER(text)
    indent = len(wide) - len(wide.lstrip()) if text else 0
    measured = {
        "first-alpha-is-capitalized": letter is not None and letter[0].isupper(),
        "indented": indent > 0,
        "indented-1-to-4": 1 <= indent <= 4,
        "indented-5-to-10": 5 <= indent <= 10,
        "more-than-one-third-space": 3 * wide.count(" ") > len(wide),
        "shorter-than-30": len(wide) < 30,
    }
    return names + [name for name, holds in measured.items() if holds]


def previous_line_features(line: str) -> list[str]:
    """What the line says about the one after it: the other two."""
    text = line.strip().lower()
    names = {"prev-is-blank": not text, "prev-begins-with-ordinal": bool(re.match(ORDINAL, text))}
    return [name for name, holds in names.items() if holds]


def line_words(line: str) -> list[str]:
    """The words of a line; a blank line has a word of its own."""
    return line.split() or ["<blank>"]


VIEWS = {"line": line_features, "before": previous_line_features}

# The methods ----------------------------------------------------------------------------------


def systems(threads: int | None) -> dict[str, Callable[[], ChainEstimator]]:
    """The methods by name: the four of the published table, and two to compare them with."""
    from skipchain import HMM

    linear: dict[str, Any] = {"functions": VIEWS, "solver": "lbfgs", "l2": L2, "threads": threads}
    return {
        "ME-stateless": lambda: MaxEnt(TEMPLATES, **linear),
        "TokenHMM": lambda: HMM(
            "line_words",
            functions={"line_words": line_words},
            emissions="features",
            threads=threads,
        ),
        "FeatureHMM": lambda: HMM(
            TEMPLATES, functions=VIEWS, emissions="features", threads=threads
        ),
        "MEMM": lambda: MEMM(TEMPLATES, dependent=True, **linear),
        "MEMM, independent": lambda: MEMM(TEMPLATES, **linear),
        "CRF": lambda: CRF(TEMPLATES, **linear),
    }


@dataclass(slots=True)
class SegmentCounts:
    """Gold, predicted and right segments of each tested file, and files without a question."""

    counts: list[tuple[int, int, int]] = field(default_factory=list)
    without_questions: int = 0


def measure(run: Run) -> Table:
    """Learn on every part of every group (quick: on the first) and test on the others."""
    corpus = data_set("faq-usenet-substitute").read("all")
    parts = groups(corpus)
    methods = systems(run.threads)
    clock = Timer()
    tallies = {system: SegmentCounts() for system in methods}
    for group, members in parts.items():
        for own in members[:1] if run.quick else members:
            assert corpus.names is not None
            run.say(f"{NAME}: {group}, learning from {corpus.names[own]}")
            train = corpus.document(own)
            test = corpus.take_documents([other for other in members if other != own])
            for system, make in methods.items():
                with clock(system):
                    found = make().fit(train).predict(test.without_labels())
                for sentence, labels in zip(test, found, strict=True):
                    score = entity_scores(segments(sentence.labels), segments(labels)).micro
                    tallies[system].counts.append((score.gold, score.predicted, score.correct))
                    tallies[system].without_questions += QUESTION not in labels
    rows = _rows(tallies, clock)
    memm = tallies["MEMM"]
    good = [metric for metric in METRICS if _same_order(rows, metric)]
    bad = [metric for metric in METRICS if metric not in good]
    verdict = f"The order of the four methods is the published one by {' and '.join(good)}"
    verdict += f", not by {' and '.join(bad)}." if bad else "."
    return Table(
        NAME,
        "FAQ segmentation",
        "McCallum, Freitag and Pereira (2000), as given in Xu's slides; F1 follows from the two",
        rows,
        (
            "The data differ: the paper's files are not to be had. These are "
            f"{sum(map(len, parts.values()))} parts of {len(parts)} other FAQs, labelled by rule, "
            "so that labels follow the layout and are easier to find. Only the order of the four "
            "methods can be compared.",
            "Learnt on one part of a FAQ and tested on its others, "
            f"{len(memm.counts)} tests; low and high: 95 % of {SAMPLES:,} resamples of the tests.",
            f"MEMM: one classifier per previous label. In {memm.without_questions} of its tests it "
            "stays in "
            "the head to the end and finds no question: a file has one line that leaves the head.",
            f"Log-linear models by L-BFGS with l2 = {L2}; other penalties leave the order by "
            "precision as it is from 0.005 to 2, that by F1 from 0.03 to 0.2. TokenHMM emits the "
            "words of a line, FeatureHMM the 24 line features.",
        ),
        (SEED,),
        verdict if good else "The order of the four methods is another than the published.",
        (
            side_by_side(
                [row for row in rows if row.metric != "F1"],
                "Segment precision and recall, published and measured",
            ),
        ),
    )


def groups(corpus: Corpus) -> dict[str, list[int]]:
    """The documents of each FAQ that has several parts, by its name."""
    found: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(corpus.names or ()):
        found[name.rpartition("-")[0]].append(number)
    return {name: members for name, members in found.items() if len(members) > 1}


def segments(labels: list[str]) -> Spans:
    """Longest runs of one label.

    >>> segments(["head", "head", "question", "answer"]).tolist()
    [(0, 2, 'head'), (2, 3, 'question'), (3, 4, 'answer')]
    """
    starts = [k for k in range(len(labels)) if k == 0 or labels[k] != labels[k - 1]]
    return Spans.of((a, b, labels[a]) for a, b in pairwise([*starts, len(labels)]))


def _rows(tallies: dict[str, SegmentCounts], clock: Timer) -> tuple[Row, ...]:
    """Three figures per method; the verdict is whether it has the place it has in the paper."""
    rows = []
    for system, tally in tallies.items():
        told = PUBLISHED.get(system)
        published = (None,) * 3 if told is None else (*told, 2 * told[0] * told[1] / sum(told))
        counts = np.array(tally.counts, np.int64)  # [tests, 3]
        measured = _figures(counts.sum(axis=0))
        low, high = _interval(counts)
        for k, metric in enumerate(METRICS):
            rows.append(
                Row(
                    NAME,
                    system,
                    metric,
                    published[k],
                    measured[k],
                    float(low[k]),
                    float(high[k]),
                    clock.seconds(system),
                )
            )
    places = {metric: _places(rows, metric) for metric in METRICS}
    return tuple(_judged(row, places[row.metric].get(row.system)) for row in rows)


def _judged(row: Row, places: tuple[int, int] | None) -> Row:
    if places is None:
        return row
    published, measured = places
    size = len(PUBLISHED)
    if published == measured:
        return replace(row, verdict=f"{HOLDS}: place {measured} of {size}")
    return replace(row, verdict=f"{FAILS}: place {measured} of {size}, published {published}")


def _places(rows: list[Row], metric: str) -> dict[str, tuple[int, int]]:
    """The published and the measured place of each published method, the best first."""
    own = [row for row in rows if row.metric == metric and row.published is not None]
    published = sorted(own, key=lambda row: -(row.published or 0.0))
    measured = sorted(own, key=lambda row: -row.measured)
    return {row.system: (published.index(row) + 1, measured.index(row) + 1) for row in own}


def _same_order(rows: tuple[Row, ...], metric: str) -> bool:
    return all(a == b for a, b in _places(list(rows), metric).values())


def _figures(counts: Ints) -> tuple[float, float, float]:
    score = Score(*counts.tolist())
    return score.precision / 100, score.recall / 100, score.f1 / 100


def _interval(counts: Ints) -> tuple[Floats, Floats]:
    """The percentile bootstrap interval of the three figures over the tests. [3] each"""
    random = np.random.default_rng(SEED)
    drawn = counts[random.integers(len(counts), size=(SAMPLES, len(counts)))].sum(axis=1)
    figures = np.array([_figures(draw) for draw in drawn])
    low, high = np.quantile(figures, [0.025, 0.975], axis=0)
    return low, high
