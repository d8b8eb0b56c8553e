"""An estimator of chain models with factors across documents beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skipchain.corpus import Corpus
from skipchain.errors import CorpusError, ParameterError
from skipchain.factors.consistency import Consistency
from skipchain.factors.counts import count_pairs
from skipchain.factors.text import parse_factors
from skipchain.factors.wiring import SpanFactor
from skipchain.inference.annealing import Annealing
from skipchain.inference.candidates import Candidates, Doubts
from skipchain.learn.lbfgs import minimize
from skipchain.learn.step import INTERRUPTED
from skipchain.models import make_estimator
from skipchain.models.factored import FactoredModel
from skipchain.models.fitting import HeldOut, Part, Progress
from skipchain.models.inputs import as_input
from skipchain.models.labeller import Labeller, plain
from skipchain.models.wholeness import longest_document
from skipchain.objectives.interplay import Lesson, PseudoLikelihood
from skipchain.parallel import Workers
from skipchain.schemes import convert

Ints = NDArray[np.int64]

LEARNED, COUNTED, GIVEN = PENALTIES = "learned", "counted", "given"
FIRST = 0.25  # of the penalties by counts; where learning begins
L2 = 1.0  # keeps the few numbers of a table small where pairs are few


class Factored(Labeller):
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
        been shown, ``folds`` parts of the training data in turn. ``counted``: by how rare such
        pairs are in training data, for `Consistency`. ``given``: as the factors have it.
    strength
        All of that is multiplied by this.
    tolerance, most
        Tokens whose label leaves less than ``tolerance`` to others keep it, unless a factor
        objects; stretches of other tokens have so many labellings to choose from.
    samples, chains, seed
        Sweeps of sampling when a document is decoded, from hot to cold, and how often anew.

    Examples
    --------
    >>> from skipchain import CRF
    >>> from skipchain.examples import harbour
    >>> train, test = harbour().split(0.75)
    >>> steady = Factored(CRF("ner", epochs=4), folds=2).fit(train)
    >>> steady.score(test) > 0.5
    True
    """

    kind = "factored"

    model_: FactoredModel

    def __init__(
        self,
        base: str | Labeller = "crf",
        *,
        factors: str | Sequence[SpanFactor] | None = None,
        penalties: str = LEARNED,
        strength: float = 1.0,
        folds: int = 5,
        tolerance: float = 1e-3,
        most: int = 24,
        samples: int = 200,
        chains: int = 1,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.base = base
        self.factors = factors
        self.penalties = penalties
        self.strength = strength
        self.folds = folds
        self.tolerance = tolerance
        self.most = most
        self.samples = samples
        self.chains = chains
        self.seed = seed
        self.threads = threads

    def shortened(self) -> Self:
        """The same estimator, but it ends as soon as it can."""
        short = {"base": self._base().shortened(), "folds": 2}
        return type(self)(**{**self.get_params(), **short})

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        dev: Any = None,
        dev_y: Any = None,
        start: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from a labelled corpus with documents.

        ``dev`` is scored as the chain model learns; ``start`` is a model for it to begin from.
        """
        self._check()
        corpus = _documents(as_input(X), y)
        base = self._base().fit(corpus, dev=dev, dev_y=dev_y, start=start, progress=progress)
        model = self._around(base)
        minimum = base.minimum_
        factors = list(model.factors)
        if self.penalties == COUNTED:
            factors = [
                Consistency.fit(corpus) if isinstance(own, Consistency) else own for own in factors
            ]
        elif self.penalties == LEARNED and minimum.reason != INTERRUPTED:
            factors = self._learnt(corpus, model, progress)
        summary = {
            **base.fitted.summary,
            "longest_document": longest_document(corpus),
            "settings": plain({**self.get_params(), "base": repr(base), "factors": repr(factors)}),
        }
        self.model_ = replace(
            model, factors=tuple(own.times(self.strength) for own in factors), summary=summary
        )
        self.minimum_ = minimum
        with Workers(self.threads) as workers:
            if dev is not None:
                score = HeldOut(self.model_, dev, dev_y).score(self.model_, workers)
                self.model_ = replace(self.model_, summary={**summary, "dev": score})
        if progress is None:
            self._raise_interrupt()
        return self

    def _around(self, base: Labeller) -> FactoredModel:
        """The factors, without what is learnt, beside a fitted chain model."""
        factors: Sequence[SpanFactor] = (Consistency.blank(),)
        if isinstance(self.factors, str):
            factors = parse_factors(self.factors)
        elif self.factors is not None:
            factors = self.factors
        types = FactoredModel.around(base.fitted, ()).labelling.types
        return FactoredModel.around(
            base.fitted,
            [Consistency.blank(types) if _for_all(own) else own for own in factors],
            Doubts(self.tolerance, self.most),
            Annealing(self.samples, chains=self.chains, seed=self.seed),
        )

    def _learnt(
        self, corpus: Corpus, model: FactoredModel, progress: Progress | None
    ) -> list[SpanFactor]:
        """The factors with tables that do well on documents which their model has not seen."""
        folds = min(self.folds, corpus.n_documents)
        if folds < 2:
            raise ParameterError(
                "penalties='learned' needs at least 2 folds and 2 documents, so that some can be "
                f"held out; got folds={self.folds} and {corpus.n_documents} documents"
            )
        lessons = []
        counted = count_pairs(corpus)
        deal = np.arange(corpus.n_documents) % folds
        with Workers(self.threads) as workers:
            for number in range(folds):
                held = corpus.take_documents(np.flatnonzero(deal == number))
                rest = corpus.take_documents(np.flatnonzero(deal != number))
                note = f"without part {number + 1} of {folds}, for the factors"
                base = self._base().fit(
                    rest, progress=None if progress is None else Part(progress, note)
                )
                own = self._around(base)
                # what is rare in training counts as doubtful, and is where learning begins
                told = [
                    factor.weighed_by(counted).times(FIRST)
                    if isinstance(factor, Consistency)
                    else factor
                    for factor in own.factors
                ]
                lessons.append(_lesson(replace(own, factors=tuple(told)), held, workers))
                if base.minimum_.reason == INTERRUPTED:
                    return list(model.factors)
            objective = PseudoLikelihood(lessons, workers, l2=L2)
            if not objective.size:
                return list(model.factors)
            vector = minimize(objective, objective.start, tolerance=1e-6).vector
        tables = iter(objective.tables(vector))
        counts = lessons[0].interplay.counts
        types = model.labelling.types
        return [
            factor.weighed([next(tables) for _ in range(count)], types)
            for factor, count in zip(model.factors, counts, strict=True)
        ]

    def _base(self) -> Labeller:
        """The chain model's estimator, as it was given: fitting leaves that one alone."""
        if isinstance(self.base, Labeller):
            return type(self.base)(**self.base.get_params())
        return make_estimator(self.base, None, threads=self.threads)

    def _check(self) -> None:
        self._check_numbers(whole=("folds", "most", "samples", "chains"), real=("strength",))
        self._check_choices(penalties=PENALTIES)
        if not isinstance(self.base, (str, Labeller)):
            raise ParameterError(
                f"base is an estimator or the kind of one, got {type(self.base).__name__}"
            )
        Doubts(self.tolerance, self.most)
        if isinstance(self.factors, str):
            parse_factors(self.factors)


def _for_all(factor: SpanFactor) -> bool:
    """Whether a factor is about all types that a model has, whichever these are."""
    return isinstance(factor, Consistency) and not factor.types


def _documents(given: Corpus | Sequence[Any], y: Any) -> Corpus:
    """The corpus to learn from; refused where it has no documents of several sentences."""
    if not isinstance(given, Corpus) or y is not None:
        raise ParameterError(
            "Factored learns from a labelled Corpus with documents; Corpus.of makes one from lists "
            "of words and labels"
        )
    if given.n_documents > 1 and np.diff(given.documents).max() < 2:
        raise CorpusError(
            "factors need documents of several sentences, and every document here is one; mark "
            "where documents begin: -DOCSTART- lines (CoNLL), or document ids (JSON lines)"
        )
    return given


def _lesson(model: FactoredModel, held: Corpus, workers: Workers) -> Lesson:
    """The candidates of documents that a model has not seen, and the right ones."""
    interplay = model.interplay(model.scores(held.without_labels(), workers), workers)
    assert model.encoding is not None
    if held.scheme is None:
        raise CorpusError("factors are about spans, and the corpus' labels mark none")
    column = convert(held.labels, held.sentences, held.scheme, model.encoding, lossy=True)
    number = {label: k for k, label in enumerate(model.labels)}
    known = np.array([number.get(label, -1) for label in column.values], np.int32)
    return Lesson(interplay, right(interplay.candidates, known[column.codes]))


def right(candidates: Candidates, gold: NDArray[np.int32]) -> Ints:
    """The candidate of each stretch that has the right labels, −1 where none has. [V]"""
    counts = np.diff(candidates.first)
    lengths = np.repeat(candidates.stops - candidates.starts, counts)
    starts = np.repeat(candidates.starts, counts)
    if not len(lengths):
        return np.zeros(0, np.int64)
    tokens = np.repeat(starts - candidates.places, lengths) + np.arange(len(candidates.labels))
    wrong = candidates.labels != gold[tokens]
    good = np.flatnonzero(np.add.reduceat(wrong, candidates.places) == 0)
    found = np.full(len(candidates.starts), -1)
    found[candidates.stretches[good][::-1]] = good[::-1]
    return found
