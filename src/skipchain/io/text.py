"""Plain text: one file is one document."""

from __future__ import annotations

from collections.abc import Sequence

from skipchain.corpus.corpus import Corpus
from skipchain.errors import CorpusError
from skipchain.io.files import check_text
from skipchain.io.standoff import Passage, corpus_of, running_text


def parse_plain(text: str, path: object = None, *, scheme: str | None = None) -> Corpus:
    """A plain text as one document, cut into tokens and sentences; there are no labels.

    >>> corpus = parse_plain("Ada slept. Bo left.")
    >>> corpus, corpus.starts.tolist()
    (Corpus(1 document, 2 sentences, 6 tokens, columns word), [0, 4, 9, 11, 14, 18])
    """
    return corpus_of([Passage(check_text(text, path))], scheme, path)


def parse_texts(texts: Sequence[str]) -> Corpus:
    """Texts as a document each; those that are blank have no tokens.

    >>> parse_texts(["Ada slept.", "", "Bo left."])
    Corpus(3 documents, 2 sentences, 6 tokens, columns word)
    """
    return corpus_of([Passage(text) for text in texts])


def format_plain(corpus: Corpus) -> str:
    """The text of a corpus of one document as it was read, else its words, one sentence a line.

    Labels are left out.

    >>> format_plain(Corpus.of([["Ada", "slept"], ["Bo", "left"]]))
    'Ada slept\\nBo left\\n'
    """
    if corpus.n_documents != 1:
        count = f"{corpus.n_documents:,}"
        raise CorpusError(f"a text file holds one document, got {count}; write each by itself")
    text = running_text(corpus, 0)[0]
    return text if corpus.texts is not None else text + "\n"
