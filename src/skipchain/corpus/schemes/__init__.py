"""Label schemes: how spans are written as one label per token, and read back."""

from skipchain.corpus.schemes.codec import convert, decode, encode, merges
from skipchain.corpus.schemes.inference import Inference, infer
from skipchain.corpus.schemes.labels import UNKNOWN, rewritten, types
from skipchain.corpus.schemes.scheme import SCHEMES, check_scheme
from skipchain.corpus.schemes.spans import Spans
from skipchain.corpus.schemes.transitions import transitions
from skipchain.corpus.schemes.violations import Violation, repair, validate

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
