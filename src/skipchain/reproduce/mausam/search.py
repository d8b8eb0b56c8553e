"""Greedy, beam and Viterbi search with one MEMM: what a better search gains in names found.

The features are those of Ratinov and Roth's baseline system: the word, its kind and its affixes,
words and capital letters in a window of five, the labels before, and the words of the window
together with the label before.
"""

from __future__ import annotations

import numpy as np

from skipchain.corpus import Corpus
from skipchain.datasets.registry import data_set
from skipchain.metrics import entity_scores
from skipchain.models.chain.memm import MEMM
from skipchain.models.chain.model import ChainModel
from skipchain.parallel import Workers
from skipchain.reproduce.plots import points
from skipchain.reproduce.run import Run, Timer, mean_and_range
from skipchain.reproduce.table import FAILS, HOLDS, Row, Table

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
LITTLE = 0.5  # points of F1


def measure(run: Run) -> Table:
    """Learn a MEMM of each order with several seeds, and search with each decoder."""
    data = data_set("conll2003")
    train, test = data.read("train"), data.read("testb")
    seeds, epochs = tuple(range(1 if run.quick else 3)), 8 if run.quick else EPOCHS
    if run.quick:
        train, test = train[:1500], test[:800]
    clock = Timer()
    found: dict[str, list[float]] = {}
    for order in ORDERS:
        for seed in seeds:
            run.say(f"{NAME}: order {order}, seed {seed}")
            with clock("learning"):
                memm = MEMM(
                    TEMPLATES,
                    order=order,
                    encoding=ENCODING,
                    dropout=DROPOUT,
                    epochs=epochs,
                    seed=seed,
                    threads=run.threads,
                ).fit(train)
            for name, f1 in scores(memm.model_, test, order, run.threads, clock).items():
                found.setdefault(name, []).append(f1)
    rows = tuple(
        _row(search, order, found, clock.seconds(_system(search, order)))
        for order in ORDERS
        for search in SEARCHES
    )
    small = not any(row.verdict.startswith(FAILS) for row in rows)
    return Table(
        NAME,
        "Decoders of a MEMM on names",
        "Ratinov and Roth (2009), baseline system on CoNLL-2003's test set, as given in Mausam's "
        "slides",
        rows,
        (
            f"Learnt from {train.n_tokens:,} tokens of CoNLL-2003, tested on {test.n_tokens:,} of "
            "testb. The published system is a perceptron; the model here is a MEMM with the same "
            "features, of order 1 (it sees one label before) and of order 2.",
            f"Labels in {ENCODING}; {epochs} epochs of stochastic steps with dropout {DROPOUT}, "
            "both chosen on testa.",
            "Hypotheses that end in the same labels are recombined, so that a beam as wide as "
            "there are labels (here 9) is exact for order 1.",
            "low and high: worst and best seed; seconds: the search alone, all seeds together. "
            f"Learning took {clock.seconds('learning'):.0f} s.",
        ),
        seeds,
        f"The decoders differ by less than {LITTLE} F1, as published."
        if small
        else "Some decoders differ by more than was published: see the verdicts.",
        (points(rows, "F1 by decoder, published and measured"),),
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


def _row(search: str, order: int, found: dict[str, list[float]], seconds: float) -> Row:
    """A decoder's F1; the verdict compares what it gains on greedy search, seed by seed."""
    own, greedy = (found[_system(each, order)] for each in (search, GREEDY))
    verdict = "the base of the others"
    if search != GREEDY:
        gain = float(np.mean(np.subtract(own, greedy)))
        conclusion = HOLDS if abs(gain) < LITTLE else FAILS
        published = PUBLISHED[search] - PUBLISHED[GREEDY]
        verdict = f"{conclusion}: {gain:+.2f} on greedy, published {published:+.2f}"
    return Row(
        NAME,
        _system(search, order),
        METRIC,
        PUBLISHED[search],
        *mean_and_range(own),
        seconds,
        verdict,
    )
