"""Rules that say which labels depend on each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

import numpy as np

from skipchain.arrays import Ints
from skipchain.checks import check_choice, check_integer
from skipchain.corpus import Column, Corpus
from skipchain.errors import ParameterError, SkipchainError
from skipchain.features.keys import view_strings
from skipchain.features.strings import StringTable
from skipchain.features.template import View, nested_views
from skipchain.features.views import UserView

RuleFunction = Callable[[Corpus], Any]

BUILT_IN_RULES = ("previous", "alone", "same_word", "same", "links", "siblings")
WORD = View("word")
RECENT, MAX_DOCUMENTS = 5, 100
MOST_SIBLINGS = 50
# limits of settings: pairs grow with the first, and with the square of the last
MAX_RECENT, HIGHEST_MAX_DOCUMENTS, MAX_SIBLINGS = 1_000, 10**9, 1_000
DIRECTIONS = ("both", "incoming", "outgoing")
NO_LINKS = (
    "the edges are links, but the corpus has none; give Corpus.of(…, links=…), or read a file of "
    "JSON lines with links"
)
MIN_DISTANCE = 2  # tokens that stand next to each other are linked by `previous` already


class Rule(ABC):
    """Gives pairs of tokens whose labels depend on each other.

    Each pair has a direction of its own: from the earlier token to the later, from the page with
    a link to the one linked. Which of the two becomes the parent depends on the order in which
    tokens are visited, so that there is never a cycle. ``edge_types`` names both cases.
    """

    is_chain: bool = False
    """Whether an edge is described by its child alone, and may come from nowhere."""
    has_boundaries: bool = False
    """Whether the first and the last token of a sentence have scores of their own."""

    @property
    @abstractmethod
    def edge_types(self) -> tuple[str, str]:
        """The edge types: with the pair's first token as the parent, and with the second."""

    @abstractmethod
    def pairs(self, corpus: Corpus) -> Ints:
        """The pairs of a corpus. [K, 2]"""

    def fit(self, corpus: Corpus) -> Rule:
        """The rule with what it has to know of the training data."""
        return self

    @property
    def allowed_directions(self) -> tuple[bool, bool]:
        """Which of the two edge types there are."""
        return True, True


@dataclass(frozen=True, slots=True)
class Previous(Rule):
    """Each token and the one before it in its sentence."""

    is_chain = True
    has_boundaries = True
    edge_types = ("previous", "next")

    def __str__(self) -> str:
        return "previous"

    def pairs(self, corpus: Corpus) -> Ints:
        """All neighbours within sentences. [K, 2]"""
        follows = np.ones(corpus.n_tokens, np.bool_)
        follows[corpus.sentences[:-1][np.diff(corpus.sentences) > 0]] = False
        later = np.flatnonzero(follows)
        return np.stack([later - 1, later], axis=1)


