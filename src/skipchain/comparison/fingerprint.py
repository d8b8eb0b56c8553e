"""Fingerprints of results: what a result was made from, to see whether it is still valid."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from skipchain import __version__
from skipchain.comparison.entry_run import EntryRun
from skipchain.corpus import Corpus
from skipchain.features.templates import Templates

Fingerprint = Mapping[str, str | None]
"""Everything that a result depends on, by name: short texts, or digests of content."""


def data_fingerprint(train: Corpus, test: Corpus, dev: Corpus | None) -> Fingerprint:
    """The fingerprint of the data, which all entries share."""
    return {
        "training data": corpus_digest(train),
        "test data": corpus_digest(test),
        "development data": None if dev is None else corpus_digest(dev),
    }


def fingerprint(entry_run: EntryRun, templates: Templates, data: Fingerprint) -> Fingerprint:
    """The fingerprint of everything that a result depends on."""
    settings = entry_run.estimator.get_params(deep=False)
    for name in ("features", "functions"):
        settings.pop(name, None)
    return {
        "version": __version__,
        "settings": json.dumps(settings, sort_keys=True, default=str),
        "features": templates.text,
        **data,
        "decoders": ", ".join(entry_run.decoders),
        "beam": str(entry_run.beam) if "beam" in entry_run.decoders else None,
    }


def changed_parts(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """The names of what has changed between two fingerprints.

    >>> changed_parts({"version": "1", "features": "word"}, {"version": "1", "features": "shape"})
    ['features']
    """
    return [name for name in now if before.get(name) != now[name]]


def corpus_digest(corpus: Corpus) -> str:
    """A digest of the content of a corpus: its columns, boundaries and scheme.

    >>> a, b = Corpus.of([["Ada", "slept"]]), Corpus.of([["Ada"], ["slept"]])
    >>> corpus_digest(a) == corpus_digest(a[:]), corpus_digest(a) == corpus_digest(b)
    (True, False)
    """
    content = hashlib.sha256()
    for name, column in sorted(corpus.columns.items()):
        content.update(json.dumps([name, column.tolist()]).encode())
    content.update(corpus.sentences.tobytes())
    content.update(corpus.documents.tobytes())
    content.update(str(corpus.scheme).encode())
    return content.hexdigest()
