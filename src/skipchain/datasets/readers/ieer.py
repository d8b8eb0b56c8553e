"""News of the NIST evaluation IE-ER of 1999: SGML with ``<b_enamex type="PERSON">``."""

from __future__ import annotations

import re
from pathlib import Path

from skipchain.corpus.corpus import Corpus
from skipchain.errors import ReadError
from skipchain.io.files import read_text
from skipchain.io.inline import strip_tags
from skipchain.io.standoff import Passage, corpus_of

DOCUMENT = re.compile(r"<DOC>(.*?)</DOC>", re.DOTALL)
NUMBER = re.compile(r"<DOCNO>\s*(\S+)\s*</DOCNO>")
TEXTS = re.compile(r"<(HEADLINE|TEXT)>(.*?)</\1>", re.DOTALL)
MARK = re.compile(r'<b_(\w+) type="(\w+)"[^>]*>|<e_(\w+)>')
OTHER = re.compile(r"</?ANNOTATION>")
CHARACTERS = {"&AMP;": "&", "&LR;": "", "&UR;": ""}


def read_ieer(path: str | Path) -> Corpus:
    """Read a file, or all packed files of a folder, in the order of their names."""
    files = sorted(Path(path).glob("*.gz")) if Path(path).is_dir() else [Path(path)]
    if not files:
        raise ReadError("the folder holds no .gz file", path=path)
    passages = [passage for file in files for passage in passages_of(read_text(file), file)]
    return corpus_of(passages, "iob2", path)


def parse_ieer(text: str, path: object = None) -> Corpus:
    """The corpus that the SGML holds: headline and text of each document, with names in iob2.

    >>> corpus = parse_ieer('<DOC><DOCNO> A1 </DOCNO><TEXT>\\n<b_enamex type="PERSON">Ada '
    ...                     'Lee<e_enamex> slept.</TEXT></DOC>')
    >>> corpus.names, corpus.spans().tolist()
    (('A1',), [(0, 2, 'PERSON')])
    """
    return corpus_of(passages_of(text, path), "iob2", path)


def passages_of(text: str, path: object) -> list[Passage]:
    """The documents with their spans."""
    passages = []
    for match in DOCUMENT.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        number = NUMBER.search(match[1])
        body = "\n\n".join(OTHER.sub("", part[2]) for part in TEXTS.finditer(match[1]))
        for written, meant in CHARACTERS.items():
            body = body.replace(written, meant)
        tagged, kinds = inline(body, path, line)
        plain, spans = strip_tags(tagged, kinds, set(), path, line)
        passages.append(Passage(plain, spans, number[1] if number else None, line=line))
    if not passages:
        raise ReadError("there is no <DOC> in the file", path=path)
    return passages


def inline(text: str, path: object, line: int) -> tuple[str, set[str]]:
    """The text with ``<PERSON>`` and ``</PERSON>`` for the outer marks, and the types."""
    kinds: set[str] = set()
    opened: list[tuple[str, str]] = []

    def tag(match: re.Match[str]) -> str:
        if match[2]:
            opened.append((match[1], match[2]))
            kinds.add(match[2])
            return f"<{match[2]}>" if len(opened) == 1 else ""
        if not opened or opened[-1][0] != match[3]:
            place = line + text.count("\n", 0, match.start())
            raise ReadError(f"<e_{match[3]}> closes what was not opened", path=path, line=place)
        _, kind = opened.pop()
        return "" if opened else f"</{kind}>"

    return MARK.sub(tag, text), kinds
