"""Spans that may be mentions of persons: names, and nouns such as *writer*."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from skipchain.nametagger.wordlists import DATES, PARTICLES, STOPS, TITLES, is_group, normalized

LONGEST = 3  # words, without particles
INITIAL = re.compile(r"(?:[^\W\d_]\.-?)+")
ARTICLE = re.compile(r"(?:a[dlnrstz]|ash|el|ben|ibn)-(?=.)")  # al-Asad
WORD = re.compile(r"[^\W\d_][\w'.-]*")
OPENING = ('"', "``", "“", "'", "(", "-", ":")
HEADLINE_UPPER_SHARE = 0.7  # the share of words in capitals that makes a headline

EXCLUDED_WORDS = TITLES | DATES | STOPS

Span = tuple[int, int]


def name_candidates(
    words: Sequence[str], ordinary: Callable[[str, bool], bool] = lambda word, alone: False
) -> list[Span]:
    """Runs of capitalised words in a sentence, without titles, dates, peoples and stop words.

    ``ordinary(word, alone)`` says which words are capitalised only because they begin a sentence;
    ``alone``: no part of a name follows. Particles (*van der*) may stand inside. In a sentence that
    is all in capitals there are none.

    >>> name_candidates("On Monday Mr. Ada van Lee met the German Bo.".split())
    [(3, 6), (9, 10)]
    """
    if is_headline(words):
        return []
    spans: list[Span] = []
    k = 0
    while k < len(words):
        alone = k + 1 == len(words) or not is_name_part(words[k + 1])
        if not is_name_part(words[k]) or (begins_sentence(words, k) and ordinary(words[k], alone)):
            k += 1
            continue
        stop = k + 1
        while stop < len(words):
            after = stop
            while after < len(words) and words[after] in PARTICLES:
                after += 1
            if after == len(words) or not is_name_part(words[after]):
                break
            stop = after + 1
        if sum(word not in PARTICLES for word in words[k:stop]) <= LONGEST:
            spans.append((k, stop))
        k = stop
    return spans


def nominal_candidates(words: Sequence[str]) -> list[Span]:
    """Sequences of up to three words in small letters that are no stop words.

    >>> nominal_candidates("The young writer slept".split())
    [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]
    """
    fit = [bool(WORD.fullmatch(w)) and w.islower() and w not in STOPS for w in words]
    return [
        (start, stop)
        for start in range(len(words))
        for stop in range(start + 1, min(start + LONGEST, len(words)) + 1)
        if all(fit[start:stop])
    ]


def is_name_part(word: str) -> bool:
    """Whether a word may be part of a person's name."""
    if INITIAL.fullmatch(word) and word[0].isupper():
        return True
    if not ARTICLE.sub("", word, count=1)[:1].isupper() or not WORD.fullmatch(word):
        return False
    return normalized(word) not in EXCLUDED_WORDS and not is_group(word)


def begins_sentence(words: Sequence[str], place: int) -> bool:
    """Whether a sentence, or a quotation in it, begins here."""
    return place == 0 or words[place - 1] in OPENING


def is_headline(words: Sequence[str]) -> bool:
    """Whether most words are all in capitals, as in a headline."""
    upper = [word.isupper() for word in words if len(word) > 1 and word.isalpha()]
    return len(upper) > 1 and sum(upper) >= HEADLINE_UPPER_SHARE * len(upper)
