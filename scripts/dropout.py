"""Measure the default dropout: on development data, by which it was chosen, or on test data.

    SKIPCHAIN_DATA=… python scripts/dropout.py           # shares of features left out, on dev
    SKIPCHAIN_DATA=… python scripts/dropout.py --test    # before and after, on test

The table stands in docs/decisions/0032-dropout-by-the-data.md. Where a data set has no development
part, it is held out of the training part.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from skipchain import CRF, Corpus
from skipchain.datasets.harbour import harbour
from skipchain.datasets.registry import data_set

FEW = "word[-1..1]\nshape[-1..1]\nsuffix(3)"
PRESETS = {
    "harbour": "ner-words",
    "cora-refs": "citation",
    "cmu-seminars": "seminars",
    "conll2000": "chunk",
    "wnut17": "ner-words",
    "ud-ewt": "pos",
    "conll2003": "ner-words",
}
CHOSEN_ON = [name for name in PRESETS if name != "conll2003"]
SIZES = (50, 500)
SHARES = (0.0, 0.1, 0.25, 0.5, None)
SEEDS, MANY = 3, 4_000  # one seed for more sentences than that


class Parts(NamedTuple):
    """What is learnt from, what a choice is made by, and what is measured at the end."""

    train: Corpus
    dev: Corpus
    test: Corpus


def main() -> None:
    """Print a table in Markdown, a line as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--test", action="store_true", help="0.5 and the default on test data")
    parser.add_argument("data", nargs="*", metavar="DATA", help=f"of {', '.join(PRESETS)}")
    arguments = parser.parse_args()
    shares = (0.5, None) if arguments.test else SHARES
    names = " | ".join("default" if share is None else f"{share:g}" for share in shares)
    print(f"| data | features | sentences | {names} | default is |")
    print("|---" * (len(shares) + 4) + "|")
    for name in arguments.data or CHOSEN_ON:
        for label, sentences, scores, dropout in measured(name, shares, on_test=arguments.test):
            cells = " | ".join(f"{score:.2f}" for score in scores)
            print(f"| {name} | {label} | {sentences:,} | {cells} | {dropout:g} |", flush=True)


def measured(
    name: str, shares: tuple[float | None, ...], *, on_test: bool
) -> Iterator[tuple[str, int, list[float], float]]:
    """For each set of features and size: mean scores by the share of features left out."""
    parts = read_parts(name)
    learnt = Corpus.concatenate([parts.train, parts.dev]) if on_test else parts.train
    if on_test and name in ("wnut17", "ud-ewt", "conll2003"):
        learnt = parts.train  # their development part is not for training
    held = parts.test if on_test else parts.dev
    for label, features in ((PRESETS[name], PRESETS[name]), ("few", FEW)):
        for size in (*(size for size in SIZES if size < len(learnt)), len(learnt)):
            scores = np.zeros((SEEDS if size <= MANY else 1, len(shares)))
            for seed in range(len(scores)):
                drawn = np.random.default_rng(seed).permutation(len(learnt))[:size]
                corpus = learnt.take(np.sort(drawn))
                for k, share in enumerate(shares):
                    crf = CRF(features, dropout=share, seed=seed, threads=1)
                    crf.fit(corpus)
                    scores[seed, k] = 100 * crf.held_out_score(held)
            yield label, size, scores.mean(axis=0).tolist(), crf.fitted.summary["dropout"]


def read_parts(name: str) -> Parts:
    """The parts of a data set."""
    if name == "harbour":
        rest, test = harbour().split(0.75)
        return Parts(*rest.split(0.67), test)
    if name in ("cora-refs", "cmu-seminars"):
        rest, test = data_set(name).read("all").split(0.6, seed=0)
        return Parts(*rest.split(0.67, seed=1), test)
    train = data_set(name).read("train")
    if name == "conll2000":
        cut = len(train) * 4 // 5
        return Parts(train[:cut], train[cut:], data_set(name).read("test"))
    dev, test = ("testa", "testb") if name == "conll2003" else ("dev", "test")
    return Parts(train, data_set(name).read(dev), data_set(name).read(test))


if __name__ == "__main__":
    main()
