"""Predictions written in the formats of ``skipchain tag``, at once or block by block."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Protocol

from skipchain.corpus import Column, Corpus
from skipchain.errors import CorpusError, ParameterError
from skipchain.io.columns.layout import DOCUMENT
from skipchain.io.columns.spreadsheet import csv_rows, own_header, with_documents
from skipchain.io.conll import (
    choose_separator,
    find_note_fault,
    find_value_fault,
    format_rows,
    header_of,
    notes_to_write,
    rows_of,
)
from skipchain.io.conllu import format_conllu
from skipchain.io.files import write_text
from skipchain.io.inline import format_inline
from skipchain.io.jsonl import links_from
from skipchain.io.opennlp import format_opennlp
from skipchain.tagged import Prediction

AT_ONCE = ("brat", "html")
"""Formats that are written when all has been labelled."""
SHOWN = {
    "nbest": ("conll", "tsv", "csv", "jsonl"),
    "marginals": ("conll", "tsv", "csv", "jsonl", "html"),
}
"""The formats that show what may be asked for beside labels."""


class UnlikeFirstError(CorpusError):
    """A block of a file cannot be written like those before it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a block stands in its file.

    ``document`` is the number of the document, from 0, that its first token is in, and ``begins``
    says that this begins with it. ``several``: there is more than one in the file. ``characters``
    of its text stand before the block.
    """

    number: int = 0
    document: int = 0
    begins: bool = True
    several: bool = False
    characters: int = 0


WHOLE = Place()


class BlockWriter(Protocol):
    """Writes the blocks of a file, one after the other: together they are the file."""

    keeps_markers: ClassVar[bool]
    """Whether lines that begin documents are written as they were read."""

    def write(self, found: Prediction, place: Place) -> str:
        """The text of a block."""


def check_format(to: str, **extras: object) -> None:
    """Refuse a format that cannot be written, or that shows no such extras.

    >>> check_format("inline", nbest=3, marginals=False)
    Traceback (most recent call last):
    ...
    skipchain.errors.ParameterError: nbest can be written as conll, tsv, csv or jsonl, not as inline
    """
    known = (*WRITERS, *AT_ONCE)
    if to not in known:
        raise ParameterError(f"cannot write {to!r}; the formats are {', '.join(known)}")
    for name, wanted in extras.items():
        shown = SHOWN[name]
        if wanted and to not in shown:
            there = f"{', '.join(shown[:-1])} or {shown[-1]}"
            raise ParameterError(f"{name} can be written as {there}, not as {to}")


def block_writer(format: str) -> BlockWriter | None:
    """What writes a format in blocks; None where it is written at once."""
    return WRITERS[format]() if format in WRITERS else None


def write_tagged(
    prediction: Prediction, output: str | Path, format: str, *, overwrite: bool = False
) -> None:
    """Write a prediction with whatever was asked of it."""
    corpus = prediction.corpus
    if format == "html":
        confidences = None if prediction.confidences is None else prediction.confidences.tolist()
        corpus.write(output, "html", confidences=confidences, overwrite=overwrite)
    elif (writer := block_writer(format)) is not None:
        place = replace(WHOLE, several=corpus.n_documents > 1)
        write_text(output, writer.write(prediction, place), overwrite=overwrite)
    else:
        corpus.write(output, format, overwrite=overwrite)


@dataclass(slots=True)
class ColumnWriter:
    """Columns, with one for each thing asked for beside the label.

    How they are separated, and how many labellings are shown, is decided by the first block.
    """

    separator: str | None = None
    depth: int = 0

    keeps_markers: ClassVar[bool] = True

    def write(self, found: Prediction, place: Place) -> str:
        """See `BlockWriter`."""
        self.depth = depth_for(found, self.depth, place)
        corpus = with_answers(found, self.depth)
        notes = notes_to_write(corpus)
        if place.number == 0:
            header = self.header(corpus)
            self.separator = choose_separator(corpus, notes, self.separator, header)
            return format_rows(corpus, self.separator, header)
        assert self.separator is not None
        fault = find_value_fault(corpus, self.separator)
        fault = fault or find_note_fault(notes, self.separator, len(corpus.columns))
        if fault is not None:
            raise UnlikeFirstError(fault)
        return rows_of(corpus, self.separator, notes)

    def header(self, corpus: Corpus) -> list[str] | None:
        """The header row, if there is one."""
        return header_of(corpus)


@dataclass(slots=True)
class TableWriter(ColumnWriter):
    """Columns with tabs between them, behind a header row."""

    separator: str | None = "\t"

    def header(self, corpus: Corpus) -> list[str] | None:
        """The header row, if there is one."""
        return header_of(corpus) or own_header(corpus)


@dataclass(slots=True)
class DocumentNames:
    """Whether documents are told by names or by numbers, as those of the first block are."""

    named: bool = False
    last: str = ""

    def of(self, corpus: Corpus, place: Place) -> tuple[str, ...] | None:
        """The names of the documents of a block; None where they have numbers."""
        if place.number == 0:
            self.named = corpus.names is not None
        elif corpus.names is not None and any(corpus.names) and not self.named:
            raise UnlikeFirstError("a document has a name, and those before have none")
        if not self.named:
            return None
        names = corpus.names or ("",) * corpus.n_documents
        if not place.begins:
            names = (self.last, *names[1:])
        self.last = names[-1]
        return names


@dataclass(slots=True)
class CsvWriter:
    """Columns with commas between them, behind a header row."""

    documents: DocumentNames = field(default_factory=DocumentNames)
    depth: int = 0

    keeps_markers: ClassVar[bool] = False

    def write(self, found: Prediction, place: Place) -> str:
        """See `BlockWriter`."""
        self.depth = depth_for(found, self.depth, place)
        corpus = with_answers(found, self.depth)
        names = self.documents.of(corpus, place)
        if DOCUMENT not in corpus.columns and (place.several or names is not None):
            corpus = with_documents(replace(corpus, names=names), place.document)
        return csv_rows(corpus, header=place.number == 0)


@dataclass(slots=True)
class RecordWriter:
    """JSON lines, one object a sentence: tokens, labels, spans, and what else was asked for."""

    documents: DocumentNames = field(default_factory=DocumentNames)

    keeps_markers: ClassVar[bool] = False

    def write(self, found: Prediction, place: Place) -> str:
        """See `BlockWriter`."""
        names = self.documents.of(found.corpus, place)
        return "".join(
            json.dumps(record, ensure_ascii=False) + "\n"
            for record in records_of(found, place, names)
        )


@dataclass(slots=True)
class ConlluWriter:
    """CoNLL-U; each document of a file of several begins with ``# newdoc``."""

    keeps_markers: ClassVar[bool] = False

    def write(self, found: Prediction, place: Place) -> str:
        """See `BlockWriter`."""
        corpus = found.corpus
        if place.several and corpus.names is None:
            corpus = replace(corpus, names=("",) * corpus.n_documents)
        return format_conllu(corpus)


