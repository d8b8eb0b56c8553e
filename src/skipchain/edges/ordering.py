"""Orderings: in which order the tokens of a document are visited, so that parents come first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Ints, offsets_of
from skipchain.corpus import Corpus
from skipchain.errors import ParameterError

FORWARD, BACKWARD, RANDOM = ORDERING_NAMES = ("forward", "backward", "random")
MAX_ORDERINGS = 1_000
_WORD = re.compile(rf"({FORWARD}|{BACKWARD}|{RANDOM})(?:\s*\(\s*(\d+)\s*\))?")


@dataclass(frozen=True, slots=True)
class Ordering:
    """One way through the tokens of every document.

    ``forward`` visits them as they stand, ``backward`` from the last to the first. ``random``
    visits the sentences of a document in an order drawn with ``seed``, each sentence from left to
    right; where a sentence is a page, that is an order of pages.

    >>> corpus = Corpus.of([["a", "b"], ["c"]])
    >>> Ordering("backward").token_order(corpus).tolist()
    [2, 1, 0]
    """

    direction: str = FORWARD
    seed: int = 0

    def __post_init__(self) -> None:
        if self.direction not in ORDERING_NAMES:
            raise ParameterError(
                f"there is no ordering {self.direction!r}; wanted {FORWARD}, {BACKWARD} or {RANDOM}"
            )

    @property
    def backward(self) -> bool:
        """Whether sentences are read from right to left."""
        return self.direction == BACKWARD

    def __str__(self) -> str:
        return self.direction if self.direction != RANDOM else f"{RANDOM} {self.seed}"

    def token_order(self, corpus: Corpus) -> Ints:
        """The tokens in the order in which they are visited, document by document. [N]"""
        tokens = np.arange(corpus.n_tokens)
        if self.direction == FORWARD:
            return tokens
        bounds = corpus.sentences[corpus.documents]
        if self.direction == BACKWARD:
            lengths = np.diff(bounds)
            return np.repeat(bounds[:-1] + bounds[1:] - 1, lengths) - tokens
        sizes = np.diff(corpus.documents)
        document = np.repeat(np.arange(corpus.n_documents), sizes)
        place = np.arange(len(corpus)) - np.repeat(corpus.documents[:-1], sizes)
        # drawn by the place in the document: what else is in the corpus changes nothing
        keys = np.random.default_rng(self.seed).random(int(sizes.max(initial=0)))
        order = np.lexsort((keys[place], document))
        lengths = np.diff(corpus.sentences)[order]
        offsets = offsets_of(lengths)
        return np.repeat(corpus.sentences[:-1][order] - offsets[:-1], lengths) + tokens


def parse_orderings(given: str | Sequence[str | Ordering], seed: int = 0) -> tuple[Ordering, ...]:
    """Orderings from text, such as ``forward, backward`` or ``random(50)``.

    >>> [str(ordering) for ordering in parse_orderings("forward, random(2)", seed=7)]
    ['forward', 'random 7', 'random 8']
    """
    if not isinstance(given, (str, Sequence)):
        raise ParameterError(f"orderings are text or a list, got {given!r}")
    orderings: dict[Ordering, None] = {}
    for part in given.split(",") if isinstance(given, str) else given:
        if isinstance(part, Ordering):
            orderings[part] = None
            continue
        text = str(part).strip()
        match = _WORD.fullmatch(text)
        if match is None or (match[2] is not None and (match[1] != RANDOM or int(match[2]) < 1)):
            raise ParameterError(
                f"there is no ordering {text!r}; wanted {FORWARD}, {BACKWARD} or "
                f"{RANDOM}(NUMBER), separated by commas"
            )
        if int(match[2] or 1) > MAX_ORDERINGS:
            raise ParameterError(f"there are at most {MAX_ORDERINGS:,} orderings, got {text!r}")
        if match[1] == RANDOM:
            first = seed + sum(ordering.direction == RANDOM for ordering in orderings)
            orderings |= dict.fromkeys(
                Ordering(RANDOM, first + k) for k in range(int(match[2] or 1))
            )
        else:
            orderings[Ordering(match[1])] = None
    if not orderings:
        raise ParameterError("there is no ordering; give at least 'forward'")
    return tuple(orderings)
