"""Brown clusters: the fast tables against mutual information counted afresh for every merge."""

from __future__ import annotations

import errno
import json
import sys

import numpy as np
import pytest

from skipchain.datasets.harbour import harbour
from skipchain.errors import CorpusError, ParameterError, SkipchainError
from skipchain.kernels import brown as kernel
from skipchain.resources import bigrams as counting
from skipchain.resources.bigrams import Bigrams
from skipchain.resources.brown import induce, mutual_information
from skipchain.resources.clusters import Clusters
from skipchain.resources.ngrams.scratch import counting_space, naming_scratch_faults
from tests.oracles.brown import Plain
from tests.oracles.brown import exchange as plain_exchange
from tests.oracles.brown import mutual_information as plain_information
from tests.resources.counted import assert_same_bigrams


def sparse(table):
    indptr = np.append(0, np.cumsum((table > 0).sum(axis=1)))
    rows, columns = np.nonzero(table)
    return indptr, columns, table[rows, columns]


def groups(slots):
    found = {}
    for word, slot in enumerate(kernel.members(slots).tolist()):
        found.setdefault(slot, []).append(word)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_every_merge_is_the_one_that_loses_least(seed):
    rng = np.random.default_rng(seed)
    size, limit = int(rng.integers(1, 12)), int(rng.integers(1, 6))
    table = rng.poisson(rng.choice([0.3, 1.0, 5.0, 20000.0]), (size, size))
    table *= rng.random((size, size)) < rng.choice([0.3, 1.0])
    left, right = table.sum(axis=1), table.sum(axis=0)
    if seed % 2:  # margins that are more than the sums, as where words are not all taken in
        left = right = left + right + rng.integers(1, 4, size)
    total = max(1, int(left.sum()))
    plain = Plain(table, left, right, total, limit)
    slots = kernel.ClusterTables.empty(limit + 1, size)
    kernel.add_words(slots, sparse(table), sparse(table.T), left, right, total, (0, size), limit)
    assert groups(slots) == {slot: sorted(words) for slot, words in plain.slots.items()}
    np.testing.assert_allclose(
        kernel.mutual_information(slots, total), plain.mutual_information(), atol=1e-9
    )
    assert [tuple(pair) for pair in kernel.merge_all(slots, total).tolist()] == plain.merge_all()


def test_the_loss_is_that_of_the_merge():
    table = np.random.default_rng(3).poisson(2.0, (6, 6))
    left, right, total = table.sum(axis=1), table.sum(axis=0), int(table.sum())
    sides = sparse(table), sparse(table.T)
    slots = kernel.ClusterTables.empty(7, 6)
    kernel.add_words(slots, *sides, left, right, total, (0, 6), 6)
    before = kernel.mutual_information(slots, total)
    _, _, loss = kernel.best_pair(slots, total)
    merged = kernel.ClusterTables.empty(6, 6)
    kernel.add_words(merged, *sides, left, right, total, (0, 6), 5)
    np.testing.assert_allclose(before - kernel.mutual_information(merged, total), loss / total)


@pytest.mark.parametrize("seed", range(20))
def test_words_move_where_most_information_is_left(seed):
    rng = np.random.default_rng(seed)
    size, clusters = int(rng.integers(3, 12)), int(rng.integers(2, 5))
    table = rng.poisson(rng.choice([0.5, 3.0, 20000.0]), (size, size))
    member = np.concatenate([np.arange(clusters), rng.integers(0, clusters, size)])[:size]
    member = np.unique(member, return_inverse=True)[1]
    sums = np.eye(member.max() + 1, dtype=np.int64)[member].T
    cells, known, total = sums @ table @ sums.T, kernel.xlogx_table(), int(table.sum())
    wanted = plain_exchange(member, table)
    before = member.copy()
    moved = kernel.exchange(
        member, cells, sparse(table), sparse(table.T), table.sum(axis=1), table.sum(axis=0),
        known, total,
    )  # fmt: skip
    assert member.tolist() == wanted.tolist()
    assert moved == (member != before).sum()
    sums = np.eye(before.max() + 1, dtype=np.int64)[member].T
    np.testing.assert_array_equal(cells, sums @ table @ sums.T)


def test_rounds_of_exchange_never_lose():
    bigrams = Bigrams.count(harbour(), 2)
    found = [
        mutual_information(bigrams, induce(bigrams, 12, exchange=rounds))
        for rounds in (0, 1, 2, 50)
    ]
    assert found == sorted(found)
    assert found[1] > found[0] + 0.01
    assert len(induce(bigrams, 12, exchange=3).paths) == 12


