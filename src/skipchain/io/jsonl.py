"""JSON lines: one sentence, one document of sentences, or one running text an object."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any

import numpy as np

from skipchain.arrays import Ints, offsets_of
from skipchain.corpus.column import Column
from skipchain.corpus.corpus import LABEL, WORD, Corpus
from skipchain.errors import (
    CorpusError,
    ReadError,
    SkipchainWarning,
    UnreadLabelsWarning,
    shortened,
)
from skipchain.io.columns.layout import LABELS as LABEL_NAMES
from skipchain.io.columns.layout import plain_name
from skipchain.io.conll import check_width
from skipchain.io.files import check_text
from skipchain.io.schemes import resolve_scheme
from skipchain.io.standoff import Passage, Span, corpus_of, passages_of
from skipchain.watching import counted

TOKENS, LABELS, TEXT, SPANS = "tokens", "labels", "text", "spans"
DOCUMENT, LINKS = "document", "links"
ADDED = ("starts", "ends", "marginals", "nbest")  # what ``skipchain tag`` adds to sentences
USUAL = {SPANS: ("entities", "label", "labels"), LABELS: LABEL_NAMES}
"""What spans and labels are called by other tools, those first that say more."""
ANSWER, REJECTED = "answer", ("reject", "ignore")
SHOWN_KEYS = 5  # that are not read
Record = dict[str, Any]


def parse_jsonl(
    text: str, path: object = None, *, scheme: str | None = None, repair: bool | None = None
) -> Corpus:
    """The corpus that JSON lines hold, of one of two kinds.

    ``{"tokens": [...], "labels": [...]}`` is a sentence; other lists of strings are further
    columns. With ``"document": id``, neighbours with the same id are one document, which a string
    names; without it all sentences are one. Lists of lists are a document of sentences.
    ``"links": [[from, to], ...]`` are links between tokens, counted through the document from 0;
    any of its sentences may have them.

    ``{"text": "...", "spans": [[start, end, "TYPE"], ...]}`` is a document of running text; a span
    counts characters, and may be ``{"start": ..., "end": ..., "label": ...}``. Without ``"spans"``
    there are no labels. A warning names the keys that are not read.

    Where neither is there, spans may stand under ``"label"``, ``"labels"`` or ``"entities"``, and
    labels under a usual name such as ``"ner_tags"``; a warning says so.

    >>> parse_jsonl('{"tokens": ["Ada", "slept"], "labels": ["B-PER", "O"]}')
    Corpus(1 document, 1 sentence, 2 tokens, columns word, label (iob2))
    >>> parse_jsonl('{"text": "Ada slept.", "spans": [[0, 3, "PER"]]}').labels.tolist()
    ['B-PER', 'O', 'O']
    """
    texts = check_text(text, path).split("\n")
    lines = enumerate(counted(texts, len(texts)), 1)
    records = [(k, read_record(line, path, k)) for k, line in lines if line.strip(" \t\r")]
    records = with_usual_key(without_rejected(records, path), path)
    if is_running(records[0][1]):
        corpus = parse_texts(records, scheme, path)
        known = {TEXT, SPANS, DOCUMENT, ANSWER}
        tell_unread(records, known, path, labelled=corpus.labelled)
        return corpus
    collector = RecordCollector()
    for number, record in counted(records, len(records)):
        collector.add(record, path, number)
    known = {TOKENS, LABELS, LINKS, DOCUMENT, ANSWER, *ADDED, *collector.columns}
    labelled = LABEL in collector.columns
    tell_unread(records, known | ({SPANS} if labelled else set()), path, labelled=labelled)
    return resolve_scheme(collector.corpus(path), scheme, path, repair=repair)


def format_jsonl(corpus: Corpus, *, form: str | None = None) -> str:
    """The corpus as JSON lines, in the form ``tokens`` or ``text``.

    The form is ``text`` if the corpus has its running text and nothing but words and spans over it.
    A link is written with the sentence that it comes from.

    >>> print(format_jsonl(Corpus.of([["Ada", "slept"]], [["B-PER", "O"]])), end="")
    {"tokens": ["Ada", "slept"], "labels": ["B-PER", "O"]}
    """
    if form is None:
        spanned = corpus.scheme is not None or not corpus.labelled
        plain = set(corpus.columns) <= {WORD, LABEL} and corpus.links is None
        form = TEXT if corpus.texts is not None and spanned and plain else TOKENS
    if form == TEXT:
        records = text_records(corpus)
    elif form == TOKENS:
        records = token_records(corpus)
    else:
        raise CorpusError(f"form must be 'tokens' or 'text', got {form!r}")
    told = counted(records, len(records))
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in told)


def read_record(line: str, path: object, number: int) -> Record:
    """The object on a line."""
    try:
        record = json.loads(line)
        if "\\u" in line:  # an escape may spell half a character, which no file can hold
            json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ReadError("a \\u escape spells half a character", path=path, line=number) from None
    except json.JSONDecodeError as error:
        raise ReadError(f"not JSON: {error}", path=path, line=number) from None
    except (ValueError, RecursionError) as error:  # of what is JSON, but cannot be meant
        nested = isinstance(error, RecursionError)
        fault = "brackets in brackets without end" if nested else "a number of thousands of digits"
        raise ReadError(f"not JSON: {fault}", path=path, line=number) from None
    if not isinstance(record, dict):
        kind = type(record).__name__
        raise ReadError(f"wanted a JSON object, got a {kind}", path=path, line=number)
    if TOKENS not in record and TEXT not in record:
        keys = ", ".join(f'"{shortened(key, 40)}"' for key in list(record)[:SHOWN_KEYS]) or "no key"
        fault = f'the object has neither "tokens" nor "text"; it has {keys}'
        raise ReadError(fault, path=path, line=number)
    return record


def without_rejected(records: list[tuple[int, Record]], path: object) -> list[tuple[int, Record]]:
    """The records without those whose labels an annotator has rejected, which is told.

    Labelling tools keep them, as ``"answer": "reject"`` or ``"ignore"``.
    """
    kept = [(number, own) for number, own in records if own.get(ANSWER) not in REJECTED]
    count = len(records) - len(kept)
    if not count:
        return records
    lines = "1 line" if count == 1 else f"{count:,} lines"
    file = "JSON lines" if path is None else path
    told = f'{file}: {lines} with "{ANSWER}": "reject" or "ignore" left out'
    if not kept:
        raise ReadError("every line has been rejected, so nothing is left to read", path=path)
    warnings.warn(told, SkipchainWarning, stacklevel=3)
    return kept


def with_usual_key(records: list[tuple[int, Record]], path: object) -> list[tuple[int, Record]]:
    """The records with labels or spans under our name, where they stand under another usual one.

    >>> told = [(1, {"tokens": ["Ada"], "ner_tags": ["B-PER"]})]
    >>> with warnings.catch_warnings(action="ignore"):
    ...     with_usual_key(told, None)
    [(1, {'tokens': ['Ada'], 'labels': ['B-PER']})]
    """
    first = records[0][1]
    wanted, holds = (SPANS, holds_spans) if is_running(first) else (LABELS, holds_labels)
    if wanted in first:
        return records
    names = [key for own in USUAL[wanted] for key in first if plain_name(key) == own]
    found = [key for key in names if all(holds(record, key) for _, record in records)]
    if not found or not any(record[found[0]] for _, record in records):
        return records
    file = "JSON lines" if path is None else path
    warnings.warn(f'{file}: "{found[0]}" is read as "{wanted}"', SkipchainWarning, stacklevel=3)
    return [
        (number, {wanted if key == found[0] else key: value for key, value in record.items()})
        for number, record in records
    ]


def holds_spans(record: Record, key: str) -> bool:
    """Whether a key has a list of spans, as other tools write them, too."""
    spans = record.get(key)
    return isinstance(spans, list) and all(span_fields(span) is not None for span in spans)


def holds_labels(record: Record, key: str) -> bool:
    """Whether a key has a string for each token."""
    tokens, labels = record.get(TOKENS), record.get(key)
    if not (isinstance(tokens, list) and isinstance(labels, list) and len(tokens) == len(labels)):
        return False
    return all(isinstance(label, str) for label in labels)


def is_running(record: Record) -> bool:
    """Whether a record is running text; with tokens, a list of strings is a column ``text``."""
    return TEXT in record and not (TOKENS in record and isinstance(record[TEXT], list))


@dataclass(slots=True)
class RecordCollector:
    """Collects the columns, sentences, documents and links of records with tokens."""

    columns: dict[str, list[str]] = field(default_factory=dict)
    sentences: list[int] = field(default_factory=list)  # lengths
    documents: list[int] = field(default_factory=list)  # lengths
    ids: list[Any] = field(default_factory=list)
    links: list[tuple[int, int, int, int]] = field(default_factory=list)
    """from, to (counted within the document), the document, the line"""

    def add(self, record: Record, path: object, number: int) -> None:
        """Take in one record."""
        if is_running(record):
            raise ReadError("a text among lines with tokens", path=path, line=number)
        tokens = record[TOKENS]
        nested = isinstance(tokens, list) and bool(tokens) and isinstance(tokens[0], list)
        columns = {
            {TOKENS: WORD, LABELS: LABEL}.get(key, key): sentences
            for key, value in record.items()
            if key not in (SPANS, LINKS)
            and (sentences := read_lists(key, value, nested, path, number)) is not None
        }
        check_width(len(columns), path, number)
        if self.columns and self.columns.keys() != columns.keys():
            names, first = ", ".join(columns), ", ".join(self.columns)
            fault = f"columns {names}, but the first line has {first}"
            raise ReadError(fault, path=path, line=number)
        lengths = list(map(len, columns[WORD]))
        for name, sentences in columns.items():
            if list(map(len, sentences)) != lengths:
                raise ReadError(f"{name} and tokens differ in length", path=path, line=number)
            self.columns.setdefault(name, []).extend(chain.from_iterable(sentences))
        self.sentences.extend(lengths)
        self.add_sentences(record.get(DOCUMENT), nested, len(lengths), path, number)
        document = len(self.documents) - 1
        for start, end in read_links(record.get(LINKS, []), path, number):
            self.links.append((start, end, document, number))

    def add_sentences(self, name: Any, nested: bool, size: int, path: object, number: int) -> None:
        """Count the sentences towards the last document, if it has this name, or a new one."""
        if not isinstance(name, str | int | None) or isinstance(name, bool):
            raise ReadError('"document" must be a string or a number', path=path, line=number)
        if nested or not self.ids or self.ids[-1] != (name, False):
            self.ids.append((name, nested))
            self.documents.append(0)
        self.documents[-1] += size

    def corpus(self, path: object) -> Corpus:
        """The corpus of all records."""
        names = tuple("" if name is None else str(name) for name, _ in self.ids)
        named = any(isinstance(name, str) for name, _ in self.ids)
        order = [WORD, *(name for name in self.columns if name not in (WORD, LABEL)), LABEL]
        sentences, documents = offsets_of(self.sentences), offsets_of(self.documents)
        return Corpus(
            {name: Column.encode(self.columns[name]) for name in order if name in self.columns},
            sentences,
            documents,
            names=names if named else None,
            links=self.numbered_links(sentences[documents], path),
        )

    def numbered_links(self, bounds: Ints, path: object) -> Ints:
        """The links by token numbers of the corpus; documents begin at ``bounds``. [K, 2]"""
        sizes = np.diff(bounds).tolist()
        for start, end, document, number in self.links:
            size = sizes[document]
            if not (0 <= start < size and 0 <= end < size):
                fault = f"the document has {size} tokens, counted from 0"
            elif start == end:
                fault = "a token cannot be linked with itself"
            else:
                continue
            raise ReadError(f"link [{start}, {end}]: {fault}", path=path, line=number)
        table = np.array(self.links, np.int64).reshape(-1, 4)
        return table[:, :2] + bounds[table[:, 2], None]


def tell_unread(
    records: Sequence[tuple[int, Record]], known: set[str], path: object, *, labelled: bool
) -> None:
    """Warn of keys that are not read, and of what may be meant for labels where there are none."""
    unread: dict[str, Any] = {}
    for _, record in records:
        for key in record.keys() - known:
            if not unread.get(key):
                unread[key] = record[key]
    if not unread:
        return
    names = sorted(unread)
    shown = ", ".join(f'"{shortened(name, 40)}"' for name in names[:SHOWN_KEYS])
    more = f" and {len(names) - SHOWN_KEYS:,} more" * (len(names) > SHOWN_KEYS)
    told = f"{shown}{more} {'is' if len(names) == 1 else 'are'} not read"
    file = "JSON lines" if path is None else path
    lists = sorted(key for key, value in unread.items() if isinstance(value, list))
    if labelled or not lists:
        warnings.warn(f"{file}: {told}", SkipchainWarning, stacklevel=3)
        return
    first = unread[lists[0]][:1]
    if is_running(records[0][1]):
        wanted = 'spans are wanted as "spans": [[start, end, "TYPE"], ...]'
    elif first and type(first[0]) is int:
        wanted = f'"{lists[0]}" holds numbers; wanted are strings, "labels": ["B-PER", ...]'
    else:
        wanted = 'labels are wanted as "labels": ["B-PER", ...]'
    fault = f"{file}: there are no labels, and {told}; {wanted}"
    warnings.warn(fault, UnreadLabelsWarning, stacklevel=3)


def read_lists(
    key: str, value: Any, nested: bool, path: object, number: int
) -> list[list[str]] | None:
    """The sentences of a column, or None where a key is not a column."""
    sentences = value if nested else [value]
    if isinstance(sentences, list) and all(
        isinstance(sentence, list) and all(isinstance(item, str) for item in sentence)
        for sentence in sentences
    ):
        return list(sentences)
    if key in (TOKENS, LABELS):
        wanted = "lists of strings" if nested else "a list of strings"
        raise ReadError(f'"{key}" must be {wanted}', path=path, line=number)
    return None


def read_links(links: Any, path: object, number: int) -> list[list[int]]:
    """The links of a record."""
    if not isinstance(links, list):
        raise ReadError('"links" must be a list', path=path, line=number)
    for link in links:
        if not isinstance(link, list) or list(map(type, link)) != [int, int]:
            fault = f"wanted a link [from, to] of two token numbers, got {quoted(link)}"
            raise ReadError(fault, path=path, line=number)
    return links


def quoted(value: Any) -> str:
    """A value as JSON, cut short."""
    try:
        return json.dumps(value)[:80]
    except RecursionError:  # what the parser could just read, the writer may not
        return "brackets in brackets"


def parse_texts(records: Sequence[tuple[int, Record]], scheme: str | None, path: object) -> Corpus:
    """The corpus of records with running text."""
    labelled = SPANS in records[0][1]
    passages = []
    for number, record in records:
        text, name = record.get(TEXT), record.get(DOCUMENT)
        if not isinstance(text, str):
            raise ReadError('"text" must be a string', path=path, line=number)
        if (SPANS in record) != labelled:
            fault = 'no "spans"' if labelled else '"spans"'
            raise ReadError(f"{fault}, unlike the first line", path=path, line=number)
        spans = read_spans(record[SPANS], path, number) if labelled else None
        passages.append(Passage(text, spans, None if name is None else str(name), line=number))
    return corpus_of(passages, scheme, path)


def read_spans(spans: Any, path: object, number: int) -> list[Span]:
    """The spans of a record."""
    if not isinstance(spans, list):
        raise ReadError('"spans" must be a list', path=path, line=number)
    triples: list[Span] = []
    for span in spans:
        fields = span_fields(span)
        if fields is None:
            fault = f'wanted a span [start, end, "TYPE"], got {quoted(span)}'
            raise ReadError(fault, path=path, line=number)
        triples.append((fields[0], fields[1], fields[2]))
    return triples


def span_fields(span: Any) -> list[Any] | None:
    """Start, end and type of a span; None where it is no such thing."""
    if isinstance(span, dict):
        span = [span.get(key) for key in ("start", "end", "label")]
    fits = isinstance(span, list) and list(map(type, span)) == [int, int, str]
    return span if fits else None


def token_records(corpus: Corpus) -> list[Record]:
    """One record a sentence; one a document where two neighbours have the same name."""
    keys = {name: {WORD: TOKENS, LABEL: LABELS}.get(name, name) for name in corpus.columns}
    taken = {TOKENS, LABELS, SPANS, DOCUMENT, LINKS} & set(corpus.columns)
    if taken:
        raise CorpusError(f"JSONL has another use for the name {taken.pop()!r}; rename the column")
    strings = {keys[name]: column.tolist() for name, column in corpus.columns.items()}
    strings.setdefault(TOKENS, corpus.words.tolist())
    bounds, documents = corpus.sentences.tolist(), corpus.documents.tolist()
    names: Sequence[Any] = corpus.names or range(corpus.n_documents)
    shown = corpus.names is not None or corpus.n_documents > 1
    nested = any(left == right for left, right in pairwise(names))
    records: list[Record] = []
    for name, first, last in zip(names, documents, documents[1:], strict=False):
        end: Record = {DOCUMENT: name} if shown else {}
        spans = list(pairwise(bounds[first : last + 1]))
        if nested:
            lists = {key: [v[a:b] for a, b in spans] for key, v in strings.items()}
            records.append(lists | links_from(corpus, first, last, bounds[first]) | end)
            continue
        for number, (a, b) in enumerate(spans, first):
            links = links_from(corpus, number, number + 1, bounds[first])
            records.append({key: v[a:b] for key, v in strings.items()} | links | end)
    return records


def links_from(corpus: Corpus, first: int, last: int, base: int) -> Record:
    """The links from some sentences, where there are any, as a record has them."""
    if corpus.links is None:
        return {}
    start, stop = np.searchsorted(corpus.links[:, 0], corpus.sentences[[first, last]])
    links = (corpus.links[start:stop] - base).tolist()
    return {LINKS: links} if links else {}


def text_records(corpus: Corpus) -> list[Record]:
    """One record a document."""
    records: list[Record] = []
    for passage in passages_of(corpus):
        record: Record = {TEXT: passage.text}
        if passage.spans is not None:
            record[SPANS] = [list(span) for span in passage.spans]
        if passage.name is not None:
            record[DOCUMENT] = passage.name
        records.append(record)
    return records
