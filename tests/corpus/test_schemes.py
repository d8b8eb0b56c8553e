"""Label schemes against conlleval's rules, seqeval and each other."""

import gzip
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import BILOU, IOB1, IOB2, IOBES, IOE1, IOE2, Entities

from skipchain.corpus import Column, schemes
from skipchain.corpus.schemes import SCHEMES, Spans
from skipchain.datasets.registry import data_folder
from skipchain.errors import SchemeError

PREFIXES = {
    "io": "I",
    "iob1": "IB",
    "iob2": "IB",
    "ioe1": "IE",
    "ioe2": "IE",
    "bioes": "IBES",
    "bilou": "IBLU",
    "bare": "",
}
MERGING = {"io", "bare"}
TYPES = ("X", "Y-z")
SEQEVAL = {"iob1": IOB1, "iob2": IOB2, "ioe1": IOE1, "ioe2": IOE2, "bioes": IOBES, "bilou": BILOU}


def labels_of(scheme, types=TYPES):
    if scheme == "bare":
        return ["O", *types]
    return ["O"] + [f"{prefix}-{name}" for prefix in PREFIXES[scheme] for name in types]


def flat(sentences):
    """A column and its sentence offsets."""
    column = Column.encode([label for sentence in sentences for label in sentence])
    return column, np.cumsum([0] + [len(sentence) for sentence in sentences])


def label_sentences(scheme):
    """Any labels of the scheme, valid or not; empty sentences among them."""
    return st.lists(st.lists(st.sampled_from(labels_of(scheme)), max_size=7), max_size=4)


@st.composite
def spans_and_offsets(draw):
    """Spans that do not overlap, in sentences that may be empty."""
    lengths = draw(st.lists(st.integers(0, 7), max_size=4))
    offsets = np.cumsum([0, *lengths])
    spans = []
    for first, stop in itertools.pairwise(offsets.tolist()):
        at = first
        while at < stop:
            size = draw(st.integers(1, stop - at))
            if draw(st.booleans()):
                spans.append((at, at + size, draw(st.sampled_from(TYPES))))
            at += size
    return Spans.of(spans), offsets


any_scheme = st.sampled_from(SCHEMES)
scheme_and_sentences = any_scheme.flatmap(
    lambda scheme: st.tuples(st.just(scheme), label_sentences(scheme))
)

# The rules of conlleval, written out plainly ------------------------------------------------------


def conlleval_spans(sentences):
    """startOfChunk and endOfChunk of conlleval.pl, in the version that knows E and S."""
    spans, at = [], 0
    for sentence in sentences:
        start, before = None, ("O", "")
        for label in [*sentence, "O"]:
            prefix, _, name = label.partition("-")
            now = ({"L": "E", "U": "S"}.get(prefix, prefix), name)
            if end_of_chunk(before, now):
                spans.append((start, at, before[1]))
            if start_of_chunk(before, now):
                start = at
            before, at = now, at + 1
        at -= 1  # the O put behind each sentence
    return spans


def end_of_chunk(before, now):
    tags = before[0] + now[0]
    if tags in ("BB", "BO", "BS", "IB", "IO", "IS"):
        return True
    if tags in ("EE", "EI", "EO", "EB", "ES", "SE", "SI", "SO", "SB", "SS"):
        return True
    return before[0] != "O" and before[1] != now[1]


def start_of_chunk(before, now):
    tags = before[0] + now[0]
    if tags in ("BB", "IB", "OB", "EB", "SB", "OI", "OE", "OS"):
        return True
    if tags in ("EE", "EI", "ES", "SE", "SI", "SS", "BS", "IS"):
        return True
    return now[0] != "O" and before[1] != now[1]


