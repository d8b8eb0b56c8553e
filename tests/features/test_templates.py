"""The template language, its errors, the standard sets, and patterns of CRF++ and Wapiti."""

from __future__ import annotations

import json
import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain.corpus import Column, Corpus
from skipchain.errors import TemplateError
from skipchain.features.crfpp import is_crfpp_text, parse_crfpp, wapiti_to_python_regex
from skipchain.features.presets import PRESETS
from skipchain.features.template import (
    MAX_COMBINATIONS,
    Atom,
    Template,
    View,
    parse_template,
    parse_templates,
)
from skipchain.features.templates import VIEW_NAMES, Templates, combinations
from skipchain.features.views import BUILTIN_VIEWS
from skipchain.features.vocabulary import Vocabulary

QUICK = settings(max_examples=150, deadline=None)
CORPUS = Corpus.of(
    [["Ada", "Lovelace", "was", "born", "in", "1815", "."], ["No", "."]],
    pos=[["NNP", "NNP", "VBD", "VBN", "IN", "CD", "."], ["UH", "."]],
)


def parsed(text, **functions):
    return [str(t) for t in Templates.parse(text, functions).templates]


def fitted_names(text, **functions):
    vocabulary, _ = Vocabulary.fit(CORPUS, Templates.parse(text, functions))
    return vocabulary.names()


# Print and parse -------------------------------------------------------------------------------

OWN = {"mine": str.upper, "größe": str.lower}
LETTERS = string.ascii_letters + "_éßжñ語ªΣ"
COLUMN_NAMES = st.one_of(
    st.sampled_from(["word", "pos", "bag", "größe2", "c1", "日本語", "_x", "Lower"]),
    st.builds(str.__add__, st.sampled_from(LETTERS), st.text(LETTERS + "0129٣", max_size=5)),
).filter(lambda name: name not in VIEW_NAMES | set(OWN) | {"label"})
COLUMNS = st.builds(View, COLUMN_NAMES, optional=st.booleans())
ARGUMENTS = st.one_of(
    st.text(max_size=5),
    st.sampled_from(["\u2028", "\x85", '"', "\\", "#", "a # b", "\t\r\n", "& word", "^\\d+$", ")"]),
    st.integers(-5, 10**12),
)


def function_of(source):
    built_in = [
        st.tuples(st.sampled_from(["lower", "shape", "shortshape", "digits"]), st.just(())),
        st.tuples(st.sampled_from(["prefix", "suffix"]), st.tuples(st.integers(1, 10**12))),
        st.tuples(
            st.sampled_from(["match", "find"]), st.tuples(st.text(max_size=5).map(re.escape))
        ),
    ]
    own = st.tuples(st.sampled_from(list(OWN)), st.lists(ARGUMENTS, max_size=3).map(tuple))
    return st.builds(
        lambda view, end: View(view.column, end[0], view, end[1]), source, st.one_of(*built_in, own)
    )


VIEWS = st.recursive(COLUMNS, function_of, max_leaves=4)
MULTI_VALUED = st.builds(
    lambda view, end: View(view.column, end[0], view, end[1:]),
    VIEWS,
    st.sampled_from([("ngrams",), ("ngrams", 1, 1), ("ngrams", 2, 5), ("words",), ("words", 3)]),
)
OFFSETS = st.tuples(st.integers(-20, 20), st.sampled_from([1, 1, 2, 5])).map(
    lambda pair: tuple(range(pair[0], pair[0] + pair[1]))
)
TEMPLATES = st.builds(
    Template,
    st.lists(st.builds(Atom, st.one_of(VIEWS, MULTI_VALUED), OFFSETS), min_size=1, max_size=4).map(
        tuple
    ),
    st.booleans(),
).filter(lambda template: combinations(template) <= MAX_COMBINATIONS)


@QUICK
@given(TEMPLATES)
def test_a_printed_template_is_read_as_the_same(template):
    assert parse_template(str(template), VIEW_NAMES | set(OWN)) == [template]


@QUICK
@given(st.lists(TEMPLATES, min_size=1, max_size=5))
def test_printed_templates_are_read_as_the_same(templates):
    whole = Templates(tuple(dict.fromkeys(templates)), OWN)
    assert Templates.parse(whole.text, OWN) == whole
    if whole.text not in PRESETS:
        assert Templates.of(whole.text, OWN) == whole
    assert Templates.of(whole) is whole


