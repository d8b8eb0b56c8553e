"""Sources of columns in models: fitting, model files, first models, recipes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from skipchain import CRF, MEMM, Corpus, MoPMEMM, Perceptron, Tagger, Templates, load
from skipchain.annotators import phrase_lists as lists
from skipchain.annotators.document import DocumentContext
from skipchain.annotators.lexicon import Lexicon
from skipchain.annotators.predictions import prediction_columns
from skipchain.annotators.words import ClusterColumn, VectorColumn
from skipchain.corpus.schemes import Spans
from skipchain.datasets.harbour import harbour
from skipchain.errors import CorpusError, ModelFileError, ParameterError, TemplateError
from skipchain.modelfile import save
from skipchain.models.document.estimator import Factored
from skipchain.models.stacking import StackedPredictions
from skipchain.parallel import Workers
from skipchain.recipes import recipe
from skipchain.resources.clusters import Clusters
from skipchain.resources.vectors import Vectors
from tests.modelfile.test_modelfile import rewritten

TRAIN, TEST = harbour().split(0.75)
LOCAL = "word[-1..1]\nshape\nsuffix(3)\n"


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv(lists.CACHE_VARIABLE, "")


def knowledge():
    names = sorted({word for word in TRAIN.words.values if word[:1].isupper()})
    clusters = Clusters.of({name: format(k % 16, "04b") for k, name in enumerate(names)})
    vectors = Vectors.of({name: [len(name), -1.0] for name in names})
    return [
        Lexicon.of({"names": names}),
        ClusterColumn(clusters),
        VectorColumn(vectors),
        DocumentContext(),
    ]


TEXT = LOCAL + "items(lexicon)\nprefix(brown, 2)\nvector(embedding)\nzone\nitems(occurrence)"


def test_a_model_reads_what_sources_give(tmp_path):
    crf = CRF(Templates.parse(TEXT, annotators=knowledge()), epochs=4).fit(TRAIN)
    names = crf.model_.features.names()
    assert any(name.startswith("items(lexicon)=S-names") for name in names)
    assert any(name.startswith("prefix(brown, 2)=") for name in names)
    save(crf, tmp_path / "m.skip")
    tagger = load(tmp_path / "m.skip")
    again = tagger.predict(TEST.without_labels()).corpus.labels
    assert again.tolist() == [label for own in crf.predict(TEST) for label in own]
    kinds = [source.kind for source in tagger.model.features.templates.annotators]
    assert kinds == ["lexicon", "clusters", "vectors", "documents"]
    assert tagger.tag("Ada Lee left Ostley.").labels  # plain text has none of the columns


def test_columns_that_the_corpus_has_are_taken():
    given = TRAIN.with_column("lexicon", TRAIN.words)
    crf = CRF(Templates.parse("items(lexicon)", annotators=knowledge()[:1]), epochs=1).fit(given)
    assert not any("S-names" in name for name in crf.model_.features.names())


def test_some_of_the_columns_are_not_enough():
    given = TRAIN.with_column("topic", TRAIN.words)
    with pytest.raises(TemplateError, match="the data have a column 'topic'"):
        CRF(Templates.parse("topic", annotators=[DocumentContext()])).fit(given)


def test_every_model_can_use_them(tmp_path):
    features = Templates.parse(TEXT, annotators=knowledge())
    for estimator in (
        MEMM(features, epochs=1),
        Perceptron(features, epochs=1),
        MoPMEMM(features, epochs=1),
    ):
        model = estimator.fit(TRAIN).model_
        save(model, tmp_path / "m.skip", overwrite=True)
        labels = load(tmp_path / "m.skip").predict(TEST.without_labels()).corpus.labels
        assert labels.tolist() == Tagger(model).predict(TEST).corpus.labels.tolist()


def test_sources_of_your_own_are_not_kept(tmp_path):
    class Mine(DocumentContext):
        kind = "mine"

    crf = CRF(Templates.parse("zone", annotators=[Mine()]), epochs=1).fit(TRAIN)
    with pytest.raises(ModelFileError, match="a source of columns of your own"):
        save(crf, tmp_path / "m.skip")


def test_damaged_sources_are_named(tmp_path):
    crf = CRF(Templates.parse("items(lexicon)", annotators=knowledge()[:1]), epochs=1).fit(TRAIN)
    path = tmp_path / "m.skip"
    save(crf, path)

    def strange(header):
        header["features"]["sources"][0]["kind"] = "oracle"

    def wrong(arrays):
        arrays["source.0.root"] = arrays["source.0.root"] + np.int32(9999)

    rewritten(path, strange)
    with pytest.raises(ModelFileError, match="'oracle', which this version does not know"):
        load(path)
    save(crf, path, overwrite=True)
    rewritten(path, None, wrong)
    with pytest.raises(ModelFileError, match=r"root has .*, wanted numbers below"):
        load(path)


# First models ------------------------------------------------------------------------------------


def staged(**settings):
    first = CRF(LOCAL, epochs=4)
    text = LOCAL + "first_label[-1..1]\nfirst_word & first_label\nfirst_entity\nfirst_longer"
    return Templates.parse(text, annotators=[StackedPredictions(first, **{"folds": 3, **settings})])


def test_a_first_model_is_cross_fitted(tmp_path):
    templates, corpus = staged().fit_annotators(TRAIN)
    source = templates.annotators[0]
    seen = source.columns(TRAIN, Workers(1))["first_label"]
    own = corpus.column("first_label")
    gold = CRF(LOCAL, epochs=4)._labels(TRAIN, None)[0].column
    right = [np.mean(np.array(c.tolist()) == np.array(gold.tolist())) for c in (seen, own)]
    assert right[0] > right[1]  # it knows what it has learnt from better
    crf = CRF(templates, epochs=4).fit(corpus)
    save(crf, tmp_path / "m.skip")
    labels = load(tmp_path / "m.skip").predict(TEST.without_labels()).corpus.labels
    assert labels.tolist() == [label for own in crf.predict(TEST) for label in own]


def test_a_first_model_needs_labels_and_documents():
    with pytest.raises(ParameterError, match="folds for stacking need as many documents"):
        CRF(staged(folds=99)).fit(TRAIN)
    with pytest.raises(CorpusError, match="labels in the corpus itself"):
        staged().fit_annotators(TRAIN.without_labels())


def test_factors_ask_sources_once(monkeypatch):
    asked = []
    real = StackedPredictions.fit

    def counted(self, corpus, progress=None):
        asked.append(corpus.n_documents)
        return real(self, corpus, progress)

    monkeypatch.setattr(StackedPredictions, "fit", counted)
    model = Factored(CRF(staged(), epochs=2), folds=2, samples=5).fit(TRAIN).model_
    assert asked == [TRAIN.n_documents]
    assert len(Tagger(model).predict(TEST.without_labels()).corpus.labels) == TEST.n_tokens


def test_what_predictions_say_of_other_occurrences():
    corpus = Corpus.of([["Lee", "met", "Ann", "Lee"], ["Lee"]])
    names = ("O", "S-PER", "B-PER", "E-PER", "S-LOC")
    labels = np.array([4, 0, 2, 3, 1])
    spans = Spans.of([(0, 1, "LOC"), (2, 4, "PER"), (4, 5, "PER")])
    found = prediction_columns(corpus, names, np.eye(5)[labels], labels, spans)
    told = {name: column.tolist() for name, column in found.items()}
    assert told["first_label"] == ["S-LOC", "O", "B-PER", "E-PER", "S-PER"]
    assert told["first_word"] == ["PER-4", "", "", "PER-2", "PER-2"]
    assert told["first_entity"] == ["PER-1", "", "", "", "LOC-1"]
    assert told["first_longer"] == ["PER-1", "", "", "", "PER-1"]


# Recipes -----------------------------------------------------------------------------------------


def test_recipes_put_it_together(tmp_path):
    (tmp_path / "ports.lst").write_text("Ostley\nHalverton\n", encoding="utf-8")
    clusters = Clusters.of({"Ostley": "01", "the": "10"}, {"Ostley": 3, "the": 9})
    clusters.write(tmp_path / "paths.txt")
    features = recipe(
        lexicons=tmp_path / "ports.lst", clusters=tmp_path / "paths.txt", folds=2, epochs=2
    )
    crf = clone(CRF(features, epochs=2)).fit(TRAIN)
    columns = {name for t in crf.model_.features.templates.templates for name in t.columns}
    assert {"lexicon", "brown", "zone", "first_word"} <= columns
    with pytest.raises(ParameterError, match="there is no recipe 'cake'"):
        recipe("cake")


def test_recipes_by_command(tmp_path, run):
    TRAIN.write(tmp_path / "train.conll")
    TEST.without_labels().write(tmp_path / "test.conll")
    (tmp_path / "ports.lst").write_text("Ostley\nHalverton\n", encoding="utf-8")
    model = str(tmp_path / "m.skip")
    arguments = ["--recipe", f"ner-full:lexicons={tmp_path / 'ports.lst'}"]
    train = ["train", str(tmp_path / "train.conll"), "-o", model, "--epochs", "2"]
    code, _, told = run(*train, *arguments, "--set", "recipe.folds=2")
    assert code == 0
    assert "tagging will need words alone" in told
    assert load(model).model.features.templates.annotators[-1].folds == 2
    assert "2 phrases in 1 list" in run("inspect", model)[1]
    assert run("tag", model, tmp_path / "test.conll")[0] == 0
    code, _, told = run(*train, "--overwrite", "--set", "lexicons=x.lst")
    assert code == 2
    assert "lexicons needs --recipe" in told
    (tmp_path / "bad.lst").write_text("Ostley\n\n\nHalverton\n", encoding="utf-8")
    bad = ["--recipe", f"ner-knowledge:lexicons={tmp_path / 'bad.lst'}", "--overwrite"]
    code, _, told = run(*train, *bad)
    assert code == 2
    assert "bad.lst:2: the line is empty" in told


def test_two_annotators_cannot_give_one_column():
    with pytest.raises(TemplateError, match="two annotators give the column 'lexicon'"):
        Templates.parse("word", annotators=[Lexicon.of({"a": ["x"]}), Lexicon.of({"b": ["y"]})])


def test_a_history_can_read_what_a_source_gives(tmp_path):
    words = [["Ada", "ran"], ["Bo", "slept"]] * 4
    corpus = Corpus.of(words, [["B-PER", "O"]] * 8, scheme="iob2", documents=[2] * 4)
    clusters = ClusterColumn(Clusters.of({"Ada": "0", "Bo": "0"}))
    memm = MEMM(Templates.parse("word\nhistory(brown)", annotators=[clusters]), epochs=2).fit(
        corpus
    )
    save(memm, tmp_path / "m.skip")
    found = load(tmp_path / "m.skip").predict(corpus.without_labels()).corpus.labels
    assert found.tolist() == [label for own in memm.predict(corpus) for label in own]


def test_a_first_model_needs_spans_and_to_have_learnt(tmp_path):
    plain = Corpus.of([["Ada"], ["ran"]] * 3, [["N"], ["V"]] * 3, documents=[2] * 3, scheme="none")
    features = Templates.parse(
        "word\nfirst_label", annotators=[StackedPredictions(CRF("word"), folds=2)]
    )
    with pytest.raises(CorpusError, match="mark no spans"):
        CRF(features, epochs=1).fit(plain)
    given = TRAIN
    for name in features.annotators[0].provides:
        given = given.with_column(name, given.words)
    crf = CRF(features, epochs=1).fit(given)
    with pytest.raises(ModelFileError, match="the base model of stacking is not fitted"):
        save(crf, tmp_path / "m.skip")


def test_settings_without_a_first_model_are_refused():
    with pytest.raises(ParameterError, match="ner-knowledge makes none"):
        recipe("ner-knowledge", lexicons=(), epochs=3)
    with pytest.raises(ParameterError, match="that model is given"):
        recipe("ner-full", lexicons=(), first=CRF("word"), epochs=3)
