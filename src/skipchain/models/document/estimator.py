"""An estimator of chain models with factors across documents beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from skipchain.arrays import Ints, Labels
from skipchain.checks import check_choice, check_integer, check_number
from skipchain.corpus import Corpus
from skipchain.corpus.schemes import check_scheme, convert, is_no_scheme
from skipchain.errors import CorpusError, ParameterError
from skipchain.features.templates import Templates
from skipchain.learn.lbfgs import minimize
from skipchain.learn.step import INTERRUPTED
from skipchain.models.base.crossfit import Fold, cross_fit, deal_documents
from skipchain.models.base.documents import longest_document
from skipchain.models.base.estimator import BaseEstimator, plain_settings
from skipchain.models.base.inputs import Input, known_labels
from skipchain.models.base.progress import Progress, StageProgress
from skipchain.models.base.task import Fitted, TrainingTask
from skipchain.models.document.annealing import SEGMENT, Annealing
from skipchain.models.document.candidate_graph import LabelTypes
from skipchain.models.document.candidates import CandidateLimits, Candidates
from skipchain.models.document.factors.base import SpanFactor
from skipchain.models.document.factors.consistency import Consistency
from skipchain.models.document.factors.counts import count_pairs
from skipchain.models.document.factors.python import PythonFactor
from skipchain.models.document.factors.text import parse_factors
from skipchain.models.document.model import (
    DECODERS,
    FactoredModel,
    further_labels_message,
    not_a_chain_message,
)
from skipchain.models.document.pseudolikelihood import PseudoLikelihood, TrainingInstance
from skipchain.models.registry import make_estimator
from skipchain.parallel import Workers

LEARNED, COUNTED, GIVEN = PENALTIES = "learned", "counted", "given"
CHAIN_KINDS = ("crf", "memm", "maxent", "hmm")  # the kinds of models that factors go with
INITIAL_STRENGTH = 0.25  # of the penalties by counts; where learning begins
L2 = 1.0  # keeps the few numbers of a table small where pairs are few


class Factored(BaseEstimator):
    """A chain model whose labels mind the whole document: names keep their type.

    Parameters
    ----------
    base
        A CRF, MEMM or HMM that is not fitted yet, or the kind of one.
    factors
        What is to hold in a document, or text such as ``"consistency; last_word(speaker)"``;
        without any, that names keep their type (`Consistency`).
    penalties
        ``learned``: what pairs of spans cost is learnt from documents that the chain model has not
        been shown, fold by fold. ``counted``: by how rare such pairs are in training data, for
        `Consistency`. ``given``: as the factors have it.
    strength
        All of that is multiplied by this.
    folds
        The folds of documents by which penalties are learnt.
    tolerance, most
        Tokens whose label leaves less than ``tolerance`` to others keep it, unless a factor
        objects; an uncertain segment of other tokens has ``most`` labellings to choose from.
    samples, chains
        Sweeps of sampling when a document is decoded, from hot to cold, and how often anew.
    moves
        What a sweep draws at a time, given all else: a whole uncertain ``segment``, or a single
        ``token``, as the paper has it.
    seed, threads
        As for `CRF`.

    Examples
    --------
    >>> from skipchain import CRF
    >>> from skipchain.datasets.harbour import harbour
    >>> train, test = harbour().split(0.75)
    >>> steady = Factored(CRF("ner", epochs=4), folds=2).fit(train)
    >>> steady.score(test) > 0.5
    True
    """

    kind = "factored"

    model_: FactoredModel
    base: str | BaseEstimator
    factors: str | Sequence[SpanFactor | PythonFactor] | None
    penalties: str
    strength: float
    folds: int
    tolerance: float
    most: int
    samples: int
    chains: int
    moves: str

    def __init__(
        self,
        base: str | BaseEstimator = "crf",
        *,
        factors: str | Sequence[SpanFactor | PythonFactor] | None = None,
        penalties: str = LEARNED,
        strength: float = 1.0,
        folds: int = 5,
        tolerance: float = 1e-3,
        most: int = 24,
        samples: int = 200,
        chains: int = 1,
        moves: str = SEGMENT,
        seed: int = 0,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        self._keep(locals())

    @property
    def decoders(self) -> tuple[str, ...]:
        """The decoders that the fitted model will have, first the one that it has by default."""
        return (*DECODERS, *self._base().decoders)

    @property
    def stopping(self) -> tuple[float, int]:
        """When the training of the chain model ends."""
        return self._base().stopping

    def for_warmup(self) -> Self:
        """The same estimator, but it ends as soon as it can."""
        return self.replaced(base=self._base().for_warmup(), folds=2)

    def fit_annotators(self, given: Any, progress: Progress | None = None) -> tuple[Self, Any]:
        """The estimator, and the corpus with the columns of the chain model's annotators."""
        base, corpus = self._base().fit_annotators(given, progress)
        return self.replaced(base=base), corpus

    def reads(self, corpus: Corpus) -> set[str]:
        """The columns that the chain model will read."""
        return self._base().reads(corpus)

    def _templates(self, given: Input) -> Templates | None:
        """None: features belong to the chain model."""
        return None

    def _named_scheme(self) -> str | None:
        """That of the chain model."""
        return self._base().scheme

    def _train(self, task: TrainingTask) -> Fitted:
        start = task.start.fitted if isinstance(task.start, Factored) else task.start
        start = start.base if isinstance(start, FactoredModel) else start
        own, corpus = self.fit_annotators(task.given, task.progress)
        base, dev = own._base(), (task.dev, task.dev_labels)
        try:
            base.fit(corpus, dev=dev[0], dev_y=dev[1], start=start, progress=task.progress)
        except KeyboardInterrupt:
            if not hasattr(base, "model_"):
                raise
        model, result = self._attach_factors(base), base.result_
        if self.penalties == COUNTED:
            # as Finkel, Grenager and Manning have them: by how rare pairs are
            model = _with_counts(model, corpus, by_length=True, shared=False)
        elif self.penalties == LEARNED:
            # learning begins there: what is rare in training counts as doubtful
            model = _with_counts(model, corpus, INITIAL_STRENGTH)
            try:
                if result.reason == INTERRUPTED:
                    raise KeyboardInterrupt
                factors = own._learn_factors(corpus, model, task.workers, task.progress)
                model = replace(model, factors=factors)
            except KeyboardInterrupt:
                result = replace(result, reason=INTERRUPTED)
        summary = base.fitted.summary
        described = {"base": repr(base), "factors": repr(model.factors)}
        facts = {
            **{k: v for k, v in summary.items() if k not in ("dev", "stopped")},
            "longest_document": longest_document(corpus),
            "settings": plain_settings({**self.get_params(deep=False), **described}),
        }
        model = replace(model, factors=tuple(own.scaled(self.strength) for own in model.factors))
        size, tokens, sequences = (summary[k] for k in ("parameters", "tokens", "sequences"))
        return Fitted(model, result, size, tokens, sequences, facts=facts)

    def _attach_factors(self, base: BaseEstimator) -> FactoredModel:
        """The factors, without what is learnt, beside a fitted chain model."""
        types = FactoredModel.from_chain(base.fitted, ()).label_types.types
        factors = [
            Consistency.blank(types) if isinstance(own, Consistency) and not own.types else own
            for own in self._factors()
        ]
        limits = CandidateLimits(self.tolerance, self.most)
        return FactoredModel.from_chain(base.fitted, factors, limits, self._annealing())

    def _learn_factors(
        self, corpus: Corpus, model: FactoredModel, workers: Workers, progress: Progress | None
    ) -> tuple[SpanFactor, ...]:
        """The factors with tables that do well on documents which their model has not seen."""
        if not model.factors:
            return ()
        types = model.label_types.types

        def instance(fold: Fold) -> TrainingInstance:
            stage = StageProgress.of(progress, fold.stage("the factors"))
            base = self._base().without_patience().fit(fold.training()[0], progress=stage)
            if base.result_.reason == INTERRUPTED:
                raise KeyboardInterrupt
            # the documents held out may be the only ones with a type
            parts = model.factors, model.candidate_limits, model.annealing
            own = FactoredModel.from_chain(base.fitted, *parts, extra_types=types)
            return _training_instance(own, fold.held()[0], workers)

        instances = cross_fit(self._folds(corpus), instance)
        objective = PseudoLikelihood(instances, workers, l2=L2)
        if not objective.size:
            return model.factors
        result = minimize(objective, objective.start, tolerance=1e-6)
        if result.reason == INTERRUPTED:
            raise KeyboardInterrupt
        tables = iter(objective.tables(result.vector))
        counts = instances[0].candidate_graph.potentials_per_factor
        return tuple(
            factor.with_tables([next(tables) for _ in range(count)], types)
            for factor, count in zip(model.factors, counts, strict=True)
        )

    def _folds(self, corpus: Corpus) -> list[Fold]:
        """The folds of documents by which penalties are learnt."""
        return deal_documents(corpus, self.folds, self.seed, "penalties='learned'")

    def _input(self, given: Input, y: Any) -> Corpus:
        """The corpus to learn from; refused where factors have nothing to go by."""
        if not isinstance(given, Corpus) or y is not None:
            raise ParameterError(
                "Factored learns from a labelled Corpus with documents; Corpus.of makes one from "
                "lists of words and labels"
            )
        message = further_labels_message(self._base()._templates(given))
        if message is not None:
            raise ParameterError(message)
        if given.n_documents > 1 and np.diff(given.documents).max() < 2:
            raise CorpusError(
                "factors need documents of several sentences, and every document here is one; "
                "mark where documents begin: -DOCSTART- lines (CoNLL), or document ids (JSON lines)"
            )
        labels, scheme = given.labels, self._named_scheme() or given.scheme
        if scheme is None or is_no_scheme(scheme):
            raise CorpusError("factors are about spans, and the corpus' labels mark none")
        known = known_labels(given, None)
        if known.partial and self.penalties != GIVEN:
            raise CorpusError(
                f"token {min(known.partial)} has no label of its own, and penalties are counted "
                "and learnt where all labels are known; use penalties='given'"
            )
        corpus = given.with_labels(labels, check_scheme(scheme))
        types = LabelTypes.of(known.names, scheme).types
        for factor in self._factors():
            if not isinstance(factor, PythonFactor):
                factor.check(types)
        if self.penalties == LEARNED:
            self._folds(corpus)
        return corpus

    def _factors(self) -> Sequence[SpanFactor | PythonFactor]:
        """What is to hold in a document, as it was given."""
        if self.factors is None:
            return (Consistency.blank(),)
        return parse_factors(self.factors) if isinstance(self.factors, str) else self.factors

    def _annealing(self) -> Annealing:
        return Annealing(self.samples, chains=self.chains, seed=self.seed, moves=self.moves)

    def _base(self) -> BaseEstimator:
        """The chain model's estimator, as it was given: fitting leaves that one alone."""
        if isinstance(self.base, BaseEstimator):
            return self.base.replaced()
        return make_estimator(self.base, None, threads=self.threads)

    def _check(self) -> None:
        for name in ("folds", "most", "samples", "chains"):
            check_integer(name, getattr(self, name))
        check_number("strength", self.strength)
        check_choice("penalties", self.penalties, PENALTIES)
        if not isinstance(self.base, (str, BaseEstimator)):
            raise ParameterError(
                f"base is an estimator or the kind of one, got {type(self.base).__name__}"
            )
        base = self._base()
        order = getattr(base, "order", 1)
        if base.kind not in CHAIN_KINDS or order > 2:
            raise ParameterError(not_a_chain_message(base.kind, order))
        CandidateLimits(self.tolerance, self.most)
        self._annealing()
        given = self._factors()
        if not isinstance(given, Sequence) or not all(
            isinstance(own, PythonFactor) or hasattr(own, "build_edges") for own in given
        ):
            raise ParameterError(f"factors are text or a list of factors, got {self.factors!r}")


