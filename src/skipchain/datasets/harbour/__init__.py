"""A small annotated corpus and a story without labels that come with the package.

Data sets that are published elsewhere are in `skipchain.datasets.registry`.
"""

from __future__ import annotations

from importlib.resources import as_file, files

from skipchain.corpus import Corpus
from skipchain.io import read


def harbour() -> Corpus:
    """Little news stories from an invented coast, written for this project, with recurring names.

    >>> harbour()
    Corpus(48 documents, 438 sentences, 7,961 tokens, columns word, label (iob2))
    """
    with as_file(files(__name__) / "harbour.conll") as path:
        return read(path, "conll", columns=("word", "label"), scheme="iob2")


def story() -> str:
    """A little news story from an invented valley, as plain text, whose names come again.

    >>> story().split("\\n")[0]
    'Old bridge to stay'
    """
    return (files(__name__) / "story.txt").read_text(encoding="utf-8")
