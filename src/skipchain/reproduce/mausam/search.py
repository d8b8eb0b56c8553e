"""Greedy, beam and Viterbi search with one MEMM: what a better search gains on names.

The features are those of Ratinov and Roth's baseline system: the word, its kind and its affixes,
words and capital letters in a window of five, the previous labels, and the words of the window
together with the previous label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from skipchain import MEMM, Corpus
from skipchain.metrics import entity_scores
from skipchain.models.chain.model import ChainModel
from skipchain.parallel import Workers
from skipchain.reproduce.plots import points
from skipchain.reproduce.run import Run, Timer
from skipchain.reproduce.table import Row, Table, judge

NAME = "search"
METRIC = "F1"
TEMPLATES = """
word[-2..2]
prefix(1)
prefix(2)
prefix(3)
prefix(4)
suffix(1)
suffix(2)
suffix(3)
suffix(4)
match("^[A-Z]+$")
match("^[A-Z][a-z]+$")
match("^[0-9]+$")
match("[0-9].*[A-Za-z]|[A-Za-z].*[0-9]")
shortshape[-2..2]
label[-1] & word[-2..2]
"""
# Chosen on the development part.
ENCODING, DROPOUT, EPOCHS = "iob2", 0.2, 30
ORDERS = (1, 2)
GREEDY = "greedy"
SEARCHES = {
    GREEDY: (GREEDY, 1),
    "beam 10": ("beam", 10),
    "beam 100": ("beam", 100),
    "Viterbi": ("viterbi", 1),
}
PUBLISHED = {GREEDY: 83.29, "beam 10": 83.38, "beam 100": 83.38, "Viterbi": 83.71}
NEGLIGIBLE = 0.5  # points of F1


def measure(run: Run) -> Table:
    """Train a MEMM of each order with several seeds, and search with each decoder."""
    train, test = run.read("conll2003", by_sentences=True, train=1500, testb=800)
    seeds, epochs = run.seeds(3, quick=1), 8 if run.quick else EPOCHS
    settings: dict[str, Any] = {"encoding": ENCODING, "dropout": DROPOUT, "epochs": epochs}
    settings["threads"] = run.threads
    clock = Timer()
    f1: dict[str, list[float]] = {}
    run.plan(len(ORDERS) * len(seeds))
    for order in ORDERS:
        for seed in seeds:
            run.say(f"{NAME}: order {order}, seed {seed}")
            with clock("training"):
                memm = MEMM(TEMPLATES, order=order, seed=seed, **settings).fit(train)
            for name, score in scores(memm.model_, test, order, run.threads, clock).items():
                f1.setdefault(name, []).append(score)
    rows = [_row(search, order, f1, clock) for order in ORDERS for search in SEARCHES]
    return Table(
        NAME,
        "Decoders of a MEMM on names",
        "Ratinov and Roth (2009), baseline system on CoNLL-2003's test set, as in Mausam's slides",
        rows,
        notes=(
            f"Trained on {train.n_tokens:,} tokens of CoNLL-2003, tested on {test.n_tokens:,} of "
            "testb. The published system is a perceptron; the model here is a MEMM with the same "
            "features, of order 1 (it sees one previous label) and of order 2.",
            f"Labels in {ENCODING}; {epochs} epochs of SGD with dropout {DROPOUT}, both chosen on "
            "testa.",
            "Hypotheses that end in the same labels are recombined, so that a beam as wide as "
            "there are labels (here 9) is exact for order 1.",
            "low and high: worst and best seed; seconds: the search alone, all seeds together. "
            f"Training took {clock.seconds('training'):.0f} s.",
        ),
        seeds=seeds,
        verdict="Some decoders differ by more than was published: see the verdicts."
        if any(row.fails for row in rows)
        else f"The decoders differ by less than {NEGLIGIBLE} F1, as published.",
        pictures=(points(rows, "F1 by decoder, published and measured"),),
    )


def scores(
    model: ChainModel, test: Corpus, order: int, threads: int | None, clock: Timer
) -> dict[str, float]:
    """Entity F1 of every search with one model; the clock runs while it searches."""
    gold = test.spans()
    f1 = {}
    with Workers(threads) as workers:
        scored = model.scores(test, workers)
        for search, (decoder, width) in SEARCHES.items():
            with clock(_system(search, order)):
                labels = model.decode(scored, workers, decoder, width)
            spans = model.spans(labels, test.sentences)
            f1[_system(search, order)] = entity_scores(gold, spans).micro.f1
    return f1


def _system(search: str, order: int) -> str:
    return f"{search}, order {order}"


def _row(search: str, order: int, f1: Mapping[str, list[float]], clock: Timer) -> Row:
    """A decoder's F1; the verdict is about its gain on greedy search, seed by seed."""
    system = _system(search, order)
    verdict = "the baseline of the others"
    if search != GREEDY:
        gain = float(np.mean(np.subtract(f1[system], f1[_system(GREEDY, order)])))
        published = PUBLISHED[search] - PUBLISHED[GREEDY]
        text = f"{gain:+.2f} on greedy, published {published:+.2f}"
        verdict = judge(abs(gain) < NEGLIGIBLE, text)
    row = Row.of_runs(NAME, system, METRIC, PUBLISHED[search], f1[system], verdict=verdict)
    return replace(row, seconds=clock.seconds(system))
