"""Columns of numbers as features: equal to dicts and matrices, on a scale that is kept."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipchain import CRF, MEMM, Corpus, MaxEnt, Perceptron, Templates, load, save
from skipchain.errors import FeatureError, TemplateError
from skipchain.features.numbers import NotANumber, Scale, parse_numbers
from skipchain.features.vocabulary import Vocabulary
from skipchain.modelfile import load_model, read_arrays

WORDS = ["sun", "rain", "wind"]
EXACT = {"solver": "lbfgs", "tolerance": 1e-12, "max_iterations": 400, "l2": 0.3, "threads": 1}


def weather(seed=0, size=15, gaps=True):
    """Sentences with a number and a vector of three a word; a label follows from the number."""
    rng = np.random.default_rng(seed)
    words, heat, vectors, labels = [], [], [], []
    for length in rng.integers(1, 6, size):
        own = rng.normal(20.0, 8.0, length).round(2)
        missing = rng.random(length) < (0.2 if gaps else 0.0)
        words.append([WORDS[k] for k in rng.integers(0, 3, length)])
        heat.append(["_" if m else str(x) for x, m in zip(own, missing, strict=True)])
        vectors.append([",".join(map(str, row)) for row in rng.normal(size=(length, 3)).round(3)])
        labels.append(["hot" if x + rng.normal(0, 4) > 20 else "cold" for x in own])
    return Corpus.of(words, labels, heat=heat, vec=vectors, scheme="none")


def column(corpus, name):
    """Per sentence, the cells as floats or None."""
    return [
        [None if cell in ("", "_") else float(cell) for cell in sentence.column(name)]
        for sentence in corpus
    ]


def entries(vocabulary, rows, transition=False):
    """Per token, its features' names and values."""
    names = vocabulary.names(transition=transition)
    index = rows.edges if transition else rows.expanded()
    values = index.values if len(index.values) else np.ones(len(index.indices))
    bounds = index.indptr
    return [
        {names[k]: v for k, v in zip(index.indices[a:b], values[a:b].tolist(), strict=True)}
        for a, b in pairwise(bounds.tolist())
    ]


SMALL = Corpus.of(
    [["a", "b", "c"], ["d", "e"]],
    t=[["1.5", "_", "-2"], ["", "1e1"]],
    v=[["1,2", "3 4", "0, -1"], ["_", "0,0"]],
)


def test_numbers_are_values_beside_strings():
    vocabulary, rows = Vocabulary.fit(
        SMALL, Templates.parse("word\nshape\nvalue(t, raw)[-1..0]\nvector(v, raw)")
    )
    a, b = "value(t, raw)", "value(t, raw)[-1]"
    v, w = "vector(v, raw)=0", "vector(v, raw)=1"
    assert entries(vocabulary, rows) == [
        {"word=a": 1.0, "shape=x": 1.0, a: 1.5, v: 1.0, w: 2.0},
        {"word=b": 1.0, "shape=x": 1.0, b: 1.5, v: 3.0, w: 4.0},
        {"word=c": 1.0, "shape=x": 1.0, a: -2.0, w: -1.0},
        {"word=d": 1.0, "shape=x": 1.0},
        {"word=e": 1.0, "shape=x": 1.0, a: 10.0},
    ]
    assert rows.bundles.n_rows > 0  # strings of one column still share units
    assert rows.n_active == len(rows.expanded().indices) == 19


def test_numbers_go_with_label_pairs():
    vocabulary, rows = Vocabulary.fit(
        SMALL, Templates.parse("word\nlabel[-1] & value(t, raw)\nlabel[-1] & word")
    )
    name = "label[-1] & value(t, raw)"
    found = entries(vocabulary, rows, transition=True)
    assert [own.get(name) for own in found] == [1.5, None, -2.0, None, 10.0]
    assert [len(own) for own in found] == [2, 1, 2, 1, 2]


def test_a_standard_scale_is_learnt_over_tokens():
    corpus = Corpus.of([list("abcdef")], t=[["1", "4", "4", "_", "1", "10"]])
    vocabulary, rows = Vocabulary.fit(corpus, Templates.parse("value(t)\nvalue(t)[1]"))
    present = np.array([1.0, 4.0, 4.0, 1.0, 10.0])
    wanted = (present - present.mean()) / present.std()
    found = [own.get("value(t)") for own in entries(vocabulary, rows)]
    assert found[3] is None
    assert [x for x in found if x is not None] == pytest.approx([x for x in wanted if x])
    # another corpus is brought to the same scale, not to its own
    other = vocabulary.encode(Corpus.of([["x", "y"]], t=[["7", "10"]]))
    first, second = entries(vocabulary, other)
    assert first["value(t)"] == pytest.approx((7 - present.mean()) / present.std())
    assert first["value(t)[1]"] == second["value(t)"] == pytest.approx(wanted[-1])


