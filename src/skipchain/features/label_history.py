"""Label history: how tokens like this one were labelled earlier in the document, as features."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from skipchain.arrays import Floats, Ints, Labels
from skipchain.corpus import Corpus
from skipchain.errors import TemplateError
from skipchain.features.keys import token_keys
from skipchain.features.matrix import FeatureMatrix
from skipchain.features.template import STATE, Atom, Template, View, parse_template
from skipchain.features.views import UserViews

WINDOW = 1000  # tokens that are looked back
SCALE = 1000
LINE = re.compile(r"\s*history\s*\((.*)\)\s*(?:#.*)?")
BEGINS = re.compile(r"\s*history\s*\(")


class PreviousOccurrences(NamedTuple):
    """The last earlier token of the document with the same key, and where documents begin."""

    previous: Ints  # [N], −1 where it is new
    documents: Ints  # [D + 1], offsets into chains


@dataclass(frozen=True, slots=True)
class LabelHistory:
    """The template line ``history(…)``: which tokens are alike, and how fast they are forgotten.

    An earlier token of the document with the same ``view``, d tokens before, counts exp(−d /
    ``scale``); those more than `WINDOW` tokens before do not count. The share that each label has
    among them is the value of a feature.

    >>> history = LabelHistory.parse("history(lower)", frozenset({"lower"}))
    >>> corpus = Corpus.of([["Rome", "rose"], ["ROME", "fell"]])
    >>> earlier = history.previous_occurrences(corpus, {})
    >>> earlier.previous.tolist()
    [-1, -1, 0, -1]
    >>> history.label_shares(np.array([1, 0, 1, 0], np.int32), earlier, 2).tolist()
    [[0.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """

    view: View
    scale: int = SCALE

    @classmethod
    def parse(cls, line: str, functions: frozenset[str]) -> LabelHistory | None:
        """The label history that a line of template text asks for; None for any other line."""
        if not BEGINS.match(line):
            return None
        match = LINE.fullmatch(line)
        inside, scale = ("", None) if match is None else _split_scale(match[1])
        templates = parse_template(inside, functions)
        atoms = templates[0].atoms if len(templates) == 1 else ()
        if len(atoms) != 1 or atoms[0].offsets != (0,) or templates[0].family != STATE:
            raise TemplateError(
                f"cannot read {line.strip()!r}; wanted one view of the token itself, and how many "
                "tokens back it is forgotten, such as 'history(lower)' or 'history(lower, 500)', "
                "on a line of its own"
            )
        return cls(atoms[0].view) if scale is None else cls(atoms[0].view, scale)

    def __post_init__(self) -> None:
        if self.scale < 1:
            raise TemplateError(f"{self}: the scale must be at least 1 token")

    def __str__(self) -> str:
        return f"history({self.view}{'' if self.scale == SCALE else f', {self.scale}'})"

    @property
    def template(self) -> Template:
        """The template that reads the same column."""
        return Template((Atom(self.view),))

    def required(self) -> LabelHistory:
        """The label history without the ``?`` that lets it be left out."""
        return replace(self, view=self.template.required().atoms[0].view)

    def previous_occurrences(self, corpus: Corpus, functions: UserViews) -> PreviousOccurrences:
        """For each token the one before it in the document that is alike."""
        keys = token_keys(self.view, corpus, functions)
        tokens = np.arange(corpus.n_tokens)
        group = corpus.document_of(tokens) * np.int64(len(keys.values) + 1) + keys.codes
        order = np.argsort(group, kind="stable")
        alike = np.diff(group[order], prepend=-1) == 0
        if "" in keys.values:
            alike &= keys.codes[order] != keys.values.index("")
        previous = np.full(corpus.n_tokens, -1)
        previous[order[alike]] = order[np.flatnonzero(alike) - 1]
        return PreviousOccurrences(previous, corpus.documents)

    def label_shares(self, labels: Labels, earlier: PreviousOccurrences, n_labels: int) -> Floats:
        """The share of each label among the earlier tokens that are alike. [N, L]"""
        shares = np.zeros((len(labels), n_labels))
        from skipchain.kernels.label_history import label_shares

        label_shares(earlier.previous, labels, self.decay, shares)
        return shares

    @property
    def decay(self) -> Floats:
        """The weight of an earlier token by its distance. [WINDOW + 1]"""
        return np.exp(-np.arange(WINDOW + 1) / self.scale)

    def append_features(
        self, rows: FeatureMatrix, labels: Labels, earlier: PreviousOccurrences, n_labels: int
    ) -> FeatureMatrix:
        """The rows with L further features, the last ones: the shares that ``labels`` give."""
        values = self.label_shares(labels, earlier, n_labels)
        numbers = np.where(values > 0.0, np.arange(n_labels), -1)
        return rows.with_features(numbers, n_labels, values)


def _split_scale(inside: str) -> tuple[str, int | None]:
    """The text of the view, and the scale behind it, if there is one."""
    match = re.fullmatch(r"(.*),\s*([+-]?\d+)\s*", inside)
    if match is None or match[1].count("(") != match[1].count(")"):
        return inside, None
    return match[1], int(match[2])