def story(clusters=6):
    bigrams = Bigrams.count(harbour(), 8)
    table = np.zeros((len(bigrams.words),) * 2)
    table[bigrams.left_words, bigrams.right_words] = bigrams.pair_counts
    left, right = bigrams.margins()
    return bigrams, Plain(table, left, right, int(bigrams.pair_counts.sum()), clusters)


def test_a_story_is_clustered_as_by_the_book():
    bigrams, plain = story()
    found = induce(harbour(), clusters=6, min_count=8)
    assert found.words.tolist() == bigrams.words
    assert found.counts.tolist() == bigrams.counts.tolist()
    ours = {}
    for word in found.words.tolist():
        ours.setdefault(found[word], set()).add(word)
    theirs = [{bigrams.words[w] for w in own} for own in plain.slots.values()]
    assert sorted(map(sorted, ours.values())) == sorted(map(sorted, theirs))
    assert mutual_information(bigrams, found) == pytest.approx(plain.mutual_information(), abs=1e-9)


def test_paths_are_the_leaves_of_a_binary_tree():
    paths = induce(harbour(), clusters=20, min_count=2).paths.tolist()
    assert len(set(paths)) == 20
    assert sum(2.0 ** -len(path) for path in paths) == 1.0  # Kraft: a full tree
    assert induce([["a", "b"]], clusters=1).paths.tolist() == ["0"]
    assert sorted(induce([["a", "b"]], clusters=9).paths.tolist()) == ["0", "1"]


def test_batches_progress_and_kinds_of_text_change_nothing(monkeypatch):
    corpus = harbour()
    told = []
    whole = induce(corpus, 10, 2, progress=lambda done, size: told.append((done, size)))
    assert told[-1] == (len(whole), len(whole))
    monkeypatch.setattr("skipchain.resources.bigrams.BATCH", 7)
    monkeypatch.setattr("skipchain.resources.brown.PROGRESS_STEPS", 3)
    for text in ([s.words for s in corpus], iter([corpus[:30], corpus[30:]])):
        other = induce(text, 10, 2)
        assert {w: other[w] for w in other.words.tolist()} == {
            w: whole[w] for w in whole.words.tolist()
        }
        assert other.counts.tolist() == whole.counts.tolist()


def test_pairs_end_with_the_sentence_and_at_rare_words():
    bigrams = Bigrams.count([["a", "b", "x", "a"], [], ["b", "a"]], min_count=2)
    assert bigrams.words == ["a", "b"]
    pairs = zip(bigrams.left_words.tolist(), bigrams.right_words.tolist(), strict=True)
    assert dict(zip(pairs, bigrams.pair_counts.tolist(), strict=True)) == {(0, 1): 1, (1, 0): 1}
    assert (bigrams.tokens, bigrams.counts.tolist()) == (6, [3, 2])


@pytest.fixture
def few(monkeypatch):
    """Pairs go to disk soon."""
    monkeypatch.setattr(counting, "BATCH", 50)
    monkeypatch.setattr(counting, "FEW", 100)
    monkeypatch.setattr(counting, "MOST", 300)


@pytest.mark.parametrize("min_count", [1, 2, 30])
def test_pairs_on_disk_are_those_in_memory(tmp_path, monkeypatch, few, min_count):
    pytest.importorskip("duckdb")
    sentences = [sentence.words for sentence in harbour()]
    files = []
    empty = counting.NeighbourCounts.empty_into

    def emptied(*own):
        empty(*own)
        files.append(len(list(tmp_path.rglob("*.parquet"))))

    monkeypatch.setattr(counting.NeighbourCounts, "empty_into", emptied)
    spilled = Bigrams.count(sentences, min_count, scratch=tmp_path)
    assert files[-1] > 10
    assert list(tmp_path.iterdir()) == []
    assert_same_bigrams(Bigrams.count(iter(sentences), min_count), spilled)
    monkeypatch.setattr(counting, "MOST", 10**9)
    assert_same_bigrams(Bigrams.count(sentences, min_count), spilled)
    assert_same_bigrams(Bigrams.count(harbour(), min_count), spilled)
    assert len(files) > 0


def test_counts_of_a_counter_without_pairs():
    pytest.importorskip("duckdb")
    for text in ([], [["a"], ["a"], ["b"]]):
        with counting_space() as counter:
            Bigrams.count_into(counter, text)
            assert_same_bigrams(Bigrams.summed(counter), Bigrams.count(text))


def test_without_duckdb_all_pairs_are_held(monkeypatch, few):
    sentences = [sentence.words for sentence in harbour()]
    whole = Bigrams.count(harbour())
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert_same_bigrams(Bigrams.count(sentences), whole)


