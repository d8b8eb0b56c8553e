"""Why a token has one label and not another, as data: active features and what each is worth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np

from skipchain.arrays import Floats
from skipchain.chains.dataset import Dataset
from skipchain.chains.decode import marginals
from skipchain.corpus import Corpus
from skipchain.errors import SkipchainError
from skipchain.features.label_ngrams import SHORTEST
from skipchain.features.label_trigrams import ANY
from skipchain.features.matrix import CSRMatrix
from skipchain.features.vocabulary import Vocabulary
from skipchain.models.base.inputs import Input, chain_offsets
from skipchain.models.base.model import AnyModel
from skipchain.models.chain.model import ChainModel
from skipchain.parallel import Workers
from skipchain.report.decisions import weighed
from skipchain.report.pictures import Picture
from skipchain.report.sheet import TOP, OnSheet, Piece, Sheet, SheetTable

FEATURE, PARENT, LABELS, BOUNDARY = "feature", "parent", "labels", "boundary"


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one active feature, or one meeting of labels, adds to the score of each label.

    ``kind`` is ``feature``, ``parent`` (a feature of a token that the label depends on), ``labels``
    (the labels before and after) or ``boundary`` (the start or the end of the sequence).
    """

    name: str
    kind: str
    scores: tuple[float, float]

    @property
    def difference(self) -> float:
        """The first label's score minus the second's."""
        return self.scores[0] - self.scores[1]


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(OnSheet):
    """A decision between two labels at one token, all other labels as predicted.

    ``token`` counts from 0 through the whole input, ``place`` from 0 within the ``sentence``.
    ``print`` shows the decision as a table; ``meaning`` is what its totals are.

    ``contributions`` are sorted by the size of their difference; those that are zero for both
    labels are left out. ``totals`` are their sums. For a model of whole sequences the difference of
    the totals is the log odds of the two labels, given the labels around; for a ``local`` model the
    totals are what the classifier of this position compares given the label before, and the log
    odds are those of that classifier: the total minus a normaliser which is the same for both. For
    a perceptron it is a difference of scores and no more.

    ``probabilities`` are the marginals, in which the labels around are free; a model that can only
    be searched has none, and they are those of this position's classifier given the labels before.
    ``forbidden`` names those of the two labels that the scheme does not allow next to the labels
    around, which no score can make up for.
    """

    token: int
    word: str | None
    predicted: str
    previous: str | None
    following: str | None
    labels: tuple[str, str]
    probabilities: tuple[float, float]
    contributions: tuple[Contribution, ...]
    local: bool
    forbidden: tuple[str, ...] = ()
    sentence: int = 0
    place: int = 0
    probabilistic: bool = True
    """Whether the scores are log-probabilities, so that the probabilities mean anything."""
    meaning: str = ""

    @property
    def totals(self) -> tuple[float, float]:
        """The score of each label."""
        first, second = (sum(part.scores[k] for part in self.contributions) for k in (0, 1))
        return first, second

    def __repr__(self) -> str:
        word = "" if self.word is None else f", {self.word!r}"
        return f"<Explanation of token {self.token}{word}: {' or '.join(self.labels)}>"

    def sheet(self, top: int = TOP) -> Sheet:
        """The decision as a table, with the ``top`` contributions."""
        around = f"between {self.previous or '<start>'} and {self.following or '<end>'}"
        head = (*named_token(self), f": {self.predicted}, {around}")
        table = contribution_table(self.contributions, self.labels, top)
        if self.probabilistic:
            row = ("probability", *(f"{p:.3f}" for p in self.probabilities), "")
            table = replace(table, rows=(*table.rows, row))
        meaning = [((self.meaning, "dim"),)] if self.meaning else []
        return Sheet((head, table, *forbidden_lines(self.forbidden), *meaning))

    def picture(self) -> Picture:
        """What speaks for each of the two labels, as bars."""
        parts = [(part.name, part.difference) for part in self.contributions]
        word = "" if self.word is None else f", {self.word}"
        return weighed(f"token {self.token}{word}: {self.predicted}", self.labels, parts)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        first, second = self.totals
        return {
            **asdict(self),
            "contributions": [
                {**asdict(part), "difference": part.difference} for part in self.contributions
            ],
            "totals": [first, second],
            "difference": first - second,
        }