def script_spans(labels):
    """What conlleval.pl itself reads: it has rules for B, I, E and O, and none for S or E before B.

    Any other change of prefix neither ends nor starts a chunk unless the type changes, too.
    """
    ends = {"BB", "BO", "IB", "IO", "EE", "EI", "EO"}
    starts = {"BB", "IB", "OB", "OI", "EE", "EI", "OE"}
    spans, start, before = [], None, ("O", "")
    for at, label in enumerate([*labels, "O"]):
        prefix, _, name = label.partition("-")
        changed = name != before[1]
        if before[0] + prefix in ends or (before[0] != "O" and changed):
            spans.append((start, at, before[1]))
        if before[0] + prefix in starts or (prefix != "O" and changed):
            start = at
        before = (prefix, name)
    return spans


# Names --------------------------------------------------------------------------------------------


def test_names_are_normalised():
    assert [schemes.check_scheme(name.upper()) for name in SCHEMES] == list(SCHEMES)
    aliases = {"bio": "iob2", "IOBES": "bioes", "BILUO": "bilou", " iob1 ": "iob1"}
    assert {name: schemes.check_scheme(name) for name in aliases} == aliases


def test_iob_alone_is_ambiguous():
    with pytest.raises(SchemeError, match=r"'IOB' can mean two things.*'iob2'.*'iob1'"):
        schemes.check_scheme("IOB")


def test_unknown_scheme_lists_the_known():
    with pytest.raises(SchemeError, match=r"unknown scheme 'bmewo'.*io, iob1, iob2, .*bilou"):
        schemes.check_scheme("bmewo")


def test_types():
    assert schemes.types(["O", "B-PER", "U-LOC", "L-a-b"]) == ("LOC", "PER", "a-b")
    assert schemes.types([]) == ()
    with pytest.raises(SchemeError, match="label 'NN' does not belong to any scheme"):
        schemes.types(["NN"])


# Spans --------------------------------------------------------------------------------------------


def test_spans_sort_and_compare_by_content():
    a = Spans.of([(4, 5, "LOC"), (0, 2, "PER")])
    b = Spans(np.array([0, 4]), np.array([2, 5]), np.array([2, 0]), ("LOC", "MISC", "PER"))
    assert a == b
    assert list(a) == a.tolist() == [(0, 2, "PER"), (4, 5, "LOC")]
    assert len(a) == 2
    assert a != Spans.of([(0, 2, "PER")])
    assert a != Spans.of([(0, 2, "PER"), (4, 5, "ORG")])
    assert a != Spans.of([(0, 3, "PER"), (4, 5, "LOC")])
    assert a != "a"
    assert not a.starts.flags.writeable
    assert Spans.of([]).tolist() == []


@pytest.mark.parametrize(
    ("starts", "stops", "types", "names", "message"),
    [
        ([0], [1, 2], [0], ("A",), "got 1, 2 and 1"),
        ([3, 0], [4, 1], [0, 0], ("A",), "sorted by start"),
        ([0], [1], [1], ("A",), "must number the 1 names"),
        ([0], [1], [0], ("",), "must have names"),
        ([0], [1], [0], ("A", "A"), "all different"),
    ],
)
def test_impossible_spans(starts, stops, types, names, message):
    with pytest.raises(SchemeError, match=message):
        Spans(np.array(starts), np.array(stops), np.array(types), names)


# Decoding -----------------------------------------------------------------------------------------


@given(scheme_and_sentences)
def test_lenient_decoding_is_conlleval(case):
    scheme, sentences = case
    found = schemes.decode(*flat(sentences), scheme).tolist()
    if scheme == "bare":
        sentences = [[k if k == "O" else f"I-{k}" for k in own] for own in sentences]
    assert found == conlleval_spans(sentences)


@given(st.sampled_from(["io", "iob1", "iob2", "ioe1", "ioe2", "bioes"]), st.data())
def test_lenient_decoding_is_seqeval(scheme, data):
    sentence = data.draw(st.lists(st.sampled_from(labels_of(scheme)), max_size=9))
    expected = [(start, last + 1, name) for name, start, last in get_entities(sentence)]
    assert schemes.decode(*flat([sentence]), scheme).tolist() == expected


def seqeval_strict(sentences, scheme):
    offsets = flat(sentences)[1].tolist()
    found = Entities(sentences, SEQEVAL[scheme]).entities
    return [
        (entity.start + offset, entity.end + offset, entity.tag)
        for offset, entities in zip(offsets, found, strict=False)
        for entity in entities
    ]


