"""Hidden units beside a CRF of references: chosen on held-out references, and what limits them.

All is measured within the training references of the first split of ``cora``, in folds: each
reference is labelled by models that have not learnt from it. The test references play no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product, starmap

import numpy as np

from skipchain import Corpus
from skipchain.datasets.registry import data_set
from skipchain.features.views import UserView
from skipchain.models.base.crossfit import deal
from skipchain.models.base.estimator import BaseEstimator
from skipchain.reproduce.labelling import (
    AVERAGE_F1,
    INSTANCE_ACCURACY,
    TOKEN_ACCURACY,
    score_labels,
)
from skipchain.reproduce.run import Run
from skipchain.reproduce.stewart import references
from skipchain.reproduce.stewart.cora_limits import count_errors, interval, resampled
from skipchain.reproduce.stewart.cora_published import FIGURES
from skipchain.reproduce.stewart.cora_systems import (
    CROSSED,
    EPOCHS,
    ICRF,
    ONE,
    PLAIN_CRF,
    RBM_CRF,
    SYSTEMS,
    THESIS_GAMMA,
    THREE,
    CoraSystem,
    Fitted,
    Models,
    hidden_units,
)
from skipchain.reproduce.stewart.toys import DECODERS, SOURCE
from skipchain.reproduce.table import Row, Table

NAME = "cora-units"
SHARE, SEED = 0.7, 0  # the first split of ``cora``
FOLDS = 3
BASES = (PLAIN_CRF, ICRF)
GAMMAS, MORE_GAMMAS = (THESIS_GAMMA, 1.0), (0.8, 1.5)
SPREADS = (1.0, 0.1)  # weights begin at random between −spread and spread
GROUPS = ("10:0..1; 10:0..2", "10:0..4", "10:0..19", "30:0..9", THREE, "5:0..4|x[-1..1]")
MORE_EPOCHS = (20, 100)
DRAWS, TEST_SIZE = 2000, 150  # of the bootstrap, and references of a split to test on
METRICS = (AVERAGE_F1, INSTANCE_ACCURACY)
FEW = 60  # references of a quick run
NOTES = (
    f"Only the training references of the first split of cora, in {FOLDS} folds: what is measured "
    "is of all references that were held out, each labelled by models that have not learnt from "
    "it. The test references of cora play no part.",
    "Chosen by the mean of average F1 and instance accuracy, in this order: base model, what "
    "hidden units learn beside, γ and the spread of first weights; γ again; groups; epochs.",
    "cross-fitted: hidden units learn beside scores of references that the base model was not "
    "trained on; else beside those of its own training data, as in the thesis.",
    f"{TEST_SIZE} references: low and high bound 95 % of {DRAWS} draws of so many references, with "
    "replacement, from those held out; published is the thesis's single split. The gain of "
    f"{RBM_CRF} is that of the thesis's form, on the same references.",
)

Labels = list[list[str]]


@dataclass(frozen=True, slots=True)
class UnitChoice:
    """Hidden units and how they are trained.

    >>> print(UnitChoice("CRF", True, 1.0))
    CRF, cross-fitted, γ = 1, 10:0..9, spread 1, 50 epochs
    """

    base: str
    cross_fitted: bool
    gamma: float
    spread: float = 1.0
    groups: str = ONE
    epochs: int = EPOCHS

    def __str__(self) -> str:
        beside = CROSSED if self.cross_fitted else "training predictions"
        units = f"{self.groups}, spread {self.spread:g}, {self.epochs} epochs"
        return f"{self.base}, {beside}, γ = {self.gamma:g}, {units}"

    @property
    def system(self) -> CoraSystem:
        """The system to train."""
        system = hidden_units(
            self.groups, self.base, self.gamma, self.epochs, cross_fitted=self.cross_fitted
        )
        return replace(system, settings={**system.settings, "spread": self.spread})


THESIS = UnitChoice(PLAIN_CRF, False, THESIS_GAMMA, groups=THREE)


@dataclass(frozen=True, slots=True)
class _Fold:
    training: Corpus
    held_out: Corpus
    fitted: Fitted
    models: Models


class UnitStudy:
    """Systems measured on held-out references; what was measured once is kept."""

    def __init__(self, training: Corpus, functions: Mapping[str, UserView], run: Run) -> None:
        self.functions, self.run = functions, run
        self.folds = [
            self._fit_bases(fold.training()[0], fold.held()[0])
            for fold in deal(training, FOLDS, SEED)
        ]
        self.gold = [sentence.labels for fold in self.folds for sentence in fold.held_out]
        self.by_choice: dict[UnitChoice, Labels] = {}

    def _fit_bases(self, training: Corpus, held_out: Corpus) -> _Fold:
        fitted: dict[str, BaseEstimator] = {}
        models: Models = {}
        for name in BASES:
            self.run.say(f"{NAME}: {name}")
            fitted[name] = SYSTEMS[name].make({}, self.functions, self.run, models).fit(training)
        return _Fold(training, held_out, fitted, models)

    def base_labels(self, name: str, decoder: str | None = None) -> Labels:
        """What a base model says of the references held out."""
        return [
            labels
            for fold in self.folds
            for labels in fold.fitted[name].predict(fold.held_out.without_labels(), decoder=decoder)
        ]

    def labels(self, choice: UnitChoice) -> Labels:
        """What hidden units say of the references held out."""
        if choice not in self.by_choice:
            self.run.say(f"{NAME}: {choice}")
            self.by_choice[choice] = []
            for fold in self.folds:
                parts = (fold.fitted, self.functions, self.run, fold.models)
                estimator = choice.system.make(*parts).fit(fold.training)
                self.by_choice[choice] += estimator.predict(fold.held_out.without_labels())
        return self.by_choice[choice]

    def figures(self, labels: Labels) -> Mapping[str, float]:
        """Scores of labels of all references held out."""
        return score_labels(self.gold, labels).figures

    def value(self, choice: UnitChoice) -> float:
        """What is chosen by: the mean of average F1 and whole references right."""
        figures = self.figures(self.labels(choice))
        return float(np.mean([figures[metric] for metric in METRICS]))

    def choose(self) -> UnitChoice:
        """The best base model, way of learning and γ; with these groups; with these epochs."""
        quick = self.run.quick
        ways = product(BASES, (False, True), GAMMAS, SPREADS[:1] if quick else SPREADS)
        choices = starmap(UnitChoice, ways)
        best = self._best(replace(each, epochs=5 if quick else EPOCHS) for each in choices)
        if quick:
            return best
        best = self._best([best, *(replace(best, gamma=each) for each in MORE_GAMMAS)])
        best = self._best([best, *(replace(best, groups=each) for each in GROUPS)])
        return self._best([best, *(replace(best, epochs=each) for each in MORE_EPOCHS)])

    def _best(self, choices: Iterable[UnitChoice]) -> UnitChoice:
        return max(choices, key=self.value)

    def training_labels(self, name: str) -> tuple[Labels, Labels]:
        """Gold labels of the references that each fold learns from, and a base model's."""
        gold = [sentence.labels for fold in self.folds for sentence in fold.training]
        return gold, [
            labels
            for fold in self.folds
            for labels in fold.fitted[name].predict(fold.training.without_labels())
        ]

    def uncertainty(self, name: str, *, held_out: bool) -> tuple[float, float]:
        """A base model's entropy of a token, and −log p of its gold label, in nats.

        Gold labels that a fold does not know count in the first only.
        """
        entropy, losses, count = 0.0, list[float](), 0
        for fold in self.folds:
            corpus, model = fold.held_out if held_out else fold.training, fold.fitted[name]
            number = {label: k for k, label in enumerate(model.classes_)}
            marginals = np.concatenate(model.predict_marginals(corpus.without_labels()))
            p = np.maximum(marginals, np.finfo(np.float64).tiny)
            gold = [number.get(label, -1) for sentence in corpus for label in sentence.labels]
            entropy -= float((p * np.log(p)).sum())
            losses += [-float(np.log(row[k])) for row, k in zip(p, gold, strict=True) if k >= 0]
            count += len(p)
        return entropy / count, float(np.mean(losses))