@QUICK
@given(TEMPLATES)
def test_required_takes_every_question_mark_away(template):
    required = template.required()
    assert required.optional == set()
    assert required.columns == template.columns
    assert required.required() == required
    assert required == template or template.optional


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("word", ["word"]),
        ("  word  # a comment", ["word"]),
        ("word[0]", ["word"]),
        ("word[+1]", ["word[1]"]),
        ("word[-1..1]", ["word[-1]", "word", "word[1]"]),
        ("word[2..2]", ["word[2]"]),
        ("lower(word)\nlower", ["lower"]),
        ("shape(lemma)", ["shape(lemma)"]),
        ("suffix(lower, 3)", ["suffix(lower, 3)"]),
        ("suffix( lower( digits ) ,3 )[ -1 ]", ["suffix(lower(digits), 3)[-1]"]),
        ("suffix(word, 3)", ["suffix(3)"]),
        ("bag(word, -4..-1)", ["bag(word, -4..-1)"]),
        ("bag ( suffix(3), 0..1 )", ["bag(suffix(3), 0..1)"]),
        ("bag(word, 1)\nbag(word, 1..1)", ["word[1]"]),
        ("bag", ["bag"]),
        ("word[-1..0]&pos[0..1]",
         ["word[-1] & pos", "word[-1] & pos[1]", "word & pos", "word & pos[1]"]),
        ("pos? & pos?[1]", ["pos? & pos?[1]"]),
        ("lower(lemma?)", ["lower(lemma?)"]),
        ("label[-1] & word", ["label[-1] & word"]),
        ("word & label[ -1 ]", ["label[-1] & word"]),
        ("label[-1] & label[-1] & word[0..1]", ["label[-1] & word", "label[-1] & word[1]"]),
        ("ngrams\nngrams(2, 3)", ["ngrams", "ngrams(2, 3)"]),
        ("words(text)\nwords(lower(t), 2)\nwords", ["words(text)", "words(lower(t), 2)", "words"]),
        ("größe & 語[1]", ["größe & 語[1]"]),
        ('match("#") # it has "quotes"', ['match("#")']),
        (r'match("^\\d+\"$")', [r'match("^\\d+\"$")']),
        (r'find("\u00e9\t")', [r'find("é\t")']),
        ('find("a\tb")', [r'find("a\tb")']),
        ("word\r\npos\r\n", ["word", "pos"]),
        ("\n\n# nothing\nword\nword", ["word"]),
    ],
)  # fmt: skip
def test_what_is_written_is_what_is_read(text, wanted):
    assert parsed(text) == wanted


def test_views_say_what_they_say():
    plain = "lower\nshape\nshortshape\ndigits\nprefix(2)\nsuffix(lower, 2)\n"
    names = fitted_names(plain + 'match("^[0-9]+$")\nfind("[a-z]+")')
    for name in ["lower=ada", "shape=Xxxxxxxx", "shortshape=Xx", "digits=0000", "prefix(2)=Lo"]:
        assert name in names
    assert "suffix(lower, 2)=da" in names
    assert [n for n in names if n.startswith("match")] == ['match("^[0-9]+$")=yes']
    assert 'find("[a-z]+")=ovelace' in names
    assert not any(n.startswith("prefix(2)=.") for n in names)


def test_windows_bags_and_conjunctions_at_the_edges():
    names = fitted_names("word[-1] & word[1]\nbag(pos, 1..2)\nword[9]")
    assert "word[-1] & word[1]=<s>|Lovelace" in names
    assert "word[-1] & word[1]=No|</s>" in names
    assert {n for n in names if n.startswith("bag")} == {
        f"bag(pos, 1..2)={pos}" for pos in ["NNP", "VBD", "VBN", "IN", "CD", "."]
    }
    assert [n for n in names if n.startswith("word[9]")] == ["word[9]=</s>"]


def test_the_label_mark_makes_edge_features():
    vocabulary, rows = Vocabulary.fit(CORPUS, Templates.parse("word\nlabel[-1] & pos & shape"))
    assert vocabulary.n_features == 8
    assert rows.n_edge_features == vocabulary.n_edge_features > 0
    names = vocabulary.names(transition=True)
    assert "label[-1] & pos & shape=CD|dddd" in names
    assert len(names) == vocabulary.n_edge_features


