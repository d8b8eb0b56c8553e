"""Models side by side: entries, results, resuming, the command and its mistakes."""

from __future__ import annotations

import json
import os
import sys

import pytest

from skipchain import CRF, Corpus, Perceptron, SkipchainError, cli, evaluate, load
from skipchain.comparison import Entry, RunResult, compare
from skipchain.comparison.entry_run import EntryRun
from skipchain.comparison.process import run_in_subprocess
from skipchain.corpus import Column
from skipchain.datasets.harbour import harbour
from skipchain.errors import CorpusError, ParameterError
from skipchain.extras import install_command
from skipchain.metrics import paired_significance, resampling_units, significance

WORDS = "word[-1..1]"
QUICK = "perceptron:epochs=2,hmm,maxent:epochs=1"
NAMES = ["perceptron:epochs=2", "hmm", "maxent:epochs=1"]


@pytest.fixture(scope="module")
def corpora():
    return harbour().split(0.75)


@pytest.fixture
def here(monkeypatch):
    """Trials run in this process, which is quicker; the names of those that ran."""
    ran = []

    def run(entry_run, display=None, notice=None):
        ran.append(entry_run.estimator.kind)
        return entry_run.run(display)

    monkeypatch.setattr("skipchain.comparison.run.run_in_subprocess", run)
    return ran


@pytest.fixture(scope="module")
def files(tmp_path_factory, corpora):
    folder = tmp_path_factory.mktemp("compare")
    for name, corpus in zip(("train", "test"), corpora, strict=True):
        corpus.write(folder / f"{name}.conll")
    return folder


@pytest.fixture
def run(monkeypatch, capfd, files):
    """Run ``skipchain compare`` in this process: exit code, stdout, stderr."""

    def call(*arguments, test=True):
        given = [files / "train.conll"] + (["--test", files / "test.conll"] if test else [])
        command = ["skipchain", "compare", *given, "--features", WORDS, *arguments]
        monkeypatch.setattr(sys, "argv", list(map(str, command)))
        with pytest.raises(SystemExit) as left:
            cli.main()
        return left.value.code or 0, *capfd.readouterr()

    return call


def assert_one_line(answer, *wanted):
    code, out, err = answer
    assert (code, out) == (2, "")
    assert err.count("\n") == 1, err
    assert err.startswith("skipchain: ")
    for text in wanted:
        assert text in err


# Entries ---------------------------------------------------------------------------------------


def test_entries_are_read_from_text():
    found = Entry.of(" crf:dependent=true, l2=0.5,epochs=3,pairs=none,solver=sgd ")
    assert found.kind == "crf"
    assert dict(found.settings) == {
        "dependent": True, "l2": 0.5, "epochs": 3, "pairs": None, "solver": "sgd",
    }  # fmt: skip
    assert Entry.of("imemm:order=2").settings == {"dependent": False, "order": 2}
    assert Entry.of("tokenhmm").kind == Entry.of("featurehmm").kind == "hmm"


def test_a_list_may_hold_settings():
    found = Entry.parse_list("crf, memm:order=2,l2=0.5 ,hmm,smoothing=1")
    assert [each.name for each in found] == ["crf", "memm:order=2,l2=0.5", "hmm:smoothing=1"]
    with pytest.raises(ParameterError, match="hmm has no setting 'l2'"):
        Entry.parse_list("crf,hmm,l2=1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("svm", "no model 'svm'; there are crf, memm"),
        ("", "no model ''"),
        ("crf:speed=3", "crf has no setting 'speed'; did you mean seed"),
        ("crf:functions=x", "no setting 'functions'"),
        ("crf:l2", "'l2' is no setting; write name=value"),
        ("crf:l2=", "write name=value"),
        ("crf:l2=1,l2=2", "given twice"),
        ("crf:dependent=perhaps", "dependent is true or false, got 'perhaps'"),
    ],
)
def test_bad_entries_are_named(text, message):
    with pytest.raises(ParameterError, match=message):
        Entry.of(text)


