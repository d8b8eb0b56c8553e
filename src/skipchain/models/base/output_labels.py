"""A model's labels in the scheme in which they leave it: names, marginals and n-best lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from skipchain.arrays import Bools, Floats, Ints, Labels, offsets_of
from skipchain.chains.allowed import OUTSIDE, LabelMeaning, label_meaning
from skipchain.chains.scores import NBestPaths
from skipchain.corpus import Column
from skipchain.corpus.schemes import Spans, check_scheme, decode, labels_in_scheme, respell
from skipchain.corpus.schemes.scheme import CLOSES, OPENS, TABLE, Scheme
from skipchain.errors import SchemeError

BOTH = OPENS | CLOSES


@dataclass(frozen=True, slots=True)
class RankedLabels:
    """The best labellings of a sequence, best first: labels [k][T] and probabilities [k].

    ``paths`` [k, T] are the same labellings as numbers of ``names``. Labellings that differ only in
    what the scheme does not show stand there each by itself.

    >>> best = RankedLabels(("B-PER", "O"), np.array([[0, 1], [1, 1]]), np.array([0.7, 0.2]))
    >>> best.labels
    [['B-PER', 'O'], ['O', 'O']]
    """

    names: tuple[str, ...]
    paths: Labels
    probabilities: Floats

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def labels(self) -> list[list[str]]:
        """The labels of each labelling."""
        return [[self.names[code] for code in path] for path in self.paths.tolist()]


@dataclass(frozen=True, slots=True)
class OutputLabels:
    """How the labels of a model, written in ``encoding``, are spelt in ``scheme``.

    ``names`` are the labels that come out, sorted. Where the two are one, or labels mark no spans,
    all stays as it is.

    >>> own = OutputLabels.of(("B-PER", "E-PER", "O", "S-PER"), "bioes", "iob2")
    >>> own.names
    ('B-PER', 'I-PER', 'O')
    >>> path, sentence = Column(np.array([2, 3], np.int32), own.labels), np.array([0, 2])
    >>> own.marginals(np.array([[0.1, 0.0, 0.9, 0.0], [0.0, 0.1, 0.1, 0.8]]), path, sentence)
    array([[0.1, 0. , 0.9],
           [0.8, 0.1, 0.1]])
    """

    labels: tuple[str, ...]
    encoding: str | None
    scheme: str | None
    names: tuple[str, ...]

    @classmethod
    def of(
        cls,
        labels: Sequence[str],
        encoding: str | None,
        scheme: str | None,
        constrained: bool = True,
    ) -> OutputLabels:
        """The spelling of labels; those of a model that is not ``constrained`` may come anyhow."""
        own = tuple(labels)
        if scheme is None or encoding is None or scheme == encoding:
            return cls(own, encoding, scheme, own)
        table = TABLE[scheme]
        marks = [_own_mark(label, encoding, table) for label in own]
        if constrained and None not in marks:
            pairs = zip(own, marks, strict=True)
            names = {_spelt(label, encoding, table, mark or 0) for label, mark in pairs}
        else:
            names = {*labels_in_scheme(own, encoding, scheme)}
        return cls(own, encoding, scheme, tuple(sorted(names)))

    @property
    def plain(self) -> bool:
        """Whether labels come out as they are."""
        return self.names is self.labels

    @property
    def looks_beside(self) -> bool:
        """Whether the labels beside decide as what a label comes out."""
        if self.plain:
            return False
        table = TABLE[str(self.scheme)]
        return any(_own_mark(label, str(self.encoding), table) is None for label in self.labels)

    def read(self, labels: Column, offsets: Ints) -> tuple[Column, Spans | None]:
        """Labels of the model as they come out, and their spans; none where they mark none."""
        if self.encoding is None:
            return labels, None
        if self.plain:
            return labels, decode(labels, offsets, self.encoding)
        return respell(labels, offsets, self.encoding, str(self.scheme))

    def codes(self, written: Column) -> Labels:
        """Labels that came out as numbers of ``names``. [N]"""
        number = {name: k for k, name in enumerate(self.names)}
        known = np.array([number.get(value, -1) for value in written.values], np.int32)
        return known[written.codes]

    def marginals(self, marginals: Floats, predicted: Column | None, offsets: Ints) -> Floats:
        """The probability of each of the ``names``, from those of the model's labels. [N, L']

        It is the sum over the labels that come out as this one. Where that depends on the labels
        beside (B- of iob1 says that a span of its type ends before it), these are taken as
        ``predicted``, in the model's encoding; elsewhere nobody asks for them.
        """
        if self.plain:
            return marginals
        found = np.zeros((len(marginals), len(self.names)))
        number = {name: k for k, name in enumerate(self.names)}
        rows = np.arange(len(marginals))
        encoding, target = str(self.encoding), TABLE[str(self.scheme)]
        beside = _Neighbours.of(encoding, predicted, offsets) if self.looks_beside else None
        for column, label in enumerate(self.labels):
            mark = _own_mark(label, encoding, target)
            if mark is not None or beside is None:
                found[:, number[_spelt(label, encoding, target, mark or 0)]] += marginals[:, column]
            else:
                marks = beside.marks(label_meaning(label, encoding), target)
                spelt = [_spelt(label, encoding, target, k) for k in range(BOTH + 1)]
                codes = np.array([number.get(name, -1) for name in spelt])[marks]
                found[rows, codes] += marginals[:, column]
        return found

    def ranked(self, best: Sequence[NBestPaths], offsets: Ints) -> list[RankedLabels]:
        """The n-best lists of all sequences as labels that come out."""
        if not self.plain:
            sizes = np.repeat(np.diff(offsets), [len(own.paths) for own in best])
            flat = np.concatenate([own.paths.ravel() for own in best] or [np.zeros(0, np.int32)])
            column = Column(flat.astype(np.int32), self.labels)
            codes = self.codes(self.read(column, offsets_of(sizes))[0])
            bounds = pairwise(offsets_of(own.paths.size for own in best).tolist())
            paths = [
                codes[a:b].reshape(own.paths.shape)
                for (a, b), own in zip(bounds, best, strict=True)
            ]
        else:
            paths = [own.paths for own in best]
        return [
            RankedLabels(self.names, path, own.probabilities)
            for path, own in zip(paths, best, strict=True)
        ]


def output_scheme(scheme: str, encoding: str | None) -> str:
    """The scheme that was asked for, refused where labels mark no spans.

    >>> output_scheme("IOBES", "iob2")
    'bioes'
    """
    wanted = check_scheme(scheme)
    if encoding is None:
        raise SchemeError(f"the model's labels mark no spans, so {wanted} cannot write them")
    return wanted


@dataclass(frozen=True, slots=True)
class _Neighbours:
    """What the predicted labels beside each token say: type, and whether it opens or closes. [N]"""

    types: Ints
    names: dict[str, int]
    opens: Bools
    closes: Bools
    first: Bools
    last: Bools

    @classmethod
    def of(cls, encoding: str, predicted: Column | None, offsets: Ints) -> _Neighbours:
        assert predicted is not None
        meanings = [label_meaning(label, encoding) for label in predicted.values]
        kinds = [own.type_name for own in meanings]
        names = {kind: k for k, kind in enumerate(dict.fromkeys(filter(None, kinds)))}
        n = len(predicted)
        first, last = np.zeros(n, bool), np.zeros(n, bool)
        full = np.diff(offsets) > 0
        first[offsets[:-1][full]] = True
        last[offsets[1:][full] - 1] = True
        codes = predicted.codes
        return cls(
            np.array([-1 if kind is None else names[kind] for kind in kinds], np.int64)[codes],
            names,
            np.array([own.begins is True for own in meanings], bool)[codes],
            np.array([own.ends is True for own in meanings], bool)[codes],
            first,
            last,
        )

    def marks(self, meaning: LabelMeaning, target: Scheme) -> Ints:
        """The mark that a label of this meaning would have at each token. [N]"""
        own = self.types == self.names.get(str(meaning.type_name), -2)
        same_before = np.append(False, own[:-1]) & ~self.first
        same_after = np.append(own[1:], False) & ~self.last
        opens = _known(meaning.begins, ~same_before | np.append(False, self.closes[:-1]))
        closes = _known(meaning.ends, ~same_after | np.append(self.opens[1:], False))
        if target.only_if_needed:
            opens, closes = opens & same_before, closes & same_after
        marks: Ints = (opens * OPENS | closes * CLOSES) & target.bits
        return marks


def _known(said: bool | None, seen: Bools) -> Bools:
    """What a label says of itself, else what is seen of it."""
    return seen if said is None else np.full(len(seen), said)


def _own_mark(label: str, encoding: str, target: Scheme) -> int | None:
    """The mark of a label by itself; None where it depends on the labels beside."""
    meaning = label_meaning(label, encoding)
    if meaning.type_name is None or target.merges:
        return 0
    mark = 0
    for bit, said in ((OPENS, meaning.begins), (CLOSES, meaning.ends)):
        if target.bits & bit:
            if said is None or (said and target.only_if_needed):
                return None
            mark |= bit * said
    return mark


def _spelt(label: str, encoding: str, target: Scheme, mark: int) -> str:
    """The label of a mark, of the type that another label names."""
    kind = label_meaning(label, encoding).type_name
    return OUTSIDE if kind is None else target.spell(mark, kind)
