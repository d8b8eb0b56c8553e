"""What workers read: shares of files in whole documents, dealt the same wherever it is done."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain import Corpus, read
from skipchain.cluster import Files
from skipchain.cluster.shard import Shard
from skipchain.cluster.sources import Share, deal_files, sizes_of
from skipchain.datasets.harbour import harbour
from skipchain.errors import ParameterError, SkipchainError


@pytest.fixture
def written(tmp_path):
    corpus = harbour()
    corpus.write(tmp_path / "all.conll")
    half = corpus.n_documents // 2
    cut = int(corpus.documents[half])
    corpus[:cut].write(tmp_path / "a.conll")
    corpus[cut:].write(tmp_path / "b.conll")
    return tmp_path


def words(corpora):
    return sorted(tuple(sentence.words) for corpus in corpora for sentence in corpus)


@pytest.mark.parametrize("names", [["all.conll"], ["a.conll", "b.conll"], ["b.conll", "all.conll"]])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_sentence_is_in_one_share_and_no_document_is_cut(written, names, workers):
    files = Files.of([written / name for name in names])
    shares = [share.read() for share in deal_files(files, sizes_of(files), workers)]
    whole = [read(written / name) for name in names]
    assert words(shares) == words(whole)
    documents = sum(own.n_documents for own in whole)
    assert sum(own.n_documents for own in shares) == documents
    assert {own.scheme for own in shares} == {"iob2"}


def test_a_file_without_documents_is_dealt_in_runs_of_sentences(tmp_path):
    corpus = Corpus.of([[f"w{k}"] for k in range(300)], [["O"]] * 300, scheme="iob2")
    corpus.write(tmp_path / "a.conll")
    shares = [share.read() for share in deal_files(Files.of(tmp_path / "a.conll"), [9], 3)]
    assert sorted(own.n_tokens for own in shares) == [64, 108, 128]


@pytest.mark.parametrize("ending", ["jsonl", "conllu", "conll.gz"])
def test_other_formats_are_read_too(tmp_path, ending):
    corpus = harbour()[:80]
    path = tmp_path / f"a.{ending}"
    if ending.endswith("gz"):
        import gzip

        corpus.write(tmp_path / "a.conll")
        path.write_bytes(gzip.compress((tmp_path / "a.conll").read_bytes()))
    else:
        corpus.write(path)
    files = Files.of(path)
    shares = [share.read() for share in deal_files(files, sizes_of(files), 2)]
    assert words(shares) == words([read(path)])


def test_a_uri_is_read_by_way_of_a_copy(written):
    pytest.importorskip("fsspec")
    files = Files.of(f"file://{written}/all.conll")
    assert sizes_of(files) == [(written / "all.conll").stat().st_size]
    shares = [share.read() for share in deal_files(files, sizes_of(files), 2)]
    assert words(shares) == words([read(written / "all.conll")])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "there is no such file"),
        ("Ada B-PER\nslept\n", ":2: 1 column"),
        ("Ada\nslept\n", "no labels"),
        ("", "the file is empty"),
    ],
)
@pytest.mark.parametrize("uri", [False, True])
def test_a_share_that_cannot_be_read_names_path_and_reason(tmp_path, content, told, uri):
    if uri:
        pytest.importorskip("fsspec")
    path = tmp_path / "a.conll"
    if content is not None:
        path.write_text(content)
    shown = f"file://{path}" if uri else str(path)
    share = Share(Files.of(shown), 0, 1)
    with pytest.raises(SkipchainError) as caught:
        share.read()
    if content is None:
        with pytest.raises(SkipchainError, match=told):
            sizes_of(share.files)
    assert shown in str(caught.value)
    assert told in str(caught.value)


def test_files_of_other_columns_are_refused(tmp_path):
    (tmp_path / "a.conll").write_text("Ada B-PER\n\n" * 3)
    (tmp_path / "b.conll").write_text("Ada NN B-PER\n\n" * 3)
    files = Files.of([tmp_path / "a.conll", tmp_path / "b.conll"])
    with pytest.raises(SkipchainError, match=r"b\.conll: it has the columns word, pos, label"):
        Share(files, 0, 1).read()


def test_stdin_and_nothing_are_refused():
    with pytest.raises(ParameterError, match="cannot read stdin"):
        Files.of("-")
    with pytest.raises(ParameterError, match="no file"):
        Files.of([])


def test_warnings_come_along(tmp_path):
    (tmp_path / "a.conll").write_text("Ada B-PER\nran O\n\n" * 2000 + "Bo I-PER\n")
    facts = Shard(0, 1).load(Share(Files.of(tmp_path / "a.conll"), 0, 1))
    assert any("iob2" in text for text in facts.warnings)
    assert facts.scheme == "iob2"


def test_errors_of_a_shard_can_be_sent():
    with pytest.raises(SkipchainError, match="no such file") as caught:
        Shard(0, 1).load(Share(Files.of("/nowhere.conll"), 0, 1))
    assert type(caught.value) is SkipchainError


def test_deal_is_even():
    rng = np.random.default_rng(0)
    sentences = [["w"] * int(k) for k in rng.integers(1, 30, 400)]
    corpus = Corpus.of(sentences, [["O"] * len(own) for own in sentences], documents=[4] * 100)
    from skipchain.cluster.sources import deal_corpus

    sizes = [own.n_tokens for own in deal_corpus(corpus, 4)]
    assert max(sizes) < 1.1 * min(sizes)
