"""Options of earlier versions: each is refused with a new spelling that works."""

from __future__ import annotations

import shlex

import pytest
from typer.main import get_command

from skipchain.assembly import build_estimator
from skipchain.cli.app import app
from skipchain.cli.gone import GONE

VALUES = {
    "--encoding": "iob2",
    "--optimiser": "lbfgs",
    "--edges": "previous, same_word(recent=2)",
    "--orderings": "forward, random(3)",
    "--mixing": "learned",
    "--groups": "9:0..1; 3:0..7",
    "--borders": "marked",
    "--observation": "memm",
    "--experts": "hrf:2; iohmm:1",
    "--steps": "1, 500:3",
    "--init": "random",
    "--objective": "marginal",
    "--update": "pa",
    "--emissions": "features",
    "--constraints": "none",
    "--penalties": "counted",
    "--pairs": "all",
    "--lexicons": "none",
    "--clusters": "paths of words.txt",
    "--vectors": "vectors.txt",
}  # others are numbers
MODELS = {
    "mop-memm": ("--edges", "--orderings", "--mixing", "--folds"),
    "rbm-crf": ("--groups", "--borders", "--observation", "--gamma", "--experts", "--steps"),
    "skip-chain-crf": ("--agreement", "--damping", "--max-sweeps"),
    "hrf": ("--states", "--restarts", "--em", "--annealing", "--init", "--bias"),
    "perceptron": ("--update",),
    "hmm": ("--emissions", "--smoothing"),
}
FACTORS = ("--penalties", "--strength")
ROWS = [(command, option) for command, options in GONE.items() for option in options]


BEFORE = """agreement annealing bias borders clusters columns consistency constraints damping
dependent dev dictionary dropout edges em emissions encoding epochs experts factors features folds
from gamma groups init json l1 l2 label lexicons max-iterations max-sweeps min-count mixing model
objective observation optimiser order orderings output overwrite pairs patience penalties quiet rate
recipe restarts scheme seed smoothing start states steps strength threads tolerance update
vectors"""  # the options of train when each setting had one


def test_no_option_is_forgotten():
    train = get_command(app).get_command(None, "train")
    now = {option for param in train.params for option in param.opts}
    before = {f"--{name}" for name in BEFORE.split()}
    assert before <= now | set(GONE["train"])
    assert set(GONE["train"]) == before - now


def spelling(run, command, *arguments):
    """The old and the new spelling in the one line of the refusal."""
    code, out, err = run(command, "no.conll", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert err.startswith("skipchain: --")
    old, _, new = err.removeprefix("skipchain: ").strip().partition(" is now ")
    return old, shlex.split(new)


@pytest.mark.parametrize(("command", "option"), ROWS, ids=str)
def test_every_option_that_is_gone_has_a_new_spelling_that_is_understood(run, command, option):
    kind = next((kind for kind, own in MODELS.items() if option in own), "crf")
    flag = GONE[command][option].flag
    given = [option] if flag else [option, VALUES.get(option, "2")]
    around = ["--consistency"] if option in FACTORS else []
    old, new = spelling(run, command, "--model", kind, *given, *around)
    assert shlex.split(old) == given
    # with the new spelling the command goes on to read its files
    rest = ["--test", "no.conll"] if command == "compare" else ["-o", "no.skip"]
    if command == "states":
        kind, rest = "iohmm", []
    if option in ("--clusters", "--vectors"):  # which are read first
        assert new == ["--recipe", f"ner-knowledge:{option[2:]}={VALUES[option]}"]
        return
    code, _, err = run(command, "no.conll", "--model", kind, *around, *new, *rest)
    assert code == 2
    assert "no.conll: there is no such file" in err


def test_the_values_arrive():
    settings = ["edges=previous, same_word(recent=2)", "orderings=forward, random(3)"]
    made = build_estimator("mop-memm:mixing=learned", assignments=settings)
    assert made.edges == "previous, same_word(recent=2)"
    assert made.orderings == "forward, random(3)"


@pytest.mark.parametrize(
    ("given", "new"),
    [
        ("--optimiser lbfgs", "--solver lbfgs"),
        ("--optimiser=lbfgs", "--solver lbfgs"),
        ("--order 2", "--model crf:order=2"),
        ("--model memm --order 2", "--model memm:order=2"),
        ("--order 2 --model memm:l2=1", "--model memm:l2=1,order=2"),
        ("--max-iterations 5", "--set max_iterations=5"),
        ("--solver lbfgs --max-iterations 5", "--solver lbfgs:max_iterations=5"),
        ("--consistency --folds 3", "--set factors.folds=3"),
        ("--recipe ner-full --folds 3", "--set recipe.folds=3"),
        ("--consistency --tolerance 0.1", "--set solver.tolerance=0.1"),
        ("--recipe ner-full --clusters c.txt", "--recipe ner-full:clusters=c.txt"),
        ("--lexicons none", "--recipe 'ner-knowledge:lexicons=[]'"),
        ("--model skip-chain-crf --agreement", "--model skip-chain-crf:agreement=true"),
        ("--steps '1, 5:3'", "--set 'steps=1, 5:3'"),
    ],
)
def test_what_else_is_given_is_minded(run, given, new):
    assert spelling(run, "train", *shlex.split(given))[1] == shlex.split(new)


def test_several_are_named_together(run):
    given = ("--model", "memm", "--order", "2", "--optimiser", "lbfgs", "--tolerance", "1e-5",
             "--lexicons", "a", "--lexicons", "b", "--encoding", "iob2")  # fmt: skip
    code, _, err = run("train", "no.conll", *given)
    assert code == 2
    assert err == (
        "skipchain: --order 2, --optimiser lbfgs, --tolerance 1e-5, --lexicons a, --lexicons b, "
        "--encoding iob2 are now --solver lbfgs:tolerance=1e-5 --model memm:order=2 --recipe "
        "'ner-knowledge:lexicons=a;b' --learn-as iob2\n"
    )


def test_values_are_no_options(run):
    code, _, err = run("train", "no.conll", "--features", "--order", "-o", "no.skip")
    assert code == 2
    assert "is now" not in err
