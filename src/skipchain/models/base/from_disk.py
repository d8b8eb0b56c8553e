"""What learns from a scratch folder: a corpus in blocks, by templates that look at sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from skipchain.corpus import Corpus
from skipchain.errors import CorpusError, ParameterError
from skipchain.features.templates import Templates
from skipchain.scratch.folder import Scratch
from skipchain.scratch.gathering import gather

WANTED = (
    "--scratch (scratch=) learns from a labelled corpus, or from one in blocks (skipchain.scan)"
)


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


def require_local(templates: Templates) -> None:
    """Refuse what looks further than a sentence, and what has to be fitted to all data before."""
    told = "templates of words and columns learn from disk"
    if templates.annotators:
        name = type(templates.annotators[0]).__name__
        raise ParameterError(
            f"{name} looks at all of the corpus, which --scratch (scratch=) never holds; {told}: "
            "leave --recipe out"
        )
    for template in (templates.label_history, templates.trigram):
        if template is not None:
            raise ParameterError(
                f"template '{template}' looks further back than one label, and does not go with "
                f"--scratch (scratch=); {told}: leave it out"
            )
