"""Label bias: a network of two words in which a MEMM cannot use what it sees.

The words are ``rib`` and ``rob``, each spelt by three states; one symbol in ten or so is wrong. The
labels are the states. Both words begin alike, so the second symbol decides; but by then a MEMM has
chosen its branch: the state it is in has one successor, and probabilities that are normalised for
each previous label pass all of their mass on to it, whatever is observed. The branch is decided by
which word the training data happen to show more often. A CRF normalises whole paths, so the second
symbol counts in full.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skipchain.arrays import Floats
from skipchain.chains.decode import marginals
from skipchain.corpus import Corpus
from skipchain.models.chain.crf import CRF
from skipchain.models.chain.estimator import ChainEstimator
from skipchain.models.chain.memm import MEMM
from skipchain.models.chain.model import ChainModel
from skipchain.parallel import Workers
from skipchain.report.pictures import Picture
from skipchain.reproduce.run import Run, Timer, mean_and_range
from skipchain.reproduce.table import FAILS, HOLDS, Row, Table

NAME = "labelbias"
WORDS = ("rib", "rob")
STATES = (("1", "2", "3"), ("4", "5", "3"))  # the last state is shared
SYMBOLS = "biro"
NOISE = 1 / 32  # the probability of each wrong symbol
# The second symbol misleads when it is that of the other word, and says nothing when it is r or b.
BEST = 1.0 - (NOISE + 2 * NOISE / 2)
CHANCE = 0.5
SMALL_L2 = 0.01
SYSTEMS = ("MEMM", "MEMM, independent", "CRF")


def measure(run: Run) -> Table:
    """Learn and score the three models on samples of several seeds."""
    seeds = tuple(range(3 if run.quick else 10))
    sizes = (400, 400) if run.quick else (2000, 2000)
    clock = Timer()
    words: dict[str, list[float]] = {system: [] for system in SYSTEMS}
    states: dict[str, list[float]] = {system: [] for system in SYSTEMS}
    for seed in seeds:
        run.say(f"{NAME}: seed {seed}")
        random = np.random.default_rng(seed)
        train, test = (sample(size, random) for size in sizes)
        gold = np.array([sentence.labels for sentence in test])  # [C, 3]
        fitted: dict[str, ChainEstimator] = {}
        for system in SYSTEMS:
            with clock(system):
                fitted[system] = model(system, run.threads).fit(train)
                right = np.array(fitted[system].predict(test)) == gold
            words[system].append(float(right.all(axis=1).mean()))
            states[system].append(float(right.mean()))
        if seed == seeds[0]:
            pictured = fitted
    rows = []
    for system in SYSTEMS:
        for metric, found in (("whole words right", words), ("labels right", states)):
            mean, low, high = mean_and_range(found[system])
            verdict = _verdict(system, mean) if metric == "whole words right" else ""
            rows.append(
                Row(NAME, system, metric, None, mean, low, high, clock.seconds(system), verdict)
            )
    holds = all(row.verdict in ("", _verdict(row.system, None)) for row in rows)
    return Table(
        NAME,
        "Label bias",
        "nothing to compare with; the network is that of Lafferty, McCallum and Pereira (2001), "
        "the effect is described in Stewart's thesis, section 4.1.2",
        tuple(rows),
        (
            f"Samples of {sizes[0]:,} words to learn from and {sizes[1]:,} to test, from a network "
            "that spells rib (states 1, 2, 3) and rob (4, 5, 3) with equal chance; every symbol is "
            f"wrong with probability {3 * NOISE:.3f}.",
            f"No model can get more than {BEST:.4f} of the words right on average; guessing the "
            f"branch gets {CHANCE}.",
            "MEMM: one classifier per previous label; independent: features do not depend on it. "
            f"low and high: worst and best seed. l2 = {SMALL_L2}.",
        ),
        seeds,
        "The MEMM guesses the branch and the CRF reads it."
        if holds
        else "The models do not differ as they should.",
        (_picture(pictured["MEMM"].model_, pictured["CRF"].model_),),
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
    return Corpus.of(
        [[SYMBOLS[k] for k in word] for word in seen.tolist()], [STATES[k] for k in branch.tolist()]
    )


def model(system: str, threads: int | None) -> ChainEstimator:
    """One of the three models, not fitted yet."""
    kind = CRF if system == "CRF" else MEMM
    return kind(
        "word",
        solver="lbfgs",
        l2=SMALL_L2,
        dependent=system == "MEMM",
        boundaries=False,
        tolerance=1e-8,
        threads=threads,
    )


def _verdict(system: str, mean: float | None) -> str:
    """What is expected of a system, and whether the mean over the seeds agrees (None: it does)."""
    if system == "CRF":
        good = mean is None or abs(mean - BEST) < 0.03
        return f"{HOLDS}: as good as can be" if good else f"{FAILS}: {BEST:.3f} is possible"
    good = mean is None or abs(mean - CHANCE) < 0.1
    return f"{HOLDS}: no better than chance" if good else f"{FAILS}: not {CHANCE}"


def branch_probability(model: ChainModel, word: str) -> list[float]:
    """The probability of the branch of ``rib`` when so many symbols of a word have been seen.

    What has not been seen is a symbol that the model does not know.
    """
    seen = [list(word[:size].ljust(len(word), "?")) for size in range(1, len(word) + 1)]
    with Workers(1) as workers:
        found = marginals(model.scores(Corpus.of(seen), workers), workers)
    heads: list[float] = found[:: len(word), model.labels.index(STATES[0][0])].tolist()
    return heads


def next_label(model: ChainModel, previous: str, symbol: str) -> Floats:
    """A MEMM's p(next label | previous label, symbol). [L]"""
    with Workers(1) as workers:
        scores = model.scores(Corpus.of([["r", symbol]]), workers, [previous, None])
        found: Floats = marginals(scores, workers)[1]
    return found


def _picture(memm: ChainModel, crf: ChainModel) -> Picture:
    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(1.1, 1.0))
        asked = [(state, symbol) for state in ("1", "4") for symbol in "io"]
        table = np.array([next_label(memm, *pair) for pair in asked])  # [4, L]
        left.imshow(table, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
        for (y, x), p in np.ndenumerate(table):
            left.text(
                x, y, f"{p:.2f}", ha="center", va="center", color="white" if p > 0.5 else "0.4"
            )
        entropy = -(table * np.log2(np.maximum(table, 1e-300))).sum(axis=1)
        left.set_yticks(
            range(4),
            [
                f"in {state}, sees {symbol}\n{bits:.2f} bits"
                for (state, symbol), bits in zip(asked, entropy, strict=True)
            ],
        )
        left.set_xticks(range(len(memm.labels)), memm.labels)
        left.set_xlabel("next label")
        left.set_title("MEMM: all mass goes on,\nwhatever is seen")
        for word, style in zip(WORDS, ("-", "--"), strict=True):
            for name, own, colour in (("MEMM", memm, "tab:red"), ("CRF", crf, "tab:blue")):
                right.plot(
                    [1, 2, 3],
                    branch_probability(own, word),
                    style,
                    color=colour,
                    marker="o",
                    label=f"{name}, sees {word}",
                )
        right.set_xticks([1, 2, 3])
        right.set_ylim(-0.03, 1.03)
        right.set_xlabel("symbols seen")
        right.set_title("probability that the word is rib")
        right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)

    return Picture("branches", "What a MEMM passes on, and what it makes of the two words", draw)
