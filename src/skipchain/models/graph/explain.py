"""Where a label's probability comes from, as data: the parents of a token and their shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from skipchain.corpus import Corpus
from skipchain.errors import SkipchainError
from skipchain.models.base.inputs import Input
from skipchain.models.chain.explain import (
    BOUNDARY,
    FEATURE,
    LABELS,
    PARENT,
    Contribution,
    contribution,
    contribution_table,
    forbidden,
    forbidden_lines,
    labels_to_compare,
    named_token,
    row_entries,
    sort_contributions,
    token_index,
)
from skipchain.models.graph.dataset import GraphDataset
from skipchain.models.graph.edge_features import EdgeFeatures
from skipchain.models.graph.mixture import sweeps
from skipchain.models.graph.model import GraphModel
from skipchain.models.graph.shares import ParentShare, parent_shares
from skipchain.parallel import Workers
from skipchain.report.decisions import shared
from skipchain.report.pictures import Picture
from skipchain.report.sheet import TOP, OnSheet, Piece, Sheet, SheetTable

SHOWN_PARENTS = 3  # parents whose features are shown


@dataclass(frozen=True, slots=True, repr=False)
class ExplainedParent:
    """One token that the label depends on by edges of one kind, and what it says.

    ``weight`` is the mixing weight α, the mean over the orderings; ``label`` is the parent's own
    most probable label where it is a parent, and ``probability`` how sure that is. A token without
    a parent (``token`` None) speaks for itself. ``shares`` are the parts of the two labels'
    probabilities that come from here. ``contributions`` are what the edge's model compares given
    ``label``: features of the token, features of the parent (kind ``parent``), and the meeting of
    the labels. Their totals differ by the log odds of the two labels.
    """

    token: int | None
    word: str | None
    kind: str
    weight: float
    label: str | None
    probability: float | None
    shares: tuple[float, float]
    contributions: tuple[Contribution, ...]

    @property
    def totals(self) -> tuple[float, float]:
        """The score that the edge gives to each label."""
        first, second = (sum(part.scores[k] for part in self.contributions) for k in (0, 1))
        return first, second

    @property
    def name(self) -> str:
        """The parent's number and word; a token without a parent speaks for itself."""
        return "itself" if self.token is None else f"{self.token} {self.word}"

    def __repr__(self) -> str:
        return f"<Parent {self.name} by {self.kind}, weight {self.weight:.3f}>"


@dataclass(frozen=True, slots=True, repr=False)
class ParentExplanation(OnSheet):
    """The probabilities of two labels at one token, as sums over its parents.

    ``probabilities`` are the marginals, and the sums of the parents' ``shares``. Parents are sorted
    by their share of the first label. ``token`` counts from 0 through the whole input, ``place``
    within the ``sentence``. ``print`` shows tables. ``forbidden`` names those of the two labels
    that the scheme does not allow next to the labels predicted around, however probable they are.
    """

    token: int
    word: str
    predicted: str
    labels: tuple[str, str]
    probabilities: tuple[float, float]
    parents: tuple[ExplainedParent, ...]
    forbidden: tuple[str, ...] = ()
    sentence: int = 0
    place: int = 0
    meaning: str = ""

    def __repr__(self) -> str:
        labels = " or ".join(self.labels)
        return f"<ParentExplanation of token {self.token}, {self.word!r}: {labels}>"

    def sheet(self, top: int = TOP) -> Sheet:
        """The parents with their shares, and what the first of them say."""
        parts: list[tuple[Piece, ...] | SheetTable] = [
            (*named_token(self), f": {self.predicted}"),
            self._parent_table(top),
        ]
        for parent in self.parents[:SHOWN_PARENTS]:
            condition = "" if parent.label is None else f" (given {parent.label} there)"
            parts += [
                ("",),
                (f"What {parent.name} says by {parent.kind}{condition}",),
                contribution_table(parent.contributions, self.labels, top),
            ]
        meaning = [((self.meaning, "dim"),)] if self.meaning else []
        return Sheet((*parts, *forbidden_lines(self.forbidden), *meaning))

    def picture(self) -> Picture:
        """How much of the probability of each of the two labels comes from each parent."""
        parents = [(f"{parent.name} ({parent.kind})", parent.shares) for parent in self.parents]
        title = f"token {self.token}, {self.word}: {self.predicted}"
        return shared(title, self.labels, parents)

    def _parent_table(self, top: int) -> SheetTable:
        """From which tokens the probabilities of the two labels come."""
        rows: list[tuple[Piece, ...]] = []
        for parent in self.parents[:top]:
            label = "" if parent.label is None else f"{parent.label} {parent.probability:.3f}"
            shares = (f"{share:.3f}" for share in parent.shares)
            rows.append((parent.name, parent.kind, label, f"{parent.weight:.3f}", *shares))
        rest = self.parents[top:]
        if rest:
            weight = sum(parent.weight for parent in rest)
            sums = (f"{sum(parent.shares[k] for parent in rest):.3f}" for k in (0, 1))
            rows.append((f"… {len(rest)} more", "", "", f"{weight:.3f}", *sums))
        rows.append(
            (("probability", "bold"), "", "", "", *(f"{p:.3f}" for p in self.probabilities))
        )
        return SheetTable(
            ("from", "edge", "its label", "weight", *self.labels), tuple(rows), (3, 4, 5)
        )

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return {
            **asdict(self),
            "parents": [
                {
                    **asdict(parent),
                    "contributions": [
                        {**asdict(part), "difference": part.difference}
                        for part in parent.contributions
                    ],
                    "totals": list(parent.totals),
                }
                for parent in self.parents
            ],
        }


