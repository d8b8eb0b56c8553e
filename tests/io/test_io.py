"""Reading and writing: files, formats, recognition, the tokeniser, and the real data sets."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import stat
import sys
import tarfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from skipchain.corpus import Column, Corpus
from skipchain.errors import CorpusError, ReadError, SchemeError, SkipchainError
from skipchain.io import FORMATS, read, read_crfsuite, tokenize, write, write_crfsuite
from skipchain.io.brat import read_brat, write_brat
from skipchain.io.conll import format_conll, parse_conll
from skipchain.io.conllu import format_conllu, parse_conllu
from skipchain.io.files import atomic_write, read_bytes, read_text, write_text
from skipchain.io.formats import format_of_path, format_of_text, format_to_write
from skipchain.io.html import format_html
from skipchain.io.inline import format_inline, parse_inline
from skipchain.io.jsonl import format_jsonl, parse_jsonl
from skipchain.io.opennlp import format_opennlp, parse_opennlp
from skipchain.io.standoff import Passage, corpus_of, passages_of
from skipchain.io.text import format_plain, parse_plain

as_root = pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read and write everything"
)


@pytest.fixture
def people() -> Corpus:
    return Corpus.of(
        [["Ada", "Lee", "slept", "."], ["Bo", "left"], ["It", "rained", "in", "Rome"]],
        [["B-PER", "I-PER", "O", "O"], ["B-PER", "O"], ["O", "O", "O", "B-LOC"]],
        scheme="iob2",
        documents=[2, 1],
    )


# Files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
@pytest.mark.parametrize("text", ["Ada\n", "\ufeffAda", "é\r\n\u2028x", ""])
def test_text_round_trip(tmp_path, ending, text):
    path = tmp_path / f"a.txt{ending}"
    write_text(path, text)
    assert read_text(path) == text
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_packed_content_is_told_by_its_first_bytes(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(b"Ada"))
    assert read_text(path) == "Ada"
    path.write_bytes(lzma.compress(b"Bo"))
    assert read_text(path) == "Bo"
    path.write_bytes(b"\xef\xbb\xbfCy")
    assert read_text(path) == "Cy"


def test_gzip_is_reproducible(tmp_path):
    write_text(tmp_path / "a.gz", "Ada")
    write_text(tmp_path / "b.gz", "Ada")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_binary_files(tmp_path):
    for name in ("a", "a.gz", "a.xz"):
        with atomic_write(tmp_path / name, binary=True) as file:
            file.write(b"\0\xff")
        assert read_bytes(tmp_path / name) == b"\0\xff"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a", b"x\ncaf\xe9\n", r"a:2: invalid UTF-8 byte 0xe9; is the file latin-1\?"),
        ("a", b"\xef\xbb\xbf\ncaf\xe9\n", r"a:2: invalid UTF-8 byte 0xe9"),
        ("a", b"x\n\ny\0", "a:3: a NUL byte"),
        ("a.gz", b"Ada", "a.gz: the name ends in .gz, but the content is not packed"),
        ("a.gz", gzip.compress(b"Ada" * 99, mtime=0)[:-9], "cut-off gzip"),
        ("a.gz", gzip.compress(b"Ada" * 99, mtime=0)[:20] + b"\xff" * 9, "damaged or cut-off gzip"),
        ("a.xz", lzma.compress(b"Ada" * 99)[:-9], "cut-off xz"),
        ("a.xz", lzma.compress(b"Ada" * 99)[:12] + b"\xff" * 99, "damaged or cut-off xz"),
    ],
)
def test_bad_files(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ReadError, match=message):
        read_text(tmp_path / name)


def test_unreadable_paths(tmp_path):
    with pytest.raises(ReadError, match="nowhere: there is no such file"):
        read_text(tmp_path / "nowhere")
    with pytest.raises(ReadError, match="this is a folder"):
        read_text(tmp_path)
    with pytest.raises(ReadError, match="cannot be read: "):
        read_text("a\0b")


def test_no_permission(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(ReadError, match="x: no permission to read"):
        read_text("x")


def test_stdin(monkeypatch):
    def feed(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    feed(b"Ada B-PER\r\nslept O\r\n")
    assert read("-").words.tolist() == ["Ada", "slept"]
    feed(gzip.compress(b"Ada slept there. She did not snore."))
    assert read("-").n_tokens == 9
    feed(b"")
    with pytest.raises(ReadError, match=r"^stdin: the file is empty$"):
        read("-")
    feed(b"\xff")
    with pytest.raises(ReadError, match=r"^stdin:1: invalid UTF-8"):
        read("-")


def test_stdout(people, capfdbinary):
    write(people, "-", "conll")
    with atomic_write("-", binary=True) as file:
        file.write(b"\xff")
    assert capfdbinary.readouterr().out == format_conll(people).encode() + b"\xff"
    print("still open")


class Sink(io.BytesIO):
    """A stdout that fails."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, _):
        raise self.error


def test_stdout_failures(monkeypatch, people):
    for error, raised in (
        (BrokenPipeError(32, "Broken pipe"), BrokenPipeError),
        (OSError(28, "No space left on device"), SkipchainError),
    ):
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(Sink(error), write_through=True))
        with pytest.raises(raised):
            write(people, "-", "conll")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(SkipchainError, match=r"cannot write stdout: U\+D800"):
        write_text("-", "\ud800")


def test_nothing_is_overwritten_by_chance(tmp_path, people):
    path = tmp_path / "a.conll"
    write(people, path)
    path.chmod(0o600)
    with pytest.raises(SkipchainError, match=r"a.conll exists already; use --overwrite"):
        write(people, path)
    write(people[:1], path, overwrite=True)
    assert len(read(path)) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text(tmp_path / "link", "new", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("name", ["a", "a.gz", "a.xz"])
def test_failure_leaves_nothing(tmp_path, error, name):
    (tmp_path / name).write_text("old")

    def fail():
        with atomic_write(tmp_path / name, overwrite=True) as file:
            file.write("half")
            raise error

    with pytest.raises(error):
        fail()
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "old"


def test_full_disk(tmp_path):
    def fail():
        with atomic_write(tmp_path / "a") as file:
            file.write("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(SkipchainError, match=r"cannot write .*a: No space left.*nothing was wr"):
        fail()
    assert not list(tmp_path.iterdir())


def test_broken_pipe_is_left_to_the_caller(tmp_path):
    def fail():
        with atomic_write(tmp_path / "a"):
            raise BrokenPipeError(32, "Broken pipe")

    with pytest.raises(BrokenPipeError):
        fail()
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_devices_are_written_directly():
    with pytest.raises(SkipchainError, match="No space left on device"):
        write_text("/dev/full", "x" * 100_000)
    write_text("/dev/null", "x")
    assert Path("/dev/null").is_char_device()


def test_impossible_targets(tmp_path):
    with pytest.raises(SkipchainError, match=r"there is no folder .*nowhere; make it first"):
        write_text(tmp_path / "nowhere" / "a", "x")
    with pytest.raises(SkipchainError, match="it is a folder"):
        write_text(tmp_path, "x")
    with pytest.raises(SkipchainError, match="nothing was written"):
        write_text("a\0b", "x")
    with pytest.raises(SkipchainError, match=r"U\+D83D is half a character"):
        write_text(tmp_path / "a", "\ud83d")
    assert not list(tmp_path.iterdir())


@as_root
def test_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(SkipchainError, match="Permission denied"):
        write_text(tmp_path / "a", "x")
    tmp_path.chmod(0o700)


# Column files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a\n", "word"),
        ("a b\n", "word label"),
        ("a b c\n", "word pos label"),
        ("a b c d\n", "word pos chunk label"),
        ("a b c d e\n", "word c1 c2 c3 label"),
    ],
)
def test_default_columns(text, names):
    assert list(parse_conll(text).columns) == names.split()


