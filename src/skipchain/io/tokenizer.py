"""Running text to tokens and sentences, by rules, with character offsets.

The conventions are those of the Penn Treebank and of CoNLL: punctuation stands alone, ``'s`` and
``n't`` are cut off, abbreviations keep their full stop, numbers and hyphenated words stay whole.
What a chunk between white space is cut into depends on that chunk alone, so each distinct chunk is
cut once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints
from skipchain.corpus.column import frozen

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Where tokens stand in a text: ``text[starts[i]:ends[i]]``, ``int32 [N]``.

    ``sentences`` is ``int64 [M + 1]``, offsets into the tokens.
    """

    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    sentences: Ints

    def words(self, text: str) -> list[str]:
        """The tokens as strings."""
        pairs = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [text[start:end] for start, end in pairs]


def tokenize(text: str, cuts: Iterable[int] = ()) -> Tokens:
    """The tokens and sentences of a text; every character but white space is in one token.

    A token that one of the ``cuts`` (character offsets) falls into is cut there. Takes time linear
    in the length of the text.

    >>> text = "Mr. Lee didn't pay $3.50. (He left.)"
    >>> tokens = tokenize(text)
    >>> tokens.words(text)
    ['Mr.', 'Lee', 'did', "n't", 'pay', '$', '3.50', '.', '(', 'He', 'left', '.', ')']
    >>> tokens.sentences.tolist()
    [0, 8, 13]
    """
    starts, ends = cut_chunks(text)
    starts, ends = join_numbers(text, starts, ends)
    sentences = split_sentences(text, starts, ends)
    first, last = np.array(starts, np.int32), np.array(ends, np.int32)
    offsets = np.array([*sentences, len(starts)] if starts else [0], np.int64)
    tokens = Tokens(frozen(first), frozen(last), frozen(offsets))
    return cut_at(tokens, sorted(set(cuts)))


def cut_at(tokens: Tokens, cuts: list[int]) -> Tokens:
    """Cut the tokens in two at the character offsets that fall inside one."""
    if not cuts or not len(tokens.starts):
        return tokens
    places = np.array(cuts, np.int32)
    token = np.searchsorted(tokens.starts, places, side="right") - 1
    inside = (token >= 0) & (places > tokens.starts[token]) & (places < tokens.ends[token])
    if not inside.any():
        return tokens
    token, places = token[inside], places[inside]
    starts = np.insert(tokens.starts, token + 1, places)
    ends = np.insert(tokens.ends, token, places)
    sentences = tokens.sentences + np.searchsorted(token, tokens.sentences)
    return Tokens(frozen(starts), frozen(ends), frozen(sentences))


