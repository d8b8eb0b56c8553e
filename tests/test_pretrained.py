"""The English model that comes with the package: it is there, it tags, and commands find it."""

from __future__ import annotations

import json
import zlib

import pytest

import skipchain
from skipchain import pretrained as boxed
from skipchain.datasets.harbour import harbour, story
from skipchain.modelfile import is_model_file
from skipchain.models.document.model import FactoredModel

TEXT = "Angela Merkel was born in Hamburg."
WANTED = "<PER>Angela Merkel</PER> was born in <LOC>Hamburg</LOC>."


@pytest.fixture
def run(run):
    """Without the line end of what is printed."""

    def call(*arguments, **given):
        code, out, err = run(*arguments, **given)
        return code, out.strip(), err

    return call


@pytest.fixture(scope="module")
def tagger():
    return skipchain.load()


def test_the_file_is_small_and_has_a_card():
    assert is_model_file(boxed.path())
    assert len(zlib.compress(boxed.path().read_bytes())) <= 5_000_000  # as in the wheel
    card = boxed.path().with_name("README.md").read_text(encoding="utf-8")
    for name in ("Balasuriya", "CC BY 4.0", "GeoNames", "Hunner", "F1"):
        assert name in card


def test_it_knows_four_types_in_iob2_and_minds_documents(tagger):
    assert tagger.model.scheme == "iob2"
    assert {label[2:] for label in tagger.model.labels} == {"", "PER", "LOC", "ORG", "MISC"}
    assert isinstance(tagger.model, FactoredModel)


def test_it_does_well_on_stories_it_has_not_seen(tagger):
    """Low where features are computed otherwise than when the model was built: build it anew."""
    stories = harbour()
    found = tagger.predict(stories.without_labels()).corpus
    assert skipchain.evaluate(stories, found).f1 > 60


def test_the_document_changes_labels_of_the_story(tagger):
    text = story()
    document, alone = tagger.tag(text), tagger.tag(text, decoder="viterbi")
    assert document.words == alone.words
    assert document.labels != alone.labels
    pairs = zip(document.words, document.labels, strict=True)
    assert {label for word, label in pairs if word == "Houston"} == {"B-PER", "I-PER"}


def test_tag_without_a_model(run, tmp_path):
    path = tmp_path / "story.txt"
    path.write_text(TEXT)
    inline = ("--format", "inline")
    assert run("tag", "--text", TEXT, *inline)[:2] == (0, WANTED)
    assert run("tag", path, *inline)[:2] == (0, WANTED)
    assert run("tag", "-", *inline, stdin=TEXT)[:2] == (0, WANTED)
    assert run("tag", *inline, stdin=TEXT)[:2] == (0, WANTED)
    assert run("tag", boxed.path(), path, *inline)[:2] == (0, WANTED)
    assert run("tag", boxed.path(), *inline, stdin=TEXT)[:2] == (0, WANTED)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("no.skip",), "no.skip: there is no such file"),
        (("no.skip", "--text", "Ada slept."), "no.skip: there is no such file"),
        (("no.txt",), "no.txt: there is no such file"),
        (("no.txt", "--text", "Ada slept."), "no.txt: there is no such file"),
        (("no.txt", "no.txt"), "no.txt: there is no such file"),
    ],
)
def test_arguments_that_are_neither(run, arguments, wanted):
    code, out, err = run("tag", *arguments)
    assert (code, out) == (2, "")
    assert wanted in err
    assert err.count("\n") == 1


def test_other_commands_without_a_model(run, tmp_path):
    code, out, _ = run("inspect", "--json", "--top", 1)
    assert code == 0
    assert json.loads(out)["scheme"] == "iob2"
    code, out, _ = run("explain", "--text", TEXT, "--token", "Hamburg")
    assert code == 0
    assert "LOC" in out
    harbour().document(0).write(tmp_path / "gold.conll")
    code, out, _ = run("eval", tmp_path / "gold.conll", "--json")
    assert code == 0
    assert json.loads(out)["f1"] > 20
    code, _, err = run("eval", boxed.path())
    assert code == 2
    assert "labelled file" in err
