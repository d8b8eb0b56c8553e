"""Published tables of factors across documents, in their quick settings."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain.reproduce import Run, Table, reproduce
from skipchain.reproduce.finkel import nonlocal_conll as conll
from skipchain.reproduce.finkel import nonlocal_seminars as seminars
from skipchain.reproduce.mausam import ner_knowledge as knowledge
from skipchain.reproduce.stewart import thesis
from skipchain.reproduce.table import FAILS, HOLDS, Row


def of(table, metric):
    return {row.system: row for row in table.rows if row.metric == metric}


@pytest.mark.data("conll2003")
def test_names_that_keep_their_type_are_counted_as_published():
    table = reproduce("consistency-counts")
    assert len(table.rows) == 26
    assert [row.system for row in table.rows if row.verdict.startswith(FAILS)] == ["LOC and ORG"]
    assert sum(row.measured == row.published for row in table.rows) == 23


@pytest.mark.data("conll2003", "cmu-seminars")
def test_sampled_segments_are_what_viterbi_finds():
    table = reproduce("gibbs-viterbi", Run(quick=True))
    for metric, published in (("F1 testb", 85.51), ("F1 seminars", 91.85)):
        rows = of(table, metric)
        assert len(rows) == 5
        assert rows["Viterbi"].published == published
        sampled = [row for name, row in rows.items() if "segments" in name]
        assert all(row.verdict.startswith(HOLDS) for row in sampled)
        means = of(table, f"{metric}, mean")
        assert means["Gibbs, segments"].measured == pytest.approx(rows["Viterbi"].measured)
        assert abs(means["Gibbs, single labels"].measured - rows["Viterbi"].measured) < 3.0


@pytest.mark.slow
@pytest.mark.data("conll2003")
def test_factors_gain_on_names():
    table = reproduce("nonlocal-conll", Run(quick=True))
    rows = of(table, "F1 ALL")
    assert rows[conll.LEARNED].measured > rows[conll.LOCAL].measured
    assert of(table, "consistency")[conll.PAPER].measured > 90.0
    assert of(table, "% optimal")[conll.LEARNED].measured >= 80.0
    assert all(row.published is None for name, row in rows.items() if name not in conll.PUBLISHED)


@pytest.mark.slow
@pytest.mark.data("cmu-seminars")
def test_factors_gain_on_announcements():
    said = []
    table = reproduce("nonlocal-seminars", Run(quick=True, say=said.append))
    rows = of(table, seminars.ALL)
    assert rows[seminars.LEARNED].measured > rows[seminars.LOCAL].measured
    assert set(of(table, "F1 STIME")) == set(rows)
    assert len(said) == 2 * seminars.FOLDS + len(rows)


@pytest.mark.slow
@pytest.mark.data(
    "conll2003", "conll2003/conllpp_test.txt.gz", "gazetteers", "gender-animacy", "brown-clusters"
)
def test_knowledge_gains_on_names():
    said = []
    table = reproduce("ner-knowledge", Run(quick=True, say=said.append))
    rows = of(table, "F1 testb")
    assert rows[knowledge.FULL].measured > rows[knowledge.LOCAL].measured
    assert rows[knowledge.LISTS].measured > rows[knowledge.LOCAL].measured
    assert set(knowledge.PUBLISHED) <= set(rows)
    log = table.sections[0].split("\n\n")[1].split("\n")
    assert len(log) == len(rows)  # every configuration has labelled testb once


def test_the_thesis_is_its_tables(monkeypatch):
    class Part:
        def __init__(self, name):
            self.name = name

        def measure(self, run):
            row = Row(self.name, "LR", "F1", 1.0, 2.0)
            return Table(self.name, "", "", [row], notes=("a note",), verdict="Good.")

    monkeypatch.setattr(thesis, "PARTS", (Part("one"), Part("two")))
    table = thesis.measure(Run())
    assert [row.system for row in table.rows] == ["one: LR", "two: LR", "everything"]
    assert table.notes == ("one: a note", "two: a note")
    assert table.verdict == "one: Good. two: Good."
    assert np.isfinite(table.rows[-1].measured)
