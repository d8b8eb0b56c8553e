"""Model selection: settings that suit the data, tried in turn within a budget of time.

Models side by side, each measured on test data, belong to `skipchain.comparison`; templates that
are made anew, to `skipchain.induction`.
"""

from skipchain.selection.search import select_model
from skipchain.selection.selection import Selection
from skipchain.selection.trial import Trial

__all__ = ["Selection", "Trial", "select_model"]
