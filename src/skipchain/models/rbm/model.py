"""The fitted artefact of models with hidden units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skipchain.arrays import Bools, Floats, Ints
from skipchain.chains.dataset import Dataset
from skipchain.chains.sums import table_scores
from skipchain.errors import ParameterError
from skipchain.features.matrix import FeatureMatrix
from skipchain.models.base.inputs import Features, Input, annotators_of, as_input, bases_of, encode
from skipchain.models.base.marginal_model import MarginalModel
from skipchain.models.base.model import AnyModel
from skipchain.models.base.summary import label_features, strongest_features
from skipchain.models.latent.inference import StateScores
from skipchain.models.latent.model import StateModel
from skipchain.models.rbm import gibbs
from skipchain.models.rbm.gibbs import GibbsSettings
from skipchain.models.rbm.group import HiddenUnitGroup
from skipchain.models.rbm.groups import links_of
from skipchain.models.rbm.units import LabelFilters
from skipchain.parallel import Workers
from skipchain.report.pictures import Picture

MIN_MARGINAL = 1e-9  # a marginal of a pre-trained model counts as this at least


@dataclass(frozen=True, slots=True)
class RBMDataset:
    """Input as a model with hidden units sees it, its pre-trained model and its experts do."""

    rows: FeatureMatrix
    offsets: Ints  # [C + 1]
    base: Any = None
    experts: tuple[Dataset, ...] = ()


@dataclass(frozen=True, slots=True)
class SampledMarginals:
    """The marginals of all tokens."""

    offsets: Ints  # [C + 1]
    marginals: Floats  # [N, L]
    unknown: int


@dataclass(frozen=True, repr=False)
class RBMModel(MarginalModel[RBMDataset, SampledMarginals]):
    """What fitting a model with hidden units leaves, and what a model file holds.

    Labels have scores by ``weights`` [F, L] of the input (or [0, L]: none), and by the marginals of
    the model ``base``, to the power of ``gamma``. The units of ``units`` look at windows of labels,
    and the hidden states of ``experts`` emit them. Marginals are found by sampling.
    """

    form = "rbm"

    kind: str
    labels: tuple[str, ...]
    features: Features
    weights: Floats  # [F, L] or [0, L]
    units: LabelFilters
    sampling: GibbsSettings = field(default_factory=GibbsSettings)
    base: AnyModel | None = None
    gamma: float = 1.0
    scheme: str | None = None
    encoding: str | None = None
    constrained: bool = True
    summary: Mapping[str, Any] = field(default_factory=dict)
    experts: tuple[StateModel, ...] = ()

    def __post_init__(self) -> None:
        size = len(self.labels)
        links = sum(links_of(group, self.units.groups) for group in self.units.groups)
        numbers = (own.n_states for own in self.experts if isinstance(own, StateModel))
        states = sum(number * (number + size) for number in numbers)
        work = (1 + links) * (1 + size) + states  # of a token in a step
        if (self.sampling.burn_in + self.sampling.samples) * work > gibbs.MAX_TOKEN_WORK:
            raise ParameterError(
                f"{self.sampling.burn_in} + {self.sampling.samples} steps of sampling {links:,} "
                "units and offsets would take too long; use fewer of them"
            )

    @property
    def labels_documents_apart(self) -> bool:
        """True, unless a model that it goes by looks further: all chains draw the same numbers."""
        parts = [*bases_of(self.features), *self._parts]
        return all(part.labels_documents_apart for part in parts)

    @property
    def labels_sentences_apart(self) -> bool:
        """True, but where annotators, or a model that it goes by, look at documents."""
        own = not annotators_of(self.features)
        return own and all(part.labels_sentences_apart for part in self._parts)

    @property
    def _parts(self) -> list[AnyModel]:
        return [*([] if self.base is None else [self.base]), *self.experts]

    def dataset(self, given: Input, workers: Workers | None = None) -> RBMDataset:
        """The input encoded."""
        rows, offsets = encode(self.features, given, workers)
        base = None if self.base is None else self.base.dataset(given, workers)
        experts = tuple(own.dataset(given, workers) for own in self.experts)
        return RBMDataset(rows, offsets, base, experts)

    def score_dataset(
        self, data: RBMDataset, workers: Workers, allowed: Bools | None = None
    ) -> SampledMarginals:
        """The marginals of encoded data; ``allowed`` [N, L] limits tokens' labels."""
        node, inputs = self.potentials(data, workers)
        if allowed is not None:
            node = np.where(allowed, node, -np.inf)
        model, experts = (self.units, self.sampling, workers), self.states(data.experts, workers)
        found = gibbs.marginals(node, inputs, data.offsets, *model, experts)
        return SampledMarginals(data.offsets, found, data.rows.unknown)

    def potentials(self, data: RBMDataset, workers: Workers) -> tuple[Floats, Floats]:
        """What the input says: to labels [N, L], and to units [N, Q] or [0, Q]."""
        node = np.zeros((int(data.offsets[-1]), len(self.labels)))
        if len(self.weights):
            node += table_scores(data.rows, self.weights, workers)
        if self.base is not None:
            found = self.base.marginals(self.base.score_dataset(data.base, workers), workers)
            node += tempered_log_marginals(found, self.gamma)
        inputs = self.units.inputs
        return node, table_scores(data.rows, inputs, workers) if len(inputs) else inputs

    def states(self, data: Sequence[Dataset], workers: Workers) -> list[StateScores]:
        """What the experts say of their input."""
        return [
            own.score_dataset(each, workers) for own, each in zip(self.experts, data, strict=True)
        ]

    def trace(self, sequence: Any) -> tuple[list[str], list[Floats]]:
        """How the units fire along one sequence while it is sampled: labels, and a group each.

        A group has an array [samples, R, n] of p(h = 1 | y), R its replicas.
        """
        given = as_input([sequence])
        with Workers(1) as workers:
            data = self.dataset(given, workers)
            node, inputs = self.potentials(data, workers)
            experts = self.states(data.experts, workers)
            found = self.label(given, workers)[0]
        return found, gibbs.trace(node, inputs, self.units, self.sampling, experts)

    @property
    def n_nonzero(self) -> int:
        """How many weights are not zero."""
        own = int(np.count_nonzero(self.weights)) + int(np.count_nonzero(self.units.vector))
        inside: list[AnyModel] = [*self.experts, *([] if self.base is None else [self.base])]
        return own + sum(model.n_nonzero for model in inside)

    def marginals(self, scores: SampledMarginals, workers: Workers) -> Floats:
        """The probability of each label at each token. [N, L]"""
        return scores.marginals

    def pruned(self) -> RBMModel:
        """Without features whose weights are all zero; predictions stay the same."""
        used = np.zeros(self.features.n_features, np.bool_)
        for table in (self.weights, self.units.inputs):
            if len(table):
                used |= table.any(axis=1)
        none = np.zeros(self.features.n_edge_features, np.bool_)
        return replace(
            self,
            features=self.features.keep(used, none),
            weights=self.weights[used] if len(self.weights) else self.weights,
            units=self.units.keep_features(used),
            base=None if self.base is None else self.base.pruned(),
            experts=tuple(own.pruned() for own in self.experts),
        )

    def _family_summary(self, top: int, labels: Sequence[str]) -> dict[str, Any]:
        """What the input says to labels, the hidden units group by group, base model, experts."""
        base, names = self.base, self.features.names()
        summary: dict[str, Any] = {
            "labels": {},
            "borders": self.units.borders,
            "beside": None if base is None else base.summarise(top=top, labels=labels),
            "experts": [expert.summarise(top=top, labels=labels) for expert in self.experts],
            "groups": [self._group_summary(k, top) for k in range(len(self.units.groups))],
        }
        if len(self.weights):
            summary["labels"] = label_features(self.weights, self.labels, labels, names, top)
        if base is not None:
            summary["gamma"] = self.gamma
        return summary

    def pictures(self) -> tuple[Picture, ...]:
        """Diagrams of the weights of hidden units."""
        from skipchain.models.rbm.plots import weight_pictures

        return weight_pictures(self)

    def _group_summary(self, number: int, top: int) -> dict[str, Any]:
        """The hidden units of one group, by what they look for."""
        group, table = self.units.groups[number], self.units.table(number)
        first = int(self.units.layout.units[number])
        places = self.units.seen_by(number, self.labels, "<outside>")
        offsets = list(map(str, group.offsets))
        units = []
        for unit in range(group.units):
            entry: dict[str, Any] = {
                "bias": float(self.units.bias[first + unit]),
                "weights": {
                    places[j]: dict(zip(offsets, table[:, j, unit].tolist(), strict=True))
                    for j in range(len(places))
                },
            }
            if group.inputs:
                column = self.units.inputs_of(number)[:, :, unit].T.ravel()  # offset by offset
                entry["features"] = strongest_features(column, self._input_names(group), top)
            units.append(entry)
        below = group.below
        seen = "labels" if below is None else f"units of group {below}"
        return {"group": str(group), "looks_at": seen, "units": units}

    def _input_names(self, group: HiddenUnitGroup) -> Sequence[str]:
        """What the weights of the input of a unit are called."""
        names = self.features.names()
        if group.inputs == (0,):
            return names
        return [f"{name} at {offset:+d}" for offset in group.inputs for name in names]


def tempered_log_marginals(marginals: Floats, gamma: float) -> Floats:
    """Scores of labels by the marginals of a model, to a power.

    >>> np.exp(tempered_log_marginals(np.array([[0.64, 0.36]]), 0.5)).round(6)
    array([[0.8, 0.6]])
    """
    return gamma * np.log(np.maximum(marginals, MIN_MARGINAL))
