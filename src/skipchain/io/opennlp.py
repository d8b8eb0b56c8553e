"""OpenNLP name-finder files: ``<START:person> Ada Lee <END> slept .``, one sentence a line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from skipchain.arrays import offsets_of
from skipchain.corpus.column import Column
from skipchain.corpus.corpus import LABEL, WORD, Corpus
from skipchain.corpus.schemes import Spans, check_scheme, encode, is_no_scheme
from skipchain.errors import CorpusError, ReadError
from skipchain.io.conll import check_sentences, split
from skipchain.io.files import check_text
from skipchain.io.standoff import Span, token_spans
from skipchain.watching import counted

START = re.compile(r"<START(?::([^\s>]+))?>")
END = "<END>"
UNTYPED = "default"  # the type of <START>, as in OpenNLP


def parse_opennlp(text: str, path: object = None, *, scheme: str | None = None) -> Corpus:
    """The corpus of white-space tokens with spans between ``<START:type>`` and ``<END>``.

    A line is a sentence and a blank line ends a document. ``<START>`` has the type ``default``.

    >>> corpus = parse_opennlp("<START:person> Ada Lee <END> slept .")
    >>> corpus.words.tolist(), corpus.spans().tolist()
    (['Ada', 'Lee', 'slept', '.'], [(0, 2, 'person')])
    """
    words: list[str] = []
    spans: list[Span] = []
    sentences: list[int] = []
    documents = [0]
    lines = check_text(text, path).replace("\r\n", "\n").split("\n")
    for number, line in enumerate(counted(lines, len(lines)), 1):
        sentence, inside = read_sentence(line, path, number)
        if sentence:
            spans.extend((len(words) + a, len(words) + b, kind) for a, b, kind in inside)
            words.extend(sentence)
            sentences.append(len(sentence))
            documents[-1] += 1
        elif documents[-1]:
            documents.append(0)
    name = "iob2" if scheme is None or is_no_scheme(scheme) else check_scheme(scheme)
    offsets = offsets_of(sentences)
    labels = encode(Spans.of(spans), offsets, name)
    sizes = [size for size in documents if size]
    corpus = Corpus({WORD: Column.encode(words), LABEL: labels}, offsets, offsets_of(sizes), name)
    return corpus.with_labels(labels, None) if is_no_scheme(scheme) else corpus


def read_sentence(line: str, path: object, number: int) -> tuple[list[str], list[Span]]:
    """The words of a line, and its spans."""
    words: list[str] = []
    spans: list[Span] = []
    kind: str | None = None
    opened = 0
    for token in split(line, " "):
        match = START.fullmatch(token)
        if match:
            if kind is not None:
                raise ReadError(f"{token} inside a span; spans cannot nest", path=path, line=number)
            kind, opened = match[1] or UNTYPED, len(words)
        elif token == END:
            if kind is None:
                raise ReadError("<END> without <START>", path=path, line=number)
            if opened == len(words):
                raise ReadError(f"the span of type {kind} is empty", path=path, line=number)
            spans.append((opened, len(words), kind))
            kind = None
        else:
            words.append(token)
    if kind is not None:
        raise ReadError("<START> without <END> on the same line", path=path, line=number)
    return words, spans


def format_opennlp(corpus: Corpus) -> str:
    """The words and spans of a corpus in OpenNLP's form; other columns are left out.

    >>> print(format_opennlp(Corpus.of([["Ada", "slept"]], [["B-who", "O"]], scheme="iob2")))
    <START:who> Ada <END> slept
    """
    check_sentences(corpus, "an OpenNLP file")
    spans = token_spans(corpus) or []
    words = corpus.words.tolist()
    check_words(words, spans)
    for start, stop, kind in spans:
        words[start] = f"{tag(kind)} {words[start]}"
        words[stop - 1] += f" {END}"
    bounds = corpus.sentences.tolist()
    lines = [" ".join(words[a:b]) for a, b in pairwise(bounds)]
    breaks = set(corpus.documents[1:-1].tolist())
    return "".join(f"\n{line}\n" if k in breaks else f"{line}\n" for k, line in enumerate(lines))


def tag(kind: str) -> str:
    """The opening tag of a type."""
    return "<START>" if kind == UNTYPED else f"<START:{kind}>"


def check_words(words: Iterable[str], spans: Iterable[Span]) -> None:
    """Refuse words and types that would not be read back as they are."""
    for token, word in enumerate(words):
        if not word or word == END or START.fullmatch(word) or set(word) & set(" \t\n\r\0"):
            raise CorpusError(f"an OpenNLP file cannot hold the word {word!r} of token {token}")
    for start, _, kind in spans:
        if not START.fullmatch(f"<START:{kind}>") or "\0" in kind:
            raise CorpusError(f"an OpenNLP file cannot hold the type {kind!r} at token {start}")