def test_common_settings_are_for_those_that_have_them():
    common = {"features": "word", "seed": 3, "threads": 1}
    assert repr(Entry.of("crf:seed=4").estimator(common)) == (
        "CRF(features='word', seed=4, threads=1)"
    )
    assert repr(Entry.of("hmm").estimator(common)) == "HMM(emissions='features', threads=1)"
    assert repr(Entry.of("tokenhmm").estimator(common)) == "HMM(threads=1)"
    assert Entry.of("hmm:features=shape").estimator(common).emissions == "token"
    with pytest.raises(ParameterError, match="perceptron:order=3: order must be 1 or 2"):
        Entry.of("perceptron:order=3").estimator(common)
    with pytest.raises(ParameterError, match=r"crf:encoding=abc: .*iob2"):
        Entry.of("crf:encoding=abc").estimator(common)


# Results ---------------------------------------------------------------------------------------


def test_results_are_those_of_the_estimators_themselves(corpora, here):
    train, test = corpora
    found = compare("crf:epochs=2,perceptron:epochs=1", train, test, features=WORDS, seed=5)
    predicted = []
    for result, estimator in zip(
        found.results,
        (CRF(WORDS, epochs=2, seed=5), Perceptron(WORDS, epochs=1, seed=5)),
        strict=True,
    ):
        flat = [label for labels in estimator.fit(train).predict(test) for label in labels]
        predicted.append(test.with_labels(Column.encode(flat), "iob2"))
        own = evaluate(test, predicted[-1], intervals=True, seed=5)
        assert result.evaluation.as_dict() == own.as_dict()
        assert result.run_result.weights == estimator.model_.weights.n_nonzero
        assert result.run_result.parameters == estimator.model_.summary["parameters"]
        assert result.tokens_per_second > 0
    first, second = found.results
    assert first.significance is None
    assert second.significance == paired_significance(
        test.spans(), predicted[1].spans(), predicted[0].spans(), resampling_units(test), seed=5
    )
    assert second.significance.difference == pytest.approx(
        second.evaluation.f1 - first.evaluation.f1
    )


def test_decoders_are_those_of_the_model(corpora, here, tmp_path):
    train, test = corpora
    found = compare(
        "perceptron:epochs=1,hmm", train, test, features=WORDS, beam=2, folder=tmp_path,
        decoders=("posterior", "greedy", "beam"),
    )  # fmt: skip
    for result in found.results:
        file = next(tmp_path.glob(f"{result.entry.kind}*.skip"))
        tagger = load(file)
        viterbi = tagger.predict(test).corpus
        assert (
            result.evaluation.as_dict(macro=True)["f1"] == evaluate(test, viterbi).as_dict()["f1"]
        )
        for decoding in result.decoder_scores:
            own = tagger.predict(test, decoder=decoding.decoder, beam=2).corpus
            assert decoding.evaluation.as_dict() == evaluate(test, own).as_dict()
            pairs = zip(own.labels.tolist(), viterbi.labels.tolist(), strict=True)
            assert decoding.disagreements == sum(a != b for a, b in pairs)
            assert decoding.seconds > 0
    has = [[decoding.decoder for decoding in result.decoder_scores] for result in found.results]
    assert has == [["greedy", "beam"], ["posterior", "greedy", "beam"]]
    headings, rows = found.decoder_scores()
    assert rows[0] == ("perceptron:epochs=1", "posterior", *["–"] * (len(headings) - 2))
    assert len(rows) == 6


@pytest.mark.parametrize(
    ("entry", "has", "has_not"),
    [
        ("hrf:states=1,restarts=1,em=1", ("legal", "posterior", "viterbi"), ("greedy", "beam")),
        ("rbm-crf:epochs=1,groups=1:0..1", ("legal", "posterior"), ("viterbi", "greedy")),
        ("memm:order=2,epochs=1", ("viterbi", "greedy", "posterior", "beam"), ("legal",)),
        ("memm:epochs=1,features=history", ("beam", "greedy"), ("viterbi", "posterior")),
    ],
)
def test_decoders_offered_are_those_that_the_model_will_have(
    entry, has, has_not, corpora, here, tmp_path, monkeypatch
):
    train, test = (corpus[:12] for corpus in corpora)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "history").write_text("word\nhistory(word)\n")
    for decoder in has_not:
        with pytest.raises(ParameterError, match=f"no.* decoder '{decoder}'; .* has {has[0]}, "):
            compare(entry, train, test, features=WORDS, decoders=[decoder])
    assert here == []
    found = compare(entry, train, test, features=WORDS, decoders=has)
    assert [own.decoder for own in found.results[0].decoder_scores] == list(has)