def test_columns_by_name():
    corpus = parse_conll("O x Ada\n", columns=("label", "_", "word"))
    assert corpus.words.tolist() == ["Ada"]
    assert format_conll(corpus) == "O Ada\n\n"
    for columns, message in (
        (("label",), "must name 'word'"),
        (("word", "word"), "must differ"),
        ("word", "must be a list of names"),
    ):
        with pytest.raises(CorpusError, match=message):
            parse_conll("a b\n", columns=columns)


def test_cells():
    spaces = parse_conll("  Ada  B-PER \r\nslept \tO")
    assert spaces.words.tolist() == ["Ada", "slept"]
    assert spaces.labels.tolist() == ["B-PER", "O"]
    tabs = parse_conll("New York\tB-LOC\n\tO\n\t\nx\tO\n")
    assert tabs.words.tolist() == ["New York", "", "x"]
    assert len(tabs) == 2
    odd = parse_conll("a\u00a0b\u2028 O\n\x0b\x0c\x1c O\n")  # only space, tab and line end count
    assert odd.words.tolist() == ["a\u00a0b\u2028", "\x0b\x0c\x1c"]
    forced = parse_conll("a b\tO\nc\tO\n", separator="\t")
    assert forced.words.tolist() == ["a b", "c"]


def test_comments_and_the_token_hash():
    text = "# a comment here\n# # B-NP\na b I-NP\n# one that is longer\nc d O\n"
    corpus = parse_conll(text)
    assert corpus.words.tolist() == ["#", "a", "c"]
    assert dict(corpus.notes) == {0: ("# a comment here",), 2: ("# one that is longer",)}
    assert len(corpus) == 1
    assert format_conll(corpus) == text + "\n"
    with pytest.raises(ReadError, match="x:2: 4 columns, but the first line has 2"):
        parse_conll("Ada O\n# a comment here\n", "x", comments=False)


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        (
            "a b c d\n\na b c\n",
            None,
            r"x:3: 3 columns, but the first line has 4; is a space missing",
        ),
        ("a\tb\nc\n", None, r"x:2: 1 column, but the first line has 2; is a tab missing\?"),
        ("a b\nc d e\n", None, r"x:2: 3 columns, .* has 2; is there a space too many\?"),
        ("a b\n", ("word", "pos", "label"), r"x:1: 2 columns, but columns= names 3"),
        ("", None, "x: the file is empty$"),
        (" \n\t\n", None, "x: the file is empty: it holds only white space"),
        ("-DOCSTART- O\n\n# nothing else\n", None, "x: there is not one token"),
    ],
)
def test_bad_column_files(text, columns, message):
    with pytest.raises(ReadError, match=message):
        parse_conll(text, "x", columns=columns)


def test_documents_that_begin_with_a_marker():
    text = "-DOCSTART- -X- O O\n\na b c O\n\n-DOCSTART- -X- O O\n\nd e f O\n\ng h i O\n\n"
    corpus = parse_conll(text)
    assert corpus.documents.tolist() == [0, 1, 3]
    assert corpus.names is None
    assert format_conll(corpus) == text
    assert format_conll(corpus.document(1)) == "d e f O\n\ng h i O\n\n"


def test_comments_beside_markers():
    text = "-DOCSTART- O\n\n# a b c\na O\n\n-DOCSTART- O\n\nb O\n\n"
    corpus = parse_conll(text)
    assert dict(corpus.notes) == {0: ("# a b c",)}
    assert format_conll(corpus) == text
    double = "-DOCSTART- O\n\n-DOCSTART- O\n\n" + text
    assert format_conll(parse_conll(double)) == double


def test_documents_that_end_with_a_marker():
    text = "a O\n\n-DOCSTART- O\n\nb O\n\nc O\n\n-DOCSTART- O\n\n"
    corpus = parse_conll(text)
    assert corpus.documents.tolist() == [0, 1, 3]
    assert format_conll(corpus) == text


def test_odd_markers():
    corpus = parse_conll(
        "-DOCSTART-\na O\n-DOCSTART- (1 EU)\n\n-DOCSTART-\tO\nb O\n-DOCSTART-x O\n"
    )
    assert corpus.words.tolist() == ["a", "b", "-DOCSTART-x"]
    assert corpus.documents.tolist() == [0, 1, 2]
    assert parse_conll(format_conll(corpus)) == corpus


def test_named_documents():
    text = "# doc wsj_0001\na\tO\n\n# newdoc id = a b\nb\tO\n\n# newdoc\nc\tO\n\n"
    corpus = parse_conll(text)
    assert corpus.names == ("wsj_0001", "a b", "")
    again = parse_conll(format_conll(corpus))
    assert again == corpus
    clean = replace(corpus, notes={})
    assert parse_conll(format_conll(clean)) == clean
    both = parse_conll("-DOCSTART- O\n\n# doc x\na O\n")
    assert both.names == ("x",)
    with pytest.raises(CorpusError, match="holds a line end"):
        format_conll(replace(corpus, names=("a\nb", "c", "d"), notes={}))


def test_documents_get_markers(people):
    text = format_conll(people)
    assert text.startswith("-DOCSTART- O\n\nAda B-PER\n")
    assert text.count("-DOCSTART-") == 2
    assert parse_conll(text) == people
    half = replace(people, notes={0: ("-DOCSTART- X", "")})  # as concatenation leaves them
    assert parse_conll(format_conll(half)).n_documents == 2


def test_the_separator_is_a_tab_where_it_must_be():
    for words, names in ((["New York", "x"], None), (["", "x"], None), (["#", "#"], None)):
        corpus = replace(Corpus.of([words], [["O", "O"]], scheme="iob2"), names=names)
        text = format_conll(corpus)
        assert "\t" in text
        assert parse_conll(text) == corpus
    # "# newdoc id = x" has five cells, as a token of these columns has
    wide = Corpus.of([["a"]], [["O"]], scheme="iob2", c1=[["b"]], c2=[["c"]], c3=[["d"]])
    wide = replace(wide, columns={n: wide.columns[n] for n in ("word", "c1", "c2", "c3", "label")})
    wide = replace(wide, names=("x",))
    assert parse_conll(format_conll(wide)) == wide


