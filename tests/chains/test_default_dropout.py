"""Dropout by the data: none for few features or little data, a half where both are many."""

from __future__ import annotations

import json

import pytest

from skipchain import CRF, MEMM
from skipchain.chains.learn import default_dropout
from skipchain.datasets.harbour import harbour
from skipchain.datasets.registry import data_set
from skipchain.learn.solvers import SGD

FEW = "word[-1..1]\nshape[-1..1]\nsuffix(3)"


@pytest.fixture(scope="module")
def parts():
    return harbour().split(0.75)


def test_more_data_and_more_features_mean_more_dropout():
    assert default_dropout(100_000, 100.0) == 0.5
    assert default_dropout(0, 100.0) == default_dropout(100_000, 3.0) == 0.0
    by_size = [default_dropout(size, 50.0) for size in (50, 500, 5_000, 9_000, 14_041)]
    by_features = [default_dropout(14_041, number) for number in (1, 10, 20, 30, 40, 60)]
    for series in (by_size, by_features):
        assert series == sorted(series)
        assert series[-1] == 0.5


def test_few_templates_and_little_data_do_not_lose_to_lbfgs(parts):
    train, test = parts
    scores = {solver: CRF(FEW, solver=solver).fit(train).score(test) for solver in (None, "lbfgs")}
    half = CRF(FEW, dropout=0.5).fit(train).score(test)
    assert scores[None] > scores["lbfgs"] - 0.02
    assert scores[None] > half + 0.02


def test_the_summary_tells_the_dropout_that_was_taken(parts):
    train, _ = parts
    for model in (CRF(FEW, epochs=2), MEMM(FEW, epochs=2)):
        assert model.fit(train).model_.summary["dropout"] == 0.0
    given = CRF(FEW, solver=SGD(epochs=2, dropout=0.3)).fit(train)
    assert given.model_.summary["dropout"] == 0.3
    assert given.model_.summarise()["training"]["dropout"] == 0.3
    assert "dropout" not in CRF(FEW, solver="lbfgs").fit(train).model_.summary


def test_inspect_tells_the_dropout(run, parts, tmp_path):
    parts[0].write(tmp_path / "train.conll")
    model = tmp_path / "m.skip"
    assert run("train", tmp_path / "train.conll", "--epochs", "2", "-o", model)[0] == 0
    assert json.loads(run("inspect", model, "--json")[1])["training"]["dropout"] == 0.02
    assert "dropout 0.02" in " ".join(run("inspect", model)[1].split())


@pytest.mark.data("conll2003")
def test_names_of_conll_2003_are_learnt_with_a_half_as_ever():
    train = data_set("conll2003").read("train")
    for features in ("ner", "ner-words"):
        found = CRF(features, epochs=1).fit(train[:9_100])
        assert found.model_.summary["dropout"] == 0.5
