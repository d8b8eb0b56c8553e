"""The fitted artefact of models whose labels are emitted by hidden states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skipchain.arrays import Bools, Floats
from skipchain.chains.dataset import Dataset
from skipchain.chains.from_marginals import DECODERS, decode_marginals
from skipchain.chains.scores import NBestPaths
from skipchain.chains.span_events import span_events
from skipchain.corpus import Column
from skipchain.corpus.column import frozen
from skipchain.corpus.schemes import Spans
from skipchain.errors import SkipchainError
from skipchain.models.base.inputs import Features, Input, annotators_of, encode
from skipchain.models.base.model import BEAM, Model
from skipchain.models.latent import inference as states
from skipchain.models.latent.inference import StateScores
from skipchain.models.latent.scorer import StateWeights
from skipchain.parallel import Workers

VITERBI = "viterbi"


@dataclass(frozen=True, repr=False)
class StateModel(Model[Dataset, StateScores]):
    """What fitting a model of hidden states leaves, and what a model file holds.

    A ``local`` model draws every state given the one before it, and every label given its state
    (IOHMM); else chains are normalised as a whole (HRF).
    """

    form = "latent"
    decoders = (*DECODERS, VITERBI)
    has_span_probabilities = True
    labels_documents_alone = True

    kind: str
    labels: tuple[str, ...]
    features: Features
    weights: StateWeights
    local: bool
    scheme: str | None = None
    encoding: str | None = None
    constrained: bool = True
    summary: Mapping[str, Any] = field(default_factory=dict)

    @property
    def labels_sentences_apart(self) -> bool:
        """True, but where annotators look at documents."""
        return not annotators_of(self.features)

    @property
    def n_states(self) -> int:
        """The number of hidden states."""
        return self.weights.n_states

    def dataset(self, given: Input, workers: Workers | None = None) -> Dataset:
        """The input encoded."""
        return Dataset(*encode(self.features, given, workers))

    def score_dataset(
        self, data: Dataset, workers: Workers, allowed: Bools | None = None
    ) -> StateScores:
        """Data encoded before, ready to be decoded; ``allowed`` [N, L] limits tokens' labels."""
        return StateScores.of(data, self.weights, workers, local=self.local, allowed=allowed)

    def decode(
        self, scores: StateScores, workers: Workers, decoder: str | None = None, beam: int = BEAM
    ) -> Column:
        """The predicted labels, in the model's encoding.

        ``legal`` takes the label sequence with the largest product of marginals among those that
        the scheme allows, ``posterior`` the best label of each token, ``viterbi`` the labels of the
        best path of states and labels together.
        """
        decoder = decoder or self.decoders[0]
        self.check_decoder(decoder, beam)
        if decoder == VITERBI:
            codes = states.viterbi(scores, self.constraints, workers)
        else:
            marginals = states.marginals(scores, workers)
            codes = decode_marginals(marginals, scores.offsets, self.constraints, decoder, workers)
        return Column(frozen(codes), self.labels)

    def marginals(self, scores: StateScores, workers: Workers) -> Floats:
        """The probability of each label at each token. [N, L]"""
        return states.marginals(scores, workers)

    def confidences(self, scores: StateScores, spans: Spans, workers: Workers) -> Floats:
        """The probability of each span, whole and exact, under the model. [K]"""
        if self.encoding is None:
            raise SkipchainError("the model's labels mark no spans")
        windows = span_events(spans, scores.offsets, self.encoding, self.labels)
        found = states.window_sums(scores, windows, workers)
        return np.bincount(windows.spans, found, minlength=len(spans)).clip(0.0, 1.0)

    def nbest(self, scores: StateScores, k: int, workers: Workers) -> list[NBestPaths]:
        """Refused: a label sequence is as probable as all its paths of states together."""
        raise SkipchainError(
            f"the model ({self.kind}) has no n-best sequences: hidden states stand between them"
        )

    @property
    def n_nonzero(self) -> int:
        """How many weights are not zero."""
        return self.weights.n_nonzero

    def with_weights(self, weights: StateWeights) -> StateModel:
        """The model with weights learnt."""
        return replace(self, weights=weights)

    def pruned(self) -> StateModel:
        """Without features whose weights are all zero; predictions stay the same."""
        weights = self.weights
        used = np.asarray(weights.transitions[:-1].any(axis=(1, 2)))
        used |= np.asarray(weights.emissions[:-1].any(axis=(1, 2)))
        if used.all():
            return self
        edge = np.zeros(self.features.n_edge_features, np.bool_)
        return replace(
            self, features=self.features.keep(used, edge), weights=weights.keep_features(used)
        )

    def _family_summary(self, top: int, labels: Sequence[str]) -> dict[str, Any]:
        """Each hidden state, by what it does in the training data; states count from 1."""
        followed, emitted = (np.array(self.summary[name]) for name in ("followed", "emitted"))
        names = [*self.features.names(), "(every token)"]
        chosen = [self.labels.index(label) for label in labels]
        states = []
        for state in range(self.n_states):
            emissions, moves = self.weights.emissions[:, state], self.weights.transitions[:, state]
            states.append(
                {
                    "state": state + 1,
                    "share": 100.0 * float(emitted[state].sum() / max(emitted.sum(), 1.0)),
                    "emits": dict(zip(self.labels, _percent(emitted[state]), strict=True)),
                    "first": _percent(followed[-1])[state],
                    "next": dict(enumerate(_percent(followed[state]), start=1)),
                    "features": [
                        {"name": names[f], "label": labels[k], "weight": weight}
                        for f, k, weight in _strongest(_centred(emissions)[:, chosen], top)
                    ],
                    "moves": [
                        {"name": names[f], "to": k + 1, "weight": weight}
                        for f, k, weight in _strongest(_centred(moves), top)
                    ],
                }
            )
        return {"restarts": self.summary.get("restarts", []), "states": states}


def _percent(counts: Floats) -> list[float]:
    """Counts as shares of their sum."""
    return [float(100.0 * count / max(counts.sum(), 1e-12)) for count in counts]


def _centred(weights: Floats) -> Floats:
    """Rows minus their means: what all labels of a state share says nothing. [F, K]"""
    return np.asarray(weights - weights.mean(axis=1, keepdims=True))


def _strongest(weights: Floats, top: int) -> list[tuple[int, int, float]]:
    """The rows, the columns and the values of the largest numbers of a table, by size."""
    entries = weights.ravel()
    order = np.argsort(-np.abs(entries), kind="stable")[:top].tolist()
    return [(*divmod(k, weights.shape[1]), float(entries[k])) for k in order if entries[k]]
