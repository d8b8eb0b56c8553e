"""Character sets: named, shown by a mark, refused; on every way in."""

from __future__ import annotations

import codecs
import encodings.aliases
import gzip
import io
import lzma
import re
import shlex
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from skipchain import Corpus, load, read
from skipchain.cli.app import app
from skipchain.errors import ParameterError, ReadError, SkipchainError
from skipchain.io import charsets
from skipchain.io.charsets import Utf8File, check_charset, decode_text
from skipchain.io.streams import numbered_lines

ROOT = get_command(app)
COLUMNS = "Zoë B-PER\nslept O\n\nÅsa B-PER\n"
ZOE = ["Zoë", "slept", "Åsa"]
WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
MARKED = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
PACKERS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}


def marked(text, charset):
    return MARKED[charset] + text.encode(charset)


@pytest.mark.parametrize("charset", ["latin-1", "cp1252", "mac-roman", *WIDE])
def test_a_file_in_a_charset_that_is_named(tmp_path, charset):
    path = tmp_path / "names.conll"
    path.write_bytes(COLUMNS.encode(charset))
    assert read(path, charset=charset).words.tolist() == ZOE


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("charset", MARKED)
def test_utf16_and_utf32_are_recognised_by_their_mark(tmp_path, charset, ending):
    path = tmp_path / f"names.conll{ending}"
    path.write_bytes(PACKERS[ending](marked(COLUMNS, charset)))
    assert read(path).words.tolist() == ZOE
    assert read(path, charset="latin-1").words.tolist() == ZOE  # the mark counts more


@pytest.mark.parametrize("charset", MARKED)
def test_marks_on_standard_input(run, charset):
    code, out, err = run("convert", "-", "-", "--to", "jsonl", stdin=marked(COLUMNS, charset))
    assert (code, '"Zoë"' in out) == (0, True), err


def test_every_command_that_reads_files_takes_a_charset():
    for name in ROOT.list_commands(None):
        command = ROOT.get_command(None, name)
        for own in getattr(command, "commands", {"": command}).values():
            options = {option for param in own.params for option in param.opts}
            assert ("--charset" in options) >= ("--columns" in options), own.name


def test_the_error_of_a_file_in_latin1_names_the_option_that_reads_it(tmp_path, run):
    file = tmp_path / "names.conll"
    file.write_bytes((COLUMNS * 20).encode("latin-1"))
    for line in (
        f"train {file} -o {tmp_path}/m.skip --features word --set epochs=1",
        f"eval {file} {file}",
        f"tag {file}",
        f"tag {file} --format jsonl",
        f"explain --file {file} --token 1",
        f"convert {file} {tmp_path}/out.jsonl",
        f"brown {file} -o {tmp_path}/a.paths --min-count 1 -c 2",
        f"brown {file} --tokenised -o {tmp_path}/b.paths --min-count 1 -c 2",
        f"ngrams count {file} -o {tmp_path}/counts --orders 1",
    ):
        code, _, err = run(*shlex.split(line))
        assert code == 2, line
        assert "names.conll:1: invalid UTF-8 byte 0xeb; is the file latin-1?" in err
        advice = re.search(r"\((--charset .*)\)", err)[1]
        code, _, err = run(*shlex.split(f"{line} {advice}"))
        assert code == 0, (line, err)


def test_counts_of_ngrams_take_a_charset(tmp_path, run):
    file = tmp_path / "counts.tsv"
    file.write_bytes("Zoë\t7\n".encode("utf-16-le"))
    code, _, err = run("ngrams", "import", file, "-o", tmp_path / "store")
    assert code == 2
    assert "if it is UTF-16, say so with charset= (--charset utf-16-le)" in err
    args = ("ngrams", "import", file, "-o", tmp_path / "store", "--charset", "utf-16-le")
    assert run(*args)[0] == 0
    assert "Zoë" in run("ngrams", "query", tmp_path / "store", "*")[1]


