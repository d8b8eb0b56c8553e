"""The columnar feature machinery against a plain extractor: one token, one template at a time."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain.corpus import Column, Corpus
from skipchain.errors import FeatureError, TemplateError
from skipchain.features.template import MAX_COMBINATIONS, Atom, Template, View
from skipchain.features.templates import Templates, combinations
from skipchain.features.vocabulary import Vocabulary

QUICK = settings(max_examples=80, deadline=None)

# The plain extractor ---------------------------------------------------------------------------


class Boundary(str):
    """A place outside a sentence; never equal to a word."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        return self is other


BEFORE, AFTER = Boundary("<s>"), Boundary("</s>")


def maybe(word):
    return word[1:] if len(word) != 1 else None


def several(word):
    return [word[:1], word[-1:], word[:1]] if word else []


def unordered(word, *extra):
    return {*word, *map(str, extra)}


def sometimes(word):
    """All forms that a view's answer can have."""
    return [None, word.upper(), [], (word, "x"), frozenset(word)][len(word) % 5]


OWN = {"maybe": maybe, "several": several, "unordered": unordered, "sometimes": sometimes}


def kind(letter):
    if letter.isupper():
        return "X"
    if letter.islower():
        return "x"
    return "d" if letter.isdigit() else letter


def shape(s):
    return "".join(map(kind, s))


def found(s, pattern):
    hit = re.search(pattern, s)
    return {hit[0]} if hit else set()


def grams(s, shortest=1, longest=50):
    padded = f"<{s}>"
    every = (padded[a:b] for a in range(len(padded)) for b in range(a + 1, len(padded) + 1))
    return {gram for gram in every if shortest <= len(gram) <= longest}


def words(s, shortest=1):
    cut = "".join(c if c.isalnum() else " " for c in s)
    return {word.lower() for word in cut.split() if len(word) >= shortest}


BUILT_IN = {
    "lower": lambda s: {s.lower()},
    "shape": lambda s: {shape(s)},
    "shortshape": lambda s: {"".join(k for k, _ in itertools.groupby(shape(s)))},
    "digits": lambda s: {"".join("0" if c.isdigit() else c for c in s)},
    "prefix": lambda s, n: {s[:n]} if len(s) >= n else set(),
    "suffix": lambda s, n: {s[len(s) - n :]} if len(s) >= n else set(),
    "match": lambda s, pattern: {"yes"} if re.search(pattern, s) else set(),
    "find": found,
    "ngrams": grams,
    "words": words,
}


def look(view, value):
    """The set of a view's values for one string."""
    if view.function is None:
        return {value}
    seen = set()
    for inner in look(view.source, value):
        if view.function in OWN:
            answer = OWN[view.function](inner, *view.arguments)
            answer = [] if answer is None else [answer] if isinstance(answer, str) else answer
        else:
            answer = BUILT_IN[view.function](inner, *view.arguments)
        seen.update(answer)
    return seen


def atom_values(atom, sentence, t):
    if len(atom.offsets) == 1:
        place = t + atom.offsets[0]
        if place < 0:
            return {BEFORE}
        return (
            look(atom.view, sentence[place][atom.view.column]) if place < len(sentence) else {AFTER}
        )
    places = [t + k for k in atom.offsets if 0 <= t + k < len(sentence)]
    return {value for p in places for value in look(atom.view, sentence[p][atom.view.column])}


def extract(sentences, templates, transition):
    """For each token the set of its features, each a pair of template and values."""
    return [
        {
            (str(template), values)
            for template in templates
            if template.transition == transition
            for values in itertools.product(*(atom_values(a, sentence, t) for a in template.atoms))
        }
        for sentence in sentences
        for t in range(len(sentence))
    ]


# What the package says -------------------------------------------------------------------------


def keys_of(vocabulary, transition):
    """The same pairs for each feature of a vocabulary, in the order of their numbers."""
    keys = []
    for template, rows in zip(vocabulary.templates.templates, vocabulary.rows, strict=True):
        if template.transition == transition:
            tables = [
                [BEFORE, AFTER, *vocabulary.views[atom.view].tolist()] for atom in template.atoms
            ]
            keys += [
                (str(template), tuple(table[c] for table, c in zip(tables, row, strict=True)))
                for row in rows.tolist()
            ]
    return keys