def test_labels_without_a_scheme_are_compared_by_token_accuracy(here):
    train = Corpus.of(
        [["the", "cat"], ["a", "dog", "ran"]] * 4, [["D", "N"], ["D", "N", "V"]] * 4, scheme="none"
    )
    test = Corpus.of(
        [["the", "dog", "ran"], ["cat"]] * 3, [["D", "N", "V"], ["N"]] * 3, scheme="none"
    )
    found = compare("hmm,maxent:epochs=1", train, test, features="word")
    assert found.metric == "token accuracy"
    headings, _ = found.table()
    assert headings[:4] == ("model", "token acc.", "95 % interval", "sentence acc.")
    assert not {"F1", "precision", "consistency"} & set(headings)
    answer = found.as_dict()
    assert answer["metric"] == "token_accuracy"
    row = answer["results"][1]
    assert row["f1"] is None
    assert row["low"] <= row["token_accuracy"] <= row["high"]
    accuracies = [entry["token_accuracy"] for entry in answer["results"]]
    assert row["difference"] == pytest.approx(accuracies[1] - accuracies[0], abs=1e-3)
    assert "token accuracy in percent" in found.markdown()


def test_significance_of_tokens_and_of_other_schemes():
    gold = Corpus.of([["a", "b"]] * 6, [["B-X", "I-X"]] * 6, scheme="iob2")
    same = Corpus.of([["a", "b"]] * 6, [["B-X", "E-X"]] * 6, scheme="bioes")
    none = Corpus.of([["a", "b"]] * 6, [["O", "O"]] * 6, scheme="bioes")
    assert significance(gold, gold, same).difference == 0.0
    result = significance(gold, same, none, samples=500)
    assert (result.difference, result.samples) == (100.0, 500)
    assert result.p_value < 0.1
    with pytest.raises(CorpusError, match="sentences"):
        significance(gold, gold, same[:3])


def test_mistakes_in_the_data_are_found_before_training(corpora, here):
    train, test = corpora
    plain = test.with_labels(test.words)
    with pytest.raises(CorpusError, match="scheme iob2, the test labels in none"):
        compare("crf", train, plain)
    with pytest.raises(CorpusError, match="test data have no labels"):
        compare("crf", train, test.without_labels())
    with pytest.raises(CorpusError, match="nothing to compare"):
        compare("crf", train, test[:0])
    with_pos = train.with_column("pos", train.words)
    with pytest.raises(SkipchainError, match="hmm: template 'pos' reads column 'pos'"):
        compare("hmm", with_pos, test, features="pos[0]\nword")
    with pytest.raises(ParameterError, match="none of the models has a setting 'epoch'"):
        compare("crf", train, test, epoch=3)
    with pytest.raises(ParameterError, match="no model to compare"):
        compare([], train, test)
    with pytest.raises(ParameterError, match="crf is named twice"):
        compare(["crf", Entry.of("crf")], train, test)
    with pytest.raises(SkipchainError, match="crf:patience=2: patience needs dev"):
        compare("crf:patience=2", train, test)
    assert here == []


# Resuming --------------------------------------------------------------------------------------


def test_what_is_done_is_kept_and_taken_again(corpora, here, tmp_path):
    train, test = corpora
    said = []

    def again(models=QUICK, train=train, test=test, **settings):
        here.clear(), said.clear()
        settings = {"features": WORDS, "folder": tmp_path, "say": said.append, **settings}
        return compare(models, train, test, **settings)

    again("hmm")
    assert here == ["hmm"]
    whole = again()
    assert here == ["perceptron", "maxent"]
    assert "done before" in said[2]
    assert again().as_dict() == whole.as_dict()
    assert here == []
    again("maxent:epochs=1,hmm")
    assert here == []
    again(seed=1)
    assert here == ["perceptron", "maxent"]  # an HMM has no seed
    assert "other settings than before" in said[0]
    again(seed=1, test=test[:50])
    assert here == ["perceptron", "hmm", "maxent"]
    assert "other test data than before" in said[0]
    again("hmm", test=test[:50], features="word")
    assert "other features than before" in said[0]
    again("hmm", test=test[:50], features="word", decoders=["greedy"])
    assert "other decoders than before" in said[0]


