"""Labels as they come: bare labels, and labels that break their scheme."""

import numpy as np
import pytest

from skipchain.corpus import Column
from skipchain.corpus.schemes import convert, decode, infer_scheme, resolve, transitions, types
from skipchain.datasets.registry import data_set
from skipchain.errors import BrokenSchemeError, SchemeError

MANY = ["O"] * 5000


def column_of(*sentences):
    """A column and its offsets, of sentences with spaces between the labels."""
    lists = [sentence.split() for sentence in sentences]
    labels = [label for own in lists for label in own]
    return Column.encode(labels), np.cumsum([0, *map(len, lists)])


def with_outside(text):
    """Labels, and many tokens outside of spans behind them."""
    labels = [*text.split(), *MANY]
    return Column.encode(labels), np.array([0, len(labels)])


# Bare ---------------------------------------------------------------------------------------------


def test_runs_of_a_label_without_prefix_are_spans():
    column, offsets = column_of("number street street city", "street city city")
    assert infer_scheme(column, offsets).scheme == "bare"
    spans = decode(column, offsets, "bare").tolist()
    assert spans == [
        (0, 1, "number"), (1, 3, "street"), (3, 4, "city"), (4, 5, "street"), (5, 7, "city")
    ]  # fmt: skip
    there = convert(column, offsets, "bare", "bioes")
    assert there.tolist()[:3] == ["S-number", "B-street", "E-street"]
    assert convert(there, offsets, "bioes", "bare") == column


def test_parts_of_speech_stay_labels_of_tokens():
    for tags in ("DT NN VBZ", "NOUN VERB PUNCT", "NN|SYM CD ."):
        found = infer_scheme(*column_of(tags, tags))
        assert (found.scheme, found.reason) == (
            None,
            "the labels are parts of speech: they mark no spans",
        )


def test_labels_that_come_again_and_again_are_not_fields():
    found = infer_scheme(*column_of("det n v det n", "det n v det n"))
    assert found.scheme is None
    assert "come 1.7 times in a sentence" in found.reason
    assert infer_scheme(*column_of("a a a b b", "a a b b a a a")).scheme == "bare"  # long runs
    assert infer_scheme(*column_of("spam", "ham", "spam")).scheme is None  # a label a sentence


def test_bare_types_beside_o_are_taken_for_spans_only_when_that_is_said():
    column, offsets = column_of("PERSON PERSON O CITY")
    assert infer_scheme(column, offsets).scheme is None
    found = resolve(column, offsets, "bare")
    spans = decode(found.labels, offsets, found.scheme).tolist()
    assert spans == [(0, 2, "PERSON"), (3, 4, "CITY")]


def test_bare_labels_that_make_no_sense_are_refused():
    with pytest.raises(SchemeError, match="label '' does not belong to bare: wanted O or TYPE"):
        decode(Column.encode([""]), np.array([0, 1]), "bare")
    with pytest.raises(SchemeError, match="label '_' does not belong to bare"):
        types(["_"], "bare")
    with pytest.raises(SchemeError, match="bare cannot write the type 'O'"):
        convert(Column.encode(["B-O"]), np.array([0, 1]), "iob2", "bare")


def test_spans_that_may_not_touch():
    labels = ["B-X", "I-X", "E-X", "S-X", "S-Y"]
    allowed, _, _ = transitions(labels, "bioes", touching=False)
    assert not allowed[2, 0]  # E-X B-X
    assert not allowed[3, 3]  # S-X S-X
    assert allowed[3, 4]  # S-X S-Y
    assert allowed[0, 1]  # B-X I-X
    free, _, _ = transitions(["I-X", "B-X"], "iob1", touching=False)
    assert free.tolist() == [[True, False], [True, False]]


@pytest.mark.data("cora-refs", "faq-usenet-substitute", "ud-ewt", "ptb-sample")
@pytest.mark.parametrize(
    ("name", "part", "scheme"),
    [("cora-refs", "all", "bare"), ("faq-usenet-substitute", "all", "bare"),
     ("ud-ewt", "dev", None), ("ptb-sample", "all", None)],
)  # fmt: skip
def test_bare_labels_of_real_data(data_path, name, part, scheme):
    corpus = data_set(name).read(part)
    assert corpus.scheme is None
    assert infer_scheme(corpus.labels, corpus.sentences).scheme == scheme