def encoded(vocabulary, rows, transition):
    """The features of each token, as pairs."""
    keys = keys_of(vocabulary, transition)
    index = rows.edges if transition else rows.expanded()
    assert len(keys) == (rows.n_edge_features if transition else rows.n_features)
    assert len(keys) == (vocabulary.n_edge_features if transition else vocabulary.n_features)
    assert len(set(keys)) == len(keys)
    out = []
    for a, b in itertools.pairwise(index.indptr.tolist()):
        token = [keys[f] for f in index.indices[a:b].tolist()]
        assert len(set(token)) == len(token)
        out.append(set(token))
    return out


def agrees(vocabulary, rows, sentences):
    """Whether rows hold exactly the vocabulary's features of the sentences; counts the others."""
    lost = 0
    for transition in (False, True):
        wanted = extract(sentences, vocabulary.templates.templates, transition)
        known = set(keys_of(vocabulary, transition))
        got = encoded(vocabulary, rows, transition)
        assert got == [token & known for token in wanted]
        lost += sum(len(token - known) for token in wanted)
        if not transition:
            assert rows.n_active == sum(map(len, got))
    assert rows.unknown == lost


def corpus_of(sentences):
    return Corpus.of(
        [[token["word"] for token in sentence] for sentence in sentences],
        pos=[[token["pos"] for token in sentence] for sentence in sentences],
    )


# Strategies ------------------------------------------------------------------------------------

WORDS = st.one_of(
    st.sampled_from(
        [
            "a", "A", "aa", "aaa", "Bo", "bo", "x-1", "1996", "", "ß", "İ", "é", "日本", "²", "𝄞𝄞",
            "McD", "a|b", "b|a", "|", "a=b", "=", "b_B a", "<s>", "</s>", "\\", "\\<s>", "\\|",
        ]
    ),
    st.text(max_size=4),
)  # fmt: skip
TOKENS = st.fixed_dictionaries({"word": WORDS, "pos": st.sampled_from(["N", "V", "n1"])})
SENTENCES = st.lists(st.lists(TOKENS, max_size=5), max_size=4)


BUILTIN_VIEWS = [
    ("lower",), ("shape",), ("shortshape",), ("digits",), ("maybe",),
    ("prefix", 1), ("prefix", 2), ("suffix", 1), ("suffix", 2),
    ("match", "[a-z]+"), ("match", "1"), ("find", "[a-z]+"), ("find", "x*"),
]  # fmt: skip
MULTI_VALUED = [
    ("ngrams",), ("ngrams", 2, 3), ("ngrams", 1, 1), ("ngrams", 1, 10**30),
    ("several",), ("unordered",), ("unordered", 7, "x"), ("sometimes",),
    ("words",), ("words", 2), ("words", 10**30),
]  # fmt: skip


@st.composite
def views(draw):
    """A column under up to two functions of one value, perhaps with one of several on top."""
    view = View(draw(st.sampled_from(["word", "word", "pos"])))
    functions = draw(st.lists(st.sampled_from(BUILTIN_VIEWS), max_size=2))
    functions += draw(st.lists(st.sampled_from(MULTI_VALUED), max_size=1))
    for name, *arguments in functions:
        view = View(view.column, name, view, tuple(arguments))
    return view


OFFSETS = st.one_of(
    st.sampled_from([(-2, -1), (0, 1), (-1, 1), (1, 3), (-7, 7)]).map(
        lambda ab: tuple(range(ab[0], ab[1] + 1))
    ),
    st.sampled_from([0, 0, 0, -1, 1, 2, -9, 9]).map(lambda k: (k,)),
)
ATOMS = st.builds(Atom, views(), OFFSETS)
TEMPLATES = st.lists(
    st.builds(Template, st.lists(ATOMS, min_size=1, max_size=3).map(tuple), st.booleans()).filter(
        lambda template: combinations(template) <= MAX_COMBINATIONS
    ),
    min_size=1,
    max_size=5,
    unique=True,
).map(lambda found: Templates(tuple(found), OWN))


# Tests -----------------------------------------------------------------------------------------


