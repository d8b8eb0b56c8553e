"""What learns from a scratch folder: a corpus in blocks, by templates that look at sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from skipchain.corpus import Corpus
from skipchain.errors import CorpusError, ParameterError
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.learn.solvers import LBFGS
from skipchain.scratch.folder import Need, Scratch
from skipchain.scratch.gathering import gather

if TYPE_CHECKING:
    from skipchain.models.base.estimator import BaseEstimator

WANTED = "a scratch folder is for a labelled corpus, or for one in blocks (skipchain.scan)"


def gathered(given: Any, labels: Any, scratch: Scratch) -> Corpus:
    """A corpus, or the blocks of one, with columns in files."""
    if labels is not None:
        raise ParameterError(f"{WANTED}; labels given apart are for data in memory")
    if isinstance(given, Corpus):
        if all(scratch.has(column.codes) for column in given.columns.values()):
            return given
        return gather([given], scratch)
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise CorpusError(f"{WANTED}; got {type(given).__name__}")
    return gather(_corpora(given), scratch)


def _corpora(blocks: Iterable[Any]) -> Iterator[Corpus]:
    for number, block in enumerate(blocks):
        if not isinstance(block, Corpus):
            raise CorpusError(f"{WANTED}; block {number} is of type {type(block).__name__}")
        yield block


SAMPLE = 20_000  # tokens
GROWTH = 0.8  # features grow as this power of the tokens
PROGRAM = 250_000_000  # bytes of program, libraries and what is resident of files
A_VALUE, A_FEATURE = 200, 30  # bytes of memory of a distinct value, of a feature in the vocabulary


def expected_need(estimator: BaseEstimator, corpus: Corpus) -> Need:
    """What a sample of the corpus lets expect of a training from disk."""
    sample = corpus[: int(np.searchsorted(corpus.sentences, SAMPLE)) or 1]
    templates = estimator._templates(sample)
    assert templates is not None
    require_local(templates)
    tokens, own = corpus.n_tokens, max(1, sample.n_tokens)
    _, rows = Vocabulary.fit(sample, templates, estimator.min_count)
    entries = len(rows.tokens.indices) / own * tokens
    features = rows.n_features * (tokens / own) ** GROWTH
    labels = len(corpus.labels.values)
    if estimator.encoding == "bioes":
        labels = 2 * labels
    values = sum(len(column.values) for column in corpus.columns.values())
    index = 4 * entries + 8 * tokens + 100 * values
    table = features * labels
    memory = PROGRAM + A_VALUE * values + A_FEATURE * features + 20 * tokens
    solver = estimator._solver if estimator.solvers else None
    if isinstance(solver, LBFGS):
        weights = 1.8 * features
        disk = 2 * index + 8 * tokens * labels + (4 + 4 + 1 + 8) * table + 80 * weights
        return Need(int(disk), int(memory + 80 * weights))
    return Need(int(index + (4 + 8 + 8) * table), int(memory))


def require_local(templates: Templates) -> None:
    """Refuse what looks further than a sentence, and what has to be fitted to all data before."""
    told = "templates of words and columns learn from disk"
    if templates.annotators:
        name = type(templates.annotators[0]).__name__
        raise ParameterError(
            f"{name} looks at all of the corpus, which a scratch folder is there not to "
            f"hold; {told}: leave it out"
        )
    for template in (templates.label_history, templates.trigram):
        if template is not None:
            raise ParameterError(
                f"template '{template}' looks further back than one label, and does not go with "
                f"a scratch folder; {told}: leave it out"
            )
