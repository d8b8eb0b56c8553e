"""Commands and options that there are not: the error says which are meant."""

from __future__ import annotations

import pytest
from typer.main import get_command

from skipchain.cli import hints
from skipchain.cli.app import EXAMPLES, GROUPS, LazyGroup, app


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (("evaluate", "m.skip", "test.conll"), "eval"),
        (("predict", "m.skip", "story.txt"), "tag"),
        (("trian", "train.conll"), "train"),
        (("version",), "--version"),
        (("--verison",), "--version"),
        (("ngrams", "cuont"), "'count'"),
    ],
)
def test_a_command_that_there_is_not_gets_the_one_that_is_meant(run, given, meant):
    code, out, err = run(*given)
    assert (code, out) == (2, "")
    assert f"Did you mean {meant}?" in err


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (("train", "--optimizer", "sgd"), "--solver"),
        (("train", "--optimizer=sgd"), "--solver"),
        (("train", "--epcohs", "5"), "--epochs"),
        (("train", "--templates", "ner.txt"), "--features"),
        (("tag", "--encoding", "latin-1"), "--charset"),
        (("tag", "--outputt", "x"), "--output"),
        (("eval", "--types", "PER"), "--only"),
        (("convert", "--force"), "--overwrite"),
        (("train", "--no-repiar"), "--no-repair or --repair"),
        (("ngrams", "count", "--ordrs", "3"), "--orders or --workers"),
    ],
)
def test_an_option_that_there_is_not_gets_the_one_that_is_meant(run, given, meant):
    code, out, err = run(*given)
    assert (code, out) == (2, "")
    assert f"No such option: {next(own for own in given if own[:2] == '--').split('=')[0]}" in err
    assert f"Did you mean {meant}?" in err


def test_names_like_no_other_get_no_hint(run):
    for given in (("qqqq",), ("train", "--qqqq"), ("train", "-x")):
        code, _, err = run(*given)
        assert code == 2
        assert "Did you mean" not in err


def test_all_names_that_are_hinted_at_are_there():
    group = get_command(app)
    assert isinstance(group, LazyGroup)
    commands = [*EXAMPLES, *GROUPS]
    assert {own for own in hints.COMMANDS.values() if own[:2] != "--"} <= {*commands}
    assert not {*hints.COMMANDS} & {*commands}
    with group.make_context("skipchain", ["models"]) as context:
        every = {
            option
            for name in EXAMPLES
            for param in group.get_command(context, name).params
            for option in param.opts
        }
    assert {own for meant in hints.OPTIONS.values() for own in meant} <= every
