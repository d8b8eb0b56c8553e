"""What is learnt from disk is what is learnt in memory, bit for bit."""

from __future__ import annotations

import os
from functools import partial

import numpy as np
import pytest

import skipchain
from skipchain import CRF, HMM, MEMM, Corpus, MaxEnt, Perceptron, SkipChainCRF
from skipchain.chains.dataset import Dataset
from skipchain.datasets.harbour import harbour
from skipchain.errors import CorpusError, ParameterError, SkipchainError
from skipchain.features.blocks import fitting
from skipchain.parallel import blocks
from skipchain.recipes import recipe
from skipchain.scratch.folder import Scratch

FEATURES = (
    "word[-1..1]\nsuffix(2)\nshape\nlower[-1] & lower\nshortshape[-1] & shortshape\nshortshape"
)
SOLVERS = {
    "sgd": {"solver": "sgd", "epochs": 3},
    "dropout": {"solver": "sgd", "dropout": 0.3, "epochs": 4},
    "observed": {"solver": skipchain.learn.solvers.SGD(pairs="observed", epochs=2)},
    "adagrad": {"solver": "adagrad", "epochs": 2},
    "lbfgs": {"solver": "lbfgs", "max_iterations": 25},
    "passes": {"solver": "lbfgs", "max_iterations": 3, "passes": 2},
}


@pytest.fixture
def tiny(monkeypatch):
    """All that is done in blocks or parts is done in many."""
    small = partial(fitting.CorpusBlocks, size=37, held=20)
    monkeypatch.setattr(fitting, "CorpusBlocks", small)
    for module in ("skipchain.arrays", "skipchain.features.matrix"):
        monkeypatch.setattr(f"{module}.PART", 50)
    monkeypatch.setattr("skipchain.chains.online.PART_TOKENS", 40)
    monkeypatch.setattr("skipchain.chains.likelihood.RUN_TOKENS", 200)
    monkeypatch.setattr(Dataset, "blocks", lambda data: blocks(data.offsets, 60))
    monkeypatch.setattr("skipchain.chains.sums.TRANSPOSED_ENTRIES", 100)
    monkeypatch.setattr("skipchain.chains.sums.MOST_WALKS", 1000)


def parts(corpus, size=7):
    return (corpus[first : first + size] for first in range(0, len(corpus), size))


def assert_same(one, other):
    a, b = one.model_, other.model_
    assert a.labels == b.labels
    assert a.features.names() == b.features.names()
    assert (a.scheme, a.encoding) == (b.scheme, b.encoding)
    for x, y in zip(a.weights.tables, b.weights.tables, strict=True):
        assert x.dtype == y.dtype
        assert np.array_equal(x, y)
    assert one.result_.loss == other.result_.loss
    assert a.summary == b.summary


def both(make, corpus, tmp_path, **how):
    """Fitted in memory, and from blocks on disk."""
    with Scratch(tmp_path, small=0, resident=1, tables=1) as scratch:
        made = make().fit(parts(corpus), scratch=scratch, **how)
        assert scratch.nbytes > 0
    return make().fit(corpus, **how), made


@pytest.mark.parametrize("min_count", [1, 2])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", [CRF, MEMM, MaxEnt])
def test_same_bits(kind, solver, min_count, tiny, tmp_path):
    make = partial(kind, FEATURES, min_count=min_count, **SOLVERS[solver])
    assert_same(*both(make, harbour()[:80], tmp_path))


@pytest.mark.parametrize("update", ["perceptron", "pa", "arow"])
def test_same_bits_of_perceptrons(update, tiny, tmp_path):
    make = partial(Perceptron, FEATURES, update=update, epochs=3, min_count=2)
    assert_same(*both(make, harbour()[:80], tmp_path))


@pytest.mark.parametrize(
    "settings",
    [
        {"order": 2},
        {"features": f"{FEATURES}\nlabel[-1] & shortshape"},
        {"encoding": None},
        {"constraints": "training"},
        {"objective": "marginal", "solver": "lbfgs"},
        {"features": "ngrams(1, 3)\nbag(word, -3..3)\nwords(lower)"},
    ],
    ids=str,
)
@pytest.mark.parametrize("solver", ["sgd", "lbfgs"])
def test_same_bits_of_other_forms(settings, solver, tiny, tmp_path):
    make = partial(CRF, **{"features": FEATURES, **SOLVERS[solver], **settings})
    if "objective" in settings:
        make = partial(CRF, FEATURES, max_iterations=10, **settings)
    assert_same(*both(make, harbour()[:50], tmp_path))


