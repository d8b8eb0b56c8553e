"""The public data sets that skipchain is measured on, in the folder that ``SKIPCHAIN_DATA`` names.

They are not part of the package: each has its licence.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from skipchain.corpus import Corpus
from skipchain.datasets.readers.fields import read_fields
from skipchain.datasets.readers.ieer import read_ieer
from skipchain.datasets.readers.labelled_lines import read_labelled_lines
from skipchain.datasets.readers.seminars import read_seminars
from skipchain.datasets.readers.webkb import read_webkb, read_webkb_linqs
from skipchain.datasets.sources import SOURCES, Source
from skipchain.errors import CorpusError, SkipchainError
from skipchain.io import read

VARIABLE = "SKIPCHAIN_DATA"


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file or folder of a data set, how it is read, and what it should hold."""

    path: str
    tokens: int
    sentences: int | None = None
    documents: int | None = None
    spans: int | None = None
    columns: tuple[str, ...] | None = None
    scheme: str | None = None
    format: str | None = None
    reader: Callable[[Path], Corpus] | None = None
    links: int | None = None

    def read(self, folder: Path) -> Corpus:
        """The corpus in this file or folder."""
        if self.reader is not None:
            return self.reader(folder / self.path)
        # Published figures are those of the labels as they are.
        how = {"columns": self.columns, "scheme": self.scheme, "repair": False}
        return read(folder / self.path, self.format, **how)  # type: ignore[arg-type]

    def differences(self, corpus: Corpus) -> list[str]:
        """The counts of the corpus that are not those expected."""
        counts = {
            "documents": corpus.n_documents,
            "sentences": len(corpus),
            "tokens": corpus.n_tokens,
            "spans": len(corpus.spans()) if corpus.scheme is not None else None,
            "links": 0 if corpus.links is None else len(corpus.links),
        }
        expected = {name: getattr(self, name) for name in counts}
        return [
            f"{counts[name]:,} {name}, expected {number:,}"
            for name, number in expected.items()
            if number is not None and counts[name] != number
        ]


@dataclass(frozen=True, slots=True)
class PublicDataset:
    """A named data set."""

    name: str
    source: Source
    files: dict[str, DataFile]

    def read(self, part: str) -> Corpus:
        """One part as a corpus.

        A `CorpusError` says what to set where the data are not there.
        """
        if part not in self.files:
            raise CorpusError(f"{self.name} has no part {part!r}; it has {', '.join(self.files)}")
        folder, path = data_folder(), self.files[part].path
        if not (folder / path).exists():
            fault = f"there is no {path} in {folder}, which {VARIABLE} names"
            advice = f"skipchain data {self.name} says where it comes from"
            raise CorpusError(f"{self.name}: {fault}; {advice}")
        return self.files[part].read(folder)


CONLL = ("word", "pos", "chunk", "label")
CHUNK = ("word", "pos", "label")
PAIR = ("word", "label")