# Repair -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "repaired", "scheme"),
    [
        ("B-PER I-PER O B-LOC I-ORG O B-ORG", {4: "B-ORG"}, "iob2"),
        ("B-PER I-PER O B-LOC O B-ORG b-ORG", {6: "B-ORG"}, "iob2"),
        ("B-PER I-PER O B-LOC O o", {5: "O"}, "iob2"),
        ("B-PER I-PER O B-LOC 0 O", {4: "O"}, "iob2"),
        ("B-PER PER O B-LOC O O", {1: "I-PER"}, "iob2"),
        ("B-PER I-PER O B-LOC O B_LOC", {5: "B-LOC"}, "iob2"),
        ("B-PER I-PER O B-LOC O B-", {5: "O"}, "iob2"),
        ("B-PER I-PER O B-LOC O what?", {5: "O"}, "iob2"),
        ("B-PER I-PER O B-LOC E-LOC O S-PER O B-X O B-X", {4: "I-LOC", 6: "B-PER"}, "iob2"),
        ("B-PER E-PER O S-LOC O S-LOC L-PER", {6: "S-PER"}, "bioes"),
    ],
)
def test_one_odd_label_among_thousands_is_repaired(labels, repaired, scheme):
    column, offsets = with_outside(labels)
    found = resolve(column, offsets)
    assert found.scheme == scheme
    assert found.repaired.tolist() == list(repaired)
    expected = labels.split()
    for token, label in repaired.items():
        expected[token] = label
    assert found.labels.tolist() == expected + MANY
    assert resolve(found.labels, offsets).told(str) is None


def test_what_was_repaired_is_told_with_three_examples():
    column, offsets = with_outside("O I-A O I-B O I-C O I-D O B-A B-B B-C B-D B-A")
    told = resolve(column, offsets, "iob2").told(lambda token: f"token {token}")
    assert told == (
        "4 labels break iob2 and are repaired (5,014 tokens): token 1 'I-A' is now 'B-A'; "
        "token 3 'I-B' is now 'B-B'; token 5 'I-C' is now 'B-C'; 1 more"
    )


def test_many_odd_labels_are_an_error_unless_repair_is_asked_for():
    column, offsets = column_of("O I-PER O B-PER", "B-LOC O")
    with pytest.raises(
        BrokenSchemeError, match=r"1 of 6 labels break iob2: token 1 \(sentence 0\): I-PER opens"
    ) as caught:
        resolve(column, offsets)
    assert caught.value.token == 1
    assert resolve(column, offsets, repair=True).labels.tolist()[1] == "B-PER"
    as_it_was = resolve(column, offsets, repair=False)
    assert (as_it_was.labels, as_it_was.scheme) == (column, "iob2")
    foreign = column_of("S-PER O B-PER E-PER")
    with pytest.raises(
        BrokenSchemeError, match=r"'S-PER' does not belong to iob2.*all labels fit b"
    ):
        resolve(*foreign, "iob2")
    assert resolve(*foreign, "iob2", repair=True).labels.tolist() == [
        "B-PER",
        "O",
        "B-PER",
        "I-PER",
    ]
    with pytest.raises(SchemeError, match="'S-PER' does not belong to iob2"):
        resolve(*foreign, "iob2", repair=False)


def test_labels_that_say_nothing_are_repaired_in_number_only_where_asked():
    column, offsets = column_of("B-PER what? ever O", "B-LOC B-PER O")
    with pytest.raises(
        BrokenSchemeError, match=r"label 'what[?]' does not belong to iob2"
    ) as error:
        resolve(column, offsets)
    assert error.value.token == 1
    mended = resolve(column, offsets, repair=True).labels
    assert mended.tolist() == ["B-PER", "O", "O", "O", "B-LOC", "B-PER", "O"]
    most = column_of("B-PER what? ever O", "what? O")
    for repair in (None, True, False):  # this may be another column
        with pytest.raises(SchemeError, match=r"label 'what[?]' does not belong to iob2"):
            resolve(*most, "iob2", repair=repair)
    left = resolve(column, offsets, repair=False)
    assert (left.scheme, left.labels) == (None, column)
    assert "taken as labels without spans" in left.told(str)


def test_redundant_marks_are_no_mistake():
    column, offsets = column_of(*["I-PER O"] * 20, "O B-PER")
    assert resolve(column, offsets).told(str) is None
    assert resolve(column, offsets, "iob1").labels == column
    assert resolve(column, offsets, repair=True).labels.tolist()[-1] == "I-PER"


def test_none_says_that_labels_mark_no_spans():
    column, offsets = column_of("street street city")
    assert resolve(column, offsets).scheme == "bare"
    assert resolve(column, offsets, "none").scheme is None
    assert resolve(column, offsets, may_be_bare=False).scheme is None


def test_labels_that_are_not_known_are_not_repaired():
    column, offsets = column_of("_ I-PER O")
    found = resolve(column, offsets, "iob2", repair=True)
    assert (found.labels, found.scheme) == (column, "iob2")
    assert "leave open which scheme it is" in resolve(column, offsets).told(str)
    assert resolve(*column_of("_ street")).told(str) is None
