"""Files of clusters and of word vectors, and the columns that they give."""

from __future__ import annotations

import gzip
import lzma

import numpy as np
import pytest

from skipchain import Corpus, Templates
from skipchain.datasets.registry import data_folder
from skipchain.errors import CorpusError, ReadError
from skipchain.features.numbers import parse_numbers
from skipchain.features.vocabulary import Vocabulary
from skipchain.resources.clusters import Clusters
from skipchain.resources.vectors import Vectors

PLAIN = "00\tthe\t7\n00\ta\t3\n01\tcat\t2\n1\tsaw\t1\n"


@pytest.mark.parametrize("ending", ["txt", "txt.gz", "txt.xz"])
def test_clusters_are_written_as_they_were_read(tmp_path, ending):
    path = tmp_path / f"paths.{ending}"
    packed = {"txt": bytes, "txt.gz": gzip.compress, "txt.xz": lzma.compress}[ending]
    path.write_bytes(packed(PLAIN.encode()))
    clusters = Clusters.read(path)
    assert clusters.words.tolist() == ["the", "a", "cat", "saw"]
    assert clusters.paths.tolist() == ["00", "01", "1"]
    assert (clusters.path.tolist(), clusters.counts.tolist()) == ([0, 0, 1, 2], [7, 3, 2, 1])
    clusters.write(tmp_path / f"again.{ending}")
    again = Clusters.read(tmp_path / f"again.{ending}")
    assert again.words.tolist() == clusters.words.tolist()
    clusters.write(tmp_path / "plain.txt")
    assert (tmp_path / "plain.txt").read_text() == PLAIN


def test_lines_may_end_as_on_windows(tmp_path):
    (tmp_path / "p.txt").write_bytes(PLAIN.replace("\n", "\r\n").encode())
    assert Clusters.read(tmp_path / "p.txt").counts.tolist() == [7, 3, 2, 1]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("", "an empty line"),
        ("01\tdog", "2 fields"),
        ("01 dog 1", "1 field;"),
        ("01\tdog\t1\t2", "4 fields"),
        ("012\tdog\t1", "'012' is no string of the bits"),
        ("\tdog\t1", "'' is no string of the bits"),
        ("01\t\t1", "there is no word"),
        ("01\tdog\tmany", "'many' is no count"),
        ("01\tdog\t-1", "'-1' is no count"),
        ("01\tdog\t" + "9" * 19, "'9999999999999999999' is no count"),
        ("01\tthe\t1", "the word 'the' comes again"),
    ],
)
def test_a_broken_line_is_named(tmp_path, line, fault):
    (tmp_path / "p.txt").write_text(f"00\tthe\t7\n{line}\n1\tsaw\t1\n")
    with pytest.raises(ReadError, match=rf"p.txt:2: {fault}"):
        Clusters.read(tmp_path / "p.txt")


def test_an_empty_file_and_words_with_tabs_are_refused(tmp_path):
    (tmp_path / "p.txt").write_text("\n")
    with pytest.raises(ReadError, match="empty"):
        Clusters.read(tmp_path / "p.txt")
    with pytest.raises(CorpusError, match="cannot be written"):
        Clusters.of({"a\tb": "0"}).write(tmp_path / "q.txt")
    assert not (tmp_path / "q.txt").exists()


def test_a_column_of_paths():
    clusters = Clusters.of({"the": "0010", "cat": "0111"})
    corpus = Corpus.of([["The", "cat", "sat"], ["the"]])
    assert clusters.column(corpus).tolist() == ["_", "0111", "_", "0010"]
    lower = clusters.column(corpus, lower=True)
    assert lower.tolist() == ["0010", "0111", "_", "0010"]
    vocabulary, _ = Vocabulary.fit(
        corpus.with_column("brown", lower), Templates.parse("prefix(brown, 2)")
    )
    assert vocabulary.names() == ["prefix(brown, 2)=00", "prefix(brown, 2)=01"]


