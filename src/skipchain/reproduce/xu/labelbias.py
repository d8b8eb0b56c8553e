"""Label bias: a network of two words in which a MEMM cannot use what it observes.

The words are ``rib`` and ``rob``, each spelt by three states; about one symbol in ten is wrong. The
labels are the states. Both words begin alike, so the second symbol decides; but by then a MEMM has
chosen its branch: the state it is in has one successor, and probabilities that are normalised for
each previous label pass all of their mass on to it, whatever is observed. The branch is decided by
which word happens to be more frequent in the training data. A CRF normalises whole paths, so the
second symbol counts in full.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skipchain import CRF, MEMM, Corpus
from skipchain.arrays import Floats
from skipchain.chains.decode import marginals
from skipchain.models.chain.estimator import ChainEstimator
from skipchain.models.chain.model import ChainModel
from skipchain.parallel import Workers
from skipchain.report.pictures import Picture
from skipchain.reproduce.plots import heat_map
from skipchain.reproduce.run import Run, Timer
from skipchain.reproduce.table import Row, Table, judge

NAME = "labelbias"
WORDS = ("rib", "rob")
STATES = (("1", "2", "3"), ("4", "5", "3"))  # the last state is shared
SYMBOLS = "biro"
NOISE = 1 / 32  # the probability of each wrong symbol
# The second symbol misleads if it is that of the other word, and is uninformative if it is r or b.
BEST = 1.0 - (NOISE + 2 * NOISE / 2)
CHANCE = 0.5
SMALL_L2 = 0.01
SYSTEMS = ("MEMM", "MEMM, independent", "CRF")
WORDS_RIGHT, LABELS_RIGHT = "whole words right", "labels right"


def measure(run: Run) -> Table:
    """Train and score the three models on samples of several seeds."""
    seeds = run.seeds(10, quick=3)
    sizes = (400, 400) if run.quick else (2000, 2000)
    clock = Timer()
    scores: dict[tuple[str, str], list[float]] = {
        (system, metric): [] for system in SYSTEMS for metric in (WORDS_RIGHT, LABELS_RIGHT)
    }
    run.plan(len(seeds))
    for seed in seeds:
        run.say(f"{NAME}: seed {seed}")
        random = np.random.default_rng(seed)
        train, test = (sample(size, random) for size in sizes)
        gold = np.array([sentence.labels for sentence in test])  # [C, 3]
        fitted: dict[str, ChainEstimator] = {}
        for system in SYSTEMS:
            with clock(system):
                fitted[system] = model(system, run.threads).fit(train)
                correct = np.array(fitted[system].predict(test)) == gold
            scores[system, WORDS_RIGHT].append(float(correct.all(axis=1).mean()))
            scores[system, LABELS_RIGHT].append(float(correct.mean()))
        if seed == seeds[0]:
            picture = _picture(fitted["MEMM"].model_, fitted["CRF"].model_)
    rows = []
    for (system, metric), values in scores.items():
        text = _verdict(system, float(np.mean(values))) if metric == WORDS_RIGHT else ""
        seconds = clock.seconds(system)
        rows.append(Row.of_runs(NAME, system, metric, None, values, seconds=seconds, verdict=text))
    return Table(
        NAME,
        "Label bias",
        "nothing to compare with; the network is that of Lafferty, McCallum and Pereira (2001), "
        "the effect is described in Stewart's thesis, section 4.1.2",
        rows,
        notes=(
            f"Samples of {sizes[0]:,} words to train on and {sizes[1]:,} to test, from a network "
            "that spells rib (states 1, 2, 3) and rob (4, 5, 3) with equal probability; every "
            f"symbol is wrong with probability {3 * NOISE:.3f}.",
            f"No model can get more than {BEST:.4f} of the words right on average; guessing the "
            f"branch gets {CHANCE}.",
            "MEMM: one classifier per previous label; independent: features do not depend on it. "
            f"low and high: worst and best seed. l2 = {SMALL_L2}.",
        ),
        seeds=seeds,
        verdict="The models do not differ as they should."
        if any(row.fails for row in rows)
        else "The MEMM guesses the branch and the CRF reads it.",
        pictures=(picture,),
    )


def sample(size: int, random: np.random.Generator) -> Corpus:
    """Words spelt by the network, as sentences of three symbols labelled with their states.

    >>> corpus = sample(2, np.random.default_rng(1))
    >>> corpus[0].words, corpus[0].labels
    (['r', 'i', 'b'], ['1', '2', '3'])
    """
    branch = random.integers(2, size=size)
    true = np.array([[SYMBOLS.index(s) for s in word] for word in WORDS])[branch]  # [C, 3]
    wrong = random.random(true.shape) < 3 * NOISE
    seen = np.where(wrong, (true + random.integers(1, 4, true.shape)) % len(SYMBOLS), true)
    words = [[SYMBOLS[k] for k in word] for word in seen.tolist()]
    return Corpus.of(words, [STATES[k] for k in branch.tolist()], scheme="none")


def model(system: str, threads: int | None) -> ChainEstimator:
    """One of the three models, not fitted yet."""
    estimator = CRF if system == "CRF" else MEMM
    settings: dict[str, Any] = {"solver": "lbfgs", "l2": SMALL_L2, "tolerance": 1e-8}
    dependent = system == "MEMM"
    return estimator("word", dependent=dependent, boundaries=False, threads=threads, **settings)


def _verdict(system: str, mean: float) -> str:
    """What is expected of a system, and whether the mean over the seeds agrees."""
    if system == "CRF":
        near = abs(mean - BEST) < 0.03
        return judge(near, "as good as can be" if near else f"{BEST:.3f} is possible")
    near = abs(mean - CHANCE) < 0.1
    return judge(near, "no better than chance" if near else f"not {CHANCE}")


def branch_probability(model: ChainModel, word: str) -> list[float]:
    """The probability of the branch of ``rib`` given the first one, two and three symbols.

    The symbols that follow are replaced by one that the model does not know.
    """
    seen = [list(word[:size].ljust(len(word), "?")) for size in range(1, len(word) + 1)]
    with Workers(1) as workers:
        states = marginals(model.scores(Corpus.of(seen), workers), workers)
    first: list[float] = states[:: len(word), model.labels.index(STATES[0][0])].tolist()
    return first


def next_label(model: ChainModel, previous: str, symbol: str) -> Floats:
    """A MEMM's p(next label | previous label, symbol). [L]"""
    with Workers(1) as workers:
        scores = model.scores(Corpus.of([["r", symbol]]), workers, [previous, None])
        second: Floats = marginals(scores, workers)[1]
    return second


