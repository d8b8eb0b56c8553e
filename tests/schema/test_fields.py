"""Fields of a header: what they take, and what they say of what they do not."""

from __future__ import annotations

import pytest

from skipchain.schema.fields import (
    Anything,
    Either,
    Entries,
    Flag,
    Items,
    Nullable,
    Number,
    Pair,
    Record,
    SchemaError,
    Text,
    Whole,
)

RECORD = Record({"a": Whole(1, 3)}, {"b": Flag()})
TAKEN = [
    (Text(), ["", "Ada"]),
    (Text(("x", "y")), ["x"]),
    (Whole(1, 3), [1, 3]),
    (Number(0.0, 1.0), [0, 0.5, 1]),
    (Flag(), [True, False]),
    (Nullable(Flag()), [None, True]),
    (Either(Text(("linear",)), Items(Number())), ["linear", [1.0, 2]]),
    (Items(Text(), least=1, most=2, distinct=True), [["a"], ["a", "b"]]),
    (Pair(Text(), Whole()), [["a", 0]]),
    (Entries(Flag(), least=1), [{"any": True}]),
    (RECORD, [{"a": 2}, {"a": 2, "b": False}]),
    (Record({}, others=Whole()), [{"x": 1}]),
    (Anything(), [None, {"a": [1]}]),
]
REFUSED = [
    (Text(), [None, 3, True, b"x"], "a string"),
    (Text(least=1, most=2), ["", "abc"], "at least 1 and at most 2 characters"),
    (Text(("x", "y")), ["z", ["x"], None], "'x' or 'y'"),
    (Whole(1, 3), [0, 4, True, 2.0, "2", None, 10**400], "a whole number from 1 to 3"),
    (Number(), [float("nan"), float("inf"), 1e16, -1e16, True, "1", 10**400], "a number from"),
    (Flag(), [0, 1, None, "true"], "true or false"),
    (Nullable(Flag()), [0], "true or false"),
    (Either(Text(("linear",)), Items(Number())), ["fast"], "'linear'"),
    (Either(Text(("linear",)), Items(Number())), [3], "a list"),
    (Items(Text(), least=1, most=2), [[], ["a", "b", "c"], "ab", {"a": 1}], "a list of 1 to 2"),
    (Items(Text(), distinct=True), [["a", "b", "a"]], "without 'a' twice"),
    (Items(Text()), [["a", 3]], r"x\[1\] is 3"),
    (Pair(Text(), Whole()), [["a"], ["a", 0, 0], "ab"], "a list of two"),
    (Pair(Text(), Whole()), [["a", -1]], r"x\[1\] is -1"),
    (Entries(Flag(), least=1), [{}, [], None], "an object of 1 to"),
    (Entries(Flag()), [{"a": 1}], r"x\.a is 1"),
    (RECORD, [[], None, "a"], "an object"),
    (RECORD, [{}, {"b": True}], "x lacks 'a'"),
    (RECORD, [{"a": 1, "c": 1}], "x has an entry 'c', which this version does not know"),
    (RECORD, [{"a": 9}], r"x\.a is 9"),
]


@pytest.mark.parametrize(("field", "values"), TAKEN)
def test_what_a_field_takes(field, values):
    for value in values:
        field.check(value, "x")


@pytest.mark.parametrize(("field", "values", "message"), REFUSED)
def test_what_a_field_refuses(field, values, message):
    for value in values:
        with pytest.raises(SchemaError, match=message):
            field.check(value, "x")


def test_long_values_and_names_are_cut_in_messages():
    with pytest.raises(SchemaError) as refusal:
        Record({"a": Whole()}, others=Whole()).check({"a": 0, "k" * 10**6: "v" * 10**6}, "x")
    assert len(str(refusal.value)) < 300
