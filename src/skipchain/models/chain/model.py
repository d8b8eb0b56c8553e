"""The fitted artefact of every linear-chain model: labels, features, weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from skipchain.arrays import IN_MEMORY, Bools, Floats, Room
from skipchain.chains import decode as chains
from skipchain.chains.allowed import relax_candidates
from skipchain.chains.dataset import Dataset
from skipchain.chains.scorer import Weights
from skipchain.chains.scores import ChainScores, LabelHistoryWeights, NBestPaths, is_exact
from skipchain.corpus import Column, Corpus
from skipchain.corpus.column import frozen
from skipchain.corpus.schemes import Spans
from skipchain.errors import SkipchainError
from skipchain.features.annotator import annotate
from skipchain.features.label_history import LabelHistory, PreviousOccurrences
from skipchain.features.matrix import FeatureMatrix
from skipchain.features.vocabulary import Vocabulary
from skipchain.kernels.kernel import is_interpreted
from skipchain.models.base.inputs import (
    Features,
    Input,
    annotators_of,
    bases_of,
    chain_offsets,
    encode,
)
from skipchain.models.base.model import BEAM, Explained, Model, Pair
from skipchain.models.base.summary import (
    chain_pairs,
    label_features,
    label_row,
    label_table,
    strongest_pairs,
)
from skipchain.parallel import Workers

if TYPE_CHECKING:
    from skipchain.features.label_ngrams import LabelNgrams
    from skipchain.features.label_trigrams import LabelTrigrams
    from skipchain.features.tag_dictionary import TagDictionary
    from skipchain.lookup.frozen import FrozenChain
    from skipchain.lookup.scorer import LookupScorer

DECODERS = ("viterbi", "posterior", "greedy", "beam")
MARGIN_DECODERS = ("viterbi", "greedy", "beam")
SEARCHES = ("beam", "greedy")


def decoders_of(kind: str, *, exact: bool = True) -> tuple[str, ...]:
    """The decoders that a kind of model supports, first the one that it has by default.

    What has no probabilities has no posterior; where not all labellings can be gone through, they
    are searched.
    """
    if not exact:
        return SEARCHES
    return MARGIN_DECODERS if kind == "perceptron" else DECODERS


@dataclass(frozen=True, repr=False)
class ChainModel(Model[Dataset, ChainScores]):
    """What fitting leaves, and what a model file holds.

    ``labels`` [L] are the labels learnt, written in ``encoding``; predictions are given back in
    ``scheme``, that of the training data. Both are None for labels that mark no spans. A ``local``
    model is normalised at each position given the label before it. A ``dictionary`` says which
    labels frequent words may have; ``label_ngrams`` are those of a model of order 3 or more,
    ``label_trigrams`` the weights of templates that look two labels back. ``history_weights``
    [L, L] is what the labels of like tokens earlier in the document say for each label, where the
    templates ask for that history. ``stop`` has the log odds of stopping after a label [L], or
    after the last two [L + 1, L], in a model of where chains end.
    """

    form = "chain"
    explains_sentences = True

    kind: str
    labels: tuple[str, ...]
    features: Features
    weights: Weights
    scheme: str | None = None
    encoding: str | None = None
    constrained: bool = True
    local: bool = False
    summary: Mapping[str, Any] = field(default_factory=dict)
    dictionary: TagDictionary | None = None
    label_ngrams: LabelNgrams | None = None
    history_weights: Floats | None = None
    label_trigrams: LabelTrigrams | None = None
    stop: Floats | None = None

    def dataset(self, given: Input, workers: Workers | None = None) -> Dataset:
        """The input encoded."""
        data = Dataset(*encode(self.features, given, workers), candidates=self.candidates(given))
        return replace(data, previous_occurrences=self.previous_occurrences(given))

    @property
    def label_history(self) -> LabelHistory | None:
        """How labels given earlier in a document are looked at, if they are."""
        features = self.features
        return features.templates.label_history if isinstance(features, Vocabulary) else None

    def previous_occurrences(self, given: Input) -> PreviousOccurrences | None:
        """The tokens of each document that labels are recalled from."""
        history = self.label_history
        if history is None or not isinstance(given, Corpus):
            return None
        from skipchain.models.base.documents import check_document_boundaries

        check_document_boundaries(given)
        templates = self.features.templates  # type: ignore[union-attr]
        if not history.template.columns <= set(given.columns):
            given = annotate(templates.annotators, given, Workers(1))
        return history.previous_occurrences(given, templates.functions)

    def candidates(self, given: Input) -> Bools | None:
        """The labels that each token can have, where there is a dictionary. [N, L]"""
        if self.dictionary is None or not isinstance(given, Corpus):
            return None
        return self.dictionary.candidates(given.words)

    def score_dataset(
        self, data: Dataset, workers: Workers, allowed: Bools | None = None
    ) -> ChainScores:
        """Data encoded before, ready to be decoded; ``allowed`` [N, L] limits tokens' labels.

        Where the dictionary leaves no labelling that is allowed, it gives way.
        """
        return self._score(data, workers, allowed)

    def scores(
        self, given: Input, workers: Workers, forced: Sequence[str | None] | None = None
    ) -> ChainScores:
        """The input encoded and ready to be decoded; ``forced`` as for every model."""
        allowed = None if forced is None else self.allowed_by(forced, chain_offsets(given))
        return self.look_up(given, workers, allowed)

    def look_up(self, given: Input, workers: Workers, allowed: Bools | None = None) -> ChainScores:
        """The input scored, where its features can be looked up without being encoded.

        Elsewhere, and where kernels are not compiled, it is encoded and scored; the scores are the
        same but for the order in which weights are added up.
        """
        scorer = None if is_interpreted() else self.lookup_scorer
        if scorer is None or not isinstance(given, Corpus):
            return self.score_dataset(self.dataset(given, workers), workers, allowed)
        sums, unknown = scorer.score(given, workers)
        rows = FeatureMatrix.without_features(given.n_tokens, unknown)
        data = Dataset(rows, given.sentences, candidates=self.candidates(given))
        data = replace(data, previous_occurrences=self.previous_occurrences(given))
        return self._score(data, workers, allowed, sums)

    @cached_property
    def lookup_scorer(self) -> LookupScorer | None:
        """Tables that give the scores of tokens, where the templates are such that they can."""
        if not isinstance(self.features, Vocabulary):
            return None
        from skipchain.lookup.scorer import LookupScorer, can_look_up

        return (
            LookupScorer(self.features, self.weights.state) if can_look_up(self.features) else None
        )

    @property
    def labels_documents_alone(self) -> bool:
        """True, but where labels earlier in a document are looked at: short ones are told of."""
        return self.label_history is None and all(
            base.labels_documents_alone for base in bases_of(self.features)
        )

    @property
    def labels_documents_apart(self) -> bool:
        """True, unless models whose predictions are features look further."""
        return all(base.labels_documents_apart for base in bases_of(self.features))

    @property
    def labels_sentences_apart(self) -> bool:
        """True, but where annotators or a history of labels look at documents."""
        return self.label_history is None and not annotators_of(self.features)

    @cached_property
    def frozen(self) -> FrozenChain | None:
        """The chain in single precision; None where labels depend on more than the one before."""
        from skipchain.lookup.frozen import FrozenChain

        if not isinstance(self.features, Vocabulary) or self.order != 1 or not self.plain:
            return None
        if self.local or self.dictionary is not None or self.stop is not None:
            return None
        return FrozenChain.of(self.features, self.weights, self.constraints)

    def __getstate__(self) -> dict[str, Any]:
        """The fields, without what follows from them."""
        return {name: value for name, value in vars(self).items() if name in self.__match_args__}

    def _score(
        self, data: Dataset, workers: Workers, allowed: Bools | None, sums: Floats | None = None
    ) -> ChainScores:
        """Data ready to be decoded; ``sums`` are the weights of their features, if known."""
        if data.candidates is not None:
            candidates = relax_candidates(data.candidates, allowed, data.offsets, self.constraints)
            data = replace(data, candidates=candidates)
        label_history = None
        if self.label_history is not None and self.history_weights is not None:
            label_history = LabelHistoryWeights(self.label_history.decay, self.history_weights)
        return ChainScores.of(
            data,
            self.weights,
            workers,
            self.constraints,
            allowed,
            self.local,
            self.label_ngrams,
            label_history,
            self.label_trigrams,
            self.stop,
            sums,
        )

    @property
    def plain_cost(self) -> float:
        """1 up to twenty labels, and more with the square of their number; ∞ for higher orders."""
        simple = self.order == 1 and self.label_trigrams is None and self.history_weights is None
        return max(1.0, (len(self.labels) / 20) ** 2) if simple else float("inf")

    @property
    def order(self) -> int:
        """How many labels back a label depends on."""
        return self.weights.order if self.label_ngrams is None else self.label_ngrams.order

    @property
    def exact(self) -> bool:
        """Whether all labellings can be gone through: for marginals, n-best lists, confidences."""
        return self.history_weights is None and is_exact(len(self.labels), self.order)

    @property
    def plain(self) -> bool:
        """Whether no label depends on more than tables of two or three labels say."""
        return all(part is None for part in self._further)

    @property
    def _further(self) -> tuple[Floats | None, ...]:
        """The weights of label n-grams, of label trigrams and of histories, where there are any."""
        ngrams, trigrams = self.label_ngrams, self.label_trigrams
        return (
            None if ngrams is None else ngrams.weights,
            None if trigrams is None else trigrams.weights,
            self.history_weights,
        )

    @property
    def n_further(self) -> int:
        """How many rows of weights `with_weights` takes beyond those of features."""
        return sum(0 if part is None else len(part) for part in self._further)

    def with_weights(self, weights: Weights) -> ChainModel:
        """The model with weights learnt.

        Those of label n-grams, of label trigrams and of histories are the last rows of ``state``.
        """
        state, rest = np.split(weights.state, [len(weights.state) - self.n_further])
        found: list[Floats | None] = []
        for part in self._further:
            size = 0 if part is None else len(part)
            found.append(None if part is None else rest[:size])
            rest = rest[size:]
        ngrams, trigrams, history = found
        model = replace(self, weights=replace(weights, state=state), history_weights=history)
        if self.label_ngrams is not None and ngrams is not None:
            model = replace(model, label_ngrams=replace(self.label_ngrams, weights=ngrams))
        if self.label_trigrams is not None and trigrams is not None:
            model = replace(model, label_trigrams=replace(self.label_trigrams, weights=trigrams))
        return model

    @property
    def all_weights(self) -> Weights:
        """All weights in one set of tables, as `with_weights` takes them."""
        further = [part for part in self._further if part is not None]
        return replace(self.weights, state=np.concatenate([self.weights.state, *further]))

    @property
    def decoders(self) -> tuple[str, ...]:
        """The decoders that the model supports, first the one that it has by default."""
        return decoders_of(self.kind, exact=self.exact)

    def check_decoder(self, decoder: str | None, beam: int = BEAM) -> None:
        """Refuse a decoder that the model does not have, and a beam without width."""
        if self.history_weights is not None and decoder not in (None, *SEARCHES):
            raise SkipchainError(
                "the model's labels depend on those given earlier in the document "
                f"({self.label_history}) and are found from left to right, so it has no decoder "
                f"{decoder!r}; it has {', '.join(SEARCHES)}"
            )
        super().check_decoder(decoder, beam)

    @property
    def n_nonzero(self) -> int:
        """How many weights are not zero."""
        return self.weights.n_nonzero

    @property
    def probabilistic(self) -> bool:
        """Whether the scores are fitted to be probabilities."""
        return self.kind != "perceptron"

    def decode(
        self, scores: ChainScores, workers: Workers, decoder: str | None = None, beam: int = BEAM
    ) -> Column:
        """The predicted labels, in the model's encoding; ``beam`` is the width of that decoder.

        Without a ``decoder`` it is the first of `decoders`.
        """
        decoder = decoder or self.decoders[0]
        self.check_decoder(decoder, beam)
        if decoder == "beam":
            codes = chains.beam(scores, beam, workers)
        else:
            codes = getattr(chains, decoder)(scores, workers)
        return Column(frozen(codes), self.labels)

    def marginals(self, scores: ChainScores, workers: Workers) -> Floats:
        """The probability of each label at each token. [N, L]"""
        return chains.marginals(scores, workers)

    def confidences(self, scores: ChainScores, spans: Spans, workers: Workers) -> Floats:
        """The probability of each span, whole and exact, under the model. [K]"""
        if self.encoding is None:
            raise SkipchainError("the model's labels mark no spans")
        offsets = scores.data.offsets
        from skipchain.chains.span_events import span_events

        windows = span_events(spans, offsets, self.encoding, self.labels)
        found = chains.event_probabilities(scores, windows, workers)
        return np.bincount(windows.spans, found, minlength=len(spans)).clip(0.0, 1.0)

    def nbest(self, scores: ChainScores, k: int, workers: Workers) -> list[NBestPaths]:
        """The k best label sequences of each chain, in the model's labels."""
        self.check_nbest(k, scores.offsets)
        return chains.nbest(scores, int(k), workers)

    def pruned(self, room: Room = IN_MEMORY) -> ChainModel:
        """Without features whose weights are all zero; predictions stay the same."""
        if self.label_ngrams is not None and not self.label_ngrams.weights.any(axis=1).all():
            return replace(self, label_ngrams=self.label_ngrams.pruned()).pruned()
        trigrams, used = self.label_trigrams, None
        if trigrams is not None:
            if not trigrams.weights.any(axis=1).all():
                return replace(self, label_trigrams=trigrams.pruned()).pruned()
            used = trigrams.used
        state = np.asarray(self.weights.state.any(axis=1))
        edge = np.asarray(self.weights.edges.any(axis=1))
        if state.all() and edge.all() and (used is None or used.all()):
            return self
        kept = room.empty((int(state.sum()), len(self.labels)), np.float64)
        np.compress(state, self.weights.state, axis=0, out=kept)
        weights = replace(self.weights, state=kept, edges=self.weights.edges[edge])
        if trigrams is None or used is None:
            return replace(self, features=self.features.keep(state, edge), weights=weights)
        assert isinstance(self.features, Vocabulary)  # others have no templates
        features = self.features.keep(state, edge, used)
        kept = trigrams.keep(used)
        return replace(self, features=features, weights=weights, label_trigrams=kept)

    # What it has learnt ------------------------------------------------------------------------

    def explain(
        self, given: Input, token: int | str, *, labels: Pair = None, threads: int | None = None
    ) -> Explained:
        """The features that decide between two labels at one token."""
        from skipchain.models.chain.explain import explain

        return explain(self, given, token, labels=labels, threads=threads)

    def describe_totals(self) -> str:
        """What the difference between the totals of two labels is, in an explanation."""
        if not self.probabilistic:
            return (
                "the difference of the totals is by how much one label's score is above the "
                "other's given the labels around; scores of this model are no probabilities"
            )
        meaning = "the difference of the totals is the log odds of the two labels"
        if not self.local:
            return f"{meaning} given the labels around"
        given = "" if self.kind == "maxent" else f" given the label{'s' * (self.order > 1)} before"
        return f"{meaning}{given}; the normaliser is the same for both and left out"

    def _family_summary(self, top: int, labels: Sequence[str]) -> dict[str, Any]:
        """Features of labels and of label pairs, transitions, and what longer runs of labels add.

        ``<start>`` and ``<end>`` are the scores of first and last labels. Those of an HMM are
        log-probabilities; what it weighs features against, log p(unknown | label), stands apart.
        """
        weights = self.weights
        by_label = label_features(weights.state, self.labels, labels, self.features.names(), top)
        # an HMM's positions pay for the unknown value by way of what leads to them
        paid = np.zeros(len(self.labels))
        if (unknown := self.summary.get("unknown")) is not None:
            paid = np.array(unknown)
            for label, entry in by_label.items():
                entry["unknown"] = unknown[self.labels.index(label)]
        summary = {
            "labels": by_label,
            "pairs": strongest_pairs(
                weights.edges, self.features.names(transition=True), chain_pairs(self.labels), top
            ),
            "runs": _label_runs(self, top),
            "transitions": {
                **label_table(self.labels, weights.transitions - paid),
                "<start>": label_row(self.labels, weights.start - paid),
                "<end>": label_row(self.labels, weights.end),
            },
        }
        if self.history_weights is not None:
            summary["history"] = label_table(self.labels, self.history_weights)
        if self.stop is not None:
            chances = 1.0 / (1.0 + np.exp(-self.stop))
            summary["stop"] = _stop_table(self.labels, chances)
        return summary


