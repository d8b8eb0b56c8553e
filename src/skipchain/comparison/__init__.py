"""Models side by side on the same data: quality, significance, time, memory and size.

The metrics themselves belong to `skipchain.metrics`, published figures to `skipchain.reproduce`.
"""

from skipchain.comparison.comparison import Comparison
from skipchain.comparison.entry import Entry
from skipchain.comparison.row import ComparisonRow, DecoderScore
from skipchain.comparison.run import compare
from skipchain.comparison.run_result import RunResult

__all__ = ["Comparison", "ComparisonRow", "DecoderScore", "Entry", "RunResult", "compare"]
