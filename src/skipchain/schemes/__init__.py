"""Label schemes: how spans are written as one label per token, and read back."""

from skipchain.schemes.codec import convert, decode, encode, merges
from skipchain.schemes.guess import Inference, infer
from skipchain.schemes.labels import UNKNOWN, rewritten, types
from skipchain.schemes.scheme import SCHEMES, check_scheme
from skipchain.schemes.spans import Spans
from skipchain.schemes.transitions import transitions
from skipchain.schemes.violations import Violation, repair, validate

__all__ = [
    "SCHEMES",
    "UNKNOWN",
    "Inference",
    "Spans",
    "Violation",
    "check_scheme",
    "convert",
    "decode",
    "encode",
    "infer",
    "merges",
    "repair",
    "rewritten",
    "transitions",
    "types",
    "validate",
]
