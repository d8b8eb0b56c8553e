"""Labelled lines: a tar archive of texts, each line with its label before a tab."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from skipchain.arrays import offsets_of
from skipchain.corpus.column import Column
from skipchain.corpus.corpus import LABEL, WORD, Corpus
from skipchain.datasets.readers.archive import read_texts
from skipchain.errors import ReadError


def read_labelled_lines(path: str | Path) -> Corpus:
    """Read an archive: a text is a document of one sentence, whose tokens are its lines.

    Texts are read in the order of their names, which the corpus keeps without their ending.
    """
    lines: list[str] = []
    labels: list[str] = []
    sizes: list[int] = []
    names: list[str] = []
    for name, text in read_texts(path).items():
        rows = text.removesuffix("\n").split("\n")
        for number, row in enumerate(rows, 1):
            label, tab, line = row.partition("\t")
            if not tab or not label:
                fault = f"{row[:40]!r} is no line with its label and a tab before it"
                raise ReadError(fault, path=f"{path}({name})", line=number)
            labels.append(label)
            lines.append(line)
        sizes.append(len(rows))
        names.append(Path(name).stem)
    columns = {WORD: Column.encode(lines), LABEL: Column.encode(labels)}
    return Corpus(columns, offsets_of(sizes), np.arange(len(sizes) + 1), names=tuple(names))