def explain_parents(
    model: GraphModel,
    given: Input,
    token: int | str,
    *,
    labels: Sequence[str] | None = None,
    threads: int | None = 1,
) -> ParentExplanation:
    """Which tokens give one token its label: exact shares of the probabilities of two labels.

    ``token`` counts from 0 through the whole corpus, or is a word that occurs once. ``labels`` are
    two of the model's; without them they are the predicted one and the most probable other. The
    corpus has to have the whole document around the token.

    >>> from skipchain import Corpus, MoPMEMM
    >>> words = [["Ms", "Lee", "spoke"], ["Lee", "slept"]]
    >>> corpus = Corpus.of(words * 5, [["O", "PER", "O"], ["PER", "O"]] * 5, documents=[2] * 5)
    >>> model = MoPMEMM("word\\nword[-1]", orderings="forward").fit(corpus).model_
    >>> found = explain_parents(model, corpus[:2], 3, labels=["PER", "O"])
    >>> [(parent.token, parent.kind, parent.weight) for parent in found.parents]
    [(1, 'same_word', 0.5), (None, 'previous', 0.5)]
    """
    if model.kind != "mop-memm":
        raise SkipchainError(
            f"the labels of the model ({model.kind}) depend on each other both ways, so that none "
            "comes from another; only those of mop-memm and of chains can be explained"
        )
    with Workers(threads) as workers:
        given_scores = model.scores(given, workers)
        dataset = given_scores.dataset
        corpus = dataset.edge_set.corpus
        position = token_index(corpus, token, corpus.n_tokens)
        path = model.decode(given_scores, workers).codes
        sure = model.marginals(given_scores, workers)[position]
        scores, dags = model.edge_scores(dataset, workers), dataset.dags(model.orderings)
        found = parent_shares(scores, sweeps(scores, dags, workers, model.gate), position)
    pair = labels_to_compare(model, int(path[position]), sure, labels)
    parents = [_parent(model, dataset, own, len(found), pair) for own in _grouped(found)]
    parents.sort(key=lambda parent: -parent.shares[0])
    sentence = int(np.searchsorted(corpus.sentences, position, side="right")) - 1
    first, last = corpus.sentences[[sentence, sentence + 1]].tolist()
    around = path[first:last].tolist()
    return ParentExplanation(
        position,
        _word(corpus, position),
        model.labels[int(path[position])],
        (model.labels[pair[0]], model.labels[pair[1]]),
        (float(sure[pair[0]]), float(sure[pair[1]])),
        tuple(parents),
        tuple(model.labels[k] for k in pair if forbidden(model, k, position - first, around)),
        sentence,
        position - first,
        f"{model.kind}: shares are exact and sum to the probabilities; totals differ by an edge's "
        "log odds",
    )