def explain(
    model: ChainModel,
    given: Input,
    token: int | str,
    *,
    labels: Sequence[str] | None = None,
    threads: int | None = 1,
) -> Explanation:
    """Explain one token of a corpus, or of sequences of features, between two labels.

    ``token`` counts from 0 through the whole input; where the input is a corpus it may be a word
    that occurs once. ``labels`` are two of the model's; without them they are the predicted one and
    the most probable among the others.

    >>> from skipchain import CRF
    >>> corpus = Corpus.of([["Ada", "slept"], ["Bo", "ran"]] * 5,
    ...                    [["B-PER", "O"], ["B-PER", "O"]] * 5, scheme="iob2")
    >>> found = explain(CRF("word", encoding=None).fit(corpus).model_, corpus[:1], "Ada")
    >>> found.labels, sorted(part.name for part in found.contributions)
    (('B-PER', 'O'), ['<start> → ·', 'word=Ada', '· → O'])
    """
    if model.history_weights is not None:
        raise SkipchainError(
            "labels that depend on earlier ones of the document (history) cannot be explained by "
            "their sentence; explain a model without history"
        )
    offsets = chain_offsets(given)
    position = token_index(given, token, int(offsets[-1]))
    chain = int(np.searchsorted(offsets, position, side="right")) - 1
    at = position - int(offsets[chain])
    own = given[chain : chain + 1]
    with Workers(threads) as workers:
        scores = model.score_dataset(model.dataset(own, workers), workers)
        path = model.decode(scores, workers).codes.tolist()
        sure = (
            marginals(scores, workers)[at]
            if model.exact
            else _local_probabilities(model, scores.data, at, path)
        )
    pair = labels_to_compare(model, path[at], sure, labels)
    name = model.labels
    return Explanation(
        position,
        own[0].words[at] if isinstance(own, Corpus) else None,
        name[path[at]],
        name[path[at - 1]] if at else None,
        name[path[at + 1]] if at + 1 < len(path) else None,
        (name[pair[0]], name[pair[1]]),
        (float(sure[pair[0]]), float(sure[pair[1]])),
        sort_contributions(_contributions(model, scores.data, at, path, pair)),
        model.local,
        tuple(name[k] for k in pair if forbidden(model, k, at, path)),
        chain,
        at,
        model.probabilistic,
        f"{model.kind}: {model.describe_totals()}",
    )


class Located(Protocol):
    """An explanation of one token."""

    @property
    def token(self) -> int:
        """Its number through the whole input."""

    @property
    def word(self) -> str | None:
        """The word, where there is one."""

    @property
    def sentence(self) -> int:
        """The number of its sentence."""

    @property
    def place(self) -> int:
        """Its number within the sentence."""


def named_token(explanation: Located) -> tuple[Piece, ...]:
    """Which token is explained, counted in both ways where these differ."""
    token, place = explanation.token, explanation.place
    both = f" (token {place} of sentence {explanation.sentence})" if place != token else ""
    return f"token {token}{both}, ", (explanation.word or "", "bold")


def contribution_table(
    parts: Sequence[Contribution], labels: tuple[str, str], top: int
) -> SheetTable:
    """What speaks for each label, the strongest first, and the totals."""
    rows: list[tuple[Piece, ...]] = []
    for part in parts[:top]:
        where = " (parent)" if part.kind == PARENT else ""
        rows.append((part.name + where, *_signed(*part.scores, part.difference)))
    rest = parts[top:]
    if rest:
        sums = [sum(part.scores[k] for part in rest) for k in (0, 1)]
        rows.append((f"… {len(rest)} more", *_signed(*sums, sums[0] - sums[1])))
    totals = [sum(part.scores[k] for part in parts) for k in (0, 1)]
    rows.append((("total", "bold"), *_signed(*totals, totals[0] - totals[1])))
    return SheetTable(("", *labels, "difference"), tuple(rows), (1, 2, 3))


def forbidden_lines(labels: Sequence[str]) -> list[tuple[Piece, ...]]:
    """What is said of labels that the scheme rules out."""
    fault = "whatever its total: the scheme does not allow {} here"
    return [(fault.format(label),) for label in labels]


def _signed(*scores: float) -> tuple[str, ...]:
    return tuple(f"{score:+.2f}" for score in scores)


