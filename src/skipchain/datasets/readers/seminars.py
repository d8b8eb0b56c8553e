"""CMU seminar announcements: e-mails with tags around speaker, place, start and end time.

The tokens do not depend on the tags, so that texts with and without them are cut alike. They are
those of running text, cut further where these e-mails write things without a blank: around hyphens
and slashes (``4-5:30``), before ``am`` and ``pm`` (``3:30pm``) and behind ``p.m``, whose last full
stop is inside some fields and outside others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from skipchain.corpus.column import Column, frozen
from skipchain.corpus.corpus import Corpus
from skipchain.datasets.readers.archive import read_texts
from skipchain.errors import ReadError
from skipchain.io.files import check_text
from skipchain.io.inline import strip_tags
from skipchain.io.standoff import Passage, TokenizedPassage, build_corpus, check_spans
from skipchain.io.tokenizer import Tokens, after_blank_lines, tokenize

FIELDS = ("stime", "etime", "speaker", "location")
IGNORED = ("sentence", "paragraph")
CUT = re.compile(r"[-/]+|(?<=\d)(?=[ap]\.?m\b)|(?<=\b[ap]\.m)\.", re.IGNORECASE)
JOINT = re.compile(r"(?<=\w)[-/](?=\w)")
SEPARATOR = "|"  # the tokeniser lets it stand alone wherever it is
HEADING = re.compile(r"[ \t|*>]*([A-Za-z][A-Za-z/ &]{0,20}?)[ \t]*:")
NO_HEADING = "-"
GAPS = (("both", "above"), ("below", "none"))  # by whether the lines above and below have tokens
CONTINUATION_INDENT = 8  # columns of white space that make a line continue the one above
FARTHEST, LONGEST, STEEPEST = 6, 12, 3  # larger places, lengths and indents are one value


def read_seminars(path: str | Path) -> Corpus:
    """Read an archive of tagged e-mails; see `parse_seminars`.

    Documents are sorted by the names of the files, which they keep without folder and ending.
    """
    return parse_seminars(read_texts(path), path)


def parse_seminars(texts: Mapping[str, str], path: object = None) -> Corpus:
    """A document for each tagged text, with labels in iob2; tags of sentences are taken out.

    Sentences end at blank lines. A field that begins or ends inside a token has all of it. Further
    columns say where a token stands, in short strings: ``place`` and ``rest`` (tokens before and
    behind it on its line), ``length`` (of the line, in tokens), ``indent``, ``gap`` (which
    neighbours of the line are blank) and ``heading`` (what stands before a colon at the beginning
    of the line, or of the one that it goes on with).

    >>> corpus = parse_seminars({"a.txt": "Who:  <speaker>Ada Lee</speaker>\\n"
    ...                                   "Time: <stime>4</stime>-<etime>5pm</etime>\\n"})
    >>> corpus.words.tolist()
    ['Who', ':', 'Ada', 'Lee', 'Time', ':', '4', '-', '5', 'pm']
    >>> corpus.spans().tolist()
    [(2, 4, 'speaker'), (6, 7, 'stime'), (8, 10, 'etime')]
    >>> corpus.column("heading").tolist()[2::5]
    ['who', 'time']
    """
    passages: list[Passage] = []
    tokenized: list[TokenizedPassage] = []
    columns: dict[str, list[str]] = {}
    for name, text in texts.items():
        where = f"{path}({name})"
        plain, spans = strip_tags(check_text(text, where), set(FIELDS), set(IGNORED), where, 1)
        passages.append(Passage(plain, spans, Path(name).stem))
        tokenized.append(_tokenize_message(passages[-1], where))
        for column, values in _line_columns(plain, tokenized[-1][0].starts).items():
            columns.setdefault(column, []).extend(values)
    corpus = build_corpus(passages, tokenized, "iob2", path)
    for column, values in columns.items():
        corpus = corpus.with_column(column, Column.encode(values))
    return corpus


def _tokenize_message(passage: Passage, path: object) -> TokenizedPassage:
    """The tokens of a message, in sentences between blank lines, and its fields as tokens."""
    text = passage.text
    places = [place for match in CUT.finditer(text) for place in match.span()]
    cut = tokenize(JOINT.sub(SEPARATOR, text), places)  # of the same length, so that places agree
    begins = sorted({0, *after_blank_lines(text, cut.starts.tolist())})
    sentences = np.array([*begins, len(cut.starts)], np.int64)
    tokens = Tokens(cut.starts, cut.ends, frozen(sentences))
    spans = check_spans(passage, path)
    firsts = np.searchsorted(cut.ends, [start for start, _, _ in spans], "right").tolist()
    lasts = np.searchsorted(cut.starts, [end for _, end, _ in spans], "left").tolist()
    token_spans = list(zip(firsts, lasts, (kind for *_, kind in spans), strict=True))
    fields = [f"the {kind} {text[start:end]!r}" for start, end, kind in spans]
    for (left, right), (field, other) in zip(pairwise(token_spans), pairwise(fields), strict=True):
        if right[0] < left[1]:
            fault = f"{field} and {other} share a token; labels hold one field per token"
            raise ReadError(fault, path=path)
    for field, (first, last, _) in zip(fields, token_spans, strict=True):
        if np.searchsorted(sentences, first, "right") != np.searchsorted(sentences, last, "left"):
            raise ReadError(f"{field} goes on behind a blank line, where chains end", path=path)
    return tokens, token_spans


def _line_columns(text: str, starts: NDArray[np.int32]) -> dict[str, list[str]]:
    """The columns that say where on its line, and on what line, a token stands."""
    names = ("place", "rest", "length", "indent", "gap", "heading")
    columns: dict[str, list[str]] = {name: [] for name in names}
    lines = text.split("\n")
    ends = np.cumsum([len(line) + 1 for line in lines])
    counts = np.diff(np.searchsorted(starts, ends), prepend=0).tolist()  # tokens of each line
    filled = [False, *(count > 0 for count in counts), False]
    heading = NO_HEADING
    for number, (line, count) in enumerate(zip(lines, counts, strict=True)):
        wide = line.expandtabs()
        indent = len(wide) - len(wide.lstrip())
        steps = -(-(indent + 1) // CONTINUATION_INDENT) if wide[:1].isspace() else 0
        heading = _heading(line, heading if steps > 1 else NO_HEADING)
        gap = GAPS[filled[number]][filled[number + 2]]
        columns["place"] += [str(min(place, FARTHEST)) for place in range(count)]
        columns["rest"] += [str(min(rest, FARTHEST)) for rest in reversed(range(count))]
        columns["length"] += [str(min(count, LONGEST))] * count
        columns["indent"] += [str(min(steps, STEEPEST))] * count
        columns["gap"] += [gap] * count
        columns["heading"] += [heading] * count
    return columns


def _heading(line: str, above: str) -> str:
    """What stands before a colon at the beginning of a line, else what the line goes on with."""
    if not line.strip():
        return NO_HEADING
    match = HEADING.match(line)
    return match[1].lower() if match else above