@pytest.mark.parametrize("numbers", [["3", "3", "3"], ["0.1", "0.1", "0.1"], ["_", "_", ""]])
def test_a_number_that_never_changes_tells_nothing(numbers):
    corpus = Corpus.of([list("abc")], t=[numbers])
    vocabulary, rows = Vocabulary.fit(corpus, Templates.parse("value(t)\nword"))
    assert rows.n_active == 3
    assert vocabulary.names() == ["word=a", "word=b", "word=c"]


def test_huge_and_tiny_numbers_keep_a_scale():
    for factor in (1e300, 1e-300):
        scale = Scale.fit(np.array([[1.0], [3.0]]) * factor, np.array([1, 1]))
        np.testing.assert_allclose(scale.apply(np.array([[1.0], [3.0]]) * factor), [[-1], [1]])


def test_text_comes_back():
    text = (
        "value(t)\nvalue(t, raw)[-1]\nvector(v)\nvalue(word)\nvalue(find(\"[0-9]+\"), raw)\n"
        "label[-1] & value(t)\nvalue(t?)\nvalue\nvalue[1]\nvalue(value)"
    )  # fmt: skip
    templates = Templates.parse(text)
    assert templates.text == text
    assert str(Templates.parse("value(t,raw) [ -1 .. 0 ]").templates[0]) == "value(t, raw)[-1]"


def test_a_column_may_be_called_value():
    corpus = Corpus.of([["a", "b"]], value=[["1", "2"]])
    vocabulary, _ = Vocabulary.fit(corpus, Templates.parse("value\nvalue(value, raw)"))
    assert vocabulary.names() == ["value=1", "value=2", "value(value, raw)"]


def test_optional_columns_and_views_of_strings():
    corpus = Corpus.of([["B-52", "ten"]])
    own = {"length": lambda word: str(len(word))}
    templates = Templates.parse('value(t?)\nvalue(find("[0-9]+"), raw)\nvalue(length, raw)', own)
    vocabulary, rows = Vocabulary.fit(corpus, templates)
    digits, length = 'value(find("[0-9]+"), raw)', "value(length, raw)"
    assert entries(vocabulary, rows) == [{digits: 52.0, length: 4.0}, {length: 3.0}]


# The same model by every path ------------------------------------------------------------------


def marginals(model, given):
    return np.concatenate(model.predict_marginals(given))


@pytest.mark.parametrize("kind", [CRF, MEMM, MaxEnt])
def test_templates_dicts_and_matrices_have_one_optimum(kind):
    train, test = weather(0), weather(1)
    heat = [x for own in column(train, "heat") for x in own if x is not None]
    mean, deviation = np.mean(heat), np.std(heat)

    def dicts(corpus):
        return [
            [
                {"word": word, **({} if x is None else {"t": (x - mean) / deviation}), "v": v}
                for word, x, v in zip(s.words, own, vectors, strict=True)
            ]
            for s, own, vectors in zip(
                corpus, column(corpus, "heat"), vectors_of(corpus), strict=True
            )
        ]

    def matrices(corpus):
        return [
            np.column_stack(
                [
                    *[[float(word == w) for word in s.words] for w in WORDS],
                    [0.0 if x is None else (x - mean) / deviation for x in own],
                    np.array(vectors),
                ]
            )
            for s, own, vectors in zip(
                corpus, column(corpus, "heat"), vectors_of(corpus), strict=True
            )
        ]

    labels = [s.labels for s in train]
    by_template = kind("word\nvalue(heat)\nvector(vec, raw)", **EXACT).fit(train)
    by_dict = kind(**EXACT).fit(dicts(train), labels)
    by_matrix = kind(**EXACT).fit(matrices(train), labels)
    assert by_template.result_.loss == pytest.approx(by_dict.result_.loss, rel=1e-9)
    assert by_template.result_.loss == pytest.approx(by_matrix.result_.loss, rel=1e-9)
    wanted = marginals(by_template, test)
    np.testing.assert_allclose(marginals(by_dict, dicts(test)), wanted, atol=1e-5)
    np.testing.assert_allclose(marginals(by_matrix, matrices(test)), wanted, atol=1e-5)
    assert abs(wanted - 0.5).max() > 0.3


def vectors_of(corpus):
    return [
        [np.array([float(x) for x in cell.split(",")]) for cell in s.column("vec")] for s in corpus
    ]


