"""``python scripts/levels.py [SEED …]``: one level of hidden units against two, on `melodies`.

Settings were chosen on the data set of seed 100.
"""

from __future__ import annotations

import sys

import numpy as np

from skipchain import CRF, RBMCRF
from skipchain.datasets.synthetic import melodies
from skipchain.models.rbm.fixed_units import FixedUnits

BARS = "ABC", "BCA", "CAB", "ACB", "BAC", "CBA"
# a unit for each bar: it raises the score of the bar, and lowers it where one note is another
PATTERNS = FixedUnits(
    range(3),
    [{note: np.where(np.array([*bar]) == note, 4.0, 0.0) for note in "ABC"} for bar in BARS],
    bias=[-10] * len(BARS),
)
LEARNING = {"epochs": 100, "batch": 10, "rate": 0.03, "decay": 0.001, "restarts": 2}
SYSTEMS = {
    "CRF": lambda: CRF(encoding=None),
    "patterns": lambda: _units([PATTERNS]),
    "patterns, and a learnt level of 20:0..14": lambda: _units([PATTERNS, "20:0..14"]),
    "patterns, and 2:0,4,8,12|units[1] above": lambda: _units([PATTERNS, "2:0,4,8,12|units[1]"]),
    "patterns, and 2:-12,-8,-4,0,4,8,12|units[1] above": lambda: _units(
        [PATTERNS, "2:-12,-8,-4,0,4,8,12|units[1]"]
    ),
}


def main(seeds: list[int]) -> None:
    """Print what each system gets right of the test data of each seed."""
    for seed in seeds:
        problem = melodies(seed)
        hidden = np.concatenate(problem.test_x)[:, -1] == 1
        gold = np.concatenate(problem.test_y)
        for name, make in SYSTEMS.items():
            found = make().fit(problem.train_x, problem.train_y).predict(problem.test_x)
            right = (np.concatenate(found) == gold)[hidden].mean()
            pairs = zip(found, problem.test_y, strict=True)
            whole = np.mean([list(own) == list(y) for own, y in pairs])
            figures = f"whole sequences {whole:6.1%}, hidden notes {right:6.1%}"
            print(f"seed {seed}: {figures}  {name}", flush=True)


def _units(groups):
    return RBMCRF(groups=groups, encoding=None, **LEARNING)


if __name__ == "__main__":
    main(list(map(int, sys.argv[1:])) or list(range(5)))