@pytest.mark.parametrize(
    ("corpus", "options", "message"),
    [
        (
            Corpus.of([["a\nb"]], [["O"]], scheme="none"),
            {},
            r"cannot hold the word 'a\\nb' of token 0",
        ),
        (
            Corpus.of([["a"]], [["\t"]], scheme="none"),
            {},
            r"cannot hold the label '\\t' of token 0",
        ),
        (Corpus.of([["a"], ["x y"]]), {}, "spaces between its columns cannot hold the word 'x y'"),
        (
            Corpus.of([["a", ""]], [["O", "O"]], scheme="none"),
            {"separator": " "},
            "the word '' of token 1",
        ),
        (Corpus.of([["-DOCSTART-"]], [["O"]], scheme="none"), {}, "token 0 is '-DOCSTART-'"),
        (
            Corpus.of([["a", ""]], [["O", " "]], scheme="none"),
            {},
            "all columns of token 1 are blank",
        ),
        (
            Corpus.of([["# a", "# b"]], [["O", "O"]], scheme="none"),
            {},
            "every line would look like a comment",
        ),
        (Corpus.of([["a"], []], [["O"], []], scheme="none"), {}, "sentence 1 is empty"),
        (Corpus.of([]), {}, "no tokens, so there is nothing to write"),
        (Corpus.of([["a"]]), {"separator": ";"}, "must be a space or a tab"),
        (
            replace(Corpus.of([["a"]], [["O"]], scheme="none"), notes={0: ("# b",)}),
            {"separator": " "},
            "the comment '# b' would look like a token",
        ),
    ],
)
def test_what_no_column_file_can_hold(corpus, options, message):
    with pytest.raises(CorpusError, match=message):
        format_conll(corpus, **options)


def test_values_that_no_token_has_do_not_matter():
    corpus = Corpus.of([["a b"], ["c"]], [["O"], ["O"]], scheme="none")[1:]
    assert format_conll(corpus) == "c O\n\n"


def test_spare_lines_come_back():
    text = "\n\na O\n\n\n# x y z\n\nb O\n\n\n\n"
    corpus = parse_conll(text)
    assert dict(corpus.notes) == {0: ("", ""), 1: ("", "# x y z", ""), 2: ("", "")}
    assert format_conll(corpus) == text


def test_scheme_of_columns():
    assert parse_conll("a I-PER\nb I-PER\n").scheme == "iob1"
    assert parse_conll("a NN\n").scheme is None
    assert parse_conll("a B-X\n", scheme="BIO").scheme == "iob2"
    with pytest.raises(ReadError, match="x:4: label 'S-X' does not belong to iob2"):
        parse_conll("\na B-X\n\nb S-X\n", "x", scheme="iob2")
    with pytest.raises(SchemeError, match="unknown scheme"):
        parse_conll("a B-X\n", scheme="biobio")
    with pytest.raises(ReadError, match="x:2: label 'S-X' does not belong to iob2"):
        parse_conll("a _\nb S-X\n", "x", scheme="iob2")
    with pytest.raises(ReadError, match="x: there are no labels to read as iob2"):
        parse_conll("a\n", "x", scheme="iob2")


def test_labels_that_are_not_known_fit_every_scheme_and_show_none():
    text = "a B-X\nb _\nc O\n"
    assert parse_conll(text, scheme="iob2").scheme == "iob2"
    with pytest.warns(UserWarning, match="labels '_' leave open which scheme it is"):
        assert parse_conll(text).scheme is None
    assert parse_conll("a NN\nb _\n").scheme is None


def test_fast_columns_equal_plain_ones(monkeypatch):
    from skipchain.io.columns import slices

    words = [f"w{k * k % 97}" * (1 + k % 40) for k in range(3000)]
    data = " ".join(words).encode() + slices.PADDING
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    starts = np.append(0, ends[:-1] + 1)
    fast, plain = (
        slices.encode_slices(data, starts, ends),
        slices.encode_slices_plain(data, starts, ends),
    )
    assert fast.values == plain.values
    assert np.array_equal(fast.codes, plain.codes)
    assert plain.tolist() == words
    # Bad luck with the hashes: too many collisions, equal hashes of different words or lengths.
    monkeypatch.setattr(slices, "ROUNDS", 0)
    assert slices.encode_slices(data, starts, ends) == plain
    monkeypatch.setattr(slices, "ROUNDS", 32)
    for same in (np.zeros, lambda n, _: np.arange(n, dtype=np.uint64) % 3):
        hashes = same(len(words), np.uint64)
        real = slices.hash_slices
        monkeypatch.setattr(slices, "hash_slices", lambda *a, h=hashes, real=real: (h, real(*a)[1]))
        assert slices.encode_slices(data, starts, ends) == plain
        monkeypatch.setattr(slices, "hash_slices", real)
    equal = np.array([0, 3, 0, 4])
    pair = slices.encode_slices(b"abc" + slices.PADDING, equal[[0, 2]] * 0, np.array([3, 2]))
    assert pair.tolist() == ["abc", "ab"]
    monkeypatch.setattr(slices, "hash_slices", lambda *a: (np.zeros(2, np.uint64), real(*a)[1]))
    two = b"abcd" + slices.PADDING
    assert slices.encode_slices(two, np.array([0, 2]), np.array([2, 4])).tolist() == ["ab", "cd"]


# CoNLL-U -----------------------------------------------------------------------------------------

UD = """# newdoc id = one
# sent_id = 1
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tdo\tdo\tAUX\tVBP\t_\t0\troot\t_\t_
2\tn't\tnot\tPART\tRB\tPolarity=Neg\t1\tadvmod\t_\t_
2.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t1:x\t_

#comment without a blank
0.1\tx\t_\t_\t_\t_\t_\t_\t_\t_
1\tyes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_

# newdoc
1\tno\tno\tINTJ\tUH\t_\t0\troot\t_\t_
1.1\tx\t_\t_\t_\t_\t_\t_\t_\t_

"""


@pytest.mark.parametrize("label", ["upos", "xpos", "feats", "misc", "deprel"])
def test_conllu_comes_back(label):
    corpus = parse_conllu(UD, label=label)
    assert corpus.words.tolist() == ["do", "n't", "yes", "no"]
    assert corpus.documents.tolist() == [0, 2, 3]
    assert corpus.names == ("one", "")
    assert label not in corpus.columns
    assert format_conllu(corpus) == UD
    assert format_conllu(corpus, label=label) == UD


def test_conllu_labels():
    assert parse_conllu(UD).labels.tolist() == ["AUX", "PART", "INTJ", "INTJ"]
    assert parse_conllu(UD, label="xpos").labels.tolist() == ["VBP", "RB", "UH", "UH"]
    assert parse_conllu(UD).scheme is None
    with pytest.raises(CorpusError, match="label must be one of"):
        parse_conllu(UD, label="word")


def test_words_without_features_are_known_to_have_none():
    text = "1\tAda\t_\tPROPN\t_\tCase=Nom\t_\t_\t_\t_\n2\twell\t_\tADV\t_\t_\t_\t_\t_\t_\n\n"
    corpus = parse_conllu(text, label="feats")
    assert corpus.labels.tolist() == ["Case=Nom", "O"]
    assert format_conllu(corpus) == text
    assert parse_conllu(text, label="xpos").labels.tolist() == ["_", "_"]
    named = text.replace("_\n2", "B-PER\n2").replace("_\n\n", "O\n\n")
    assert format_conllu(parse_conllu(named, label="misc")) == named


def test_slices_of_conllu():
    second = parse_conllu(UD)[1:]
    text = format_conllu(second)
    assert text.startswith("# newdoc id = one\n#comment without a blank\n0.1\t")
    assert parse_conllu(text)[:].words == second.words
    first = format_conllu(parse_conllu(UD)[:1])
    assert "2.1" not in first  # it stands before a token of the next sentence
    assert parse_conllu(first).n_tokens == 2