def test_a_damaged_outcome_is_made_anew(corpora, here, tmp_path):
    train, test = corpora
    said = []
    for content in (None, "", "{", "[]", '{"origin": {}}', "half\xff"):
        if content is not None:
            (tmp_path / "hmm.json").write_text(content, encoding="latin-1")
        compare("hmm", train, test, features=WORDS, folder=tmp_path, say=said.append)
    assert len(here) == 6
    assert sum("cannot be read" in line or "other" in line for line in said) == 5
    assert sorted(file.name for file in tmp_path.iterdir()) == ["hmm.json", "hmm.skip"]


@pytest.mark.parametrize("name", ["hmm.json", "hmm.skip"])
def test_a_file_of_others_is_replaced_only_when_told_to(corpora, here, tmp_path, name):
    train, test = corpora
    (tmp_path / name).write_text("remember the milk")
    with pytest.raises(SkipchainError, match=f"{name} exists already, and this command has not"):
        compare("hmm", train, test, features=WORDS, folder=tmp_path)
    assert not here
    assert (tmp_path / name).read_text() == "remember the milk"
    compare("hmm", train, test, features=WORDS, folder=tmp_path, overwrite=True)
    assert (tmp_path / name).read_bytes() != b"remember the milk"


def test_outcomes_survive_a_file(corpora):
    train, test = corpora
    outcome = EntryRun(Entry.of("hmm").estimator({}), train, test, train, ("greedy",)).run()
    back = RunResult.of(json.loads(json.dumps(outcome.as_dict())))
    assert back == outcome
    assert outcome.dev is not None


