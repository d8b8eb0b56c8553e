"""Files in blocks and in parts: together they are the file, whatever it is cut into."""

from __future__ import annotations

import gzip
from collections import Counter

import pytest

from skipchain.corpus import Corpus
from skipchain.datasets.harbour import harbour
from skipchain.errors import ParameterError, ReadError
from skipchain.io import read
from skipchain.io.files import STDIO
from skipchain.resources import texts
from skipchain.resources.texts import TextSource, in_parts


def sentences(corpora):
    return [tuple(sentence.words) for corpus in corpora for sentence in corpus]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(texts, "BLOCK", 2000)


NAMES = ("a.conll", "a.tsv", "a.csv", "a.jsonl", "a.conllu", "a.conll.gz", "a.txt")


def written(folder, name):
    """A file of that name, and its sentences as they are read at once."""
    path = folder / name
    if name == "a.txt":
        lines = [" ".join(sentence.words) + "\n" for sentence in harbour()[:120]]
        path.write_text("".join(lines))
    else:
        harbour()[:120].write(path)
    return path, sentences([read(path)])


@pytest.mark.parametrize("name", NAMES)
def test_blocks_and_parts_are_the_file(tmp_path, small, name):
    path, whole = written(tmp_path, name)
    blocks = list(TextSource(path).corpora())
    assert sentences(blocks) == whole
    assert len(blocks) > 3 or name == "a.csv"
    parts = [sentences(TextSource(path, part=part, of=3).corpora()) for part in range(3)]
    assert all(len(part) < len(whole) for part in parts) or name == "a.csv"
    assert Counter(own for part in parts for own in part) == Counter(whole)


def test_tokenised_lines_are_sentences(tmp_path, small):
    path = tmp_path / "a.txt.gz"
    lines = [" ".join(sentence.words) for sentence in harbour()]
    path.write_bytes(gzip.compress("\n \n".join(lines).encode()))
    blocks = list(TextSource(path, tokenised=True).corpora())
    assert len(blocks) > 10
    assert [" ".join(own) for own in sentences(blocks)] == lines
    parts = [TextSource(path, tokenised=True, part=part, of=2).corpora() for part in range(2)]
    assert Counter(own for part in parts for own in sentences(part)) == Counter(sentences(blocks))
    path = tmp_path / "b.txt"
    path.write_text(" \n\n")
    with pytest.raises(ReadError, match=r"b\.txt: the file is empty"):
        list(TextSource(path, tokenised=True).corpora())
    with pytest.raises(ParameterError, match="neither a format nor columns"):
        TextSource(path, "text", tokenised=True).corpora()


def test_text_without_ends_of_sentences_is_cut_behind_lines(tmp_path, small, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("the harbour was full of ships and of gulls\n" * 3000)
    (whole,) = TextSource(path, "text").corpora()
    assert len(whole) == 1
    monkeypatch.setattr(texts, "PATIENCE", 20_000)
    monkeypatch.setattr("skipchain.io.scanning.blocks.CHUNK", 4096)
    blocks = list(TextSource(path, "text").corpora())
    assert len(blocks) > 3
    assert {own[0] for own in sentences(blocks)} == {"the"}
    assert sum(corpus.n_tokens for corpus in blocks) == whole.n_tokens


def test_the_scheme_is_that_of_the_first_block(tmp_path, small):
    path = tmp_path / "a.conll"
    words, rest = [["Ada", "slept"]], [["slept", "well"]] * 2000
    Corpus.of([*words, *rest], [["B-PER", "O"], *[["O", "O"]] * 2000]).write(path)
    blocks = list(TextSource(path).corpora())
    assert {corpus.scheme for corpus in blocks} == {"iob2"}
    (last,) = {corpus.scheme for corpus in TextSource(path, part=1, of=2).corpora()}
    assert last == "iob2"
    assert {own.scheme for own in TextSource(path, labels=False).corpora()} == {None}


def test_large_files_are_shared_and_small_ones_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "PART", 100)
    large, small = tmp_path / "large", tmp_path / "small"
    large.write_bytes(b"x" * 1000)
    small.write_bytes(b"x" * 50)
    sources = [TextSource(large), TextSource(small), TextSource(STDIO), TextSource(tmp_path / "no")]
    found = [(str(own.path).rpartition("/")[2], own.part, own.of) for own in in_parts(sources, 4)]
    assert found == [
        *(("large", part, 4) for part in range(4)), ("small", 0, 1), ("-", 0, 1), ("no", 0, 1)
    ]  # fmt: skip
    assert len(in_parts([TextSource(large)], 1)) == 1


def test_faults_name_the_line_of_the_file(tmp_path, small):
    path = tmp_path / "a.conll"
    harbour()[:120].write(path)
    text = path.read_text()
    path.write_text(text + "\nAda\n")
    with pytest.raises(ReadError, match=rf"a\.conll:{text.count(chr(10)) + 2}: "):
        list(TextSource(path).corpora())
    with pytest.raises(ReadError, match="no such file"):
        list(TextSource(tmp_path / "none").corpora())
    with pytest.raises(ReadError, match="can be written, but not read"):
        list(TextSource(path, "html").corpora())
