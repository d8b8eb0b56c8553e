"""Label schemes: how spans are written as one label per token, and read back.

Labels and spans only: which labels a model may predict belongs to `skipchain.chains`, scores of
spans to `skipchain.metrics`.
"""

from skipchain.corpus.schemes.codec import convert, count_merged, decode, encode, respell
from skipchain.corpus.schemes.inference import SchemeInference, infer_scheme
from skipchain.corpus.schemes.labels import UNKNOWN, labels_in_scheme, types
from skipchain.corpus.schemes.resolution import Resolution, resolve
from skipchain.corpus.schemes.scheme import NO_SCHEME, SCHEMES, check_scheme, is_no_scheme
from skipchain.corpus.schemes.spans import Spans
from skipchain.corpus.schemes.transitions import transitions
from skipchain.corpus.schemes.violations import Violation, repair, validate

__all__ = [
    "NO_SCHEME", "SCHEMES", "UNKNOWN", "Resolution", "SchemeInference", "Spans", "Violation",
    "check_scheme", "convert", "count_merged", "decode", "encode", "infer_scheme", "is_no_scheme",
    "labels_in_scheme", "repair", "resolve", "respell", "transitions", "types", "validate",
]  # fmt: skip
