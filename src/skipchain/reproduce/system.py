"""A system that is compared with others: a fitted model and how it is decoded."""

from __future__ import annotations

from dataclasses import dataclass

from skipchain.corpus import Corpus
from skipchain.models.base.model import AnyModel
from skipchain.parallel import Workers


@dataclass(frozen=True, slots=True)
class DecodedModel:
    """A fitted model and how it is decoded."""

    model: AnyModel
    decoder: str | None = None

    def label(self, corpus: Corpus, threads: int | None) -> Corpus:
        """The corpus with the labels that the system gives it."""
        with Workers(threads) as workers:
            scores = self.model.scores(corpus, workers)
            labels = self.model.decode(scores, workers, self.decoder)
        return corpus.with_labels(self.model.to_scheme(labels, corpus.sentences), self.model.scheme)
