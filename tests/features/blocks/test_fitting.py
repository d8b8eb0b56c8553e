"""A vocabulary and an index built in blocks are those that are built at once."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain import Corpus
from skipchain.features.blocks.fitting import CorpusBlocks
from skipchain.features.presets import PRESETS
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.scratch.folder import Scratch
from skipchain.scratch.gathering import gather

LETTERS = "abcd"
TEXTS = {
    "word": "word",
    "unary": "word[-1..1]\nsuffix(2)\nprefix(1)[-1]\nshape\npos[-2..2]",
    "conjunctions": "word[-1] & word\npos[-1] & pos & pos[1]\nword & pos\nword & shape[1]",
    "joint": "\n".join(f"shortshape[{k}] & shortshape[{k + 1}]" for k in range(-3, 3)),
    "joint pairs": "pos[-1] & pos\npos & pos[1]\npos[-1] & pos & pos[1]\npos[-1] & pos[1]",
    "ngrams": "ngrams(1, 3)\nngrams(1, 2)[-1] & pos\nword",
    "bags": "bag(word, -3..-1)\nbag(word, -20..20)\nbag(pos, -2..2) & word",
    "pairs": "word\nlabel[-1] & word\nlabel[-1] & pos[-1..1]\nlabel[-1] & ngrams(1, 1)",
    "numbers": "word\nvalue(number)\nlabel[-1] & value(number)",
    "standard": PRESETS["ner-words"],
}


def corpus(seed=0, sentences=60):
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 9, sentences)
    word = [
        ["".join(random.choice([*LETTERS], random.integers(1, 4))) for _ in range(k)] for k in sizes
    ]
    columns = {
        "pos": [[w[0].upper() if random.random() < 0.8 else "" for w in own] for own in word],
        "number": [[str(random.integers(0, 3)) for _ in own] for own in word],
    }
    return Corpus.of(word, documents=[sentences // 2, sentences - sentences // 2], **columns)


def assert_same(a, b):
    assert a.dtype == b.dtype
    assert np.array_equal(a, b)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("min_count", [1, 2])
@pytest.mark.parametrize(("block", "held"), [(7, 5), (64, 1 << 20), (10_000, 20)])
def test_blocks_give_what_the_whole_gives(tmp_path, name, min_count, block, held):
    data, templates = corpus(), Templates.parse(TEXTS[name])
    known, rows = Vocabulary.fit(data, templates, min_count)
    with Scratch(tmp_path, small=0) as scratch:
        parts = [data[first : first + 11] for first in range(0, len(data), 11)]
        blocks = CorpusBlocks(gather(parts, scratch), scratch, block, held)
        vocabulary, matrix = blocks.fit(templates, min_count)
        assert vocabulary.names() == known.names()
        assert vocabulary.names(transition=True) == known.names(transition=True)
        for own, wanted in zip(vocabulary.rows, known.rows, strict=True):
            assert_same(own, wanted)
        for part in ("tokens", "bundles", "edges"):
            for own, wanted in zip(
                getattr(matrix, part).arrays, getattr(rows, part).arrays, strict=True
            ):
                assert_same(own, wanted)
        assert matrix.unknown == rows.unknown
        assert (matrix.n_features, matrix.n_edge_features) == (
            rows.n_features,
            rows.n_edge_features,
        )
        assert matrix.n_active == rows.n_active
