"""Edge templates: which features an edge has that links two tokens of a document."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Bools, Ints, Labels
from skipchain.corpus import Corpus
from skipchain.errors import TemplateError
from skipchain.features.keys import token_keys
from skipchain.features.template import Atom, Template, parse_template, without_comment
from skipchain.features.views import MULTI_VALUED, UserViews

CHILD, LABELS, TYPES = "", "label", "type"
ALL = "*"
LINE = re.compile(r"\s*edge\s*:(.*)", re.DOTALL)
PAIRED = re.compile(rf"({LABELS}|{TYPES})\s*&(.*)", re.DOTALL)
SAME = re.compile(r"same\s*\((.*)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class EdgeTemplate:
    """The template line ``edge: …``, for edges other than those of chains.

    ``edge: word`` takes a feature of the tokens at both ends, with weights of their own, and
    ``edge: *`` all features of tokens; ``edge: same(word[-1])`` says that the tokens before both
    ends are the same word. They go with the label of the child. After ``label &`` they go with the
    labels of parent and child, after ``type &`` with their types (*PER* of *B-PER*), whatever the
    prefixes.

    >>> [str(own) for own in EdgeTemplate.parse("edge: type & suffix(3)[0..1]", {"suffix"})]
    ['edge: type & suffix(3)', 'edge: type & suffix(3)[1]']
    """

    pairing: str = CHILD
    template: Template | None = None
    """The features of both ends; None for those of all templates."""
    same: Atom | None = None
    """What is compared between the ends, instead of a feature of either."""

    @classmethod
    def parse(cls, line: str, functions: set[str] | frozenset[str]) -> list[EdgeTemplate] | None:
        """The edge templates of a line of template text; None for any other line."""
        match = LINE.fullmatch(line)
        if match is None:
            return None
        body = without_comment(match[1]).strip()
        paired = PAIRED.fullmatch(body)
        pairing, rest = (CHILD, body) if paired is None else (paired[1], paired[2].strip())
        if rest == ALL:
            return [cls(pairing)]
        compared = SAME.fullmatch(rest)
        templates = parse_template(rest if compared is None else compared[1], frozenset(functions))
        if not templates or any(own.transition for own in templates):
            raise TemplateError(
                f"cannot read {line.strip()!r}; wanted features after 'edge:', such as "
                "'edge: *', 'edge: label & word' or 'edge: type & same(word[-1])'"
            )
        if compared is None:
            return [cls(pairing, own) for own in templates]
        for own in templates:
            if len(own.atoms) > 1 or own.atoms[0].bag:
                raise TemplateError(f"{line.strip()!r}: same(…) compares one view of one token")
        return [cls(pairing, same=own.atoms[0]) for own in templates]

    def __post_init__(self) -> None:
        view = None if self.same is None else self.same.view
        if view is not None and (view.numeric or view.function in MULTI_VALUED):
            raise TemplateError(f"'{self}': {view} is not one string; compare another view")

    def __str__(self) -> str:
        what = ALL if self.template is None else str(self.template)
        if self.same is not None:
            what = f"same({self.same})"
        return f"edge: {self.pairing} & {what}" if self.pairing else f"edge: {what}"

    @property
    def read(self) -> Template | None:
        """The template whose columns the line needs."""
        return self.template if self.same is None else Template((self.same,))

    def required(self) -> EdgeTemplate:
        """The line without the ``?`` that lets it be left out."""
        if self.same is not None:
            return replace(self, same=Template((self.same,)).required().atoms[0])
        return replace(self, template=None if self.template is None else self.template.required())


def same_at_ends(
    atom: Atom, corpus: Corpus, functions: UserViews, children: Ints, parents: Ints
) -> Bools:
    """Whether a view has one value at both ends of each edge; outside a sentence it has none. [E]

    >>> corpus = Corpus.of([["Mr", "Lee", "met", "Mr", "Lee"], ["Lee", "left"]])
    >>> atom = parse_template("word[-1]", frozenset())[0].atoms[0]
    >>> same_at_ends(atom, corpus, {}, np.array([4, 5]), np.array([1, 1])).tolist()
    [True, False]
    """
    keys = token_keys(atom.view, corpus, functions)
    sentence = np.searchsorted(corpus.sentences, np.arange(corpus.n_tokens), side="right")
    empty = keys.values.index("") if "" in keys.values else -1

    def at(ends: Ints) -> tuple[Labels, Bools]:
        near = ends + atom.offsets[0]
        inside = (near >= 0) & (near < corpus.n_tokens)
        near = np.where(inside, near, ends)
        return keys.codes[near], inside & (sentence[near] == sentence[ends])

    (of_child, inside), (of_parent, there) = at(children), at(parents)
    same: Bools = inside & there & (of_child == of_parent) & (of_child != empty)
    return same
