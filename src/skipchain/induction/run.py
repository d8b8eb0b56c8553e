"""Induce templates: propose conjunctions, rank them by gain, add the best, train anew, repeat."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from skipchain.arrays import Ints
from skipchain.checks import check_integer, check_number
from skipchain.corpus import Column, Corpus
from skipchain.corpus.column import frozen
from skipchain.corpus.corpus import LABEL, plural
from skipchain.corpus.schemes import check_scheme, convert, decode
from skipchain.errors import CorpusError, ParameterError
from skipchain.features.annotator import annotate
from skipchain.features.reader import ViewReader
from skipchain.features.template import STATE, Template
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.induction.conjunctions import AtomReader, conjunctions, in_reading_order
from skipchain.induction.induction import Induction, InductionCandidate, InductionRound, best_round
from skipchain.induction.posteriors import FLOOR, Posteriors
from skipchain.learn.step import INTERRUPTED
from skipchain.metrics import entity_scores, token_scores
from skipchain.metrics.token import require_known
from skipchain.models.base.crossfit import cross_predict, deal
from skipchain.models.base.inputs import shared_numbers
from skipchain.models.chain.crf import CRF
from skipchain.models.chain.estimator import ChainEstimator
from skipchain.models.chain.maxent import MaxEnt
from skipchain.models.chain.model import ChainModel
from skipchain.parallel import Workers

EPOCHS, DROPOUT = 5, 0.5
SHRINKAGE = 10.0
POOL = 300  # candidates of a round that are looked at again in the next
SHORTLIST = 40  # candidates among which a round chooses
SHOWN = 20  # candidates of a round that are kept
LARGEST_CUT, SMALLEST_CUT = 4, 16  # parts of the templates of which one may be pruned at once
PATIENCE = 2  # rounds that may bring nothing before induction ends
MAX_LONGEST = 10
Say = Callable[[str], None]
Watch = Callable[[float, float, str], None]


def induce(
    corpus: Corpus,
    templates: str | Path | Templates,
    *,
    model: ChainEstimator | None = None,
    dev: Corpus | None = None,
    rounds: int = 6,
    per_round: int = 8,
    longest: int = 3,
    folds: int = 2,
    shrinkage: float = SHRINKAGE,
    prune: bool = True,
    say: Say | None = None,
    watch: Watch | None = None,
) -> Induction:
    """Find conjunctions of templates' views that help on data that was not learnt from.

    Parameters
    ----------
    corpus
        Labelled data.
    templates
        The templates to start from: a standard set's name, text, a file, or `Templates`.
    model
        The CRF or MaxEnt that is trained in every round; by default a CRF of 5 epochs with a
        dropout of 0.5. Its seed deals the folds.
    dev
        Held-out data by which rounds are judged. Without it they are judged by the folds, each
        labelled by a model that has learnt from the others.
    rounds
        The most rounds; there are fewer where two bring nothing, or no candidate has a gain.
    per_round
        The most conjunctions that a round adds.
    longest
        The most views in a conjunction.
    folds
        The parts of the corpus; documents stay whole where there are enough of them.
    shrinkage
        The penalty on Σδ² while the gain of new weights δ is estimated. It stands for all that
        training does against overfitting; small values favour rare features.
    prune
        Whether templates are left out in the end, those of the start among them, as long as the
        score on held-out data does not fall.
    say
        Is told of every round.
    watch
        Is told, as the search goes on, how much is done, of how much, and what is being done.

    An interrupt ends the search and keeps what was found so far; ``stopped`` then says so.

    Examples
    --------
    The label says whether two letters are the same, which neither says alone; what the pair has
    made superfluous is left out.

    >>> from skipchain import Corpus, MaxEnt
    >>> pairs = [(a, b) for a in "xy" for b in "xy"] * 10
    >>> corpus = Corpus.of([[a] for a, _ in pairs], [[str(a == b)] for a, b in pairs],
    ...                    other=[[b] for _, b in pairs])
    >>> found = induce(corpus, "word\\nother", model=MaxEnt(solver="lbfgs"), shrinkage=0.1)
    >>> [str(template) for template in found.templates.templates]
    ['word & other']
    """
    estimator = CRF(epochs=EPOCHS, dropout=DROPOUT) if model is None else model
    check_integer("rounds", rounds)
    check_integer("per_round", per_round)
    check_integer("longest", longest, least=2, most=MAX_LONGEST)
    check_integer("folds", folds, least=2)
    check_number("shrinkage", shrinkage)
    _check_data(estimator, corpus, dev)
    columns = tuple(name for name in corpus.columns if name != LABEL)
    start = Templates.of(templates, estimator.functions, columns)
    if start.label_history is not None:
        raise ParameterError(
            f"{start.label_history} leaves no probabilities of single labels to compute gains "
            "from; leave it out, and add it to the templates that are found"
        )
    fitted, annotated = start.fit_annotators(corpus)
    found = _Search(
        estimator.without_patience(), _in_encoding(annotated, estimator), fitted, dev, folds, say
    )
    found.watch = watch or found.watch
    limits = _Limits(rounds, per_round, longest, shrinkage)
    stopped = plural(rounds, "round")
    try:
        stopped = found.run(limits) or stopped
        if prune:
            found.prune()
    except KeyboardInterrupt:
        stopped = INTERRUPTED
    chosen = best_round(found.rounds).templates if found.rounds else found.start.templates
    return Induction(
        replace(found.start, templates=in_reading_order(chosen), annotators=start.annotators),
        tuple(found.rounds),
        _describe(estimator),
        found.measure,
        "dev" if dev is not None else f"{folds} folds of the training data",
        stopped,
    )


@dataclass(frozen=True, slots=True)
class _Limits:
    rounds: int
    per_round: int
    longest: int
    shrinkage: float


class _Search:
    """The rounds so far, on data whose labels are written as the model learns them."""

    def __init__(
        self,
        estimator: ChainEstimator,
        corpus: Corpus,
        templates: Templates,
        dev: Corpus | None,
        folds: int,
        say: Say | None,
    ) -> None:
        self.start = replace(templates.for_corpus(corpus), annotators=())
        self.rounds: list[InductionRound] = []
        # without an encoding a model knows no entities, and dev is judged by its tokens
        plain = corpus.scheme is None or estimator.encoding is None
        self.measure = "accuracy" if plain else "F1"
        self._estimator, self._corpus = estimator, corpus
        self._say = say or (lambda _: None)
        self.watch: Watch = lambda done, whole, what: None
        self._models: list[ChainModel] = []
        self._dev = None
        if dev is not None:
            with Workers(estimator.threads) as workers:
                self._dev = annotate(templates.annotators, dev, workers)
        self._folds = deal(corpus, folds, estimator.seed, most=True)
        if len(self._folds) < folds:
            raise ParameterError(
                f"{folds} folds need as many sequences, but there are {len(corpus)}; give fewer"
            )
        self._labels = tuple(sorted(set(corpus.labels.tolist())))
        number = {name: k for k, name in enumerate(self._labels)}
        codes = np.array([number.get(value, -1) for value in corpus.labels.values], np.int64)
        self._gold = codes[corpus.labels.codes]
        self._fold_of: Ints = np.zeros(corpus.n_tokens, np.int64)
        for fold in self._folds:
            self._fold_of[fold.tokens] = fold.number
        self._atoms = AtomReader(ViewReader(corpus, self.start.functions), self.start.templates)

    def run(self, limits: _Limits) -> str | None:
        """Go through the rounds; why they end before the last one, if they do."""
        self.watch(0, limits.rounds + 1, "before the first round")
        posteriors = self._end_round(time.perf_counter(), self.start.templates, 0)
        hopeless: set[Template] = set()
        for number in range(1, limits.rounds + 1):
            self.watch(number, limits.rounds + 1, f"round {number} of {limits.rounds}")
            began, current = time.perf_counter(), self.rounds[-1].templates
            proposed = conjunctions(current, self._atoms, limits.longest)
            proposed = [own for own in proposed if own not in hopeless]
            posteriors = posteriors.calibrated()
            ranked = self._ranked(proposed, posteriors, limits.shrinkage)
            hopeless.update(own.template for own in ranked[POOL:])
            added = self._choose(ranked, posteriors, limits)
            if not added:
                return "no candidate has a gain"
            templates = (*current, *(own.template for own in added))
            posteriors = self._end_round(began, templates, number, ranked=ranked, added=added)
            if number - best_round(self.rounds).number >= PATIENCE:
                return f"{plural(PATIENCE, 'round')} brought nothing"
        return None

    def prune(self) -> None:
        """Leave out templates as long as the score on held-out data does not fall.

        Those that held-out tokens would miss least go first, a quarter of all; where the score
        falls, half as many are tried.
        """
        ranked = self._by_loss(best_round(self.rounds).templates)
        size, trial = max(1, len(ranked) // LARGEST_CUT), 0
        while len(ranked) > 1 and size >= max(1, len(ranked) // SMALLEST_CUT):
            began, removed, trial = time.perf_counter(), ranked[:size], trial + 1
            best = best_round(self.rounds)
            kept = tuple(own for own in best.templates if own not in removed)
            self.watch(0, trial, f"leaving out templates, trial {trial}")
            self._end_round(began, kept, best.number, pruning=trial, removed=removed)
            if best_round(self.rounds) is self.rounds[-1]:
                ranked = self._by_loss(kept)
            else:
                size //= 2

    def _end_round(
        self,
        began: float,
        templates: tuple[Template, ...],
        number: int,
        *,
        pruning: int = 0,
        ranked: Sequence[InductionCandidate] = (),
        added: Sequence[InductionCandidate] = (),
        removed: Sequence[Template] = (),
    ) -> Posteriors:
        """Measure templates on held-out data, and keep the round that led to them."""
        models, posteriors, score = self._evaluate(templates)
        own = InductionRound(
            number=number,
            pruning=pruning,
            considered=len(ranked),
            candidates=tuple(ranked[:SHOWN]),
            added=tuple(added),
            removed=tuple(removed),
            templates=templates,
            score=score,
            log_likelihood=posteriors.log_likelihood,
            seconds=time.perf_counter() - began,
        )
        self.rounds.append(own)
        if best_round(self.rounds) is own:
            self._models = models
        for line in own.describe(self.measure):
            self._say(line)
        return posteriors

    def _evaluate(
        self, templates: tuple[Template, ...]
    ) -> tuple[list[ChainModel], Posteriors, float]:
        """A model for each fold with these templates, what they say of it, and their score."""
        estimator = self._estimator.replaced(features=replace(self.start, templates=templates))
        models = [estimator.replaced().fit(*fold.training()).model_ for fold in self._folds]
        with Workers(estimator.threads) as workers:
            marginals, labels = cross_predict(
                self._folds, lambda fold: models[fold.number], self._labels, workers=workers
            )
        posteriors = Posteriors.of(marginals, self._gold, self._fold_of)
        if self._dev is not None:
            score = 100.0 * estimator.fit(self._corpus).held_out_score(self._dev)
        else:
            score = self._score(Column(frozen(labels.astype(np.int32)), self._labels))
        return models, posteriors, score

    def _by_loss(self, templates: Sequence[Template]) -> list[Template]:
        """Templates of label features, first those that held-out tokens would miss least.

        The loss is that of the best models without the weights of the template, not trained anew.
        """
        ranked = [own for own in templates if own.family == STATE]
        losses = np.zeros(len(ranked))
        with Workers(self._estimator.threads) as workers:
            for fold, model in zip(self._folds, self._models, strict=True):
                source, target = shared_numbers(model.labels, self._labels)
                numbers = np.full(len(self._labels), -1)
                numbers[target] = source
                gold = numbers[self._gold[fold.tokens]]
                rows = np.flatnonzero(gold >= 0)
                data = model.dataset(fold.held()[0].without_labels(), workers)
                for k, template in enumerate(ranked):
                    scores = _without(model, template).score_dataset(data, workers)
                    marginals = model.marginals(scores, workers)
                    losses[k] -= np.log(np.maximum(marginals[rows, gold[rows]], FLOOR)).sum()
        return [ranked[k] for k in np.argsort(losses, kind="stable")]

    def _score(self, labels: Column) -> float:
        """Entity F1 of predicted labels, or token accuracy where there is no scheme."""
        corpus = self._corpus
        if self.measure == "accuracy" or corpus.scheme is None:
            return token_scores(corpus.labels, labels, corpus.sentences).accuracy
        found = decode(labels, corpus.sentences, corpus.scheme)
        return entity_scores(corpus.spans(), found).micro.f1

    def _ranked(
        self, proposed: Sequence[Template], posteriors: Posteriors, shrinkage: float
    ) -> list[InductionCandidate]:
        """The candidates with their gains, the best first."""

        def measured(template: Template) -> InductionCandidate:
            numbers, size = self._atoms.numbers(template, self._estimator.min_count)
            return InductionCandidate(template, posteriors.gain(numbers, size, shrinkage), size)

        with Workers(self._estimator.threads) as workers:
            candidates = workers.map(measured, proposed)
        return sorted(candidates, key=lambda own: -own.gain)

    def _choose(
        self, ranked: Sequence[InductionCandidate], posteriors: Posteriors, limits: _Limits
    ) -> list[InductionCandidate]:
        """The best candidate, the best one given it, and so on, as long as there is a gain.

        A gain seldom grows when another candidate has been added. So only candidates whose last
        known gain is above that of all others have to be looked at again.
        """
        heap = [(-own.gain, k, 0) for k, own in enumerate(ranked[:SHORTLIST]) if own.gain > 0.0]
        heapq.heapify(heap)
        added: list[InductionCandidate] = []
        while heap and len(added) < limits.per_round:
            loss, k, known = heapq.heappop(heap)
            own = ranked[k]
            numbers, size = self._atoms.numbers(own.template, self._estimator.min_count)
            if known < len(added):
                gain = posteriors.gain(numbers, size, limits.shrinkage)
                if gain > 0.0:
                    heapq.heappush(heap, (-gain, k, len(added)))
                continue
            added.append(replace(own, gain=-loss))
            posteriors = posteriors.with_template(numbers, size, limits.shrinkage)
        return added


def _describe(estimator: ChainEstimator) -> str:
    """The estimator without its features."""
    return repr(estimator.replaced(features=type(estimator).parameters()["features"]))


def _without(model: ChainModel, template: Template) -> ChainModel:
    """The model without the weights of one template."""
    assert isinstance(model.features, Vocabulary)
    gone = model.features.features_of([template])
    state = np.where(gone[:, None], 0.0, model.weights.state)
    return replace(model, weights=replace(model.weights, state=state))


def _check_data(estimator: ChainEstimator, corpus: Corpus, dev: Corpus | None) -> None:
    """Refuse a model without exact probabilities, and data without labels."""
    if not isinstance(estimator, (CRF, MaxEnt)):
        raise ParameterError(
            f"templates are induced with CRF or MaxEnt, got {type(estimator).__name__}"
        )
    estimator.without_patience().check()
    for name, own in {"the corpus": corpus, "dev": dev}.items():
        if own is None:
            continue
        if not isinstance(own, Corpus):
            raise CorpusError(f"{name} must be a Corpus, got {type(own).__name__}")
        if not own.labelled:
            raise CorpusError(f"{name} has no labels, and gains are those of labels")
        require_known(own.labels, name)
        if own.n_tokens == 0:
            raise CorpusError(f"{name} has no token")


def _in_encoding(corpus: Corpus, estimator: ChainEstimator) -> Corpus:
    """The corpus with its labels written as the model learns them."""
    if corpus.scheme is None or estimator.encoding is None:
        return corpus
    encoding = check_scheme(estimator.encoding)
    labels = convert(corpus.labels, corpus.sentences, corpus.scheme, encoding)
    return corpus.with_labels(labels, encoding)
