"""A worker: it holds a part of the data, knows its features by the numbers that all agree on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.chains.dataset import Dataset
from skipchain.chains.learn import ChainProblem
from skipchain.chains.potentials import Constraints
from skipchain.cluster.claims import Answer, Claims, Numbering, Settled
from skipchain.cluster.features import Draft, LocalFeatures, Named
from skipchain.cluster.learning import LocalLearning, ParameterLayout
from skipchain.cluster.sources import Files, Share, noted, sizes_of
from skipchain.cluster.supports import Bits, Joined, ShownLabels, edge_support, state_support
from skipchain.corpus import Corpus
from skipchain.corpus.schemes import UNKNOWN, convert, infer_scheme
from skipchain.errors import SkipchainError
from skipchain.features.template import STATE
from skipchain.features.templates import Templates
from skipchain.learn.resuming import digest
from skipchain.models.base.allowed import require_allowed
from skipchain.models.base.estimator import convert_labels
from skipchain.models.base.inputs import KnownLabels, known_labels
from skipchain.parallel import Workers

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True)
class ShardFacts:
    """What the program must know of a shard before all can agree."""

    told: str
    columns: tuple[str, ...]
    tokens: int
    sequences: int
    scheme: str | None
    schemes: tuple[str, ...]
    """in which its labels read alike; none where they mark no spans"""
    plain: bool
    """whether there is no label but O"""
    partial: bool
    digest: str
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, corpus: Corpus, told: str, warnings: Sequence[str]) -> ShardFacts:
        """The facts of a labelled corpus, or of one without a token."""
        labels: set[str] = set()
        schemes: tuple[str, ...] = ()
        if corpus.n_tokens:
            labels = {corpus.labels.values[code] for code in corpus.labels.used()}
            if corpus.scheme is not None:
                schemes = infer_scheme(corpus.labels, corpus.sentences).candidates
        return cls(
            told,
            tuple(corpus.columns),
            corpus.n_tokens,
            len(corpus),
            corpus.scheme,
            schemes or (() if corpus.scheme is None else (corpus.scheme,)),
            {*labels} <= {"O"},
            UNKNOWN in labels,
            digest([*map(digest, _told_apart(corpus))]),
            tuple(warnings),
        )


def _told_apart(corpus: Corpus) -> Iterator[Any]:
    """What tells a corpus from others, array by array."""
    yield corpus.sentences
    for name, column in corpus.columns.items():
        yield from (name, column.codes, column.values)


@dataclass(frozen=True)
class AgreedTerms:
    """What all go by: templates, the scheme of labels, and the one in which they are learnt."""

    templates: Templates
    min_count: int
    scheme: str | None
    encoding: str | None

    def known(self, corpus: Corpus) -> KnownLabels:
        """The labels of a corpus as they are learnt."""
        known = known_labels(corpus, None)
        if self.scheme is None or self.encoding is None:
            return known
        column = known.column
        assert corpus.scheme is not None
        own = infer_scheme(column, known.offsets).candidates
        if corpus.scheme != self.scheme and self.scheme not in own:
            column = convert(column, known.offsets, corpus.scheme, self.scheme)
        return convert_labels(replace(known, column=column), self.scheme, self.encoding)


def plainly(method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Errors of users as such that can be sent, whatever they are made of."""

    @wraps(method)
    def told(*arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
        try:
            return method(*arguments, **named)
        except SkipchainError as error:
            raise SkipchainError(str(error)) from None

    return told


class Shard:
    """A part of the data, in a process of its own.

    What it is asked for twice it answers from what it has: where another worker is lost, all steps
    are gone through again, and only the new one has work to do.
    """

    def __init__(self, number: int, threads: int) -> None:
        self._number = number
        self._workers = Workers(threads)
        self._facts: ShardFacts | None = None
        self._corpus: Corpus | None = None
        self._known: KnownLabels | None = None
        self._agreed: AgreedTerms | None = None
        self._names: tuple[str, ...] = ()
        self._draft: Draft | None = None
        self._features: LocalFeatures | None = None
        self._settled: Settled | None = None
        self._named: Named | None = None
        self._data: Dataset | None = None
        self._learning: LocalLearning | None = None

    def process(self) -> int:
        """The number of the worker's process, if it is there."""
        return os.getpid()

    @plainly
    def sizes(self, files: Files) -> list[int]:
        """How many bytes each of some files has, as they are seen from here."""
        return sizes_of(files)

    # Reading -----------------------------------------------------------------------------------

    @plainly
    def load(self, source: Share | Corpus) -> ShardFacts:
        """Read the share, or take the corpus."""
        if self._facts is None:
            told = source.told if isinstance(source, Share) else "the corpus"
            with noted() as texts:
                self._corpus = source.read() if isinstance(source, Share) else source
            self._facts = ShardFacts.of(self._corpus, told, texts)
        return self._facts

    @plainly
    def agree(self, agreed: AgreedTerms) -> tuple[str, ...]:
        """Take what all agree on, and give the names of the labels here."""
        if self._agreed is None:
            assert self._corpus is not None
            self._known, self._agreed = agreed.known(self._corpus), agreed
            self._names = self._known.names
        return self._names

    # Features ----------------------------------------------------------------------------------

    @plainly
    def claim(self, ranges: int) -> Any:
        """The features here with their counts, range by range."""
        if self._features is not None:
            return several([part for part, _ in self._features.claims.by_range(ranges)])
        if self._draft is None:
            assert self._agreed is not None
            assert self._corpus is not None
            self._draft = Draft.of(self._corpus, self._agreed.templates)
            self._corpus = None
        return several([part for part, _ in self._draft.claims.by_range(ranges)])

    @plainly
    def settle(self, *claims: Claims) -> Any:
        """Number the features of the range that is this worker's: sizes, and the answer to each."""
        assert self._agreed is not None
        count = len(self._agreed.templates.templates)
        found = Settled.of(claims, count, self._agreed.min_count)
        self._settled = replace(found, answers=())
        return several([found.per_template, *found.answers])

    @plainly
    def adopt(self, numbering: Numbering, names: Sequence[str], *answers: Answer) -> float:
        """Encode the data with the features that are kept; their mean number at a token."""
        if self._data is None:
            assert self._draft is not None
            assert self._known is not None
            draft, self._draft = self._draft, None
            self._features, self._named, rows = draft.kept(numbering, answers)
            known, self._known = self._known, None
            self._data = Dataset(rows, known.offsets, *known.to_codes(names))
        return self._data.rows.n_active / max(1, self._data.n_tokens)

    def named(self) -> Named:
        """The features that are this worker's to name, which it forgets when learning begins."""
        assert self._named is not None
        return self._named

    @plainly
    def check_allowed(self, allowed: Constraints, names: Sequence[str]) -> None:
        """Refuse labels that training must not look at."""
        require_allowed(self._encoded, allowed, tuple(names))

    @property
    def _encoded(self) -> Dataset:
        assert self._data is not None
        return self._data

    # Parameters --------------------------------------------------------------------------------

    def show(self, family: str, n_labels: int, ranges: int) -> Any:
        """Which labels the features have here, range by range of those that own them."""
        assert self._features is not None
        support = state_support if family == STATE else edge_support
        bits = np.packbits(support(self._encoded, n_labels), axis=1)
        return several(self._features.shown(family, bits, ranges))

    def join(self, *shown: ShownLabels) -> Any:
        """Put together what all show of the range that is this worker's."""
        assert self._settled is not None
        found = Joined.of(shown, self._settled.per_template)
        answers = [found.answer(own.numbers) for own in shown]
        return several([(found.per_template, found.bits), *answers])

    def place(
        self, family: str, width: int, parameters: Numbering, *answers: tuple[Bits, Ints]
    ) -> None:
        """Take which labels the features have anywhere, and the numbers of their parameters."""
        assert self._features is not None
        self._features.place(family, parameters, answers, width)

    # Learning ----------------------------------------------------------------------------------

    def begin(self, problem: ChainProblem, layout: ParameterLayout) -> None:
        """Get ready to learn; ``problem`` comes without data."""
        assert self._features is not None
        self._named = None
        known = None if self._learning is None else self._learning.layout
        if known != layout:
            own = replace(problem, data=self._encoded)
            own = own.of_positions() if problem.by_position else own
            self._learning = LocalLearning(own, layout, self._features, self._workers)

    @plainly
    def evaluate(self, vector: Floats) -> tuple[float, Floats]:
        """The loss here without a penalty, and its gradient in all parameters."""
        return self._learner.evaluate(vector)

    def spread(self) -> tuple[float, Floats]:
        """The share of these data in the curvature of all parameters."""
        return 0.0, self._learner.spread()

    @plainly
    def pass_over(self, how: Mapping[str, Any], *state: Any) -> tuple[float, list[Floats]]:
        """One pass of a learner over these data: its loss, and how far each vector has moved."""
        return self._learner.pass_over(self._number, how, *state)

    def holds(self) -> tuple[float, Floats]:
        """One for each parameter that the data here move, else zero."""
        return 1.0, self._learner.holds()

    def add(self, *parts: tuple[float, Any]) -> tuple[float, Any]:
        """The sums of the results of several workers, in their order."""
        return add_up(parts)

    @property
    def _learner(self) -> LocalLearning:
        assert self._learning is not None
        return self._learning


def several(parts: list[Any]) -> Any:
    """Several results of a method, as Ray takes them: one by itself is no list."""
    return parts if len(parts) > 1 else parts[0]


def add_up(parts: Sequence[tuple[float, Any]]) -> tuple[float, Any]:
    """The sums of numbers and of vectors (or of lists of them), one after the other."""
    loss, vectors = parts[0]
    several_vectors = isinstance(vectors, list)
    sums = [own.copy() for own in (vectors if several_vectors else [vectors])]
    for more, others in parts[1:]:
        loss += more
        for own, other in zip(sums, others if several_vectors else [others], strict=True):
            np.add(own, other, out=own)
    return loss, sums if several_vectors else sums[0]