def test_different_entries_have_different_files(corpora, here, tmp_path):
    train, test = corpora
    compare("hmm:smoothing=1,hmm:smoothing=01", train, test, features=WORDS, folder=tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == len(list(tmp_path.glob("*.skip"))) == 2


# Processes -------------------------------------------------------------------------------------


def test_a_process_of_its_own_gives_the_same(corpora, capfd):
    train, test = corpora
    entry_run = EntryRun(Perceptron(WORDS, epochs=1), train, test, decoders=("greedy", "posterior"))
    apart, here = run_in_subprocess(entry_run), entry_run.run()
    assert dict(apart.labels) == dict(here.labels)
    assert set(apart.decoding_seconds) == {"greedy"}
    assert apart.weights == here.weights
    if sys.platform == "linux":
        assert apart.memory > 10_000_000
    assert capfd.readouterr().err == ""


def test_mistakes_in_a_process_come_back(corpora):
    train, test = corpora
    entry_run = EntryRun(
        Entry.of("hmm:emissions=token").estimator({"features": WORDS}), train, test
    )
    with pytest.raises(SkipchainError, match="wants one value a position"):
        run_in_subprocess(entry_run)


DISPLAYS = """
import os, signal
from contextlib import contextmanager

class Display:
    def __init__(self, act):
        self.act = act
    def begin(self, problem):
        pass
    def end(self, minimum):
        pass
    def step(self, step, dev):
        self.act()

@contextmanager
def interrupting(estimator):
    yield Display(lambda: os.kill(os.getppid(), signal.SIGINT))

@contextmanager
def stopping(estimator):
    yield Display(stop)

def stop():
    raise KeyboardInterrupt

@contextmanager
def dying(estimator):
    yield Display(lambda: os._exit(7))
"""


@pytest.fixture
def displays(tmp_path, monkeypatch):
    (tmp_path / "displays_of_a_test.py").write_text(DISPLAYS)
    monkeypatch.syspath_prepend(tmp_path)
    import displays_of_a_test

    return displays_of_a_test


@pytest.mark.skipif(os.name != "posix", reason="signals are sent to the parent")
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_the_process(corpora, displays):
    """As by Ctrl-C while the first of many epochs is shown."""
    train, test = corpora
    with pytest.raises(KeyboardInterrupt):
        run_in_subprocess(
            EntryRun(CRF(WORDS, epochs=1_000_000), train, test), displays.interrupting
        )


def test_an_interrupted_trial_leaves_nothing(corpora, displays, tmp_path):
    entry_run = EntryRun(CRF(WORDS), *corpora, model_file=tmp_path / "crf.skip")
    with pytest.raises(KeyboardInterrupt):
        entry_run.run(displays.stopping)
    assert not entry_run.model_file.exists()


def test_a_process_that_dies_is_told(corpora, displays):
    train, test = corpora
    with pytest.raises(SkipchainError, match="ended with code 7"):
        run_in_subprocess(EntryRun(CRF(WORDS), train, test), displays.dying)


# The command -----------------------------------------------------------------------------------


def test_the_command_prints_one_table(run, here):
    code, out, err = run("--models", QUICK)
    assert code == 0, err
    lines = out.splitlines()
    assert lines[2].split()[:3] == ["model", "F1", "95"]
    assert [line.split()[0] for line in lines[3:]] == NAMES
    for text in ("vs first", " p ", "sentence acc.", "consistency", "train s", "MB", "weights"):
        assert text in lines[2]
    assert "1 of 3: perceptron:epochs=2" in err
    assert "training: " in err
    assert "epoch 2 of 2" in err or "epoch 1 of 2" in err


def test_the_command_answers_in_json(run, here):
    code, out, err = run("--models", "hmm", "--model", "perceptron:epochs=1", "--json", "-q",
                         "--decoders", "viterbi,posterior")  # fmt: skip
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["data"]["test"] == {"documents": 12, "sentences": 111, "tokens": 2033}
    first, second = answer["results"]
    assert set(first) == {
        "model", "kind", "settings", "f1", "precision", "recall", "token_accuracy",
        "sequence_accuracy", "consistency", "low", "high", "difference", "p_value", "dev",
        "training_seconds", "tagging_seconds", "tokens_per_second", "memory", "features",
        "parameters", "weights", "iterations", "stopped", "decoders",
    }  # fmt: skip
    assert (first["model"], first["p_value"], first["difference"]) == ("hmm", None, None)
    assert first["low"] < first["f1"] < first["high"]
    assert second["settings"] == {"epochs": 1}
    assert 0 < second["p_value"] <= 1
    assert [entry["decoder"] for entry in first["decoders"]] == ["viterbi", "posterior"]
    assert [entry["decoder"] for entry in second["decoders"]] == ["viterbi"]
    assert first["decoders"][0]["disagreements"] == 0


def test_the_command_writes_markdown_json_a_picture_and_models(run, here, tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "new" / "out"
    code, _, err = run("--models", "hmm,tokenhmm", "-o", folder, "--decoders", "greedy")
    assert code == 0, err
    assert "written: " in err
    text = (folder / "comparison.md").read_text()
    assert "| model | F1 | 95 % interval |" in text
    assert "\n| tokenhmm | " in text
    assert "## Decoders" in text
    assert "![" in text
    assert (folder / "comparison-results.png").read_bytes().startswith(b"\x89PNG")
    assert len(json.loads((folder / "comparison.json").read_text())["results"]) == 2
    assert load(folder / "hmm.skip").model.kind == "hmm"
    assert run("--models", "hmm", "-o", folder, "-q")[2] == ""
    assert "tokenhmm" not in (folder / "comparison.md").read_text()


def test_without_matplotlib_the_command_says_how_to_get_it(run, here, tmp_path, monkeypatch):
    monkeypatch.setattr("skipchain.report.pictures.matplotlib_available", lambda: False)
    code, _, err = run("--models", "hmm", "-o", tmp_path)
    assert code == 0
    assert f"pictures need matplotlib: {install_command('plot')}" in err
    assert "![" not in (tmp_path / "comparison.md").read_text()


def test_the_command_scores_a_development_file(run, here, files):
    code, out, err = run("--models", "maxent:epochs=3,patience=1", "--dev", files / "test.conll")
    assert code == 0, err
    assert " dev " in out.splitlines()[2]


def test_an_interrupted_command_goes_on(run, monkeypatch, tmp_path):
    def interrupted(entry_run, display=None, notice=None):
        if entry_run.estimator.kind == "maxent":
            raise KeyboardInterrupt
        return entry_run.run()

    monkeypatch.setattr("skipchain.comparison.run.run_in_subprocess", interrupted)
    code, out, err = run("--models", QUICK, "-o", tmp_path)
    assert (code, out) == (130, "")
    last = err.splitlines()[-1]
    assert last == (
        f"skipchain: interrupted; what is done is kept in {tmp_path}, and the same command goes on "
        "from there"
    )
    code, _, err = run("--models", QUICK)
    assert code == 130
    assert "nothing is kept without --output" in err
    monkeypatch.setattr(
        "skipchain.comparison.run.run_in_subprocess", lambda entry_run, *_: entry_run.run()
    )
    code, out, err = run("--models", QUICK, "-o", tmp_path)
    assert code == 0
    assert err.count("done before") == 2
    assert [line.split()[0] for line in out.splitlines()[3:]] == NAMES


def test_the_command_refuses_decoders_that_no_model_has(run, here):
    models = ("--models", "perceptron:epochs=1", "-q")
    assert_one_line(
        run(*models, "--decoders", "posterior"),
        "'posterior'",
        "perceptron:epochs=1 has viterbi, greedy",
    )
    assert_one_line(run(*models, "--decoders", "magic"), "'magic'", "greedy")
    assert_one_line(run(*models, "--decoders", "beam", "--beam", 0), "at least 1")
    assert_one_line(run(*models, "--beam", 3), "--beam", "--decoders")
    assert here == []
    code, out, _ = run("--models", "perceptron:epochs=1,hmm", "-q", "--decoders", "posterior")
    assert code == 0
    assert out.splitlines()[-2].split()[:3] == ["perceptron:epochs=1", "posterior", "–"]


def test_the_command_names_mistakes(run, here, files, tmp_path):
    assert_one_line(run("--models", "svm"), "'svm'", "crf", "mop-memm")
    assert_one_line(run("--model", "crf:speed=1"), "'speed'", "did you mean seed?")
    assert_one_line(run("--models", "crf,crf", "-q"), "named twice")
    assert_one_line(run("--models", ",", "-q"), "no model to compare")
    assert_one_line(run("--models", "crf:l2=-1", "-q"), "crf:l2=-1", "l2", "at least 0")
    assert_one_line(run("--models", "crf", "--test", tmp_path / "no.conll", "-q"), "no such file")
    assert_one_line(run("--scheme", "xyz"), "xyz", "iob2")
    assert_one_line(run("--learn-as", "xyz", "-q"), "xyz", "iob2")
    assert_one_line(run("--models", "hmm:emissions=token", "-q"), "one template")
    assert_one_line(run("--models", "crf", "--features", "no.txt", "-q"), "no.txt")
    (tmp_path / "file").write_text("x")
    assert_one_line(run("-o", tmp_path / "file", "-q"), "cannot make the folder")
    (tmp_path / "plain.txt").write_text("Ada slept.")
    assert_one_line(run("--test", tmp_path / "plain.txt", "-q"), "columns")
    code, _, err = run(test=False)
    assert code == 2
    assert "--test" in err


def test_a_narrow_terminal_gets_several_tables():
    from skipchain.report.grid import split_to_width

    grid = (("model", "F1", "tokens/s", "MB"), [("crf:l2=0.5", "90.00", "1", "2")])
    parts = list(split_to_width(grid, 18))
    assert [headings for headings, _ in parts] == [
        ("model", "F1"), ("model", "tokens/s"), ("model", "MB"),
    ]  # fmt: skip
    assert list(split_to_width(grid, 100)) == [grid]
    assert len(list(split_to_width(grid, 1))) == 3
