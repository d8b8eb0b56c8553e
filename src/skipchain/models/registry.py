"""The kinds of models by name, those of other packages among them.

Estimators are imported when they are first asked for. A package adds a kind by an entry point of
the group ``skipchain.models`` that names a `ModelKind`, a program by `register`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from skipchain.checks import nearest
from skipchain.errors import ParameterError, SkipchainWarning

if TYPE_CHECKING:
    from skipchain.models.base.estimator import BaseEstimator

ENTRY_POINTS = "skipchain.models"


@dataclass(frozen=True, slots=True)
class ModelKind:
    """A kind of model: its name, where its estimator is, and one line that tells what it is.

    ``estimator`` is ``package.module:Class``. A model of a form that no other kind has needs
    ``form``: where the form of its model files is, ``package.module:name`` of a `ModelForm` of
    `skipchain.modelfile.forms`.
    """

    kind: str
    estimator: str
    description: str
    form: str | None = None

    def load(self) -> type[BaseEstimator]:
        """The class of the estimators."""
        found: type[BaseEstimator] = load_object(self.estimator)
        return found


_BUILT_IN = [
    ("crf", "chain.crf:CRF", "conditional random field, the linear chain"),
    ("memm", "chain.memm:MEMM", "a chain of maximum-entropy classifiers, order 1 to 8"),
    ("maxent", "chain.maxent:MaxEnt", "a classifier of each token on its own"),
    ("perceptron", "chain.perceptron:Perceptron",
     "averaged structured perceptron, passive-aggressive, AROW"),
    ("hmm", "chain.hmm:HMM", "hidden Markov model, learnt by counting"),
    ("mop-memm", "graph.mop:MoPMEMM",
     "mixture of parents: labels linked across a document, exact marginals"),
    ("rbm-crf", "rbm.estimator:RBMCRF", "hidden units that look at windows of labels"),
    ("skip-chain-crf", "graph.skipchain:SkipChainCRF",
     "a CRF with edges across a document, by belief propagation"),
    ("iohmm", "latent.iohmm:IOHMM", "hidden states that emit labels, directed"),
    ("hrf", "latent.hrf:HRF", "hidden random field: hidden states, undirected"),
]  # fmt: skip
_KINDS = {
    kind: ModelKind(kind, f"skipchain.models.{place}", description)
    for kind, place, description in _BUILT_IN
}
_registered: dict[str, ModelKind] = {}


def register(kind: ModelKind) -> None:
    """Add a kind of model of your own, for this process; a built-in kind stays what it is."""
    if kind.kind in _KINDS:
        raise ParameterError(f"there is a model {kind.kind!r} already; choose another name")
    _registered[kind.kind] = kind


def model_kinds() -> dict[str, ModelKind]:
    """All kinds of models: the built-in ones, those registered, and those of other packages."""
    others = {}
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            found = entry.load()
            if not isinstance(found, ModelKind):
                raise TypeError(f"{entry.value} is no ModelKind")
        except Exception as error:  # a package of somebody else's must not stop ours
            warnings.warn(
                f"the model {entry.name!r} of another package cannot be used: {error}",
                SkipchainWarning,
                stacklevel=2,
            )
        else:
            others[found.kind] = found
    return {**others, **_registered, **_KINDS}


def model_kind(kind: str) -> ModelKind:
    """The kind of a name; others than the built-in ones are looked for only where it is none."""
    found = _KINDS.get(kind) or _registered.get(kind) or model_kinds().get(kind)
    if found is None:
        raise ParameterError(f"there is no model {kind!r}; {nearest(kind, model_kinds())}")
    return found


def estimator_class(kind: str) -> type[BaseEstimator]:
    """The class of the estimators of one kind."""
    return model_kind(kind).load()


def default_features(kind: str) -> Any:
    """The features that an estimator of one kind has where nothing is said.

    >>> default_features("crf"), default_features("hmm")
    ('ner-words', 'word')
    """
    return estimator_class(kind).parameters()["features"]


def make_estimator(kind: str, features: Any, **settings: Any) -> BaseEstimator:
    """The estimator of one kind; settings that it does not have are refused.

    Without ``features`` it has those of its kind by default.

    >>> make_estimator("perceptron", "word", epochs=3)
    Perceptron(features='word', epochs=3)
    >>> make_estimator("crf", "word", epochs=3)
    CRF(features='word', solver=SGD(epochs=3))
    """
    from skipchain.models.base.parameters import RENAMED

    estimator = estimator_class(kind)
    known = [*estimator.parameters(), *estimator.settings()]
    for name in settings:
        if name not in known and not (estimator.solvers and name in RENAMED):
            raise ParameterError(f"model {kind} has no setting {name!r}; {nearest(name, known)}")
    own = {} if features is None else {"features": features}
    return estimator(**own, **settings)


def load_object(place: str) -> Any:
    """What ``package.module:name`` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