def _picture(memm: ChainModel, crf: ChainModel) -> Picture:
    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(1.1, 1.0))
        pairs = [(state, symbol) for state in ("1", "4") for symbol in "io"]
        table = np.array([next_label(memm, *pair) for pair in pairs])  # [4, L]
        heat_map(left, table, "{:.2f}", aspect="auto")
        entropy = -(table * np.log2(np.maximum(table, 1e-300))).sum(axis=1)
        names = [f"in {state}, sees {symbol}" for state, symbol in pairs]
        ticks = [f"{name}\n{bits:.2f} bits" for name, bits in zip(names, entropy, strict=True)]
        left.set_yticks(range(4), ticks)
        left.set_xticks(range(len(memm.labels)), memm.labels)
        left.set_xlabel("next label")
        left.set_title("MEMM: all mass is passed on,\nwhatever is seen")
        for word, style in zip(WORDS, ("-", "--"), strict=True):
            for name, model, colour in (("MEMM", memm, "tab:red"), ("CRF", crf, "tab:blue")):
                p, label = branch_probability(model, word), f"{name}, sees {word}"
                right.plot([1, 2, 3], p, style, color=colour, marker="o", label=label)
        right.set_xticks([1, 2, 3])
        right.set_ylim(-0.03, 1.03)
        right.set_xlabel("symbols seen")
        right.set_title("probability that the word is rib")
        right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)

    caption = "Transitions of a MEMM, and the probability of the first word by MEMM and CRF"
    return Picture("branches", caption, draw)
