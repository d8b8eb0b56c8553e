"""Conjunctions of views found by what they add to the likelihood of held-out tokens.

Templates as such belong to `skipchain.features`; what trains models to choose among them, here.
"""

from skipchain.induction.induction import Induction, InductionCandidate, InductionRound
from skipchain.induction.run import induce

__all__ = ["Induction", "InductionCandidate", "InductionRound", "induce"]
