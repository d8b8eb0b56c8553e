"""Properties of reading and writing: files come back, and bad input gives our own errors."""

from __future__ import annotations

import gzip
import json
import lzma
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain.corpus import Corpus
from skipchain.errors import CorpusError, SkipchainError
from skipchain.io import FORMATS, read, read_crfsuite, tokenize, write_crfsuite
from skipchain.io.brat import read_brat, write_brat
from skipchain.io.columns.slices import PADDING, encode_slices, encode_slices_plain
from skipchain.io.conll import format_conll, parse_conll
from skipchain.io.conllu import format_conllu, parse_conllu
from skipchain.io.files import read_text, write_text
from skipchain.io.html import format_html
from skipchain.io.inline import format_inline, parse_inline
from skipchain.io.jsonl import format_jsonl, parse_jsonl
from skipchain.io.opennlp import format_opennlp, parse_opennlp
from skipchain.io.standoff import Passage, corpus_of
from skipchain.io.text import format_plain, parse_plain

# what is fuzzed may look like spans and fit no scheme
pytestmark = pytest.mark.filterwarnings("ignore:.*taken as labels without spans")

CHARACTERS = st.characters(exclude_categories=["Cs"])
ANY = st.text(CHARACTERS, max_size=5)
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6)
TRICKY = st.sampled_from(
    ["#", "# x", "-DOCSTART-", "", " ", "\t", "\n", "\r", "\0", "\ufeff", "<END>", "&lt;", "</p>"]
)
LABELS = st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])


@st.composite
def corpora(draw, words=WORDS, labels=LABELS, extra=True):
    """Corpora with one to three columns, documents, and sometimes names."""
    sentences = draw(st.lists(st.lists(words, min_size=1, max_size=4), min_size=1, max_size=5))
    shape = [len(sentence) for sentence in sentences]

    def column(values):
        return [draw(st.lists(values, min_size=n, max_size=n)) for n in shape]

    cuts = sorted(draw(st.sets(st.integers(1, len(shape) - 1)))) if len(shape) > 1 else []
    sizes = np.diff([0, *cuts, len(shape)]).tolist()
    given = column(labels) if draw(st.booleans()) else None
    more = {"pos": column(words)} if extra and draw(st.booleans()) else {}
    corpus = Corpus.of(sentences, given, documents=sizes, scheme="none", **more)
    if draw(st.booleans()):
        names = draw(st.lists(WORDS, min_size=len(sizes), max_size=len(sizes)))
        corpus = replace(corpus, names=tuple(names))
    return corpus


@st.composite
def passages(draw):
    """Texts with spans that do not overlap."""
    plain = st.text(CHARACTERS.filter(lambda c: c != "\0"), min_size=1, max_size=40)
    markup = st.sampled_from(["&", "&lt;", "&amp;", "<", "</p>", "<p>", "a", " ", "\n", "lt;"])
    text = draw(plain | st.lists(markup, min_size=1, max_size=12).map("".join))
    places = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    kinds = st.sampled_from(["PER", "p", "x-y"])
    spans = [
        (start, end, draw(kinds))
        for start, end in zip(places[0::2], places[1::2], strict=False)
        if text[start:end].strip()
    ]
    return Passage(text, spans)


def bare(corpus: Corpus) -> Corpus:
    """The corpus without its scheme, which reading infers."""
    return replace(corpus, scheme=None)


# What is written is read back --------------------------------------------------------------------


@given(corpora())
def test_ordinary_words_in_columns(corpus):
    text = format_conll(corpus)
    assert bare(parse_conll(text, columns=list(corpus.columns), scheme="none")) == corpus


@settings(max_examples=300)
@given(corpora(words=WORDS | TRICKY | ANY, labels=LABELS | TRICKY))
def test_any_words_in_columns(corpus):
    try:
        text = format_conll(corpus)
    except CorpusError:
        return
    assert bare(parse_conll(decoded(text), columns=list(corpus.columns), scheme="none")) == corpus


def decoded(text: str) -> str:
    """The text after a journey through a file."""
    with tempfile.TemporaryDirectory() as folder:
        write_text(Path(folder, "a"), text)
        return read_text(Path(folder, "a"))


COLUMN_PIECES = st.sampled_from(
    ["a", "# ", "#", " ", "  ", "\t", "\n", "\n\n", "\r\n", "-DOCSTART-", "# newdoc id = x", "B-P"]
)


