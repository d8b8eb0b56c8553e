"""What an outcome was made from, to know whether it still stands when it is asked for again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from skipchain import __version__
from skipchain.comparison.trial import Trial
from skipchain.corpus import Corpus
from skipchain.features.templates import Templates

Parts = Mapping[str, str | None]
"""What something was made from, by name: short texts, or digests of content."""


def data_parts(train: Corpus, test: Corpus, dev: Corpus | None) -> Parts:
    """The data that all contenders share."""
    return {
        "training data": digest(train),
        "test data": digest(test),
        "development data": None if dev is None else digest(dev),
    }


def origin(trial: Trial, templates: Templates, data: Parts) -> Parts:
    """Everything that decides over an outcome."""
    settings = {
        name: value
        for name, value in trial.estimator.get_params().items()
        if name not in ("features", "functions")
    }
    return {
        "version": __version__,
        "settings": json.dumps(settings, sort_keys=True, default=str),
        "features": templates.text,
        **data,
        "decoders": ", ".join(trial.decoders),
        "beam": str(trial.beam) if "beam" in trial.decoders else None,
    }


def changes(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """The parts that are not what they were.

    >>> changes({"version": "1", "features": "word"}, {"version": "1", "features": "shape"})
    ['features']
    """
    return [name for name in now if before.get(name) != now[name]]


def digest(corpus: Corpus) -> str:
    """A number for the content of a corpus: its columns, boundaries and scheme.

    >>> a, b = Corpus.of([["Ada", "slept"]]), Corpus.of([["Ada"], ["slept"]])
    >>> digest(a) == digest(a[:]), digest(a) == digest(b)
    (True, False)
    """
    content = hashlib.sha256()
    for name, column in sorted(corpus.columns.items()):
        content.update(json.dumps([name, column.tolist()]).encode())
    content.update(corpus.sentences.tobytes())
    content.update(corpus.documents.tobytes())
    content.update(str(corpus.scheme).encode())
    return content.hexdigest()
