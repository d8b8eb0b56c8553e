"""Plain text: one file is one document."""

from __future__ import annotations

from pathlib import Path

from skipchain.corpus.corpus import Corpus
from skipchain.errors import CorpusError
from skipchain.io.files import check_text, read_text, write_text
from skipchain.io.standoff import Passage, corpus_of, running_text


def read_plain(path: str | Path, *, scheme: str | None = None) -> Corpus:
    """Read a plain text as one document, cut into tokens and sentences; there are no labels."""
    return parse_plain(read_text(path), path, scheme=scheme)


def parse_plain(text: str, path: object = None, *, scheme: str | None = None) -> Corpus:
    """The corpus of one text.

    >>> corpus = parse_plain("Ada slept. Bo left.")
    >>> corpus, corpus.starts.tolist()
    (Corpus(1 document, 2 sentences, 6 tokens, columns word), [0, 4, 9, 11, 14, 18])
    """
    return corpus_of([Passage(check_text(text, path))], scheme, path)


def write_plain(corpus: Corpus, path: str | Path, *, overwrite: bool = False) -> None:
    """Write the text of a corpus of one document; labels are left out."""
    write_text(path, format_plain(corpus), overwrite=overwrite)


def format_plain(corpus: Corpus) -> str:
    """The text as it was read, or else the words, one sentence a line.

    >>> format_plain(Corpus.of([["Ada", "slept"], ["Bo", "left"]]))
    'Ada slept\\nBo left\\n'
    """
    if corpus.n_documents != 1:
        raise CorpusError(
            f"a text file holds one document, got {corpus.n_documents:,}; write each by itself"
        )
    text = running_text(corpus, 0)[0]
    return text if corpus.texts is not None else text + "\n"
