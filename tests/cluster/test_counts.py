"""Counts made by the workers of a cluster are those of one machine."""

from __future__ import annotations

import os
import select
import signal
import threading
from pathlib import Path

import pytest

from skipchain.cluster.counts import CountTask, count_bigrams, count_ngrams, take_over
from skipchain.datasets.harbour import harbour
from skipchain.errors import ParameterError, ReadError, SkipchainError
from skipchain.resources.bigrams import Bigrams
from skipchain.resources.ngrams import NgramStore
from skipchain.resources.ngrams.scratch import counting_space
from skipchain.resources.texts import TextSource
from tests.resources.counted import assert_same_bigrams, rows_of

pytest.importorskip("duckdb")
ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    harbour().write(folder / "a.conll")
    lines = ["  ".join(sentence.words) + "\n" for sentence in harbour()[:50]]
    (folder / "b.txt").write_text("".join(lines))
    (folder / "pos.conll").write_text("Ada NNP\nslept VBD\n\nBo NNP\nslept VBD\n")
    return [folder / "a.conll", folder / "b.txt"]


@pytest.fixture(scope="module")
def two_workers():
    """A cluster that was there before, which nobody must stop."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    assert ray.is_initialized()
    ray.shutdown()


def in_memory(files, min_count):
    sources = [TextSource(file, labels=False) for file in files]
    return Bigrams.count((own for source in sources for own in source.corpora()), min_count)


@pytest.mark.parametrize("orders", [3, None])
def test_parts_sum_up_to_the_whole(files, orders):
    task = CountTask(orders, 2)
    borders = task.borders(TextSource(files[0]), 3)
    assert borders == sorted(set(borders))
    assert len(borders) == 2
    counted = [list(task.count(TextSource(file), borders)) for file in files]
    sums = [task.sum(own[part] for own in counted) for part in range(3)]
    sizes = [sum(map(len, own[1])) for own in sums]
    assert max(sizes) < 3 * min(sizes)
    with counting_space() as counter, counting_space() as whole:
        for own in sums:
            take_over(counter, own)
        for file in files:
            if orders is None:
                Bigrams.count_into(whole, TextSource(file, labels=False).corpora())
            else:
                whole.orders = orders
                for corpus in TextSource(file).corpora():
                    whole.add(corpus)
        assert counter.kinds() == whole.kinds()
        for kind in whole.kinds():
            rare = 1 if orders is None and kind == 2 else 2
            counter.database.execute("SET preserve_insertion_order = true")
            told = counter.database.execute(counter.sums(kind) + " ORDER BY ALL").fetchall()
            sql = f"{whole.sums(kind)} HAVING sum(count) >= {rare} ORDER BY ALL"
            assert told == whole.database.execute(sql).fetchall()
            if kind != "tags":
                rows = counter.database.execute(f"SELECT * FROM {counter.rows(kind)}").fetchall()
                assert rows == told  # part behind part, they are in order
    assert sum(own[-1][1] for own in counted) == whole.total[1]


@pytest.mark.slow
def test_a_cluster_counts_as_one_machine_does(two_workers, files, tmp_path):
    tagged = {"tags": [files[0].with_name("pos.conll")], "orders": 3}
    one = NgramStore.count(files, tmp_path / "one", min_count=2, **tagged)
    told = []
    many = count_ngrams(
        files, tmp_path / "many", workers=2, min_count=2, watch=lambda *own: told.append(own),
        **tagged,
    )  # fmt: skip
    assert rows_of(many) == rows_of(one)
    totals = [{k: v.total for k, v in own.manifest.orders.items()} for own in (one, many)]
    assert totals[0] == totals[1]
    assert many.manifest.origin == one.manifest.origin
    assert many.manifest.tags.rows == one.manifest.tags.rows == 3
    assert sorted(Path(name).name for name, _ in told) == ["a.conll", "b.txt"]
    for min_count in (1, 5):
        assert_same_bigrams(count_bigrams(files, min_count, workers=2), in_memory(files, min_count))


@pytest.mark.slow
def test_what_a_worker_cannot_read_is_named(two_workers, files, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"Ada slept.\nBo \xff left.\n")
    with pytest.raises(ReadError, match=r"bad\.txt:2: invalid UTF-8 byte 0xff"):
        count_ngrams([*files, bad], tmp_path / "store", workers=2)
    with pytest.raises(ReadError, match=r"none\.txt: there is no such file"):
        count_bigrams([tmp_path / "none.txt", *files], workers=2)
    with pytest.raises(SkipchainError, match="too little memory to count in"):
        count_bigrams(files, workers=2, memory="1MB")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.txt"]
    with pytest.raises(ParameterError, match="cannot read stdin; name files"):
        count_bigrams(["-"])


def reader_of(path):
    """The process that has a file open, and is not this one."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            found = os.readlink(link)
        except OSError:
            continue
        if found == str(path) and link.parts[2] != str(os.getpid()):
            return int(link.parts[2])
    return None


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="processes are not files here")
def test_a_killed_worker_is_replaced(two_workers, files, tmp_path):
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    killed = []

    def feed():
        with open(pipe, "wb"):  # opened when a worker has opened it to read
            worker = os.pidfd_open(reader_of(pipe))
            signal.pidfd_send_signal(worker, signal.SIGKILL)
            killed.append(select.select([worker], [], []))  # it is gone, with its end of the pipe
            os.close(worker)
        pipe.write_bytes(files[1].read_bytes())

    feeder = threading.Thread(target=feed)
    feeder.start()
    found = count_bigrams([files[0], pipe], 2, workers=2)
    feeder.join()
    assert len(killed) == 1
    assert_same_bigrams(found, in_memory(files, 2))
