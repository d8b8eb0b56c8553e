"""Training by specification: where settings go, and how mistakes in them are named."""

from __future__ import annotations

import json

import pytest

from skipchain import Corpus
from skipchain.modelfile import load_model

WORDS = [
    words
    for k in range(6)
    for words in (["Ada", f"Lee{k}", "went", "to", "York"], ["Bo", "slept"], ["In", "York"])
]
LABELS = [["B-PER", "I-PER", "O", "O", "B-LOC"], ["B-PER", "O"], ["O", "B-LOC"]] * 6


@pytest.fixture
def train(run, tmp_path, monkeypatch):
    """Train in a folder with data; the settings of the model that was written."""
    monkeypatch.chdir(tmp_path)
    corpus = Corpus.of(WORDS, LABELS, scheme="iob2", documents=[3] * 6)
    corpus.write("train.conll")

    def call(*arguments):
        code, _, err = run(
            "train", "train.conll", "--features", "word", "-o", "m.skip", "--overwrite", "-q",
            *arguments,
        )  # fmt: skip
        assert (code, err) == (0, "")
        return load_model("m.skip")

    return call


def refused(run, *arguments):
    """The one line that a training gives that does not begin."""
    code, out, err = run("train", "no.conll", "-o", "no.skip", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    return err


def test_settings_reach_the_model_by_every_way(train):
    for given in (
        ("--model", "memm:order=2,l2=0.5,min_count=2"),
        ("--model", "memm:order=2", "--l2", 0.5, "--set", "min_count=2"),
        ("--model", "memm", "--set", "model.order=2", "--set", "l2=0.5", "--set", "min_count = 2"),
    ):
        model = train(*given, "--epochs", 1)
        settings = model.summary["settings"]
        assert (model.kind, model.order) == ("memm", 2)
        assert (settings["l2"], settings["min_count"]) == (0.5, 2)


def test_names_of_the_literature_are_models(train):
    assert train("--model", "featurehmm").summary["settings"]["emissions"] == "features"


def test_a_solver_and_its_settings(train):
    assert train("--solver", "lbfgs:max_iterations=3").summary["iterations"] == 3
    assert train("--set", "solver.max_iterations=4").summary["iterations"] == 4
    assert train("--solver", "sgd:epochs=2").summary["iterations"] == 2
    assert train("--solver", "adagrad", "--epochs", 2).summary["iterations"] == 2


def test_spans_are_learnt_in_another_scheme(train):
    assert train("--learn-as", "iob2", "--epochs", 1).encoding == "iob2"
    assert train("--epochs", 1).encoding == "bioes"
    assert train("--learn-as", "none", "--epochs", 1).encoding == "iob2"


def test_lists_in_brackets_and_text_with_commas(train):
    for edges in ("[previous, same_word(recent=2)]", '"previous, same_word(recent=2)"',
                  "previous+same_word(recent=2)"):  # fmt: skip
        model = train("--model", f"mop-memm:edges={edges},orderings=[forward]", "--epochs", 1)
        assert [str(rule).partition("(")[0] for rule in model.rules] == ["previous", "same_word"]
        assert [str(own) for own in model.orderings] == ["forward"]


def test_settings_reach_factors_and_recipes(train):
    model = train("--consistency", "--epochs", 1, "--set", "penalties=given", "--set", "samples=7")
    assert model.annealing.samples == 7
    model = train(
        "--recipe", "ner-full:folds=2,lexicons=[]", "--epochs", 1, "--set", "clusters=none"
    )
    assert model.features.templates.annotators[-1].folds == 2
    assert not any(own.kind == "lexicon" for own in model.features.templates.annotators)
    model = train("--recipe", "ner-full", "--epochs", 1, "--set", "recipe.folds=3")
    assert model.features.templates.annotators[-1].folds == 3


@pytest.mark.parametrize(
    ("given", "messages"),
    [
        (("--model", "mem"), ["no model 'mem'", "did you mean memm or hmm"]),
        (("--model", "svm"), ["there are crf"]),
        (("--model", "memm:ordr=2"), ["memm has no setting 'ordr'; did you mean order"]),
        (("--model", "crf:l2"), ["'l2' is no setting; write name=value"]),
        (("--model", "crf:l2=1,l2=2"), ["l2 is given twice"]),
        (("--model", "crf:l2=1", "--l2", 2), ["l2 is given twice, by --model and by --l2"]),
        (("--model", "crf:l2=1", "--set", "l2=2"), ["by --model and by --set"]),
        (("--set", "l2=1", "--set", "l2=2"), ["l2 is given twice"]),
        (("--model", "crf:dependent=2"), ["dependent is true or false, got 2"]),
        (("--model", "hmm", "--epochs", 3), ["--epochs: hmm has no setting 'epochs'"]),
        (("--model", "hmm", "--solver", "sgd"), ["hmm is not learnt by a solver"]),
        (("--solver", "lbfg"), ["crf has no solver 'lbfg'; did you mean lbfgs"]),
        (("--solver", "lbfgs:epochs=3"), ["solver lbfgs has no setting 'epochs'"]),
        (("--set", "epoch=3"), ["crf has no setting 'epoch'; did you mean epochs"]),
        (("--set", "epochs"), ["write name=value"]),
        (("--set", "modle.epochs=3"), ["no setting 'modle.epochs'"]),
        (("--set", "solver.order=3"), ["the solver of crf has no setting 'order'"]),
        (("--set", "factors.folds=3"), ["folds needs --consistency or --factors"]),
        (("--set", "strength=3"), ["strength needs --consistency or --factors"]),
        (("--set", "clusters=x"), ["clusters needs --recipe"]),
        (
            ("--consistency", "--set", "tolerance=3"),
            ["model and factors both have a setting 'tolerance'", "--set factors.tolerance=3"],
        ),
        (("--consistency", "--set", "strenght=3"), ["did you mean strength"]),
        (("--recipe", "ner-ful"), ["no recipe 'ner-ful'; did you mean ner-full"]),
        (("--recipe", "ner-knowledge:lexicon=x"), ["did you mean lexicons"]),
        (("--recipe", "ner-knowledge:epochs=3"), ["recipe ner-knowledge has no setting 'epochs'"]),
    ],
)
def test_mistakes_are_named_before_anything_is_read(run, given, messages):
    err = refused(run, *given)
    for message in messages:
        assert message in err


def test_both_commands_read_one_language(run, train):
    spec = 'mop-memm:edges="previous, same_word",orderings=[forward],epochs=1'
    train("--model", spec)
    code, out, err = run("compare", "train.conll", "--test", "train.conll", "--features", "word",
                         "--models", f"hmm,{spec}", "--json", "-q")  # fmt: skip
    assert (code, err) == (0, "")
    assert [own["model"] for own in json.loads(out)["results"]] == ["hmm", spec]
