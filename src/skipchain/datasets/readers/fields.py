"""Records with tagged fields, one a line: ``<author> A. Lee. </author> <date> 1990. </date>``."""

from __future__ import annotations

import re
from bisect import bisect_right
from pathlib import Path

import numpy as np

from skipchain.arrays import offsets_of
from skipchain.corpus.column import Column
from skipchain.corpus.corpus import LABEL, WORD, Corpus
from skipchain.errors import ReadError
from skipchain.io.files import check_text, read_text
from skipchain.io.inline import TAG, strip_tags
from skipchain.io.standoff import Passage, check_spans

RUN = re.compile(r"\S+")


def read_fields(path: str | Path) -> Corpus:
    """Read records, each a document of one sentence; see `parse_fields`."""
    return parse_fields(read_text(path), path)


def parse_fields(text: str, path: object = None) -> Corpus:
    """The records of a text, one a line; tokens stand between white space.

    The label of a token is the field that it begins in. Tokens between fields belong to the field
    before them, such as a stray full stop at the end of a record, and those before the first field
    to the first.

    >>> corpus = parse_fields("<title> A proof. </title> <pages> 27-47 </pages>.")
    >>> [f"{word}/{label}" for word, label in zip(corpus.words, corpus.labels)]
    ['A/title', 'proof./title', '27-47/pages', './pages']
    """
    check_text(text, path)
    known = {match[2] for match in TAG.finditer(text)}
    words: list[str] = []
    labels: list[str] = []
    sizes: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        plain, spans = strip_tags(line, known, set(), path, number)
        if not spans:
            fault = f"{line[:40]!r} has no field; each stands in tags, such as <title> … </title>"
            raise ReadError(fault, path=path, line=number)
        fields = check_spans(Passage(plain, spans, line=number), path)
        starts = [start for start, _, _ in fields]
        runs = list(RUN.finditer(plain))
        words.extend(run[0] for run in runs)
        labels.extend(fields[max(0, bisect_right(starts, run.start()) - 1)][2] for run in runs)
        sizes.append(len(runs))
    columns = {WORD: Column.encode(words), LABEL: Column.encode(labels)}
    return Corpus(columns, offsets_of(sizes), np.arange(len(sizes) + 1))