@QUICK
@given(SENTENCES, TEMPLATES, st.integers(0, 3))
def test_fit_collects_what_the_plain_extractor_sees(sentences, templates, min_count):
    vocabulary, rows = Vocabulary.fit(corpus_of(sentences), templates, min_count)
    agrees(vocabulary, rows, sentences)
    for transition in (False, True):
        tokens = extract(sentences, templates.templates, transition)
        counts = Counter(key for token in tokens for key in token)
        often = {key for key, count in counts.items() if count >= min_count}
        assert set(keys_of(vocabulary, transition)) == often


@QUICK
@given(SENTENCES, SENTENCES, TEMPLATES, st.integers(1, 2))
def test_encode_keeps_known_features_and_counts_the_others(before, after, templates, min_count):
    vocabulary, rows = Vocabulary.fit(corpus_of(before), templates, min_count)
    agrees(vocabulary, vocabulary.encode(corpus_of(after)), after)
    again = vocabulary.encode(corpus_of(before))
    assert again.unknown == rows.unknown
    for transition in (False, True):
        assert encoded(vocabulary, again, transition) == encoded(vocabulary, rows, transition)


@QUICK
@given(SENTENCES, TEMPLATES)
def test_names_are_the_pairs_written_out_and_differ(sentences, templates):
    vocabulary, _ = Vocabulary.fit(corpus_of(sentences), templates)
    for transition in (False, True):
        names = vocabulary.names(transition=transition)
        assert len(set(names)) == len(names)
        for name, (template, values) in zip(names, keys_of(vocabulary, transition), strict=True):
            if not any("|" in v or "\\" in v or v in ("<s>", "</s>") for v in map(str, values)):
                assert name == f"{template}={'|'.join(values)}"


@QUICK
@given(SENTENCES, SENTENCES, TEMPLATES, st.randoms(use_true_random=False))
def test_keep_leaves_the_chosen_features(before, after, templates, random):
    vocabulary, _ = Vocabulary.fit(corpus_of(before), templates)
    share = random.choice([0.0, 0.3, 1.0])
    masks = [
        np.array([random.random() < share for _ in range(n)], np.bool_)
        for n in (vocabulary.n_features, vocabulary.n_edge_features)
    ]
    pruned = vocabulary.keep(*masks)
    for transition, mask in zip((False, True), masks, strict=True):
        for read in (keys_of, lambda v, t: v.names(transition=t)):
            kept = list(itertools.compress(read(vocabulary, transition), mask))
            assert read(pruned, transition) == kept
    for sentences in (before, after):
        agrees(pruned, pruned.encode(corpus_of(sentences)), sentences)
    for view, strings in pruned.views.items():  # the text shrinks with the strings
        if len(strings) < len(vocabulary.views[view]):
            assert len(strings.text) <= strings.lengths.sum()


@QUICK
@given(SENTENCES, SENTENCES, TEMPLATES, st.booleans())
def test_arrays_and_template_text_hold_all_of_a_vocabulary(before, after, templates, pruned):
    vocabulary, _ = Vocabulary.fit(corpus_of(before), templates)
    if pruned:
        half = [np.arange(n) % 2 == 0 for n in (vocabulary.n_features, vocabulary.n_edge_features)]
        vocabulary = vocabulary.keep(*half)
    read = Templates.parse(vocabulary.templates.text, OWN)
    assert read.templates == vocabulary.templates.templates
    copy = Vocabulary.from_arrays(read, vocabulary.to_arrays())
    for transition in (False, True):
        assert copy.names(transition=transition) == vocabulary.names(transition=transition)
    agrees(copy, copy.encode(corpus_of(after)), after)


@QUICK
@given(SENTENCES, TEMPLATES, st.integers(0, 4), st.integers(0, 4))
def test_a_slice_is_read_like_a_copy_of_it(sentences, templates, first, last):
    whole = corpus_of(sentences)
    part = whole[first:last]
    vocabulary, rows = Vocabulary.fit(part, templates)
    agrees(vocabulary, rows, sentences[first:last])
    copied, _ = Vocabulary.fit(corpus_of(sentences[first:last]), templates)
    for view, strings in vocabulary.views.items():  # nothing from outside the slice is stored
        assert set(strings.tolist()) == set(copied.views[view].tolist())
    everything, _ = Vocabulary.fit(whole, templates)
    agrees(everything, everything.encode(part), sentences[first:last])