@pytest.mark.parametrize("settings", [{"solver": "sgd"}, {"solver": "adagrad"}])
def test_numbers_help_where_words_tell_nothing(settings):
    train, test = weather(2, 200, gaps=False), weather(3, 100, gaps=False)
    plain = CRF("word", threads=1, **settings).fit(train).score(test)
    better = CRF("word\nvalue(heat)", threads=1, **settings).fit(train).score(test)
    assert better > plain + 0.15


def test_the_perceptron_takes_numbers():
    train = weather(2, 200, gaps=False)
    found = Perceptron("word\nvalue(heat)\nlabel[-1] & value(heat)", threads=1).fit(train)
    assert found.score(weather(3, 100, gaps=False)) > 0.7


# Model files -----------------------------------------------------------------------------------


def test_a_model_file_keeps_the_scale(tmp_path):
    train, test = weather(0), weather(1)
    crf = CRF("word\nvalue(heat)[-1..1]\nvector(vec)", **EXACT).fit(train)
    save(crf, tmp_path / "m.skip")
    _, arrays = read_arrays(tmp_path / "m.skip")
    heat = [x for own in column(train, "heat") for x in own if x is not None]
    np.testing.assert_allclose(arrays["view.1.mean"], [np.mean(heat)])
    np.testing.assert_allclose(arrays["view.1.deviation"], [np.std(heat)])
    model = load_model(tmp_path / "m.skip")
    assert model.features.templates.text.count("value(heat)") == 3
    tagged = load(tmp_path / "m.skip").predict(test).corpus
    assert tagged.labels.tolist() == [y for own in crf.predict(test) for y in own]


def test_a_vector_keeps_the_chosen_places():
    templates = Templates.parse("word\nvector(v, raw)\nvalue(t)")
    vocabulary, rows = Vocabulary.fit(SMALL, templates)
    whole = entries(vocabulary, rows)
    dropped = {"vector(v, raw)=0", "word=b"}
    mask = np.array([name not in dropped for name in vocabulary.names()])
    pruned = vocabulary.keep(mask, np.zeros(0, np.bool_))
    again = Vocabulary.from_arrays(templates, pruned.to_arrays())
    rows = again.encode(SMALL)
    assert entries(again, rows) == [
        {name: x for name, x in own.items() if name not in dropped} for own in whole
    ]
    assert rows.unknown == 3  # the word and two numbers that are not zero


def test_places_of_a_vector_that_weigh_nothing_are_left_out(tmp_path):
    train = weather(0, 60)
    crf = CRF("vector(vec)\nvalue(heat)", **{**EXACT, "l1": 4.0}).fit(train)
    kept = crf.model_.features.n_features
    assert 0 < kept < 4
    save(crf, tmp_path / "m.skip")
    tagged = load(tmp_path / "m.skip").predict(train).corpus
    assert tagged.labels.tolist() == [y for own in crf.predict(train) for y in own]


@pytest.mark.parametrize(
    ("name", "array", "told"),
    [
        ("view.1.mean", None, "lacks"),
        ("view.1.mean", np.array([np.nan]), "finite"),
        ("view.1.deviation", np.array([0.0]), "wanted at least"),
        ("view.1.deviation", np.array([1.0, 1.0]), "has the shape"),
        ("view.1.mean", np.array([1], np.int32), "int32"),
    ],
)
def test_a_damaged_scale_is_refused(name, array, told):
    vocabulary = CRF("word\nvalue(heat)", **EXACT).fit(weather(0)).model_.features
    arrays = {**vocabulary.to_arrays(), name: array}
    if array is None:
        del arrays[name]
    with pytest.raises((ValueError, KeyError), match=name if array is None else told):
        Vocabulary.from_arrays(vocabulary.templates, arrays)


# Mistakes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("warm", "token 3, value(heat): 'warm' is no finite number"),
        ("nan", "token 3, value(heat): 'nan' is no finite number"),
        ("-inf", "token 3, value(heat): '-inf' is no finite number"),
        ("1e999", "'1e999' is no finite number"),
        ("3,5", "'3,5' is no finite number"),
        ("1_000", "'1_000' is no finite number"),
        (1.5, "1.5 is a float, but columns hold strings"),
    ],
)
def test_bad_numbers_are_named(cell, told):
    bad = Corpus.of([["a", "b"], ["c", "d"]], heat=[["1", "2"], ["_", cell]])
    with pytest.raises(FeatureError) as error:
        Vocabulary.fit(bad, Templates.parse("value(heat)"))
    assert told in str(error.value)
    assert "\n" not in str(error.value)
    vocabulary, _ = Vocabulary.fit(weather(), Templates.parse("value(heat)"))
    with pytest.raises(FeatureError) as error:
        vocabulary.encode(bad)
    assert told in str(error.value)