@pytest.mark.data(
    "brown-clusters/ark-twitter-6mpaths.txt.xz", "brown-clusters/bllip-clusters.txt.xz"
)
def test_published_clusters_are_read():
    sizes = {}
    for path in sorted((data_folder() / "brown-clusters").glob("*.xz")):
        clusters = Clusters.read(path)
        sizes[path.name] = len(clusters), len(clusters.paths)
    assert sizes == {
        "ark-twitter-6mpaths.txt.xz": (111844, 800),
        "bllip-clusters.txt.xz": (316710, 1000),
    }


@pytest.mark.parametrize("ending", ["txt", "txt.gz", "txt.xz"])
@pytest.mark.parametrize("header", ["", "2 3\n"])
def test_vectors_with_and_without_a_header(tmp_path, ending, header):
    text = f"{header}cat 1 0.5 -2 \r\ndog\t0\t1e-3\t4\n"
    packed = {"txt": bytes, "txt.gz": gzip.compress, "txt.xz": lzma.compress}[ending]
    (tmp_path / f"v.{ending}").write_bytes(packed(text.encode()))
    vectors = Vectors.read(tmp_path / f"v.{ending}")
    assert vectors.words.tolist() == ["cat", "dog"]
    np.testing.assert_array_equal(vectors.table, np.float32([[1, 0.5, -2], [0, 1e-3, 4]]))
    assert (len(vectors), vectors.width) == (2, 3)


def test_vectors_of_odd_words(tmp_path):
    (tmp_path / "a.txt").write_text("12 3\n13 4\n")  # of one number each
    assert Vectors.read(tmp_path / "a.txt").table.tolist() == [[3.0], [4.0]]
    (tmp_path / "b.txt").write_text("cat 1 2\n. . . 3 4\n")  # GloVe has words with spaces
    assert Vectors.read(tmp_path / "b.txt")[". . ."].tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("cat 1 2\ndog 1\n", ":2: 1 numbers, wanted a word and 2 numbers"),
        ("cat 1 2\n\ndog 1 2\n", ":2: an empty line"),
        ("cat 1 2\ndog 1 x\n", ":2: 'x' is no finite number"),
        ("cat 1 2\ndog nan 1\n", ":2: 'nan' is no finite number"),
        ("cat 1 2\ndog _ _\n", ":2: '_' is no finite number"),
        ("cat 1\ndog _\n", ":2: '_' is no number"),
        ("cat 1 2\ndog 1e39 1\n", ":2: a number too large"),
        ("cat 1 2\ndog 2 3\ncat 3 4\n", ":3: the word 'cat' comes again, after line 1"),
        ("3 2\ncat 1 2\ndog 1 2\n", ": the first line promises 3 vectors, but 2 follow"),
        ("cat\ndog\n", ":1: no numbers behind the word"),
        ("", ": the file is empty"),
    ],
)
def test_broken_vectors_are_named(tmp_path, text, fault):
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(ReadError, match=f"v.txt{fault}"):
        Vectors.read(tmp_path / "v.txt")


def test_vectors_become_a_column_that_templates_read():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(3, 4)).astype(np.float32)
    table[0, 0] = 1e-12
    vectors = Vectors.of(dict(zip(("cat", "dog", "bird"), table.tolist(), strict=True)))
    corpus = Corpus.of([["the", "dog", "Cat", "dog"]])
    column = vectors.column(corpus, lower=True)
    assert len(column.values) == 3  # only the words that are there
    found, present = parse_numbers(column.tolist(), several=True)
    assert present.tolist() == [False, True, True, True]
    np.testing.assert_array_equal(found.astype(np.float32)[1:], table[[1, 0, 1]])
    vocabulary, _ = Vocabulary.fit(
        corpus.with_column("glove", column), Templates.parse("vector(glove)")
    )
    assert vocabulary.n_features == 4