def test_conllu_from_other_corpora(people):
    text = format_conllu(people)
    again = parse_conllu(text)
    assert again.words == people.words
    assert again.labels == people.labels
    assert again.documents.tolist() == [0, 2, 3]
    assert text.startswith("# newdoc\n1\tAda\t_\tB-PER\t")
    assert format_conllu(people, label="misc").startswith(
        "# newdoc\n1\tAda\t_\t_\t_\t_\t_\t_\t_\tB"
    )
    named = replace(people, names=("x", "y"))
    assert parse_conllu(format_conllu(named)).names == ("x", "y")
    tail = replace(parse_conllu(UD), names=("a", "b"), notes={2: parse_conllu(UD).notes[2]})
    assert parse_conllu(format_conllu(tail)).names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\ta\n", "x:1: CoNLL-U has 10 columns with tabs between them, got 2"),
        ("# c\n\nx" + "\t_" * 9, "x:3: the id 'x' is not like 1, 1-2 or 1.1"),
        ("1-2" + "\t_" * 9, "x: there is not one token"),
        ("\n", "x: the file is empty"),
    ],
)
def test_bad_conllu(text, message):
    with pytest.raises(ReadError, match=message):
        parse_conllu(text, "x")


@pytest.mark.parametrize(
    ("corpus", "options", "message"),
    [
        (Corpus.of([["a"]], chunk=[["b"]]), {}, "has no column for chunk"),
        (
            Corpus.of([["a"]], [["b"]], upos=[["c"]], scheme="none"),
            {"label": "upos"},
            "cannot be the column",
        ),
        (Corpus.of([["a"]], [["b"]], scheme="none"), {"label": "id"}, "cannot be the column 'id'"),
        (Corpus.of([["a\t"]]), {}, r"cannot hold the word 'a\\t' of token 0"),
        (Corpus.of([["a"]], id=[["x"]]), {}, "the id of token 0 is not a number"),
        (replace(Corpus.of([["a"]]), names=("\n",)), {}, "cannot hold the document name"),
    ],
)
def test_what_conllu_cannot_hold(corpus, options, message):
    with pytest.raises(CorpusError, match=message):
        format_conllu(corpus, **options)


# JSON lines --------------------------------------------------------------------------------------


def test_jsonl_sentences(people):
    text = format_jsonl(people)
    assert json.loads(text.split("\n")[0]) == {
        "tokens": ["Ada", "Lee", "slept", "."],
        "labels": ["B-PER", "I-PER", "O", "O"],
        "document": 0,
    }
    assert parse_jsonl(text) == people
    for names in (("x", "y"), ("", "y"), ("x", "x")):  # the last as lists of lists
        named = replace(people, names=names)
        assert parse_jsonl(format_jsonl(named)) == named
    assert '"document"' not in format_jsonl(people[:1])


def test_jsonl_columns_and_documents():
    corpus = parse_jsonl(
        '{"labels": ["O"], "tokens": ["a"], "pos": ["X"], "id": 7, "meta": [1], "document": "d"}\n'
        '\n{"tokens": ["b", "c"], "labels": ["O", "O"], "pos": ["Y", "Z"], "document": "d"}\r\n'
        '{"tokens": [["e"], []], "labels": [["O"], []], "pos": [["Y"], []]}\n'
        '{"tokens": ["f"], "labels": ["O"], "pos": ["Y"], "document": 3}\n'
    )
    assert list(corpus.columns) == ["word", "pos", "label"]
    assert corpus.documents.tolist() == [0, 2, 4, 5]
    assert corpus.sentences.tolist() == [0, 1, 3, 4, 4, 5]
    assert corpus.names == ("d", "", "3")


def test_spans_beside_tokens_are_no_column(people):
    spans = '{"tokens": ["a"], "labels": ["O"], "spans": ["x"]}'
    assert list(parse_jsonl(spans).columns) == ["word", "label"]
    with pytest.raises(CorpusError, match="another use for the name 'spans'"):
        format_jsonl(people.with_column("spans", people.words))


def test_jsonl_texts():
    text = "Ada Lee slept. Bo-Li left."
    line = {"text": text, "spans": [[0, 8, "PER"], {"start": 15, "end": 17, "label": "PER"}]}
    corpus = parse_jsonl(json.dumps(line))
    assert corpus.texts == (text,)
    assert corpus.words.tolist() == ["Ada", "Lee", "slept", ".", "Bo", "-Li", "left", "."]
    assert corpus.labels.tolist() == ["B-PER", "I-PER", "O", "O", "B-PER", "O", "O", "O"]
    assert parse_jsonl(format_jsonl(corpus)) == corpus
    bioes = parse_jsonl(json.dumps(line), scheme="bioes")
    assert bioes.scheme == "bioes"
    assert bioes.labels.tolist()[:2] == ["B-PER", "E-PER"]
    plain = parse_jsonl('{"text": "a b", "document": "n"}\n{"text": ""}\n')
    assert not plain.labelled
    assert plain.names == ("n", "")
    assert parse_jsonl(format_jsonl(plain)) == plain


def test_jsonl_form(people):
    assert parse_jsonl(format_jsonl(people, form="text")).spans() == people.spans()
    corpus = parse_jsonl('{"text": "Ada slept.", "spans": [[0, 3, "PER"]]}')
    assert '"tokens"' in format_jsonl(corpus, form="tokens")
    assert '"tokens"' in format_jsonl(corpus.with_column("pos", Column.constant("X", 3)))
    assert '"tokens"' in format_jsonl(corpus.with_labels(Column.constant("X", 3)))
    with pytest.raises(CorpusError, match="form must be"):
        format_jsonl(people, form="x")
    with pytest.raises(CorpusError, match="another use for the name 'tokens'"):
        format_jsonl(people.with_column("tokens", people.words))


TOKENS = '{"tokens": ["a"], "labels": ["O"]}\n'
TEXT = '{"text": "a b", "spans": []}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TOKENS + "{", "x:2: not JSON"),
        ("[" * 100_000, "x:1: not JSON"),
        ("1" * 5000, "x:1: not JSON"),
        ("[]", "x:1: wanted a JSON object, got a list"),
        ('{"a": 1}', 'x:1: the object has neither "tokens" nor "text"'),
        ('{"tokens": "a"}', 'x:1: "tokens" must be a list of strings'),
        ('{"tokens": [["a"], "b"]}', 'x:1: "tokens" must be lists of strings'),
        ('{"tokens": ["a"], "labels": [1]}', 'x:1: "labels" must be a list of strings'),
        ('{"tokens": ["a"], "labels": []}', "x:1: label and tokens differ in length"),
        ('{"tokens": ["a"], "document": 1.5}', 'x:1: "document" must be a string or a number'),
        ('{"tokens": ["\\ud800"]}', r"x:1: a \\u escape spells half a character"),
        (TOKENS + '{"tokens": ["a"]}', "x:2: columns word, but the first line has word, label"),
        (TOKENS + '{"text": "a"}', "x:2: a text among lines with tokens"),
        (TEXT + TOKENS, 'x:2: "text" must be a string'),
        (TEXT + '{"text": "a"}', 'x:2: no "spans", unlike the first line'),
        ('{"text": "a"}\n' + TEXT, 'x:2: "spans", unlike the first line'),
        ('{"text": "a", "spans": 1}', 'x:1: "spans" must be a list'),
        ('{"text": "a", "spans": [[0, true, "X"]]}', r'x:1: wanted a span \[start, end, "TYPE"\]'),
        ('{"text": "a", "spans": [{"start": 0}]}', "x:1: wanted a span"),
        ('{"text": "a b", "spans": [[0, 3, "X"], [2, 3, "Y"]]}', "x:1: the Y 2:3 'b' overlaps"),
        ('{"text": "a b", "spans": [[0, 9, "X"]]}', "x:1: the X 0:9 lies outside the text of 3"),
        ('{"text": "a b", "spans": [[1, 2, "X"]]}', "x:1: the X 1:2 is empty"),
        ('{"text": "a b", "spans": [[0, 1, ""]]}', "x:1: the span 0:1 has no type"),
        ('{"text": " ", "spans": []}', "x: there is not one token"),
        ('{"text": " "}', "x: there is not one token"),
        ('{"tokens": []}', "x: there is not one token"),
        ("\n", "x: the file is empty"),
    ],
)
def test_bad_jsonl(text, message):
    with pytest.raises(ReadError, match=message):
        parse_jsonl(text, "x")