@pytest.mark.parametrize(
    ("data", "charset", "fault"),
    [
        (b"x O\ncaf\xe9 O\n", None, r"a:2: invalid UTF-8 byte 0xe9; is the file latin-1\?"),
        (b"\xef\xbb\xbf\ncaf\xe9\n", None, r"a:2: invalid UTF-8 byte 0xe9"),
        (b"\x93x\x94 O\n", None, r"a:1: .* is the file cp1252\? .*--charset cp1252"),
        (b"x O\n\x81 O\n", "cp1252", "a:2: invalid CP1252 byte 0x81; name the right one"),
        (marked("x O\ny O\n", "utf-16-le")[:-1], None, "a:2: invalid UTF-16-LE byte 0x0a"),
        (b"a O\nb \x00\n", None, "a:2: a NUL byte; is this a text file.$"),
        ("a O\nb O\n".encode("utf-16-le"), None, r"a:1: a NUL byte; .* \(--charset utf-16-le\)"),
        ("a O\nb O\n".encode("utf-16-be"), None, r"a:1: a NUL byte; .* \(--charset utf-16-be\)"),
        (marked("a O\n\nb \0\n", "utf-16-be"), None, "a:3: a NUL byte"),
        ("a O\nb \0 O\n".encode("utf-32-le"), "utf-32-le", "a:2: a NUL byte"),
        (codecs.BOM_UTF16_LE, None, "the file is empty"),
        (b"\xff\xfe\0", None, "a:1: invalid UTF-16-LE byte 0x00"),
        (b"\0", None, "a:1: a NUL byte"),
    ],
)
def test_bytes_that_are_no_text(tmp_path, data, charset, fault):
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(ReadError, match=fault):
        read(path, "conll", charset=charset)


def test_resources_that_take_no_charset_advise_to_convert_them(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"x\ncaf\xe9\n")
    advice = (
        "a.txt:2: invalid UTF-8 byte 0xe9; is the file latin-1. convert it: iconv -f iso-8859-1"
    )
    with pytest.raises(ReadError, match=advice):
        list(numbered_lines(path))
    path.write_bytes("a\nb\n".encode("utf-16-le"))
    with pytest.raises(ReadError, match=r"a NUL byte; is this a text file\?$"):
        list(numbered_lines(path))


@pytest.mark.parametrize(
    "name",
    ["rot13", "base64", "hex", "zip", "bz2", "uu", "quopri", "idna", "punycode", "unicode_escape",
     "raw_unicode_escape", "undefined", "utf-7", "klingon", "", "a\0b", "\ud800", "x" * 9999, 7],
)  # fmt: skip
def test_what_is_no_charset_is_refused_before_the_file_is_read(name):
    with pytest.raises(ParameterError, match="is no character set; name one that Python knows"):
        read("nowhere", charset=name)
    with pytest.raises(ParameterError, match="is no character set"):
        load().tag_file("nowhere", "nothing", charset=name)


def test_an_unknown_charset_on_the_command_line(tmp_path, run):
    code, _, err = run("convert", tmp_path / "a.conll", "-", "--charset", "rot13")
    assert code == 2
    assert "'rot13' is no character set; name one that Python knows, such as utf-8" in err


def test_a_brat_folder_in_latin1(tmp_path):
    (tmp_path / "a.txt").write_bytes("Zoë slept.".encode("latin-1"))
    (tmp_path / "a.ann").write_bytes("T1\tPER 0 3\tZoë\n".encode("latin-1"))
    with pytest.raises(ReadError, match=r"a.txt:1: invalid UTF-8 byte 0xeb; .*--charset latin-1"):
        read(tmp_path)
    assert read(tmp_path, charset="latin-1").spans().tolist() == [(0, 1, "PER")]