@given(st.sampled_from(["iob2", "ioe2", "bioes", "bilou"]), st.data())
def test_strict_decoding_is_seqeval(scheme, data):
    sentences = data.draw(label_sentences(scheme))
    found = schemes.decode(*flat(sentences), scheme, strict=True)
    assert found.tolist() == seqeval_strict(sentences, scheme)


@given(spans_and_offsets(), st.sampled_from(["iob1", "ioe1"]))
def test_valid_sparing_labels_are_read_as_seqeval_does(case, scheme):
    # Of invalid iob1 spans seqeval counts the tail; and its IOE1 cannot open a span with E.
    spans, offsets = case
    labels = schemes.encode(spans, offsets, scheme).tolist()
    sentences = [labels[a:b] for a, b in itertools.pairwise(offsets.tolist())]
    if scheme == "ioe1" and any(labels[start][0] == "E" for start, _, _ in spans):
        return
    assert seqeval_strict(sentences, scheme) == spans.tolist()
    assert schemes.decode(*flat(sentences), scheme, strict=True) == spans


@given(st.sampled_from(["io", "iob1", "iob2", "ioe1", "ioe2"]), st.data())
def test_lenient_decoding_is_the_script_where_it_knows_the_prefixes(scheme, data):
    sentence = data.draw(st.lists(st.sampled_from(labels_of(scheme)), max_size=9))
    assert schemes.decode(*flat([sentence]), scheme).tolist() == script_spans(sentence)


@pytest.mark.parametrize(
    ("labels", "ours", "script"),
    [
        ("S-X S-X", [(0, 1, "X"), (1, 2, "X")], [(0, 2, "X")]),
        ("B-X E-X S-X", [(0, 2, "X"), (2, 3, "X")], [(0, 3, "X")]),
        ("B-X E-X B-X E-X", [(0, 2, "X"), (2, 4, "X")], [(0, 4, "X")]),
        ("S-X O S-Y S-X", [(0, 1, "X"), (2, 3, "Y"), (3, 4, "X")], None),
    ],
)
def test_where_conlleval_itself_differs_in_bioes(labels, ours, script):
    sentence = labels.split()
    assert schemes.decode(*flat([sentence]), "bioes").tolist() == ours
    assert schemes.decode(*flat([sentence]), "bioes", strict=True).tolist() == ours
    assert script_spans(sentence) == (ours if script is None else script)


@pytest.mark.parametrize(
    ("scheme", "labels", "ours", "theirs"),
    [
        # Of a span with a redundant B- seqeval counts the rest, which no label opens.
        ("iob1", "O B-X I-X", [], [(2, 3, "X")]),
        ("iob1", "I-X B-Y I-Y", [(0, 1, "X")], [(0, 1, "X"), (2, 3, "Y")]),
        ("iob1", "O B-X", [], []),
        ("iob1", "I-X B-X I-X", [(0, 1, "X"), (1, 3, "X")], [(0, 1, "X"), (1, 3, "X")]),
        # A span of one token that touches the next is E-X in ioe1: the first label may be one.
        ("ioe1", "E-X I-X", [(0, 1, "X"), (1, 2, "X")], [(1, 2, "X")]),
        ("ioe1", "O E-X I-X", [(1, 2, "X"), (2, 3, "X")], [(2, 3, "X")]),
        ("ioe1", "E-X E-X", [(0, 1, "X")], []),
        ("ioe1", "I-X E-X I-X", [(0, 2, "X"), (2, 3, "X")], [(0, 2, "X"), (2, 3, "X")]),
    ],
)
def test_where_strict_decoding_differs_from_seqeval(scheme, labels, ours, theirs):
    sentence = labels.split()
    assert schemes.decode(*flat([sentence]), scheme, strict=True).tolist() == ours
    assert seqeval_strict([sentence], scheme) == theirs


