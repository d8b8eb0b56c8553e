"""The attack with hostile files finds what it should: planted crashes, hangs and exceptions."""

from __future__ import annotations

import ctypes
import json
import signal
import sys
from functools import partial
from random import Random
from shutil import copytree

import pytest

from hardening import __main__ as command
from hardening.fuzz import blockwise, tagging
from hardening.fuzz.campaign import Campaign
from hardening.fuzz.cases import Cases
from hardening.fuzz.children import CRASH, DONE, HANG, UNCAUGHT, Outcome, run_cases
from hardening.fuzz.readers import ReaderCase, attack_reader
from hardening.fuzz.samples import train_samples
from skipchain import SkipchainError
from skipchain.io.scanning.blocks import TextFile
from skipchain.modelfile import load_model
from skipchain.models.registry import model_kinds


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    train_samples(folder)
    return folder


@pytest.fixture(scope="module")
def cases(samples):
    return Cases.of(0, samples)


# Processes ---------------------------------------------------------------------------------------


def fall(number, folder):
    """A case that does whatever is bad, by its number."""
    if number == 3:
        ctypes.string_at(0)
    if number == 5:
        while True:
            pass
    if number == 7:
        raise IndexError("planted")
    if number == 8:
        bytearray(1 << 40)
    return "loaded"


def outcomes(numbers, work, **settings):
    found = {own.number: own for own in run_cases(numbers, work, seconds=0.5, **settings)}
    return dict(sorted(found.items()))


@pytest.mark.parametrize("batch", [1, 4, 100])
def test_a_crash_a_hang_and_exceptions_are_told_apart(batch):
    found = outcomes(range(12), fall, batch=batch)
    bad = {3: CRASH, 5: HANG, 7: UNCAUGHT, 8: UNCAUGHT}
    assert {k: own.kind for k, own in found.items()} == {k: bad.get(k, DONE) for k in range(12)}
    assert "SIGSEGV" in found[3].said
    assert "test_fuzz.py" in found[5].where
    assert found[7].said == "IndexError: planted"
    assert found[8].said.startswith("MemoryError")
    assert all(own.begun is None for own in found.values())  # each does it alone


def test_a_crash_that_others_prepare_is_attributed_to_them():
    done = []

    def work(number, folder):
        done.append(number)
        if number == 6 and 4 in done:
            ctypes.string_at(0)
        return "loaded"

    found = outcomes(range(9), work, batch=9)
    assert [own.number for own in found.values() if own.kind == CRASH] == [6]
    assert found[6].begun == 0
    assert len(found) == 9
    campaign = Campaign(2)
    campaign.add(found[6], "model", "nothing")
    assert "not alone but after 0" in campaign.report().findings[CRASH][0]


def test_a_hang_that_does_not_come_again_is_none(tmp_path):
    def work(number, folder):
        if not (tmp_path / "tried").exists():
            (tmp_path / "tried").touch()
            signal.pause()
        return "loaded"

    assert outcomes([1], work)[1].kind == DONE


# Cases -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_samples_are_of_every_form_and_kind(cases):
    assert {own.header["kind"] for own in cases.samples} == {*model_kinds(), "factored"}
    forms = {"chain", "graph", "rbm", "latent", "document"}
    assert {own.header["form"] for own in cases.samples} == forms
    recipes = [own.header["features"] for own in cases.samples]
    assert {own["kind"] for own in recipes} == {"templates", "named", "numbered"}
    kinds = {own["kind"] for recipe in recipes for own in recipe.get("sources", [])}
    assert kinds == {"lexicon", "clusters", "vectors", "documents", "first_stage"}


@pytest.mark.slow
def test_a_case_is_decided_by_seed_and_number(cases, samples):
    again, other = Cases.of(0, samples), Cases.of(1, samples)
    recipes = [cases.recipe(k) for k in range(200)]
    assert recipes == [again.recipe(k) for k in range(200)]
    assert recipes != [other.recipe(k) for k in range(200)]
    assert len(set(recipes)) > 190


@pytest.mark.slow
def test_files_that_are_not_mutated_are_loaded(cases, tmp_path):
    for sample in cases.samples:
        (tmp_path / "m.skip").write_bytes(sample.mutant().to_bytes())
        assert load_model(tmp_path / "m.skip").labels == tuple(sample.header["labels"])