@dataclass(frozen=True, slots=True)
class Alone(Rule):
    """No other token at all: what a token's own features say takes part in the mixture.

    With ``always=False`` only the features of tokens without any other parent do.
    """

    always: bool = True
    is_chain = True
    edge_types = ("alone", "alone")

    def __str__(self) -> str:
        return "alone"

    def pairs(self, corpus: Corpus) -> Ints:
        """None."""
        return np.zeros((0, 2), np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SameView(Rule):
    """Tokens of one document for which a view is the same string.

    A token is linked to the ``recent`` tokens before it that are nearest. With ``capitalised`` only
    tokens whose word begins with an upper-case letter take part; ``lower`` compares in lower case.
    Strings found in more than ``max_documents`` documents of the training data are ``common``, and
    are left out.

    >>> corpus = Corpus.of([["Ada", "met", "Bo"], ["Bo", "met", "Ada"], ["Ada", "slept"]])
    >>> same_word(recent=1).pairs(corpus).tolist()
    [[2, 3], [0, 5], [5, 6]]
    """

    view: View = WORD
    capitalised: bool = False
    recent: int = RECENT
    max_documents: int = MAX_DOCUMENTS
    lower: bool = False
    name: str | None = None
    functions: Mapping[str, UserView] = field(default_factory=dict)
    common: StringTable | None = None

    def __post_init__(self) -> None:
        check_integer(f"{self._call}: recent", self.recent, most=MAX_RECENT)
        documents = self.max_documents
        check_integer(f"{self._call}: max_documents", documents, most=HIGHEST_MAX_DOCUMENTS)

    @property
    def _call(self) -> str:
        return self.name or f"same({self.view})"

    def __str__(self) -> str:
        first = "" if self.name else f"{self.view}, "
        return (
            f"{self.name or 'same'}({first}capitalised={str(self.capitalised).lower()}, "
            f"recent={self.recent}, max_documents={self.max_documents}, "
            f"lower={str(self.lower).lower()})"
        )

    @property
    def edge_types(self) -> tuple[str, str]:
        """An earlier token, and a later one."""
        return self._call, f"{self._call} later"

    @property
    def user_views(self) -> set[str]:
        """The views of the user's own that the rule compares."""
        used = {view.function for view in nested_views(self.view)}
        return {name for name in self.functions if name in used}

    def fit(self, corpus: Corpus) -> SameView:
        """With the strings that are too common in this corpus."""
        keys = self._keys(corpus)
        document = corpus.document_of(np.arange(corpus.n_tokens))
        seen = np.unique(document * np.int64(len(keys.values)) + keys.codes)
        counts = np.bincount(seen % len(keys.values), minlength=len(keys.values))
        often = np.flatnonzero(counts > self.max_documents).tolist()
        common = [keys.values[k] for k in often if keys.values[k]]
        return replace(self, common=StringTable.of(common))

    def pairs(self, corpus: Corpus) -> Ints:
        """Each token with the nearest before it, by the later token. [K, 2]"""
        keys = self._keys(corpus)
        left_out = np.array([value == "" for value in keys.values], np.bool_)
        if self.common is not None and len(self.common):
            left_out |= np.array(self.common.find(keys.values)) >= 0
        document = corpus.document_of(np.arange(corpus.n_tokens))
        group = document * np.int64(len(keys.values)) + keys.codes
        taking = ~left_out[keys.codes]
        if self.capitalised:
            words = corpus.words
            upper = np.array([value[:1].isupper() for value in words.values], np.bool_)
            taking &= upper[words.codes]
        tokens = np.flatnonzero(taking)
        order = tokens[np.argsort(group[tokens], kind="stable")]
        sentence = np.repeat(np.arange(len(corpus)), np.diff(corpus.sentences))
        by_lag = []
        for lag in range(1, min(self.recent, len(order)) + 1):
            alike = group[order[:-lag]] == group[order[lag:]]
            if not alike.any():
                break  # no string comes that often
            earlier, later = order[:-lag][alike], order[lag:][alike]
            near = (later - earlier < MIN_DISTANCE) & (sentence[earlier] == sentence[later])
            by_lag.append(np.stack([earlier[~near], later[~near]], axis=1))
        return _sort_by_second(np.concatenate(by_lag)) if by_lag else np.zeros((0, 2), np.int64)

    def _keys(self, corpus: Corpus) -> Column:
        """The string that is compared of each token; empty where there is none."""
        strings = view_strings(self.view, corpus, self.functions)
        if self.lower:
            strings = [string.lower() for string in strings]
        column = corpus.column(self.view.column)
        distinct = Column.encode(strings)
        return Column(distinct.codes[column.codes], distinct.values)


def same_word(
    *,
    capitalised: bool = True,
    recent: int = RECENT,
    max_documents: int = MAX_DOCUMENTS,
    lower: bool = False,
) -> SameView:
    """Equal words of a document, by default capitalised ones.

    >>> str(same_word(recent=3))
    'same_word(capitalised=true, recent=3, max_documents=100, lower=false)'
    """
    return SameView(WORD, capitalised, recent, max_documents, lower, "same_word")


@dataclass(frozen=True, slots=True)
class Links(Rule):
    """The links of the corpus.

    With ``direction`` ``incoming`` the parents of a page are pages with a link to it, with
    ``outgoing`` pages that it links to; else both, each with a model of its own.
    """

    direction: str = DIRECTIONS[0]
    edge_types = DIRECTIONS[1:]

    def __post_init__(self) -> None:
        check_choice("links: the direction", self.direction, DIRECTIONS)

    def __str__(self) -> str:
        return "links" if self.direction == DIRECTIONS[0] else f"links({self.direction})"

    @property
    def allowed_directions(self) -> tuple[bool, bool]:
        """Which of the two edge types there are."""
        return self.direction != DIRECTIONS[2], self.direction != DIRECTIONS[1]

    def fit(self, corpus: Corpus) -> Links:
        """The rule itself; without links there is nothing to learn from them."""
        if corpus.links is None:
            raise SkipchainError(NO_LINKS)
        return self

    def pairs(self, corpus: Corpus) -> Ints:
        """The links, by the page linked. [K, 2]"""
        if corpus.links is None:
            return np.zeros((0, 2), np.int64)
        return _sort_by_second(np.asarray(corpus.links))


@dataclass(frozen=True, slots=True)
class Siblings(Rule):
    """Pages to which one page links, such as the students in a list.

    Links of a page that has more than ``most`` of them do not count.

    >>> pages = Corpus.of([["list"], ["ada"], ["bo"]], documents=[3], links=[(0, 1), (0, 2)])
    >>> Siblings().pairs(pages).tolist()  # each may be the parent of the other
    [[2, 1], [1, 2]]
    """

    most: int = MOST_SIBLINGS
    edge_types = ("siblings", "siblings")
    allowed_directions = (True, False)  # each pair is there both ways round

    def __post_init__(self) -> None:
        check_integer("siblings: most", self.most, least=2, most=MAX_SIBLINGS)

    def __str__(self) -> str:
        return f"siblings(most={self.most})"

    def fit(self, corpus: Corpus) -> Siblings:
        """The rule itself; without links there is nothing to learn from them."""
        if corpus.links is None:
            raise SkipchainError(NO_LINKS)
        return self

    def pairs(self, corpus: Corpus) -> Ints:
        """Each pair both ways round, by the second page. [K, 2]"""
        if corpus.links is None:
            return np.zeros((0, 2), np.int64)
        linking, linked = np.asarray(corpus.links).T  # sorted by the page with the link
        cuts = np.flatnonzero(np.diff(linking)) + 1
        pairs = {
            pair
            for group in np.split(linked, cuts)
            if len(group) <= self.most
            for pair in permutations(group.tolist(), 2)
        }
        return _sort_by_second(np.array(sorted(pairs), np.int64).reshape(-1, 2))


@dataclass(frozen=True, slots=True, eq=False)
class FunctionRule(Rule):
    """Pairs that a function of the user's own finds in a corpus, in any order; each counts once.

    >>> ends = FunctionRule("ends", lambda corpus: [(0, corpus.n_tokens - 1)])
    >>> ends.pairs(Corpus.of([["a", "b", "c"]])).tolist()
    [[0, 2]]
    """

    name: str
    function: RuleFunction

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name in BUILT_IN_RULES:
            raise ParameterError(
                f"an edge rule of your own cannot have the name {self.name!r}: it has to be one "
                f"word, and none of {', '.join(BUILT_IN_RULES)}; give "
                "functions={'name': function}"
            )

    def __str__(self) -> str:
        return self.name

    @property
    def edge_types(self) -> tuple[str, str]:
        """The first of the pair as the parent, and the second."""
        return self.name, f"{self.name} later"

    def pairs(self, corpus: Corpus) -> Ints:
        """What the function gives, checked. [K, 2]"""
        result = self.function(corpus)
        try:
            pairs = np.array(result if isinstance(result, np.ndarray) else list(result))
            pairs = pairs.reshape(-1, 2) if pairs.size == 0 else pairs
            whole = pairs.size == 0 or np.issubdtype(pairs.dtype, np.integer)
        except (TypeError, ValueError):
            whole = False
        if not whole or pairs.ndim != 2 or pairs.shape[1] != 2:
            raise SkipchainError(
                f"the rule {self.name!r} must give pairs of token numbers [K, 2], got "
                f"{type(result).__name__}"
            )
        return _sort_by_second(np.unique(pairs.astype(np.int64), axis=0))


def _sort_by_second(pairs: Ints) -> Ints:
    """Sorted by the second token, and from near to far."""
    return np.ascontiguousarray(pairs[np.lexsort((-pairs[:, 0], pairs[:, 1]))])
