"""What factors add to the candidates of a token's label, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus import Corpus
from skipchain.errors import SkipchainError
from skipchain.models.base.inputs import Input
from skipchain.models.chain.explain import named_token, token_index
from skipchain.models.document import annealing
from skipchain.models.document.candidate_graph import CandidateGraph, MentionSpans
from skipchain.models.document.model import FactoredModel
from skipchain.parallel import Workers
from skipchain.report.sheet import TOP, OnSheet, Piece, Sheet, SheetTable


@dataclass(frozen=True, slots=True)
class FactorContribution:
    """What a pair of spans adds to a labelling: the pair potential, both spans, and the amount.

    Spans are (start, stop, type, words); a type of None is a word without the type required of it.
    """

    relation: str
    span: tuple[int, int, str | None, str]
    other: tuple[int, int, str | None, str]
    amount: float


@dataclass(frozen=True, slots=True)
class CandidateExplanation:
    """One candidate labelling of the uncertain segment that a token stands in.

    ``score`` is its log-probability by the chain model, given the certain labels around, and
    ``remarks`` what factors add to that, the largest first.
    """

    labels: tuple[str, ...]
    label: str
    score: float
    remarks: tuple[FactorContribution, ...]

    @property
    def total(self) -> float:
        """The score with all that factors add."""
        return self.score + sum(remark.amount for remark in self.remarks)

    def table(self, top: int) -> SheetTable:
        """What speaks for and against the labelling."""
        rows: list[tuple[Piece, ...]] = [
            (f"{self.score:+.2f}", "log-probability by the chain model")
        ]
        for remark in self.remarks[:top]:
            (_, _, kind, words), (start, _, other, there) = remark.span, remark.other
            named = f"{other or 'another label'} at {start} ({there})"
            text = f"{remark.relation}: {kind or 'another label'} here ({words}), {named}"
            rows.append((f"{remark.amount:+.2f}", text))
        rest = self.remarks[top:]
        if rest:
            amount = sum(remark.amount for remark in rest)
            rows.append((f"{amount:+.2f}", f"… {len(rest)} more"))
        rows.append((f"{self.total:+.2f}", ("total", "bold")))
        return SheetTable(("", ""), tuple(rows), (0,))


@dataclass(frozen=True, slots=True, repr=False)
class FactorExplanation(OnSheet):
    """The label that a chain model would give a token, and the one it has with factors.

    ``token`` counts from 0 through the whole input, ``place`` within the ``sentence``. The
    uncertain segment that it stands in begins at ``start``. Both candidates are the same where
    factors changed nothing; there is no segment where the label is certain. ``print`` shows tables.
    """

    token: int
    word: str
    start: int
    chain: CandidateExplanation
    factored: CandidateExplanation
    sentence: int = 0
    place: int = 0

    @property
    def changed(self) -> bool:
        """Whether factors changed the label."""
        return self.chain.label != self.factored.label

    def __repr__(self) -> str:
        return f"<FactorExplanation of token {self.token}, {self.word!r}: {self._answer}>"

    @property
    def _answer(self) -> str:
        before, after = self.chain.label, self.factored.label
        return (
            f"{after} with factors, {before} without"
            if self.changed
            else (f"{after}, which factors have not changed")
        )

    def sheet(self, top: int = TOP) -> Sheet:
        """What is added for and against the labelling without factors, and the one with them."""
        readings = [("without factors", self.chain)]
        if self.factored.labels != self.chain.labels:
            readings.append(("with factors", self.factored))
        parts: list[tuple[Piece, ...] | SheetTable] = [(*named_token(self), f": {self._answer}")]
        for title, reading in readings:
            labels = " ".join(reading.labels)
            parts += [
                ("",),
                ((title, "bold"), f": tokens from {self.start} are {labels}"),
                reading.table(top),
            ]
        meaning = "what is added to log-probabilities; the larger total wins"
        return Sheet((*parts, ((meaning, "dim"),)))

    def as_dict(self) -> dict[str, Any]:
        """The explanation as a dictionary, for programs."""
        fields = asdict(self)
        for name in ("chain", "factored"):
            fields[name]["total"] = getattr(self, name).total
        return {**fields, "changed": self.changed}


def explain_factors(
    model: FactoredModel, given: Input, token: int | str, *, threads: int | None = None
) -> FactorExplanation:
    """What factors add to the label of one token, all other segments as they are decoded."""
    if not isinstance(given, Corpus):
        raise SkipchainError("factors look at whole documents, so give a Corpus")
    at = token_index(given, token, given.n_tokens)
    with Workers(threads) as workers:
        graph = model.candidate_graph(model.scores(given, workers), workers)
        assignment = annealing.anneal(graph, model.annealing, workers)
    candidates = graph.candidates
    segment = int(np.searchsorted(candidates.starts, at, side="right")) - 1
    word = given.words[at : at + 1].tolist()[0]
    sentence = int(np.searchsorted(given.sentences, at, side="right")) - 1
    where = sentence, at - int(given.sentences[sentence])
    if segment < 0 or at >= candidates.stops[segment]:
        label = model.labels[candidates.fixed[at]]
        certain = CandidateExplanation((label,), label, 0.0, ())
        return FactorExplanation(at, word, at, certain, certain, *where)
    start = int(candidates.starts[segment])
    around = np.append(assignment[:segment], assignment[segment + 1 :])
    explained = [
        _explain_candidate(model, given, graph, around, number, at)
        for number in (int(candidates.first[segment]), int(assignment[segment]))
    ]
    return FactorExplanation(at, word, start, explained[0], explained[1], *where)


def _explain_candidate(
    model: FactoredModel, corpus: Corpus, graph: CandidateGraph, around: Ints, number: int, at: int
) -> CandidateExplanation:
    candidates = graph.candidates
    segment = int(candidates.segment_ids[number])
    place = int(candidates.label_starts[number])
    size = int(candidates.stops[segment] - candidates.starts[segment])
    labels = [model.labels[code] for code in candidates.labels[place : place + size]]
    mentions, arrays, edges = graph.candidate_mentions, graph.arrays, graph.edges
    spans_of_candidate = range(int(arrays.spans[number]), int(arrays.spans[number + 1]))
    taken = np.flatnonzero(np.isin(mentions.candidate_ids, around))
    others = MentionSpans(
        *(np.append(a, b[taken]) for a, b in zip(graph.fixed, mentions, strict=True))
    )
    remarks = []
    for e in spans_of_candidate:
        string_id, type_id = int(mentions.string_ids[e]), int(mentions.type_ids[e])
        for r in range(edges.starts[string_id], edges.starts[string_id + 1]):
            potential = graph.pair_potentials[graph.directions[edges.table_ids[r]][0]]
            table = graph.weights[edges.table_ids[r], type_id]
            for f in np.flatnonzero(others.string_ids == edges.neighbours[r]):
                amount = float(edges.scales[r] * table[others.type_ids[f]])
                if amount:
                    spans = (
                        _describe_span(model, corpus, mentions, e),
                        _describe_span(model, corpus, others, int(f)),
                    )
                    remarks.append(FactorContribution(potential.name, *spans, amount))
    remarks.sort(key=lambda remark: -abs(remark.amount))
    return CandidateExplanation(
        tuple(labels),
        labels[at - int(candidates.starts[segment])],
        float(candidates.scores[number] + graph.internal_scores[number]),
        tuple(remarks),
    )


def _describe_span(
    model: FactoredModel, corpus: Corpus, spans: MentionSpans, number: int
) -> tuple[int, int, str | None, str]:
    start, stop = int(spans.starts[number]), int(spans.stops[number])
    types = model.label_types.types
    type_id = int(spans.type_ids[number])
    words = " ".join(corpus.words[start:stop].tolist())
    return start, stop, types[type_id] if type_id < len(types) else None, words
