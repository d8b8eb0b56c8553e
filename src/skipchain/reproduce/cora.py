"""Fields of references: section 6.4 and appendix A of Stewart's thesis, and what goes past them.

Every system learns from 350 of the 500 references and labels the other 150, for each of five draws
of the 350.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from skipchain.corpus import Corpus
from skipchain.corpus.column import Column
from skipchain.datasets import data_set
from skipchain.features.views import UserView
from skipchain.models.crf import CRF
from skipchain.models.iohmm import IOHMM
from skipchain.models.labeller import Labeller
from skipchain.models.maxent import MaxEnt
from skipchain.models.memm import MEMM
from skipchain.models.rbm import RBMCRF
from skipchain.reproduce import references
from skipchain.reproduce.cora_published import FIGURES, PENG_MCCALLUM, SECONDS
from skipchain.reproduce.cora_confusions import confusion_rows, matrices, picture
from skipchain.reproduce.labelling import (
    AVERAGE_F1,
    INSTANCE_ACCURACY,
    TOKEN_ACCURACY,
    Results,
    labelled,
)
from skipchain.reproduce.plots import label_bars
from skipchain.reproduce.run import Run
from skipchain.reproduce.table import FAILS, HOLDS, Table

NAME = "cora"
SEEDS, SHARE = (0, 1, 2, 3, 4), 0.7
FEW = 12  # references to compile with
LR, CROSSED, OURS = "LR", "RBM-LR(2), cross-fitted", "CRF, our features"
SHOWN = (LR, "RBM-LR(2)", "CRF", "RBM-CRF(2)", "IOHMM", "RBM(3)", OURS)  # as in Figure A.1
OVERALL = (AVERAGE_F1, TOKEN_ACCURACY, INSTANCE_ACCURACY)


@dataclass(frozen=True, slots=True)
class System:
    """An estimator with its settings; ``beside`` names a fitted one that it puts features beside."""

    estimator: Callable[..., Labeller]
    settings: Mapping[str, Any] = field(default_factory=dict)
    features: str = references.THESIS
    beside: str | None = None

    def make(
        self, fitted: Mapping[str, Labeller], functions: Mapping[str, UserView], run: Run
    ) -> Labeller:
        """The estimator, not fitted yet."""
        own = {"encoding": None, **self.settings}
        if self.beside is not None:
            own["observation"] = fitted[self.beside]
        return self.estimator(self.features, functions=functions, threads=run.threads, **own)


# σ = 10, as in the thesis; a weight for every feature and label.
_OBSERVED = {"optimiser": "lbfgs", "l2": 0.005, "pairs": "all"}
# As many steps as in the thesis, but each of them from a tenth of the references.
_SAMPLED = {"batch": 35, "rate": 0.1, "decay": 0.01, "burn_in": 100, "samples": 200}
_BESIDE = {"epochs": 50, "steps": 1, **_SAMPLED}
_ALONE = {"epochs": 100, "steps": "1, 50:3", **_SAMPLED}
_ONE, _THREE = "10:0..9", "10:0..4; 10:0..9; 10:0..19"

SYSTEMS = {
    LR: System(MaxEnt, _OBSERVED),
    "MEMM": System(MEMM, {**_OBSERVED, "dependent": True}),
    "IMEMM": System(MEMM, _OBSERVED),
    "CRF": System(CRF, {**_OBSERVED, "dependent": True}),
    "ICRF": System(CRF, _OBSERVED),
    "IOHMM": System(
        IOHMM,
        {"states": 6, "restarts": 1, "em": 10, "m_steps": 5, "max_iterations": 30, "min_count": 2},
    ),
    "RBM(1)": System(RBMCRF, {"groups": "15:0..1", **_ALONE}),
    "RBM(2)": System(RBMCRF, {"groups": "15:0..1; 20:0..2", **_ALONE}),
    "RBM(3)": System(RBMCRF, {"groups": "15:0..1; 20:0..2; 5:0..9; 5:0..19", **_ALONE}),
    "RBM-LR(1)": System(RBMCRF, {"groups": _ONE, "gamma": 0.75, **_BESIDE}, beside=LR),
    "RBM-LR(2)": System(RBMCRF, {"groups": _THREE, "gamma": 0.75, **_BESIDE}, beside=LR),
    CROSSED: System(RBMCRF, {"groups": _THREE, "observation": "maxent", **_BESIDE}),
    "RBM-CRF(1)": System(RBMCRF, {"groups": _ONE, "gamma": 0.6, **_BESIDE}, beside="CRF"),
    "RBM-CRF(2)": System(RBMCRF, {"groups": _THREE, "gamma": 0.6, **_BESIDE}, beside="CRF"),
    OURS: System(CRF, {"encoding": "iob2", "optimiser": "sgd", "l2": 0.02}, references.OURS),
}
QUICK = {
    LR: SYSTEMS[LR],
    "ICRF": SYSTEMS["ICRF"],
    "RBM-LR(2)": replace(
        SYSTEMS["RBM-LR(2)"], settings={**SYSTEMS["RBM-LR(2)"].settings, "epochs": 10}
    ),
    OURS: replace(SYSTEMS[OURS], settings={**SYSTEMS[OURS].settings, "epochs": 15}),
}


def measure(run: Run) -> Table:
    """Train every system on every split; quick: a few of them on one."""
    corpus = spans(data_set("cora-refs").read("all"))
    seeds, systems = (SEEDS[:1], QUICK) if run.quick else (SEEDS, SYSTEMS)
    functions = references.views()
    results = Results()
    pictures = []
    for seed in seeds:
        train, test = corpus.split(SHARE, seed=seed)
        gold = fields(sentence.labels for sentence in test)
        fitted: dict[str, Labeller] = {}
        for name, system in systems.items():
            run.say(f"{NAME}: split {seed}, {name}")
            if seed == seeds[0]:  # the first call of a kernel may compile it
                few = train.take_documents(np.arange(FEW))
                system.make(fitted, functions, run).shortened().fit(few).predict(few)
            began = time.perf_counter()
            fitted[name] = system.make(fitted, functions, run).fit(train)
            spent = time.perf_counter() - began
            found = fields(fitted[name].predict(test.without_labels()))
            results.add(name, labelled(gold, found, spent))
    published = {metric: {**told, OURS: PENG_MCCALLUM[metric]} for metric, told in FIGURES.items()}
    return Table(
        NAME,
        "Fields of references",
        f"{SOURCE}, Tables 6.15, A.2 (of which 6.17 is a part) and A.3 to A.6",
        (
            *results.rows(NAME, "A.2", published, lambda s, m: _verdict(results, s, m, published)),
            *results.time_rows(NAME, "6.15", SECONDS),
            *confusion_rows(NAME, results),
        ),
        NOTES,
        seeds,
        _outcome(results),
        (
            label_bars({name: results.f1(name) for name in SHOWN if name in systems},
                       "Errors by field: Figure A.1", log=True),
            picture(results),
        ),
        matrices(results),
    )