@pytest.mark.parametrize(
    ("labels", "ours", "theirs"),
    [
        ("U-X U-X", [(0, 1, "X"), (1, 2, "X")], [(0, 2, "X")]),
        ("B-X L-X U-X", [(0, 2, "X"), (2, 3, "X")], [(0, 3, "X")]),
        ("B-X L-X B-X L-X", [(0, 2, "X"), (2, 4, "X")], [(2, 4, "X")]),
    ],
)
def test_where_lenient_decoding_differs_from_seqeval(labels, ours, theirs):
    sentence = labels.split()
    assert schemes.decode(*flat([sentence]), "bilou").tolist() == ours
    found = [(start, last + 1, name) for name, start, last in get_entities(sentence)]
    assert found == theirs


@pytest.mark.parametrize(
    ("scheme", "labels", "spans"),
    [
        ("iob1", "O B-X I-X", []),
        ("iob1", "I-X B-Y I-Y O I-Y", [(0, 1, "X"), (4, 5, "Y")]),
        ("iob1", "B-X B-X", [(1, 2, "X")]),
        ("ioe1", "E-X I-X", [(0, 1, "X"), (1, 2, "X")]),
        ("ioe1", "I-X E-X O", []),
        ("iob2", "I-X B-X I-X I-Y", [(1, 3, "X")]),
        ("bioes", "B-X I-X O S-X E-X", [(3, 4, "X")]),
        ("io", "I-X I-X I-Y", [(0, 2, "X"), (2, 3, "Y")]),
    ],
)
def test_strict_decoding_by_hand(scheme, labels, spans):
    assert schemes.decode(*flat([labels.split()]), scheme, strict=True).tolist() == spans


def test_sentences_end_spans():
    column = Column.encode(["I-X", "I-X", "I-X"])
    offsets = np.array([0, 0, 1, 1, 3, 3])
    assert schemes.decode(column, offsets, "io").tolist() == [(0, 1, "X"), (1, 3, "X")]


def test_foreign_labels_are_named():
    for scheme, label in [("iob2", "E-X"), ("bioes", "L-X"), ("io", "B-X"), ("iob2", "NN")]:
        with pytest.raises(SchemeError, match=f"label '{label}' does not belong to {scheme}"):
            schemes.decode(*flat([["O", label]]), scheme)
    for label in ["B-", "-X", "B", "o", "b-X", "BX-Y", ""]:
        with pytest.raises(SchemeError, match=f"label '{label}'.*wanted O or I-TYPE, B-TYPE"):
            schemes.decode(*flat([[label]]), "iob2")


def test_values_without_tokens_are_not_judged():
    column = Column.encode(["NN", "B-X", "O"])[1:]
    assert schemes.decode(column, np.array([0, 2]), "iob2").names == ("X",)
    assert schemes.infer_scheme(column, np.array([0, 2])).scheme == "iob2"


def test_offsets_must_cover_the_labels():
    with pytest.raises(SchemeError, match="offsets end at 2, but there are 1 labels"):
        schemes.decode(Column.encode(["O"]), np.array([0, 2]), "iob2")
    with pytest.raises(SchemeError, match="offsets end at nothing"):
        schemes.decode(Column.encode(["O"]), np.zeros(0, np.int64), "iob2")


# Encoding -----------------------------------------------------------------------------------------


@given(spans_and_offsets(), any_scheme)
def test_round_trip(case, scheme):
    spans, offsets = case
    merged = schemes.count_merged(spans, offsets)
    if scheme in MERGING and merged:
        with pytest.raises(SchemeError, match=f"would merge {merged} span"):
            schemes.encode(spans, offsets, scheme)
        column = schemes.encode(spans, offsets, scheme, lossy=True)
        assert len(schemes.decode(column, offsets, scheme)) == len(spans) - merged
        return
    column = schemes.encode(spans, offsets, scheme)
    assert schemes.decode(column, offsets, scheme) == spans
    assert schemes.decode(column, offsets, scheme, strict=True) == spans
    assert schemes.validate(column, offsets, scheme) == []
    assert set(column.values) == set(column.tolist())


