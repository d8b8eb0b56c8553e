"""Regular expressions: the meaning of Python's engine, in linear time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain.errors import TemplateError
from skipchain.features import regex
from skipchain.features.regex import compile_regex

TEXTS = [
    "", "a", "ab", "B-52s", "Éluard", "ß", "naïve_word", "٣٤", "x²", "Ⅷ", "a b", "a\u00a0b",
    "a\x1cb", "\u2028", "日本", "aaaa", "}{,3", "...", "A.B.", "1996-08-22", "\U0001d7d9", "-",
    "]", "^", "\\",
    "e\u0301", "\x85", "[:alpha:]", "\x0b",
]  # fmt: skip
PATTERNS = [
    "", "a", "a*", "a+?", "a|ab", "ab|a", "(a|b)+", "x{,3}", "a{,2}$", "a{2,}", r"\d+", r"\D+",
    r"\w+", r"\W+", r"\s", r"\S+", r"^\w+$", r"[\w-]+", r"[^\w]", r"[^\W\d_]+", r"[\W_]+", r"[\D]",
    r"[\d.]+", r"[]a]+", r"[^]a]+", r"[\]a]", r"\\", r"[\\]", r"[\\W]", r"\.$", r"(?i)é",
    r"(?:1[89]|20)\d\d",
    r"^.?.?", r".?.?\Z", r"\AB", r"[A-Z][.,]", r"\x41", r"[\x00-\x1f]", "(?P<n>a)b", r"[a\-z]+",
    r"\-",
    r"\{,2\}", "[{,2}]", r"\]", "(?s).+", r"[\s\d]+", r"[^\s]+", "[+*?.]+",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_an_expression_means_what_it_means_in_python(pattern):
    search = compile_regex(pattern)
    for text in TEXTS:
        hit = re.search(pattern, text)
        assert search(text) == (hit[0] if hit else None), text


@pytest.mark.parametrize("pattern", ["^[A-Z]", "[0-9]", "-", "a-b", "^B-[0-9a-z]", "<>", "^A"])
def test_expressions_without_a_choice_find_the_same_by_both_engines(pattern, monkeypatch):
    quick = compile_regex(pattern)
    assert regex._FIXED.fullmatch(pattern)
    compile_regex.cache_clear()
    monkeypatch.setattr(regex, "_FIXED", re.compile("(?!)"))
    slow = compile_regex(pattern)
    compile_regex.cache_clear()
    assert [quick(text) for text in TEXTS] == [slow(text) for text in TEXTS]
    assert quick("\ud800" + pattern.strip("^")) == slow("\ud800" + pattern.strip("^"))


@pytest.mark.parametrize(
    "pattern", ["a*", "a|b", "[^a]", "a+", "(a)", ".", r"\d", "a$", "[a-]", "", "é"]
)
def test_other_expressions_do_not_go_to_python_s_engine(pattern):
    assert not regex._FIXED.fullmatch(pattern)


@pytest.mark.parametrize("pattern", [r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"[^\W\d_]"])
def test_classes_hold_the_same_characters(pattern):
    """All but those that the two tables of Unicode, of different years, do not share."""
    search, theirs = compile_regex(pattern), re.compile(pattern)
    characters = [chr(c) for c in range(0x30000) if not 0xD800 <= c < 0xE000]
    differing = [c for c in characters if bool(search(c)) != bool(theirs.search(c))]
    assert len(differing) < 20_000
    assert all(ord(c) > 0x2FF for c in differing)


@given(st.text("ab*+?|(){},0123[]^-.\\wds$", max_size=12), st.text("ab01 é_", max_size=12))
@settings(max_examples=500, deadline=None)
def test_any_expression_is_python_s_or_refused(pattern, text):
    try:
        search = compile_regex(pattern)
    except TemplateError:
        return
    hit = re.search(pattern, text)
    assert (search(text) is None) == (hit is None)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", r"'\(' is no regular expression: missing \)"),
        ("[[:alpha:]]", "is no regular expression: Possible nested set"),
        ("(" * 500 + ")" * 500, "regular expression|linear time"),
        ("a{1001}", "cannot be searched in linear time"),
        ("(?=a)", "cannot be searched in linear time"),
        ("(?<!a)b", "cannot be searched in linear time"),
        (r"(a)\1", "cannot be searched in linear time"),
        (r"\bword\b", "word boundaries"),
        ("a" * 1001, "more than 1,000 characters"),
        (r"(\w{30}){30}", "linear time"),
        ("\ud800", "linear time"),
    ],
)
def test_what_cannot_be_searched_is_refused(pattern, message):
    with pytest.raises(TemplateError, match=message):
        compile_regex(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+c", "(a|a)*c", "(a|aa)+c", "(.*)*x", "a*a*a*a*a*c"])
def test_no_expression_goes_back(pattern):
    """Python's engine would not see the end of these."""
    assert compile_regex(pattern)("a" * 100_000 + "b") is None


def test_half_characters_are_signs_like_any_other():
    assert compile_regex("b.")("ab\ud800c") == "b\ud800"
    assert compile_regex("x")("\udfff") is None
