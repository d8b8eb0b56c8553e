"""Globally normalised models against locally normalised ones, on CoNLL-2003's testa.

CRF and MEMM have features of pairs of labels, ICRF and IMEMM features of single labels.
"""

from __future__ import annotations

from benchmarks.features import TEMPLATES
from skipchain import CRF, MEMM
from skipchain.datasets.registry import data_set

SETTINGS = {"encoding": "iob2", "min_count": 3, "epochs": 10, "dropout": 0.2}


def measure(report, setting):
    data = data_set("conll2003")
    train, test = data.read("train"), data.read("testa")
    f1 = {
        prefix + kind.__name__: 100.0
        * kind(TEMPLATES, dependent=not prefix, **SETTINGS).fit(train).score(test)
        for prefix in ("", "I")
        for kind in (CRF, MEMM)
    }  # fmt: skip
    for whole in ("CRF", "ICRF"):
        for local in ("MEMM", "IMEMM"):
            name = f"F1 on testa, {whole} against {local}"
            report.add(name, f1[whole], 1.0, against=f1[local], ratio=f1[whole] / f1[local])
