"""Specifications: what a text such as ``memm:order=2`` means."""

from __future__ import annotations

import pytest

from skipchain.errors import ParameterError
from skipchain.models.specification import (
    Specification,
    check_settings,
    merge_settings,
    parse_setting,
    parse_value,
    settings_of,
    solver_settings,
    split_specifications,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3), ("-1", -1), ("0.5", 0.5), ("1e-3", 0.001), ("true", True), ("False", False),
        ("None", None), ("bioes", "bioes"), ('"3"', "3"), ('"a, b"', "a, b"), ("[]", []),
        ("[a, 2, [b, c]]", ["a", 2, ["b", "c"]]), ("a;b", "a;b"), ("f(1, 2)", "f(1, 2)"),
    ],
)  # fmt: skip
def test_values(text, value):
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("crf", {}),
        ("crf:", {}),
        (" crf : l2 = 1 , ", {"l2": 1}),
        ("x:a=hrf:2;iohmm:2,b=1", {"a": "hrf:2;iohmm:2", "b": 1}),
        ('x:a="1, 500:3",b=2', {"a": "1, 500:3", "b": 2}),
        ("x:edges=[previous, same(lower, recent=2)],b=2",
         {"edges": ["previous", "same(lower, recent=2)"], "b": 2}),
        ("x:edges=previous+same_word(recent=2,lower=true)",
         {"edges": "previous,same_word(recent=2,lower=true)"}),
        ("x:constraints=none,observation=none,pairs=none",
         {"constraints": "none", "observation": "none", "pairs": None}),
    ],
)  # fmt: skip
def test_texts(text, settings):
    assert dict(Specification.parse(text).settings) == settings


def test_names_of_parts_do_not_change_how_values_are_read():
    assert parse_setting("model.constraints=none") == ("model.constraints", "none")
    assert parse_setting("model.edges=a+b") == ("model.edges", "a,b")


def test_lists_of_specifications():
    text = 'crf, memm:order=2,l2=0.5 ,hmm,smoothing=1, x:a="b,c=1",d=[e, f=2]'
    assert split_specifications(text) == [
        "crf", "memm:order=2,l2=0.5", "hmm:smoothing=1", 'x:a="b,c=1",d=[e, f=2]',
    ]  # fmt: skip


def test_what_is_wrong_is_named():
    with pytest.raises(ParameterError, match="crf:l2=1,l2=2: l2 is given twice"):
        Specification.parse("crf:l2=1,l2=2")
    with pytest.raises(ParameterError, match="'l2' is no setting; write name=value"):
        parse_setting("l2")
    with pytest.raises(ParameterError, match="there is no model 'menm'; did you mean memm"):
        Specification.of_model("menm")
    with pytest.raises(ParameterError, match="x: y has no setting 'b'; there are aa"):
        check_settings({"b": 1}, {"aa": 2}, "y", "x")
    with pytest.raises(ParameterError, match="l2 is given twice, by --a and by --b"):
        merge_settings([("--a", {"l2": 1}), ("--b", {"l2": 1})])
    with pytest.raises(ParameterError, match="crf has no solver 'lbgfs'; did you mean lbfgs"):
        solver_settings("lbgfs", "crf")


def test_settings_are_those_of_the_model_and_of_its_solvers():
    found = settings_of("crf")
    assert {"l2", "order", "epochs", "tolerance", "bundle_dropout", "l1"} <= set(found)
    assert not {"functions", "scheme"} & set(found)
    assert {"damping", "precision", "max_sweeps"} <= set(settings_of("skip-chain-crf"))
    assert {"restarts", "em"} <= set(settings_of("hrf"))
    assert {"steps", "momentum"} <= set(settings_of("rbm-crf"))