def test_views_of_the_users_own_take_arguments():
    names = fitted_names(
        'cut(lower, 1, "-") & word', cut=lambda word, size, mark: word[:size] + mark
    )
    assert 'cut(lower, 1, "-") & word=l-|Lovelace' in names


# Optional columns ------------------------------------------------------------------------------


def test_optional_templates_are_left_out():
    templates = Templates.parse("word\nlemma? & pos\nlower(lemma?)[1]\npos?")
    assert templates.for_corpus(CORPUS).text == "word\npos"


def test_a_question_mark_excuses_only_its_own_column():
    with pytest.raises(TemplateError, match=r"'lemma & pos\?' reads column 'lemma'"):
        Templates.parse("lemma & pos?").for_corpus(CORPUS)
    with pytest.raises(TemplateError, match=r"'lemma & other\?' reads column 'lemma'"):
        Templates.parse("lemma & other?").for_corpus(CORPUS)


def test_templates_that_become_equal_are_one():
    templates = Templates.parse("pos\npos?\nlower(pos?)\nlower(pos)").for_corpus(CORPUS)
    assert templates.text == "pos\nlower(pos)"
    vocabulary, _ = Vocabulary.fit(CORPUS, Templates.parse("pos\npos?"))
    assert len(set(vocabulary.names())) == vocabulary.n_features