# Tagged text -------------------------------------------------------------------------------------


def test_inline():
    text = "<who>Ada &amp; Bo</who> met\nat <3 pm> &lt;x&gt; <where> Hall 3</where>. <p>\n"
    corpus = parse_inline(text)
    assert corpus.texts == ("Ada & Bo met\nat <3 pm> <x>  Hall 3. <p>\n",)
    words = corpus.words.tolist()
    assert [(words[a:b], kind) for a, b, kind in corpus.spans()] == [
        (["Ada", "&", "Bo"], "who"),
        (["Hall", "3"], "where"),
    ]
    assert parse_inline(format_inline(corpus)) == corpus
    assert parse_inline("no tags at all").labels.tolist() == ["O"] * 4


@pytest.mark.parametrize("text", ["a &lt; b", "&amp;", "<p>x</p>", "&amp;lt;", "& <"])
def test_text_that_looks_like_markup(text):
    corpus = parse_plain(text).with_labels(Column.constant("O", parse_plain(text).n_tokens), "iob2")
    assert parse_inline(format_inline(corpus)).texts == (text,)


def test_inline_tags_and_ignored_tags():
    text = "<p><s>Talk by <who>Ada</who></s>.</p> <s>At <when>3</when></s>"
    corpus = parse_inline(text, ignore=["p", "<s>"])
    assert corpus.texts == ("Talk by Ada. At 3",)
    only = parse_inline(text, tags=["when"])
    assert only.texts == ("<p><s>Talk by <who>Ada</who></s>.</p> <s>At 3</s>",)
    assert parse_inline(format_inline(only)) == only
    for option in ("tags", "ignore"):
        with pytest.raises(CorpusError, match=f"{option} must be a list of tags"):
            parse_inline(text, **{option: "who"})


def test_no_sentence_ends_within_a_span():
    corpus = parse_inline("We met. <t>It is. We are.</t> Bye now.")
    assert corpus.sentences.tolist() == [0, 3, 9, 12]


def test_inline_lines():
    text = "<a>A. Cau.</a> <t>On it. Or not.</t>\n\n<a>Bo</a> <t>Yes</t>\n"
    corpus = parse_inline(text, lines=True)
    assert (corpus.n_documents, len(corpus)) == (2, 2)
    assert format_inline(corpus, lines=True) == text.replace("\n\n", "\n")
    with pytest.raises(CorpusError, match="holds one document, got 2; say lines=True"):
        format_inline(corpus)
    with pytest.raises(CorpusError, match="document 0 has line ends or no text"):
        format_inline(parse_inline("a\nb"), lines=True)
    with pytest.raises(CorpusError, match="the type 'a b' cannot be a tag"):
        format_inline(Corpus.of([["x"]], [["B-a b"]], scheme="iob2"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n<p><q>b</q></p>", "x:2: <q> inside <p>; spans cannot nest"),
        ("<p>a</p>\n<p>b", "x:2: <p> is never closed"),
        ("\n\na</p>", "x:3: </p> closes what was not opened; nothing is open"),
        ("<p>a</q></p>", "x:1: </q> closes what was not opened; <p> is open"),
        ("<p> </p> a", "x: the p 0:1 is empty"),
        (" \n", "x: the file is empty"),
    ],
)
def test_bad_inline(text, message):
    with pytest.raises(ReadError, match=message):
        parse_inline(text, "x")


# OpenNLP -----------------------------------------------------------------------------------------


def test_opennlp(people):
    text = "<START:person> Ada Lee <END> slept .\r\n\n\n<START> Bo <END>\tleft"
    corpus = parse_opennlp(text)
    assert corpus.spans().tolist() == [(0, 2, "person"), (4, 5, "default")]
    assert corpus.documents.tolist() == [0, 1, 2]
    assert parse_opennlp(format_opennlp(corpus)) == corpus
    assert parse_opennlp(format_opennlp(people)) == people
    assert parse_opennlp(text, scheme="bilou").labels.tolist()[0] == "B-person"
    assert parse_opennlp(format_opennlp(people.without_labels())).words == people.words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n<START:x> <START:y> b <END>", "x:2: <START:y> inside a span"),
        ("a <END>", "x:1: <END> without <START>"),
        ("<START> <END>", "x:1: the span of type default is empty"),
        ("<START> a\nb <END>", "x:1: <START> without <END> on the same line"),
        ("\n", "x: the file is empty"),
    ],
)
def test_bad_opennlp(text, message):
    with pytest.raises(ReadError, match=message):
        parse_opennlp(text, "x")


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        (Corpus.of([["a b"]]), "cannot hold the word 'a b' of token 0"),
        (Corpus.of([["a", "<END>"]]), "cannot hold the word '<END>' of token 1"),
        (Corpus.of([["<START:x>"]]), "cannot hold the word"),
        (Corpus.of([["a"], []]), "sentence 1 is empty"),
        (Corpus.of([["a"]], [["B-x y"]], scheme="iob2"), "cannot hold the type 'x y' at token 0"),
        (Corpus.of([["a"]], [["NN"]], scheme="none"), "the labels have no scheme"),
    ],
)
def test_what_opennlp_cannot_hold(corpus, message):
    with pytest.raises(CorpusError, match=message):
        format_opennlp(corpus)


# brat --------------------------------------------------------------------------------------------


def brat(folder: Path, ann: str, text: str = "Ada Lee\nslept.", name: str = "x") -> Path:
    (folder / f"{name}.txt").write_bytes(text.encode())
    (folder / f"{name}.ann").write_text(ann)
    return folder / f"{name}.ann"


def test_brat_pair(tmp_path):
    path = brat(tmp_path, ["T1\tPer 0 7\tAda Lee\n", "\tV 4 13\tLee slept\n"][0])
    corpus = read_brat(path)
    assert corpus == read_brat(tmp_path / "x.txt") == read_brat(tmp_path)
    assert corpus.names == ("x",)
    assert corpus.spans().tolist() == [(0, 2, "Per")]
    write_brat(corpus, tmp_path / "y.ann")
    assert (tmp_path / "y.ann").read_text() == "T1\tPer 0 7\tAda Lee\n"
    assert (tmp_path / "y.txt").read_text() == corpus.texts[0]
    across = read_brat(brat(tmp_path, "T1\tV 4 13\tLee slept\n", name="z"))
    assert across.spans().tolist() == [(1, 3, "V")]


