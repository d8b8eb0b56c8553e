"""Training of chains that is cut off after any iteration, and goes on: the same model."""

from __future__ import annotations

import re

import pytest

from skipchain import CRF, HMM, HRF, MEMM, Factored, MaxEnt, MoPMEMM, Perceptron
from skipchain.datasets.harbour import harbour
from skipchain.errors import ModelFileError, ParameterError
from skipchain.learn.solvers import GIS, LBFGS, SGD, AdaGrad, ConjugateGradient, Newton
from skipchain.modelfile.container import checksum
from skipchain.modelfile.contents import contents

TRAIN, DEV = (part[:30] for part in harbour().split(0.75))
TEMPLATES = "word[-1..1]\nshape\nlabel[-1] & shape"
CASES = {
    "sgd": (lambda: CRF(TEMPLATES, solver=SGD(epochs=5)), None),
    "sgd with patience": (lambda: CRF(TEMPLATES, solver=SGD(epochs=9, patience=2)), DEV),
    "adagrad": (lambda: MEMM(TEMPLATES, solver=AdaGrad(epochs=4)), None),
    "sgd of order 2": (lambda: CRF("word", order=2, solver=SGD(epochs=3)), None),
    "lbfgs": (lambda: CRF(TEMPLATES, solver=LBFGS(max_iterations=12)), None),
    "lbfgs after passes": (lambda: CRF("word", solver=LBFGS(max_iterations=8, passes=3)), DEV),
    "lbfgs with patience": (lambda: MEMM("word", solver=LBFGS(patience=3)), DEV),
    "owlqn": (lambda: MaxEnt("word", solver=LBFGS(l1=0.1, max_iterations=8)), None),
    "perceptron": (lambda: Perceptron("word", epochs=4), None),
    "arow": (lambda: Perceptron("word", epochs=4, update="arow", patience=2), DEV),
}


class Cut(Exception):
    """Raised where the process would be killed."""


class Keeper:
    """Keeps the state after one iteration, and ends the training there."""

    def __init__(self, saved=None, number=None):
        self.saved, self.number, self.calls = saved, number, 0

    def begin(self, identity):
        self.identity = identity
        return self.saved

    def keep(self, state):
        self.calls += 1
        if self.calls == self.number:
            self.saved = state()
            raise Cut


def bits(estimator):
    return checksum(*contents(estimator.model_)), estimator.result_.reason


@pytest.mark.parametrize("name", CASES)
def test_training_goes_on_from_every_iteration_with_the_same_bits(name):
    make, dev = CASES[name]
    whole = bits(make().fit(TRAIN, dev=dev))
    for number in range(1, 1000):
        keeper = Keeper(number=number)
        try:
            estimator = make().fit(TRAIN, dev=dev, checkpoint=keeper)
        except Cut:
            resumed = make().fit(TRAIN, dev=dev, checkpoint=Keeper(keeper.saved))
            assert bits(resumed) == whole, number
        else:
            assert bits(estimator) == whole
            break
    assert number > 3


def test_the_identity_says_what_is_learnt_from_what():
    def identity(data=TRAIN, dev=None, **settings):
        keeper = Keeper()
        start = settings.pop("start", None)
        made = CRF(**{"features": "word", "epochs": 1, **settings})
        made.fit(data, dev=dev, start=start, checkpoint=keeper)
        return keeper.identity

    plain = identity()
    assert identity() == plain == identity(threads=1)
    earlier = CRF("word", epochs=1).fit(TRAIN)
    changed = {
        "seed": identity(seed=1),
        "l2": identity(l2=0.1),
        "solver": identity(rate=0.1),
        "features": identity(features="shape"),
        "training data": identity(TRAIN[:29]),
        "held-out data": identity(dev=DEV),
        "model to start from": identity(start=earlier),
    }
    for name, other in changed.items():
        assert plain.get(name) != other.get(name), name


@pytest.mark.parametrize(
    ("estimator", "told"),
    [
        (HMM(), "HMM keeps no checkpoint of its training; CRF, MEMM"),
        (HRF(), "HRF keeps no"),
        (MoPMEMM(), "MoPMEMM keeps no"),
        (Factored(CRF()), "Factored keeps no"),
        (CRF(solver=ConjugateGradient()), "solver='cg' keeps no checkpoint of its training; sgd"),
        (MEMM(solver=Newton()), "solver='newton' keeps no"),
        (MaxEnt(solver=GIS(), l2=0), "solver='gis' keeps no"),
    ],
)
def test_what_keeps_no_checkpoint_is_refused_before_training(estimator, told, tmp_path):
    with pytest.raises(ParameterError, match=re.escape(told)):
        estimator.fit(TRAIN, checkpoint=tmp_path / "c")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("name", ["sgd with patience", "lbfgs after passes", "perceptron"])
def test_a_damaged_state_is_refused(name):
    make, dev = CASES[name]
    keeper = Keeper(number=2)
    with pytest.raises(Cut):
        make().fit(TRAIN, dev=dev, checkpoint=keeper)
    state = keeper.saved
    places = [(state.values, key) for key in state.values if not key.endswith("latest")]
    places += [(state.arrays, key) for key in state.arrays]
    for part, key in places:
        kept = part.pop(key)
        for value in (None, "12x" if part is state.values else kept[:-1].reshape(-1, 1)):
            if value is not None:
                part[key] = value
            if key.endswith("stopping.best") and value is None:
                continue  # nothing was best yet
            with pytest.raises(ModelFileError, match="the checkpoint is damaged"):
                make().fit(TRAIN, dev=dev, checkpoint=Keeper(state))
        part[key] = kept
    state.values["elsewhere.number"] = 1
    with pytest.raises(ModelFileError, match="the stage is not one that there is"):
        make().fit(TRAIN, dev=dev, checkpoint=Keeper(state))