@pytest.mark.parametrize(
    ("scheme", "labels"),
    [
        ("iob1", "I-P I-P B-P O I-L I-P I-P"),
        ("iob2", "B-P I-P B-P O B-L B-P I-P"),
        ("ioe1", "I-P E-P I-P O I-L I-P I-P"),
        ("ioe2", "I-P E-P E-P O E-L I-P E-P"),
        ("bioes", "B-P E-P S-P O S-L B-P E-P"),
        ("bilou", "B-P L-P U-P O U-L B-P L-P"),
    ],
)
def test_encoding_by_hand(scheme, labels):
    spans = Spans.of([(0, 2, "P"), (2, 3, "P"), (4, 5, "L"), (5, 7, "P")])
    assert schemes.encode(spans, np.array([0, 7]), scheme).tolist() == labels.split()
    assert schemes.count_merged(spans, np.array([0, 7])) == 1
    assert schemes.count_merged(spans, np.array([0, 2, 7])) == 0


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(0, 2, "P"), (1, 3, "L")], r"span 1 \(L, tokens 1:3\) overlaps span 0 \(P, tokens 0:2\)"),
        ([(0, 1, "P"), (2, 5, "L")], r"span 1 \(L, tokens 2:5\) crosses .* at token 4; cut"),
        ([(2, 2, "P")], r"span 0 \(P, tokens 2:2\) is empty"),
        ([(-1, 2, "P")], r"span 0 \(P, tokens -1:2\) lies outside the 6 tokens"),
        ([(5, 7, "P")], r"span 0 \(P, tokens 5:7\) lies outside the 6 tokens"),
    ],
)
def test_spans_that_labels_cannot_express(spans, message):
    with pytest.raises(SchemeError, match=message):
        schemes.encode(Spans.of(spans), np.array([0, 0, 4, 4, 6]), "iob2")


# Violations ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheme", "labels", "expected"),
    [
        ("iob2", "O I-X", [(1, "I-X", "O", "B-X", "opens a span after O")]),
        ("iob2", "I-X I-X", [(0, "I-X", None, "B-X", "opens a span at the sentence start")]),
        ("iob2", "B-X I-Y", [(1, "I-Y", "B-X", "B-Y", "opens a span after B-X")]),
        ("iob1", "O B-X", [(1, "B-X", "O", "I-X", "does not split two touching X spans")]),
        ("iob1", "I-Y B-X", [(1, "B-X", "I-Y", "I-X", "does not split")]),
        ("iob1", "I-X B-X", []),
        ("ioe1", "E-X O", [(0, "E-X", None, "I-X", "does not split")]),
        ("ioe2", "I-X O", [(0, "I-X", None, "E-X", "closes a span before O")]),
        ("bioes", "B-X I-X", [(1, "I-X", "B-X", "E-X", "closes a span at the sentence end")]),
        ("bioes", "I-X", [(0, "I-X", None, "S-X", "is a span of one token")]),
        ("bioes", "B-X", [(0, "B-X", None, "S-X", "closes a span at the sentence end")]),
        ("bilou", "O L-X", [(1, "L-X", "O", "U-X", "opens a span after O")]),
        ("io", "I-X I-Y O I-X", []),
    ],
)
def test_violations_by_hand(scheme, labels, expected):
    found = schemes.validate(*flat([["O"], [], labels.split(), ["O"]]), scheme)
    assert [(v.token - 1, v.label, v.previous, v.expected) for v in found] == [
        row[:4] for row in expected
    ]
    for violation, row in zip(found, expected, strict=True):
        assert violation.sentence == 2
        assert row[4] in violation.reason
        assert violation.reason.endswith(f"; {scheme} writes {row[3]}")


@given(scheme_and_sentences)
def test_repair_keeps_the_lenient_spans(case):
    scheme, sentences = case
    column, offsets = flat(sentences)
    repaired, changed = schemes.repair(column, offsets, scheme)
    assert changed == schemes.validate(column, offsets, scheme)
    assert schemes.validate(repaired, offsets, scheme) == []
    assert schemes.decode(repaired, offsets, scheme) == schemes.decode(column, offsets, scheme)
    before, after = column.tolist(), repaired.tolist()
    for violation in changed:
        assert before[violation.token] == violation.label
        before[violation.token] = violation.expected
    assert before == after


