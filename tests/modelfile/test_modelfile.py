"""Model files: exact round trips, and a clear error for everything that can be wrong."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes
from sklearn.base import clone

from skipchain import CRF, Corpus, MoPMEMM, SkipchainError, Tagger, load
from skipchain.errors import ModelFileError
from skipchain.modelfile import HEADER, checksum, is_model_file, load_model, read_arrays, save

TRAIN = Corpus.of(
    [["Ada", "Lee", "went", "to", "York"], ["Bö", "slept"], ["In", "York"]] * 4,
    [["B-PER", "I-PER", "O", "O", "B-LOC"], ["B-PER", "O"], ["O", "B-LOC"]] * 4,
    scheme="iob2",
)
DOCUMENTS = np.array([0, 3, 6, 12])  # of TRAIN, where it needs some
TEMPLATES = "word[-1..1]\nngrams\nshape[-1] & shape\nbag(word, -2..-1)\nlabel[-1] & word"


def assert_same_predictions(a, b, given):
    assert a.labels == b.labels
    np.testing.assert_array_equal(a.weights.state, b.weights.state)
    np.testing.assert_array_equal(a.weights.edges, b.weights.edges)
    assert a.features.names() == b.features.names()
    assert a.features.names(transition=True) == b.features.names(transition=True)


@pytest.fixture(scope="module")
def fitted():
    return CRF(TEMPLATES, encoding="bioes", l2=0.01).fit(TRAIN)


@pytest.fixture
def path(fitted, tmp_path):
    save(fitted.model_, tmp_path / "m.skip")
    return tmp_path / "m.skip"


def test_a_saved_model_is_the_same_model(fitted, path):
    model = load_model(path)
    assert_same_predictions(model, fitted.model_, TRAIN)
    assert (model.kind, model.scheme, model.encoding) == ("crf", "iob2", "bioes")
    assert model.summary["iterations"] == fitted.result_.iterations
    unseen = Corpus.of([["Bö", "Lee", "in", "Rome"]])
    assert load(path).predict(unseen).corpus.labels.tolist() == fitted.predict(unseen)[0]


@pytest.mark.parametrize("form", ["dicts", "dense"])
def test_models_of_direct_features_round_trip(form, tmp_path):
    x = [[{"w": w, "n": 0.5} for w in s.words] for s in TRAIN]
    if form == "dense":
        x = [np.array([[len(w), w.isupper()] for w in s.words], float) for s in TRAIN]
    crf = CRF(l2=0.1).fit(x, [s.labels for s in TRAIN])
    save(crf.model_, tmp_path / "m.skip")
    assert_same_predictions(load_model(tmp_path / "m.skip"), crf.model_, x)
    assert load(tmp_path / "m.skip").label(x) == crf.predict(x)
    with pytest.raises(SkipchainError, match="label takes what the model was fitted on"):
        load(tmp_path / "m.skip").predict(x)


def test_zero_features_are_dropped_and_change_nothing(tmp_path):
    crf = CRF(TEMPLATES, l1=0.5, l2=0.0, encoding="bioes").fit(TRAIN)
    save(crf.model_, tmp_path / "m.skip")
    model = load_model(tmp_path / "m.skip")
    assert model.weights.state.any(axis=1).all()
    assert (
        load(tmp_path / "m.skip").predict(TRAIN).corpus.labels
        == Corpus.of([s.words for s in TRAIN], crf.predict(TRAIN), scheme="none").labels
    )


def test_views_of_ones_own_must_be_given_again(tmp_path):
    functions = {"initial": lambda word: word[0]}
    crf = CRF("initial\nword", functions=functions).fit(TRAIN)
    save(crf.model_, tmp_path / "m.skip")
    with pytest.raises(ModelFileError, match="functions="):
        load_model(tmp_path / "m.skip")
    assert load_model(tmp_path / "m.skip", functions).features.names()


def test_long_n_grams_round_trip(tmp_path):
    words = [["a" * 30 + str(k) * 50 for k in range(10)]] * 2
    crf = CRF("ngrams(60, 75)", solver="lbfgs").fit(
        Corpus.of(words, [["X", "Y"] * 5] * 2, scheme="none")
    )
    save(crf.model_, tmp_path / "m.skip")
    assert load_model(tmp_path / "m.skip").features.names() == crf.model_.features.names()


def test_files_that_do_not_say_their_form_are_read(path, fitted):
    """As earlier versions wrote them."""
    rewritten(path, lambda h: h.pop("form"))
    assert_same_predictions(load_model(path), fitted.model_, TRAIN)


def test_an_existing_file_is_kept_unless_told(path, fitted):
    before = path.read_bytes()
    with pytest.raises(SkipchainError, match="exists"):
        save(fitted.model_, path)
    assert path.read_bytes() == before
    save(fitted.model_, path, overwrite=True)


def test_missing_foreign_and_empty_files_are_named(tmp_path):
    (tmp_path / "empty.skip").write_bytes(b"")
    (tmp_path / "text.skip").write_text("Ada slept")
    (tmp_path / "other.skip").write_bytes(to_bytes({"a": np.zeros(3)}))
    for name, message in [
        ("nothing.skip", "no such file"),
        ("empty.skip", "not a skipchain model"),
        ("text.skip", "not a skipchain model"),
        ("other.skip", "not a skipchain model"),
    ]:
        with pytest.raises(ModelFileError, match=f"{name}.*{message}"):
            load_model(tmp_path / name)
    with pytest.raises(ModelFileError):
        load_model(tmp_path)
    assert not is_model_file(tmp_path / "nothing.skip")


def rewritten(path, change_header=None, change_arrays=None, *, seal=True):
    """The file with parts changed; sealed again, unless the checksum is to give it away."""
    header, arrays = read_arrays(path)
    sealed = checksum(header, arrays)
    if change_arrays is not None:
        change_arrays(arrays)
    if change_header is not None:
        change_header(header)
    if seal:
        sealed = checksum(header, arrays)
    header["checksum"] = sealed
    path.write_bytes(to_bytes(arrays, {HEADER: json.dumps(header)}))


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        (lambda h: h.update(format=99), None, "format 99"),
        (lambda h: h.pop("labels"), None, "labels"),
        (lambda h: h.update(labels=["A"]), None, "weights.transitions has the shape"),
        (lambda h: h["labels"].append("A"), None, "weights.transitions has the shape"),
        (lambda h: h.update(scheme="xyz"), None, "xyz"),
        (lambda h: h["features"].update(kind="strange"), None, "strange"),
        (lambda h: h["features"].update(text="word\nnonsense("), None, "damaged"),
        (None, lambda a: a.pop("weights.start"), "weights.start"),
        (None, lambda a: a.update({"weights.end": np.zeros(3)}), "weights.end has the shape"),
        (None, lambda a: a["weights.transitions"].fill(np.nan), "finite"),
        (None, lambda a: a["template.0.rows"].fill(10**6), "template.0.rows names what"),
        (None, lambda a: a["view.0.starts"].fill(10**6), "beyond"),
    ],
)
def test_damage_is_named(path, header, arrays, message):
    rewritten(path, header, arrays)
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


def initial(word):
    return word[0]


def ends(corpus):
    """The first token of each document with its last."""
    bounds = corpus.sentences[corpus.documents]
    return [(a, b - 1) for a, b in pairwise(bounds.tolist()) if b - a > 1]


OWN = {"initial": initial, "ends": ends}
LINKED = {
    "plain": {},
    "several": {"edges": "previous, same(suffix(2), max_documents=2), alone"},
    "random": {"edges": "same_word", "orderings": "forward, random(2)", "seed": 3},
    "learned": {"mixing": "learned", "folds": 2},
    "own": {"edges": "previous, ends, same(initial)", "functions": OWN},
}


def linked(name):
    settings = {"solver": "lbfgs", **LINKED[name]}
    return MoPMEMM("word[-1..1]\nngrams", **settings).fit(replace(TRAIN, documents=DOCUMENTS))


@pytest.mark.parametrize("name", LINKED)
def test_models_of_linked_labels_round_trip(name, tmp_path):
    fitted = linked(name)
    save(fitted, tmp_path / "m.skip")
    model = load_model(tmp_path / "m.skip", LINKED[name].get("functions"))
    assert list(map(str, model.rules)) == list(map(str, fitted.model_.rules))
    assert model.orderings == fitted.model_.orderings
    assert model.summary["longest_document"] == 18
    assert list(model.edge_models) == list(fitted.model_.edge_models)
    unseen = Corpus.of([["Bö", "Lee", "went"], ["Rome", "Lee"], ["Lee"]])
    found = Tagger(model).predict(unseen, probabilities=True)
    wanted = Tagger(fitted.model_).predict(unseen, probabilities=True)
    np.testing.assert_array_equal(found.marginals, wanted.marginals)
    save(model, tmp_path / "again.skip")
    assert (tmp_path / "again.skip").read_bytes() == (tmp_path / "m.skip").read_bytes()


def test_common_strings_are_kept(tmp_path):
    """What was too frequent in training is left out afterwards, however rare it is then."""
    save(linked("several"), tmp_path / "m.skip")
    rule = load_model(tmp_path / "m.skip").rules[1]
    assert "ee" in list(rule.common)
    assert rule.pairs(Corpus.of([["Lee", "x", "Lee"], ["Bab", "x", "Cab"]])).tolist() == [[3, 5]]


@pytest.mark.parametrize(("given", "missing"), [({}, "ends"), ({"ends": ends}, "initial")])
def test_functions_of_edges_must_be_given_again(given, missing, tmp_path):
    save(linked("own"), tmp_path / "m.skip")
    with pytest.raises(ModelFileError, match=f"m.skip: the edges .* {missing!r}; .*functions="):
        load_model(tmp_path / "m.skip", given)


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        (lambda h: h.update(edges=["previous", "sideways"]), None, "no edge rule 'sideways'"),
        (lambda h: h.update(edges=["previous", "same_word(recent=0)"]), None, "at least 1"),
        (lambda h: h.update(edges=["previous"]), None, "not those of the rules"),
        (lambda h: h.update(edges=7), None, "damaged"),
        (lambda h: h.pop("functions"), None, "functions"),
        (lambda h: h["kinds"].update(strange=False), None, "strange.weights"),
        (lambda h: h["kinds"].pop("previous"), None, "no kind of edge begins chains"),
        (lambda h: h["kinds"].clear(), None, "header.kinds is {}"),
        (lambda h: h["kinds"].update(previous=True), None, "previous.child"),
        (lambda h: h.update(orderings=[["sideways", 0]]), None, "is 'sideways', wanted 'forward'"),
        (lambda h: h.update(orderings=[]), None, "header.orderings is"),
        (lambda h: h.update(orderings=["forward"]), None, "damaged"),
        (lambda h: h.update(gate=True), None, "previous.gate"),
        (None, lambda a: a.pop("next.weights.start"), "next.weights.start"),
        (None, lambda a: a.pop("same_word.child"), "same_word.child"),
        (None, lambda a: a["same_word.parent"].fill(10**6), "same_word.parent has 1000000"),
        (None, lambda a: a.update({"same_word.child": np.zeros(3)}), "same_word.child is float64"),
        (None, lambda a: a.update({"same_word.child": np.zeros(1, np.int32)}), "state.at has"),
        (None, lambda a: a["same_word.weights.transitions"].fill(np.inf), "finite"),
        (None, lambda a: a.pop("rule.1.common.text"), "rule.1.common"),
    ],
)
def test_damage_of_linked_models_is_named(header, arrays, message, tmp_path):
    save(linked("plain"), tmp_path / "m.skip")
    rewritten(tmp_path / "m.skip", header, arrays)
    with pytest.raises(ModelFileError, match=message):
        load_model(tmp_path / "m.skip")


def test_a_damaged_gate_is_named(tmp_path):
    save(linked("learned"), tmp_path / "m.skip")
    rewritten(tmp_path / "m.skip", None, lambda a: a.update({"next.gate": np.zeros(2)}))
    with pytest.raises(ModelFileError, match=r"next\.gate has the shape"):
        load_model(tmp_path / "m.skip")


def test_linked_estimators_are_pickled_and_cloned():
    fitted = linked("own")
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict(TRAIN) == fitted.predict(TRAIN)
    assert clone(fitted).get_params() == fitted.get_params()
    assert clone(fitted).fit(TRAIN).model_.rules


def test_altered_contents_fail_the_checksum(path):
    def nudge(arrays):
        arrays["weights.start"][0] += 1.0

    rewritten(path, change_arrays=nudge, seal=False)
    with pytest.raises(ModelFileError, match="checksum"):
        load_model(path)


def test_an_altered_header_fails_the_checksum(path):
    rewritten(path, change_header=lambda h: h["labels"].reverse(), seal=False)
    with pytest.raises(ModelFileError, match="checksum"):
        load_model(path)


def test_packed_names_are_refused(fitted, tmp_path):
    with pytest.raises(SkipchainError, match="not packed"):
        save(fitted, tmp_path / "m.skip.gz")


def test_a_header_that_is_no_object_is_named(path):
    arrays = from_bytes(path.read_bytes())
    path.write_bytes(to_bytes(arrays, {HEADER: "[1]"}))
    with pytest.raises(ModelFileError, match="format"):
        load_model(path)


@given(st.data())
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_truncation_or_changed_byte_gives_one_kind_of_error(path, data):
    good = path.read_bytes()
    broken = path.with_name("broken.skip")
    if data.draw(st.booleans()):
        broken.write_bytes(good[: data.draw(st.integers(0, len(good) - 1))])
    else:
        at = data.draw(st.one_of(st.integers(0, 3000), st.integers(0, len(good) - 1)))
        at = min(at, len(good) - 1)
        value = data.draw(st.integers(0, 255))
        broken.write_bytes(good[:at] + bytes([value]) + good[at + 1 :])
    try:
        load_model(broken)
    except ModelFileError:
        return
    # a change that is not seen must leave every array as it was
    np.testing.assert_array_equal(load_model(broken).weights.state, load_model(path).weights.state)
