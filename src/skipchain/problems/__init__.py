"""Invented problems, drawn from a seed, that show what a model can and cannot learn."""

from __future__ import annotations

from skipchain.problems.ambiguity import toy1
from skipchain.problems.blocks import toy2
from skipchain.problems.memory import toy3
from skipchain.problems.problem import Problem
from skipchain.problems.recall import recall

__all__ = ["Problem", "recall", "toy1", "toy2", "toy3"]