def token_index(given: Input, token: int | str, size: int) -> int:
    """The number of a token that is named by its number or, where it occurs once, its word."""
    if isinstance(token, str):
        if not isinstance(given, Corpus):
            raise SkipchainError(f"sequences of features have no words; give {token!r} as a number")
        words = given.words.tolist()
        places = [k for k, word in enumerate(words) if word == token]
        if len(places) > 1:
            told = ", ".join(map(str, places[:10])) + (" …" if len(places) > 10 else "")
            raise SkipchainError(
                f"{token!r} occurs {len(places)} times, as tokens {told}; give one of the numbers"
            )
        if not places:
            shown = " ".join(f"{k}:{word}" for k, word in enumerate(words[:20]))
            more = " …" if size > 20 else ""
            raise SkipchainError(f"there is no token {token!r}; there are {shown}{more}")
        return places[0]
    if not 0 <= token < size:
        raise SkipchainError(
            f"there is no token {token}; there are {size}, counted from 0"
            if size
            else f"there is no token {token}; the input has none"
        )
    return int(token)


def labels_to_compare(
    model: AnyModel, predicted: int, sure: Floats, labels: Sequence[str] | None
) -> tuple[int, int]:
    """The numbers of the labels to compare: those named, or the predicted one and the next best."""
    if labels is not None:
        for label in labels:
            if label not in model.labels:
                raise SkipchainError(
                    f"the model has no label {label!r}; it has {', '.join(model.labels)}"
                )
        if len(labels) != 2 or labels[0] == labels[1]:
            raise SkipchainError(f"two different labels are compared, got {', '.join(labels)}")
        return model.labels.index(labels[0]), model.labels.index(labels[1])
    if len(model.labels) < 2:
        raise SkipchainError(
            f"the model has only the label {model.labels[0]!r}; there is nothing to choose"
        )
    order = np.argsort(-sure, kind="stable").tolist()
    return predicted, next(k for k in order if k != predicted)


def _local_probabilities(model: ChainModel, data: Dataset, at: int, path: list[int]) -> Floats:
    """The probabilities of a local model's labels given those before; 0 for what may not follow."""
    labels = range(len(model.labels))
    totals = np.array(
        [
            sum(part.scores[0] for part in _contributions(model, data, at, path, (label, label)))
            for label in labels
        ]
    )
    found: Floats = np.exp(totals - np.logaddexp.reduce(totals))
    return np.where([_follows(model, label, at, path) for label in labels], found, 0.0)


def _contributions(
    model: ChainModel, data: Dataset, at: int, path: list[int], pair: tuple[int, int]
) -> Iterator[Contribution]:
    """Everything that the scores of the two labels at a position are the sum of."""
    weights = model.weights
    own = list(pair)
    size = weights.n_labels
    before = path[at - 1] if at else size

    names = model.features.names()
    for number, value in row_entries(data.rows.expanded(), at):
        yield contribution(names[number], FEATURE, value * weights.state[number, own], value)
    pairs = weights.edges.reshape(-1, size + 1, size)
    paired = model.features.names(transition=True)
    told = [*model.labels, "<start>"]
    for number, value in row_entries(data.rows.edges, at):
        scores = value * pairs[number, before, own]
        yield contribution(f"{told[before]} → · & {paired[number]}", FEATURE, scores, value)

    if at:
        scores = weights.transitions[before, own]
        yield contribution(f"{told[before]} → ·", LABELS, scores)
    else:
        yield contribution("<start> → ·", BOUNDARY, weights.start[own])
    if at + 1 == len(path):
        yield contribution("· → <end>", BOUNDARY, weights.end[own])
    if weights.order == 2 and at:
        earlier = path[at - 2] if at > 1 else size
        yield contribution(
            f"{told[earlier]} → {told[before]} → ·", LABELS, weights.triples[earlier, before, own]
        )
    yield from _ngram_contributions(model, at, path, own)
    yield from _trigram_contributions(model, data, at, path, own)
    if model.local or at + 1 == len(path):
        return
    # Whole sequences are scored: the label also has its part in what comes after it.
    after = path[at + 1]
    yield contribution(f"· → {told[after]}", LABELS, weights.transitions[own, after])
    for number, value in row_entries(data.rows.edges, at + 1):
        scores = value * pairs[number, own, after]
        yield contribution(
            f"· → {told[after]} & {paired[number]} (next token)", FEATURE, scores, value
        )
    if weights.order == 2:
        yield contribution(
            f"{told[before]} → · → {told[after]}", LABELS, weights.triples[before, own, after]
        )
        if at + 2 < len(path):
            last = path[at + 2]
            yield contribution(
                f"· → {told[after]} → {told[last]}", LABELS, weights.triples[own, after, last]
            )
    yield from _later_contributions(model, data, at, path, own)


