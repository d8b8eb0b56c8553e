"""Advice after a training: what would likely help, where that is cheap to try."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skipchain.corpus import Corpus
from skipchain.selection.traits import DataTraits

ASKED = ("recipe", "factors", "features", "assignments")
"""Settings of people who know what they want."""


def advice(corpus: Corpus, settings: Mapping[str, Any]) -> str | None:
    """A line for who trains with the default settings on names in documents; None for others.

    >>> from skipchain.datasets.harbour import harbour
    >>> advice(harbour(), {"model": "crf"})
    'names recur in these documents: --consistency or --recipe ner-knowledge often finds more of
     them, and --auto tries both'
    >>> advice(harbour(), {"model": "crf", "recipe": "ner-knowledge"}) is None
    True
    """
    if settings.get("model", "crf") != "crf" or any(map(settings.get, ASKED)):
        return None
    traits = DataTraits.of(corpus)
    if not (traits.names and traits.documents):
        return None
    return (
        "names recur in these documents: --consistency or --recipe ner-knowledge often finds "
        "more of them, and --auto tries both"
    )