# Errors of the language ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no template; write at least one, such as 'word'"),
        ("# only a comment\n\n", "there is no template"),
        ("word\nword[", "template line 2: wanted an offset, got the end of the line in 'word['"),
        ("word[]", "template line 1: wanted an offset, got ']' in 'word[]'"),
        ("word[x]", "wanted an offset, got 'x'"),
        ("word[1..]", "wanted the window's last offset, got ']'"),
        ("word[1", "wanted ']', got the end of the line"),
        ("word[1.5]", "cannot read '.5]' in 'word[1.5]'; a template looks like"),
        ("word[2..1]", "window 2..1 runs backwards in 'word[2..1]'"),
        ("word[10001]", "offset 10001 is too far; wanted at most 10000 tokens"),
        ("bag(word, 0..99999999999999999999)", "offset 99999999999999999999 is too far"),
        ("word[-99999..0]", "offset -99999 is too far"),
        ("word word", "wanted '&' or the end of the line, got 'word' in 'word word'"),
        ("word &", "wanted a column or a view, got the end of the line"),
        ("& word", "wanted a column or a view, got '&'"),
        ("3", "wanted a column or a view, got '3'"),
        ('"word"', "wanted a column or a view, got '\"word\"'"),
        ("word % pos", "cannot read '% pos' in 'word % pos'"),
        ('match("abc', "cannot read '\"abc' in 'match(\"abc'"),
        ('match("abc # comment', "cannot read '\"abc # comment'"),
        ('match("\\d")', 'cannot read the string "\\d": Invalid \\escape; write a backslash twice'),
        ("bag(word)", "wanted ',', got ')'"),
        ("bag(word, 1..2", "wanted ')', got the end of the line"),
        ("bag(word, 1..2)[1]", "wanted '&' or the end of the line, got '['"),
        ("bag(bag(word, 1..2), 1..2)", "there is no view 'bag'"),
        ("lower?", "wanted '&' or the end of the line, got '?'"),
        ("lower()", "wanted a view, a number or a string, got ')'"),
        ("lower(", "wanted a view, a number or a string, got the end of the line"),
        ("lower(word", "wanted ')', got the end of the line"),
        ("lower(word, pos)", "wanted a number or a string, got 'pos'"),
        ("suffix(3, word)", "wanted a number or a string, got 'word'"),
        ("suffix(3,)", "wanted a number or a string, got ')'"),
        ("root(word)", "there is no view 'root'; there are digits, find, items, lower, match, "),
        ("label[-1]", "'label[-1]' has only the previous label; plain label transitions are"),
        ("label", "'label' is what is to be predicted; templates can read it only as 'label"),
        ("label[-2]", "'label[-2]' has only the previous labels; plain label transitions are"),
        ("label[-3] & word", "'label' is what is to be predicted"),
        ("lower(label)[-1]", "'label' is what is to be predicted"),
        ("suffix", "view 'suffix' takes a number, got []"),
        ('suffix("3")', "view 'suffix' takes a number, got ['3']"),
        ("prefix(1, 2)", "view 'prefix' takes a number, got [1, 2]"),
        ("lower(3)", "view 'lower' takes no arguments, got [3]"),
        ("match(3)", "view 'match' takes a \"string\", got [3]"),
        ("ngrams(3)", "view 'ngrams' takes a number and a number, got [3]"),
        ("prefix(0)", "view 'prefix' wants lengths of at least 1, got [0]"),
        ("ngrams(0, 3)", "view 'ngrams' wants lengths of at least 1, got [0, 3]"),
        ("ngrams(3, 2)", "ngrams(3, 2): the first length is larger"),
        ('find("(")', "find: '(' is no regular expression: missing )"),
        ("trim", "view 'trim' takes a \"string\", got []"),
        ("stem(3)", "view 'stem' takes no arguments, got [3]"),
        ("lower(ngrams)", "lower(ngrams): n-grams are several values, use them directly"),
        ("suffix(lower(ngrams(2, 3)), 2) & word", "n-grams are several values"),
        ("lower(words(text))", "lower(words(text)): words are several values, use them directly"),
        ("words(words)", "words(words): words are several values, use them directly"),
        ("value(words)", "words are several values"),
        ("words(text, 2, 3)", "view 'words' takes a number, got [2, 3]"),
        ('words("a")', "view 'words' takes a number, got ['a']"),
        ("words(text, 0)", "view 'words' wants lengths of at least 1, got [0]"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said(text, message):
    with pytest.raises(TemplateError, match=re.escape(message)):
        Templates.parse(text)
    with pytest.raises(TemplateError, match=re.escape(message)):
        Templates.of(text)


def test_of_tells_the_standard_sets_where_text_is_no_template():
    with pytest.raises(TemplateError, match=rf"\(standard sets: {', '.join(PRESETS)}\)$"):
        Templates.of("nerd-set")


@pytest.mark.parametrize(
    "name", ["lower", "ngrams", "words", "bag", "label", "word", "two words", "3d", "", "a-b"]
)
def test_names_that_no_view_of_the_users_own_can_have(name):
    with pytest.raises(TemplateError, match=f"{name!r} cannot name a view of your own; choose"):
        Templates.parse("word", {name: str.lower})


@pytest.mark.parametrize("name", ["my column", "0", "a-b", "shape", "ngrams", "mine", ""])
def test_columns_that_templates_cannot_name_are_refused(name):
    # Patterns name columns by number, so such names can come in; they could not be stored as text.
    with pytest.raises(TemplateError, match=f"cannot name column {name!r}; rename it"):
        Templates.of("U:%x[0,1]", {"mine": str.lower}, ("word", name))


def test_a_missing_column_is_named():
    with pytest.raises(
        TemplateError,
        match=r"template 'word & lemma' reads column 'lemma', but the corpus has word, pos; "
        r"name the columns when reading, or write 'lemma\?' to leave",
    ):
        Templates.parse("word & lemma").for_corpus(CORPUS)


def test_nothing_left_to_read():
    with pytest.raises(
        TemplateError, match="every template reads a column that the corpus does not"
    ):
        Templates.parse("lemma?").for_corpus(CORPUS)


def test_the_parser_alone_knows_no_views():
    assert parse_template("") == []
    with pytest.raises(TemplateError, match="there is no template"):
        parse_templates("", frozenset())


# Files and sets --------------------------------------------------------------------------------


def test_templates_in_files(tmp_path):
    path = tmp_path / "my.templates"
    path.write_text("word[0..1]\n# no more\n", encoding="utf-8")
    assert Templates.of(path).text == Templates.of(str(path)).text == "word\nword[1]"
    path.write_text("\ufeffword\r\n", encoding="utf-8")  # as Windows editors write it
    assert Templates.of(path).text == "word"
    path.write_text("U:%x[0,1]\nB\n", encoding="utf-8")
    assert Templates.of(path, columns=("word", "pos")).text == "pos"


def test_files_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(TemplateError, match=f"cannot read the templates in {path}: "):
            Templates.of(path)
    latin = tmp_path / "latin"
    latin.write_bytes("größe".encode("latin-1"))
    with pytest.raises(
        TemplateError, match=r"cannot read the templates in .*latin:1: invalid UTF-8 byte 0xf6"
    ):
        Templates.of(str(latin))


def test_a_path_is_a_file_even_with_the_name_of_a_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ner").write_text("word", encoding="utf-8")
    assert Templates.of("ner").text == Templates.parse(PRESETS["ner"]).text
    assert Templates.of((tmp_path / "ner").relative_to(tmp_path)).text == "word"


def test_long_template_text_is_no_file_name():
    text = " & ".join(f'trim("{"." * 200}")[{k}]' for k in range(1, 21))
    assert Templates.of(text).text == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word[-10000..10000] & word[-10000..10000]", "more than 5,000 templates"),
        ("word[-10000..10000]", "more than 5,000 templates"),
        ("\n".join(f"word[{k}..{k + 99}] & pos" for k in range(0, 6000, 100)), "6,000 templates"),
        (" & ".join(["word"] * 21), "joins 21 views; wanted at most 20"),
        ("ngrams & ngrams & ngrams", "about 125,000 combinations of values"),
        ("bag(word, -499..499) & bag(word, -5..5)", "about 10,989 combinations of values"),
        ("bag(word, -6000..6000)", "a bag of 12,001 tokens; wanted at most 1,000"),
        ("\n".join(f'match("{k}")' for k in range(201)), "201 regular expressions"),
        ("lower(" * 21 + "word" + ")" * 21, "views are more than 20 deep"),
        ("lower(" * 10_000, "has more than 10,000 characters"),
        (f"word[{'9' * 5000}]", "cannot read"),
        ('match("(?=a)")', "match: '(?=a)' cannot be searched in linear time"),
    ],
)
def test_what_a_few_lines_may_ask_for_has_limits(text, message):
    with pytest.raises(TemplateError, match=re.escape(message)):
        Templates.of(text)