def _ngram_contributions(
    model: ChainModel, at: int, path: list[int], own: list[int]
) -> Iterator[Contribution]:
    """What three and more labels before the position add, where the model looks so far back."""
    if model.label_ngrams is None:
        return
    told = [*model.labels, "<start>"]
    numbers = model.label_ngrams.context_indices(
        np.array(path, np.int32), np.array([0, len(path)])
    )[at]
    for back, number in enumerate(numbers.tolist(), SHORTEST):
        if number >= 0:
            seen = " → ".join(told[path[k] if k >= 0 else -1] for k in range(at - back, at))
            yield contribution(f"{seen} → ·", LABELS, model.label_ngrams.weights[number, own])


def _trigram_contributions(
    model: ChainModel, data: Dataset, at: int, path: list[int], own: list[int]
) -> Iterator[Contribution]:
    """What features add that go with the label two tokens back."""
    trigrams, index = model.label_trigrams, data.rows.trigrams
    if trigrams is None or index is None:
        return
    assert isinstance(model.features, Vocabulary)
    names, told = model.features.trigram_names(), [*model.labels, "<start>"]
    found = trigrams.row_indices(index, np.array(path, np.int32), np.array([0, len(path)]))
    rows = found[index.indptr[at] : index.indptr[at + 1]].tolist()
    for row, (number, value) in zip(rows, row_entries(index, at), strict=True):
        if row >= 0:
            _, second, before = trigrams.rows[row].tolist()
            seen = f"{told[second]} → {told[before] if before != ANY else '…'} → ·"
            scores = value * trigrams.weights[row, own]
            yield contribution(f"{seen} & {names[number]}", FEATURE, scores, value)


def _later_contributions(
    model: ChainModel, data: Dataset, at: int, path: list[int], own: list[int]
) -> Iterator[Contribution]:
    """What the label is worth as one of those before later labels, beyond tables of three."""
    if model.plain:
        return
    for later in range(at + 1, min(at + model.order, len(path) - 1) + 1):
        sums = []
        for label in own:
            labels, after = [*path[:at], label, *path[at + 1 :]], [path[later]] * 2
            parts = (
                *_ngram_contributions(model, later, labels, after),
                *_trigram_contributions(model, data, later, labels, after),
            )
            sums.append(sum(part.scores[0] for part in parts))
        seen = " → ".join(model.labels[label] for label in path[at + 1 : later + 1])
        yield contribution(f"· → {seen} (longer runs)", LABELS, np.array(sums))


def sort_contributions(parts: Iterable[Contribution]) -> tuple[Contribution, ...]:
    """Those that are not zero for both labels, by the size of their difference."""
    return tuple(
        sorted((p for p in parts if any(p.scores)), key=lambda part: -abs(part.difference))
    )


def row_entries(index: CSRMatrix, row: int) -> Iterator[tuple[int, float]]:
    """The entries of one row and their values."""
    where = slice(*index.indptr[row : row + 2].tolist())
    numbers = index.indices[where].tolist()
    values = index.values[where].tolist() if len(index.values) else [1.0] * len(numbers)
    return zip(numbers, values, strict=True)


def contribution(name: str, kind: str, scores: Floats, value: float = 1.0) -> Contribution:
    """What a feature with a value adds to both labels."""
    first, second = scores.tolist()
    return Contribution(name if value == 1.0 else f"{name} × {value:g}", kind, (first, second))


def _follows(model: AnyModel, label: int, at: int, path: list[int]) -> bool:
    """Whether the scheme allows the label after the one before."""
    rules = model.constraints
    return rules is None or bool(rules.pairs[path[at - 1], label] if at else rules.start[label])


def forbidden(model: AnyModel, label: int, at: int, path: list[int]) -> bool:
    """Whether the scheme rules the label out between its neighbours."""
    rules = model.constraints
    if rules is None:
        return False
    after = rules.pairs[label, path[at + 1]] if at + 1 < len(path) else rules.end[label]
    return not (_follows(model, label, at, path) and after)
