"""Models whose labels are decoded from the marginals of tokens."""

from __future__ import annotations

from typing import Protocol, TypeVar

from skipchain.arrays import Floats
from skipchain.chains.from_marginals import DECODERS, decode_marginals
from skipchain.corpus import Column
from skipchain.corpus.column import frozen
from skipchain.models.base.model import BEAM, Data, Model, Scored
from skipchain.parallel import Workers


class MarginalScores(Scored, Protocol):
    """Input that a model has scored by the marginals of its tokens."""

    @property
    def marginals(self) -> Floats:
        """The probability of each label at each token. [N, L]"""


Marginals = TypeVar("Marginals", bound=MarginalScores)


class MarginalModel(Model[Data, Marginals]):
    """A model whose labels are decoded from the marginals of tokens, which scoring finds.

    ``legal`` takes the label sequence with the largest product of marginals among those that the
    scheme allows, ``posterior`` the best label of each token.
    """

    @property
    def decoders(self) -> tuple[str, ...]:
        """The decoders that the model supports, first the one that it has by default."""
        return DECODERS

    def decode(
        self, scores: Marginals, workers: Workers, decoder: str | None = None, beam: int = BEAM
    ) -> Column:
        """The predicted labels, in the model's encoding."""
        self.check_decoder(decoder, beam)
        codes = decode_marginals(
            scores.marginals, scores.offsets, self.constraints, decoder or self.decoders[0], workers
        )
        return Column(frozen(codes), self.labels)

    def marginals(self, scores: Marginals, workers: Workers) -> Floats:
        """The probability of each label at each token. [N, L]"""
        return scores.marginals