@pytest.mark.slow
def test_a_changed_header_and_array_are_sealed_again(cases, tmp_path):
    """Or all that the attack would test is the checksum."""
    mutant = next(own for own in cases.samples if own.name == "crf").mutant()
    mutant.header["summary"]["tokens"] = 7
    mutant.arrays["weights.start"] = mutant.arrays["weights.start"] + 1.0
    (tmp_path / "m.skip").write_bytes(mutant.to_bytes())
    model = load_model(tmp_path / "m.skip")
    assert model.summary["tokens"] == 7
    mutant.byte_edits.append(lambda file: file[:-1] + bytes([file[-1] ^ 1]))
    (tmp_path / "m.skip").write_bytes(mutant.to_bytes())
    with pytest.raises(SkipchainError, match="checksum"):
        load_model(tmp_path / "m.skip")


def test_files_in_blocks_are_those_at_once_and_where_they_are_not_it_is_found(
    tmp_path, monkeypatch
):
    kinds = blockwise.texts()
    for kind, text in kinds.items():
        case = ReaderCase(kind, text.encode(), "", "as it is")
        assert attack_reader(Random(0), case, tmp_path) in ("loaded", "refused")
    case = ReaderCase("blocks of conll", kinds["blocks of conll"].encode(), "", "as it is")
    real = TextFile.blocks

    def without_one(self, *how):
        return (block for block in real(self, *how) if block.number != 3)

    monkeypatch.setattr(TextFile, "blocks", without_one)
    with pytest.raises(tagging.WrongOutput, match=r"another file in blocks|a scan has other"):
        attack_reader(Random(0), case, tmp_path)


# The command -------------------------------------------------------------------------------------


@pytest.fixture
def fuzz(samples, monkeypatch, capsys):
    """``python -m hardening fuzz`` in this process: exit code and lines."""
    monkeypatch.setattr("hardening.fuzz.bounds.is_warm", lambda: False)
    monkeypatch.setenv("SKIPCHAIN_CACHE", "")  # the command sets it
    copied = partial(copytree, samples, dirs_exist_ok=True)  # training takes seconds
    monkeypatch.setattr("hardening.fuzz.samples.train_samples", copied)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["hardening", "fuzz", *arguments])
        with pytest.raises(SystemExit) as left:
            command.main()
        return left.value.code, capsys.readouterr().out.splitlines()

    return call


@pytest.mark.slow
def test_a_planted_fault_is_found_and_can_be_seen_again(fuzz, monkeypatch):
    def load(path):
        model = load_model(path)
        if model.kind == "hmm":
            raise IndexError("planted")
        return model

    monkeypatch.setattr(tagging, "load_model", load)
    monkeypatch.setattr(Cases, "warm_up", lambda self, folder: None)
    code, lines = fuzz("400")
    assert code == 1
    planted = [line for line in lines if "IndexError: planted" in line]
    assert planted[0].startswith("uncaught: ")
    assert "sample 'hmm" in planted[0]
    assert lines[-1].startswith("400 cases, ")
    arguments = planted[0].partition("hardening fuzz ")[2].partition(" |")[0].split()
    code, lines = fuzz(*arguments)
    assert (code, lines[-1]) == (1, "1 cases, 0 crashes, 0 hangs, 1 uncaught")


@pytest.mark.slow
def test_without_a_fault_the_exit_code_is_0(fuzz, monkeypatch):
    monkeypatch.setattr(Cases, "run", lambda self, number, folder: "loaded")
    code, lines = fuzz("50")
    assert (code, lines[-1]) == (0, "50 cases, 0 crashes, 0 hangs, 0 uncaught")
    assert "model files: 100 % of 38 were taken" in lines


def test_findings_of_new_places_come_first():
    campaign = Campaign(0)
    for number, where in enumerate(["a.py:1", "a.py:1", "b.py:2"]):
        outcome = Outcome(number, UNCAUGHT, "ValueError: x", where)
        campaign.add(outcome, "model", json.dumps(number))
    found = campaign.report().findings[UNCAUGHT]
    assert ["a.py:1" in found[0], "b.py:2" in found[1]] == [True, True]
    assert len(found) == 3