@dataclass(slots=True)
class InlineWriter:
    """Running text with tags; of several documents each is a line."""

    keeps_markers: ClassVar[bool] = False

    def write(self, found: Prediction, place: Place) -> str:
        """See `BlockWriter`."""
        return format_inline(found.corpus, lines=place.several)


@dataclass(slots=True)
class OpenNlpWriter:
    """OpenNLP: a sentence a line, a blank line between documents."""

    keeps_markers: ClassVar[bool] = False

    def write(self, found: Prediction, place: Place) -> str:
        """See `BlockWriter`."""
        between = "\n" if place.number and place.begins else ""
        return between + format_opennlp(found.corpus)


WRITERS: dict[str, Callable[[], BlockWriter]] = {
    "conll": ColumnWriter,
    "tsv": TableWriter,
    "csv": CsvWriter,
    "jsonl": RecordWriter,
    "conllu": ConlluWriter,
    "inline": InlineWriter,
    "opennlp": OpenNlpWriter,
}


def depth_for(found: Prediction, known: int, place: Place) -> int:
    """How many labellings are shown: as many as the sentence has that has most, in all blocks."""
    deepest = max((len(ranked) for ranked in found.nbest or ()), default=0)
    if place.number == 0:
        return deepest
    if deepest > known:
        raise UnlikeFirstError("a sentence has more labellings than all before it")
    return known


