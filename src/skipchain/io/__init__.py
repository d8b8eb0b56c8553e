"""Corpora in and out of files: CoNLL, CoNLL-U, JSON lines, tagged text, brat, plain text, HTML.

All knowledge of file endings, compression and encodings is here. The formats in which single data
sets are published belong to `skipchain.datasets.readers`, model files to `skipchain.modelfile`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from skipchain.io.formats import FORMATS, read, write

if TYPE_CHECKING:
    from skipchain.io.crfsuite import read_crfsuite, write_crfsuite
    from skipchain.io.tokenizer import Tokens, tokenize

__all__ = ["FORMATS", "Tokens", "read", "read_crfsuite", "tokenize", "write", "write_crfsuite"]

# Seldom needed, so imported when first used.
_WHERE = {
    "Tokens": "skipchain.io.tokenizer",
    "read_crfsuite": "skipchain.io.crfsuite",
    "tokenize": "skipchain.io.tokenizer",
    "write_crfsuite": "skipchain.io.crfsuite",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
