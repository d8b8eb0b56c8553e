"""Labels from the marginals of single tokens, whatever model they come from."""

from __future__ import annotations

import numpy as np

from skipchain.arrays import Floats, Ints, Labels
from skipchain.chains.potentials import Constraints, Potentials, require_paths
from skipchain.kernels import chain
from skipchain.parallel import Workers, blocks

LEGAL, POSTERIOR = DECODERS = "legal", "posterior"


def decode_marginals(
    marginals: Floats,
    offsets: Ints,
    constraints: Constraints | None,
    decoder: str,
    workers: Workers,
) -> Labels:
    """The best labels by marginals [N, L]. [N]

    ``posterior`` is the best label of each token, ``legal`` the sequence with the largest product
    of marginals among those that the constraints allow.
    """
    if decoder == LEGAL and constraints is not None:
        return _legal(marginals, offsets, constraints, workers)
    best: Labels = marginals.argmax(axis=1).astype(np.int32)
    return best


def _legal(marginals: Floats, offsets: Ints, constraints: Constraints, workers: Workers) -> Labels:
    path = np.zeros(len(marginals), np.int32)
    size = marginals.shape[1]
    node = np.log(np.maximum(marginals, np.finfo(np.float64).tiny))

    def run(block: tuple[int, int]) -> None:
        bounds = offsets[block[0] : block[1] + 1]
        first, last = int(bounds[0]), int(bounds[-1])
        p = Potentials(node[first:last], np.zeros((1, size, size)), bounds - first, first)
        p = p.constrained(constraints)
        best = np.empty(len(bounds) - 1)
        chain.viterbi(p.node, p.edge, p.offsets, path[p.tokens], best)
        require_paths(best, p)

    workers.map(run, blocks(offsets))
    return path