def measure(run: Run) -> Table:
    """Choose hidden units, and measure what limits them; quick: few references and choices."""
    training = data_set("cora-refs").read("all").split(SHARE, seed=SEED)[0]
    if run.quick:
        training = training.take_documents(np.arange(FEW))
    study = UnitStudy(training, references.views(), run)
    chosen = study.choose()
    thesis = replace(THESIS, epochs=chosen.epochs) if run.quick else THESIS
    study.labels(thesis)  # so that it is among those that are shown
    return Table(
        NAME,
        "Hidden units beside a CRF: fields of references held out",
        f"{SOURCE}, Table A.2",
        (*_tried_rows(study), *_interval_rows(study, thesis), *_limit_rows(study)),
        notes=NOTES,
        seeds=(SEED,),
        verdict=f"Chosen: {chosen}.",
    )


def _tried_rows(study: UnitStudy) -> Iterator[Row]:
    """The base models by both decoders, and everything that was tried beside them."""
    alone = study.figures(study.base_labels(PLAIN_CRF))
    systems = {
        f"{name}, {how}": study.base_labels(name, decoder)
        for name in BASES
        for how, decoder in DECODERS.items()
    }
    systems |= {str(choice): labels for choice, labels in study.by_choice.items()}
    for name, labels in systems.items():
        figures = study.figures(labels)
        for metric in METRICS:
            gain = f"{figures[metric] - alone[metric]:+.1f} on the CRF"
            yield Row(NAME, name, f"held out: {metric}", None, figures[metric], verdict=gain)


