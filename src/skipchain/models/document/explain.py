"""What factors had to say about a token's label, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus import Corpus
from skipchain.errors import SkipchainError
from skipchain.models.chain.explain import position_of
from skipchain.models.document import annealing
from skipchain.models.document.candidate_graph import Interplay, Spans
from skipchain.models.document.model import FactoredModel
from skipchain.parallel import Workers


@dataclass(frozen=True, slots=True)
class Remark:
    """What a pair of spans adds to a labelling: the relation, both spans, and the amount.

    Spans are (start, stop, type, words); a type of None is a word without the type asked for.
    """

    relation: str
    span: tuple[int, int, str | None, str]
    other: tuple[int, int, str | None, str]
    amount: float


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to label the stretch that a token stands in.

    ``score`` is its log-probability by the chain model, given the certain labels around, and
    ``remarks`` what factors add to that, the largest first.
    """

    labels: tuple[str, ...]
    label: str
    score: float
    remarks: tuple[Remark, ...]

    @property
    def total(self) -> float:
        """The score with all remarks."""
        return self.score + sum(remark.amount for remark in self.remarks)


@dataclass(frozen=True, slots=True)
class Objections:
    """The label that a chain model would give a token, and the one it has with factors.

    The stretch of doubtful tokens that it stands in begins at ``start``. Both readings are the
    same where factors changed nothing; there is no stretch where the label is certain.
    """

    token: int
    word: str
    start: int
    chain: Reading
    factored: Reading

    @property
    def changed(self) -> bool:
        """Whether factors changed the label."""
        return self.chain.label != self.factored.label

    def as_dict(self) -> dict[str, Any]:
        """The same for programs."""
        found = asdict(self)
        for name in ("chain", "factored"):
            found[name]["total"] = getattr(self, name).total
        return {**found, "changed": self.changed}


def explain_factors(
    model: FactoredModel,
    given: Corpus | Sequence[Any],
    token: int | str,
    *,
    threads: int | None = None,
) -> Objections:
    """What factors say of the label of one token, all other stretches as they are decoded."""
    if not isinstance(given, Corpus):
        raise SkipchainError("factors look at whole documents, so give a Corpus")
    at = position_of(given, token, given.n_tokens)
    with Workers(threads) as workers:
        interplay = model.interplay(model.scores(given, workers), workers)
        picks = annealing.anneal(interplay, model.annealing, workers)
    candidates = interplay.candidates
    stretch = int(np.searchsorted(candidates.starts, at, side="right")) - 1
    word = given.words[at : at + 1].tolist()[0]
    if stretch < 0 or at >= candidates.stops[stretch]:
        label = model.labels[candidates.fixed[at]]
        sure = Reading((label,), label, 0.0, ())
        return Objections(at, word, at, sure, sure)
    start = int(candidates.starts[stretch])
    around = np.append(picks[:stretch], picks[stretch + 1 :])
    readings = [
        _reading(model, given, interplay, around, number, at)
        for number in (int(candidates.first[stretch]), int(picks[stretch]))
    ]
    return Objections(at, word, start, *readings)


def _reading(
    model: FactoredModel, corpus: Corpus, interplay: Interplay, around: Ints, number: int, at: int
) -> Reading:
    candidates = interplay.candidates
    stretch = int(candidates.stretches[number])
    place = int(candidates.places[number])
    size = int(candidates.stops[stretch] - candidates.starts[stretch])
    labels = [model.labels[code] for code in candidates.labels[place : place + size]]
    moving, lists, links = interplay.moving, interplay.lists, interplay.links
    own = range(int(lists.spans[number]), int(lists.spans[number + 1]))
    taken = np.flatnonzero(np.isin(moving.owners, around))
    others = Spans(*(np.append(a, b[taken]) for a, b in zip(interplay.fixed, moving, strict=True)))
    remarks = []
    for e in own:
        slot, kind = int(moving.slots[e]), int(moving.kinds[e])
        for r in range(links.starts[slot], links.starts[slot + 1]):
            relation = interplay.relations[interplay.directions[links.tables[r]][0]]
            table = interplay.weights[links.tables[r], kind]
            for f in np.flatnonzero(others.slots == links.others[r]):
                amount = float(links.sizes[r] * table[others.kinds[f]])
                if amount:
                    spans = (_told(model, corpus, moving, e), _told(model, corpus, others, int(f)))
                    remarks.append(Remark(relation.name, *spans, amount))
    remarks.sort(key=lambda remark: -abs(remark.amount))
    return Reading(
        tuple(labels),
        labels[at - int(candidates.starts[stretch])],
        float(candidates.scores[number] + interplay.pairs[number]),
        tuple(remarks),
    )


def _told(
    model: FactoredModel, corpus: Corpus, spans: Spans, number: int
) -> tuple[int, int, str | None, str]:
    start, stop = int(spans.starts[number]), int(spans.stops[number])
    types = model.labelling.types
    kind = int(spans.kinds[number])
    words = " ".join(corpus.words[start:stop].tolist())
    return start, stop, types[kind] if kind < len(types) else None, words
