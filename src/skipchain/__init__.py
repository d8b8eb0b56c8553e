"""Sequence labelling with log-linear structured models, fast on a CPU.

>>> import skipchain
>>> skipchain.Corpus.of([["Ada", "slept"]])
Corpus(1 document, 1 sentence, 2 tokens, columns word)
"""

from __future__ import annotations

from importlib import import_module

# As in typing, whose import would take longer than all else here: until the command line is
# imported an interrupt cannot be handled.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from skipchain.corpus import Column, Corpus
    from skipchain.errors import SkipchainError
    from skipchain.features.templates import Templates
    from skipchain.io import read
    from skipchain.io.scanning.scan import scan
    from skipchain.metrics import evaluate
    from skipchain.modelfile import save
    from skipchain.models.chain.crf import CRF
    from skipchain.models.chain.hmm import HMM
    from skipchain.models.chain.maxent import MaxEnt
    from skipchain.models.chain.memm import MEMM
    from skipchain.models.chain.perceptron import Perceptron
    from skipchain.models.document.estimator import Factored
    from skipchain.models.graph.mop import MoPMEMM
    from skipchain.models.graph.skipchain import SkipChainCRF
    from skipchain.models.latent.hrf import HRF
    from skipchain.models.latent.iohmm import IOHMM
    from skipchain.models.rbm.estimator import RBMCRF
    from skipchain.recipes import recipe
    from skipchain.tagger import Tagger, load

__version__ = "0.1.0"

# Names are imported when they are first used: `skipchain --help` needs none of them.
_WHERE = {
    "CRF": "skipchain.models.chain.crf",
    "Factored": "skipchain.models.document.estimator",
    "HMM": "skipchain.models.chain.hmm",
    "HRF": "skipchain.models.latent.hrf",
    "IOHMM": "skipchain.models.latent.iohmm",
    "MEMM": "skipchain.models.chain.memm",
    "MaxEnt": "skipchain.models.chain.maxent",
    "MoPMEMM": "skipchain.models.graph.mop",
    "Perceptron": "skipchain.models.chain.perceptron",
    "RBMCRF": "skipchain.models.rbm.estimator",
    "SkipChainCRF": "skipchain.models.graph.skipchain",
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
    "scan": "skipchain.io.scanning.scan",
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
    "scan",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'skipchain' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
