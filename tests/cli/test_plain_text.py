"""Files with parts of speech: what features read of them, and what tagging needs because of it."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from skipchain import CRF, MEMM, Corpus, Templates, load
from skipchain.datasets.harbour import harbour
from skipchain.errors import TemplateError
from skipchain.features.presets import DEFAULT_SET
from skipchain.models.document.estimator import Factored
from skipchain.models.rbm.estimator import RBMCRF
from skipchain.recipes import recipe

WORDS_ALONE = "features: tagging will need words alone, so plain text will do"
TEXT = "Mayor Ingrid Aske met Tomas Brandt in Ostley."


def with_pos(corpus: Corpus) -> Corpus:
    """The corpus with a column that looks like one of parts of speech."""
    words, labels = [own.words for own in corpus], [own.labels for own in corpus]
    tags = [[word[-2:].upper() for word in own] for own in words]
    return Corpus.of(words, labels, pos=tags, scheme="none")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A file with the columns word, pos and label."""
    path = tmp_path_factory.mktemp("pos") / "train.conll"
    with_pos(harbour()[:60]).write(path)
    return path


def train(run, file, *options):
    model = file.parent / "m.skip"
    columns = ("--columns", "word,pos,label", "--epochs", "1")
    code, out, err = run("train", file, "-o", model, "--overwrite", *columns, *options)
    return model, code, out, err


def test_a_file_with_pos_makes_a_model_that_tags_plain_text(run, file):
    model, code, _, err = train(run, file)
    assert code == 0, err
    told = err.index(WORDS_ALONE)
    assert told < err.index("training: ")
    assert "the column pos will not be read (--features ner reads it)" in err[told:].split("\n")[0]
    code, out, err = run("tag", model, "--text", TEXT)
    assert code == 0, err
    assert out.count("\n") >= 9


def test_features_that_are_asked_for_keep_pos_and_say_so_before_training(run, file):
    model, code, _, err = train(run, file, "--features", "ner")
    assert code == 0
    told = "features: tagging will need the columns word, pos; to tag plain text, train with "
    assert told + "--without pos" in err
    assert err.index(told) < err.index("training: ")
    assert "pos[-1] & pos" in load(model).model.features.templates.text
    code, out, err = run("tag", model, "--text", TEXT)
    assert (code, out) == (2, "")
    advice = re.search(r"train a model without it \((.*)\)", err)
    assert advice is not None
    model, code, _, err = train(run, file, "--features", "ner", *shlex.split(advice[1]))
    assert code == 0
    assert WORDS_ALONE in err
    assert run("tag", model, "--text", TEXT)[0] == 0


def test_columns_are_left_out_by_name_one_or_several(run, file):
    for names in (["--without", "pos,pos"], ["--without", "pos", "--without", "pos"]):
        model, code, _, _ = train(run, file, "--features", "word\npos\npos[-1] & word", *names)
        assert code == 0
        assert load(model).model.features.templates.text == "word"


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--without", "poss"], "--without poss: the data have no such column; did you mean pos?"),
        (["--without", "label"], "--without label: the label is what is learnt"),
        (["--features", "pos\npos[1]", "--without", "pos"], "every template reads 'pos'"),
        (["--features", "U0:%x[0,0]", "--without", "pos"], "column 0 is asked for by its number"),
    ],
)
def test_what_cannot_be_left_out_is_refused_in_one_line(run, file, options, wanted):
    _, code, out, err = train(run, file, "-q", *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert wanted in err


def test_a_recipe_reads_words_unless_its_features_are_named(run, file):
    _, code, _, err = train(run, file, "--recipe", "ner-knowledge")
    assert code == 0, err
    assert f"{WORDS_ALONE}; the column pos will not be read (--features ner-full reads it)" in err
    _, code, _, err = train(run, file, "--recipe", "ner-knowledge", "--features", "ner-full")
    assert code == 0, err
    assert "tagging will need the columns word, pos;" in err


def test_compare_takes_words_by_default_and_leaves_out_what_is_named(run, file):
    common = ("compare", file, "--test", file, "--columns", "word,pos,label", "--models", "hmm")
    code, _, err = run(*common, "--features", "word\npos", "--without", "pos")
    assert code == 0, err
    assert WORDS_ALONE in err
    code, _, err = run(*common, "--features", "word\npos", "--without", "poss")
    assert code == 2
    assert "did you mean pos?" in err
    default = run(*common, "--without", "pos", "--decoders", "none")[2]
    assert f"{WORDS_ALONE}; the column pos will not be read" in default


def test_states_leave_out_what_is_named(run, file):
    options = ("--states", "2", "--columns", "word,pos,label", "--without", "poss")
    code, _, err = run("states", file, *options)
    assert code == 2
    assert "did you mean pos?" in err


def test_the_answer_is_the_same_in_python():
    corpus = with_pos(harbour()[:60])
    plain = harbour()[60:64].without_labels()
    assert CRF().features == MEMM().features == DEFAULT_SET
    crf = CRF(epochs=1).fit(corpus)
    assert crf.reads(corpus) == {"word"}
    assert len(crf.predict(plain)) == 4
    assert CRF("ner").reads(corpus) == {"word", "pos"}
    assert CRF(Templates.of("ner").without("pos")).reads(corpus) == {"word"}
    assert CRF(recipe("ner-knowledge")).reads(corpus) == {"word"}
    assert Factored(CRF("ner")).reads(corpus) == {"word", "pos"}


def test_base_models_count_in_what_is_read():
    corpus = with_pos(harbour()[:60])
    fitted = CRF("word\npos", epochs=1).fit(corpus)
    assert RBMCRF("word", observation=fitted.model_).reads(corpus) == {"word", "pos"}
    assert RBMCRF("word", observation=CRF("pos[-1]")).reads(corpus) == {"word", "pos"}
    assert RBMCRF("word", observation="crf").reads(corpus) == {"word"}
    assert CRF().reads(corpus) == {"word"}


def test_templates_without_a_column_lose_all_lines_that_read_it():
    text = "word\npos\nlabel[-1] & pos\nhistory(pos)\nedge: word\nedge: pos"
    left = Templates.parse(text).without("pos")
    assert left.text == "word\nedge: word"
    assert Templates.of("ner").without("pos").text == Templates.of(DEFAULT_SET).text
    with pytest.raises(TemplateError, match="every template reads 'word', so none is left"):
        Templates.parse("word\nword[-1]").without("word")


def test_the_answer_as_json_has_the_columns_that_are_read(run, file):
    _, _, out, _ = train(run, file, "--json", "-q", "--features", "ner")
    assert json.loads(out)["columns"] == ["word", "pos"]
    _, _, out, _ = train(run, file, "--json", "-q")
    assert json.loads(out)["columns"] == ["word"]