@settings(max_examples=300)
@given(st.lists(COLUMN_PIECES, max_size=25).map("".join))
def test_column_files_settle(text):
    """What was read once is written and read again without change."""
    try:
        corpus = parse_conll(text)
    except SkipchainError:
        return
    try:
        written = format_conll(corpus)
    except CorpusError:  # a column file cannot hold it
        return
    assert bare(parse_conll(written)) == bare(corpus)


@given(corpora(extra=False))
def test_conllu(corpus):
    again = parse_conllu(format_conllu(corpus), scheme="none")
    assert again.words == corpus.words
    assert np.array_equal(again.sentences, corpus.sentences)
    assert np.array_equal(again.documents, corpus.documents)
    assert again.names == corpus.names
    if corpus.labelled:
        assert again.labels == corpus.labels
    assert parse_conllu(format_conllu(again), scheme="none") == again


UD_PIECES = st.sampled_from(
    [
        *(f"{k}\t" + "\t".join("_" * 9) + "\n" for k in ("1", "2", "1-2", "1.1", "0.1")),
        *("\n", "# newdoc\n", "#x\n", "# newdoc id = y\n"),
    ]
)


@settings(max_examples=300)
@given(st.lists(UD_PIECES, max_size=15).map("".join))
def test_conllu_files_settle(text):
    try:
        corpus = parse_conllu(text)
    except SkipchainError:
        return
    once = format_conllu(corpus)
    again = parse_conllu(once)
    assert again.words == corpus.words
    assert np.array_equal(again.sentences, corpus.sentences)
    assert format_conllu(again) == once


@given(corpora(words=ANY, labels=ANY))
def test_jsonl(corpus):
    assert bare(parse_jsonl(decoded(format_jsonl(corpus)), scheme="none")) == corpus


@given(st.lists(passages(), min_size=1, max_size=3))
def test_texts_in_jsonl(parts):
    try:
        corpus = corpus_of(parts)
    except CorpusError:
        assert not "".join(part.text for part in parts).strip()
        return
    assert parse_jsonl(format_jsonl(corpus)) == corpus
    assert format_html(corpus).endswith("</html>\n")


@settings(max_examples=200)
@given(corpora(extra=False).filter(lambda corpus: corpus.names is None))
def test_opennlp(corpus):
    scheme = "iob2" if corpus.labelled else None
    corpus = replace(corpus, scheme=scheme)
    try:
        written = format_opennlp(corpus)
    except CorpusError:  # a word is <END>
        return
    again = parse_opennlp(written)
    assert again.words == corpus.words
    assert np.array_equal(again.documents, corpus.documents)
    if corpus.labelled:
        assert again.spans() == corpus.spans()


@settings(max_examples=200)
@given(passages())
def test_inline(passage):
    try:
        corpus = corpus_of([passage])
    except CorpusError:
        return
    tags = ["PER", "p", "x-y"]
    assert parse_inline(decoded(format_inline(corpus)), tags=tags) == corpus
    assert parse_inline(decoded(format_inline(corpus))) == corpus


@settings(max_examples=60)
@given(st.lists(passages(), min_size=1, max_size=3))
def test_brat(parts):
    try:
        corpus = corpus_of(parts)
    except CorpusError:
        return
    with tempfile.TemporaryDirectory() as folder:
        write_brat(corpus, folder)
        assert replace(read_brat(folder), names=None) == corpus


@given(st.text(CHARACTERS.filter(lambda c: c != "\0"), max_size=60))
def test_plain_text(text):
    try:
        corpus = parse_plain(text)
    except CorpusError:
        assert not text.strip()
        return
    assert format_plain(corpus) == text


ATTRIBUTES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0"), min_size=1, max_size=4
)
ITEMS = st.dictionaries(
    ATTRIBUTES, st.floats(allow_nan=False, allow_infinity=False, width=32), max_size=3
)


@settings(max_examples=60)
@given(st.lists(st.lists(st.tuples(ITEMS, ATTRIBUTES), min_size=1, max_size=3), min_size=1))
def test_crfsuite(sequences):
    X = [[item for item, _ in sequence] for sequence in sequences]
    y = [[label for _, label in sequence] for sequence in sequences]
    with tempfile.TemporaryDirectory() as folder:
        try:
            write_crfsuite(X, y, Path(folder, "a"))
        except CorpusError:  # nothing but white space
            return
        assert read_crfsuite(Path(folder, "a")) == (X, y)


