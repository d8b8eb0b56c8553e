"""A system that is compared with others: a fitted model and how it is decoded."""

from __future__ import annotations

from dataclasses import dataclass

from skipchain.corpus import Corpus
from skipchain.metrics import Evaluation
from skipchain.models.base.model import AnyModel
from skipchain.parallel import Workers
from skipchain.reproduce.table import Row


@dataclass(frozen=True, slots=True)
class DecodedModel:
    """A fitted model and the decoder that it is used with (None: the model's default)."""

    model: AnyModel
    decoder: str | None = None

    def label(self, corpus: Corpus, threads: int | None) -> Corpus:
        """The corpus with the labels that the system predicts."""
        with Workers(threads) as workers:
            scores = self.model.scores(corpus, workers)
            labels = self.model.decode(scores, workers, self.decoder)
        return corpus.with_labels(self.model.to_scheme(labels, corpus.sentences), self.model.scheme)


def consistency_row(table: str, system: str, metric: str, evaluation: Evaluation) -> Row:
    """The share of recurring names that keep one type through a document."""
    score = evaluation.consistency
    assert score is not None
    verdict = f"{score.inconsistent} of {score.groups} recurring names have two types"
    share = 100.0 if score.percent is None else score.percent
    return Row(table, system, metric, None, share, verdict=verdict)


def t_test(values: list[float], reference: float) -> str:
    """The p-value of the mean of values against a reference, as text; empty if they do not vary.

    >>> t_test([1.0, 2.0, 3.0], 0.0), t_test([1.0, 1.0], 0.0)
    ('t-test p 0.0742', '')
    """
    from scipy.stats import ttest_1samp

    if len(set(values)) < 2:
        return ""
    return f"t-test p {ttest_1samp(values, reference).pvalue:.3g}"