def test_brat_folder(tmp_path, people):
    write(people, tmp_path / "out", "brat")
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "1.ann",
        "1.txt",
        "2.ann",
        "2.txt",
    ]
    again = read(tmp_path / "out")
    assert again.spans() == people.spans()
    assert again.n_documents == 2
    with pytest.raises(SkipchainError, match=r"1\.txt exists already"):
        write(people, tmp_path / "out", "brat")
    with pytest.raises(CorpusError, match="a brat pair holds one document, got 2; name a folder"):
        write(people, tmp_path / "x.ann")
    with pytest.raises(CorpusError, match="brat needs two files a document"):
        write(people, "-", "brat")
    with pytest.raises(SkipchainError, match="cannot make the folder"):
        write(people, tmp_path / "a" / "b", "brat")
    with pytest.raises(CorpusError, match="brat cannot hold the type 'a b'"):
        write(Corpus.of([["x"]], [["B-a b"]], scheme="iob2"), tmp_path / "x.ann")


def test_brat_leaves_other_lines_out(tmp_path):
    path = brat(tmp_path, "T1\tPer 0 3\tAda\nR1\tr Arg1:T1 Arg2:T1\n#1\tNote T1\thm\n\nA1\tx T1\n")
    with pytest.warns(UserWarning, match="left out: 1 #, 1 A, 1 R"):
        assert len(read_brat(path).spans()) == 1


@pytest.mark.parametrize(
    ("ann", "message"),
    [
        ("T1\tPer 0 3;4 7\tAda Lee\n", "x.ann:1: a span in several pieces"),
        ("T1\tPer 0\n", "x.ann:1: wanted 'T1<TAB>TYPE START END<TAB>TEXT'"),
        ("\nT1\tPer 0 3\tBob\n", "x.ann:2: T1 says 'Bob', but the text has 'Ada' at 0:3"),
        ("what\n", "x.ann:1: 'what' is no annotation"),
        ("T1\tP 0 3\tAda\nT2\tQ 0 7\tAda Lee\n", "overlaps"),
        ("T1\tP 0 99\n", "lies outside"),
    ],
)
def test_bad_brat(tmp_path, ann, message):
    with pytest.raises(ReadError, match=message):
        read_brat(brat(tmp_path, ann))


def test_missing_brat_files(tmp_path):
    with pytest.raises(ReadError, match=r"this folder has no \.ann files"):
        read_brat(tmp_path)
    with pytest.raises(ReadError, match=r"x.txt: this half of the brat pair is missing"):
        read_brat(tmp_path / "x.ann")
    (tmp_path / "x.txt").write_text("a")
    with pytest.raises(ReadError, match=r"x.ann: this half of the brat pair is missing"):
        read_brat(tmp_path / "x.txt")
    with pytest.raises(ReadError, match=r"end in .txt and .ann"):
        read_brat(tmp_path / "x")
    with pytest.raises(ReadError, match="the text is empty"):
        read_brat(brat(tmp_path, "", text="\n"))


# CRFsuite ----------------------------------------------------------------------------------------


def test_crfsuite(tmp_path):
    X = [[{"w=a:b": 1.0, "c\\d": -0.5, "\\": 2.0}, {}], [{"x": 1e-300}]]
    y = [["B:1", "O"], [""]]
    write_crfsuite(X, y, tmp_path / "a")
    assert (tmp_path / "a").read_text().startswith("B\\:1\tw=a\\:b\tc\\\\d:-0.5\t\\\\:2.0\nO\n\n")
    assert read_crfsuite(tmp_path / "a") == (X, y)


def test_crfsuite_reads_what_crfsuite_reads(tmp_path):
    (tmp_path / "a").write_text("\n\nO\ta\ta:2\t\tb\\x\r\n\n\n\n")
    assert read_crfsuite(tmp_path / "a") == ([[{"a": 3.0, "b\\x": 1.0}]], [["O"]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("O\ta:nan", "a:1: the weight of 'a' is nan"),
        ("O\n\nO\ta:1e999", "a:3: the weight of 'a' is 1e999"),
        ("O\ta:b:c", "a:1: 'b:c' is no weight for 'a'"),
        ("O\ta:", "a:1: '' is no weight"),
        ("O\t:1", "a:1: ':1' is a weight without a name"),
        ("O\ta:1e308\ta:1e308", "a:1: the weights of 'a' add up to infinity"),
        ("\n", "a: the file is empty"),
    ],
)
def test_bad_crfsuite(tmp_path, text, message):
    (tmp_path / "a").write_text(text)
    with pytest.raises(ReadError, match=message):
        read_crfsuite(tmp_path / "a")


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[{}]], [], "X has 1 sequences, but y has 0"),
        ([[{}]], [[]], "sequence 0 has 1 items, but 0 labels"),
        ([[]], [[]], "sequence 0 is empty"),
        ([], [], "no sequences to write"),
        ([[{}]], [[""]], "neither label nor attributes"),
        ([[{}]], [[" "]], "nothing but white space"),
        ([[{"": 1}]], [["O"]], "an attribute has no name"),
        ([[{"a": float("inf")}]], [["O"]], "the weight of 'a' is inf"),
        ([[{"a\tb": 1}]], [["O"]], r"cannot hold the attribute 'a\\tb'"),
        ([[{"a": 1}]], [["\n"]], r"cannot hold the label '\\n'"),
    ],
)
def test_what_crfsuite_cannot_hold(tmp_path, X, y, message):
    with pytest.raises(CorpusError, match=message):
        write_crfsuite(X, y, tmp_path / "a")


# Plain text and the tokeniser --------------------------------------------------------------------


def sentences(text: str) -> list[str]:
    tokens = tokenize(text)
    words, bounds = tokens.words(text), tokens.sentences.tolist()
    return [" ".join(words[a:b]) for a, b in pairwise(bounds)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. J. R. Lee's dog didn't bark.", "Mr. J. R. Lee 's dog did n't bark ."),
        ("They'd've, cannot, I'm, we’ll", "They 'd 've , can not , I 'm , we ’ll"),
        (
            "The U.S. grew 3.14%, e.g. by $1,000 (at 3:30).",
            "The U.S. grew 3.14 % , e.g. by $ 1,000 ( at 3:30 ) .",
        ),
        (
            "See http://a.org/x?y=1, www.b.de. Or a.b@c.de!",
            "See http://a.org/x?y=1 , www.b.de .|Or a.b@c.de !",
        ),
        ("well-known O'Neill of AT&T--he... left", "well-known O'Neill of AT&T -- he ... left"),
        ("On 1996-08-22 in the '90s, the 5th", "On 1996-08-22 in the '90s , the 5th"),
        (
            "@joe likes #tags, not #1 \U0001f44d\U0001f3fd\U0001f600",
            "@joe likes #tags , not # 1 \U0001f44d\U0001f3fd \U0001f600",
        ),
        ("``Yes,'' he said.", "`` Yes , '' he said ."),
        (
            'He left. "She stayed." Then (oh!) he came? 3 did',
            'He left .|" She stayed . "|Then ( oh ! ) he came ?|3 did',
        ),
        ("It is No. 5. I said no. He too.", "It is No. 5 .|I said no .|He too ."),
        ("So do I. Yahoo! is big. Dr. No won.", "So do I .|Yahoo ! is big .|Dr. No won ."),
        (
            "He joined Acme Inc. The firm fell. In the U.S. Senate",
            "He joined Acme Inc.|The firm fell .|In the U.S. Senate",
        ),
        ("A TITLE\n\nsome text\n \nmore\nhere", "A TITLE|some text|more here"),
        ("你好。再见！ 好", "你好 。|再见 ！|好"),
        ("end.Next Ph.D. x.y", "end . Next Ph.D. x.y"),
        ("cafe\u0301 नमस्ते", "cafe\u0301 नमस्ते"),
        ("Wait... What?! No", "Wait ...|What ? !|No"),
    ],
)
def test_tokens(text, expected):
    assert sentences(text) == expected.split("|")


