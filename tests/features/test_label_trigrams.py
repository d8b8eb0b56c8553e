"""Templates that look two labels back: rows, learning, files, explanations, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skipchain import CRF, HMM, MEMM, Corpus, MaxEnt, MoPMEMM, Perceptron, Tagger, load, save
from skipchain.chains.scorer import Weights
from skipchain.errors import ModelFileError, ParameterError, SkipchainError
from skipchain.features.label_trigrams import LabelTrigrams, row_limit
from skipchain.features.matrix import CSRMatrix
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.models.base.model import Model
from skipchain.models.document.model import FactoredModel
from skipchain.parallel import Workers
from tests.modelfile.round_trip import round_trip
from tests.oracles.label_contexts import Enumeration

BOTH = "word\nlabel[-2] & label[-1] & word"
PLAIN = {"solver": "lbfgs", "l2": 0.01, "encoding": None}


def switches(count=40, seed=0):
    """``same`` repeats the label two back, ``turn`` takes the other; two labels are given away."""
    rng = np.random.default_rng(seed)
    words, labels = [], []
    for _ in range(count):
        own = ["A" if x else "B" for x in rng.integers(0, 2, 2)]
        said = [label.lower() for label in own]
        for _ in range(6):
            word = "same" if rng.random() < 0.5 else "turn"
            own.append(own[-2] if word == "same" else "BA"["AB".index(own[-2])])
            said.append(word)
        words.append(said)
        labels.append(own)
    return Corpus.of(words, labels, scheme="none")


def loss_by_enumeration(model, corpus, l2):
    """−log p of the gold labels and the penalty, labelling by labelling."""
    total = l2 * sum(float((part**2).sum()) for part in model.all_weights.tables)
    with Workers(1) as workers:
        for k in range(len(corpus)):
            own = corpus[k : k + 1]
            every = Enumeration(model.scores(own, workers), 0)
            gold = tuple(model.labels.index(label) for label in own.labels.tolist())
            total += every.log_z - every.totals[every.paths.index(gold)]
    return total


def test_features_have_numbers_of_their_own():
    text = "word\nlabel[-1] & word\nlabel[-2] & label[-1] & word\nlabel[-2] & shape"
    vocabulary, rows = Vocabulary.fit(Corpus.of([["a", "B", "a"]]), Templates.parse(text))
    counts = (vocabulary.n_features, vocabulary.n_edge_features, vocabulary.n_trigram_features)
    assert counts == (2, 2, 4)
    assert vocabulary.templates.text == text
    assert vocabulary.trigram_names() == [
        "label[-2] & label[-1] & word=a",
        "label[-2] & label[-1] & word=B",
        "label[-2] & shape=x",
        "label[-2] & shape=X",
    ]
    assert vocabulary.trigram_has_previous.tolist() == [True, True, False, False]
    assert rows.trigrams.indices.tolist() == [0, 2, 1, 3, 0, 2]
    assert rows.take(np.array([1])).trigrams.indices.tolist() == [1, 3]


def test_labels_that_training_did_not_show_choose_no_row():
    index = CSRMatrix(np.array([0, 1, 3]), np.array([0, 0, 1], np.int32))
    flags, offsets = np.array([True, False]), np.array([0, 2])
    trigrams = LabelTrigrams.fit(index, flags, np.array([0, 1], np.int32), offsets, 2)
    assert trigrams.rows.tolist() == [[0, 2, 0], [0, 2, 2], [1, 2, -1]]
    found = trigrams.row_indices(index, np.array([1, 1], np.int32), offsets)
    assert found.tolist() == [1, -1, 2]
    nothing = replace(trigrams, rows=trigrams.rows[:0], weights=trigrams.weights[:0])
    assert nothing.row_indices(index, np.array([1, 1], np.int32), offsets).tolist() == [-1] * 3


@pytest.mark.parametrize("kind", [MEMM, CRF])
def test_they_learn_what_others_cannot(kind):
    train, test = switches(), switches(20, 1)
    settings = {**PLAIN, "order": 2}
    assert kind("word\nlabel[-1] & word", **settings).fit(train).score(test) < 0.9
    for text in ("word\nlabel[-2] & word", BOTH):
        model = kind(text, **settings).fit(train)
        assert model.score(test) == 1.0
        assert model.predict(test, decoder="posterior") == model.predict(test)
        assert model.predict(test, decoder="beam") == model.predict(test)


@pytest.mark.parametrize("kind", [MEMM, CRF])
@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("text", ["word\nlabel[-2] & word", f"{BOTH}\nlabel[-2] & value(n)"])
def test_the_loss_is_that_of_the_model(kind, order, text):
    plain = switches(6)
    train = Corpus.of(
        [list(sentence.words) for sentence in plain],
        [list(sentence.labels) for sentence in plain],
        n=[["1.5", "2", "0", *["-1"] * (len(sentence.words) - 3)] for sentence in plain],
        scheme="none",
    )
    settings = {"solver": "lbfgs", "l2": 0.3, "tolerance": 1e-8, "encoding": None}
    model = kind(text, order=order, **settings).fit(train).model_
    wanted = loss_by_enumeration(model, train, 0.3)
    assert model.summary["loss"] == pytest.approx(wanted, rel=1e-6)


def test_a_crf_of_order_3_has_the_loss_of_its_labellings():
    train = switches(6)
    settings = {"solver": "lbfgs", "l2": 0.3, "tolerance": 1e-8, "encoding": None}
    model = CRF("word", order=3, **settings).fit(train).model_
    assert model.summary["loss"] == pytest.approx(loss_by_enumeration(model, train, 0.3), rel=1e-6)
    # more labels before can only help, and one that sums over all labellings beats none of them
    lower = CRF("word", order=2, **settings).fit(train).model_
    assert model.summary["loss"] < lower.summary["loss"]


@pytest.mark.parametrize("kind", [MEMM, CRF])
def test_files_warm_starts_and_pruning(kind, tmp_path):
    train, test = switches(), switches(10, 3)
    estimator = kind(BOTH + "\nlabel[-2] & shape", order=2, **PLAIN).fit(train, dev=test)
    model: Model = estimator.model_
    save(estimator, tmp_path / "m.skip")
    loaded = load(tmp_path / "m.skip")
    np.testing.assert_array_equal(loaded.model.label_trigrams.rows, model.label_trigrams.rows)
    np.testing.assert_array_equal(loaded.model.label_trigrams.weights, model.label_trigrams.weights)
    assert loaded.label(test) == estimator.predict(test)
    again = kind(BOTH, order=2, **PLAIN).fit(train, start=estimator)
    assert again.score(test) == 1.0
    cut = model.label_trigrams.weights.copy()
    cut[model.label_trigrams.rows[:, 0] == 1] = 0.0
    smaller = replace(model, label_trigrams=replace(model.label_trigrams, weights=cut)).pruned()
    assert smaller.features.n_trigram_features == model.features.n_trigram_features - 1
    assert len(smaller.label_trigrams.rows) == np.count_nonzero(cut.any(axis=1))
    with Workers(1) as workers:
        whole = replace(model, label_trigrams=replace(model.label_trigrams, weights=cut))
        wanted, found = (m.marginals(m.scores(test, workers), workers) for m in (whole, smaller))
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_further_data_and_steps():
    train, test = switches(), switches(10, 3)
    steps = MEMM(BOTH, order=2, l2=0.01, encoding=None, dropout=0.0, bundle_dropout=0.0, rate=0.5)
    for _ in range(20):
        steps.partial_fit(train)
    assert steps.score(test) == 1.0


@pytest.mark.parametrize("text", [BOTH, "word\nlabel[-2] & word", "word"])
@pytest.mark.parametrize(("kind", "order"), [(CRF, 2), (CRF, 3), (CRF, 4), (MEMM, 2), (MEMM, 3)])
def test_a_decision_is_explained_given_the_labels_around(kind, order, text):
    model = kind(text, order=order, **PLAIN).fit(switches(10)).model_
    given = switches(1, 7)
    with Workers(1) as workers:
        scores = model.scores(given, workers)
        path = model.decode(scores, workers).codes.tolist()
    every = Enumeration(scores, 0)
    for at in range(given.n_tokens):
        totals = []
        for label in (0, 1):
            own = (*path[:at], label, *path[at + 1 :])
            totals.append(every.step(at, own[:at], label) if model.local else every.total(own))
        first, second = Tagger(model).explain(given, at, labels=["A", "B"]).totals
        assert first - second == pytest.approx(totals[0] - totals[1], abs=1e-8)


def test_what_does_not_go_with_them_is_refused():
    train = switches(3)
    with pytest.raises(ParameterError, match=r"'label\[-2\] & word' looks two .*order=1 does not"):
        MEMM("word\nlabel[-2] & word").fit(train)
    for kind in (Perceptron, HMM, MaxEnt, MoPMEMM):
        with pytest.raises(
            ParameterError, match=r"looks two labels back, and .* does not; use CRF"
        ):
            kind("word\nlabel[-2] & word").fit(train)
    with pytest.raises(ParameterError, match=r"history\(word\) goes with no template that begins"):
        MEMM("word\nlabel[-2] & word\nhistory(word)", order=2).fit(
            replace(train, documents=np.array([0, 1, 3]))
        )
    for kind, told in ((MEMM, "order=1, or a CRF, without"), (CRF, "order 1 or 2, without")):
        with pytest.raises(ParameterError, match=f"partial labels need {told} templates"):
            kind(BOTH, order=2).fit(Corpus.of([["a", "b"]]), [["A", None]])
    with pytest.raises(ParameterError, match="partial labels need order 1 or 2"):
        CRF("word", order=3).fit(Corpus.of([["a", "b"]]), [["A", None]])
    with pytest.raises(ParameterError, match="solver='sgd' learns chains of order 1 and 2"):
        CRF("word", order=3, solver="sgd").fit(train)
    with pytest.raises(ParameterError, match="features of label trigrams are too many"):
        row_limit(1 << 60, 10)
    many = Corpus.of([["a"]] * 65, [[f"L{k}"] for k in range(65)], scheme="none")
    with pytest.raises(ParameterError, match="65 labels have too many; wanted at most 64 labels"):
        MEMM(BOTH, order=2, epochs=1).fit(many)
    spans = Corpus.of([["Ada", "ran"]] * 3, [["B-PER", "O"]] * 3, scheme="iob2")
    chain = MEMM(BOTH, order=2, epochs=1).fit(spans).model_
    with pytest.raises(SkipchainError, match="looks two labels back, and factors need"):
        FactoredModel.from_chain(chain, ())


def test_damaged_rows_are_named(tmp_path):
    model = MEMM(BOTH, order=2, **PLAIN).fit(switches(5)).model_
    own = model.label_trigrams
    turned = replace(own, rows=own.rows[::-1].copy())
    with pytest.raises(ModelFileError, match=r"trigrams\.rows are not sorted"):
        round_trip(replace(model, label_trigrams=turned), tmp_path / "a.skip")
    loose = own.rows.copy()
    loose[:, 2] = -1
    with pytest.raises(ModelFileError, match=r"do not fit their templates"):
        round_trip(replace(model, label_trigrams=replace(own, rows=loose)), tmp_path / "b.skip")
    weights = replace(model.weights, triples=model.weights.triples[:0])
    with pytest.raises(ModelFileError, match="looks two labels back has order 2 or more"):
        round_trip(replace(model, weights=weights), tmp_path / "c.skip")
    names = tuple(f"L{k}" for k in range(65))
    own = Weights.zeros(model.features.n_features, 0, 65, 2)
    none = LabelTrigrams(
        model.label_trigrams.rows[:0], model.label_trigrams.has_previous, np.zeros((0, 65))
    )
    with pytest.raises(ModelFileError, match="65 labels are too many"):
        round_trip(
            replace(model, labels=names, weights=own, label_trigrams=none), tmp_path / "e.skip"
        )
    with pytest.raises(ModelFileError, match=r"trigrams\.rows"):
        round_trip(replace(model, label_trigrams=None), tmp_path / "d.skip")


LABEL_RUNS = {
    "order 2": ("word", {"order": 2}),
    "order 3": ("word", {"order": 3}),
    "a pair": (BOTH, {"order": 2}),
    "one label": ("word\nlabel[-2] & word", {"order": 2}),
}


@pytest.mark.parametrize("case", LABEL_RUNS)
def test_runs_of_labels_are_inspected(case, run, tmp_path, monkeypatch):
    """Every weight of three and more labels is told, by the names that explanations give it."""
    monkeypatch.setenv("COLUMNS", "160")
    text, settings = LABEL_RUNS[case]
    model = CRF(text, **PLAIN, **settings).fit(switches(20)).model_
    runs = model.summarise(top=10_000)["runs"]
    further = [part for part in model._further if part is not None]
    tables = [model.weights.triples, *further]
    assert len(runs) == sum(np.count_nonzero(table) for table in tables)
    told = {(tuple(own["previous"]), own.get("name"), own["label"]): own["weight"] for own in runs}
    assert len(told) == len(runs)
    names = [*model.labels, "<start>"]
    for (a, b, c), weight in np.ndenumerate(model.weights.triples):
        assert told.get(((names[a], names[b]), None, names[c]), 0.0) == weight
    if case == "order 3":
        assert {len(own["previous"]) for own in runs} == {2, 3}
    if case == "a pair":
        assert told[("A", "B"), "label[-2] & label[-1] & word=same", "A"] > 0.0
    if case == "one label":
        assert told[("A", None), "label[-2] & word=same", "A"] > 0.0
    save(model, tmp_path / "m.skip")
    code, out, _ = run("inspect", tmp_path / "m.skip", "--top", 1)
    assert code == 0
    first = runs[0]
    labels = ["…" if own is None else own for own in first["previous"]]
    shown = out[out.index("Longer runs of labels") :]
    assert f"{first['weight']:+.3f}  {' → '.join([*labels, first['label']])}" in shown
    assert first.get("name", "") in shown


def test_a_chain_of_pairs_has_no_runs(run, tmp_path):
    save(CRF("word", **PLAIN).fit(switches(5)).model_, tmp_path / "m.skip")
    assert "Longer runs" not in run("inspect", tmp_path / "m.skip")[1]