@QUICK
@given(SENTENCES, TEMPLATES, st.randoms(use_true_random=False))
def test_the_numbering_of_values_does_not_matter(sentences, templates, random):
    corpus = corpus_of(sentences)
    renumbered = corpus
    for name, column in corpus.columns.items():
        values = [*column.values, "never seen", "nor this"]
        order = random.sample(range(len(values)), len(values))
        place = np.argsort(order).astype(np.int32)
        moved = Column(place[column.codes], tuple(values[k] for k in order))
        renumbered = renumbered.with_column(name, moved)
    assert renumbered == corpus
    vocabulary, rows = Vocabulary.fit(renumbered, templates)
    agrees(vocabulary, rows, sentences)
    straight, _ = Vocabulary.fit(corpus, templates)
    agrees(straight, straight.encode(renumbered), sentences)


def test_bundles_are_written_out_whatever_the_grouping():
    text = """
        word
        lower
        ngrams
        ngrams(2, 3)
        several
        word[1]
        prefix(2)[-1]
        suffix(2)[-1]
        bag(word, -1..1)
        word & pos
        label[-1] & ngrams(1, 2)
        label[-1] & several
    """
    words = [["Ada", "saw", "Bo", "Ada"], [], [""]]
    sentences = [[{"word": word, "pos": "N"} for word in sentence] for sentence in words]
    vocabulary, rows = Vocabulary.fit(corpus_of(sentences), Templates.parse(text, OWN))
    agrees(vocabulary, rows, sentences)
    units = rows.tokens.indices[rows.tokens.indices >= rows.n_features] - rows.n_features
    assert len(units) > 0
    pruned = vocabulary.keep(
        np.arange(rows.n_features) % 7 == 0, np.ones(rows.n_edge_features, np.bool_)
    )
    rows = pruned.encode(corpus_of(sentences))
    agrees(pruned, rows, sentences)
    units = rows.tokens.indices[rows.tokens.indices >= rows.n_features] - rows.n_features
    assert (np.diff(rows.bundles.indptr)[units] > 0).all()  # a unit of nothing is not referred to


def test_boundaries_have_names_of_their_own():
    corpus = Corpus.of([["<s>", "b"], ["</s>"]])
    vocabulary, rows = Vocabulary.fit(corpus, Templates.parse("word[-1] & word[2]\nword[-2]\nword"))
    assert vocabulary.names() == [
        r"word[-1] & word[2]=<s>|</s>",
        r"word[-1] & word[2]=\\<s>|</s>",
        r"word[-2]=<s>",
        r"word=\<s>",
        r"word=b",
        r"word=\</s>",
    ]
    names = vocabulary.names()
    tokens = np.split([names[f] for f in rows.expanded().indices], rows.expanded().indptr[1:-1])
    assert [sorted(token) for token in tokens] == [
        sorted([names[0], names[2], names[3]]),
        sorted([names[1], names[2], names[4]]),
        sorted([names[0], names[2], names[5]]),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [(("a|b", "c"), ("a", "b|c")), (("a\\", "b"), ("a", "\\b")), (("a=", "b"), ("a", "=b"))],
)
def test_signs_in_words_do_not_mix_features_up(one, other):
    corpus = Corpus.of([one, other])
    vocabulary, rows = Vocabulary.fit(corpus, Templates.parse("word & word[1]"))
    assert vocabulary.n_features == 4
    assert len(set(vocabulary.names())) == 4
    assert sorted(rows.expanded().indices.tolist()) == [0, 1, 2, 3]


def test_a_cut_off_boundary_counts_as_unknown():
    corpus = Corpus.of([["a", "b", "c"]])
    vocabulary, rows = Vocabulary.fit(corpus, Templates.parse("word[-1]"), min_count=2)
    assert vocabulary.n_features == 0
    assert rows.unknown == 3