@pytest.mark.parametrize("charset", ["latin-1", *MARKED])
def test_files_are_tagged_alike_in_every_charset(tmp_path, charset, monkeypatch):
    monkeypatch.setattr("skipchain.lookup.column_file.SMALL", 0)
    (tmp_path / "utf8.conll").write_text(COLUMNS)
    data = COLUMNS.encode(charset) if charset == "latin-1" else marked(COLUMNS, charset)
    (tmp_path / "other.conll").write_bytes(data)
    for name in ("utf8", "other"):
        named = charset if (name, charset) == ("other", "latin-1") else None
        load().tag_file(tmp_path / f"{name}.conll", tmp_path / name, charset=named)
    assert (tmp_path / "other").read_bytes() == (tmp_path / "utf8").read_bytes()
    assert "Zoë" in (tmp_path / "other").read_text(encoding="utf-8")


@pytest.mark.parametrize("charset", MARKED)
def test_marks_are_taken_off_once(tmp_path, charset):
    path = tmp_path / "a.conll"
    path.write_bytes(marked("\ufeffAda O\n", charset))
    assert read(path).words.tolist() == ["\ufeffAda"]
    load().tag_file(path, tmp_path / "tagged.conll")
    assert read(tmp_path / "tagged.conll").words.tolist() == ["\ufeffAda"]


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=40),
    st.sampled_from(sorted(MARKED)),
    st.integers(1, 7),
)
def test_streams_give_what_whole_files_give(text, charset, size):
    data = marked(text, charset)

    class Slow(io.RawIOBase):
        """A file that gives a few bytes at a time."""

        def __init__(self):
            self.at = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            block = data[self.at : self.at + min(size, len(buffer))]
            self.at += len(block)
            buffer[: len(block)] = block
            return len(block)

    file = Utf8File(io.BufferedReader(Slow(), 8), "a")
    assert file.readall().decode() == decode_text(data, "a") == text


def test_streams_of_wide_characters(tmp_path, monkeypatch):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(marked("Zoë\n\nĊĀ\nb", "utf-16-le")))  # 0x0a within characters
    assert list(numbered_lines(path)) == [(1, "Zoë"), (2, ""), (3, "ĊĀ"), (4, "b")]
    monkeypatch.setattr(charsets, "BLOCK", 3)
    path.write_bytes(gzip.compress("Zoë\nb".encode("latin-1")))
    assert list(numbered_lines(path, charset="latin-1")) == [(1, "Zoë"), (2, "b")]
    with pytest.raises(
        ReadError, match=r"a.txt.gz:1: invalid UTF-8 byte 0xeb; .*--charset latin-1"
    ):
        list(numbered_lines(path, named=True))
    path.write_bytes(gzip.compress(b"a\nb\nc\n\xe9\n"))
    with pytest.raises(ReadError, match=r"a\.txt\.gz:4: invalid UTF-8 byte 0xe9"):
        list(numbered_lines(path, named=True))


@pytest.mark.parametrize("name", sorted(set(encodings.aliases.aliases.values())))
def test_all_charsets_of_python_give_text_or_an_error(tmp_path, name):
    """Bytes of all kinds: strings that a file can hold, or an error of ours."""
    path = tmp_path / "a.conll"
    path.write_bytes(bytes(range(32, 256)) * 2 + b"\n\x1b$B\x30\x7e+2AA-\\ud800 ~{ O\n")
    try:
        check_charset(name)
        corpus = read(path, "conll", charset=name)
    except SkipchainError:
        return
    corpus.write(tmp_path / "b.jsonl")
    assert read(tmp_path / "b.jsonl").words == corpus.words


def test_a_corpus_is_written_in_utf8_whatever_it_was_read_from(tmp_path):
    (tmp_path / "a.conll").write_bytes(COLUMNS.encode("latin-1"))
    read(tmp_path / "a.conll", charset="latin-1").write(tmp_path / "b.conll")
    assert (tmp_path / "b.conll").read_bytes().decode("utf-8").startswith("Zoë B-PER")
    assert sys.getdefaultencoding() == "utf-8"
    assert read(tmp_path / "b.conll") == Corpus.of(
        [["Zoë", "slept"], ["Åsa"]], [["B-PER", "O"], ["B-PER"]], scheme="iob2"
    )
