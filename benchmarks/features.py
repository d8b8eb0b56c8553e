"""One feature set, written twice: as templates, and as CRFsuite's users write it in Python.

`tests/test_benchmarks.py` shows that both give the same features for every token.
"""

from __future__ import annotations

import re

TEMPLATES = """
word[-2..2]
lower[-1..1]
prefix(1)
prefix(2)
prefix(3)
prefix(4)
suffix(1)
suffix(2)
suffix(3)
suffix(4)
suffix(3)[-1]
suffix(3)[1]
shape[-1..1]
shortshape[-1..1]
pos[-2..2]
pos[-1] & pos
pos & pos[1]
word[-1] & word
word & word[1]
match("^[A-Z]")
match("[0-9]")
match("-")
"""


RUN, FIRST = re.compile(r"(.)\1+"), r"\1"


def shape(word):
    return "".join(
        "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word
    )


def sentence_features(words, tags):
    """A list of feature strings per token."""
    lowered = [word.lower() for word in words]
    shapes = [shape(word) for word in words]
    short = [RUN.sub(FIRST, each) for each in shapes]
    return [token_features(words, tags, lowered, shapes, short, i) for i in range(len(words))]


def at(values, i):
    if i < 0:
        return "<s>"
    if i >= len(values):
        return "</s>"
    return values[i]


def token_features(words, tags, lowered, shapes, short, i):
    word, tag = words[i], tags[i]
    features = [
        f"word[-2]={at(words, i - 2)}",
        f"word[-1]={at(words, i - 1)}",
        f"word={word}",
        f"word[1]={at(words, i + 1)}",
        f"word[2]={at(words, i + 2)}",
        f"lower[-1]={at(lowered, i - 1)}",
        f"lower={lowered[i]}",
        f"lower[1]={at(lowered, i + 1)}",
        f"shape[-1]={at(shapes, i - 1)}",
        f"shape={shapes[i]}",
        f"shape[1]={at(shapes, i + 1)}",
        f"shortshape[-1]={at(short, i - 1)}",
        f"shortshape={short[i]}",
        f"shortshape[1]={at(short, i + 1)}",
        f"pos[-2]={at(tags, i - 2)}",
        f"pos[-1]={at(tags, i - 1)}",
        f"pos={tag}",
        f"pos[1]={at(tags, i + 1)}",
        f"pos[2]={at(tags, i + 2)}",
        f"pos[-1] & pos={at(tags, i - 1)}|{tag}",
        f"pos & pos[1]={tag}|{at(tags, i + 1)}",
        f"word[-1] & word={at(words, i - 1)}|{word}",
        f"word & word[1]={word}|{at(words, i + 1)}",
    ]
    for k in (-1, 1):
        neighbour = at(words, i + k)
        if not 0 <= i + k < len(words) or len(neighbour) >= 3:
            ending = neighbour[-3:] if 0 <= i + k < len(words) else neighbour
            features.append(f"suffix(3)[{k}]={ending}")
    for length in range(1, 5):
        if len(word) >= length:
            features.append(f"prefix({length})={word[:length]}")
            features.append(f"suffix({length})={word[-length:]}")
    if re.search("^[A-Z]", word):
        features.append('match("^[A-Z]")=yes')
    if re.search("[0-9]", word):
        features.append('match("[0-9]")=yes')
    if "-" in word:
        features.append('match("-")=yes')
    return features