def test_unknown_counts_each_pair_once():
    templates = Templates.parse("word & word[1]\nbag(word, -2..2)\nngrams(1, 1)")
    vocabulary, _ = Vocabulary.fit(Corpus.of([["a"]]), templates)
    rows = vocabulary.encode(Corpus.of([["bb", "a", "bb"]]))
    # Three conjunctions; "bb" in each of three bags; "b" in two words, once in each.
    assert rows.unknown == 3 + 3 + 2
    assert rows.n_active == 3 + 3 * 2 + 1


def test_no_tokens_at_all():
    templates = Templates.parse("word\nngrams\nword & pos[1]\nbag(ngrams, -1..1)\nlabel[-1] & pos")
    for sentences in ([], [[]], [[], []]):
        vocabulary, rows = Vocabulary.fit(corpus_of(sentences), templates)
        assert (rows.n_features, rows.n_edge_features, rows.n_active, rows.unknown) == (0, 0, 0, 0)
        agrees(vocabulary, rows, sentences)
        after = [[{"word": "a", "pos": "N"}]]
        agrees(vocabulary, vocabulary.encode(corpus_of(after)), after)


def test_very_long_tokens():
    long = "ab" * 5000
    sentences = [[{"word": long, "pos": "N"}, {"word": "x" * 10_000, "pos": "N"}]]
    text = "word\nshape\nsuffix(3)\nngrams(1, 4)\nngrams(10000, 10001)\nngrams(word) & pos"
    vocabulary, rows = Vocabulary.fit(corpus_of(sentences), Templates.parse(text))
    names = vocabulary.names()
    assert f"word={long}" in names
    assert "ngrams(1, 4)=baba" in names
    assert sum(name.startswith("ngrams(10000, 10001)=") for name in names) == 10
    assert rows.n_active == len(rows.expanded().indices)
    again = vocabulary.encode(corpus_of(sentences))
    assert again.unknown == 0
    np.testing.assert_array_equal(again.expanded().indices, rows.expanded().indices)


def test_a_very_long_sentence():
    words = [f"w{k % 97}" for k in range(10_000)]
    sentences = [[{"word": word, "pos": word[-1]} for word in words]]
    text = "word[-1..1]\nword & pos[5000]\nbag(word, -3..3)\nlabel[-1] & pos\nword[-10000]"
    vocabulary, rows = Vocabulary.fit(corpus_of(sentences), Templates.parse(text))
    agrees(vocabulary, rows, sentences)


def test_strings_that_no_encoding_of_unicode_holds():
    words = ["\ud800", "a\udfff", "b"]
    vocabulary, _ = Vocabulary.fit(Corpus.of([words]), Templates.parse("word\nngrams"))
    pruned = vocabulary.keep(np.arange(vocabulary.n_features) % 2 == 0, np.zeros(0, np.bool_))
    copy = Vocabulary.from_arrays(pruned.templates, pruned.to_arrays())
    assert copy.names() == pruned.names() == vocabulary.names()[::2]


def test_user_views_are_called_once_for_each_distinct_string_in_use():
    calls = []

    def own(word):
        calls.append(word)
        return word

    corpus = Corpus.of([["a", "b", "a"], ["c"]])
    templates = Templates.parse("own[-1..1]\nown & word", {"own": own})
    Vocabulary.fit(corpus[:1], templates)
    assert sorted(calls) == ["a", "b"]


# Errors ----------------------------------------------------------------------------------------


def test_encode_names_the_missing_column():
    vocabulary, _ = Vocabulary.fit(Corpus.of([["a"]], pos=[["N"]]), Templates.parse("word & pos"))
    with pytest.raises(
        TemplateError, match=r"column 'pos' \(template 'word & pos'\).* has word; name that column"
    ):
        vocabulary.encode(Corpus.of([["a"]]))


@pytest.mark.parametrize("text", ["lower(several)", "ngrams(several)", "several(several) & word"])
def test_views_of_several_values_cannot_be_looked_at_again(text):
    templates = Templates.parse(text, OWN)
    with pytest.raises(TemplateError, match="several gives several values; use it directly"):
        Vocabulary.fit(Corpus.of([["a", "b"]]), templates)


