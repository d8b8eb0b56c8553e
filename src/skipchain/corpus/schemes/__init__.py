"""Label schemes: how spans are written as one label per token, and read back.

Labels and spans only: which labels a model may predict belongs to `skipchain.chains`, scores of
spans to `skipchain.metrics`.
"""

from skipchain.corpus.schemes.codec import convert, count_merged, decode, encode
from skipchain.corpus.schemes.inference import SchemeInference, infer_scheme
from skipchain.corpus.schemes.labels import UNKNOWN, labels_in_scheme, types
from skipchain.corpus.schemes.scheme import SCHEMES, check_scheme
from skipchain.corpus.schemes.spans import Spans
from skipchain.corpus.schemes.transitions import transitions
from skipchain.corpus.schemes.violations import Violation, repair, validate

__all__ = [
    "SCHEMES", "UNKNOWN", "SchemeInference", "Spans", "Violation", "check_scheme", "convert",
    "count_merged", "decode", "encode", "infer_scheme", "labels_in_scheme", "repair",
    "transitions", "types", "validate",
]  # fmt: skip
