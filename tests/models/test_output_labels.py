"""Labels come in one scheme on every way out: the data's, or the one that is asked for."""

from __future__ import annotations

import json

import numpy as np
import pytest

from skipchain import CRF, Corpus, Tagger, save
from skipchain.corpus import Column
from skipchain.corpus.schemes import decode
from skipchain.datasets.harbour import harbour
from skipchain.errors import BrokenSchemeError, SchemeError, SkipchainWarning
from skipchain.models.base.output_labels import OutputLabels

WORDS = [["Ada", "Lee", "met", "Bo"], ["then", "Bo", "slept"]]
LABELS = [["B-PER", "I-PER", "O", "B-PER"], ["O", "B-PER", "O"]]
DATA = harbour()[:120]


@pytest.fixture(scope="module")
def crf():
    return CRF("word\nlower\nword[-1]", epochs=5).fit(DATA)


@pytest.mark.parametrize("scheme", [None, "iob2", "bioes", "ioe2", "bilou", "iob1", "io"])
def test_every_way_out_has_the_same_labels(crf, scheme):
    found = Tagger(crf.model_).predict(DATA, probabilities=True, nbest=3, scheme=scheme)
    corpus = found.corpus
    assert corpus.scheme == (scheme or "iob2")
    assert set(corpus.labels.values) <= set(found.labels)
    np.testing.assert_array_equal(corpus.labels.tolist(), np.array(found.labels)[found.codes])
    np.testing.assert_allclose(found.marginals.sum(axis=1), 1.0)
    best = [label for ranked in found.nbest for label in ranked.labels[0]]
    assert best == corpus.labels.tolist()
    assert decode(corpus.labels, corpus.sentences, corpus.scheme) == found.spans
    names = crf.model_.output_in(scheme).names
    assert found.labels == names
    own = np.concatenate(crf.predict_marginals(DATA, scheme=scheme))
    np.testing.assert_array_equal(own, found.marginals)
    assert crf.predict_nbest(DATA, 3, scheme=scheme)[0].labels == found.nbest[0].labels


def test_classes_are_the_labels_that_are_predicted(crf):
    assert "S-PER" in crf.model_.labels
    assert set(crf.classes_) == set(DATA.labels.values)
    predicted = {label for labels in crf.predict(DATA) for label in labels}
    assert predicted <= set(crf.classes_)


def test_marginals_are_sums_over_the_labels_learnt(crf):
    model = crf.model_
    learnt = np.concatenate(crf.predict_marginals(DATA, scheme="bioes"))
    out = np.concatenate(crf.predict_marginals(DATA))
    begin = [model.labels.index(name) for name in ("B-PER", "S-PER")]
    found = out[:, crf.classes_.index("B-PER")]
    np.testing.assert_allclose(found, learnt[:, begin].sum(axis=1))


def test_what_depends_on_the_label_beside_takes_it_as_predicted():
    output = OutputLabels.of(("B-PER", "E-PER", "I-PER", "O", "S-PER"), "bioes", "iob1")
    assert output.names == ("B-PER", "I-PER", "O")
    path = Column.encode(["S-PER", "S-PER", "O"])
    marginals = np.array([[0.1, 0, 0, 0.1, 0.8], [0.1, 0.2, 0, 0.2, 0.5], [0, 0, 0, 0.9, 0.1]])
    found = output.marginals(marginals, path, np.array([0, 3]))
    np.testing.assert_allclose(found, [[0, 0.9, 0.1], [0.6, 0.2, 0.2], [0.1, 0, 0.9]])
    apart = output.marginals(marginals, path, np.array([0, 1, 3]))
    np.testing.assert_allclose(apart[1], [0, 0.8, 0.2])


def test_labels_that_say_less_are_read_beside_their_neighbours():
    output = OutputLabels.of(("I-PER", "O"), "io", "bioes", constrained=False)
    path = Column.encode(["I-PER", "I-PER", "O"])
    found = output.marginals(np.eye(2)[[0, 0, 1]], path, np.array([0, 3]))
    assert [output.names[k] for k in found.argmax(axis=1)] == ["B-PER", "E-PER", "O"]


def test_a_scheme_is_refused_where_there_are_no_spans():
    crf = CRF("word", epochs=1).fit([[["a"], ["b"]]] * 4, [["NN", "VB"]] * 4)
    with pytest.raises(SchemeError, match="mark no spans"):
        crf.predict_marginals([[["a"]]], scheme="iob2")


def test_json_has_one_scheme_and_labels_instead_of_numbers(run, crf, tmp_path):
    model, text = tmp_path / "m.skip", "Mayor Ingrid Aske met Tomas Brandt in Ostley."
    save(crf, model)
    for options in ((), ("--to-scheme", "bioes")):
        how = ("--marginals", "--nbest", "2", "--format", "jsonl", *options)
        code, out, _ = run("tag", model, "--text", text, *how)
        assert code == 0
        record = json.loads(out)
        assert record["nbest"][0]["labels"] == record["labels"]
        assert set(record["labels"]) <= set(record["marginals"][0])
        singles = any(label.startswith("S-") for label in record["marginals"][0])
        assert singles == bool(options)


def test_old_names_go_on_to_work(crf):
    found = Tagger(crf.model_).predict(DATA, nbest=2)
    column = found.nbest_labels(0)
    assert column.tolist() == found.corpus.labels.tolist()
    [best] = crf.predict_nbest(Corpus.of(WORDS[:1]), 1)
    assert [[crf.classes_[k] for k in path] for path in best.paths] == best.labels


# Corpus.of ---------------------------------------------------------------------------------------


def test_a_corpus_of_lists_has_the_scheme_that_its_labels_show():
    assert Corpus.of(WORDS, LABELS).scheme == "iob2"
    assert Corpus.of(WORDS, LABELS).spans().tolist() == [
        (0, 2, "PER"),
        (3, 4, "PER"),
        (5, 6, "PER"),
    ]
    assert Corpus.of([["Main", "Street", "Oslo"]], [["street", "street", "city"]]).scheme == "bare"
    assert Corpus.of([["a", "b"]], [["DT", "NN"]]).scheme is None
    assert Corpus.of(WORDS, LABELS, scheme="none").scheme is None
    assert Corpus.of([[]], [[]]).scheme is None


def test_labels_in_lists_are_repaired_as_those_of_files():
    words, labels = [["a"] * 1500], [["O"] * 1499 + ["I-PER"]]
    labels[0][:2] = ["B-PER", "I-PER"]
    with pytest.warns(SkipchainWarning, match="1 label breaks iob2 and is repaired"):
        corpus = Corpus.of(words, labels)
    assert corpus.labels.tolist()[-1] == "B-PER"
    broken = [["B-PER", "O", "I-PER"]]
    with pytest.raises(BrokenSchemeError, match=r"mend them with repair=True, or leave them"):
        Corpus.of([["a", "b", "c"]], broken)
    with pytest.warns(SkipchainWarning):
        mended = Corpus.of([["a", "b", "c"]], broken, repair=True)
    assert mended.labels.tolist() == ["B-PER", "O", "B-PER"]
    kept = Corpus.of([["a", "b", "c"]], broken, repair=False)
    assert (kept.scheme, kept.labels.tolist()) == ("iob2", broken[0])
