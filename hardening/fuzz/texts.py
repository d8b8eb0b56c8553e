"""Edits of texts that stand in headers and files: templates, rules, labels, regular expressions."""

from __future__ import annotations

import re
from random import Random

# The first ones take exponential time with a matcher that goes back, in words of the corpus.
REGEXES = (
    "(a+)+$", "(a|a)*b", "(a|aa)+$", "(.*)*x", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$", "(a*)*b",
    "(?:a?){30}a{30}", "((a{1,30}){1,30}){1,30}b", "a{1000}", "(a{1000}){1000}", ".*.*.*.*.*=",
    "(?=a+)a*b", "(a)\\\\1+b", "(?<=a)b", "(?P<n>a)(?P=n)", "[", "(", "*", "\\\\", "(?i)ada", "",
    "^$", "\\\\d+", "[^\\\\W_]+", "(?#", "(?P<", "x{99999999999}", "\\\\N{BULLET}", "(" * 200,
)  # fmt: skip
TEMPLATES = (
    "word", "word[-1]", "lower", "shape", "pos", "pos?", "word[-50..50]", "word[99999]",
    "word[-1000000..1000000]", "word[0..3] & word[0..3] & word[0..3] & word[0..3] & word[0..3]",
    "word[-9..9] & word[-9..9] & word[-9..9]", "bag(word, -5..5)", "bag(word, -99999..99999)",
    "bag(ngrams, -3..3)", "ngrams", "ngrams(1, 6)", "ngrams(1, 1000000)", "ngrams(3, 2)",
    "suffix(0)", "suffix(-1)", "suffix(99999999999999999999)", "prefix(lower, 2)", "words(word)",
    "suffix(suffix(suffix(3), 2), 1)", "lower(" * 50 + "word" + ")" * 50, "items(lexicon)",
    "lower(" * 3000 + "word" + ")" * 3000, "value(word)", "value(size)", "vector(place)", "label",
    "vector(nothing)", "label[-1] & word", "label[-1]", "history(lower)", "history(lower, 1)",
    "history(word, 999999999999)", "nothing", "nothing?", "trim(\"\")", "trim(\".\")", "stem",
    "word & word", "value(size) & word", "digits", "zone", "# comment", "", "&", "word[1..-1]",
)  # fmt: skip
RULES = (
    "previous", "alone", "same_word", "same_word(recent=1)", "same(lower)", "same(suffix(2))",
    "same_word(recent=999999)", "same(nothing)", "siblings", "siblings(most=1)", "links",
    "siblings(most=1000)", "links(outgoing)", "same(lower, max_documents=1, lower=true)",
    "same(words(word))", 'same(find("(a+)+$"))', "same(", "same()", "previous, previous", "",
    "same(ngrams(1, 3))", "same_word(capitalised=true, recent=1000)", "same(word[1])",
)  # fmt: skip
GROUPS = (
    "1:0", "2:0..1", "1:0|x", "10000:0..9", "9:0..999", "1:-1000..1000", "99999:0", "0:0", "1:",
    "1:5", "1:-3..3|x; 1:0; 1:0", ";" * 20, "1:0,0", "1:9..0", "1:0..99999999999", "4:0..9; 4:0..9",
)  # fmt: skip
LABELS = (
    "", "O", "B-", "I-", "B-PER", "I-PER", "E-PER", "S-LOC", "PER", "B-B-PER", "-", "_", " ", "\t",
    "\n", "\x1b[31mred\x1b[0m", "\x00", "\ud800", "\u202e", "[bold]", "[/bold]", "[/]", "B-[/x]",
    "é" * 1000, "x" * 1001, "B-" + "y" * 5000, "o", "b-per", "O ", "𝔸", "null", "B-PER\r",
)  # fmt: skip
WORDS = ("word", "lower", "shape", "shortshape", "digits", "stem", "pos", "size", "place", "true",
         "false", "recent", "most", "max_documents", "raw", "label", "zone", "lexicon", "brown",
         "embedding", "forward", "backward", "random", "x", "O")  # fmt: skip
NUMBERS = (0, 1, 2, 3, 5, 9, 10, 50, 99, 100, 999, 1000, 1001, 10_000, 65_536, 10**6, 2**31 - 1,
           2**31, 2**63, 10**30)  # fmt: skip
SIGNS = ("\x00", "\x1b", "\n", "\r", "\t", " ", "\u2028", "\x85", "\ufeff", "\ud800", "\U0010ffff",
         "é", "e\u0301", "\u202e", '"', "\\", "(", ")", "[", "]", "{", "}", ",", ":", ";", "|", "&",
         "#", "-", "<", ">", "/", "..", "=", "'", "%", "0", "A")  # fmt: skip
LISTS = {"text": TEMPLATES, "edges": RULES, "groups": GROUPS, "labels": LABELS}
"""Texts that stand where an entry of that name stands in a header."""


def edited_text(rng: Random, text: str, name: str = "") -> str:
    """The text with one thing changed; ``name`` says what it is, where that is known.

    >>> edited_text(Random(1), "word[-1]\\nsuffix(3)")
    'place[-1]\\nsuffix(3)'
    """
    own = LISTS.get(name, LABELS)
    edits = [_number] * 4 + [_word] * 3 + [_quoted] * 3 + [_sign] * 2 + [_lines] * 2
    edit = rng.choice([*edits, None, None])
    if edit is None:
        line = rng.choice(own)
        return line if rng.random() < 0.5 else f"{text}\n{line}"
    return edit(rng, text)


def _number(rng: Random, text: str) -> str:
    return _replaced(rng, text, r"[+-]?\d{1,40}", lambda old: str(_other_number(rng, int(old))))


def _other_number(rng: Random, old: int) -> int:
    near = (old + 1, old - 1, -old, 2 * old)
    return rng.choice(near) if rng.random() < 0.5 else rng.choice(NUMBERS)


def _word(rng: Random, text: str) -> str:
    return _replaced(rng, text, r"[^\W\d]\w*", lambda _: rng.choice(WORDS))


def _quoted(rng: Random, text: str) -> str:
    """Another regular expression; where there is none, a view that has one."""
    regex = f'"{rng.choice(REGEXES)}"'
    if re.search(r'"[^"]*"', text):
        return _replaced(rng, text, r'"[^"]*"', lambda _: regex)
    function = rng.choice(("match", "find"))
    return _replaced(rng, text, r"\b(shape|lower)\b(?!\()", lambda _: f"{function}({regex})")


def _replaced(rng: Random, text: str, pattern: str, new) -> str:  # type: ignore[no-untyped-def]
    found = list(re.finditer(pattern, text[:10_000]))
    if not found:
        return _sign(rng, text)
    hit = rng.choice(found)
    return text[: hit.start()] + new(hit[0]) + text[hit.end() :]


def _sign(rng: Random, text: str) -> str:
    """A sign too many, too few or in the place of another."""
    at = rng.randrange(len(text) + 1)
    sign = rng.choice((*SIGNS, "", "", text[at : at + 1] * 2))
    return text[:at] + sign + text[at + rng.randrange(2) :]


def _lines(rng: Random, text: str) -> str:
    """Lines dropped, doubled, swapped."""
    lines = text.split("\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(3)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines.insert(other, lines[at])
    else:
        lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)