def _word(corpus: Corpus, token: int) -> str:
    return corpus.words[token : token + 1].tolist()[0]


def _grouped(found: Sequence[Sequence[ParentShare]]) -> list[list[ParentShare]]:
    """The shares of one parent by one kind of edge, from all graphs."""
    groups: dict[tuple[int, str], list[ParentShare]] = {}
    for own in found:
        for share in own:
            groups.setdefault((share.parent, share.kind), []).append(share)
    return list(groups.values())


def _parent(
    model: GraphModel,
    dataset: GraphDataset,
    found: Sequence[ParentShare],
    graphs: int,
    pair: tuple[int, int],
) -> ExplainedParent:
    """One parent, averaged over the graphs; in those where it is none it adds nothing."""
    first = found[0]
    weight = sum(share.weight for share in found)
    added = np.sum([share.marginal_share for share in found], axis=0) / graphs
    label, sure = None, None
    if first.parent_marginals is not None:
        # a parent of no weight has its plain mean
        counts = [share.weight for share in found] if weight > 0 else None
        before = np.average([share.parent_marginals for share in found], axis=0, weights=counts)
        label, sure = int(before.argmax()), float(before.max())
    corpus = dataset.edge_set.corpus
    return ExplainedParent(
        None if first.parent < 0 else first.parent,
        None if first.parent < 0 else _word(corpus, first.parent),
        first.kind,
        weight / graphs,
        None if label is None else model.labels[label],
        sure,
        (float(added[pair[0]]), float(added[pair[1]])),
        sort_contributions(_contributions(model, dataset, first, label, pair)),
    )


def _contributions(
    model: GraphModel,
    dataset: GraphDataset,
    edge: ParentShare,
    label: int | None,
    pair: tuple[int, int],
) -> Iterator[Contribution]:
    """Everything that the scores of the two labels on an edge are the sum of."""
    own, names = list(pair), model.features.names()
    edge_model = model.edge_models[edge.kind]
    weights, ends = edge_model.weights, edge_model.edge_features
    row = dataset.edges[edge.kind].take(np.array([edge.row]))
    named = names if ends is None else ends.names(names)
    for number, value in row_entries(row.expanded(), 0):
        scores = value * weights.state[number, own]
        yield contribution(named[number], _end(ends, number), scores, value)
    if label is not None and edge_model.pair_features is not None:
        classes, pairs = model.label_pairs.classes[label, own], edge_model.pair_features
        named = pairs.names(names)
        paired = dataset.pairs[edge.kind].take(np.array([edge.row])).expanded()
        for number, value in row_entries(paired, 0):
            name = f"{model.labels[label]} → · & {named[number]}"
            scores = value * weights.edges[number, classes]
            yield contribution(name, _end(pairs, number), scores, value)
    elif row.n_edge_features:
        before, size = len(model.labels) if label is None else label, len(model.labels)
        named = model.features.names(transition=True)
        for number, value in row_entries(row.edges, 0):
            scores = value * weights.edges[number].reshape(size + 1, size)[before, own]
            yield contribution(named[number], FEATURE, scores, value)
    if label is not None:
        yield contribution(f"{model.labels[label]} → ·", LABELS, weights.transitions[label, own])
    relation, first_is_parent = dataset.edges_of_type(edge.kind)
    if relation.rule.has_boundaries:
        heads, tails = dataset.chain_bounds(edge.kind)
        begin, end = ("<start>", "<end>") if first_is_parent else ("<end>", "<start>")
        if edge.row in heads:
            yield contribution(f"{begin} → ·", BOUNDARY, weights.start[own])
        if edge.row in tails:
            yield contribution(f"· → {end}", BOUNDARY, weights.end[own])


def _end(ends: EdgeFeatures | None, number: int) -> str:
    """What kind of feature of an edge one is: of its child or of both ends, or of its parent."""
    if ends is None:
        return FEATURE
    after_child = number - len(ends.child)
    return PARENT if 0 <= after_child < len(ends.parent) else FEATURE
