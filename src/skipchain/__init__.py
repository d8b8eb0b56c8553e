"""Sequence labelling with log-linear structured models, fast on a CPU.

>>> import skipchain
>>> skipchain.Corpus.of([["Ada", "slept"]])
Corpus(1 document, 1 sentence, 2 tokens, columns word)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skipchain.corpus import Column, Corpus
    from skipchain.errors import SkipchainError
    from skipchain.features.templates import Templates
    from skipchain.io import read
    from skipchain.metrics import evaluate
    from skipchain.modelfile import save
    from skipchain.models.crf import CRF
    from skipchain.models.factoring import Factored
    from skipchain.models.hmm import HMM
    from skipchain.models.hrf import HRF
    from skipchain.models.iohmm import IOHMM
    from skipchain.models.maxent import MaxEnt
    from skipchain.models.memm import MEMM
    from skipchain.models.mop import MoPMEMM
    from skipchain.models.perceptron import Perceptron
    from skipchain.models.rbm import RBMCRF
    from skipchain.models.skipchain import SkipChainCRF
    from skipchain.recipes import recipe
    from skipchain.tagger import Tagger, load

__version__ = "0.1.0"

# Names are imported when they are first used: `skipchain --help` needs none of them.
_WHERE = {
    "CRF": "skipchain.models.crf",
    "Factored": "skipchain.models.factoring",
    "HMM": "skipchain.models.hmm",
    "HRF": "skipchain.models.hrf",
    "IOHMM": "skipchain.models.iohmm",
    "MEMM": "skipchain.models.memm",
    "MaxEnt": "skipchain.models.maxent",
    "MoPMEMM": "skipchain.models.mop",
    "Perceptron": "skipchain.models.perceptron",
    "RBMCRF": "skipchain.models.rbm",
    "SkipChainCRF": "skipchain.models.skipchain",
    "Column": "skipchain.corpus",
    "Corpus": "skipchain.corpus",
    "SkipchainError": "skipchain.errors",
    "Tagger": "skipchain.tagger",
    "Templates": "skipchain.features.templates",
    "evaluate": "skipchain.metrics",
    "load": "skipchain.tagger",
    "read": "skipchain.io",
    "recipe": "skipchain.recipes",
    "save": "skipchain.modelfile",
}

__all__ = [
    "CRF",
    "HMM",
    "HRF",
    "IOHMM",
    "MEMM",
    "RBMCRF",
    "Column",
    "Corpus",
    "Factored",
    "MaxEnt",
    "MoPMEMM",
    "Perceptron",
    "SkipChainCRF",
    "SkipchainError",
    "Tagger",
    "Templates",
    "evaluate",
    "load",
    "read",
    "recipe",
    "save",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'skipchain' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
