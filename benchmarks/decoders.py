"""Beam search against greedy search with a MEMM: tagging, from words to labels.

The search alone is printed too, but says little about what a user waits for: greedy search takes
almost no time compared with feature extraction.
"""

from __future__ import annotations

from functools import partial

from benchmarks.features import TEMPLATES
from benchmarks.setting import in_turn
from skipchain import MEMM
from skipchain.datasets.registry import data_set
from skipchain.parallel import Workers
from skipchain.tagger import Tagger


def measure(report, setting):
    data = data_set("conll2003")
    train, test = data.read("train"), data.read("testb").without_labels()
    for order in (1, 2):
        model = MEMM(TEMPLATES, order=order, epochs=3).fit(train).fitted
        name = f"MEMM, order {order}: beam 10 against greedy"
        tagger = Tagger(model, threads=1)
        greedy, beam = compare(partial(tagger.predict, test), setting.repeat)
        report.within(f"{name}, tagging (s)", beam, greedy, 2.0)
        with Workers(1) as workers:
            scores = model.scores(test, workers)
            greedy, beam = compare(partial(model.decode, scores, workers), setting.repeat)
        report.console.print(f"{name}, search alone: {beam:.4f} s, {greedy:.4f} s")


def compare(decode, repeat):
    """The times of both searches."""
    both = partial(decode, decoder="greedy"), partial(decode, decoder="beam", beam=10)
    for each in both:
        each()
    return in_turn(both, repeat)
