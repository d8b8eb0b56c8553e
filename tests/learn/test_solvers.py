"""Solvers as objects: settings by name, scikit-learn's parameters, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skipchain import (
    CRF,
    HMM,
    HRF,
    IOHMM,
    MEMM,
    RBMCRF,
    Corpus,
    Factored,
    MoPMEMM,
    Perceptron,
    SkipChainCRF,
)
from skipchain.errors import CorpusError, ParameterError
from skipchain.learn.solvers import (
    CHAIN_SOLVERS,
    EM,
    LBFGS,
    SGD,
    AdaGrad,
    Automatic,
    ContrastiveDivergence,
    Newton,
    as_solver,
)

EVERY = [*CHAIN_SOLVERS, EM, ContrastiveDivergence, Automatic]


def corpus(size=12):
    words = [["Ada", "slept"], ["In", "Rome", "it", "rained"], ["Bo", "ran"]] * size
    labels = [["B-PER", "O"], ["O", "B-LOC", "O", "O"], ["B-PER", "O"]] * size
    return Corpus.of(words, labels, scheme="iob2")


@pytest.mark.parametrize(
    ("settings", "solver"),
    [
        ({"epochs": 3}, SGD(epochs=3)),
        ({"dropout": 0.2, "rate": 0.1}, SGD(dropout=0.2, rate=0.1)),
        ({"l1": 0.1}, LBFGS(l1=0.1)),
        ({"tolerance": 1e-6, "pairs": "all"}, LBFGS(tolerance=1e-6, pairs="all")),
        ({"max_iterations": 9}, LBFGS(max_iterations=9)),
        ({"patience": 2}, Automatic(patience=2)),
        ({"solver": "adagrad", "epochs": 2}, AdaGrad(epochs=2)),
        ({"solver": "newton", "max_iterations": 9}, Newton(max_iterations=9)),
        ({"solver": SGD(epochs=2)}, SGD(epochs=2)),
        ({"solver": "lbfgs"}, "lbfgs"),
        ({}, None),
    ],
)
def test_settings_by_name_say_which_solver_it_is(settings, solver):
    assert CRF(**settings).solver == solver


@pytest.mark.parametrize(
    ("kind", "settings", "parameter", "wanted"),
    [
        (IOHMM, {"restarts": 2, "em": 5}, "solver", EM(restarts=2, em=5)),
        (HRF, {"max_iterations": 7, "init": "random"}, "solver", EM(max_iterations=7)),
        (RBMCRF, {"epochs": 7, "folds": 2}, "solver", ContrastiveDivergence(epochs=7, folds=2)),
        (MoPMEMM, {"epochs": 7}, "solver", SGD(epochs=7)),
    ],
)
def test_every_family_takes_the_settings_of_its_solver(kind, settings, parameter, wanted):
    assert getattr(kind(**settings), parameter) == wanted


def test_other_objects_take_settings_by_name_too():
    model = SkipChainCRF(damping=0.5, precision=1e-4, epochs=3)
    assert (model.propagation.damping, model.propagation.tolerance) == (0.5, 1e-4)
    assert model.solver == SGD(epochs=3)
    assert RBMCRF(samples=7).sampling.samples == 7


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": SGD(), "epochs": 3}, r"write solver=SGD\(epochs=…\)"),
        ({"solver": "lbfgs", "epochs": 3}, "epochs is for solver sgd and adagrad, not for lbfgs"),
        ({"epochs": 3, "l1": 0.1}, "no solver has all of epochs, l1"),
        ({"epoch": 3}, "CRF has no parameter 'epoch'; did you mean epochs"),
        (
            {"solver": "adam"},
            "solver must be one of sgd, lbfgs, adagrad, newton, cg, gd, gis, automatic, got 'adam'",
        ),
        ({"solver": EM()}, "solver must be one of sgd, lbfgs"),
        ({"solver": 3}, "solver must be one of"),
        ({"solver": SGD(dropout=1.0)}, "dropout must be a number of at least 0 and below 1"),
        ({"solver": LBFGS(period=0)}, "period must be a whole number of at least 1"),
    ],
)
def test_mistakes_are_named(settings, message):
    with pytest.raises(ParameterError, match=message):
        CRF("word", **settings).fit(corpus(2))


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (EM(em=-1), "em must be a whole number of at least 0"),
        (EM(annealing=2.0), "annealing must be a power above 0"),
        (ContrastiveDivergence(momentum=1.0), "momentum must be"),
        (ContrastiveDivergence(steps="x"), "steps must be"),
        (ContrastiveDivergence(folds=1), "folds must be a whole number of at least 2"),
        (Newton(max_iterations=0), "max_iterations must be"),
    ],
)
def test_settings_that_make_no_sense_are_named(solver, message):
    with pytest.raises(ParameterError, match=message):
        solver.check()


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.name)
def test_every_solver_is_plain_data(kind):
    solver = kind()
    solver.check()
    assert solver == clone(solver, safe=False) == kind(**solver.get_params())
    assert repr(solver) == f"{kind.__name__}()"
    assert type(solver.for_warmup()) is kind


def test_parameters_of_parameters_have_two_underscores():
    crf = CRF(solver=SGD(epochs=3))
    assert crf.get_params()["solver__epochs"] == 3
    assert "solver__epochs" not in crf.get_params(deep=False)
    assert "solver__epochs" in CRF().get_params()
    assert CRF().set_params(solver__epochs=4).solver == SGD(epochs=4)
    assert crf.set_params(epochs=5).solver == SGD(epochs=5)
    assert Factored(CRF()).set_params(base__l2=0.5).base.l2 == 0.5
    assert clone(crf).solver == crf.solver
    with pytest.raises(ParameterError, match="has no parameter 'solver__'"):
        crf.set_params(solver__=3)


def test_a_grid_over_a_solver_setting():
    found = GridSearchCV(CRF("word"), {"solver__epochs": [1, 2]}, cv=2).fit(corpus())
    assert found.best_params_["solver__epochs"] in (1, 2)


def test_old_names_are_understood_with_a_warning():
    with pytest.warns(FutureWarning, match="optimiser= is now solver="):
        assert CRF(optimiser="lbfgs").solver == "lbfgs"
    with pytest.warns(FutureWarning, match="unit_dropout= is now bundle_dropout="):
        assert CRF(unit_dropout=0.2).solver == SGD(bundle_dropout=0.2)


def test_a_solver_by_default_is_chosen_by_the_data():
    assert MEMM("word").fit(corpus(2)).result_.reason.endswith("epochs")
    assert as_solver(None, CHAIN_SOLVERS) == Automatic()
    matrices = CRF().fit([np.eye(2)] * 3, [["A", "B"]] * 3)
    assert not matrices.result_.reason.endswith("epochs")


def test_a_setting_that_is_as_it_would_be_anyway_asks_for_no_solver():
    assert CRF(l1=0.0, rate=None, tolerance=None).solver == Automatic()
    assert CRF(epochs=None).solver == Automatic()


def test_an_old_name_beside_the_new_one_is_refused():
    with pytest.raises(ParameterError, match="give one of them"):
        CRF(solver=SGD(epochs=3), optimiser="lbfgs")


@pytest.mark.parametrize("kind", [IOHMM, RBMCRF])
def test_automatic_is_for_chains(kind):
    with pytest.raises(ParameterError, match="solver must be"):
        kind("word", solver="automatic").fit(corpus(2))


@pytest.mark.parametrize("make", [CRF, MEMM, lambda: CRF(objective="marginal"), MoPMEMM, IOHMM])
def test_parameters_set_as_they_are_change_nothing(make):
    model = make()
    before = repr(model)
    assert repr(model.set_params(**model.get_params())) == before
    assert CRF(prune=0.0).get_params()["solver__prune"] == 0.0


def test_parameters_are_set_together_or_not_at_all():
    base = CRF(l2=1.0)
    model = Factored(base)
    with pytest.raises(ParameterError):
        model.set_params(base__l2=9.0, nope=1)
    assert model.base.l2 == 1.0
    crf = CRF()
    with pytest.raises(ParameterError):
        crf.set_params(solver="lbfgs", epochs=3)
    assert crf.solver is None


def test_joint_training_keeps_what_its_solver_shares_with_lbfgs():
    settings = {"objective": "marginal", "pairs": "all"}
    assert MoPMEMM(solver="sgd", **settings)._joint_solver == LBFGS(pairs="all")
    newton = MoPMEMM(solver=Newton(max_iterations=3), objective="marginal")
    assert newton._joint_solver.max_iterations == 3


@pytest.mark.parametrize("kind", [MoPMEMM, SkipChainCRF])
def test_a_warm_up_of_linked_labels_is_short(kind):
    words = [["Ms", "Lee", "spoke"], ["Lee", "slept"], ["In", "York", "it", "rained"]]
    labels = [["O", "B-PER", "O"], ["B-PER", "O"], ["O", "B-LOC", "O", "O"]]
    data = Corpus.of(words * 5, labels * 5, scheme="iob2", documents=[3] * 5)
    assert kind("word").for_warmup().fit(data).result_.iterations <= 8


@pytest.mark.filterwarnings("ignore:optimiser")
@pytest.mark.parametrize(
    ("kind", "settings"),
    [(HMM, {"epochs": 3}), (Perceptron, {"epoch": 3}), (HMM, {"optimiser": 1})],
)
def test_models_without_a_solver_name_their_parameters(kind, settings):
    with pytest.raises(ParameterError, match="has no parameter"):
        kind(**settings)


@pytest.mark.parametrize("kind", [CRF, MoPMEMM, SkipChainCRF, RBMCRF, IOHMM])
def test_held_out_data_without_labels_are_refused_before_anything_is_learnt(kind):
    class Display:
        def begin(self, problem):
            raise AssertionError("training has begun")

    data = corpus(2)
    with pytest.raises(CorpusError):
        kind("word").fit(data, dev=data.without_labels(), progress=Display())
