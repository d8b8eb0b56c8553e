"""The linear-chain conditional random field."""

from __future__ import annotations

from skipchain.models.chain.estimator import MAX_ORDER, ChainEstimator


class CRF(ChainEstimator):
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
        How many labels back a label depends on: 1, 2 (scores of three labels in a row), and up to
        8 where L labels have at most 4,096 runs of that length.
    objective
        ``conditional``: the likelihood of whole label sequences. ``marginal``: the sum over
        positions of the likelihood of each label, for when single labels count (lbfgs only).
    solver
        How weights are learnt: `SGD`, `AdaGrad`, `LBFGS`, `Newton`, `ConjugateGradient`,
        `GradientDescent` or `GIS` of `skipchain.learn.solvers`, or the name of one: ``sgd``,
        ``adagrad``, ``lbfgs``, ``newton``, ``cg``, ``gd``, ``gis``. None: SGD, but L-BFGS for
        features given as matrices. Settings may be given by name, as in ``CRF(epochs=5)`` or
        ``CRF(l1=0.1)``, which then say which solver it is.
    l2
        The penalty ``l2 · Σw²``, as CRFsuite's c2.
    min_count
        Features that occur less often are left out.
    boundaries
        Whether the first and the last label have scores of their own.
    dependent
        Whether every template goes with the pair of labels instead of with the label alone. (A
        template marked ``label[-1] &`` always does; one marked ``label[-2] &`` goes with the label
        two tokens back, and needs order 2.)
    constraints
        Whether label sequences that the encoding forbids are excluded from ``decoding``, from
        ``training`` too, or not at all (``none``).
    dictionary
        Words of a corpus that occur at least this often in training may only have the labels they
        had there; rarer and unknown words may have any. It holds in training and in decoding: the
        model is a distribution over the labellings that the dictionary leaves. None: no dictionary.
    seed
        Where random numbers begin. The same seed gives the same model on the same machine.
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
    max_order = MAX_ORDER
    supports_label_trigrams = True
