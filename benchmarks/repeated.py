"""CoNLL-2003 again and again, each time with new names put in: text of any length.

Every time the letters of all words that begin names are exchanged, vowels with vowels and
consonants with consonants, as a seed says. So there are some 8,000 new words in 200,000 tokens.
"""

from __future__ import annotations

import random

VOWELS, CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxyz"


def write_repeated(source, tokens, path):
    """Write so many tokens of a corpus with new names to a CoNLL file."""
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines(source, tokens))


def lines(source, tokens):
    """The lines of the file, with a blank line behind each sentence."""
    columns = [name for name in source.columns if name != "word"]
    rows = [list(zip(s.words, *map(s.column, columns), strict=True)) for s in source]
    exchange, made, number = None, 0, 0
    seeded = random.Random(0)
    while made < tokens:
        sentence = rows[number % len(rows)]
        if number and number % len(rows) == 0:
            exchange = exchanged(seeded)
        for word, *others in sentence[: tokens - made]:
            named = exchange is not None and others[-1] != "O" and word[:1].isupper()
            yield " ".join([word.translate(exchange) if named else word, *others]) + "\n"
        yield "\n"
        made += len(sentence)
        number += 1


def exchanged(seeded):
    """A table that exchanges letters."""
    table = {}
    for letters in (VOWELS, CONSONANTS):
        others = seeded.sample(letters, len(letters))
        table |= dict(zip(letters, others, strict=True))
    return str.maketrans(table | {k.upper(): v.upper() for k, v in table.items()})