# Paths, and the numbers of tokens, sentences, documents and spans.
FILES = {
    "conll2003": {
        "train": DataFile("conll2003/eng.train.gz", 203621, 14041, 946, 23499, CONLL, "iob1"),
        "testa": DataFile("conll2003/eng.testa.gz", 51362, 3250, 216, 5942, CONLL, "iob1"),
        "testb": DataFile("conll2003/eng.testb.gz", 46435, 3453, 231, 5648, CONLL, "iob1"),
    },
    "conll2000": {
        "train": DataFile("conll2000/train.txt.gz", 211727, 8936, None, 106978, CHUNK, "iob2"),
        "test": DataFile("conll2000/test.txt.gz", 47377, 2012, None, 23852, CHUNK, "iob2"),
    },
    "wikigold": {
        "all": DataFile("wikigold/wikigold.conll.txt.gz", 39007, 1696, 145, 3558, PAIR, "iob1")
    },
    "wnut17": {
        "train": DataFile("wnut17/wnut17train.conll.gz", 62730, 3394, None, 1975, PAIR, "iob2"),
        "dev": DataFile("wnut17/emerging.dev.conll.gz", 15733, 1009, None, 836, PAIR, "iob2"),
        "test": DataFile(
            "wnut17/emerging.test.annotated.gz", 23394, 1287, None, 1079, PAIR, "iob2"
        ),
    },
    "btc": {
        "a": DataFile("btc/a.conll.gz", 16612, 1000, None, 521, PAIR, "iob2"),
        "b": DataFile("btc/b.conll.gz", 30825, 2000, None, 1610, PAIR, "iob2"),
        "e": DataFile("btc/e.conll.gz", 3981, 200, None, 325, PAIR, "iob2"),
        "f": DataFile("btc/f.conll.gz", 35427, 2000, None, 4376, PAIR, "iob2"),
        "g": DataFile("btc/g.conll.gz", 34062, 2138, None, 4685, PAIR, "iob2"),
        "h": DataFile("btc/h.conll.gz", 29480, 2001, None, 3368, PAIR, "iob2"),
    },
    "sec-filings": {
        "train": DataFile("sec-filings/FIN5.txt.gz", 41010, 1164, 5, 1168, CONLL, "iob1"),
        "test": DataFile("sec-filings/FIN3.txt.gz", 13246, 303, 3, 318, CONLL, "iob1"),
    },
    "gmb": {"all": DataFile("gmb/gmb-ner.conll.xz", 1048575, 47959, None, 111891, CHUNK, "iob2")},
    "ieer": {"all": DataFile("ieer", 65870, 2766, 94, 5037, reader=read_ieer)},
    "ud-ewt": {
        "train": DataFile("ud-ewt/en_ewt-ud-train.conllu.xz", 204577, 12544, 540, format="conllu"),
        "dev": DataFile("ud-ewt/en_ewt-ud-dev.conllu.xz", 25147, 2001, 318, format="conllu"),
        "test": DataFile("ud-ewt/en_ewt-ud-test.conllu.xz", 25094, 2077, 316, format="conllu"),
    },
    "ptb-sample": {"all": DataFile("ptb-sample/wsj-sample.pos.gz", 94084, 3914, 199, None, PAIR)},
    "faq-usenet-substitute": {
        "all": DataFile(
            "faq-usenet-substitute/labelled.tar.gz", 16299, 21, 21, reader=read_labelled_lines
        )
    },
    "cmu-seminars": {
        "all": DataFile(
            "cmu-seminars/cmu-seminars.tar.gz", 136719, 3121, 485, 2811, reader=read_seminars
        )
    },
    "cora-refs": {
        "all": DataFile("cora-refs/tagged_references.txt", 11609, 500, 500, reader=read_fields)
    },
    "webkb": {"all": DataFile("webkb", 1341, 1341, 4, reader=read_webkb, links=3486)},
    "webkb-linqs": {
        "all": DataFile("webkb/linqs", 877, 877, 4, reader=read_webkb_linqs, links=1516)
    },
}
DATA_SETS = tuple(PublicDataset(name, SOURCES[name], files) for name, files in FILES.items())


def data_set(name: str) -> PublicDataset:
    """The data set of that name."""
    by_name = {entry.name: entry for entry in DATA_SETS}
    if name not in by_name:
        raise CorpusError(f"there is no data set {name!r}; there are {', '.join(by_name)}")
    return by_name[name]


def data_folder() -> Path:
    """The folder that ``SKIPCHAIN_DATA`` names."""
    named = os.environ.get(VARIABLE)
    if not named:
        advice = "skipchain data lists them, and skipchain data NAME says where one comes from"
        fault = f"{VARIABLE} is not set; let it name the folder with the data sets"
        raise CorpusError(f"{fault} ({advice})")
    folder = Path(named)
    if not folder.is_dir():
        raise CorpusError(f"{VARIABLE} names {named}, which is not a folder")
    return folder


@dataclass(frozen=True, slots=True)
class FileCheck:
    """One file of a data set, read and counted."""

    data_set: str
    part: str
    path: str
    state: str
    """``ok``, ``missing``, ``unreadable`` or ``differs``"""
    detail: str
    tokens: int = 0


def check_files(folder: Path, chosen: tuple[PublicDataset, ...] = DATA_SETS) -> Iterator[FileCheck]:
    """Read every known file and compare its counts with those expected."""
    files = [(entry.name, *item) for entry in chosen for item in entry.files.items()]
    for name, part, file in files:
        state, detail, tokens = "missing", "it is not there", 0
        if (folder / file.path).exists():
            try:
                corpus = file.read(folder)
                tokens, wrong = corpus.n_tokens, file.differences(corpus)
                state = "differs" if wrong else "ok"
                detail = "; ".join(wrong) or f"{len(corpus):,} sentences, {tokens:,} tokens"
            except SkipchainError as error:
                state, detail = "unreadable", str(error)
        yield FileCheck(name, part, file.path, state, detail, tokens)
