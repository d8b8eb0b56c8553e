"""Scores of predicted labels: spans, tokens, consistency, with intervals and significance.

Tables that set several models side by side belong to `skipchain.comparison`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skipchain.metrics.bootstrap import (
        Significance,
        f1_interval,
        paired_significance,
        resampling_units,
        span_counts,
    )
    from skipchain.metrics.consistency import ConsistencyScore, label_consistency
    from skipchain.metrics.entity import EntityScores, entity_scores
    from skipchain.metrics.evaluation import Evaluation, evaluate, significance
    from skipchain.metrics.partial import FourWays, PartialScore, PartialScores, partial_scores
    from skipchain.metrics.report import confusion_table, render
    from skipchain.metrics.score import Score
    from skipchain.metrics.token import TokenScores, token_scores, type_scores

__all__ = [
    "ConsistencyScore", "EntityScores", "Evaluation", "FourWays", "PartialScore", "PartialScores",
    "Score", "Significance", "TokenScores", "confusion_table", "entity_scores", "evaluate",
    "f1_interval", "label_consistency", "paired_significance", "partial_scores", "render",
    "resampling_units", "significance", "span_counts", "token_scores", "type_scores",
]  # fmt: skip

# Names are imported when they are first used: training needs the scores, not their intervals.
_WHERE = {
    "ConsistencyScore": "consistency",
    "EntityScores": "entity",
    "Evaluation": "evaluation",
    "FourWays": "partial",
    "PartialScore": "partial",
    "PartialScores": "partial",
    "Score": "score",
    "Significance": "bootstrap",
    "TokenScores": "token",
    "confusion_table": "report",
    "entity_scores": "entity",
    "evaluate": "evaluation",
    "f1_interval": "bootstrap",
    "label_consistency": "consistency",
    "paired_significance": "bootstrap",
    "partial_scores": "partial",
    "render": "report",
    "resampling_units": "bootstrap",
    "significance": "evaluation",
    "span_counts": "bootstrap",
    "token_scores": "token",
    "type_scores": "token",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