# Conversion ---------------------------------------------------------------------------------------


@given(spans_and_offsets(), any_scheme, any_scheme)
def test_conversion_between_all_pairs(case, source, target):
    spans, offsets = case
    if {source, target} & MERGING and schemes.count_merged(spans, offsets):
        return
    column = schemes.encode(spans, offsets, source)
    converted = schemes.convert(column, offsets, source, target)
    assert converted == schemes.encode(spans, offsets, target)
    assert schemes.convert(converted, offsets, target, source) == column


def test_conversion_refuses_invalid_labels():
    case = flat([["B-X", "O"], ["I-X", "O", "I-Y"]])
    with pytest.raises(
        SchemeError,
        match=r"not valid iob2.*token 2 \(sentence 1\): I-X opens .*\(and 1 more\); repair them",
    ):
        schemes.convert(*case, "iob2", "bioes")


@pytest.mark.parametrize(
    ("source", "labels", "converted"),
    [("iob1", "O B-X I-X O", "O B-X E-X O"), ("ioe1", "O I-X E-X O", "O B-X E-X O")],
)
def test_redundant_marks_convert(source, labels, converted):
    found = schemes.convert(*flat([labels.split()]), source, "bioes")
    assert found.tolist() == converted.split()


def test_conversion_to_io_is_never_silently_lossy():
    case = flat([["B-X", "B-X", "B-Y"], ["B-Y"]])
    with pytest.raises(SchemeError, match=r"merge 1 span .*first the X at token 1.*lossy=True"):
        schemes.convert(*case, "iob2", "io")
    merged = schemes.convert(*case, "iob2", "io", lossy=True)
    assert merged.tolist() == ["I-X", "I-X", "I-Y", "I-Y"]


# Inference ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentences", "candidates", "reason"),
    [
        ("O B-X I-X O", ("iob2",), "B- opens every span: iob2"),
        ("B-X B-X B-X", ("iob2",), "B- opens every span: iob2"),
        ("O I-X B-X", ("iob1",), "I- opens spans and B- splits neighbours: iob1"),
        ("I-X I-X O I-Y", ("iob1", "ioe1", "io"), "I- is the only prefix"),
        ("I-X E-X O E-X", ("ioe2",), "E- closes every span: ioe2"),
        ("I-X E-X I-X O", ("ioe1",), "I- closes spans and E- splits neighbours: ioe1"),
        ("S-X B-X E-X", ("bioes",), "B- opens every span, E- closes every span, S- is a span"),
        ("U-X O", ("bilou",), "B- opens every span, L- closes every span, U- is a span"),
        ("B-X E-X", ("bioes",), "bioes"),
        ("O O", SCHEMES, "no label but O"),
        ("", SCHEMES, "no label but O"),
        ("DT NN O", (), "label 'DT' is neither O nor PREFIX-TYPE"),
        ("B-X B-", (), "label 'B-' is neither"),
        ("E-X L-X", (), "no scheme has the prefixes E- and L- together"),
        ("O I-X O B-X", (), "iob2 is nearest, but token 1 (sentence 0): I-X opens a span after O"),
        ("I-X O I-X O E-X", (), "ioe1 is nearest, but token 4 (sentence 0)"),
        ("B-X I-X S-X", (), "bioes is nearest, but token 1 (sentence 0): I-X closes a span"),
    ],
)
def test_inference_by_hand(sentences, candidates, reason):
    found = schemes.infer_scheme(*flat([sentences.split()]))
    assert found.candidates == candidates
    preferred = "iob2" if candidates == SCHEMES else candidates[0] if candidates else None
    assert found.scheme == preferred
    assert reason in found.reason


