"""History: labels that depend on how like tokens were labelled earlier in the document."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from skipchain import CRF, MEMM, Corpus, MaxEnt, Tagger, load, save
from skipchain.chains import decode as chains
from skipchain.chains.scores import LabelHistoryWeights
from skipchain.corpus.folds import document_folds
from skipchain.corpus.schemes import convert
from skipchain.datasets.harbour import harbour
from skipchain.errors import (
    ModelFileError,
    ParameterError,
    SkipchainError,
    SkipchainWarning,
    TemplateError,
)
from skipchain.features.label_history import WINDOW, LabelHistory
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.models.chain.hmm import HMM
from skipchain.models.chain.label_history import FOLDS
from skipchain.models.chain.perceptron import Perceptron
from skipchain.models.graph.mop import MoPMEMM
from skipchain.parallel import Workers

ATTACHED = LabelHistory.append_features
TEXT = "word[-1]\nshape\nsuffix(2)\nhistory(lower)"


def plain_shares(keys, documents, labels, t, n_labels, scale=1000, window=WINDOW):
    """By the definition, from all tokens before."""
    found = np.zeros(n_labels)
    for s in range(t):
        if keys[s] == keys[t] != "" and documents[s] == documents[t] and t - s <= window:
            found[labels[s]] += np.exp((s - t) / scale)
    return found / found.sum() if found.any() else found


def story(seed=0, tokens=120, documents=5):
    rng = np.random.default_rng(seed)
    words = [rng.choice(["a", "A", "b", "c", "d"], rng.integers(0, 7)).tolist() for _ in range(30)]
    sizes = np.bincount(rng.integers(0, documents, 30), minlength=documents).tolist()
    return Corpus.of(words, documents=sizes)


@pytest.mark.parametrize("scale", [1000, 3])
def test_shares_are_those_of_the_definition(scale):
    corpus = story()
    label_history = LabelHistory(Templates.parse("lower").templates[0].atoms[0].view, scale)
    keys = [word.lower() for word in corpus.words]
    documents = corpus.document_of(np.arange(corpus.n_tokens)).tolist()
    labels = np.random.default_rng(1).integers(0, 3, corpus.n_tokens).astype(np.int32)
    found = label_history.label_shares(labels, label_history.previous_occurrences(corpus, {}), 3)
    for t in range(corpus.n_tokens):
        expected = plain_shares(keys, documents, labels, t, 3, scale)
        np.testing.assert_allclose(found[t], expected, atol=1e-12)
    assert found.any()


def test_a_token_far_back_is_forgotten():
    corpus = Corpus.of([["a"], ["b"] * (WINDOW - 1), ["a"], ["b"], ["a"]])
    label_history = LabelHistory.parse("history(word)", frozenset())
    labels = np.zeros(corpus.n_tokens, np.int32)
    found = label_history.label_shares(labels, label_history.previous_occurrences(corpus, {}), 1)[
        :, 0
    ]
    assert found[WINDOW] == 1.0
    corpus = Corpus.of([["a"], ["b"] * WINDOW, ["a"]])
    found = label_history.label_shares(
        np.zeros(WINDOW + 2, np.int32), label_history.previous_occurrences(corpus, {}), 1
    )[:, 0]
    assert found[WINDOW + 1] == 0.0
    assert found[WINDOW] == 1.0


def test_a_view_that_has_nothing_is_like_no_other():
    label_history = LabelHistory.parse("history(suffix(2))", frozenset({"suffix"}))
    earlier = label_history.previous_occurrences(Corpus.of([["a", "ab", "b", "cab"]]), {})
    assert earlier.previous.tolist() == [-1, -1, -1, 1]


def test_shares_become_features():
    corpus = story(3)
    _, rows = Vocabulary.fit(corpus, Templates.parse("word\nsuffix(1)"))
    label_history = LabelHistory.parse("history(lower)", frozenset({"lower"}))
    labels = np.random.default_rng(1).integers(0, 3, corpus.n_tokens).astype(np.int32)
    earlier = label_history.previous_occurrences(corpus, {})
    more = label_history.append_features(rows, labels, earlier, 3)
    assert more.n_features == rows.n_features + 3
    flat, shares = more.expanded(), label_history.label_shares(labels, earlier, 3)
    for t in range(corpus.n_tokens):
        where = slice(flat.indptr[t], flat.indptr[t + 1])
        own = dict(zip(flat.indices[where].tolist(), flat.values[where].tolist(), strict=True))
        told = [own.pop(rows.n_features + j, 0.0) for j in range(3)]
        np.testing.assert_allclose(told, shares[t])
        assert set(own.values()) <= {1.0}


# Search ------------------------------------------------------------------------------------------


def plain_beam(model, corpus, scores, width):
    """All hypotheses as lists of labels; what is recalled is counted afresh each time."""
    keys = [word.lower() for word in corpus.words]
    documents = corpus.document_of(np.arange(corpus.n_tokens)).tolist()
    size, weights, recalled = len(model.labels), scores.weights, scores.label_history.weights
    raw = scores.raw((0, len(corpus)))
    limits = scores.with_constraints(raw)
    path = []
    for first, last in zip(corpus.sentences[:-1].tolist(), corpus.sentences[1:], strict=True):
        kept = [((), 0.0)]
        for t in range(first, last):
            at = t if len(raw.edge) > 1 else 0
            grown = []
            for own, score in kept:
                row = raw.node[t].copy()
                ruled = limits.node[t] == -np.inf
                if own:
                    row += raw.edge[at, own[-1]]
                    ruled |= limits.edge[at, own[-1]] == -np.inf
                    if weights.order == 2:
                        row += weights.triples[own[-2] if len(own) > 1 else size, own[-1]]
                row += plain_shares(keys, documents, [*path, *own], t, size) @ recalled
                row -= np.logaddexp.reduce(row)
                grown += [((*own, j), score + row[j]) for j in range(size) if not ruled[j]]
            kept = sorted(grown, key=lambda one: -one[1])[:width]
        path.extend(kept[0][0])
    return path


@pytest.fixture(scope="module")
def fitted():
    train, _ = harbour().split(0.4)
    return {
        order: MEMM(TEXT, order=order, epochs=4, encoding=None, constraints="none").fit(train)
        for order in (1, 2)
    }


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("width", [1, 2, 7])
def test_search_finds_what_the_plain_one_finds(fitted, order, width):
    model = fitted[order].model_
    corpus = harbour().document(5).without_labels()
    corpus = Corpus.concatenate([corpus, harbour().document(7).without_labels()])
    rng = np.random.default_rng(width)
    with Workers(2) as workers:
        scores = model.scores(corpus, workers)
        drawn = rng.normal(0.0, 2.0, model.history_weights.shape)
        for weights in (model.history_weights, drawn):
            own = replace(
                scores, label_history=LabelHistoryWeights(scores.label_history.decay, weights)
            )
            found = chains.beam(own, width, workers)
            assert found.tolist() == plain_beam(model, corpus, own, width)
            if width == 1:
                assert chains.greedy(own, workers).tolist() == found.tolist()


def test_what_the_scheme_forbids_is_not_found():
    train, test = harbour().split(0.75)
    memm = MEMM(TEXT, epochs=3).fit(train)
    with Workers(1) as workers:
        scores = memm.model_.scores(test.without_labels(), workers)
        for width in (1, 4):
            found = chains.beam(scores, width, workers)
            assert memm.model_.constraints.dead_end(
                found[:, None] == np.arange(len(memm.model_.labels)), test.sentences
            ) is None  # fmt: skip
            if width == 4:
                words = test[:40].without_labels()
                part = memm.model_.scores(words, workers)
                plain = plain_beam(memm.model_, words, part, 4)
                assert chains.beam(part, 4, workers).tolist() == plain


def test_nothing_recalled_is_the_plain_model(fitted):
    test = harbour().split(0.75)[1].without_labels()
    model = fitted[1].model_
    with Workers(2) as workers:
        scores = model.scores(test, workers)
        silent = replace(
            scores,
            label_history=LabelHistoryWeights(
                scores.label_history.decay, np.zeros_like(model.history_weights)
            ),
        )
        without = replace(scores, label_history=None)
        np.testing.assert_array_equal(
            chains.greedy(silent, workers), chains.greedy(without, workers)
        )


def test_forced_labels_are_kept_and_recalled(fitted):
    corpus = harbour().document(5).without_labels()
    forced = [None] * corpus.n_tokens
    forced[0] = fitted[1].classes_[0]
    found = Tagger(fitted[1].model_).predict(corpus, forced=forced)
    assert found.corpus.labels.tolist()[0] == forced[0]


# Learning ----------------------------------------------------------------------------------------


def mentions(seed, documents=40):
    """A name whose title tells what it is stands again without one later in the document."""
    rng = np.random.default_rng(seed)
    sentences, labels = [], []
    for _ in range(documents):
        name = "".join(rng.choice(list("klmnopr"), 6)).capitalize()
        kind, title = (("PER", "Mr"), ("LOC", "to"))[rng.integers(2)]
        sentences += [["saw", title, name, "."], ["then", name.upper(), "fell", "."]]
        labels += [["O", "O", f"B-{kind}", "O"], ["O", f"B-{kind}", "O", "O"]]
    return Corpus.of(sentences, labels, scheme="iob2", documents=[2] * documents)


@pytest.mark.parametrize("kind", [MEMM, MaxEnt])
def test_a_name_is_what_it_was_before(kind):
    train, test = mentions(0), mentions(1)
    base = "word[-1]\nlower"
    without = kind(base, epochs=20).fit(train).score(test)
    told = kind(f"{base}\nhistory(lower)", epochs=20).fit(train)
    assert without < 0.9
    assert told.score(test) == 1.0
    names = told.model_.labels
    recalled = told.model_.history_weights
    assert recalled[names.index("S-PER"), names.index("S-PER")] > 0.3
    assert recalled[names.index("S-PER"), names.index("S-LOC")] < -0.1


def test_what_is_recalled_in_training_was_predicted_by_others(monkeypatch):
    train = mentions(0, 20)
    seen = []
    monkeypatch.setattr(LabelHistory, "append_features", lambda self, rows, labels, earlier, size: (
        seen.append(labels), ATTACHED(self, rows, labels, earlier, size))[1])  # fmt: skip
    memm = MEMM("word[-1]\nlower\nhistory(lower)", epochs=5, seed=3).fit(train)
    fold = document_folds(train, FOLDS, seed=3)
    tokens = np.repeat(np.repeat(fold, np.diff(train.documents)), np.diff(train.sentences))
    expected = np.empty(train.n_tokens, object)
    for number in range(FOLDS):
        rest = train.take_documents(np.flatnonzero(fold != number))
        held = train.take_documents(np.flatnonzero(fold == number)).without_labels()
        plain = MEMM("word[-1]\nlower", epochs=5, seed=3, prune=0.0).fit(rest)
        with Workers(1) as workers:
            scores = plain.model_.scores(held, workers)
            found = plain.model_.decode(scores, workers, "greedy").tolist()
        expected[tokens == number] = found
    told = [memm.model_.labels[k] for k in seen[0]]
    assert np.mean([a == b for a, b in zip(told, expected, strict=True)]) > 0.95
    gold = convert(train.labels, train.sentences, "iob2", "bioes").tolist()
    assert told != gold
    seen.clear()
    memm = MEMM("word[-1]\nhistory(lower)", epochs=1, folds=1).fit(train)
    assert [memm.model_.labels[k] for k in seen[0]] == gold
    seen.clear()
    single = Corpus.of([s.words for s in train], [s.labels for s in train], scheme="iob2")
    memm = MEMM("word[-1]\nhistory(lower)", epochs=1).fit(single)
    assert [memm.model_.labels[k] for k in seen[0]] == gold


def test_optimisers_threads_starts_and_passes():
    train, test = mentions(0), mentions(1)
    text = "word[-1]\nlower\nhistory(lower)"
    batch = MEMM(text, solver="lbfgs", l2=0.05, threads=2).fit(train)
    assert batch.score(test) == 1.0
    again = MEMM(text, epochs=2).fit(train, start=batch)
    assert again.score(test) > 0.9
    passes = MEMM(text)
    for _ in range(20):
        passes.partial_fit(train)
    assert passes.score(test) > 0.9
    assert Tagger(batch.model_, threads=2).predict(test).corpus.labels == (
        Tagger(batch.model_, threads=1).predict(test).corpus.labels
    )


def test_it_is_kept_in_the_model_file(tmp_path, fitted):
    corpus = harbour().split(0.75)[1].without_labels()
    model = fitted[2].model_
    save(model, tmp_path / "m.skip")
    loaded = load(tmp_path / "m.skip").model
    assert str(loaded.label_history) == "history(lower)"
    np.testing.assert_array_equal(loaded.history_weights, model.history_weights)
    assert (
        Tagger(loaded).predict(corpus).corpus.labels == Tagger(model).predict(corpus).corpus.labels
    )


@pytest.mark.parametrize("broken", [np.zeros((2, 2)), np.nan])
def test_a_damaged_file_is_refused(tmp_path, fitted, broken):
    model = fitted[1].model_
    wrong = np.full_like(model.history_weights, np.nan) if broken is np.nan else broken
    with pytest.raises(ModelFileError, match="cannot be saved: recalled"):
        save(replace(model, history_weights=wrong), tmp_path / "m.skip")


# Text and refusals -------------------------------------------------------------------------------


def test_the_line_is_read_and_written():
    text = "word\nsuffix(3)\nhistory(lower, 200)"
    assert Templates.parse(text).text == text
    assert (
        Templates.parse("history( word , 1000 )  # as before\nword").text == "word\nhistory(word)"
    )
    assert Templates.parse("word\nhistory(prefix(lower, 4))").label_history.scale == 1000
    assert Templates.parse("word\nhistory(lemma?)").columns == {"word", "lemma"}
    assert Templates.parse("word").label_history is None
    assert str(Templates.parse("history\nword").templates[0]) == "history"  # a column
    corpus = Corpus.of([["a"]])
    assert Templates.parse("word\nhistory(lemma?)").for_corpus(corpus).label_history is None
    kept = Templates.parse("word\nhistory(lower)").for_corpus(corpus)
    assert kept.text == "word\nhistory(lower)"
    assert kept.dependent().label_history == kept.label_history


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("word\nhistory(lower) & word", "line 2: cannot read 'history"),
        ("word\nhistory()", "line 2: cannot read 'history"),
        ("history(word[-1])\nword", "line 1: cannot read 'history"),
        ("word\nhistory(nothing(3))", "there is no view 'nothing'"),
        ("word\nhistory(lower, 0)", "the scale must be at least 1"),
        ("word\nhistory(lower)\nhistory(word)", "line 3: there is a second history"),
        ("word\nhistory(ngrams(2))", "is not one string"),
        ("word\nhistory(value(size))", "is not one string"),
        ("word\nhistory(suffix)", "suffix"),
        ("word & history(lower)", "there is no view 'history'"),
        ("history(lower)", "there is no template"),
    ],
)
def test_lines_that_make_no_sense(text, fault):
    with pytest.raises(TemplateError, match=fault):
        Templates.parse(text)


def test_a_view_of_several_strings_is_refused():
    templates = Templates.parse("word\nhistory(both)", {"both": lambda word: [word, "x"]})
    with pytest.raises(ParameterError, match="several strings"):
        MEMM(templates).fit(mentions(0, 3))


@pytest.mark.parametrize("kind", [CRF, HMM, Perceptron, MoPMEMM])
def test_models_that_label_all_at_once_refuse_it(kind):
    with pytest.raises(ParameterError, match=r"history\(lower\).*MEMM and MaxEnt"):
        kind("word\nhistory(lower)").fit(mentions(0, 3))


def test_what_a_search_cannot_tell(fitted):
    corpus = harbour()[:5].without_labels()
    memm = fitted[1]
    with pytest.raises(
        SkipchainError, match=r"left to right.*no decoder 'viterbi'; it has beam, greedy"
    ):
        memm.predict(corpus, decoder="viterbi")
    with pytest.raises(SkipchainError, match="no viterbi, marginals"):
        memm.predict_marginals(corpus)
    with pytest.raises(SkipchainError, match="no viterbi, marginals"):
        memm.predict_nbest(corpus, 2)
    with pytest.raises(SkipchainError, match="cannot be explained"):
        Tagger(memm.model_).explain(corpus, 0)
    from skipchain.models.document.model import FactoredModel

    with pytest.raises(SkipchainError, match="factors need"):
        FactoredModel.from_chain(memm.model_, [])


def test_settings_that_do_not_go_with_it():
    corpus = mentions(0, 3)
    with pytest.raises(ParameterError, match="CRF has no parameter 'folds'"):
        CRF("word", folds=2).fit(corpus)
    with pytest.raises(ParameterError, match="folds must be a whole number of at least 1"):
        MEMM("word\nhistory(lower)", folds=0).fit(corpus)
    with pytest.raises(ParameterError, match="order 1 or 2, got order 3"):
        MEMM("word\nhistory(lower)", order=3).fit(corpus)
    labels = [[None if k else label for k, label in enumerate(s.labels)] for s in corpus]
    partial = Corpus.of([s.words for s in corpus], labels, scheme="iob2")
    with pytest.raises(ParameterError, match="needs full labels"):
        MEMM("word\nhistory(lower)").fit(partial)
    with pytest.raises(TemplateError, match="reads column 'lemma'"):
        MEMM("word\nhistory(lemma)").fit(corpus)


def test_documents_of_one_sentence_are_warned_of():
    corpus = mentions(0, 3)
    cut = Corpus.of(
        [s.words for s in corpus], [s.labels for s in corpus], scheme="iob2",
        documents=[1] * len(corpus),
    )  # fmt: skip
    with pytest.warns(SkipchainWarning, match="every document is one sentence"):
        MEMM("word\nhistory(lower)", epochs=1).fit(cut)


def test_command_line(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    mentions(0).write(tmp_path / "train.conll")
    mentions(1).write(tmp_path / "test.conll")
    (tmp_path / "t.txt").write_text("word[-1]\nlower\nhistory(lower)\n")
    code, _, err = run(
        "train", "train.conll", "--model", "memm", "--features", "t.txt", "--epochs", 20,
        "-o", "m.skip",
    )  # fmt: skip
    assert code == 0, err
    for extra in ((), ("--decoder", "greedy"), ("--decoder", "beam", "--beam", 3)):
        code, out, _ = run("eval", "m.skip", "test.conll", "--json", *extra)
        assert json.loads(out)["f1"] == 100.0
    code, out, _ = run("tag", "m.skip", "test.conll")
    assert code == 0
    assert out.count("B-PER") > 10
    code, out, _ = run("inspect", "m.skip")
    assert "history(lower)" in out
    assert "like tokens before" in out
    code, _, err = run("tag", "m.skip", "test.conll", "--decoder", "viterbi")
    assert code == 2
    assert "from left to right" in err
    code, _, err = run("train", "train.conll", "--features", "t.txt", "-o", "n.skip")
    assert code == 2
    assert "only models that label from left to right can use it: MEMM and MaxEnt" in err