def test_a_place_to_count_in_is_checked_before_the_work(tmp_path):
    with pytest.raises(ParameterError, match="memory: expected a size such as 2GB, got 'all'"):
        Bigrams.count([["a", "b"]], memory="all")
    with pytest.raises(SkipchainError, match=r"no folder .*; make it first"):
        Bigrams.count([["a", "b"]], scratch=tmp_path / "none")


def test_a_full_disk_and_too_little_memory_are_told(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    folder = tmp_path / "counts"
    full = f"the disk of {tmp_path} is full; name a folder with more room .*--scratch"
    for error, told in (
        (duckdb.OutOfMemoryException("failed to offload data block of size 256 KiB"), full),
        (duckdb.IOException(f'"{folder}/a": No space left on device'), full),
        (OSError(errno.ENOSPC, "No space left on device", f"{folder}/a"), full),
        (duckdb.OutOfMemoryException("could not allocate block"), "too little memory .*--memory"),
    ):
        with pytest.raises(SkipchainError, match=told), naming_scratch_faults(folder):
            raise error
    other = OSError(errno.ENOSPC, "No space left on device", "elsewhere")
    with pytest.raises(OSError, match="elsewhere"), naming_scratch_faults(folder):
        raise other


def test_information_of_given_clusters():
    sentences = [["a", "b", "c", "a"], ["b", "c", "z"]]
    clusters = Clusters.of({"a": "0", "b": "10", "c": "10"})
    table = np.array([[0.0, 1.0], [1.0, 2.0]])
    expected = plain_information(table, table.sum(axis=1), table.sum(axis=0), 4.0)
    assert mutual_information(sentences, clusters) == pytest.approx(expected)


def test_what_cannot_be_clustered_is_refused():
    with pytest.raises(
        ParameterError, match="clusters must be a whole number of at least 1, got 0"
    ):
        induce([["a"]], clusters=0)
    with pytest.raises(ParameterError, match="min_count"):
        induce([["a"]], min_count=0.5)
    with pytest.raises(CorpusError, match="no word of the text occurs 3 times"):
        induce([["a", "b"]], min_count=3)
    with pytest.raises(CorpusError, match="there is no word"):
        induce([])
    with pytest.raises(CorpusError, match="a list of words, got 'the cat'"):
        induce(["the cat"])


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return run


def test_command_line(run, tmp_path):
    corpus = harbour()
    corpus.write(tmp_path / "a.conll")
    text = "".join(" ".join(sentence.words) + "\n" for sentence in corpus)
    (tmp_path / "a.txt").write_text(text)
    code, out, err = run("brown", "a.conll", "-c", 10, "--min-count", 2, "-o", "p.txt.gz")
    assert (code, out) == (0, "")
    assert "words to cluster" in err
    assert "in 10 clusters; mutual information" in err
    found = Clusters.read(tmp_path / "p.txt.gz")
    again = induce(corpus, 10, 2)
    assert {w: found[w] for w in found.words.tolist()} == {
        w: again[w] for w in again.words.tolist()
    }
    code, out, err = run(
        "brown", "a.txt", "--tokenised", "-c", 10, "--min-count", 2, "-o", "q.txt", "--json", "-q"
    )
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["clusters"], told["tokens"]) == (10, corpus.n_tokens)
    assert told["information"] == pytest.approx(mutual_information(Bigrams.count(corpus, 2), again))
    assert Clusters.read(tmp_path / "q.txt").counts.sum() == found.counts.sum()
    assert run("brown", "a.txt", "-c", 5, "-o", "-", "-q")[1].count("\t") > 100


def test_command_line_says_what_is_wrong(run, tmp_path):
    (tmp_path / "a.txt").write_text("Ada slept.\n")
    (tmp_path / "p.txt").write_text("")
    code, _, err = run("brown", "a.txt", "-o", "p.txt")
    assert code == 2
    assert "exists already" in err
    code, _, err = run("brown", "a.txt", "-o", "q.txt")
    assert code == 2
    assert "no word of the text occurs 5 times" in err
    assert not (tmp_path / "q.txt").exists()
    assert "--tokenised" in run("brown", "a.txt", "-o", "q", "--tokenised", "--from", "text")[2]
    assert "stdout" in run("brown", "a.txt", "-o", "-", "--json")[2]
    (tmp_path / "empty.txt").write_text(" \n")
    assert "empty.txt: the file is empty" in run(
        "brown", "empty.txt", "-o", "q", "--tokenised"
    )[2]  # fmt: skip