def test_held_out_data(tiny, tmp_path):
    corpus = harbour()
    make = partial(CRF, FEATURES, epochs=5, patience=2)
    assert_same(*both(make, corpus[:60], tmp_path, dev=corpus[60:90]))


def test_a_checkpoint_goes_on_from_disk(tiny, tmp_path):
    """It may have been begun in memory: the data are the same."""
    corpus, path = harbour()[:60], tmp_path / "state"

    class Cut:
        def begin(self, problem):
            pass

        def step(self, step, dev):
            if step.iteration == 2:
                raise KeyboardInterrupt

        def end(self, result):
            pass

    for solver in ("sgd", "lbfgs"):
        make = partial(CRF, FEATURES, **SOLVERS[solver])
        keep = skipchain.modelfile.Checkpoint(path, every=1)
        make().fit(corpus, checkpoint=keep, progress=Cut())
        again = skipchain.modelfile.Checkpoint(path, every=1)
        made = make().fit(parts(corpus), checkpoint=again, scratch=tmp_path)
        assert_same(make().fit(corpus), made)
        again.remove()


def test_scanned_files(tmp_path):
    corpus = harbour()
    corpus.write(tmp_path / "a.conll")
    blocks = skipchain.scan(tmp_path / "a.conll", block=100)
    made = CRF(FEATURES, epochs=2).fit(blocks, scratch=tmp_path)
    assert_same(CRF(FEATURES, epochs=2).fit(skipchain.read(tmp_path / "a.conll")), made)
    assert os.listdir(tmp_path) == ["a.conll"]


def test_features_are_counted_with_little_in_memory(tmp_path):
    """However many conjunctions there are, the counter holds no more than it may."""
    random = np.random.default_rng(0)
    words = [[f"w{k}" for k in random.integers(0, 300, 10)] for _ in range(400)]
    corpus = Corpus.of(words)
    most = []

    class Counter(fitting.KeyCounter):
        def __exit__(self, *error):
            most.append(self.most)
            super().__exit__(*error)

    with Scratch(tmp_path) as scratch, pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "KeyCounter", Counter)
        blocks = fitting.CorpusBlocks(corpus, scratch, size=100, held=250)
        vocabulary, _ = blocks.fit(skipchain.Templates.parse("word[-1] & word"))
    assert vocabulary.n_features > 3000
    assert max(most) <= 250 + 100


@pytest.mark.parametrize(
    ("estimator", "told"),
    [
        (SkipChainCRF(), "SkipChainCRF learns in memory only"),
        (HMM(), "HMM learns in memory only"),
        (CRF(order=3), "order=3 does not go with a scratch folder"),
        (CRF(dictionary=3), "a dictionary is a table of all tokens"),
        (CRF(solver="cg"), "solver='cg' does not go with a scratch folder"),
        (CRF("word\nlabel[-2] & word", order=2), "looks further back than one label"),
        (MEMM("word\nhistory(lower)"), "looks further back than one label"),
        (CRF(recipe("ner-knowledge")), "looks at all of the corpus"),
    ],
)
def test_what_needs_all_data_is_refused(estimator, told, tmp_path):
    with pytest.raises(ParameterError, match=told):
        estimator.fit(harbour()[:20], scratch=tmp_path)


def test_what_is_no_corpus_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="labels given apart are for data in memory"):
        CRF().fit([["Ada"]], [["O"]], scratch=tmp_path)
    with pytest.raises(CorpusError, match=r"block 0 is of type list"):
        CRF().fit([["Ada"]], scratch=tmp_path)
    with pytest.raises(CorpusError, match="got int"):
        CRF().fit(3, scratch=tmp_path)
    with pytest.raises(CorpusError, match="there is no block to learn from"):
        CRF().fit(iter([]), scratch=tmp_path)
    other = Corpus.of([["Ada"]], [["B-PER"]], pos=[["N"]])
    with pytest.raises(CorpusError, match="block 1 has other columns or another scheme"):
        CRF().fit([harbour()[:5], other], scratch=tmp_path)
    partial_labels = Corpus.of([["Ada", "ran"]], [["B-PER", None]], scheme="iob2")
    with pytest.raises(CorpusError, match="token 1 has no label of its own"):
        CRF().fit(partial_labels, scratch=tmp_path)
    with pytest.raises(SkipchainError, match="there is no such folder"):
        CRF().fit(harbour()[:5], scratch=tmp_path / "none")
