"""A model of another package goes through every command, found by its entry point alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import skipchain
from skipchain.corpus import Corpus
from skipchain.datasets.harbour import harbour
from skipchain.errors import ModelFileError, ParameterError, SkipchainWarning
from skipchain.modelfile import load_model, save
from skipchain.modelfile.container import read_arrays, write_arrays
from skipchain.models import registry
from skipchain.models.registry import ModelKind, make_estimator, model_kinds, register
from tests.extension import wordcounts


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder with an installed package that brings the model along, and data."""
    folder = tmp_path_factory.mktemp("extension")
    source = Path(wordcounts.__file__).read_text(encoding="utf-8")
    (folder / "wordcounts.py").write_text(source, encoding="utf-8")
    info = folder / "wordcounts-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: wordcounts\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skipchain.models]\nword-counts = wordcounts:KIND\n")
    train, test = harbour().split(0.75)
    train.write(folder / "train.conll")
    test.write(folder / "test.conll")
    return folder


@pytest.fixture(scope="module")
def skipchain_command(package):
    """Run a command line in a process that has the package."""
    source = Path(skipchain.__file__).parents[1]
    paths = os.pathsep.join([str(package), str(source)])

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "skipchain", *map(str, arguments)],
            cwd=package, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    return run


def test_a_model_of_another_package_goes_through_every_command(skipchain_command):
    run = skipchain_command
    listed = run("models")
    assert "word-counts" in listed.stdout, listed.stderr
    trained = run(
        "train", "train.conll", "--dev", "test.conll", "--model", "word-counts:smoothing=1e-4",
        "-o", "m.skip",
    )  # fmt: skip
    assert trained.returncode == 0, trained.stderr
    tagged = run("tag", "m.skip", "test.conll", "-o", "tagged.conll")
    assert tagged.returncode == 0, tagged.stderr
    scored = run("eval", "m.skip", "test.conll", "--json")
    assert scored.returncode == 0, scored.stderr
    assert json.loads(scored.stdout)["f1"] > 20
    shown = run("inspect", "m.skip", "--json")
    assert json.loads(shown.stdout)["kind"] == "word-counts", shown.stderr
    compared = run(
        "compare", "train.conll", "--test", "test.conll", "--models", "hmm,word-counts", "--json"
    )  # fmt: skip
    assert compared.returncode == 0, compared.stderr
    refused = run("train", "train.conll", "--model", "word-counts:smoothng=1", "-o", "n.skip")
    assert refused.returncode == 2
    assert "smoothing" in refused.stderr


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    register(wordcounts.KIND)


@pytest.mark.usefixtures("registered")
def test_a_program_registers_a_model_of_its_own(tmp_path):
    assert "word-counts" in model_kinds()
    train, test = harbour().split(0.75)
    fitted = make_estimator("word-counts", None, smoothing=1e-3).fit(train)
    save(fitted, tmp_path / "m.skip")
    again = load_model(tmp_path / "m.skip")
    assert isinstance(again, wordcounts.WordCountModel)
    np.testing.assert_array_equal(again.counts, fitted.model_.counts)
    assert skipchain.load(tmp_path / "m.skip").predict(test).corpus.labels.tolist() == (
        skipchain.Tagger(fitted.model_).predict(test).corpus.labels.tolist()
    )


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda counts: counts.astype(np.float32), "counts is float32 with 2 dimensions"),
        (lambda counts: counts.ravel(), "counts is float64 with 1 dimensions"),
        (lambda counts: np.full_like(counts, np.nan), "counts: numbers are not all finite"),
        (lambda counts: counts[:-1].copy(), "counts has the shape"),
        (lambda counts: -counts, "wanted at least 0"),
    ],
)
def test_arrays_that_break_the_schema_are_refused(damage, message, tmp_path):
    corpus = Corpus.of([["Ada", "slept"]] * 3, [["B-PER", "O"]] * 3, scheme="iob2")
    save(wordcounts.WordCounts().fit(corpus), tmp_path / "m.skip")
    header, arrays = read_arrays(tmp_path / "m.skip")
    arrays["counts"] = damage(arrays["counts"])
    write_arrays(header, arrays, tmp_path / "n.skip", overwrite=False)
    with pytest.raises(ModelFileError, match=message):
        load_model(tmp_path / "n.skip")


@pytest.mark.usefixtures("registered")
def test_mistakes_are_named():
    with pytest.raises(ParameterError, match="there is a model 'crf' already"):
        register(ModelKind("crf", "x:Y", "another"))
    with pytest.raises(ParameterError, match="did you mean word-counts"):
        make_estimator("wordcounts", None)


def test_a_broken_package_does_not_stop_the_others(monkeypatch):
    class Broken:
        name, value = "broken", "broken:KIND"

        def load(self):
            raise ImportError("No module named 'torch'")

    monkeypatch.setattr(registry, "entry_points", lambda group: [Broken()])
    assert make_estimator("crf", "word").kind == "crf"
    with pytest.warns(SkipchainWarning, match="'broken' of another package cannot be used"):
        assert "crf" in model_kinds()


@pytest.mark.usefixtures("registered")
def test_a_form_keeps_to_its_own_names(monkeypatch, tmp_path):
    corpus = Corpus.of([["Ada", "slept"]] * 3, [["B-PER", "O"]] * 3, scheme="iob2")
    fitted = wordcounts.WordCounts().fit(corpus)
    for writer, message in (
        (lambda model: ({"labels": []}, {"counts": model.counts}), "'labels', which all models"),
        (lambda model: ({}, {}), "arrays and their schema differ: counts"),
    ):
        monkeypatch.setattr(wordcounts, "FORM", replace(wordcounts.FORM, writer=writer))
        with pytest.raises(ModelFileError, match=message):
            save(fitted, tmp_path / "m.skip")


def test_a_file_of_an_unknown_form_is_refused(registered, monkeypatch, tmp_path):
    corpus = Corpus.of([["Ada", "slept"]] * 3, [["B-PER", "O"]] * 3, scheme="iob2")
    save(wordcounts.WordCounts().fit(corpus), tmp_path / "m.skip")
    monkeypatch.setattr(registry, "_registered", {})
    with pytest.raises(ModelFileError, match="word-counts"):
        load_model(tmp_path / "m.skip")