def test_tokens_of_nothing():
    assert tokenize(" \n").sentences.tolist() == [0]
    assert len(tokenize("").starts) == 0


def test_cuts():
    tokens = tokenize("abc de. Fg", cuts=[1, 2, 3, 4, 9, 99])
    assert tokens.words("abc de. Fg") == ["a", "b", "c", "de", ".", "F", "g"]
    assert tokens.sentences.tolist() == [0, 5, 7]


@pytest.mark.parametrize(
    "piece", ["a..b", "www.", "a.b@", "'s", "!", "No. 5 ", "A.", "n't", "\n \n", "-1", "@a", "''"]
)
def test_the_tokeniser_takes_linear_time(piece):
    # Were it quadratic, this would take minutes.
    text = piece * (200_000 // len(piece))
    assert len(tokenize(text).ends) == len(tokenize(text).starts)


def test_plain_text(tmp_path):
    text = "Ada slept. \r\nBo\u00a0left.\n\n"
    (tmp_path / "a.txt").write_bytes(text.encode())
    corpus = read(tmp_path / "a.txt")
    assert corpus.words.tolist() == ["Ada", "slept", ".", "Bo", "left", "."]
    assert (corpus.starts[3], corpus.ends[3]) == (13, 15)
    write(corpus, tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_bytes() == text.encode()
    assert read(tmp_path / "b.txt", "text") == corpus
    with pytest.raises(CorpusError, match="holds one document, got 2"):
        format_plain(Corpus.of([["a"], ["b"]], documents=[1, 1]))
    with pytest.raises(ReadError, match="x: the file is empty: it holds only white space"):
        parse_plain(" \n", "x")
    with pytest.raises(ReadError, match="no labels to read as iob2"):
        parse_plain("a", "x", scheme="iob2")


def test_running_text(people):
    assert passages_of(people, sensible=True)[0].text == "Ada Lee slept.\nBo left"
    assert passages_of(people)[0].spans == [(0, 7, "PER"), (16, 18, "PER")]
    assert corpus_of([Passage("a", [])]).labels.tolist() == ["O"]


# HTML --------------------------------------------------------------------------------------------


def test_html(tmp_path, people):
    page = format_html(people, title="<T>", confidences=[0.5, 0.25, 1.0])
    assert "<title>&lt;T&gt;</title>" in page
    assert 'title="PER, confidence 50%">Ada Lee<small>PER</small></mark> slept.' in page
    assert page.count("<h2>") == 2
    assert "2 documents, 3 sentences, 10 tokens" in page
    assert "prefers-color-scheme: dark" in page
    assert "http" not in page  # nothing is fetched
    write(replace(people, names=("a&b", "c")), tmp_path / "a.html")
    assert "<h2>a&amp;b</h2>" in (tmp_path / "a.html").read_text()
    with pytest.raises(CorpusError, match="1 confidences, but there are 3 spans"):
        format_html(people, confidences=[1.0])


def test_html_is_well_formed_and_escaped(people):
    from html.parser import HTMLParser

    class Outline(HTMLParser):
        def __init__(self):
            super().__init__()
            self.open, self.text = [], ""

        def handle_starttag(self, tag, attrs):
            if tag != "meta":
                self.open.append(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

        def handle_data(self, data):
            self.text += data

    nasty = Corpus.of([["<script>", "a&b", '"']], [['B-<"x>', "O", "B-y"]], scheme="iob2")
    outline = Outline()
    outline.feed(format_html(nasty))
    assert not outline.open
    assert '<script><"x> a&b' in outline.text


def test_html_of_other_labels(people):
    tags = Corpus.of([["the", "cat"]], [["DT", "NN"]], scheme="none")
    assert "the<small>DT</small>" in format_html(tags)
    assert '<ul class="legend"' not in format_html(people.without_labels())


# Recognition -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.conll", "", "conll"),
        ("a.CONLL.gz", "", "conll"),
        ("a.conllu.xz", "", "conllu"),
        ("a.jsonl", "", "jsonl"),
        ("a.sgml", "", "inline"),
        ("a.ann", "", "brat"),
        ("eng.train", "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\n", "conll"),
        ("a.txt", "Ada\tB-PER\n", "conll"),
        ("x.pos", "# doc 1\na\tDT\nb\tNN\nc\tNN\nd\tNN\n\ne\tDT\nf\tDT\n", "conll"),
        ("a", UD, "conllu"),
        ("a", ' {"tokens": ["a"]}', "jsonl"),
        ("a.train", "<START:person> Ada <END> slept .\n", "opennlp"),
        ("a.txt", "Ada met <who>Bo</who> there.", "inline"),
        ("a.txt", "Ada slept.", "text"),
        ("a.txt", "Ada slept.\nBo left.", "text"),
        ("a", "Ada slept.\nBo did not.", "text"),
        ("a.txt", "word\n\nword\n", "text"),
    ],
)
def test_recognition(name, content, expected):
    assert (format_of_path(name) or format_of_text(content, name)) == expected


def test_recognition_looks_at_whole_lines_only():
    from skipchain.io.detect import SAMPLE

    assert format_of_text("Ada B-PER\n" * SAMPLE, "a") == "conll"


def test_recognition_asks_rather_than_guesses(tmp_path):
    with pytest.raises(ReadError, match="neither the ending nor the content tells the format"):
        format_of_text("Ada slept.\nBo did not.", "a.pdf")
    with pytest.raises(ReadError, match=r"every line has 2 words: .* say which with format="):
        format_of_text("Ada slept\nBo left\nCy ran\n", "a.txt")
    path = tmp_path / "a.txt"
    path.write_text("Ada slept\nBo left\nCy ran\n")
    assert read(path, "text").n_tokens == 6
    assert read(path, "conll").n_tokens == 3


@pytest.mark.parametrize(
    ("name", "labelled", "expected"),
    [("a.conll", True, "conll"), ("a.html.gz", True, "html"), ("a.txt", False, "text")],
)
def test_targets(name, labelled, expected):
    assert format_to_write(name, labelled=labelled) == expected


def test_targets_that_do_not_tell(people, tmp_path):
    with pytest.raises(CorpusError, match="plain text would lose the labels; say which"):
        write(people, tmp_path / "a.txt")
    with pytest.raises(CorpusError, match="the ending does not tell"):
        write(people, "-")
    with pytest.raises(CorpusError, match="unknown format 'x'; the formats are conll, "):
        write(people, tmp_path / "a", "x")
    with pytest.raises(CorpusError, match="unknown format 'x'"):
        read(tmp_path / "a", "x")
    with pytest.raises(ReadError, match="html can be written, but not read"):
        read(tmp_path / "a.html")
    with pytest.raises(CorpusError, match="the format conll has no option 'lines'; it has sep"):
        write(people, tmp_path / "a.conll", lines=True)
    (tmp_path / "b.jsonl").write_text(TOKENS)
    with pytest.raises(CorpusError, match="the format jsonl has no option 'columns'"):
        read(tmp_path / "b.jsonl", columns=("word",))


@pytest.mark.parametrize("format", [name for name in FORMATS if name not in ("brat", "html")])
def test_empty_files(tmp_path, format):
    path = tmp_path / "a"
    for content in ("", "\ufeff", " \r\n\t\n"):
        path.write_text(content)
        with pytest.raises(ReadError, match="a: the file is empty"):
            read(path, format)
    with pytest.raises(ReadError, match="a: the file is empty"):
        read(path)


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_by_name(tmp_path, format, people):
    corpus = people.document(0)
    path = tmp_path / "a"
    write(corpus, path, format)
    if format == "html":
        return
    again = read(path, format)
    assert again.words == corpus.words
    if format not in ("text", "conllu"):
        assert again.spans() == corpus.spans()


def test_corpus_writes_itself(tmp_path, people):
    people.write(tmp_path / "a.jsonl.xz")
    assert read(tmp_path / "a.jsonl.xz") == people


@pytest.mark.parametrize("format", ["jsonl", "inline", "text", "conllu"])
def test_odd_white_space_is_no_token(tmp_path, format):
    (tmp_path / "a").write_text("\u3000\n")
    with pytest.raises(ReadError, match=r"not one token|not JSON|10 columns"):
        read(tmp_path / "a", format, **({"lines": True} if format == "inline" else {}))


def test_odd_white_space_can_be_a_word():
    corpus = Corpus.of([["\u3000"], ["\x0b"]])
    assert parse_conll(format_conll(corpus)) == corpus


def test_unknown_attribute():
    import skipchain.io

    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = skipchain.io.nothing


@pytest.mark.parametrize("format", ["conll", "conllu", "jsonl", "inline", "opennlp", "text"])
def test_readers_take_paths(tmp_path, format):
    with pytest.raises(ReadError, match="there is no such file"):
        read(tmp_path / "nowhere", format)


# Data sets ---------------------------------------------------------------------------------------


@pytest.mark.data("conll2003")
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("eng.train.gz", (946, 14_041, 203_621)),
        ("eng.testa.gz", (216, 3_250, 51_362)),
        ("eng.testb.gz", (231, 3_453, 46_435)),
    ],
)
def test_conll2003_byte_for_byte(data_path, name, counts):
    path = data_path(f"conll2003/{name}")
    corpus = read(path)
    assert (corpus.n_documents, len(corpus), corpus.n_tokens) == counts
    assert (corpus.scheme, corpus.names) == ("iob1", None)
    text = format_conll(corpus)
    assert text == read_text(path)
    assert parse_conll(text) == corpus


