"""Facts about words are the same whether they were known before or not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from skipchain.annotators import word_memo
from skipchain.annotators.casing import word_facts
from skipchain.annotators.word_memo import WordMemo

WORDS = ["Oslo", "oslo", "NATO", "B-52", "42", ".", "É", "ß", "X", ""]


def lengths_of(words):
    return (np.array([len(word) for word in words], np.int64),)


def test_each_word_is_asked_for_once():
    asked = []

    def find(words):
        asked.extend(words)
        return lengths_of(words)

    memo = WordMemo(find)
    for words in (WORDS, WORDS[::-1], [*WORDS, "further"], []):
        np.testing.assert_array_equal(memo(words)[0], [len(word) for word in words])
    assert asked == [*WORDS, "further"]


def test_a_full_memo_begins_anew(monkeypatch):
    monkeypatch.setattr(word_memo, "KEPT", 4)
    memo = WordMemo(lengths_of)
    for k in range(20):
        words = ["a" * (k + m) for m in range(3 if k % 5 else 9)]
        assert memo(words)[0].tolist() == [k + m for m in range(len(words))]


def test_threads_share_a_memo(monkeypatch):
    monkeypatch.setattr(word_memo, "KEPT", 50)
    memo = WordMemo(lengths_of)

    def ask(seed):
        random = np.random.default_rng(seed)
        for _ in range(200):
            words = ["w" * size for size in random.permutation(70)[:20].tolist()]
            if memo(words)[0].tolist() != [len(word) for word in words]:
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))


def test_facts_of_words():
    facts = word_facts(WORDS)
    assert facts.lowercase.tolist() == [word.lower() for word in WORDS]
    assert facts.is_capitalized.tolist() == [word[:1].isupper() for word in WORDS]
    assert facts.is_lowercase.tolist() == [word.islower() for word in WORDS]
    assert facts.is_acronym.tolist() == [word.isupper() and len(word) > 1 for word in WORDS]
    assert facts.has_digit.tolist() == [any(map(str.isdigit, word)) for word in WORDS]
    assert facts.has_lowercase.tolist() == [any(map(str.islower, word)) for word in WORDS]
    assert facts.letters.tolist() == [4, 4, 4, 4, 0, 0, 1, 1, 1, 0]