def _interval_rows(study: UnitStudy, choice: UnitChoice) -> Iterator[Row]:
    """Where 150 references drawn from those held out put a CRF, and the gain of hidden units."""
    labels = (study.base_labels(PLAIN_CRF), study.labels(choice))
    base, units = resampled(study.gold, labels, TEST_SIZE, DRAWS)
    for metric in METRICS:
        known = FIGURES[metric]
        gain = known[RBM_CRF] - known[PLAIN_CRF]
        for system, published, values in (
            (PLAIN_CRF, known[PLAIN_CRF], base[metric]),
            (f"{RBM_CRF} − {PLAIN_CRF}", gain, units[metric] - base[metric]),
        ):
            low, high = interval(values)
            verdict = f"published is {'inside' if low <= published <= high else 'outside'}"
            label, mean = f"{TEST_SIZE} references: {metric}", float(values.mean())
            yield Row(NAME, system, label, published, mean, low, high, verdict=verdict)


def _limit_rows(study: UnitStudy) -> Iterator[Row]:
    """What base models say of references that they learnt from, and the errors on others."""
    for name in BASES:
        held_out = study.base_labels(name)
        for part, gold, labels in (
            ("training", *study.training_labels(name)),
            ("held out", study.gold, held_out),
        ):
            figures = score_labels(gold, labels).figures
            entropy, loss = study.uncertainty(name, held_out=part == "held out")
            for metric, value in (
                (TOKEN_ACCURACY, figures[TOKEN_ACCURACY]),
                ("whole references right", figures[INSTANCE_ACCURACY]),
                ("entropy of a token", entropy),
                ("−log p of the gold label", loss),
            ):
                yield Row(NAME, name, f"{part}, {metric}", None, value)
        for kind, count in count_errors(study.gold, held_out).items():
            yield Row(NAME, name, f"wrong references: {kind}", None, count)