@pytest.mark.parametrize("name", PRESETS)
def test_standard_sets_work(name):
    templates = Templates.of(name)
    assert Templates.parse(templates.text) == templates
    corpus = CORPUS
    for column in {c for t in templates.templates for c in t.columns} - set(CORPUS.columns):
        corpus = corpus.with_column(column, Column.constant("1", corpus.n_tokens))
    vocabulary, rows = Vocabulary.fit(corpus, templates)
    assert rows.n_features == len(vocabulary.names()) == len(set(vocabulary.names())) > 20
    assert rows.unknown == vocabulary.encode(corpus).unknown == 0
    if "pos" in vocabulary.templates.text:
        assert any(name.startswith("pos") for name in vocabulary.names())


@pytest.mark.parametrize("name", PRESETS)
def test_standard_sets_without_parts_of_speech(name):
    words = Corpus({"word": CORPUS.words}, CORPUS.sentences, CORPUS.documents)
    needs = {"chunk": ("pos[-2]", "pos"), "seminars-lines": ("place", "place")}.get(name)
    if needs is not None:
        told = "template '{}' reads column '{}'".format(*needs)
        with pytest.raises(TemplateError, match=re.escape(told)):
            Vocabulary.fit(words, Templates.of(name))
        return
    vocabulary, _ = Vocabulary.fit(words, Templates.of(name))
    assert vocabulary.n_features > 20
    assert {c for t in vocabulary.templates.templates for c in t.columns} == {"word"}


def test_every_built_in_view_takes_a_list_of_nothing():
    for function, kinds in BUILTIN_VIEWS.values():
        assert list(function([], *({int: 1, str: "x"}[kind] for kind in kinds))) == []


