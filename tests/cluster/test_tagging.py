"""Files labelled on a cluster: the same bytes, whatever becomes of workers.

How work is dealt is tested with a cluster that is made up and does what it is told; a real Ray of
two workers then labels files, and loses one of them.
"""

from __future__ import annotations

import os
import signal
import warnings
from types import SimpleNamespace

import pytest

from skipchain import CRF, SkipchainError, load, save
from skipchain.cluster import Cluster, ClusterLabeller, tagging
from skipchain.cluster.connection import ClusterError
from skipchain.cluster.tagging import AHEAD, GIVEN, TRIES, BlockWorker, JobAnswer
from skipchain.datasets.harbour import harbour
from skipchain.errors import ReadError, SkipchainWarning
from skipchain.io.scanning.blocks import TextBlock
from skipchain.tagged_file import LabelledBlock

SIZE = 3 << 20  # bytes of files: the first mebibyte is looked at before they are cut


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A model and a large file in several formats, with what one process makes of each."""
    folder = tmp_path_factory.mktemp("tagging")
    story = harbour()
    save(CRF("word\nshape", epochs=2).fit(story[:200]), folder / "m.skip")
    tagger = load(folder / "m.skip")
    for name in ("conll", "jsonl", "txt"):
        part = folder / f"part.{name}"
        if name == "txt":
            part.write_text(" ".join(story.words) + "\n\n")
        else:
            story.write(part)
        text = part.read_text()
        (folder / f"large.{name}").write_text(text * (SIZE // len(text)))
        tagger.tag_file(folder / f"large.{name}", folder / f"one.{name}.conll")
    return folder


@pytest.fixture
def tagger(here):
    return load(here / "m.skip")


@pytest.fixture
def small_jobs(monkeypatch):
    """Every block goes to a worker by itself."""
    monkeypatch.setattr(tagging, "JOB", 0)


def result(here, tagger, labeller, name="conll", **how):
    """What is written with a labeller."""
    target = here / f"found-{os.getpid()}.conll"
    tagger.tag_file(here / f"large.{name}", target, overwrite=True, labeller=labeller, **how)
    return target.read_bytes()


def expected(here, name="conll"):
    return (here / f"one.{name}.conll").read_bytes()


# A cluster that is made up -----------------------------------------------------------------------


class RayError(Exception):
    """As Ray has one."""


class RayTaskError(RayError):
    """As Ray has one."""


class MadeUpCluster:
    """Runs what is asked for when somebody waits for it; ``ends(worker, method, n)`` kills one.

    ``worker`` counts workers from 0, ``n`` its jobs from 1 on.
    """

    def __init__(self, workers=2, threads=1, ends=lambda *how: False, comes_up=True):
        self.workers, self.threads = workers, threads
        self.ends, self.comes_up = ends, comes_up
        self.started, self.killed, self.most, self.turn = 0, [], 0, 0
        errors = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        self.ray = SimpleNamespace(
            put=lambda value: value, get=self.get, wait=self.wait, kill=self.killed.append,
            exceptions=errors,
        )  # fmt: skip

    def start(self, kind, *arguments):
        self.started += 1
        return MadeUpActor(self, self.started - 1, kind(*arguments))

    def wait(self, references, num_returns, timeout):
        assert num_returns == 1
        if not self.comes_up:
            return [], references
        self.turn += 1
        return [references[self.turn % len(references)]], []

    def get(self, reference):
        actor, method, arguments, number = reference.call
        if actor.gone or self.ends(actor.number, method, number):
            actor.gone = True
            raise RayError(f"worker {actor.number} is gone.\n\n  A long report.")
        actor.waiting -= method == "label"
        return getattr(actor.own, method)(*arguments)


class Reference:
    def __init__(self, call):
        self.call = call


class MadeUpActor:
    def __init__(self, cluster, number, own):
        self.cluster, self.number, self.own = cluster, number, own
        self.gone, self.waiting, self.given = False, 0, 0
        self.load, self.label = (SimpleNamespace(remote=self._method(m)) for m in ("load", "label"))

    def _method(self, name):
        def remote(*arguments):
            self.waiting += name == "label"
            self.given += name == "label"
            self.cluster.most = max(self.cluster.most, self.waiting)
            return Reference((self, name, arguments, self.given))

        return remote


def test_workers_that_end_are_replaced_and_their_blocks_done_again(here, tagger, small_jobs):
    ends = [(0, "label", 2), (1, "load", 0), (2, "label", 1)]  # by then 0 and 2 have two jobs
    cluster = MadeUpCluster(ends=lambda *how: how in ends)
    with ClusterLabeller(cluster, tagger) as labeller:
        assert result(here, tagger, labeller) == expected(here)
    assert cluster.started == 5
    assert cluster.most <= GIVEN
    assert (
        len(cluster.killed) == 5
    )  # those that ended, so that nothing of them is left, and the last


@pytest.mark.parametrize("name", ["conll", "jsonl", "txt"])
@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_are_labelled_as_here(here, tagger, name, threads):
    cluster = MadeUpCluster(threads=threads)
    with ClusterLabeller(cluster, tagger) as labeller:
        assert result(here, tagger, labeller, name) == expected(here, name)


def test_no_more_is_read_than_is_needed(here, tagger, small_jobs):
    """However slowly what is labelled is taken."""
    cluster, read_blocks = MadeUpCluster(), []

    class Stream:
        reader = SimpleNamespace(path="p")

    def blocks():
        for number in range(100):
            read_blocks.append(number)
            yield TextBlock(b"x", number, number + 1)

    labeller = ClusterLabeller(cluster, tagger)
    labeller.__enter__()
    for worker in labeller._workers:
        worker.actor.own.label = lambda stream, given: JobAnswer(list(given), None, [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tagging, "sent", lambda stream: stream)
        found = labeller.labelled(Stream(), blocks())
        assert [next(found).number for _ in range(3)] == [0, 1, 2]
        assert len(read_blocks) <= 3 + AHEAD * cluster.workers
        assert [own.number for own in found] == list(range(3, 100))
    assert cluster.most == GIVEN


def test_a_part_that_ends_every_worker_is_named(here, tagger, small_jobs):
    cluster = MadeUpCluster(ends=lambda worker, method, n: method == "label")
    reason = (
        rf"large\.conll:\d+: the part that begins here ended its worker {TRIES} times: "
        r"worker \d+ is gone; has a worker enough memory\?"
    )
    with ClusterLabeller(cluster, tagger) as labeller, pytest.raises(ClusterError, match=reason):
        result(here, tagger, labeller)
    assert cluster.started <= 2 * TRIES


def test_workers_that_do_not_come_up(here, tagger):
    cluster = MadeUpCluster(ends=lambda worker, method, n: method == "load")
    reason = f"a worker ended {TRIES} times as it came up: worker . is gone$"
    with ClusterLabeller(cluster, tagger) as labeller, pytest.raises(ClusterError, match=reason):
        result(here, tagger, labeller)
    cluster = MadeUpCluster(comes_up=False)
    reason = "no worker came up within 120 s; is the cluster busy with other work"
    with ClusterLabeller(cluster, tagger) as labeller, pytest.raises(ClusterError, match=reason):
        result(here, tagger, labeller)


def test_a_cluster_that_goes_away(here, tagger, monkeypatch):
    cluster = MadeUpCluster()

    def gone(reference):
        raise ConnectionError("the socket is closed")

    cluster.ray.get = gone
    with (
        ClusterLabeller(cluster, tagger) as labeller,
        pytest.raises(ClusterError, match="the cluster went away: the socket is closed"),
    ):
        result(here, tagger, labeller)


def test_a_model_that_a_worker_cannot_read(here, tagger):
    worker = BlockWorker(1)
    assert "not a skipchain model" in str(worker.load(b"no model"))
    cluster = MadeUpCluster()
    with ClusterLabeller(cluster, tagger) as labeller:
        labeller._workers[0].actor.own.load = lambda model: SkipchainError("it is damaged")
        with pytest.raises(SkipchainError, match="it is damaged"):
            result(here, tagger, labeller)


def test_faults_and_warnings_of_blocks_come_as_from_here(here, tagger, tmp_path, small_jobs):
    text = (here / "large.jsonl").read_text()
    bad = tmp_path / "bad.jsonl"
    bad.write_text(text + '{"tokens": 3}\n' + text)
    with pytest.raises(ReadError) as alone:
        tagger.tag_file(bad, tmp_path / "out.conll")
    with ClusterLabeller(MadeUpCluster(), tagger) as labeller:
        with pytest.raises(ReadError) as far:
            tagger.tag_file(bad, tmp_path / "out.conll", labeller=labeller)
        assert str(far.value) == str(alone.value)
        assert f"bad.jsonl:{text.count(chr(10)) + 1}: " in str(far.value)
        assert not (tmp_path / "out.conll").exists()

        for worker in labeller._workers:  # what a worker warns of
            real = worker.actor.own.label

            def label(stream, blocks, real=real):
                answer = real(stream, blocks)
                return JobAnswer(answer.blocks, None, [(SkipchainWarning, "look at this")])

            worker.actor.own.label = label
        with pytest.warns(SkipchainWarning, match="look at this"):
            assert result(here, tagger, labeller) == expected(here)


def test_warnings_of_a_worker_are_in_its_answer(here, tagger, monkeypatch):
    worker = BlockWorker(1)
    worker.tagger = tagger

    def label(block):
        warnings.warn("odd", SkipchainWarning, stacklevel=1)
        warnings.warn("not ours", DeprecationWarning, stacklevel=1)
        return LabelledBlock(block, 1, 1, 0, False, False)

    monkeypatch.setattr(tagging, "received", lambda *given: SimpleNamespace(label=label))
    answer = worker.label(None, [TextBlock(b"x", number, 1) for number in (1, 2)])
    assert [(own.block.number, own.block.data) for own in answer.blocks] == [(1, b""), (2, b"")]
    assert answer.warnings == [(SkipchainWarning, "odd")] * 2


def test_what_is_sent_is_small(here, tagger):
    """The model goes once to each worker, and with a job only its text and how it is read."""
    import pickle

    sizes = []

    class Watching(MadeUpCluster):
        def start(self, *how):
            actor = super().start(*how)
            label = actor.label.remote

            def remote(stream, blocks):
                sizes.append(len(pickle.dumps(stream)))
                return label(pickle.loads(pickle.dumps(stream)), blocks)

            actor.label.remote = remote
            return actor

    with ClusterLabeller(Watching(), tagger) as labeller:
        assert result(here, tagger, labeller) == expected(here)
        assert result(here, tagger, labeller, "jsonl") == expected(here, "jsonl")
    assert max(sizes) < 5000


@pytest.mark.parametrize("asked", [{"to": "jsonl", "marginals": True}, {"to": "tsv", "nbest": 2}])
def test_whatever_else_is_asked_for_comes_from_the_workers(here, tagger, tmp_path, asked):
    near, far = tmp_path / "near", tmp_path / "far"
    tagger.tag_file(here / "large.conll", near, **asked)
    with ClusterLabeller(MadeUpCluster(), tagger) as labeller:
        tagger.tag_file(here / "large.conll", far, labeller=labeller, **asked)
    assert near.read_bytes() == far.read_bytes()


def test_a_file_that_is_read_as_a_whole_is_labelled_here(here, tagger, tmp_path):
    source = tmp_path / "cells.csv"
    rows = ["word,sentence", *(f"{n},{n // 9}" for n in range(SIZE // 12))]
    source.write_text("\n".join(rows) + "\n")
    assert source.stat().st_size > 1 << 20
    cluster = MadeUpCluster()
    with ClusterLabeller(cluster, tagger) as labeller:
        with pytest.warns(SkipchainWarning, match="as a whole, and so by this process alone"):
            tagger.tag_file(source, tmp_path / "far.conll", labeller=labeller)
        small = tmp_path / "small.conll"
        small.write_text("Ada\nran\n")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tagger.tag_file(small, tmp_path / "small.out", labeller=labeller)
    tagger.tag_file(source, tmp_path / "near.conll")
    assert (tmp_path / "far.conll").read_bytes() == (tmp_path / "near.conll").read_bytes()
    assert cluster.most == 0


# The command -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--cluster", "here"], "'here' is no address of a cluster; give ray://HOST:PORT, or auto"),
        (["--cluster", "auto", "--force"], "--cluster is for files in blocks; leave it out with"),
        (["--workers", "2"], "--workers are those of a cluster; give --cluster auto, too"),
    ],
)
def test_faults_of_the_command(here, run, tmp_path, arguments, fault):
    target = tmp_path / "out.conll"
    code, _, err = run("tag", here / "m.skip", here / "large.conll", "-o", target, *arguments)
    assert code == 2
    assert fault in err
    assert err.count("\n") == 1
    assert not target.exists()


# Ray -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_workers_of_which_one_is_killed(here, tagger, local_ray, small_jobs):
    with Cluster("auto", workers=2) as cluster, ClusterLabeller(cluster, tagger) as labeller:
        alive = labeller.process_ids()
        assert result(here, tagger, labeller) == expected(here)
        assert labeller.process_ids() == alive
        killed = []

        def kill(progress):
            if not killed:
                killed.append(alive[0])
                os.kill(alive[0], signal.SIGKILL)

        assert result(here, tagger, labeller, watch=kill) == expected(here)
        assert killed
        now = labeller.process_ids()
        assert alive[0] not in now
        assert alive[1] in now
    assert local_ray.is_initialized()  # it was there before


@pytest.mark.slow
def test_the_command_writes_the_same(here, local_ray, run, tmp_path):
    target = tmp_path / "out.conll"
    command = ("tag", here / "m.skip", here / "large.jsonl", "-o", target)
    code, _, err = run(*command, "--cluster", "auto", "--workers", 2)
    assert code == 0, err
    assert target.read_bytes() == expected(here, "jsonl")
    data = (here / "large.conll").read_bytes()
    code, out, _ = run("tag", here / "m.skip", "-", "--cluster", "auto", stdin=data)
    assert code == 0
    assert out.encode() == expected(here)
