"""Models whose labels are decoded from the marginals of tokens."""

from __future__ import annotations

from skipchain.chains.from_marginals import DECODERS, decode_marginals
from skipchain.corpus import Column
from skipchain.corpus.column import frozen
from skipchain.models.base.model import BEAM, Data, Model, Scores
from skipchain.parallel import Workers


class MarginalModel(Model[Data, Scores]):
    """A model whose labels are decoded from the marginals of tokens.

    ``legal`` takes the label sequence with the largest product of marginals among those that the
    scheme allows, ``posterior`` the best label of each token.
    """

    @property
    def decoders(self) -> tuple[str, ...]:
        """The decoders that the model supports, first the one that it has by default."""
        return DECODERS

    def decode(
        self, scores: Scores, workers: Workers, decoder: str | None = None, beam: int = BEAM
    ) -> Column:
        """The predicted labels, in the model's encoding."""
        self.check_decoder(decoder, beam)
        marginals = self.marginals(scores, workers)
        codes = decode_marginals(
            marginals, scores.offsets, self.constraints, decoder or self.decoders[0], workers
        )
        return Column(frozen(codes), self.labels)
