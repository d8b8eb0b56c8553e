"""The linear-chain conditional random field."""

from __future__ import annotations

from skipchain.models.chain.loglinear import LogLinearChain


class CRF(LogLinearChain):
    """A conditional random field: p(y | x) ∝ exp Σ_t (Σ_f w[f, y_t] + T[y_{t−1}, y_t]).

    Parameters
    ----------
    features
        A standard set's name (``ner``, ``chunk``, ``pos`` …), template text, a template file, or
        `Templates`. Used for a corpus; features given directly need none.
    encoding
        The scheme in which spans are learnt (``bioes``, ``iob2`` …); None learns the labels as they
        are, and so does any where the labels have no scheme. Predictions come back in the scheme of
        the training data.
    order
        How many labels back a label depends on: 1, or 2 (scores of three labels in a row); `MEMM`
        up to 8.
    objective
        ``conditional``: the likelihood of whole label sequences. ``marginal``: the sum over
        positions of the likelihood of each label, for when single labels count (lbfgs only).
    optimiser
        ``sgd``: steps after every sequence, with dropout, the average of the late epochs' weights;
        the most accurate where features are many. ``adagrad``: the same with a rate per weight.
        ``lbfgs``: the optimum of the penalised likelihood, as CRFsuite finds it. ``newton``: the
        same to the last digit in a few steps, for MEMM and MaxEnt with up to 3,000 weights. None:
        what the other parameters ask for (l1, objective, tolerance, period and max_iterations for
        lbfgs, epochs and rate for sgd), else sgd, but lbfgs for features given as matrices.
    l1, l2
        The penalty ``l1 · Σ|w| + l2 · Σw²``, as CRFsuite's c1 and c2. l1 is for lbfgs.
    min_count
        Features that occur less often are left out.
    pairs
        ``observed``: weights only for the (feature, label) pairs that occur; ``all``: for all
        pairs; None: all for sgd, observed for the others.
    boundaries
        Whether the first and the last label have scores of their own.
    dependent
        Whether every template goes with the pair of labels instead of with the label alone. (A
        template marked ``label[-1] &`` always does.)
    constraints
        Whether label sequences that the encoding forbids are excluded from ``decoding``, from
        ``training`` too, or not at all (``none``).
    dictionary
        Words of a corpus that occur at least this often in training may only have the labels they
        had there; rarer and unknown words may have any. It holds in training and in decoding: the
        model is a distribution over the labellings that the dictionary leaves. None: no dictionary.
    folds
        For MEMM and MaxEnt with a ``history(…)`` among the templates: the parts that the documents
        are dealt into, each of which is labelled by what was learnt from the others, so that the
        earlier labels have the errors that they will have in tagging. None is 3; 1: gold labels.
    epochs, rate, dropout, unit_dropout, prune, seed
        For stochastic steps: passes over the data (None: 30, more for little data), size of the
        first steps (None: 0.05 for sgd, 0.1 for adagrad; it falls to a third), the share of
        features left out of a step, the share of words left out with all that follows from them,
        the size below which a feature's weight is dropped at the end (None: 0.01), and where the
        random numbers begin. The same seed gives the same model on the same machine.
    tolerance, period, max_iterations
        For lbfgs: training ends when the loss falls by less than ``tolerance`` (relative; None:
        1e-4) in ``period`` iterations (None: 10), or after ``max_iterations`` (None: 1000), which
        is for newton too.
    patience
        With a development set: training ends after this many iterations (or epochs) without a
        better score on it, once it is above 0, and the best weights are kept. None: the development
        score is only reported.
    scheme
        The scheme of labels given as lists; a corpus knows its own.
    functions
        Views of your own, by name: functions from a string to a string, None, or a list.
    threads
        None uses all cores. The result does not depend on it.

    A label that is not known may be None or ``"_"``, or a set of the labels it may be; training
    then sums over all labellings that agree with what is known.

    Examples
    --------
    >>> from skipchain import CRF, Corpus
    >>> corpus = Corpus.of([["Ada", "slept"], ["Bo", "ran"]] * 5,
    ...                    [["B-PER", "O"], ["B-PER", "O"]] * 5, scheme="iob2")
    >>> crf = CRF(features="word").fit(corpus)
    >>> crf.predict(Corpus.of([["Bo", "slept"]]))
    [['B-PER', 'O']]
    """

    kind = "crf"
