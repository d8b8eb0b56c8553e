"""Cross-fitting: every document is seen by a model that has not learnt from it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from skipchain.arrays import Floats, Ints, members
from skipchain.corpus import Corpus
from skipchain.corpus.folds import document_folds
from skipchain.errors import ParameterError, SkipchainWarning
from skipchain.models.base.inputs import Input, chain_offsets, shared_numbers, take_sequences
from skipchain.models.base.model import AnyModel
from skipchain.parallel import Workers

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Fold:
    """One of ``count`` parts of the data, held out while a model learns from the others.

    ``held_out`` and ``rest`` are numbers of documents, or of sequences where the data have no
    documents; ``sequences`` are those of the part held out.
    """

    number: int
    count: int
    held_out: Ints
    rest: Ints
    given: Input
    labels: Any
    by_documents: bool

    def stage(self, purpose: str) -> str:
        """What a display is told of the training without this fold."""
        return f"without fold {self.number + 1} of {self.count}, for {purpose}"

    @property
    def sequences(self) -> Ints:
        """The sequences that are held out."""
        return self._sequences(self.held_out)

    @property
    def tokens(self) -> Ints:
        """The tokens that are held out, in the order in which `held` has them."""
        return members(chain_offsets(self.given), self.sequences)

    def training(self) -> tuple[Any, Any]:
        """The data to learn from, and their labels where these are given apart."""
        return self._take(self.rest)

    def held(self) -> tuple[Any, Any]:
        """The data held out, and their labels where these are given apart."""
        return self._take(self.held_out)

    def _sequences(self, parts: Ints) -> Ints:
        if not self.by_documents:
            return parts
        assert isinstance(self.given, Corpus)
        return members(self.given.documents, parts)

    def _take(self, parts: Ints) -> tuple[Any, Any]:
        if self.by_documents and self.labels is None:
            assert isinstance(self.given, Corpus)
            return self.given.take_documents(parts), None
        return take_sequences(self.given, self.labels, self._sequences(parts))


def deal(
    given: Input,
    folds: int,
    seed: int,
    *,
    labels: Any = None,
    by_documents: bool | None = None,
    most: bool = False,
    runs: bool = False,
) -> list[Fold]:
    """The data in folds, dealt at random; copies of a document stay in one fold.

    Documents stay whole where there are enough of them (or where ``by_documents`` says so), else
    sequences are dealt; with ``runs`` not at random, but in as many runs of neighbours as there are
    folds. With ``most`` there may be fewer folds, where the data do not suffice for so many.
    Documents without tokens are in the first fold.
    """
    if by_documents is None:
        by_documents = isinstance(given, Corpus) and _n_distinct(given) >= 2 * folds
    if by_documents:
        assert isinstance(given, Corpus)
        fold = _deal_documents(given, folds, seed, most=most)
    else:
        count = min(folds, len(given)) if most else folds
        if not 2 <= count <= len(given):
            raise ParameterError(
                f"{folds} folds need as many sequences, but there are {len(given)}; give fewer"
            )
        in_runs = np.arange(len(given)) * count // len(given)
        fold = in_runs if runs else _shuffled(len(given), count, seed)
    count = int(fold.max()) + 1
    parts = [(np.flatnonzero(fold == k), np.flatnonzero(fold != k)) for k in range(count)]
    return [Fold(k, count, *part, given, labels, by_documents) for k, part in enumerate(parts)]


def deal_documents(corpus: Corpus, folds: int, seed: int, purpose: str) -> list[Fold]:
    """The documents in so many folds, or in fewer; refused where a ``purpose`` has too few."""
    try:
        return deal(corpus, folds, seed, by_documents=True, most=True)
    except ParameterError:
        filled = int(np.count_nonzero(np.diff(corpus.sentences[corpus.documents])))
        raise ParameterError(
            f"{purpose} needs at least 2 folds and 2 documents, so that some can be held out; got "
            f"folds={folds} and {filled} documents"
        ) from None


def _n_distinct(corpus: Corpus) -> int:
    """How many documents differ in their words."""
    bounds = corpus.sentences[corpus.documents].tolist()
    return len({corpus.words.codes[a:b].tobytes() for a, b in pairwise(bounds)})


def cross_fit(
    folds: Sequence[Fold], fit: Callable[[Fold], Result], workers: Workers | None = None
) -> list[Result]:
    """What ``fit`` makes of each fold: it learns from the rest and looks at what is held out."""
    return (workers or Workers(1)).map(fit, folds)


def _deal_documents(corpus: Corpus, folds: int, seed: int, *, most: bool) -> Ints:
    """The fold of each document. [D]"""
    if not most:
        return document_folds(corpus, folds, seed=seed)
    bounds = corpus.sentences[corpus.documents]
    filled = np.flatnonzero(np.diff(bounds))
    words = [corpus.words.codes[bounds[d] : bounds[d + 1]].tobytes() for d in filled.tolist()]
    first = {text: k for k, text in reversed(list(enumerate(words)))}
    distinct, group = np.unique([first[text] for text in words], return_inverse=True)
    if len(distinct) == 1 < len(filled):
        warnings.warn(
            "all documents have the same words, so that none is new to a model that has learnt "
            "from the others; what is learnt from held-out documents is too sure of itself",
            SkipchainWarning,
            stacklevel=4,
        )
        distinct, group = filled, np.arange(len(filled))
    count = min(folds, len(distinct))
    if count < 2:
        raise ParameterError(
            f"{folds} folds need at least 2 documents with tokens, and there are {len(filled)}"
        )
    every = np.zeros(corpus.n_documents, np.int64)
    every[filled] = _shuffled(len(distinct), count, seed)[group]
    return every


def _shuffled(size: int, count: int, seed: int) -> Ints:
    """Numbers from 0 to ``count`` − 1, each about as often, in a random order. [size]"""
    fold = np.empty(size, np.int64)
    fold[np.random.default_rng(seed).permutation(size)] = np.arange(size) % count
    return fold


def cross_predict(
    folds: Sequence[Fold],
    fit: Callable[[Fold], AnyModel],
    names: Sequence[str],
    *,
    side_by_side: Workers | None = None,
    workers: Workers | None = None,
) -> tuple[Floats, Ints]:
    """What is said of every token by a model that was not shown its fold.

    Marginals [N, L] and decoded labels [N], both by the numbers of ``names``. Models learn
    ``side_by_side``; ``workers`` predict.
    """
    models = cross_fit(folds, fit, side_by_side)
    n_tokens = int(chain_offsets(folds[0].given)[-1])
    marginals = np.zeros((n_tokens, len(names)))
    labels = np.zeros(n_tokens, np.int64)
    for fold, model in zip(folds, models, strict=True):
        given = fold.held()[0]
        if isinstance(given, Corpus):
            given = given.without_labels()
        tokens = fold.tokens
        marginals[tokens], labels[tokens] = predictions(model, given, names, workers)
    return marginals, labels


def predictions(
    model: AnyModel, given: Input, names: Sequence[str], workers: Workers | None = None
) -> tuple[Floats, Ints]:
    """Marginals [N, L] and decoded labels [N] of the input, by the numbers of ``names``."""
    workers = workers or Workers(1)
    number = {name: k for k, name in enumerate(names)}
    scores = model.scores(given, workers)
    column = model.decode(scores, workers)
    source, target = shared_numbers(model.labels, names)
    marginals = np.zeros((int(scores.offsets[-1]), len(names)))
    marginals[:, target] = model.marginals(scores, workers)[:, source]
    codes = np.array([number.get(name, -1) for name in column.values], np.int64)
    return marginals, codes[column.codes]
