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
    from skipchain.metrics.mistake_report import mistakes_page, mistakes_text
    from skipchain.metrics.mistakes import Mistake, count_mistakes, find_mistakes
    from skipchain.metrics.partial import FourWays, PartialScore, PartialScores, partial_scores
    from skipchain.metrics.report import confusion_table, label_table, partial_table, render
    from skipchain.metrics.score import Score
    from skipchain.metrics.token import TokenScores, token_scores, type_scores

__all__ = [
    "ConsistencyScore", "EntityScores", "Evaluation", "FourWays", "Mistake", "PartialScore",
    "PartialScores", "Score", "Significance", "TokenScores", "confusion_table", "count_mistakes",
    "entity_scores", "evaluate", "f1_interval", "find_mistakes", "label_consistency",
    "label_table", "mistakes_page", "mistakes_text", "paired_significance", "partial_scores",
    "partial_table", "render", "resampling_units", "significance", "span_counts", "token_scores",
    "type_scores",
]  # fmt: skip

# Names are imported when they are first used: training needs the scores, not their intervals.
_WHERE = {
    "ConsistencyScore": "consistency",
    "EntityScores": "entity",
    "Evaluation": "evaluation",
    "FourWays": "partial",
    "Mistake": "mistakes",
    "PartialScore": "partial",
    "PartialScores": "partial",
    "Score": "score",
    "Significance": "bootstrap",
    "TokenScores": "token",
    "confusion_table": "report",
    "count_mistakes": "mistakes",
    "entity_scores": "entity",
    "evaluate": "evaluation",
    "f1_interval": "bootstrap",
    "find_mistakes": "mistakes",
    "label_consistency": "consistency",
    "label_table": "report",
    "mistakes_page": "mistake_report",
    "mistakes_text": "mistake_report",
    "paired_significance": "bootstrap",
    "partial_scores": "partial",
    "partial_table": "report",
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
