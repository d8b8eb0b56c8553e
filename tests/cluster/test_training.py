"""Training on a cluster beside training on one machine, mostly with workers in this process.

Where workers are killed, and where bits are compared, Ray is a real one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from skipchain import CRF, HMM, MEMM, MaxEnt, MoPMEMM, Perceptron, read
from skipchain.cluster import Cluster, ClusterError, Files
from skipchain.cluster.shard import Shard
from skipchain.cluster.team import Team
from skipchain.corpus import Corpus
from skipchain.datasets.harbour import harbour
from skipchain.errors import ParameterError, SkipchainError
from skipchain.modelfile import Checkpoint, load_model

TEXT = "word\nsuffix(3)\nword[-1] & word\nlabel[-1] & shape"
TIGHT = {"tolerance": 1e-8, "max_iterations": 2000}


@pytest.fixture(scope="module")
def corpus():
    """Documents of which one alone has labels of a type."""
    known = harbour()
    assert known.n_documents > 10
    last = Corpus.of([["Ada", "sold", "Rex"]], [["B-PER", "O", "B-DOG"]], scheme="iob2")
    return Corpus.concatenate([known[:150], last])


@pytest.fixture(scope="module")
def path(corpus, tmp_path_factory):
    found = tmp_path_factory.mktemp("cluster") / "train.conll"
    corpus.write(found)
    return found


def lbfgs(kind=CRF, **settings):
    return kind(TEXT, solver="lbfgs", threads=1, **settings)


def bits(estimator):
    return estimator.model_.weights.vector.tobytes(), tuple(estimator.model_.features.names())


def two():
    return Cluster(workers=2)


@pytest.fixture(scope="module")
def fitted(local_ray, path):
    """What is learnt where nobody disturbs it."""
    return lbfgs().fit(Files.of(path), cluster=two())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "settings"),
    [(CRF, {"min_count": 2}), (CRF, {"order": 2, "l2": 5.0}), (MEMM, {}), (MaxEnt, {})],
)
def test_the_optimum_is_that_of_one_machine(in_process, path, kind, settings):
    make = kind(TEXT.replace("label[-1] & ", "") if kind is MaxEnt else TEXT, threads=1,
                **{"solver": "lbfgs", **TIGHT, **settings})  # fmt: skip
    one = make.replaced().fit(read(path))
    all_workers = make.replaced().fit(str(path), cluster=two())
    assert all_workers.result_.loss == pytest.approx(one.result_.loss, rel=1e-6)
    assert sorted(all_workers.model_.features.names()) == sorted(one.model_.features.names())
    assert all_workers.classes_ == one.classes_
    assert "B-DOG" in all_workers.classes_
    assert all_workers.predict(read(path)) == one.predict(read(path))
    told = all_workers.model_.summary
    assert (told["workers"], told["replaced"], told["tokens"]) == (2, 0, read(path).n_tokens)


@pytest.mark.slow
def test_the_same_shards_give_the_same_bits(fitted, corpus, path):
    again = lbfgs().fit([path], cluster=two())
    sent = lbfgs().fit(corpus, cluster="auto")
    assert bits(fitted) == bits(again) == bits(sent)


@pytest.mark.parametrize(
    "make",
    [
        CRF(TEXT, epochs=15, threads=1),
        CRF(TEXT, solver="lbfgs", passes=3, threads=1),
        Perceptron(TEXT, epochs=8, threads=1),
        Perceptron(TEXT, epochs=8, update="pa", threads=1),
    ],
    ids=str,
)
def test_passes_are_mixed_after_each(in_process, path, make):
    one = make.replaced().fit(read(path))
    all_workers = make.replaced().fit(str(path), dev=read(path), cluster=two())
    assert all_workers.score(read(path)) > one.score(read(path)) - 0.05
    assert all_workers.model_.summary["dev"] > 80


@pytest.fixture
def losing(monkeypatch):
    """Kill a worker before the how manyth request of a kind."""

    def prepare(method, number, worker):
        left, ask = [number], Team.ask

        def lose(team, name, *arguments, **how):
            left[0] -= name == method
            if left[0] == 0 and name == method:
                left[0] = -1
                victim = team.answers([team.members[worker].process.remote()])[0]
                os.kill(victim, signal.SIGKILL)
            return ask(team, name, *arguments, **how)

        monkeypatch.setattr(Team, "ask", lose)

    return prepare


@pytest.mark.slow
def test_all_learners_learn_on_a_real_ray(local_ray, path):
    for make in (CRF(TEXT, epochs=3, threads=1), Perceptron(TEXT, epochs=3, threads=1)):
        one = make.replaced().fit(str(path), cluster=two())
        assert bits(one) == bits(make.replaced().fit(Files.of(path), cluster=two()))


@pytest.mark.slow
@pytest.mark.parametrize(("method", "number", "worker"), [("evaluate", 7, 1), ("claim", 1, 0)])
def test_a_worker_that_is_killed_is_replaced(fitted, path, losing, method, number, worker):
    losing(method, number, worker)
    found = lbfgs().fit(Files.of(path), cluster=two())
    assert found.model_.summary["replaced"] == 1
    assert bits(found) == bits(fitted)


@pytest.mark.slow
def test_a_worker_that_is_lost_again_and_again(local_ray, path, monkeypatch):
    ask = Team.ask

    def lose(team, name, *arguments, **how):
        if name == "evaluate":
            os.kill(team.answers([team.members[0].process.remote()])[0], signal.SIGKILL)
        return ask(team, name, *arguments, **how)

    monkeypatch.setattr(Team, "ask", lose)
    with pytest.raises(SkipchainError, match=r"workers were lost 4 times in one step \(.*memory\?"):
        lbfgs().fit(Files.of(path), cluster=two())


@pytest.mark.slow
def test_data_that_change_under_a_training(local_ray, path, tmp_path, losing, monkeypatch):
    own = tmp_path / "own.conll"
    own.write_text(path.read_text())
    losing("evaluate", 3, 1)
    replace = Team._replace

    def change(team):
        own.write_text("Bo B-PER\nran O\n\n" + path.read_text())
        replace(team)

    monkeypatch.setattr(Team, "_replace", change)
    with pytest.raises(SkipchainError, match=r"own\.conll has changed since the training began"):
        lbfgs().fit(Files.of(own), cluster=two())


class Ended(Exception):
    """The program ends here."""


@pytest.mark.parametrize(
    "make", [lbfgs(), CRF(TEXT, epochs=6), Perceptron(TEXT, epochs=6)], ids=str
)
def test_a_program_that_ends_goes_on_from_its_checkpoint(in_process, path, tmp_path, make):
    whole = make.replaced().fit(str(path), cluster=two())
    file = tmp_path / "c"

    class Ending(Checkpoint):
        left = 4

        def keep(self, state):
            super().keep(state)
            self.left -= 1
            if not self.left:
                raise Ended

    with pytest.raises(Ended):
        make.replaced().fit(str(path), cluster=two(), checkpoint=Ending(file, every=1))
    with pytest.raises(ParameterError, match="it has workers=2, and this training 1"):
        make.replaced().fit(str(path), cluster=Cluster(workers=1), checkpoint=file)
    again = make.replaced().fit(str(path), cluster=two(), checkpoint=file)
    assert bits(again) == bits(whole)


@pytest.mark.parametrize(
    ("files", "workers", "told"),
    [
        ({"a": "Ada B-PER\nran O\n"}, 2, "fewer documents than there are workers, 2"),
        ({"a": "Ada B-PER\n", "b": "Ada NN B-PER\n"}, 2, "has read the columns word, pos, label"),
        ({"a": "Ada B-PER\n", "b": "Ada NN\n"}, 2, "follow no common scheme"),
        ({"a": "Ada B-PER\n", "b": None}, 2, "b.conll: there is no such file"),
        ({"a": "Ada B-PER\nran\n"}, 1, "a.conll:2: 1 column"),
    ],
)
def test_bad_data_are_a_clear_line(in_process, run, tmp_path, files, workers, told):
    for name, text in files.items():
        if text is not None:
            (tmp_path / f"{name}.conll").write_text(text)
    paths = [str(tmp_path / f"{name}.conll") for name in files]
    target = tmp_path / "m.skip"
    how = ("--cluster", "auto", "--workers", workers, "-q")
    code, out, err = run("train", *paths, "-o", target, *how)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert not target.exists()


def test_columns_that_features_do_not_see(in_process, run, tmp_path):
    (tmp_path / "a.conll").write_text("Ada NN B-PER\nran VB O\n\n" * 200)
    line = ("train", tmp_path / "a.conll", "-o", tmp_path / "m.skip", "--features", "ner")
    how = ("--columns", "word,pos,label", "--cluster", "auto", "--epochs", 1, "--json", "-q")
    code, _, err = run(*line, *how, "--without", "poss")
    assert code == 2
    assert "--without poss: the data have no such column" in err
    assert "pos" in json.loads(run(*line, *how)[1])["columns"]
    found = run(*line, *how, "--without", "pos", "--overwrite")
    assert json.loads(found[1])["columns"] == ["word"]


def test_shards_in_schemes_that_agree(in_process, tmp_path):
    (tmp_path / "a.conll").write_text("Ada I-PER\nran O\n\n" * 5)  # io and iob1
    (tmp_path / "b.conll").write_text("Ada I-PER\nBo B-PER\n\n" * 5)  # iob1
    names = [tmp_path / "a.conll", tmp_path / "b.conll"]
    found = lbfgs().fit(names, cluster=two())
    assert found.model_.scheme == "iob1"
    assert found.predict([["Ada", "Bo"]]) == [["I-PER", "B-PER"]]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (MoPMEMM(), "MoPMEMM does not learn on a cluster; CRF, MEMM, MaxEnt and Perceptron do"),
        (HMM(), "HMM does not learn on a cluster"),
        (CRF(dictionary=2), "dictionary looks at all data at once"),
        (MEMM(stop=True), "stop looks at all data at once"),
        (CRF(order=3, solver="lbfgs"), "order=3 counts runs of labels in all data"),
        (CRF(solver="adagrad"), "solver='adagrad' does not learn on a cluster"),
        (MaxEnt(solver="newton"), "solver='newton' does not learn on a cluster"),
        (Perceptron(update="arow"), "update='arow' keeps a variance for each weight"),
        (MEMM("word\nhistory(word)"), "is fitted to all data at once"),
        (CRF("word\nvalue(word)"), "is fitted to all data at once"),
    ],
    ids=str,
)
def test_what_is_not_learnt_on_a_cluster(in_process, path, make, told):
    with pytest.raises(ParameterError) as caught:
        make.fit(str(path), cluster=two())
    assert told in str(caught.value)


def test_input_that_is_not_for_a_cluster(in_process):
    with pytest.raises(ParameterError, match="not from features given directly"):
        CRF().fit([[{"w": "a"}]], [["O"]], cluster=two())
    with pytest.raises(ParameterError, match="takes no sets of labels"):
        CRF().fit([["a"]], [[{"O", "B-X"}]], cluster=two())
    with pytest.raises(SkipchainError, match="no labels to learn from"):
        CRF().fit(Corpus.of([["a"]]), cluster=two())
    with pytest.raises(SkipchainError, match="no feature occurs 9 times"):
        CRF(min_count=9).fit(Corpus.of([["a"]], [["O"]]), cluster=Cluster(workers=1))


@pytest.mark.slow
def test_the_command_uses_a_cluster_that_runs_and_leaves_it(fitted, local_ray, path, tmp_path):
    address = local_ray.get_runtime_context().gcs_address
    line = ("train", path, "-o", tmp_path / "m.skip", "--cluster", "auto", "--workers", "2")
    features = tmp_path / "features"
    features.write_text(TEXT)
    done = subprocess.run(
        [sys.executable, "-m", "skipchain", *map(str, line), "--features", str(features),
         "--solver", "lbfgs", "--json"],
        env={**os.environ, "RAY_ADDRESS": address}, capture_output=True, text=True, timeout=200,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["loss"] == fitted.result_.loss
    assert {"iterations", "seconds", "columns", "replaced"} <= answer.keys()
    assert load_model(tmp_path / "m.skip").weights.vector.tobytes() == bits(fitted)[0]
    assert local_ray.get(local_ray.remote(lambda: 3).remote()) == 3


def test_options_that_do_not_go_together(run, tmp_path):
    line = ("train", "a.conll", "-o", tmp_path / "m.skip")
    for more, told in (
        (("--workers", 2), "give --cluster auto, too"),
        (("--cluster", "auto", "--auto"), "leave out --cluster"),
        (("--cluster", "tcp://x"), "is no address of a cluster"),
    ):
        code, _, err = run(*line, *more)
        assert code == 2
        assert told in err


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError(), "a worker ran out of memory; use more workers"),
        (ConnectionError("no answer\nat all"), "the cluster has gone away: no answer"),
    ],
)
def test_what_ends_a_training(in_process, path, monkeypatch, error, told):
    def fail(*arguments):
        raise error

    if isinstance(error, ConnectionError):
        monkeypatch.setattr(in_process, "get", fail)
        monkeypatch.setattr(Cluster, "_check_versions", lambda self: None)
    else:
        monkeypatch.setattr(Shard, "load", fail)
    with pytest.raises(ClusterError, match=told):
        lbfgs().fit(Files.of(path), cluster=two())


def test_many_results_are_added_up_by_a_tree():
    """In the order of the workers, eight at a time."""
    asked = []

    class Member:
        def __init__(self, number):
            self.add = type("", (), {"remote": lambda _, *parts: self.sum(parts)})()
            self.number = number

        def sum(self, parts):
            from skipchain.cluster.shard import add_up

            asked.append((self.number, len(parts)))
            return add_up(parts)

    team = Team.__new__(Team)
    team.members = [Member(k) for k in range(20)]
    team.answers = list
    parts = [(float(k), np.full(2, 10.0**k)) for k in range(17)]
    loss, vector = team.total(parts)
    assert asked == [(0, 8), (8, 8)]
    assert loss == sum(range(17))
    np.testing.assert_allclose(vector, sum(10.0**k for k in range(17)))


def test_partly_known_labels(in_process, corpus, tmp_path):
    labels = corpus.labels.tolist()
    labels[::7] = ["_"] * len(labels[::7])
    from skipchain.corpus import Column

    known = corpus.with_labels(Column.encode(labels), "iob2")
    known.write(tmp_path / "a.conll")
    make = lbfgs(encoding="iob2", **TIGHT)
    one = make.replaced().fit(read(tmp_path / "a.conll", scheme="iob2"))
    found = make.replaced().fit(Files.of(tmp_path / "a.conll", scheme="iob2"), cluster=two())
    assert found.result_.loss == pytest.approx(one.result_.loss, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"constraints": "training"}, {"objective": "marginal"}, {"boundaries": False}, {"l1": 0.1},
     {"pairs": "all"}, {"solver": "cg"}],
    ids=str,
)  # fmt: skip
def test_forms_of_the_loss(in_process, path, settings):
    make = CRF(TEXT, **{"solver": "lbfgs", "min_count": 2, "threads": 1, **TIGHT, **settings})
    one = make.replaced().fit(read(path))
    found = make.replaced().fit(str(path), cluster=two())
    assert found.result_.loss == pytest.approx(one.result_.loss, rel=1e-6)


def test_a_model_to_start_from_and_held_out_data(in_process, path):
    first = lbfgs().fit(read(path))
    make = lbfgs(max_iterations=2)
    one = make.replaced().fit(read(path), start=first, dev=read(path))
    found = make.replaced().fit(str(path), start=first, dev=read(path), cluster=two())
    assert found.result_.loss == pytest.approx(one.result_.loss, rel=1e-6)
    assert found.model_.summary["dev"] == one.model_.summary["dev"]
    watched = CRF(TEXT, epochs=8, patience=2, threads=1)
    assert watched.fit(str(path), dev=read(path), cluster=two()).model_.summary["dev"] > 50
