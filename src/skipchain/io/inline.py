"""Running text with tags around the spans: ``<speaker>Ada Lee</speaker>``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from skipchain.corpus.corpus import Corpus
from skipchain.errors import CorpusError, ReadError
from skipchain.io.files import check_text
from skipchain.io.standoff import Passage, Span, corpus_of, passages_of

TAG = re.compile(r"<(/?)([^\W\d][\w.:-]*)>")
ENTITY = re.compile("&(?:lt|gt|amp);")
CHARACTERS = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}


def parse_inline(
    text: str,
    path: object = None,
    *,
    tags: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    lines: bool = False,
    scheme: str | None = None,
) -> Corpus:
    """The corpus that a text with tags around its spans holds, as one document.

    ``tags`` names the tags that mark spans; by default all do that the file closes somewhere. The
    tags in ``ignore`` are taken out of the text; anything else in angle brackets is text. With
    ``lines``, each line is a document of one sentence. ``&lt;``, ``&gt;`` and ``&amp;`` are
    characters.

    >>> corpus = parse_inline("<who>Ada Lee</who> slept.")
    >>> corpus.texts, corpus.spans().tolist()
    (('Ada Lee slept.',), [(0, 2, 'who')])
    """
    check_text(text, path)
    dropped = tag_names(ignore, "ignore")
    closed = {match[2] for match in TAG.finditer(text) if match[1]}
    wanted = (closed if tags is None else tag_names(tags, "tags")) - dropped
    texts = [(1, text)]
    if lines:
        texts = [(k, line) for k, line in enumerate(text.split("\n"), 1) if line.strip()]
    passages = []
    for first, tagged in texts:
        plain, spans = strip_tags(tagged, wanted, dropped, path, first)
        passages.append(Passage(plain, spans, whole=lines, line=first if lines else None))
    return corpus_of(passages, scheme, path)


def format_inline(corpus: Corpus, *, lines: bool = False) -> str:
    """One document with tags around its spans, or one document a line.

    >>> corpus = Corpus.of([["AT&T", "fell"]], [["B-ORG", "O"]], scheme="iob2")
    >>> format_inline(corpus)
    '<ORG>AT&amp;T</ORG> fell\\n'
    """
    if corpus.n_documents != 1 and not lines:
        advice = "say lines=True for one document a line, or write each by itself"
        raise CorpusError(f"a tagged file holds one document, got {corpus.n_documents:,}; {advice}")
    tagged = []
    for number, passage in enumerate(passages_of(corpus, newline=" " if lines else "\n")):
        if lines and ("\n" in passage.text or not passage.text.strip()):
            fault = f"document {number} has line ends or no text, so it cannot stand on one line"
            raise CorpusError(f"{fault}; say lines=False and write it by itself")
        tagged.append(add_tags(passage.text, passage.spans or ()))
    exact = corpus.texts is not None and not lines  # else we put the line ends
    return tagged[0] if exact else "\n".join([*tagged, ""])


def tag_names(tags: Sequence[str], option: str) -> set[str]:
    """The tags of an option, which may be ``speaker`` or ``<speaker>``."""
    if isinstance(tags, str):
        raise CorpusError(f"{option} must be a list of tags, got the string {tags!r}")
    return {tag.strip("</>") for tag in tags}


def strip_tags(
    text: str, wanted: set[str], dropped: set[str], path: object, line: int
) -> tuple[str, list[Span]]:
    """The text without its tags, and the spans they mark."""
    pieces: list[str] = []
    spans: list[Span] = []
    opened: tuple[str, int, int] | None = None  # the tag, its place in the new text and in the old
    size = 0

    def fault(message: str, at: int) -> ReadError:
        return ReadError(message, path=path, line=line + text.count("\n", 0, at))

    for piece, match in pieces_of(text, wanted | dropped):
        pieces.append(piece)
        size += len(piece)
        if match is None or match[2] in dropped:
            continue
        name = match[2]
        if not match[1] and opened is not None:
            advice = "take one of the two out of the text with ignore=, or name the tags to read"
            nested = f"<{name}> inside <{opened[0]}>; spans cannot nest: {advice} with tags="
            raise fault(nested, match.start())
        if not match[1]:
            opened = (name, size, match.start())
        elif opened is None or opened[0] != name:
            state = f"<{opened[0]}> is open" if opened else "nothing is open"
            raise fault(f"</{name}> closes what was not opened; {state}", match.start())
        else:
            spans.append((opened[1], size, name))
            opened = None
    if opened is not None:
        raise fault(f"<{opened[0]}> is never closed", opened[2])
    return "".join(pieces), spans


def pieces_of(text: str, known: set[str]) -> Iterator[tuple[str, re.Match[str] | None]]:
    """The pieces of text between known tags, each with the tag behind it."""
    at = 0
    for match in TAG.finditer(text):
        if match[2] in known:
            yield unescape(text[at : match.start()]), match
            at = match.end()
    yield unescape(text[at:]), None


def unescape(text: str) -> str:
    """The characters that entities stand for."""
    return ENTITY.sub(lambda match: CHARACTERS[match[0]], text) if "&" in text else text


def add_tags(text: str, spans: Iterable[Span]) -> str:
    """The text with tags around the spans."""
    pieces: list[str] = []
    at = 0
    for start, end, name in spans:
        if not TAG.fullmatch(f"<{name}>"):
            raise CorpusError(f"the type {name!r} cannot be a tag; rename it")
        pieces += (escape(text[at:start]), f"<{name}>", escape(text[start:end]), f"</{name}>")
        at = end
    return "".join([*pieces, escape(text[at:])])


def escape(text: str) -> str:
    """The text with entities for the characters of tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