@pytest.mark.parametrize(
    ("view", "word", "wanted"),
    [
        ("lower", "ÀB", "àb"), ("lower", "İ", "i̇"), ("shape", "Éß٣²-語", "Xxdd-語"),
        ("shape", "", ""), ("shortshape", "AAbb11--", "Xxd-"), ("digits", "٣a²1", "0a00"),
        ("prefix(2)", "ab", "ab"), ("prefix(3)", "ab", None), ("suffix(1)", "ab", "b"),
        ("suffix(2)", "ab", "ab"), ("suffix(3)", "ab", None), ('match("^$")', "", "yes"),
        ('match("b")', "abc", "yes"), ('match("^b")', "abc", None), ('find("x*")', "ab", ""),
        ('find("b.")', "abcbd", "bc"), ('find("z")', "ab", None),
        ('trim(".,")', "a.b.,", "a.b"), ('trim(".,")', ".,", None), ('trim("(")', "(a", "(a"),
        ("stem", "Learning", "Learn"), ("stem", "relations", "relat"), ("stem", "", ""),
    ],
)  # fmt: skip
def test_values_of_built_in_views(view, word, wanted):
    vocabulary, rows = Vocabulary.fit(Corpus.of([[word]]), Templates.parse(view))
    assert vocabulary.names() == ([] if wanted is None else [f"{view}={wanted}"])
    assert rows.n_active == (wanted is not None)


# CRF++ and Wapiti ------------------------------------------------------------------------------

CRFPP = """\
# Unigram
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U05:%x[-1,0]/%x[0,0]

U10:%x[-2,1]
U20:%x[-2,1]/%x[-1,1]/%x[0,1]

# Bigram
B
"""

WAPITI = """\
*
U:Wrd-1 X=%x[ 0,0]
u:wrd-1 L=%X[-1,0]     # the word before
U:wrd-2 R=%X[ 0,0]/%X[ 1,0]
*:Pos-1 L=%x[-1,1]
*:Pre-2 X=%m[ 0,0,"^.?.?"]
U:Suf-2 X=%M[ 0,0,".?.?$"]
*:Caps? L=%t[-1,0,"\\u"]
b:AllC? X=%t[ 0,0,"^\\u*$"]
"""


CRFPP_TEMPLATES = """\
word[-2]
word[-1]
word
word[-1] & word
pos[-2]
pos[-2] & pos[-1] & pos"""