# Tokens and columns ------------------------------------------------------------------------------


TEXTS = st.text(CHARACTERS, max_size=60) | st.lists(
    st.sampled_from(
        [*"aZ9.,'-!?\"() \n\t@#&:/’…。", "n't", "'s", "www.", "http://", "No. ", "U.S", "\u200d"]
    ),
    max_size=40,
).map("".join)


@settings(max_examples=400)
@given(TEXTS, st.lists(st.integers(0, 60), max_size=4))
def test_every_character_is_in_one_token(text, cuts):
    tokens = tokenize(text, cuts)
    covered = np.zeros(len(text), int)
    for start, end in zip(tokens.starts, tokens.ends, strict=True):
        assert start < end
        covered[start:end] += 1
    assert covered.tolist() == [0 if character.isspace() else 1 for character in text]
    assert np.array_equal(np.sort(tokens.starts), tokens.starts)
    assert (np.diff(tokens.sentences) > 0).all()
    assert tokens.sentences[0] == 0
    assert tokens.sentences[-1] == len(tokens.starts)
    assert not set(cuts) & {
        place
        for start, end in zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True)
        for place in range(start + 1, end)
    }


@given(st.lists(st.text(CHARACTERS, max_size=20), min_size=1, max_size=30))
def test_slices(words):
    parts = [word.encode() for word in words]
    ends = np.cumsum([len(part) for part in parts])
    starts = np.append(0, ends[:-1])
    data = b"".join(parts) + PADDING
    fast = encode_slices(data, starts, ends)
    assert fast.tolist() == words
    assert fast.values == encode_slices_plain(data, starts, ends).values


# Bad input gives our errors ----------------------------------------------------------------------

FRAGMENTS = st.sampled_from(
    [
        *(b"a", b"O", b"B-P", b" ", b"\t", b"\n", b"\r\n", b"# ", b"-DOCSTART-", b"# newdoc"),
        *(b"1", b"1-2", b"1.1", b"_", b"_\t_\t_\t_\t_\t_\t_\t_\t_\n", b"{", b"}", b"[", b"]"),
        *(b'{"tokens": ["a", "b"]', b', "labels": ', b'["O", "B-X"]', b"null", b"\\ud800"),
        *(b'{"text": "a b"', b', "spans": [[0, 1, "X"]]', b"<p>", b"</p>", b"<q>", b"&lt;"),
        *(b"<START:x> ", b"<START> ", b" <END>", b"T1\tP 0 1\ta\n", b"R1", b":", b":1", b":nan"),
        *(b"\\", b"\xff", b"\x00", b"\xef\xbb\xbf", b"\xc2\xa0", b"\x1f\x8b", b"\xfd7zXZ\x00"),
    ]
)
CONTENT = st.binary(max_size=60) | st.lists(FRAGMENTS, max_size=25).map(b"".join)


@pytest.mark.parametrize("format", [*(name for name in FORMATS if name != "html"), None])
@settings(max_examples=150)
@given(content=CONTENT)
def test_any_bytes_give_a_corpus_or_our_error(format, content):
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        path = Path(folder, "a.txt")
        path.write_bytes(content)
        Path(folder, "a.ann").write_bytes(content)
        try:
            corpus = read(path, format)
        except SkipchainError:
            return
        assert isinstance(corpus, Corpus)
        assert corpus.n_tokens > 0


@settings(max_examples=100)
@given(CONTENT)
def test_any_bytes_as_crfsuite(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        path.write_bytes(content)
        try:
            X, y = read_crfsuite(path)
        except SkipchainError:
            return
        assert list(map(len, X)) == list(map(len, y))


@given(st.binary(min_size=1, max_size=200), st.data())
def test_damaged_archives(content, draw):
    pack = draw.draw(st.sampled_from([gzip.compress, lzma.compress]))
    packed = bytearray(pack(content))
    place = draw.draw(st.integers(0, len(packed) - 1))
    if draw.draw(st.booleans()):
        packed[place] ^= draw.draw(st.integers(1, 255))
    else:
        del packed[place:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        path.write_bytes(packed)
        try:
            read(path)
        except SkipchainError:
            return


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(CHARACTERS, max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["tokens", "labels", "text", "spans", "document", "pos"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json(value):
    try:
        parse_jsonl(json.dumps(value))
    except SkipchainError:
        return
