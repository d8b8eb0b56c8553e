"""Files that nobody wrote in good faith: a right result or a clear error, and soon."""

from __future__ import annotations

import json
import random
import warnings

import pytest

from skipchain.errors import ReadError, SkipchainError, shortened
from skipchain.io import read, read_crfsuite
from skipchain.io.brat import read_brat
from skipchain.io.conll import parse_conll
from skipchain.io.conllu import parse_conllu
from skipchain.io.jsonl import parse_jsonl
from skipchain.io.text import parse_plain
from skipchain.resources.clusters import Clusters
from skipchain.resources.ngrams.importing import read_counts
from skipchain.resources.vectors import Vectors

NINES = "9" * 4000
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize("separator", ["\t", " "])
def test_a_million_columns(separator):
    with pytest.raises(ReadError, match="1,000,000 columns, and 10,000 can be read"):
        parse_conll(separator.join(["a"] * 1_000_000))
    assert len(parse_conll(separator.join(["a"] * 300)).columns) == 300


def test_a_hundred_thousand_columns_of_json():
    record = {"tokens": ["a"], **{f"c{k}": ["b"] for k in range(100_000)}}
    with pytest.raises(ReadError, match=r"^x:1: 100,001 columns"):
        parse_jsonl(json.dumps(record), "x")


@pytest.mark.parametrize("line", ["\n", "# c d\n"])
def test_notes_without_end_take_no_square_of_time(line):
    corpus = parse_conll("a O\n" + line * 300_000 + "b O\n")
    assert corpus.n_tokens == 2
    assert sum(map(len, corpus.notes.values())) >= 299_999


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_conll, "a O\n\n"),
        (parse_conll, "-DOCSTART- O\n\na O\n\n"),
        (parse_conllu, "1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n"),
        (parse_jsonl, '{"tokens": ["a"], "document": "x"}\n{"tokens": ["a"], "document": "y"}\n'),
    ],
)
def test_sentences_and_documents_by_the_hundred_thousand(parse, text):
    assert parse(text * 100_000).n_tokens == 100_000 * (2 if "tokens" in text else 1)


def test_a_line_of_megabytes():
    assert parse_conll("a" * 20_000_000 + " O\n").n_tokens == 1
    assert parse_plain("a" * 20_000_000).n_tokens == 1


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (f'{{"tokens": {DEEP}}}', "brackets in brackets"),
        (f'{{"tokens": ["a"], "x": {DEEP}}}', "brackets in brackets"),
        ('{"a":' * 100_000, "brackets in brackets"),
        ('{"text": "a", "spans": [%s]}' % ("[" * 300 + "]" * 300), "wanted a span"),
        ('{"tokens": ["a"], "links": [%s]}' % ("[" * 300 + "]" * 300), "wanted a link"),
        ('{"tokens": ["a"], "document": %s}' % (NINES + NINES), "thousands of digits"),
        (f'{{"tokens": ["a", "b"], "links": [[0, {NINES}]]}}', "has 2 tokens, counted from 0"),
        (f'{{"text": "a b", "spans": [[-{NINES}, {NINES}, "X"]]}}', "outside the text"),
        ('{"tokens": ["\\ud800"]}', "half a character"),
        ('{"tokens": ["a"], "\\udfff": ["b"]}', "half a character"),
        ('{"tokens": ["a"], "document": NaN}', "must be a string or a number"),
        ('{"tokens": ["a"], "document": true}', "must be a string or a number"),
        ('{"text": "a", "spans": [[NaN, Infinity, "X"]]}', "wanted a span"),
        ('{"text": "a", "spans": [[0, 1e999, "X"]]}', "wanted a span"),
    ],
)
def test_json_that_cannot_be_meant(line, fault):
    with pytest.raises(ReadError, match=fault) as error:
        parse_jsonl(line, "x.jsonl")
    assert str(error.value).startswith("x.jsonl:1: ")
    assert len(str(error.value)) < 700


@pytest.mark.parametrize("end", ["9" * 30, "1" + "0" * 5000, "2,4 5" * 100_000])
def test_annotations_far_outside_the_text(tmp_path, end):
    (tmp_path / "x.txt").write_text("Ada slept.")
    (tmp_path / "x.ann").write_text(f"T1\tPER 0 {end}\tAda\n")
    with pytest.raises(ReadError, match="wanted 'T1<TAB>TYPE START END<TAB>TEXT'") as error:
        read_brat(tmp_path)
    assert len(str(error.value)) < 700 + len(str(tmp_path))


