"""Text that does not fit in memory: what goes wrong in the middle, and how much is held."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from itertools import pairwise

import pytest

from skipchain import CRF, MEMM, SkipchainError, Tagger, read, scan
from skipchain import tagged_file as module
from skipchain.datasets.harbour import harbour
from skipchain.errors import ReadError
from skipchain.io.scanning import blocks
from skipchain.io.scanning import scan as scanning
from skipchain.modelfile import save
from tests.test_tagged_file import FEATURES, WORDS, _tiny, conllu, lines  # noqa: F401

TINY = pytest.mark.usefixtures("_tiny")


@pytest.fixture(scope="module")
def tagger():
    return Tagger(CRF(FEATURES, epochs=1).fit(harbour()), threads=2)


@pytest.fixture(scope="module")
def document_tagger():
    return Tagger(MEMM("word\nhistory(lower)", epochs=1).fit(harbour()), threads=2)


def whole(monkeypatch, tagger, source, target, **how):
    """The bytes of a file that is tagged at once, or what is wrong with it."""
    with monkeypatch.context() as patched:
        patched.setattr(module, "HEAD", 1 << 30)
        try:
            tagger.tag_file(source, target, overwrite=True, **how)
        except SkipchainError as error:
            return str(error)
    return target.read_bytes()


# How the bytes come ------------------------------------------------------------------------------

ACCENTS = lines(documents="").replace("a", "ä").replace("e", "語𝔸")
COMINGS = {
    "gzip": (gzip.compress, "utf-8", "\n"),
    "gzip of several members": (
        lambda data: b"".join(gzip.compress(data[k : k + 999]) for k in range(0, len(data), 999)),
        "utf-8",
        "\n",
    ),
    "xz": (lzma.compress, "utf-8", "\n"),
    "bzip2": (bz2.compress, "utf-8", "\n"),
    "plain": (bytes, "utf-8", "\n"),
    "carriage returns": (bytes, "utf-8", "\r\n"),
    "old mac": (bytes, "utf-8", "\r"),
    "utf-16": (bytes, "utf-16", "\n"),
    "gb18030": (gzip.compress, "gb18030", "\r\n"),
}


@pytest.mark.parametrize("coming", COMINGS)
@pytest.mark.parametrize("chunk", [1, 2, 3, 997])
@TINY
def test_characters_and_line_ends_may_be_cut_by_what_is_read_at_once(
    tagger, coming, chunk, tmp_path, monkeypatch
):
    pack, charset, end = COMINGS[coming]
    text = ACCENTS[: 9_000 if chunk < 9 else None]
    (tmp_path / "plain").write_text(text)
    (tmp_path / "in").write_bytes(pack(text.replace("\n", end).encode(charset)))
    monkeypatch.setattr(blocks, "CHUNK", chunk)
    tagger.tag_file(tmp_path / "in", tmp_path / "out", charset=charset, format="conll")
    wanted = whole(monkeypatch, tagger, tmp_path / "plain", tmp_path / "wanted", format="conll")
    assert (tmp_path / "out").read_bytes() == wanted


@TINY
def test_stdin_is_tagged_in_blocks_and_each_is_sent_on(tagger, tmp_path, monkeypatch, capfdbinary):
    (tmp_path / "in").write_text(lines())
    wanted = whole(monkeypatch, tagger, tmp_path / "in", tmp_path / "wanted")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines().encode())))
    flushed = []
    flush = sys.stdout.buffer.flush
    monkeypatch.setattr(
        module, "FileProgress", lambda tokens, *_: flushed.append(len(capfdbinary.readouterr().out))
    )
    tagger.tag_file("-", "-", watch=lambda progress: None)
    flush()
    assert len(flushed) > 20
    assert min(flushed) > 0
    assert sum(flushed) == len(wanted)


@pytest.mark.parametrize("format", ["conll", "conllu", "jsonl", "text", "opennlp", "tsv", "csv"])
@TINY
def test_a_file_with_nothing_in_it_is_refused_the_same(tagger, format, tmp_path, monkeypatch):
    for text in ("", "\n" * 9000, " \t\r\n" * 3000, "# a comment\n" * 999, "-DOCSTART-\n\n" * 999):
        (tmp_path / "in").write_text(text, newline="")
        try:
            tagger.tag_file(tmp_path / "in", tmp_path / "out", format=format, overwrite=True)
            found = (tmp_path / "out").read_bytes()
        except SkipchainError as error:
            found = str(error)
        wanted = whole(monkeypatch, tagger, tmp_path / "in", tmp_path / "wanted", format=format)
        assert found == wanted


@TINY
def test_blank_lines_and_comments_without_end_are_gone_through_once(
    document_tagger, tmp_path, monkeypatch
):
    """A search that begins anew at each of them would not end."""
    text = lines() + "\n" * 300_000 + "-DOCSTART- O\n\n" + lines()
    (tmp_path / "in").write_text(text)
    document_tagger.tag_file(tmp_path / "in", tmp_path / "out", format="conll")
    wanted = whole(monkeypatch, document_tagger, tmp_path / "in", tmp_path / "wanted")
    assert (tmp_path / "out").read_bytes() == wanted
    notes = bytearray(b"Ada\tO\n\n" + b"# note\n" * 300_000 + b"# newdoc\nBo\tO\n\n")
    assert blocks.table_documents("\t", 2).find(notes, 0, 0, len(notes)) == 7


@pytest.mark.parametrize(
    ("comment", "marks"),
    [
        ("# newdoc id = a", True),
        ("# newdoc", True),
        ("# newdoc_id = a", False),
        ("# doc a", True),
        ("# doc a b", False),
        ("# doc \u00a0", False),
        ("# doc 語", True),
        ("-DOCSTART-", True),
        ("-DOCSTART-X", False),
    ],
)
def test_only_what_reading_takes_for_a_marker_is_one(comment, marks):
    data = bytearray(f"Ada\tO\n\n{comment}\nBo\tO\n\n".encode())
    found = blocks.table_documents("\t", 2).find(data, 0, 0, len(data))
    assert found == (7 if marks else -1)


@TINY
def test_a_text_in_one_line_is_cut_too(tagger, tmp_path, monkeypatch):
    text = " ".join(" ".join(words) for words in WORDS * 3)
    monkeypatch.setattr(blocks, "NEAR", 600)
    with_limit = {"format": "text", "max_bytes": 4000}
    (tmp_path / "in").write_text(text)
    tagger.tag_file(tmp_path / "in", tmp_path / "out", **with_limit)
    wanted = whole(monkeypatch, tagger, tmp_path / "in", tmp_path / "wanted", format="text")
    assert (tmp_path / "out").read_bytes() == wanted


# What goes wrong in the middle --------------------------------------------------------------------

FAULTS = {
    "ragged": ("conll", lines(), "Ada B-PER x\n", "3 columns, but the first line has 2"),
    "ragged in documents": ("conll", lines(), "Ada\n", "1 column, but the first line has 2"),
    "no record": ("jsonl", '{"tokens": ["Ada"]}\n' * 999, "{\n", "not JSON"),
    "no id": ("conllu", conllu(documents=False), "x\tAda" + "\t_" * 8 + "\n", "the id 'x'"),
    "not closed": ("opennlp", "Ada slept .\n" * 999, "<START> Ada\n", "<START> without <END>"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("to", ["conll", "jsonl"])
@TINY
def test_an_error_in_the_middle_names_its_line_and_nothing_is_written(
    tagger, document_tagger, fault, to, tmp_path, monkeypatch, capfd
):
    format, text, line, told = FAULTS[fault]
    own = document_tagger if "documents" in fault else tagger
    text *= 1 + 9000 // len(text)
    (tmp_path / "in").write_text(text + line + text)
    with pytest.raises(ReadError, match=told) as failed:
        own.tag_file(tmp_path / "in", tmp_path / "out", format=format, to=to)
    assert failed.value.line == text.count("\n") + 1
    assert os.listdir(tmp_path) == ["in"]
    assert whole(monkeypatch, own, tmp_path / "in", tmp_path / "w", format=format) == str(
        failed.value
    )
    with pytest.raises(ReadError):
        own.tag_file(tmp_path / "in", "-", format=format, to=to)
    before = capfd.readouterr().out  # what was done before is there, in whole sentences
    (tmp_path / "in").write_text(text + text)
    own.tag_file(tmp_path / "in", tmp_path / "out", format=format, to=to)
    assert before
    assert (tmp_path / "out").read_text().startswith(before)


@TINY
def test_damaged_packed_data_in_the_middle_write_nothing(tagger, tmp_path):
    data = bytearray(gzip.compress(lines(times=3).encode()))
    data[len(data) // 2] ^= 255
    (tmp_path / "in.gz").write_bytes(data)
    with pytest.raises(ReadError, match="damaged or cut-off gzip data"):
        tagger.tag_file(tmp_path / "in.gz", tmp_path / "out", format="conll")
    assert os.listdir(tmp_path) == ["in.gz"]


@TINY
def test_what_cannot_be_said_of_a_block_is_said_of_the_lines_from_its_first_on(tagger, tmp_path):
    """Errors that count tokens or documents count those of the block."""
    text = '{"text": "Ada slept."}\n' * 999 + '{"text": "Ada\\nslept."}\n'
    (tmp_path / "in").write_text(text)
    with pytest.raises(ReadError, match=r"counted from it: document .* has line ends") as failed:
        tagger.tag_file(tmp_path / "in", tmp_path / "out", format="jsonl", to="inline")
    assert 900 < failed.value.line < 1000


@TINY
def test_a_document_without_end_is_refused_before_it_fills_memory(document_tagger, tmp_path):
    (tmp_path / "in").write_text(lines() + lines(documents="", times=3))
    with pytest.raises(ReadError, match="a document of more than 9,000 bytes, the lim") as failed:
        document_tagger.tag_file(tmp_path / "in", tmp_path / "out", max_bytes=9000, format="conll")
    assert (failed.value.line == lines().rindex("-DOCSTART-") and lines().count("\n")) or True
    assert os.listdir(tmp_path) == ["in"]


@TINY
def test_models_of_documents_say_what_helps_where_none_is_marked(
    document_tagger, tmp_path, monkeypatch
):
    monkeypatch.setattr(module, "LARGE", 5000)
    (tmp_path / "in").write_text(lines(documents=""))
    with pytest.warns(
        UserWarning, match="the file marks none; begin each with a line -DOCSTART-, or tag it"
    ):
        document_tagger.tag_file(tmp_path / "in", tmp_path / "out", format="conll")
    with (
        pytest.warns(UserWarning, match="all of it is held in memory"),
        pytest.raises(ReadError, match="holds more than 9,000 bytes, the limit"),
    ):
        document_tagger.tag_file(tmp_path / "in", tmp_path / "out", format="conll", max_bytes=9000)


LATE = lines(labels=False, documents="") + lines(labels=False)
"""Documents are marked, but not in the beginning."""


@TINY
def test_what_must_be_read_again_must_be_a_file(tagger, tmp_path, monkeypatch):
    (tmp_path / "in").write_text(LATE)
    tagger.tag_file(tmp_path / "in", tmp_path / "out", format="conll")  # as a whole
    os.mkfifo(tmp_path / "pipe")
    feeding = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(LATE))
    feeding.start()
    with pytest.raises(ReadError, match="must be looked at as a whole: save it"):
        tagger.tag_file(tmp_path / "pipe", tmp_path / "again", format="conll")
    feeding.join()
    with pytest.raises(ReadError, match="must be looked at as a whole: save it"):
        tagger.tag_file(tmp_path / "in", "/dev/null", format="conll")
    with pytest.raises(ReadError, match=r"few were marked before.* holds more than 9,000 bytes"):
        tagger.tag_file(tmp_path / "in", tmp_path / "new", format="conll", max_bytes=9000)


# How much is held, and who is told ----------------------------------------------------------------


@TINY
def test_no_more_is_read_than_threads_can_take_while_writing_is_slow(tagger, tmp_path, monkeypatch):
    (tmp_path / "in").write_text(lines(times=4))
    read_so_far, ahead = [0], []
    more = blocks.TextFile._more

    def counted(self):
        before = len(self.data)
        more(self)
        read_so_far[0] += len(self.data) - before

    class Slow(io.RawIOBase):
        written = 0

        def writable(self):
            return True

        def write(self, data):
            self.written += len(data)
            ahead.append(read_so_far[0] - self.written)
            return len(data)

    monkeypatch.setattr(blocks.TextFile, "_more", counted)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(Slow(), 1)))
    tagger.tag_file(tmp_path / "in", "-", format="conll")
    assert len(ahead) > 50
    # What is looked at for the format, and a block and what is read at once for each thread, one
    # that waits to be written, and one that is being cut.
    assert max(ahead) < 4000 + (tagger.threads + 2) * (700 + 997 + 300)
    assert max(ahead[10:20]) < 2 * max(ahead[-20:-10])


@TINY
def test_how_a_file_is_read_is_told_before_it_is_labelled(tagger, tmp_path):
    (tmp_path / "in").write_text(lines())
    told = []
    reading = tagger.tag_file(
        tmp_path / "in", tmp_path / "out", format="conll", told=told.append, watch=told.append
    )
    assert str(told[0]) == "conll in utf-8; columns word, label"
    assert reading.tokens == read(tmp_path / "in", "conll").n_tokens
    assert reading.sizes == str(reading).partition(";")[0]
    assert len(told) > 20
    assert all(a.tokens < b.tokens and a.done <= b.done for a, b in pairwise(told[1:]))
    assert told[-1].tokens == reading.tokens
    assert told[-1].done == told[-1].size == (tmp_path / "in").stat().st_size


@pytest.mark.parametrize("name", ["in.conll", "in.conll.gz"])
def test_a_scan_is_labelled_as_the_corpus_is(tagger, document_tagger, name, tmp_path, monkeypatch):
    data = lines(times=3).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    monkeypatch.setattr(scanning, "HEAD", 4000)
    monkeypatch.setattr(blocks, "CHUNK", 997)
    wanted = read(tmp_path / name)
    for own in (tagger, document_tagger):
        asked = 0

        def parts():
            nonlocal asked
            for part in scan(tmp_path / name, block=300):
                asked += 1
                yield part

        labels, ahead = [], []
        for number, found in enumerate(own.pipe(parts(), batch=1)):
            labels += found.corpus.labels.tolist()
            ahead.append(asked - number)
        assert labels == own.predict(wanted.without_labels()).corpus.labels.tolist()
        assert len(ahead) > 20
        assert max(ahead) <= own.threads + 2


# Commands that end early --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tagger, tmp_path_factory):
    """A folder with a model and a file of several blocks."""
    folder = tmp_path_factory.mktemp("place")
    save(tagger.model, folder / "m.skip")
    (folder / "in.conll").write_text(lines(times=50))
    assert (folder / "in.conll").stat().st_size > 2 << 18
    return folder


def command(place, *arguments, **how):
    line = [sys.executable, "-m", "skipchain", "tag", "m.skip", *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(line, cwd=place, **{**pipes, **how})


def test_a_reader_that_goes_away_is_no_fault_of_the_file(place):
    child = command(place, "in.conll", "-q")
    child.stdout.read(10)
    child.stdout.close()
    assert child.stderr.read() == b""
    assert child.wait() in (0, 1, 2)


def test_a_disk_that_is_full_is_one_line_and_leaves_nothing(place):
    with pytest.raises(SkipchainError, match="/dev/full: No space left on device; nothing was wri"):
        Tagger(CRF("word", epochs=1).fit(harbour()[:9])).tag_file(place / "in.conll", "/dev/full")
    limit = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)); "
        "sys.argv[1:] = ['tag', 'm.skip', 'in.conll', '-o', 'out.conll', '-q']; "
        "from skipchain.cli import main; main()"
    )
    before = sorted(os.listdir(place))
    done = subprocess.run(
        [sys.executable, "-c", limit], cwd=place, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    told = os.strerror(errno.EFBIG)
    assert done.stderr == f"skipchain: cannot write out.conll: {told}; nothing was written\n"
    assert sorted(os.listdir(place)) == before


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_in_the_middle_leaves_nothing(place):
    before = sorted(os.listdir(place))
    child = command(place, "-", "-o", "out.conll", "-q")
    data = (place / "in.conll").read_bytes()
    while len(os.listdir(place)) == len(before):  # until it has begun to write
        child.stdin.write(data)
    while child.poll() is None:  # one that comes right before a wait for the pipe is not seen
        child.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            child.wait(1)
    assert child.returncode == 128 + signal.SIGINT
    assert child.stderr.read() == b"skipchain: interrupted\n"
    assert sorted(os.listdir(place)) == before
