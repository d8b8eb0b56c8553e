"""A corpus: string columns over tokens, cut into sentences and documents."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints, members, offsets_of
from skipchain.checks import check_integer
from skipchain.corpus.column import Column, frozen
from skipchain.corpus.schemes.labels import UNKNOWN
from skipchain.errors import BrokenSchemeError, CorpusError, SkipchainWarning
from skipchain.report.printable import printable

if TYPE_CHECKING:
    from skipchain.corpus.schemes import Spans

WORD = "word"
LABEL = "label"
FIRST = 12  # tokens that a notebook shows


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Tokens in columns, with sentence and document boundaries; never changed in place.

    ``columns`` maps a name to a `Column` of N strings; the words are the column ``word`` and the
    labels, where there are any, the column ``label``, written in ``scheme`` (see
    `skipchain.corpus.schemes`; None for labels that mark no spans, as parts of speech do).

    ``sentences`` is ``int64 [M + 1]``, offsets into the tokens; ``documents`` is ``int64 [D + 1]``,
    offsets into the sentences. Where the corpus was made from running text, ``texts`` holds the
    text of each document, and ``starts``/``ends`` are the character offsets of each token in it.
    ``notes`` keeps raw lines that carry no token (comments, multi-word ranges), by the token they
    stand before, so that files can be written back as they were.

    ``links`` are pairs of tokens (from, to) of one document, such as the hyperlinks between pages;
    they are kept sorted and each once, and None where there are none.

    >>> corpus = Corpus.of([["Ada", "slept", "."], ["Bo", "left"]],
    ...                    [["B-PER", "O", "O"], ["B-PER", "O"]], scheme="iob2")
    >>> corpus
    Corpus(1 document, 2 sentences, 5 tokens, columns word, label (iob2))
    >>> corpus[1].words
    ['Bo', 'left']
    >>> corpus[:1].labels.tolist()
    ['B-PER', 'O', 'O']
    """

    columns: Mapping[str, Column]
    sentences: Ints  # [M + 1]
    documents: Ints  # [D + 1]
    scheme: str | None = None
    starts: NDArray[np.int32] | None = None  # [N]
    ends: NDArray[np.int32] | None = None  # [N]
    texts: tuple[str, ...] | None = None  # [D]
    names: tuple[str, ...] | None = None  # [D]
    notes: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    links: Ints | None = None  # [K, 2]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        object.__setattr__(self, "notes", MappingProxyType(dict(self.notes)))
        for name in ("sentences", "documents"):
            offsets = np.asarray(getattr(self, name), np.int64)
            if len(offsets) == 0 or offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
                raise CorpusError(f"{name} must be offsets that start at 0 and never fall")
            object.__setattr__(self, name, frozen(offsets.view()))
        last, there = self.documents[-1], len(self.sentences) - 1
        if last != there:
            fault = f"documents end at sentence {last}, but there are {there} sentences"
            raise CorpusError(fault)
        n = int(self.sentences[-1])
        _check_columns(self.columns, n)
        for name in ("starts", "ends"):
            offsets = getattr(self, name)
            if offsets is not None and len(offsets) != n:
                raise CorpusError(f"{name} has {len(offsets)} values, but there are {n} tokens")
        for name in ("texts", "names"):
            values, there = getattr(self, name), len(self.documents) - 1
            if values is not None and len(values) != there:
                fault = f"{name} has {len(values)} entries, but there are {there} documents"
                raise CorpusError(fault)
        if self.links is not None:
            object.__setattr__(self, "links", self._check_links(self.links))

    def _check_links(self, links: Any) -> Ints | None:
        """The links sorted and each once, or None for none of them."""
        try:
            pairs = np.asarray(links)
        except ValueError:  # lists of several lengths
            pairs = np.zeros(1)
        if pairs.size == 0:
            return None
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise CorpusError("links must be pairs of token numbers, from and to")
        document = self.document_of(np.clip(pairs, 0, self.n_tokens - 1))
        for wrong, fault in (
            ((pairs < 0) | (pairs >= self.n_tokens), f"the corpus has {self.n_tokens} tokens"),
            (pairs[:, :1] == pairs[:, 1:], "a token cannot be linked with itself"),
            (document[:, :1] != document[:, 1:], "the two stand in different documents"),
        ):
            if wrong.any():
                k = int(wrong.any(axis=1).argmax())
                start, end = pairs[k].tolist()
                raise CorpusError(f"link {k} goes from token {start} to token {end}: {fault}")
        return frozen(np.unique(pairs.astype(np.int64), axis=0))

    @classmethod
    def of(
        cls,
        sentences: Iterable[Sequence[str]],
        labels: Iterable[Sequence[str | None]] | None = None,
        *,
        scheme: str | None = None,
        documents: Sequence[int] | None = None,
        links: Sequence[tuple[int, int]] | Ints | None = None,
        repair: bool | None = None,
        **columns: Iterable[Sequence[str]],
    ) -> Corpus:
        """A corpus from lists of words (and labels, and further columns) per sentence.

        The scheme of the labels is the one that is named (``none``: they mark no spans), and such
        labels stay as they are; else it is the one that they show, as `skipchain.read` finds it.
        Labels that break that one are repaired where they are fewer than one in a thousand tokens,
        and are an error where they are more; with ``repair`` they are repaired whatever their
        number, with False all stay as they are.

        ``documents`` gives the number of sentences of each document; without it all sentences are
        one document. A label that is None is not known, and kept as ``_``. ``links`` are pairs of
        tokens, counted through the corpus.

        >>> Corpus.of([["Ada", "slept"]], [["B-PER", "O"]]).scheme
        'iob2'
        >>> partly = Corpus.of([["Ada", "slept"]], [["B-PER", None]], scheme="iob2")
        >>> partly[0].labels
        ['B-PER', '_']
        """
        per_sentence = {WORD: _lists(WORD, sentences)}
        per_sentence.update({name: _lists(name, values) for name, values in columns.items()})
        if labels is not None:
            lists = _lists(LABEL, labels)
            per_sentence[LABEL] = [[UNKNOWN if k is None else k for k in own] for own in lists]
        words = per_sentence[WORD]
        for name, lists in per_sentence.items():
            if len(lists) != len(words):
                raise CorpusError(f"{name}: {len(lists)} sentences, but word has {len(words)}")
            for number, (values, sentence) in enumerate(zip(lists, words, strict=True)):
                if len(values) != len(sentence):
                    sizes = f"{len(values)} values for {len(sentence)} words"
                    raise CorpusError(f"{name}: sentence {number} has {sizes}")
                if name in (WORD, LABEL):
                    _check_strings(name, number, values)
        counts = [len(words)] if documents is None else list(documents)
        for count in counts:
            check_integer("the number of sentences of a document", count, least=0)
        offsets = offsets_of(map(len, words)), offsets_of(counts)
        encoded = {k: Column.encode([*chain(*lists)]) for k, lists in per_sentence.items()}
        if labels is not None and (scheme is None or repair is not None):
            encoded[LABEL], scheme = _in_scheme(encoded[LABEL], offsets[0], scheme, repair)
        elif scheme is not None:
            from skipchain.corpus.schemes import is_no_scheme

            scheme = None if is_no_scheme(scheme) else scheme
        return cls(encoded, *offsets, scheme, links=links)  # type: ignore[arg-type]

    # Sizes and names ---------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.sentences) - 1

    @property
    def n_tokens(self) -> int:
        """The number of tokens."""
        return int(self.sentences[-1])

    @property
    def n_documents(self) -> int:
        """The number of documents."""
        return len(self.documents) - 1

    def __repr__(self) -> str:
        names = ", ".join(self.columns)
        if self.scheme is not None:
            names += f" ({self.scheme})"
        links = "" if self.links is None else f", {plural(len(self.links), 'link')}"
        return (
            f"Corpus({plural(self.n_documents, 'document')}, {plural(len(self), 'sentence')}, "
            f"{plural(self.n_tokens, 'token')}{links}, columns {names})"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the size, and the first tokens."""
        from skipchain.report import notebook

        count = min(FIRST, self.n_tokens)
        sentence = np.searchsorted(self.sentences, np.arange(count), side="right") - 1
        columns = (column[:count].tolist() for column in self.columns.values())
        rows = [*zip(map(str, sentence.tolist()), *columns, strict=True)]
        if count < self.n_tokens:
            rows.append(("…",) * (1 + len(self.columns)))
        return notebook.paragraph(repr(self)) + notebook.table(("sentence", *self.columns), rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Corpus):
            return NotImplemented
        values = ("columns", "notes", "scheme", "texts", "names")
        arrays = ("sentences", "documents", "starts", "ends", "links")
        return all(getattr(self, name) == getattr(other, name) for name in values) and all(
            same_array(getattr(self, name), getattr(other, name)) for name in arrays
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        values = (getattr(self, name) for name in self.__slots__)
        return Corpus, tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)

    def document_of(self, tokens: Ints) -> Ints:
        """The number of the document in which each token stands.

        >>> corpus = Corpus.of([["a", "b"], ["c"], ["d"]], documents=[2, 1])
        >>> corpus.document_of(np.array([0, 2, 3])).tolist()
        [0, 0, 1]
        """
        return np.searchsorted(self.sentences[self.documents], tokens, side="right") - 1

    # Columns -----------------------------------------------------------------------------------

    def column(self, name: str) -> Column:
        """The column of that name; a `CorpusError` lists the columns where there is none."""
        try:
            return self.columns[name]
        except KeyError:
            raise CorpusError(
                f"there is no column {name!r}; the corpus has {', '.join(self.columns) or 'none'}"
            ) from None

    @property
    def words(self) -> Column:
        """The column ``word``."""
        return self.column(WORD)

    @property
    def labels(self) -> Column:
        """The column ``label``."""
        return self.column(LABEL)

    @property
    def labelled(self) -> bool:
        """Whether there is a column ``label``."""
        return LABEL in self.columns

    def with_column(self, name: str, column: Column) -> Corpus:
        """The corpus with that column added or replaced."""
        return self._with_columns({**self.columns, name: column}, self.scheme)

    def with_labels(self, labels: Column, scheme: str | None = None) -> Corpus:
        """The corpus with other labels, which are written in ``scheme``."""
        return self._with_columns({**self.columns, LABEL: labels}, scheme)

    def without_labels(self) -> Corpus:
        """The corpus without the column ``label``."""
        rest = {name: column for name, column in self.columns.items() if name != LABEL}
        return self._with_columns(rest, None)

    def _with_columns(self, columns: Mapping[str, Column], scheme: str | None) -> Corpus:
        """The corpus with other columns. All else has been checked, and is shared."""
        _check_columns(columns, self.n_tokens)
        corpus = object.__new__(Corpus)
        for name in self.__slots__:
            object.__setattr__(corpus, name, getattr(self, name))
        object.__setattr__(corpus, "columns", MappingProxyType(columns))
        object.__setattr__(corpus, "scheme", scheme)
        return corpus

    def spans(self) -> Spans:
        """The labelled spans, read in the corpus' scheme.

        >>> corpus = Corpus.of([["Ada", "Lee", "slept"]], [["B-PER", "I-PER", "O"]], scheme="iob2")
        >>> corpus.spans().tolist()
        [(0, 2, 'PER')]
        """
        from skipchain.corpus.schemes import decode

        if self.scheme is None:
            raise CorpusError("the labels have no scheme, so they mark no spans")
        return decode(self.labels, self.sentences, self.scheme)

    # Parts -------------------------------------------------------------------------------------

    @overload
    def __getitem__(self, where: int) -> Sentence: ...

    @overload
    def __getitem__(self, where: slice) -> Corpus: ...

    def __getitem__(self, where: int | slice) -> Sentence | Corpus:
        """One sentence, or a corpus of the sentences in a slice; the arrays are shared."""
        if isinstance(where, slice):
            first, last, step = where.indices(len(self))
            if step != 1:
                return self.take(np.arange(first, last, step))
            return self._slice(first, max(first, last))
        index = where + len(self) if where < 0 else where
        if not 0 <= index < len(self):
            raise IndexError(f"sentence {where} of {len(self)}")
        return Sentence(self, index)

    def __iter__(self) -> Iterator[Sentence]:
        return (Sentence(self, index) for index in range(len(self)))

    def _slice(self, first: int, last: int) -> Corpus:
        a, b = int(self.sentences[first]), int(self.sentences[last])
        inner = np.clip(self.documents, first, last) - first
        keep = np.flatnonzero(np.diff(inner) > 0)
        end = b + (b == self.n_tokens)  # notes behind the last token go with it
        return self._with_tokens(
            slice(a, b),
            keep,
            sentences=self.sentences[first : last + 1] - a,
            documents=np.append(inner[keep], last - first) if len(keep) else np.zeros(1, np.int64),
            notes={k - a: lines for k, lines in self.notes.items() if a <= k < end},
            links=self._links_among(np.arange(a, b)),
        )

    def _with_tokens(self, tokens: slice | Ints, documents_kept: Ints, **others: Any) -> Corpus:
        """The corpus of these tokens, which are of these documents."""

        def of_documents(values: tuple[str, ...] | None) -> tuple[str, ...] | None:
            return None if values is None else tuple(values[d] for d in documents_kept)

        return replace(
            self,
            columns={name: column.take(tokens) for name, column in self.columns.items()},
            starts=None if self.starts is None else frozen(self.starts[tokens]),
            ends=None if self.ends is None else frozen(self.ends[tokens]),
            texts=of_documents(self.texts),
            names=of_documents(self.names),
            **others,
        )

    def take(self, sentences: Sequence[int] | Ints) -> Corpus:
        """The chosen sentences, in their order; neighbours of one document stay together.

        A link stays where both its ends are in one document of the result; of a sentence that is
        chosen more than once there, each copy has the links.
        """
        chosen = np.asarray(sentences, np.int64)
        if len(chosen) and (chosen.min() < 0 or chosen.max() >= len(self)):
            raise IndexError(f"sentence numbers must lie in 0 … {len(self) - 1}")
        document = np.searchsorted(self.documents, chosen, side="right") - 1
        return self._take(chosen, np.flatnonzero(np.diff(document, prepend=-1) != 0))

    def _take(self, chosen: Ints, new: Ints) -> Corpus:
        """The chosen sentences, with a document beginning at each of the places ``new``."""
        sentences = offsets_of(np.diff(self.sentences)[chosen])
        documents = np.append(new, len(chosen))
        tokens = members(self.sentences, chosen)
        notes = {}
        if self.notes:
            place = {int(old): k for k, old in enumerate(tokens)}
            notes = {place[k]: lines for k, lines in self.notes.items() if k in place}
        kept = np.searchsorted(self.documents, chosen[new], side="right") - 1
        links = self._links_among(tokens, sentences[documents])
        return self._with_tokens(
            tokens, kept, sentences=sentences, documents=documents, notes=notes, links=links
        )

    def _links_among(self, tokens: Ints, bounds: Ints | None = None) -> Ints | None:
        """The links between the chosen tokens, by their new numbers.

        With ``bounds``, offsets of documents into the chosen tokens, only those within a document.
        """
        if self.links is None:
            return None
        order = np.argsort(tokens, kind="stable")
        first = np.searchsorted(tokens, self.links, sorter=order)  # [K, 2]
        last = np.searchsorted(tokens, self.links, side="right", sorter=order)
        copies = last - first
        number = copies[:, 0] * copies[:, 1]
        k = np.repeat(np.arange(len(number)), number)
        place = np.arange(len(k)) - np.repeat(np.cumsum(number) - number, number)
        links: Ints = order[first[k] + np.stack(np.divmod(place, copies[k, 1]), axis=1)]
        if bounds is not None:
            document = np.searchsorted(bounds, links, side="right")
            links = links[document[:, 0] == document[:, 1]]
        return links

    def document(self, index: int) -> Corpus:
        """One document as a corpus."""
        if not -self.n_documents <= index < self.n_documents:
            raise IndexError(f"document {index} of {self.n_documents}")
        index %= self.n_documents
        return self._slice(int(self.documents[index]), int(self.documents[index + 1]))

    def take_documents(self, documents: Sequence[int] | Ints) -> Corpus:
        """The chosen documents, in their order."""
        chosen = np.asarray(documents, np.int64)
        if len(chosen) and (chosen.min() < 0 or chosen.max() >= self.n_documents):
            raise IndexError(f"document numbers must lie in 0 … {self.n_documents - 1}")
        sizes = np.diff(self.documents)[chosen]
        return self._take(members(self.documents, chosen), offsets_of(sizes)[:-1][sizes > 0])

    def split(self, fraction: float, *, seed: int | None = None) -> tuple[Corpus, Corpus]:
        """Cut into two parts at a document boundary (at a sentence, where there is one document).

        The first part holds about ``fraction`` of the documents. Without a seed the order is kept
        and both parts are views; with one the documents are drawn at random.

        >>> corpus = Corpus.of([["a"], ["b"], ["c"], ["d"]], documents=[1, 1, 1, 1])
        >>> [part.words.tolist() for part in corpus.split(0.75)]
        [['a', 'b', 'c'], ['d']]
        """
        if not 0.0 <= fraction <= 1.0:
            raise CorpusError(f"fraction must lie in 0 … 1, got {fraction}")
        whole = self.n_documents > 1
        count = self.n_documents if whole else len(self)
        cut = round(fraction * count)
        if seed is None:
            at = int(self.documents[cut]) if whole else cut
            return self[:at], self[at:]
        order = np.random.default_rng(seed).permutation(count)
        take = self.take_documents if whole else self.take
        return take(np.sort(order[:cut])), take(np.sort(order[cut:]))

    @classmethod
    def concatenate(cls, corpora: Sequence[Corpus]) -> Corpus:
        """One corpus after the other; columns and scheme must be the same in all."""
        if not corpora:
            raise CorpusError("there is no corpus to concatenate")
        head = corpora[0]
        for corpus in corpora[1:]:
            if list(corpus.columns) != list(head.columns) or corpus.scheme != head.scheme:
                both = (f"{', '.join(c.columns)} ({c.scheme})" for c in (head, corpus))
                raise CorpusError(f"corpora differ in columns or scheme: {' and '.join(both)}")
        firsts = offsets_of(corpus.n_tokens for corpus in corpora)[:-1].tolist()
        pairs = list(zip(firsts, corpora, strict=True))
        aligned = all(corpus.starts is not None for corpus in corpora)
        links = [first + corpus.links for first, corpus in pairs if corpus.links is not None]
        columns = {k: Column.concatenate([c.columns[k] for c in corpora]) for k in head.columns}
        return cls(
            columns,
            offsets_of(np.concatenate([np.diff(corpus.sentences) for corpus in corpora])),
            offsets_of(np.concatenate([np.diff(corpus.documents) for corpus in corpora])),
            head.scheme,
            starts=np.concatenate([c.starts for c in corpora]) if aligned else None,
            ends=np.concatenate([c.ends for c in corpora]) if aligned else None,
            texts=joined_tuples(corpus.texts for corpus in corpora),
            names=joined_tuples(corpus.names for corpus in corpora),
            notes={first + k: v for first, corpus in pairs for k, v in corpus.notes.items()},
            links=np.concatenate(links) if links else None,
        )

    # Files -------------------------------------------------------------------------------------

    def write(self, path: str | Path, format: str | None = None, **options: Any) -> None:
        """Write to a file, by default in the format of its ending; see `skipchain.io.write`."""
        from skipchain.io import write

        write(self, path, format, **options)


@dataclass(frozen=True, slots=True, repr=False)
class Sentence:
    """One sentence of a corpus: a light view that makes strings only when asked.

    >>> Corpus.of([["Ada", "slept"], ["Bo", "left"]])[1]
    Sentence(1 of 2, 2 tokens: Bo left)
    """

    corpus: Corpus
    index: int

    @property
    def tokens(self) -> slice:
        """Where the sentence's tokens stand in the corpus."""
        first, last = self.corpus.sentences[self.index : self.index + 2].tolist()
        return slice(first, last)

    def __len__(self) -> int:
        return int(self.tokens.stop - self.tokens.start)

    def __repr__(self) -> str:
        words = " ".join(self.words[:FIRST]) + (" …" if len(self) > FIRST else "")
        shown = f": {printable(words)}" if words else ""
        return f"Sentence({self.index} of {len(self.corpus)}, {plural(len(self), 'token')}{shown})"

    def column(self, name: str) -> list[str]:
        """The strings of one column."""
        return self.corpus.column(name)[self.tokens].tolist()

    @property
    def words(self) -> list[str]:
        """The words."""
        return self.column(WORD)

    @property
    def labels(self) -> list[str]:
        """The labels."""
        return self.column(LABEL)


def _check_columns(columns: Mapping[str, Column], size: int) -> None:
    """Refuse columns that have not one value a token."""
    for name, column in columns.items():
        if len(column) != size:
            fault = f"column {name!r} has {len(column)} values, but there are {size} tokens"
            raise CorpusError(fault)


def _lists(name: str, values: Any) -> list[Sequence[str]]:
    """The values of each sentence, each of which must be something that can be counted."""
    wanted = "wanted a list of strings per sentence"
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise CorpusError(f"{name}: got {type(values).__name__}; {wanted}")
    lists = list(values)
    for number, own in enumerate(lists):
        if isinstance(own, (str, bytes)) or not (
            isinstance(own, Sized) and isinstance(own, Iterable)
        ):
            raise CorpusError(f"{name}: sentence {number} is {own!r}; {wanted}")
    return lists


def _in_scheme(
    labels: Column, offsets: Ints, scheme: str | None, repair: bool | None
) -> tuple[Column, str | None]:
    """Labels with their scheme; a warning tells which were repaired, an error how to go on."""
    from skipchain.corpus.schemes import resolve

    def place(token: int) -> str:
        sentence = int(np.searchsorted(offsets, token, side="right")) - 1
        return f"sentence {sentence}, token {token - offsets[sentence]}"

    if not len(labels):
        return labels, scheme
    try:
        found = resolve(labels, offsets, scheme, repair)
    except BrokenSchemeError as error:
        advice = (
            "mend them with repair=True, or leave them as they are with scheme= or repair=False"
        )
        raise BrokenSchemeError(f"{error}; {advice}", error.token) from None
    told = found.told(place)
    if told is not None:
        advice = "; repair=False leaves labels as they are" if len(found.repaired) else ""
        warnings.warn(f"labels: {told}{advice}", SkipchainWarning, stacklevel=3)
    return found.labels, found.scheme


def _check_strings(name: str, number: int, values: Sequence[Any]) -> None:
    for value in values:
        if not isinstance(value, str):
            advice = "; sets of labels go to fit, as its second argument" if name == LABEL else ""
            if name == WORD and isinstance(value, (list, tuple)):
                advice = (
                    "; words and labels come apart: Corpus.of([['Ada', 'ran']], [['B-PER', 'O']])"
                )
            fault = f"{name}: sentence {number} has {value!r}, which is no string"
            raise CorpusError(fault + advice)


def plural(count: int, noun: str) -> str:
    """``3 tokens``, ``1 token``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def same_array(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    """Whether two arrays are both absent, or equal."""
    return (a is None) == (b is None) and (a is None or np.array_equal(a, b))  # type: ignore[arg-type]


def joined_tuples(tuples: Iterable[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """All tuples as one, or None where any is missing."""
    joined = list(tuples)
    return None if None in joined else tuple(chain(*joined))  # type: ignore[arg-type]