@pytest.mark.data("ud-ewt")
@pytest.mark.parametrize("part", ["dev", "test"])
def test_ud_byte_for_byte(data_path, part):
    path = data_path(f"ud-ewt/en_ewt-ud-{part}.conllu.xz")
    corpus = read(path)
    counts = {"dev": (318, 2_001, 25_147), "test": (316, 2_077, 25_094)}
    assert (corpus.n_documents, len(corpus), corpus.n_tokens) == counts[part]
    assert format_conllu(corpus) == read_text(path)
    assert len(set(corpus.names)) == corpus.n_documents
    cut = int(corpus.documents[9])
    assert format_conllu(corpus[:cut]) + format_conllu(corpus[cut:]) == read_text(path)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "counts", "scheme"),
    [
        ("wikigold/wikigold.conll.txt.gz", (145, 1_696, 39_007), "iob1"),
        ("wnut17/wnut17train.conll.gz", (1, 3_394, 62_730), "iob2"),
        ("wnut17/emerging.dev.conll.gz", (1, 1_009, 15_733), "iob2"),
        ("wnut17/emerging.test.annotated.gz", (1, 1_287, 23_394), "iob2"),
        ("btc/a.conll.gz", (1, 1_000, 16_612), "iob2"),
        ("btc/b.conll.gz", (1, 2_000, 30_825), "iob2"),
        ("btc/e.conll.gz", (1, 200, 3_981), "iob2"),
        ("btc/f.conll.gz", (1, 2_000, 35_427), "iob2"),
        ("btc/g.conll.gz", (1, 2_138, 34_062), "iob2"),
        ("btc/h.conll.gz", (1, 2_001, 29_480), "iob2"),
        ("gmb/gmb-ner.conll.xz", (1, 47_959, 1_048_575), "iob2"),
        ("sec-filings/FIN3.txt.gz", (3, 303, 13_246), "iob1"),
        ("sec-filings/FIN5.txt.gz", (5, 1_164, 41_010), "iob1"),
        ("conll2000/train.txt.gz", (1, 8_936, 211_727), "iob2"),
        ("conll2000/test.txt.gz", (1, 2_012, 47_377), "iob2"),
        ("ptb-sample/wsj-sample.pos.gz", (199, 3_914, 94_084), None),
        ("cora-refs/hosemicrf_ref.train.gz", (1, 300, 9_696), "bare"),
        ("conll2003/conllpp_test.txt.gz", (231, 3_453, 46_435), "iob2"),
    ],
)
def test_column_data_sets(data_path, name, counts, scheme):
    corpus = read(data_path(name))
    assert (corpus.n_documents, len(corpus), corpus.n_tokens) == counts
    assert corpus.scheme == scheme
    assert parse_conll(format_conll(corpus)) == corpus


@pytest.mark.data("cmu-seminars")
def test_seminars(data_path, tmp_path):
    with tarfile.open(data_path("cmu-seminars/cmu-seminars.tar.gz")) as archive:
        members = [member for member in archive if member.isfile()]
        archive.extractall(tmp_path, members[::8], filter="data")
    spans = 0
    for path in sorted(tmp_path.rglob("*.txt")):
        corpus = read(path, "inline", ignore=("sentence", "paragraph"))
        found = corpus.spans()
        assert set(found.names) <= {"speaker", "location", "stime", "etime"}
        spans += len(found)
        text = read_text(path).replace("</", "<")
        for tag in ("sentence", "paragraph", *found.names):
            text = text.replace(f"<{tag}>", "")
        assert corpus.texts == (text,)
        assert parse_inline(format_inline(corpus), tags=found.names) == corpus
    assert spans > 200


@pytest.mark.data("cora-refs")
def test_cora(data_path):
    path = data_path("cora-refs/tagged_references.txt")
    corpus = read(path, lines=True)
    assert (corpus.n_documents, len(corpus)) == (500, 500)
    found = corpus.spans()
    assert len(found) == 2_778
    assert [kind for _, _, kind in found].count("author") == 490
    assert parse_inline(format_inline(corpus, lines=True), lines=True) == corpus