WAPITI_TEMPLATES = r"""word
lower[-1]
lower & lower[1]
pos[-1]
label[-1] & pos[-1]
find("^.?.?")
label[-1] & find("^.?.?")
lower(find(".?.?\\Z"))
match("[A-Z]")[-1]
label[-1] & match("[A-Z]")[-1]
label[-1] & match("^[A-Z]*?\\Z")"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (CRFPP, CRFPP_TEMPLATES),
        (WAPITI, WAPITI_TEMPLATES),
        ("U%x[0,0]\nB01%x[0,1]", "word\nlabel[-1] & pos"),
        ("U01:%x[0,0]%x[+1,0]\nU02:const\n", "word & word[1]"),
        ("U01:%x[0,0]\nU02:%x[0,0]", "word"),
        ("\r\nU01:%x[0,0]\r\n", "word"),
        ('U:%t[0,0,"#\\"]"]', r'match("\\#\"\\]")'),
        ('U:%T[0,0,"\\u"]', 'match("[A-Z]")'),
    ],
)
def test_pattern_files(text, wanted):
    assert is_crfpp_text(text)
    templates = Templates.of(text, columns=("word", "pos"))
    assert templates.text == wanted
    assert templates.templates == parse_crfpp(text, ["word", "pos"])
    assert Templates.parse(templates.text) == templates
    vocabulary, _ = Vocabulary.fit(CORPUS, templates)
    assert vocabulary.encode(CORPUS).unknown == 0


@pytest.mark.parametrize(
    "text",
    [
        "", "word", "b", "u\nb", "B & U", "# %x[0,0]", "bio # 100%", 'b & match("%")',
        "bag(word,1..2)", 'bag(word,1..2)\nmatch("%x[0,0]")',
    ],
)  # fmt: skip
def test_templates_are_not_taken_for_patterns(text):
    assert not is_crfpp_text(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("B\n*\nU\n", "the patterns name no cell; write at least one, such as U00:%x[0,0]"),
        ("U:%x[0,0]\nX:%x[0,1]", "pattern line 2: 'X:%x[0,1]' begins with none of U, B and *"),
        ("U:%x[0,0]\n\nword", "pattern line 3: 'word' begins with none of U, B and *"),
        ("U:%x[0]", "pattern line 1: cannot read a macro in 'U:%x[0]'; one looks like %x[-1,0]"),
        ("U:%y[0,0]", "cannot read a macro in 'U:%y[0,0]'"),
        ("U:%x[0,-1]", "cannot read a macro"),
        ("U:%x[*1,0]", "cannot read a macro"),
        ("U:%x[0,0]/100%", "cannot read a macro"),
        ('U:%t[0,0,"a]', "cannot read a macro"),
        ("U:%x[0,2]", "pattern line 1: column 2 is asked for, but there are 2 (word, pos)"),
        ("U:%x[@1,0]", "pattern line 1: absolute rows (@1) are not supported"),
        ("U:%x[-10001,0]", "pattern line 1: offset -10001 is too far"),
        ("U:%t[0,0]", 'pattern line 1: %t needs a regular expression, as in %t[0,0,"^\\u"]'),
        ("U:%M[0,0]", "%M needs a regular expression"),
        ('U:%t[0,0,"*"]', "'*?' is no regular expression"),
        ('U:%t[0,0,"a**"]', "is no regular expression: multiple repeat"),
    ],
)
def test_patterns_that_cannot_be_read(text, message):
    assert is_crfpp_text(text)
    with pytest.raises(TemplateError, match=re.escape(message)):
        Templates.of(text, columns=("word", "pos"))


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"\a", "x", "1"), (r"\A", "1", "x"), (r"\d", "a1", "a"), (r"\D", "1a", "12"),
        (r"\l", "Aa", "A1"), (r"\L", "aA", "aa"), (r"\u", "aA", "aa"), (r"\U", "Aa", "AA"),
        (r"\p", "a_", "a–"), (r"\P", "-a", "--"), (r"\s", "a b", "ab"), (r"\S", " a", "  "),
        (r"\w", "-a", "-_"), (r"\W", "a_", "a9"), (r"^\d$", "1", "1\n"), (r"\d$", "a1", "1a"),
        (".", "x", ""), ("^a.*b$", "ab", "abc"), ("ab?c", "ac", "abbc"), (r"\.", "a.b", "ab"),
        ("[a-z]", "x[a-z]", "x"), ("a+", "a+", "aa"), ("(a|b)", "(a|b)", "a"),
        ("a{2}", "a{2}", "aa"),
        (r"a\*", "a*", "a"), (r"\\", "\\", "/"), ("a^b", "a^b", "ab"), ("a$b", "a$b", "a"),
        ("é", "é", "e"),
        ("", "", None), ("^", "x", None), ("$", "x", None), (r"\$", "a$", "a"), (r"\^a", "^a", "a"),
    ],
)  # fmt: skip
def test_wapitis_expressions(pattern, yes, no):
    find = re.compile(wapiti_to_python_regex(pattern)).search
    assert find(yes)
    assert no is None or not find(no)


def test_wapitis_star_takes_as_little_as_it_can():
    (template,) = parse_crfpp('U:%m[0,0,"o.*l"]', ["word"])
    words = Corpus.of([["Lovelaceoloo"], ["xoxlxl"]])
    vocabulary, _ = Vocabulary.fit(words, Templates((template,)))
    assert vocabulary.names() == ['find("o.*?l")=ovel', 'find("o.*?l")=oxl']


def test_capitals_put_the_result_in_lower_case():
    templates = Templates.of('U:%M[0,0,"\\u\\l*$"]\nU:%X[0,0]', columns=("word",))
    vocabulary, _ = Vocabulary.fit(Corpus.of([["McDonald", "abc"]]), templates)
    assert [n.rpartition("=")[2] for n in vocabulary.names()] == ["donald", "mcdonald", "abc"]


def test_feature_strings_survive_json():
    templates = Templates.parse('match("\\u2028é\\"#")\nword')
    assert Templates.parse(json.loads(json.dumps(templates.text))) == templates


def test_columns_may_have_any_letters():
    column = Column.encode(["x"] * CORPUS.n_tokens)
    corpus = CORPUS.with_column("größe", column).with_column("語", column)
    vocabulary, _ = Vocabulary.fit(corpus, Templates.parse("größe & 語[-1]\nlower(語)"))
    assert vocabulary.names() == ["größe & 語[-1]=x|x", "größe & 語[-1]=x|<s>", "lower(語)=x"]
