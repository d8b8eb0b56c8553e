"""Scores of predicted labels: spans, tokens, consistency, with intervals and significance.

Tables that set several models side by side belong to `skipchain.comparison`.
"""

from skipchain.metrics.bootstrap import (
    Significance,
    f1_interval,
    paired_significance,
    resampling_units,
    span_counts,
)
from skipchain.metrics.consistency import ConsistencyScore, label_consistency
from skipchain.metrics.entity import EntityScores, entity_scores
from skipchain.metrics.evaluate import Evaluation, evaluate, significance
from skipchain.metrics.report import confusion_table, render
from skipchain.metrics.score import Score
from skipchain.metrics.token import TokenScores, token_scores, type_scores

__all__ = [
    "ConsistencyScore",
    "EntityScores",
    "Evaluation",
    "Score",
    "Significance",
    "TokenScores",
    "confusion_table",
    "entity_scores",
    "evaluate",
    "f1_interval",
    "label_consistency",
    "paired_significance",
    "render",
    "resampling_units",
    "significance",
    "span_counts",
    "token_scores",
    "type_scores",
]