def test_errors_keep_their_ends():
    text = "got " + "9" * 5000 + "; wanted a number"
    assert shortened(text).startswith("got 999")
    assert shortened(text).endswith("9; wanted a number")
    assert len(shortened(text)) == 600
    assert shortened("short") == "short"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("9" * 15 + " 3\na 1 2 3\n", "promises 999,999,999,999,999 vectors, but 1 follow"),
        ("1 " + "9" * 15 + "\na 1 2 3\n", "3 numbers, wanted a word and 999999999999999 numbers"),
        ("a " + "1 " * 100_000 + "\n" + "b 1\n" * 100_000, "1 numbers, wanted"),
    ],
)
def test_vectors_that_promise_too_much(tmp_path, text, fault):
    (tmp_path / "v").write_text(text)
    with pytest.raises(ReadError, match=fault):
        Vectors.read(tmp_path / "v")


def test_a_word_of_thousands_of_digits_is_no_header(tmp_path):
    (tmp_path / "v").write_text(NINES + NINES + " 3\na 1\n")
    assert Vectors.read(tmp_path / "v")[NINES + NINES].tolist() == [3]


def test_recognition_takes_no_square_of_time(tmp_path):
    (tmp_path / "a.train").write_text("<START:" * 7000)
    with pytest.raises(ReadError, match="neither the ending nor the content"):
        read(tmp_path / "a.train")


def test_csv_with_a_line_end_in_a_cell(tmp_path):
    (tmp_path / "c").write_bytes(b'ngram,freq\n"of the",1\r3\n')
    with pytest.raises(ReadError, match=":2: not CSV"):
        list(read_counts(tmp_path / "c"))


# Small valid files, altered at random -------------------------------------------------------------

SEEDS = {
    "a.conll": (
        b"-DOCSTART- -X- O O\n\nAda NNP B-NP B-PER\nslept VBD O O\n\n# c\nBo N O O\n",
        read,
    ),
    "b.conll": (b"# newdoc id = x\nAda\tB-PER\n\tO\n\nb c\tO\n", read),
    "eng.train": (b"Ada B-PER\nslept O\n. O\n\nBo B-PER\nleft O\n", read),
    "a.conllu": (
        b"# newdoc id = d\n1-2\tAda's\t_\t_\t_\t_\t_\t_\t_\t_\n1\tAda\tAda\tPROPN\tNNP\t_\t2\tx\t_"
        b"\t_\n1.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n",
        read,
    ),
    "a.jsonl": (
        b'{"tokens": ["Ada", "b"], "labels": ["B-PER", "O"], "document": "d", "links": [[0, 1]]}\n'
        b'{"tokens": [["a"], ["b"]], "labels": [["O"], ["O"]]}\n',
        read,
    ),
    "b.jsonl": (
        b'{"text": "Ada slept.", "spans": [[0, 3, "PER"], {"start": 4, "end": 9, "label": "X"}]}',
        read,
    ),
    "a.sgml": (b"<who>Ada Lee</who> slept &amp; <b>ate</b>.\nNext &lt;line&gt;\n", read),
    "x.train": (b"<START:person> Ada Lee <END> slept .\n\n<START> Bo <END> left\n", read),
    "a.txt": ("Mr. Bo’s 3.5% (of $10) – http://a.b/c, isn't it? é\u0301\n".encode(), read),
    "x.ann": (b"T1\tPER 0 3\tAda\nR1\tx Arg1:T1\n#1\tNote T1\thello\n", read),
    "crf": (b"PER\tw=Ada\tlen:0.5\tx\\:y:2\n\nO\ta\n", read_crfsuite),
    "clusters": (b"00\tthe\t7\n01\tcat\t3\n", Clusters.read),
    "vectors": (b"2 3\ncat 1 0.5 -2\ndog 0 1e-3 4\n", Vectors.read),
    "2gms": (b'ngram,freq,x\n"of the",17,3\nin a,4,2\n', lambda path: list(read_counts(path))),
}
PIECES = (
    *("\0", "\r", "\n", "\t", " ", "\u2028", "\x85", "\x1c", "\ufeff", "9" * 5000, "[" * 2000),
    *("\\r", "\\ud800", "\\u0000", "9" * 22, "-1", "1e999", "NaN", "Infinity", "null", "true"),
    *("[[[[", "{", "}", "]", '"', ",", ":", "<", ">", "</", "&", "O", "B-", "-", "_", "#", "# "),
    *("\\", "²", "٣", "-9223372036854775809"),
)


def altered(data, draw):
    data = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 4))):
        start = draw.randrange(len(data) + 1)
        end = min(len(data), start + draw.choice((0, 0, 1, 5, 20)))
        new = draw.choice((b"", b"\xff", data[start:end] * 9, draw.choice(PIECES).encode()))
        data[start:end] = new
    return bytes(data)


@pytest.mark.parametrize("name", SEEDS)
def test_altered_files_are_read_or_refused(tmp_path, name):
    data, reader = SEEDS[name]
    draw = random.Random(name)
    (tmp_path / "x.txt").write_text("Ada slept and Bo left.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(150):
            (tmp_path / name).write_bytes(altered(data, draw))
            fault = ""
            try:
                reader(tmp_path / name)
            except SkipchainError as error:
                fault = str(error)
            assert len(fault) < 800 + len(str(tmp_path))
