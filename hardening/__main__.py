"""``python -m hardening fuzz``, ``faults``, ``resume`` or ``cluster``: attack, count, and report.

The last line is ``N cases, 0 crashes, 0 hangs, 0 uncaught`` with the counts found; the exit code is
1 where one of them is not 0.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

# An attack is a module with ``attack(cases: int, seed: int, case: int | None) -> Report``, where
# ``case`` is the only one to be run; and a default of cases.
ATTACKS = {"fuzz": 20_000, "faults": 1_000, "resume": 30, "cluster": 20}


def main() -> None:
    """Run an attack and leave with 1 where it found something."""
    parser = argparse.ArgumentParser(prog="python -m hardening", description=__doc__)
    parser.add_argument("attack", choices=ATTACKS)
    parser.add_argument(
        "cases",
        nargs="?",
        type=int,
        help="by default 20,000 (fuzz), 1,000 (faults), 30 (resume), 20 (cluster)",
    )
    parser.add_argument("--seed", type=int, default=0, help="where random numbers begin")
    parser.add_argument("--case", type=int, metavar="K", help="run case K of this seed alone")
    arguments = parser.parse_args()
    cases = ATTACKS[arguments.attack] if arguments.cases is None else arguments.cases
    if cases < 1:
        parser.error(f"the number of cases must be at least 1, got {cases}")
    if arguments.case is not None and arguments.case < 1:
        parser.error(f"cases are numbered from 1, got --case {arguments.case}")
    attack = import_module(f"hardening.{arguments.attack}").attack
    report = attack(cases, arguments.seed, arguments.case)
    for line in report.lines():
        print(line, flush=True)
    sys.exit(0 if report.clean else 1)


if __name__ == "__main__":
    main()
