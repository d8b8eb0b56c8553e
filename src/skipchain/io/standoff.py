"""Running text with character spans: what inline, brat and JSONL files have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from skipchain.arrays import Ints, offsets_of
from skipchain.corpus.column import Column, frozen
from skipchain.corpus.corpus import WORD, Corpus
from skipchain.corpus.schemes import Spans, check_scheme, encode, is_no_scheme
from skipchain.errors import CorpusError, ReadError
from skipchain.io.schemes import resolve_scheme
from skipchain.io.tokenizer import Tokens, tokenize, word_set
from skipchain.watching import counted

Span = tuple[int, int, str]  # start, end and type; characters of a text, or tokens
TokenizedPassage = tuple[Tokens, list[Span]]  # the tokens of a passage, and its spans as tokens

# With sensible spacing, no blank goes before the first of these or after the second.
TIGHT_BEFORE = word_set(". , ; : ! ? ) ] } % ’ ” » ' '' 's n't 'm 'd 're 've 'll …")
TIGHT_AFTER = word_set("( [ { $ £ € “ ‘ « `` # @")


@dataclass(frozen=True, slots=True)
class Passage:
    """A text with its spans: the characters ``start:end`` and a type, or None if unlabelled.

    A ``whole`` passage is one sentence. ``line`` is where it stands in its file, for errors.
    """

    text: str
    spans: Sequence[Span] | None = None
    name: str | None = None
    whole: bool = False
    line: int | None = None


def corpus_of(
    passages: Sequence[Passage], scheme: str | None = None, path: object = None
) -> Corpus:
    """A corpus with one document per passage, tokenised, and labelled in the scheme (else iob2).

    A token that a span begins or ends in is cut there, and no sentence ends within a span.

    >>> corpus = corpus_of([Passage("Ada slept.", [(0, 3, "PER")])])
    >>> corpus.words.tolist(), corpus.labels.tolist()
    (['Ada', 'slept', '.'], ['B-PER', 'O', 'O'])
    """
    told = counted(passages, len(passages))
    tokenized = [tokenize_passage(passage, path) for passage in told]
    return build_corpus(passages, tokenized, scheme, path)


def build_corpus(
    passages: Sequence[Passage],
    tokenized: Sequence[TokenizedPassage],
    scheme: str | None = None,
    path: object = None,
) -> Corpus:
    """The corpus of passages whose tokens, and spans as tokens, are known."""
    if not passages:
        raise ReadError("there is not one token in the file", path=path)
    labelled = any(passage.spans is not None for passage in passages)
    name = "iob2" if scheme is None or is_no_scheme(scheme) else check_scheme(scheme)
    names = tuple(passage.name or "" for passage in passages)
    words: list[str] = []
    sentences = [np.zeros(1, np.int64)]
    for passage, (tokens, _) in zip(passages, tokenized, strict=True):
        sentences.append(len(words) + tokens.sentences[1:])
        words.extend(tokens.words(passage.text))
    corpus = Corpus(
        {WORD: Column.encode(words)},
        np.concatenate(sentences),
        offsets_of([len(tokens.sentences) - 1 for tokens, _ in tokenized]),
        starts=frozen(np.concatenate([tokens.starts for tokens, _ in tokenized])),
        ends=frozen(np.concatenate([tokens.ends for tokens, _ in tokenized])),
        texts=tuple(passage.text for passage in passages),
        names=names if any(names) else None,
    )
    if not labelled:
        return resolve_scheme(corpus, scheme, path)
    if corpus.n_tokens == 0:
        raise ReadError("there is not one token in the file", path=path)
    labels = encode(Spans.of(corpus_spans(tokenized)), corpus.sentences, name)
    return corpus.with_labels(labels, None if is_no_scheme(scheme) else name)


def tokenize_passage(passage: Passage, path: object) -> TokenizedPassage:
    """The tokens of a passage, and its spans as tokens."""
    if not passage.spans and not passage.whole:
        return tokenize(passage.text), []
    spans = check_spans(passage, path)
    tokens = tokenize(passage.text, [place for start, end, _ in spans for place in (start, end)])
    pairs = np.array([(start, end) for start, end, _ in spans], np.int64).reshape(-1, 2)
    firsts, lasts = np.searchsorted(tokens.starts, pairs.T)
    sentences = whole_spans(tokens.sentences, firsts, lasts)
    if passage.whole:
        sentences = tokens.sentences[[0, -1]] if len(tokens.starts) else tokens.sentences
    kinds = [kind for _, _, kind in spans]
    by_token = list(zip(firsts.tolist(), lasts.tolist(), kinds, strict=True))
    return Tokens(tokens.starts, tokens.ends, sentences), by_token


def whole_spans(sentences: Ints, firsts: Ints, lasts: Ints) -> Ints:
    """The sentence offsets without those that fall inside a span."""
    before = np.searchsorted(firsts, sentences) - 1  # the last span that starts before
    inside = (before >= 0) & (np.append(lasts, 0)[before] > sentences)
    return sentences[~inside]


def corpus_spans(tokenized: Sequence[TokenizedPassage]) -> list[Span]:
    """The spans of all documents, counted from the first token of the corpus."""
    shifted: list[Span] = []
    base = 0
    for tokens, spans in tokenized:
        shifted.extend((start + base, end + base, kind) for start, end, kind in spans)
        base += len(tokens.starts)
    return shifted


def check_spans(passage: Passage, path: object) -> list[Span]:
    """The spans in order, without white space at their ends; an error if one makes no sense."""
    text = passage.text
    trimmed = sorted(trim(text, span, path, passage.line) for span in passage.spans or ())
    for left, right in pairwise(trimmed):
        if right[0] < left[1]:
            (a, b, kind), (start, end, other) = left, right
            fault = (
                f"the {other} {start}:{end} {text[start:end]!r} overlaps the {kind} {a}:{b} "
                f"{text[a:b]!r}; labels hold one span per token, so drop one of them"
            )
            raise ReadError(fault, path=path, line=passage.line)
    return trimmed


def trim(text: str, span: Span, path: object, line: int | None) -> Span:
    """The span without white space at its ends."""
    start, end, kind = span
    if not kind:
        raise ReadError(f"the span {start}:{end} has no type", path=path, line=line)
    if not 0 <= start <= end <= len(text):
        fault = f"the {kind} {start}:{end} lies outside the text of {len(text)} characters"
        raise ReadError(fault, path=path, line=line)
    content = text[start:end]
    if not content.strip():
        raise ReadError(f"the {kind} {start}:{end} is empty", path=path, line=line)
    return end - len(content.lstrip()), start + len(content.rstrip()), kind


def passages_of(corpus: Corpus, *, sensible: bool = False, newline: str = "\n") -> list[Passage]:
    """Each document as running text with its spans (None where the corpus has no labels).

    Where the corpus has no texts, the words are joined by blanks (with ``sensible``, not around
    punctuation) and the sentences by ``newline``.

    >>> corpus = Corpus.of([["Ada", "slept", "."]], [["B-PER", "O", "O"]], scheme="iob2")
    >>> passages_of(corpus, sensible=True)[0]
    Passage(text='Ada slept.', spans=[(0, 3, 'PER')], name=None, whole=False, line=None)
    """
    spans = token_spans(corpus)
    firsts = corpus.sentences[corpus.documents]
    cuts = np.searchsorted([start for start, _, _ in spans or ()], firsts).tolist()
    passages = []
    for number, first in enumerate(firsts[:-1].tolist()):
        text, starts, ends = running_text(corpus, number, sensible=sensible, newline=newline)
        inside = None
        if spans is not None:
            own = spans[cuts[number] : cuts[number + 1]]
            inside = [(starts[a - first], ends[b - first - 1], kind) for a, b, kind in own]
        passages.append(Passage(text, inside, corpus.names[number] if corpus.names else None))
    return passages


def token_spans(corpus: Corpus) -> list[Span] | None:
    """The spans as tokens, or None where there are no labels."""
    if not corpus.labelled:
        return None
    if corpus.scheme is None:
        fault = "the labels have no scheme, so they mark no spans that this format could hold"
        raise CorpusError(f"{fault}; write conll or jsonl")
    return corpus.spans().tolist()


def running_text(
    corpus: Corpus, number: int, *, sensible: bool = False, newline: str = "\n"
) -> tuple[str, list[int], list[int]]:
    """The text of a document, and the starts and ends of its tokens in it."""
    sentences = corpus.sentences[corpus.documents[number] : corpus.documents[number + 1] + 1]
    first, last = int(sentences[0]), int(sentences[-1])
    if corpus.texts is not None and corpus.starts is not None and corpus.ends is not None:
        starts, ends = corpus.starts[first:last].tolist(), corpus.ends[first:last].tolist()
        return corpus.texts[number], starts, ends
    pieces: list[str] = []
    starts, ends, size = [], [], 0
    opening = set(sentences.tolist())
    words = corpus.words[first:last].tolist()
    for place, word in enumerate(words):
        gap = newline if first + place in opening else " "
        if place == 0 or (sensible and gap == " " and tight(words[place - 1], word)):
            gap = ""
        pieces += (gap, word)
        starts.append(size + len(gap))
        size += len(gap) + len(word)
        ends.append(size)
    return "".join(pieces), starts, ends


def tight(left: str, right: str) -> bool:
    """Whether two words are written without a blank between them."""
    return right.lower() in TIGHT_BEFORE or left in TIGHT_AFTER