def _with_counts(
    model: FactoredModel, corpus: Corpus, strength: float = 1.0, **settings: Any
) -> FactoredModel:
    """The model whose factors have penalties by how rare pairs are, and other settings."""
    counts = count_pairs(corpus)
    factors = [
        replace(own.with_counts(counts).scaled(strength), **settings)
        if isinstance(own, Consistency)
        else own
        for own in model.factors
    ]
    return replace(model, factors=tuple(factors))


def _training_instance(model: FactoredModel, held: Corpus, workers: Workers) -> TrainingInstance:
    """The candidates of documents that a model has not seen, and the right ones."""
    graph = model.candidate_graph(model.scores(held.without_labels(), workers), workers)
    assert held.scheme is not None
    assert model.encoding is not None
    column = convert(held.labels, held.sentences, held.scheme, model.encoding, lossy=True)
    number = {label: k for k, label in enumerate(model.labels)}
    known = np.array([number.get(label, -1) for label in column.values], np.int32)
    return TrainingInstance(graph, gold_candidates(graph.candidates, known[column.codes]))


def gold_candidates(candidates: Candidates, gold: Labels) -> Ints:
    """The candidate of each segment that has the gold labels, −1 where none has. [V]"""
    counts = np.diff(candidates.first)
    lengths = np.repeat(candidates.stops - candidates.starts, counts)
    starts = np.repeat(candidates.starts, counts)
    if not len(lengths):
        return np.zeros(0, np.int64)
    tokens = np.repeat(starts - candidates.label_starts, lengths)
    tokens += np.arange(len(candidates.labels))
    wrong = candidates.labels != gold[tokens]
    good = np.flatnonzero(np.add.reduceat(wrong, candidates.label_starts) == 0)
    found = np.full(len(candidates.starts), -1)
    found[candidates.segment_ids[good][::-1]] = good[::-1]
    return found
