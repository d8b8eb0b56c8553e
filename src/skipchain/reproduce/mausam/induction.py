"""Induced templates beside hand-made ones: chunks and names, from single views alone.

The search sees half of the training part and nothing else, with the default settings of
`skipchain induce`. Then one CRF is trained with each set of templates on all of the training part.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skipchain import CRF, Corpus
from skipchain.arrays import Ints
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.induction import Induction, induce
from skipchain.metrics.bootstrap import f1, f1_interval, significance_of_counts
from skipchain.metrics.evaluation import unit_counts
from skipchain.reproduce.plots import points
from skipchain.reproduce.run import Run
from skipchain.reproduce.system import DecodedModel
from skipchain.reproduce.table import Row, Table, judge

NAME = "induction"
START = """
word[-2..2]
lower[-2..2]
shape[-2..2]
shortshape[-2..2]
prefix(2)[-2..2]
prefix(3)[-2..2]
suffix(2)[-2..2]
suffix(3)[-2..2]
pos[-2..2]
"""
SINGLE, INDUCED, HAND_MADE = "single views", "induced", "hand-made"
SEARCH = "induction (s)"
EPOCHS = 5  # of every training during the search
DROPOUT = 0.5  # of all trainings
SURE = 0.05
NEGLIGIBLE = 0.5  # points of F1


@dataclass(frozen=True, slots=True)
class Task:
    """A data set, the standard set of templates that was made for it, and its parts.

    ``sample`` is what the search sees: every second document of ``train``, or sentence.
    """

    data: str
    hand_made: str
    sample: Corpus
    train: Corpus
    tests: Mapping[str, Corpus]


@dataclass(frozen=True, slots=True)
class TrainedSet:
    """A CRF trained with one set of templates: its size, and how it did.

    ``counts`` [U, 3] are the gold, predicted and correct spans of each document (or sentence), by
    part; ``seconds`` are those of training.
    """

    templates: int
    features: int
    counts: Mapping[str, Ints]
    seconds: float


def measure(run: Run) -> Table:
    """Search on both training parts, and train with what was found, on one thread."""
    rows: list[Row] = []
    found: dict[str, Induction] = {}
    tasks = _tasks(run)
    CRF("word", epochs=1, threads=1).fit(tasks[0].train[:10])  # the first call may compile kernels
    for task in tasks:
        own, spent = _search(task, run)
        found[task.data] = own
        systems: dict[str, str | Templates] = {
            SINGLE: START,
            INDUCED: own.templates,
            HAND_MADE: task.hand_made,
        }
        trained = {}
        for system, templates in systems.items():
            run.say(f"{NAME}: {task.data}, training with templates that are {system}")
            trained[system] = _train(task, templates, run)
        rows += task_rows(task, trained, spent)
    return Table(
        NAME,
        "Templates found by induction, and templates made by hand",
        "nothing to compare with; Mausam's slides name stepwise search for feature sets, and give "
        "no figures",
        rows,
        notes=(
            f"CRFs with default settings, dropout {DROPOUT}, seed 0, one thread. Single views are "
            f"those that the search begins with: {', '.join(START.split())}. "
            f"{HAND_MADE}: the standard sets "
            f"{' and '.join(repr(task.hand_made) for task in tasks)}; they have parts of speech, "
            "too, and 'ner' also has n-grams and bags of words, which the search may not invent.",
            "The search: the settings of 'skipchain induce', on "
            f"{' and '.join(_size(task) for task in tasks)}: every second sentence, or document, "
            "of the training part, in two folds. It sees no other part; the CRFs that are compared "
            "are trained on all of it.",
            "low and high: 95 % of resamples of documents, or of sentences where there are none; "
            "p: how often chance makes a difference as large between induced and hand-made, by "
            f"randomisation. As good: no worse, or worse by less than {NEGLIGIBLE} with p of "
            f"{SURE} or more. seconds: processor time of training with feature extraction; "
            f"that of the search is the row {SEARCH!r}.",
        ),
        seeds=(0,),
        verdict=conclusion(rows),
        pictures=(points([row for row in rows if row.metric.startswith("F1")], "F1 by templates"),),
        sections=tuple(section(name, own) for name, own in found.items()),
    )


def _tasks(run: Run) -> list[Task]:
    chunks = run.read("conll2000", by_sentences=True, train=500, test=300)
    names = run.read("conll2003", train=60, testa=20, testb=20)
    return [
        Task("CoNLL-2000", "chunk", chunks[0][::2], chunks[0], {"test": chunks[1]}),
        Task(
            "CoNLL-2003",
            "ner",
            names[0].take_documents(np.arange(0, names[0].n_documents, 2)),
            names[0],
            {"testa": names[1], "testb": names[2]},
        ),
    ]


def _search(task: Task, run: Run) -> tuple[Induction, float]:
    """What induction finds on the training part, and its processor time."""
    began = time.process_time()
    found = induce(
        task.sample,
        START,
        model=CRF(epochs=EPOCHS, dropout=DROPOUT, threads=1),
        rounds=2 if run.quick else 6,
        say=lambda line: run.say(f"{NAME}: {task.data}, {line.strip()}"),
    )
    return found, time.process_time() - began


def _train(task: Task, templates: str | Templates, run: Run) -> TrainedSet:
    began = time.process_time()
    epochs = 8 if run.quick else None
    crf = CRF(templates, epochs=epochs, dropout=DROPOUT, threads=1).fit(task.train)
    spent = time.process_time() - began
    system, vocabulary = DecodedModel(crf.model_), crf.model_.features
    assert isinstance(vocabulary, Vocabulary)
    counts = {
        part: unit_counts(corpus, system.label(corpus.without_labels(), 1))
        for part, corpus in task.tests.items()
    }
    return TrainedSet(len(vocabulary.templates.templates), vocabulary.n_features, counts, spent)


def task_rows(task: Task, trained: Mapping[str, TrainedSet], spent: float) -> list[Row]:
    """F1 on each part, sizes, and the time of the search."""
    rows = []
    for part in task.tests:
        for system, own in trained.items():
            counts = own.counts[part]
            low, high = f1_interval(counts)
            verdict = ""
            if system == INDUCED:
                test = significance_of_counts(counts, trained[HAND_MADE].counts[part])
                chance = test.p_value >= SURE and test.difference > -NEGLIGIBLE
                as_good = test.difference >= 0.0 or chance
                reason = f"{test.difference:+.2f} on hand-made, p {test.p_value:.4f}"
                verdict = judge(as_good, reason)
            score = float(f1(counts.sum(axis=0)))
            row = Row(NAME, f"{task.data}: {system}", f"F1 {part}", None, score, low, high)
            rows.append(replace(row, seconds=own.seconds, verdict=verdict))
    for system, own in trained.items():
        name = f"{task.data}: {system}"
        rows.append(Row(NAME, name, "templates", None, float(own.templates)))
        rows.append(Row(NAME, name, "features", None, float(own.features)))
    rows.append(Row(NAME, f"{task.data}: {INDUCED}", SEARCH, None, spent, seconds=spent))
    return rows


def section(name: str, found: Induction) -> str:
    """What was found: conjunctions, and views alone that were left."""
    return f"## {name}\n\n```text\n{found.text.rstrip()}\n```"


def conclusion(rows: Sequence[Row]) -> str:
    """Where induced templates are as good as hand-made ones, and where they are not."""
    judged = [row for row in rows if row.verdict]
    where = [f"{row.system.split(':')[0]} {row.metric.removeprefix('F1 ')}" for row in judged]
    worse = [place for place, row in zip(where, judged, strict=True) if row.fails]
    if not worse:
        return f"Induced templates are as good as hand-made ones on {', '.join(where)}."
    return f"Induced templates are worse than hand-made ones on {', '.join(worse)}."


def _size(task: Task) -> str:
    return f"{task.sample.n_tokens:,} of {task.train.n_tokens:,} tokens of {task.data}"