def test_a_few_redundant_marks_are_forgiven():
    plain = [["I-X"]] * 19
    column, offsets = flat([*plain, ["I-X"], ["O", "B-X"], ["I-X", "B-X"]])
    found = schemes.infer_scheme(column, offsets)
    assert found.scheme == "iob1"
    assert "1 of 2 B- are redundant" in found.reason
    assert schemes.infer_scheme(*flat([*plain[:10], ["O", "B-X"]])).scheme is None
    column, offsets = flat([*plain, ["I-X"], ["O", "E-X"], ["E-X", "I-X"]])
    assert schemes.infer_scheme(column, offsets).scheme == "ioe1"


@given(spans_and_offsets(), st.sampled_from([name for name in SCHEMES if name != "bare"]))
def test_the_scheme_of_written_labels_is_a_candidate(case, scheme):
    spans, offsets = case
    column = schemes.encode(spans, offsets, scheme, lossy=True)
    found = schemes.infer_scheme(column, offsets)
    assert scheme in found.candidates
    assert found.scheme in found.candidates
    reading = schemes.decode(column, offsets, scheme)
    assert all(schemes.decode(column, offsets, name) == reading for name in found.candidates)


# Transitions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
def test_transitions_are_exactly_the_valid_sequences(scheme):
    labels = labels_of(scheme)
    allowed, first, last = schemes.transitions(labels, scheme, strict=True)
    for length in (1, 2, 3):
        for path in itertools.product(range(len(labels)), repeat=length):
            legal = first[path[0]] and last[path[-1]]
            legal = legal and all(allowed[a, b] for a, b in itertools.pairwise(path))
            valid = not schemes.validate(*flat([[labels[k] for k in path]]), scheme)
            assert legal == valid, [labels[k] for k in path]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_sequence_that_converts_is_possible(scheme):
    labels = labels_of(scheme)
    allowed, first, last = schemes.transitions(labels, scheme)
    for path in itertools.product(range(len(labels)), repeat=3):
        legal = first[path[0]] and last[path[-1]]
        legal = bool(legal and all(allowed[a, b] for a, b in itertools.pairwise(path)))
        try:
            schemes.convert(*flat([[labels[k] for k in path]]), scheme, "bioes")
        except SchemeError:
            assert not legal
        else:
            assert legal


def test_transitions_refuse_foreign_labels():
    with pytest.raises(SchemeError, match="label 'S-X' does not belong to iob2"):
        schemes.transitions(["O", "S-X"], "iob2")


# Real data ----------------------------------------------------------------------------------------


def conll2003(name, column=3):
    path = data_folder() / "conll2003" / f"{name}.gz"
    sentences = [[]]
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            fields = line.split()
            if not fields:
                sentences.append([])
            elif fields[0] != "-DOCSTART-":
                sentences[-1].append(fields[column])
    return flat(sentences)


@pytest.mark.data("conll2003")
def test_conll2003_train():
    column, offsets = conll2003("eng.train")
    spans = schemes.decode(column, offsets, "iob1")
    counts = dict(zip(spans.names, np.bincount(spans.types).tolist(), strict=True))
    assert counts == {"LOC": 7140, "MISC": 3438, "ORG": 6321, "PER": 6600}
    redundant = schemes.validate(column, offsets, "iob1")
    assert [violation.label for violation in redundant] == ["B-MISC", "B-MISC"]
    assert schemes.count_merged(spans, offsets) == 70
    found = schemes.infer_scheme(column, offsets)
    assert (found.scheme, found.candidates) == ("iob1", ("iob1",))
    assert "2 of 72 B- are redundant" in found.reason
    for target in ("iob2", "ioe1", "ioe2", "bioes", "bilou"):
        converted = schemes.convert(column, offsets, "iob1", target)
        assert schemes.infer_scheme(converted, offsets).scheme == target
        assert schemes.decode(converted, offsets, target, strict=True) == spans


@pytest.mark.data("conll2003")
@pytest.mark.parametrize("name", ["eng.testa", "eng.testb"])
def test_conll2003_test(name):
    assert schemes.infer_scheme(*conll2003(name)).scheme == "iob1"
    assert schemes.infer_scheme(*conll2003(name, column=2)).scheme == "iob1"
    assert schemes.infer_scheme(*conll2003(name, column=1)).scheme is None
