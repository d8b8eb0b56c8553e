"""Stochastic passes before L-BFGS: the same optimum from another place, in fewer iterations."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain.chains import learn, online
from skipchain.chains.learn import ChainProblem, Monitor, learn_chain
from skipchain.errors import ParameterError
from skipchain.learn.solvers import LBFGS
from skipchain.learn.step import INTERRUPTED
from skipchain.parallel import Workers
from tests.chains.test_online import NUMBERS, PAIRED, PLAIN, draw

LENGTHS = [5, 1, 4, 7, 0, 3] * 10


def fitted(problem, monitor=None, **settings):
    with Workers(1) as workers:
        return learn_chain(problem, LBFGS(tolerance=1e-9, **settings), workers, monitor)


@pytest.mark.parametrize("templates", [PLAIN, PAIRED, NUMBERS], ids=["plain", "paired", "numbers"])
@pytest.mark.parametrize("form", [{}, {"local": True}, {"order": 2}, {"boundaries": False}])
@pytest.mark.parametrize("pairs", ["observed", "all"])
def test_the_optimum_is_that_from_zero(templates, form, pairs):
    problem = ChainProblem(draw(1, LENGTHS, templates=templates), 3, l2=0.3, **form)
    zero, passes = (fitted(problem, passes=n, pairs=pairs) for n in (0, 5))
    assert passes.result.loss == pytest.approx(zero.result.loss, rel=1e-7)
    np.testing.assert_allclose(passes.weights.vector, zero.weights.vector, atol=2e-3)
    assert passes.facts == {"passes": 5}
    assert zero.facts == {}


def test_weights_that_are_no_parameters_stay_zero():
    problem = ChainProblem(draw(2, LENGTHS), 3, l2=0.3)
    zero, passes = (fitted(problem, passes=n) for n in (0, 5))
    np.testing.assert_array_equal(passes.weights.state == 0, zero.weights.state == 0)


def test_partly_known_labels():
    data = draw(3, LENGTHS, templates=PLAIN)
    labels = data.labels.copy()
    labels[::4] = -1
    allowed = (labels[:, None] == np.arange(3)) | (labels[:, None] < 0)
    problem = ChainProblem(type(data)(data.rows, data.offsets, labels, allowed), 3, l2=0.3)
    # its loss is not convex, so only that both ends are minima is the same
    assert np.isfinite(fitted(problem, passes=3).result.loss)
    with pytest.raises(ParameterError, match="leave passes away"):
        fitted(ChainProblem(problem.data, 3, local=True), passes=3)


@pytest.mark.parametrize(
    ("form", "settings"),
    [({}, {"l1": 0.1}), ({"objective": "marginal"}, {}), ({"numeric": True}, {})],
)
def test_what_passes_cannot_do_is_refused_and_done_without_them_by_default(form, settings):
    problem = ChainProblem(draw(4, LENGTHS, templates=PLAIN), 3, l2=0.3, **form)
    with pytest.raises(ParameterError, match="passes are for the conditional likelihood"):
        fitted(problem, passes=3, **settings)
    assert fitted(problem, **settings).facts == {}


def test_by_default_there_are_passes_where_sequences_are_many(monkeypatch):
    problem = ChainProblem(draw(5, LENGTHS, templates=PLAIN), 3, l2=0.3)
    assert fitted(problem).facts == {}
    monkeypatch.setattr(online, "FEWEST_SEQUENCES", len(LENGTHS))
    assert fitted(problem).facts == {"passes": 8}


def test_steps_that_grow_without_bound_are_forgotten(monkeypatch):
    problem = ChainProblem(draw(6, LENGTHS, templates=NUMBERS), 3, l2=0.3)
    monkeypatch.setattr(online, "PASS_RATE", 1e30)
    with np.errstate(all="ignore"):
        found = fitted(problem, passes=4)
    assert found.facts == {}
    assert found.result.loss == pytest.approx(fitted(problem, passes=0).result.loss, rel=1e-7)


def test_passes_and_iterations_are_told_one_after_the_other():
    told = []
    problem = ChainProblem(draw(7, LENGTHS, templates=PLAIN), 3, l2=0.3)
    fitted(problem, Monitor(tell=lambda step, dev: told.append(step.planned)), passes=3)
    assert told[:4] == [3, 3, 3, None]


def test_an_interrupt_during_the_passes_keeps_what_they_have_reached(monkeypatch):
    problem = ChainProblem(draw(8, LENGTHS, templates=PLAIN), 3, l2=0.3)

    def tell(step, dev):
        if step.iteration == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(learn, "_minimise", None)
    found = fitted(problem, Monitor(tell=tell), passes=3)
    assert found.result.reason == INTERRUPTED
    assert np.count_nonzero(found.weights.state)