def word_set(text: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(text.split())


# Tokens ------------------------------------------------------------------------------------------

# Signs that stand alone; what is neither such a sign nor white space is part of a word.
SIGNS = (
    r"!-/:-@\[-`{-~¡-©«-±´¶-¸»¿×÷‐-‧‰-⁞₠-⃀←-⏿─-➿⟦-⟯⦀-⧿、-〃〈-】〔-〟！-／：-＠［-｀｛-･"
    r"\U0001F000-\U0001FAFF"
)
WORD = rf"[^\s{SIGNS}]"

# Quantifiers are possessive (++) or bounded, so that no text makes the matcher go back far.
TOKEN = rf"""
    (?:https?://|www\.)[^\s<>"]{{0,2000}}[^\s<>"'.,;:!?)\]}}]      # web address
  | [\w.+-]{{1,64}}+@[\w-]{{1,64}}+(?:\.[\w-]{{1,64}}+)++          # e-mail address
  | [@\#](?=[^\W\d]){WORD}++                                       # @name, #topic
  | \.\.++ | -{{2,}}+ | ''|``                                      # ... -- '' ``
  | ['’]\d0s(?!{WORD})                                             # '90s
  | Ph\.D\.
  | (?:[^\W\d_]\.){{2,}}+(?:[^\W\d_](?!{WORD}))?+                  # U.S. e.g. a.m
  | [+-]?+\d++(?:[.,:/-]\d++)*+(?:{WORD}++(?:-{WORD}++)*+)?+       # 3.14 1,000 3:30 1996-08-22 5th
  | {WORD}++(?:(?:[-'’&/]|\.(?=[a-z0-9]))(?={WORD}){WORD}++)*+(?:\.(?!\.))?+ # O'Neill Mr.
  | [\U0001F000-\U0001FAFF☀-➿](?:[\ufe0f\U0001F3FB-\U0001F3FF]|\u200d.)*+  # emoji
  | .
"""

ABBREVIATIONS = word_set(
    """mr mrs ms messrs mme dr drs prof rev hon gen col maj capt cmdr lt sgt cpl pvt adm gov sen
    sens rep reps pres supt det st sr jr inc corp co cos ltd llc plc bros mfg assn dept univ inst
    est vs etc al fig figs eq eqs vol vols pp ed eds ch sec approx tel ext ave blvd rd mt ft jan feb
    mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thurs fri ala ariz ark calif colo
    conn del fla ga ill ind kan ky la mass md mich minn miss mo mont neb nev okla ore pa penn tenn
    tex va vt wash wis wyo"""
)
# Words that are abbreviations only in front of a number.
NUMBERED = r"(?<!\w)([Nn]os?|NO|[Aa]rt|p)\.\s+\d"
CONTRACTED = ("'s", "'m", "'d", "'re", "'ve", "'ll", "n't")


def cut_chunks(text: str) -> tuple[list[int], list[int]]:
    """The starts and ends of the tokens, before sentences are looked at."""
    cache: dict[str, Pairs] = {}
    starts: list[int] = []
    ends: list[int] = []
    for match in re.finditer(r"\S+", text):
        chunk, base = match.group(), match.start()
        if chunk.isalnum() and chunk != "cannot":
            starts.append(base)
            ends.append(base + len(chunk))
            continue
        pairs = cache.get(chunk)
        if pairs is None:
            pairs = cache[chunk] = tuple(cut_chunk(chunk))
        for start, end in pairs:
            starts.append(base + start)
            ends.append(base + end)
    return starts, ends


def cut_chunk(chunk: str) -> list[tuple[int, int]]:
    """The tokens of a chunk without white space."""
    pairs: list[tuple[int, int]] = []
    for match in token_pattern().finditer(chunk):
        pairs.extend(cut_word(match.group(), match.start()))
    return pairs


@cache
def token_pattern() -> re.Pattern[str]:
    """The compiled pattern; compiling takes some milliseconds, so only when it is needed."""
    return re.compile(TOKEN, re.VERBOSE | re.DOTALL)


def cut_word(word: str, start: int) -> list[tuple[int, int]]:
    """Cut a full stop and contractions off a word, where they do not belong to it."""
    end = start + len(word)
    tail: list[tuple[int, int]] = []
    if word[-1] == "." and len(word) > 1 and not keeps_stop(word):
        tail.append((end - 1, end))
        word, end = word[:-1], end - 1
    if word == "cannot":
        return [(start, start + 3), (start + 3, end), *tail]
    for _ in range(2):  # they'd've
        if size := contraction(word):
            tail.insert(0, (end - size, end))
            word, end = word[:-size], end - size
    return [(start, end), *tail]


def keeps_stop(word: str) -> bool:
    """Whether a final full stop belongs to the word: an abbreviation, an initial, an ellipsis."""
    stem = word[:-1]
    if len(stem) == 1:
        return (stem.isupper() and stem != "I") or stem == "."
    return stem[-1] == "." or (stem[-2] == "." and stem[-1].isalpha()) or is_abbreviation(stem)


def is_abbreviation(stem: str) -> bool:
    """Whether the word takes a full stop."""
    return stem.lower() in ABBREVIATIONS and not (stem.islower() and stem in LOWER_WORDS)


# In lower case these are more often words than abbreviations.
LOWER_WORDS = word_set(
    """mar jun sat sun mon wed ill ind miss mass mo la pa del wash tex ore conn ala ark rev gen col
    maj capt det rep sen gov pres est ext ave co ch mt ft ga va md"""
)


def contraction(word: str) -> int:
    """The length of the contracted ending of a word, or 0."""
    if len(word) > 2 and ("'" in word[-3:] or "’" in word[-3:]):
        plain = word[-3:].lower().replace("’", "'")
        for ending in CONTRACTED:
            if plain.endswith(ending) and len(word) > len(ending):
                return len(ending)
    return 0


def join_numbers(text: str, starts: list[int], ends: list[int]) -> tuple[list[int], list[int]]:
    """Give ``No`` its full stop back where a number follows, as in ``No. 5``."""
    places = [match.end(1) for match in re.finditer(NUMBERED, text)]
    stops = np.searchsorted(starts, places).tolist()
    pairs = zip(stops, places, strict=True)
    joined = {k for k, at in pairs if 0 < k < len(starts) and starts[k] == at == ends[k - 1]}
    if not joined:
        return starts, ends
    for token in joined:
        ends[token - 1] = ends[token]
    kept = [token for token in range(len(starts)) if token not in joined]
    return [starts[token] for token in kept], [ends[token] for token in kept]


# Sentences ---------------------------------------------------------------------------------------

STOPS = frozenset((".", "?", "!", "...", "…", "..", "。", "！", "？"))
FULL_WIDTH = frozenset("。！？")
CLOSERS = frozenset(("'", '"', "''", "”", "’", ")", "]", "}", "»", "」", "』", "）"))
# Abbreviations that often end a sentence do so if one of these words follows.
ENDERS = word_set(
    """inc. corp. co. ltd. llc. plc. bros. etc. jr. sr. al. u.s. u.k. u.n. e.u. d.c. a.m. p.m. ph.d.
    ave. blvd. st. dept. univ."""
)
OPENERS = word_set(
    """The This That These Those There Then They He She It We You I His Her Its Their My Our Your A
    An In On At As For From With But And Or If When While After Before Since Although However
    Meanwhile
    What Who Why How Where"""
)


def split_sentences(text: str, starts: list[int], ends: list[int]) -> list[int]:
    """The tokens with which sentences begin."""
    firsts = {0, *after_blank_lines(text, starts)}
    size, token = len(starts), 0
    while token < size:
        end = ends[token]
        # For most tokens the last character decides.
        if text[end - 1] not in ".?!…。！？" or not may_end(text[starts[token] : end]):
            token += 1
            continue
        first = token
        token += 1
        while token < size and starts[token] == ends[token - 1]:
            if not closes(text[starts[token] : ends[token]]):
                break
            token += 1
        if token < size and begins(text, starts, ends, first, token):
            firsts.add(token)
    return sorted(firsts)


def may_end(word: str) -> bool:
    """Whether a sentence can end with the word."""
    return word in STOPS or word.lower() in ENDERS


def closes(word: str) -> bool:
    """Whether the word is a closing quote or bracket, or one more stop of the same sentence."""
    return word in CLOSERS or word in STOPS


def begins(text: str, starts: list[int], ends: list[int], stop: int, token: int) -> bool:
    """Whether a sentence begins with the token behind a stop and what closes it."""
    if starts[token] == ends[token - 1]:
        return text[ends[token - 1] - 1] in FULL_WIDTH
    if token == stop + 1 and text[starts[stop] : ends[stop]] not in STOPS:
        return text[starts[token] : ends[token]] in OPENERS
    return not text[starts[token]].islower() and text[starts[token]] not in ",;:-–—)"


def after_blank_lines(text: str, starts: list[int]) -> list[int]:
    """The tokens that come first behind a blank line."""
    places = [match.end() for match in re.finditer(r"\n[^\S\n]*+\n", text)]
    return [k for k in np.searchsorted(starts, places).tolist() if k < len(starts)]