def test_numbers_that_leave_their_scale_are_named():
    far = [["1.7e308", "-1.7e308", "-1.7e308"]]
    with pytest.raises(FeatureError, match=r"token 0: feature value inf is not finite"):
        Vocabulary.fit(Corpus.of([["a", "b", "c"]], t=far), Templates.parse("word\nvalue(t)"))


NUMBER = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(str),
    st.floats(-1e6, 1e6).map(lambda x: f"{x:.4f}"),
    st.integers(-(10**20), 10**20).map(str),
    st.from_regex(r"[+-]?[0-9]{0,18}\.?[0-9]{1,18}([eE][+-]?[0-9]{1,2})?", fullmatch=True),
)


@given(st.lists(st.lists(NUMBER, min_size=2, max_size=2), min_size=1), st.sampled_from(" ,"))
def test_numbers_are_read_to_the_last_bit(rows, between):
    cells = [between.join(own) for own in rows]
    found, present = parse_numbers(cells, several=True)
    wanted = [[float(x) for x in own] for own in rows]
    np.testing.assert_array_equal(found.view(np.int64), np.array(wanted).view(np.int64))
    assert present.all()
    single, _ = parse_numbers([own[0] for own in rows], several=False)
    np.testing.assert_array_equal(single[:, 0], found[:, 0])


@given(
    st.lists(st.text("0123456789+-.eE ,_\tx٣", max_size=6), min_size=1, max_size=3), st.booleans()
)
def test_any_cell_is_read_as_python_reads_it(cells, several):
    def plain(cell):
        parts = cell.replace(",", " ").split() if several else [cell]
        if any("_" in part for part in parts):
            raise ValueError
        return [float(part) for part in parts]

    try:
        wanted = [None if cell.strip() in ("", "_") else plain(cell) for cell in cells]
        known = [own for own in wanted if own is not None]
        bad = len(set(map(len, known))) > 1 or not all(np.isfinite(own).all() for own in known)
    except ValueError:
        bad = True
    if bad:
        with pytest.raises(NotANumber):
            parse_numbers(cells, several=several)
        return
    found, present = parse_numbers(cells, several=several)
    assert present.tolist() == [own is not None for own in wanted]
    for row, own in zip(found.tolist(), wanted, strict=True):
        assert row == (own if own is not None else [0.0] * found.shape[1])


def test_vectors_have_one_length():
    bad = Corpus.of([["a", "b", "c"]], v=[["_", "1 2", "1 2 3"]])
    with pytest.raises(FeatureError, match=r"token 2, vector.*holds 3 numbers, wanted 2"):
        Vocabulary.fit(bad, Templates.parse("vector(v)"))
    vocabulary, _ = Vocabulary.fit(weather(), Templates.parse("vector(vec)"))
    with pytest.raises(FeatureError, match=r"token 1, vector.*holds 2 numbers, wanted 3"):
        vocabulary.encode(Corpus.of([["a", "b"]], vec=[["_", "1 2"]]))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("word & value(t)", "goes with no other view"),
        ("value(t) & label[-1] & word", "goes with no other view"),
        ("bag(value(t), 0..1)", "into no bag"),
        ("lower(value(t))", "views look at strings"),
        ("value(vector(t))", "views look at strings"),
        ("value(ngrams)", "several values"),
        ("value(t, x)", "wanted 'raw', got 'x'"),
        ("value(3)", "takes a column and 'raw'"),
        ("value(label)", "what is to be predicted"),
        ("value(t, raw, raw)", "takes a column and 'raw'"),
    ],
)
def test_templates_that_cannot_be(text, told):
    with pytest.raises(TemplateError, match=told):
        Templates.parse(text)


def test_a_missing_column_is_named():
    with pytest.raises(TemplateError, match="reads column 'heat'"):
        CRF("value(heat)").fit(Corpus.of([["a"]], [["x"]], scheme="none"))


def test_arrays_in_dicts():
    X = [[{"w": "a", "v": np.array([0.5, 0.0, 2])}, {"v": np.array([1.0, 1.0, 1.0])}]]
    crf = CRF(**EXACT).fit(X, [["A", "B"]])
    assert crf.model_.features.names() == ["w:a", "v:0", "v:2", "v:1"]
    with pytest.raises(FeatureError, match="'v:1' has the value nan"):
        crf.predict([[{"v": np.array([0.0, np.nan])}]])
    with pytest.raises(FeatureError, match="'v' has a value of type ndarray"):
        crf.predict([[{"v": np.zeros((2, 2))}]])
