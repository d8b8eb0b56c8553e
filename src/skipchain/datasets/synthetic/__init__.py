"""Synthetic problems, drawn from a seed, that show what a model can and cannot learn.

What models achieve on them is measured in `skipchain.reproduce`.
"""

from __future__ import annotations

from skipchain.datasets.synthetic.ambiguity import toy1
from skipchain.datasets.synthetic.blocks import draw_machine, toy2
from skipchain.datasets.synthetic.long_memory import long_memory
from skipchain.datasets.synthetic.machine import StateMachine
from skipchain.datasets.synthetic.melodies import melodies
from skipchain.datasets.synthetic.memory import toy3
from skipchain.datasets.synthetic.problem import Problem

__all__ = [
    "Problem",
    "StateMachine",
    "draw_machine",
    "long_memory",
    "melodies",
    "toy1",
    "toy2",
    "toy3",
]
