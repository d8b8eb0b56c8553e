"""Models side by side on the same data: quality, significance, time, memory and size."""

from skipchain.comparison.comparison import Comparison
from skipchain.comparison.contender import Contender
from skipchain.comparison.outcome import Outcome
from skipchain.comparison.result import Decoding, Result
from skipchain.comparison.run import compare

__all__ = ["Comparison", "Contender", "Decoding", "Outcome", "Result", "compare"]