def with_answers(found: Prediction, depth: int) -> Corpus:
    """The corpus with a column for each thing asked for beside the label.

    The probabilities of n-best labellings go into a comment before each sentence.
    """
    corpus = found.corpus
    if found.marginals is not None:
        codes = found.codes
        probabilities = found.marginals[range(corpus.n_tokens), codes] * (codes >= 0)
        corpus = corpus.with_column(
            "probability", Column.encode([f"{p:.4f}" for p in probabilities])
        )
    if found.nbest is not None:
        for rank in range(1, depth):
            labels = found.nbest_labels(rank)
            corpus = corpus.with_column(f"label_{rank + 1}", labels)
        notes = dict(corpus.notes)
        for first, ranked in zip(corpus.sentences.tolist(), found.nbest, strict=False):
            shown = " ".join(f"{p:.6f}" for p in ranked.probabilities)
            notes[first] = (*notes.get(first, ()), f"# probabilities of labellings: {shown}")
        corpus = replace(corpus, notes=notes)
    return corpus


def records_of(
    found: Prediction, place: Place, names: tuple[str, ...] | None
) -> list[dict[str, Any]]:
    """The object of each sentence."""
    corpus = found.corpus
    words, labels = corpus.words.tolist(), corpus.labels.tolist()
    spans = _spans_by_sentence(found)
    documents = _document_of_sentence(corpus, place, names)
    bases = _document_starts(corpus)
    alternatives = []
    if found.nbest is not None:
        deepest = max((len(ranked) for ranked in found.nbest), default=0)
        alternatives = [found.nbest_labels(rank).tolist() for rank in range(deepest)]
    records = []
    for number, (first, last) in enumerate(pairwise(corpus.sentences.tolist())):
        record: dict[str, Any] = {"tokens": words[first:last], "labels": labels[first:last]}
        if found.spans is not None:
            record["spans"] = spans[number]
        if corpus.starts is not None and corpus.ends is not None:
            record["starts"] = (corpus.starts[first:last] + place.characters).tolist()
            record["ends"] = (corpus.ends[first:last] + place.characters).tolist()
        if found.marginals is not None:
            record["marginals"] = [
                {label: round(p, 6) for label, p in zip(found.labels, row, strict=True)}
                for row in found.marginals[first:last].tolist()
            ]
        if found.nbest is not None:
            record["nbest"] = [
                {"probability": round(float(p), 6), "labels": alternatives[rank][first:last]}
                for rank, p in enumerate(found.nbest[number].probabilities)
            ]
        record |= links_from(corpus, number, number + 1, bases[number])
        if documents is not None:
            record["document"] = documents[number]
        records.append(record)
    return records


def _spans_by_sentence(found: Prediction) -> list[list[dict[str, Any]]]:
    corpus = found.corpus
    grouped: list[list[dict[str, Any]]] = [[] for _ in range(len(corpus))]
    if found.spans is None:
        return grouped
    sentence = (corpus.sentences[1:].searchsorted(found.spans.starts, side="right")).tolist()
    for k, ((start, stop, label), number) in enumerate(zip(found.spans, sentence, strict=True)):
        first = int(corpus.sentences[number])
        entry: dict[str, Any] = {"start": start - first, "end": stop - first, "label": label}
        if found.confidences is not None:
            entry["confidence"] = round(float(found.confidences[k]), 6)
        grouped[number].append(entry)
    return grouped


def _document_starts(corpus: Corpus) -> list[int]:
    """For each sentence the first token of its document, from which links count."""
    starts = corpus.sentences[corpus.documents[:-1]].tolist()
    sizes = (corpus.documents[1:] - corpus.documents[:-1]).tolist()
    return [start for start, size in zip(starts, sizes, strict=True) for _ in range(size)]


def _document_of_sentence(
    corpus: Corpus, place: Place, names: tuple[str, ...] | None
) -> list[str | int] | None:
    if names is None and not place.several:
        return None
    numbers = range(place.document, place.document + corpus.n_documents)
    known: Sequence[str | int] = names or numbers
    sizes = (corpus.documents[1:] - corpus.documents[:-1]).tolist()
    return [name for name, size in zip(known, sizes, strict=True) for _ in range(size)]
