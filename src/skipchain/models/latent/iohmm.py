"""Input–output hidden Markov models."""

from __future__ import annotations

from skipchain.models.latent.estimator import LatentEstimator


class IOHMM(LatentEstimator):
    """Hidden states that depend on the input and on the state before, and emit the labels.

    p(y | x) = Σ_h Π_t p(h_t | h_{t−1}, x_t) p(y_t | h_t, x_t), with softmax functions of the
    features in both places. States are a memory that the labels alone do not have: they are found
    by learning. Learning may end in a poor local optimum, so several random starts are made side
    by side, and the best by the likelihood of the training data is kept.

    Parameters
    ----------
    features
        As for `CRF`. All features go with transitions and with emissions; those of label pairs
        are not for this model.
    states
        How many hidden states there are; `skipchain states` chooses by cross-validation.
    bias
        Give every token one feature more that is always there.
    objective
        ``conditional`` (whole sequences), or ``marginal``, which goes on from there with the sum of
        log p(y_t | x).
    solver
        `EM` of `skipchain.learn.solvers`: EM from several random starts, then L-BFGS. Its settings
        may be given by name, as in ``IOHMM(restarts=3, em=10)``.
    l2
        Penalty on Σw²; 1 / (2σ²) for a Gaussian prior of width σ.
    min_count, encoding, constraints, seed, scheme, functions, threads
        As for `CRF`; constraints are used in decoding only.

    Examples
    --------
    Labels that tell whether the number of ones so far is odd: one bit of memory.

    >>> import numpy as np
    >>> from skipchain import IOHMM
    >>> bits = np.random.default_rng(0).integers(2, size=(20, 8))
    >>> X, y = [np.eye(2)[row] for row in bits], (bits.cumsum(axis=1) % 2).astype(str).tolist()
    >>> parity = IOHMM(states=2, restarts=3, em=10).fit(X, y)
    >>> parity.predict([np.eye(2)[[1, 0, 1, 1, 1]]])
    [['1', '1', '0', '1', '0']]
    """

    kind = "iohmm"
    local = True
