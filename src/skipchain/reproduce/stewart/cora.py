"""Fields of references: section 6.4 and appendix A of Stewart's thesis, and extensions.

Every system is trained on 350 of the 500 references and labels the other 150, for five random
splits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skipchain import CRF, IOHMM, MEMM, RBMCRF, MaxEnt
from skipchain.datasets.registry import data_set
from skipchain.features.views import UserView
from skipchain.models.base.estimator import BaseEstimator
from skipchain.reproduce import labelling
from skipchain.reproduce.labelling import SystemResults, score_labels
from skipchain.reproduce.plots import label_bars
from skipchain.reproduce.run import Run, Timer
from skipchain.reproduce.stewart import references
from skipchain.reproduce.stewart.cora_confusions import confusion_rows, matrices, picture
from skipchain.reproduce.stewart.cora_published import FIGURES, PENG_MCCALLUM, SECONDS
from skipchain.reproduce.stewart.toys import SIGMA, SOURCE, hidden_unit_pictures, l2_of
from skipchain.reproduce.table import BETTER, FAILS, HOLDS, Table

NAME = "cora"
SEEDS: tuple[int, ...] = (0, 1, 2, 3, 4)
SHARE = 0.7  # of the references to train on
WARMUP = 12  # references to compile the kernels with
LR, RBM_LR, RBM_CRF = "LR", "RBM-LR(2)", "RBM-CRF(2)"
CROSSED = "RBM-LR(2), cross-fitted"
OURS, OURS_RBM = "CRF, our features", "RBM-CRF(1), our features"
SHOWN = (LR, RBM_LR, "CRF", RBM_CRF, "IOHMM", "RBM(3)", OURS)  # as in Figure A.1
AVERAGE_F1 = labelling.AVERAGE_F1
OVERALL = (AVERAGE_F1, labelling.TOKEN_ACCURACY, labelling.INSTANCE_ACCURACY)
NOTES = (
    "Cora's 500 references (Peng and McCallum), 350 drawn at random to train on and 150 to test; "
    "the split of the thesis is not known. measured is the mean over five splits, low and high are "
    "the worst and the best. One reference occurs twice, and may lie on both sides. Five full "
    "stops that are in no field count to the field before them.",
    "The thesis' average accuracy is that of tokens, as its confusion matrices show. A verdict "
    "holds where the published figure lies between low and high.",
    "Features of Table 6.14; its lists of names, places and acronyms are not available, so others "
    "are used. All words are kept as stems, not 1374 of them.",
    "MEMM and CRF: features with each pair of labels; IMEMM and ICRF: with each label. σ = 10. "
    "RBM: as many steps as in the thesis, each from 35 references instead of 350.",
    "cross-fitted: hidden units are trained with the base model's scores of references that it was "
    "not trained on, in full weight; else, as in the thesis, of its training data, with γ = 0.75 "
    "(LR) and 0.6 (CRF).",
    f"{OURS}: kinds of words and numbers, their neighbours, quotation marks and punctuation; SGD "
    "with dropout. Its published figures are those of CRF*, by Peng and McCallum. Its features "
    "were chosen by cross-validation within the 350 references of seeds 0 and 1, after a look at "
    "the errors of the CRF there.",
    "IOHMM: one start, 20 iterations of EM and then up to 100 of L-BFGS, instead of 100 of EM.",
)

Fitted = Mapping[str, BaseEstimator]


@dataclass(frozen=True, slots=True)
class CoraSystem:
    """An estimator with its settings.

    ``base_model`` names a system to which it adds hidden units: one that is fitted already, or with
    ``cross_fitted`` one that is fitted to folds of the data first.
    """

    estimator: Callable[..., BaseEstimator]
    settings: Mapping[str, Any] = field(default_factory=dict)
    features: str = references.THESIS
    base_model: str | None = None
    cross_fitted: bool = False

    def make(self, fitted: Fitted, functions: Mapping[str, UserView], run: Run) -> BaseEstimator:
        """The estimator, not fitted yet."""
        settings = {"encoding": None, "threads": run.threads, **self.settings}
        if self.cross_fitted and self.base_model is not None:
            settings["observation"] = SYSTEMS[self.base_model].make({}, functions, run)
        elif self.base_model is not None:
            settings["observation"] = fitted[self.base_model]
        return self.estimator(self.features, functions=functions, **settings)


_CHAIN_SETTINGS = {"solver": "lbfgs", "l2": l2_of(SIGMA), "pairs": "all"}
_SAMPLED = {
    "batch": 35, "rate": 0.1, "decay": 1 / SIGMA**2, "momentum_from": 3, "burn_in": 100,
    "samples": 200,
}  # fmt: skip
_ALONE = {"epochs": 100, "steps": "1, 50:3", **_SAMPLED}
_BASED = {"epochs": 50, "steps": 1, **_SAMPLED}
_ONE, _THREE = "10:0..9", "10:0..4; 10:0..9; 10:0..19"

SYSTEMS = {
    LR: CoraSystem(MaxEnt, _CHAIN_SETTINGS),
    "MEMM": CoraSystem(MEMM, {**_CHAIN_SETTINGS, "dependent": True}),
    "IMEMM": CoraSystem(MEMM, _CHAIN_SETTINGS),
    "CRF": CoraSystem(CRF, {**_CHAIN_SETTINGS, "dependent": True}),
    "ICRF": CoraSystem(CRF, _CHAIN_SETTINGS),
    "IOHMM": CoraSystem(IOHMM, {"states": 6, "restarts": 1, "em": 20, "max_iterations": 100}),
    "RBM(1)": CoraSystem(RBMCRF, {"groups": "15:0..1", **_ALONE}),
    "RBM(2)": CoraSystem(RBMCRF, {"groups": "15:0..1; 20:0..2", **_ALONE}),
    "RBM(3)": CoraSystem(RBMCRF, {"groups": "15:0..1; 20:0..2; 5:0..9; 5:0..19", **_ALONE}),
    "RBM-LR(1)": CoraSystem(RBMCRF, {"groups": _ONE, "gamma": 0.75, **_BASED}, base_model=LR),
    RBM_LR: CoraSystem(RBMCRF, {"groups": _THREE, "gamma": 0.75, **_BASED}, base_model=LR),
    CROSSED: CoraSystem(RBMCRF, {"groups": _THREE, **_BASED}, base_model=LR, cross_fitted=True),
    "RBM-CRF(1)": CoraSystem(RBMCRF, {"groups": _ONE, "gamma": 0.6, **_BASED}, base_model="CRF"),
    RBM_CRF: CoraSystem(RBMCRF, {"groups": _THREE, "gamma": 0.6, **_BASED}, base_model="CRF"),
    OURS: CoraSystem(CRF, {"solver": "sgd", "l2": 0.02}, references.OURS),
    OURS_RBM: CoraSystem(RBMCRF, {"groups": _ONE, **_BASED}, base_model=OURS),
}
QUICK = {LR: {}, "ICRF": {}, "RBM-LR(1)": {"epochs": 20}, OURS: {"epochs": 15}}
"""The systems of a quick run, with the settings that differ from those of a full run."""


def measure(run: Run) -> Table:
    """Train every system on every split; quick: a few of them on one."""
    corpus = data_set("cora-refs").read("all")
    functions = references.views()
    seeds, systems = SEEDS, SYSTEMS
    if run.quick:
        seeds = SEEDS[:1]
        systems = {
            name: replace(SYSTEMS[name], settings={**SYSTEMS[name].settings, **changed})
            for name, changed in QUICK.items()
        }
    results = SystemResults()
    fitted: dict[str, BaseEstimator] = {}
    for seed in seeds:
        train, test = corpus.split(SHARE, seed=seed)
        gold = [sentence.labels for sentence in test]
        for name, system in systems.items():
            run.say(f"{NAME}: split {seed}, {name}")
            if seed == seeds[0]:  # the first call of a kernel may compile it
                few = train.take_documents(np.arange(WARMUP))
                system.make(fitted, functions, run).for_warmup().fit(few).predict(few)
            clock = Timer()
            with clock(name):
                fitted[name] = system.make(fitted, functions, run).fit(train)
            labels = fitted[name].predict(test.without_labels())
            results.add(name, score_labels(gold, labels, clock.seconds(name)))
    return _table(results, fitted, seeds)


def _table(results: SystemResults, fitted: Fitted, seeds: tuple[int, ...]) -> Table:
    published = {metric: {**row, OURS: PENG_MCCALLUM[metric]} for metric, row in FIGURES.items()}

    def verdict(system: str, metric: str) -> str:
        known, values = published[metric].get(system), results.values(system, metric)
        if known is None or len(values) == 1:
            return ""
        if min(values) <= known <= max(values):
            return HOLDS
        return f"{BETTER if known < min(values) else FAILS}: {np.mean(values) - known:+.1f}"

    shown = {name: results.f1(name) for name in SHOWN if name in results.by_system}
    return Table(
        NAME,
        "Fields of references",
        f"{SOURCE}, Tables 6.15, A.2 (6.17 is a part of it) and A.3 to A.6",
        (
            *results.rows(NAME, "A.2", published, verdict),
            *results.time_rows(NAME, "6.15", SECONDS),
            *confusion_rows(NAME, results),
        ),
        notes=NOTES,
        seeds=seeds,
        verdict=_conclusion(results),
        pictures=(
            label_bars(shown, "F1 by field, as in Figure A.1", log=True),
            picture(results),
            *hidden_unit_pictures(fitted, (RBM_LR,)),
        ),
        sections=matrices(results),
    )


def _conclusion(results: SystemResults) -> str:
    """The gains of hidden units, and how the best CRF compares with the published figures."""
    gains = []
    for system, base in ((RBM_LR, LR), (CROSSED, LR), (RBM_CRF, "CRF")):
        if system in results.by_system:
            gain = results.mean(system, AVERAGE_F1) - results.mean(base, AVERAGE_F1)
            gains.append(f"{system} {gain:+.1f} on {base}")
    ours = " / ".join(f"{results.mean(OURS, metric):.1f}" for metric in OVERALL)
    published = " / ".join(f"{PENG_MCCALLUM[metric]:.1f}" for metric in OVERALL)
    return (
        f"Average F1 gained by hidden units: {', '.join(gains)}. With our features a CRF has "
        f"average F1 / token accuracy / instance accuracy {ours}; Peng and McCallum's had "
        f"{published}."
    )