def _stop_table(labels: tuple[str, ...], chances: Floats) -> dict[str, Any]:
    """The probability of stopping after a label, or after two, by their names."""
    if chances.ndim == 1:
        return label_row(labels, chances)
    table: dict[str, Any] = dict(label_table(labels, chances[:-1]))
    return {**table, "<start>": label_row(labels, chances[-1])}


def _label_runs(model: ChainModel, top: int) -> list[dict[str, Any]]:
    """The strongest weights of three and more labels in a row, with a feature or by themselves.

    ``previous`` are the labels before, the earliest first; None is any label.
    """
    told = [*model.labels, "<start>", None]  # ANY is the last
    found: list[tuple[str | None, list[int], int, float]] = []

    def add(table: Floats, describe: Callable[[int], tuple[str | None, list[int]]]) -> None:
        weights = table.ravel()
        for k in np.argsort(-np.abs(weights), kind="stable")[:top].tolist():
            if weights[k]:
                row, label = divmod(k, len(model.labels))
                found.append((*describe(row), label, float(weights[k])))

    add(model.weights.triples, lambda row: (None, list(divmod(row, len(model.labels)))))
    if (ngrams := model.label_ngrams) is not None:
        add(ngrams.weights, lambda row: (None, ngrams.labels_of(row)))
    if (trigrams := model.label_trigrams) is not None:
        assert isinstance(model.features, Vocabulary)  # others have no templates
        names = model.features.trigram_names()
        numbers = trigrams.rows.tolist()
        add(trigrams.weights, lambda row: (names[numbers[row][0]], numbers[row][1:]))
    found.sort(key=lambda run: -abs(run[-1]))
    return [
        {
            **({} if name is None else {"name": name}),
            "previous": [told[code] for code in codes],
            "label": model.labels[label],
            "weight": weight,
        }
        for name, codes, label, weight in found[:top]
    ]