@pytest.mark.parametrize("answer", [7, b"x", ["a", 1], {"a": 1}, [None], 1.5])
def test_user_views_must_give_strings(answer):
    templates = Templates.parse("own", {"own": lambda word: answer})
    with pytest.raises(
        TemplateError, match=r"view 'own' of 'a' gave .*; it must give a string, None"
    ):
        Vocabulary.fit(Corpus.of([["a"]]), templates)


@pytest.fixture
def stored():
    templates = Templates.parse("word\nngrams(1, 2)\nword[-1] & word")
    vocabulary, _ = Vocabulary.fit(Corpus.of([["ab", "é"]]), templates)
    return templates, vocabulary.to_arrays()


def changed(array, where, value):
    array = array.copy()
    array[where] = value
    return array


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("view.0.starts", lambda a: changed(a, 0, -1), "view.0.starts has -1"),
        ("view.0.lengths", lambda a: changed(a, 1, -1), "view.0.lengths has -1"),
        ("view.0.lengths", lambda a: changed(a, 1, 9), "strings of view.0 reach beyond"),
        ("view.1.starts", lambda a: changed(a, 0, 2**31 - 1), "strings of view.1 reach beyond"),
        ("view.0.text", lambda a: a[:-2], "strings of view.0 reach beyond"),
        ("view.0.text", lambda a: changed(a, 0, 0xFF), "can't decode byte 0xff"),
        ("view.0.starts", lambda a: a[:-1], "view.0.lengths has the shape"),
        ("view.0.starts", lambda a: a.astype(np.float64), "view.0.starts is float64"),
        ("view.0.lengths", lambda a: a[:, None], "int32 with 2 dimensions"),
        ("template.0.rows", lambda a: changed(a, 0, -1), "template.0.rows has -1"),
        ("template.0.rows", lambda a: changed(a, 0, 4), "template.0.rows names what is not"),
        ("template.0.rows", lambda a: a[:, 0], "int32 with 1 dimensions"),
        ("template.0.rows", lambda a: a.astype(np.float32), "template.0.rows is float32"),
        ("template.2.rows", lambda a: a[:, :1], "template.2.rows has the shape"),
        ("template.2.rows", lambda a: changed(a, (0, 1), 4), "template.2.rows names what is not"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(stored, name, change, message):
    templates, arrays = stored
    Vocabulary.from_arrays(templates, arrays)
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match=message):
        Vocabulary.from_arrays(templates, arrays)


def test_a_missing_array_is_named(stored):
    templates, arrays = stored
    del arrays["template.1.rows"]
    with pytest.raises(ValueError, match=r"no array template\.1\.rows"):
        Vocabulary.from_arrays(templates, arrays)


def test_tuples_that_fit_into_no_memory_are_refused():
    """A few lines of a text with a thousand words each."""
    corpus = Corpus.of([[" ".join(f"w{k}" for k in range(5000))]])
    with pytest.raises(FeatureError, match="25,000,000 tuples of values in this input"):
        Vocabulary.fit(corpus, Templates.parse("words(word) & items(word)"))


@pytest.mark.parametrize("offsets", [(-40, 40), (5, 9), (-3, 70)])
def test_wide_bags_hold_what_the_sentence_holds(offsets):
    words = [[f"w{k % 7}" for k in range(size)] for size in (1, 4, 50)]
    vocabulary, rows = Vocabulary.fit(
        Corpus.of(words), Templates.parse(f"word\nbag(word, {offsets[0]}..{offsets[1]})")
    )
    names = vocabulary.names()
    index = rows.expanded()
    for t, (sentence, place) in enumerate([(s, k) for s in words for k in range(len(s))]):
        first, last = place + offsets[0], place + offsets[1]
        wanted = {sentence[k] for k in range(max(first, 0), min(last + 1, len(sentence)))}
        found = [names[k] for k in index.indices[index.indptr[t] : index.indptr[t + 1]]]
        assert {name.partition("=")[2] for name in found if name.startswith("bag")} == wanted


@pytest.mark.parametrize("view", ["prefix", "suffix"])
def test_no_word_is_longer_than_any_number(view):
    text = f"word\n{view}(9223372036854775808)"
    vocabulary, _ = Vocabulary.fit(Corpus.of([["Ada", ""]]), Templates.parse(text))
    assert vocabulary.names() == ["word=Ada", "word="]
