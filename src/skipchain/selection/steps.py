"""What a search tries for data of a kind, in the order of what it can be expected to gain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skipchain.recipes import KNOWLEDGE
from skipchain.selection.traits import DataTraits
from skipchain.selection.trial_settings import CONSISTENCY

FOLDED = 5.0  # what a default training costs again where documents are held out fold by fold
MAX_ORDER_COST = 12.0  # of order 2 with many labels, in default trainings


@dataclass(frozen=True, slots=True)
class SearchStep:
    """Settings to change in the best candidate so far.

    ``cost`` is how much longer than the best so far that trains, by experience.
    """

    change: Mapping[str, Any]
    cost: float = 1.0


def steps_for(traits: DataTraits) -> list[SearchStep]:
    """The steps for data with such traits.

    >>> from skipchain.datasets.harbour import harbour
    >>> [step.change for step in steps_for(DataTraits.of(harbour()))][:2]
    [{'recipe': 'ner-knowledge'}, {'factors': 'consistency'}]
    """
    steps = []
    if traits.names:
        steps.append(SearchStep({"recipe": KNOWLEDGE}, 2.0))
    elif traits.fields:
        steps.append(SearchStep({"features": "citation"}))
    elif not traits.spans:
        steps.append(SearchStep({"features": "pos"}))
    if traits.names and traits.documents:
        steps.append(SearchStep({"factors": CONSISTENCY}, 1.0 + FOLDED))
    steps += [
        SearchStep({"solver": "lbfgs"}),
        SearchStep({"solver": "sgd:dropout=0.2"}),
        SearchStep({"solver": "sgd:dropout=0.5"}),
    ]
    order = SearchStep({"model": "crf:order=2"}, min(MAX_ORDER_COST, max(2.0, traits.labels / 4)))
    steps += [order]
    if traits.spans and not traits.names and not traits.fields:
        steps.append(SearchStep({"features": "pos"}))
    return steps
