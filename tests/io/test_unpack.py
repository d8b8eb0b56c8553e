"""Files that unpack to more than anybody has memory for, and what is no text at all."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import tarfile
import threading
import tracemalloc
import zlib

import pytest

from skipchain.datasets.readers.archive import read_archive
from skipchain.errors import ParameterError, ReadError
from skipchain.io import read
from skipchain.io.files import raw_bytes, read_bytes, read_text
from skipchain.io.streams import numbered_lines
from skipchain.io.unpack import MAX_BYTES, UnpackedFile, kind_of

MIB = 1 << 20
PACKERS = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}


def unpack(data, size=MIB, **settings):
    file, blocks = UnpackedFile(io.BytesIO(data), "x", **settings), []
    while block := file.read(size):
        blocks.append(block)
    return b"".join(blocks)


def bomb(unit, count, kind="gz"):
    """``count`` blocks of a MiB, packed one block at a time."""
    packer = zlib.compressobj(9, wbits=31) if kind == "gz" else lzma.LZMACompressor(preset=0)
    block = unit * (MIB // len(unit))
    return b"".join([packer.compress(block) for _ in range(count)] + [packer.flush()])


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
@pytest.mark.parametrize("size", [1, 7, MIB])
@pytest.mark.parametrize("content", [b"", b"Ada", os.urandom(3000), b"ab" * 40_000])
def test_what_was_packed_comes_back_whatever_the_size_of_the_blocks(pack, size, content):
    if size == 1 and len(content) > 3000:
        pytest.skip("slow")
    assert unpack(pack(content), size) == content
    assert unpack(pack(content) + pack(b"!") + pack(b"?"), size) == content + b"!?"


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_zeros_may_stand_between_members_but_nothing_else(pack):
    packed = pack(b"Ada")
    assert unpack(packed + b"\0" * 100_000 + packed + b"\0" * 8) == b"AdaAda"
    for junk in (b"x", packed[:5], b"\0" * 64 + b"junk", gzip.compress(b"y")[:2] + b"junk"):
        with pytest.raises(ReadError, match=r"^x: damaged or cut-off"):
            unpack(packed + junk)


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_data_that_were_cut_off_or_altered_are_told(pack):
    packed = pack(os.urandom(2000))
    for cut in (12, len(packed) // 2, len(packed) - 1):
        with pytest.raises(ReadError, match="fetch the file again"):
            unpack(packed[:cut])
    altered = bytearray(packed)
    altered[len(packed) // 2] ^= 0x55
    with pytest.raises(ReadError, match="fetch the file again"):
        unpack(bytes(altered))


def test_many_small_members_take_time_by_their_number_only(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"a\n") * 50_000 + gzip.compress(b"") * 50_000)
    assert read_text(path) == "a\n" * 50_000


@pytest.mark.parametrize("kind", ["gz", "xz"])
def test_a_bomb_is_found_before_it_fills_the_memory(tmp_path, kind):
    path = tmp_path / f"a.txt.{kind}"
    path.write_bytes(bomb(b"a\n", 64, kind))
    tracemalloc.start()
    try:
        wanted = r"unpacks to more than 4 MiB, the limit; .* max_bytes= .* --max-bytes"
        with pytest.raises(ReadError, match=wanted):
            read(path, "text", max_bytes=4 * MIB)
        assert tracemalloc.get_traced_memory()[1] < 16 * MIB
    finally:
        tracemalloc.stop()


def test_a_nul_is_told_with_its_line(tmp_path):
    text = b"a\n" * MIB + b"b\0\n"
    for name, content in (("a.txt", text), ("a.txt.gz", gzip.compress(text))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ReadError, match=rf"{name}:{MIB + 1}: a NUL byte"):
            read_text(tmp_path / name)


@pytest.mark.parametrize("kind", ["gz", "xz"])
def test_zeros_are_found_in_the_first_block(tmp_path, kind):
    path = tmp_path / f"a.conll.{kind}"
    path.write_bytes(bomb(b"\0", 64, kind))
    tracemalloc.start()
    try:
        with pytest.raises(ReadError, match=rf"{kind}:1: a NUL byte; is this a text file"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    finally:
        tracemalloc.stop()


def test_the_limit_is_that_of_the_last_byte(tmp_path):
    for name, content in (("a.txt", b"a b c d"), ("a.txt.gz", gzip.compress(b"a b c d"))):
        (tmp_path / name).write_bytes(content)
        assert read(tmp_path / name, "text", max_bytes=7).n_tokens == 4
        with pytest.raises(ReadError, match=r"more than 6 bytes"):
            read(tmp_path / name, "text", max_bytes=6)
    assert MAX_BYTES == 2 << 30


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "1G"])
def test_a_limit_is_a_whole_number(tmp_path, wrong):
    (tmp_path / "a.txt").write_text("Ada")
    with pytest.raises(ParameterError, match="max_bytes must be a whole number"):
        read(tmp_path / "a.txt", max_bytes=wrong)


def test_the_limit_holds_for_both_files_of_brat(tmp_path):
    (tmp_path / "x.txt").write_text("Ada slept.")
    (tmp_path / "x.ann").write_text("T1\tPER 0 3\tAda\n")
    assert read(tmp_path, max_bytes=15).n_tokens == 3
    with pytest.raises(ReadError, match=r"x.ann: holds more than 14 bytes"):
        read(tmp_path, max_bytes=14)
    with pytest.raises(ReadError, match=r"x.txt: holds more than 9 bytes"):
        read(tmp_path / "x.ann", max_bytes=9)


class Endless(io.RawIOBase):
    """A pipe whose writer never stops."""

    def __init__(self, unit):
        self._unit = unit

    def readable(self):
        return True

    def readinto(self, buffer):
        view = memoryview(buffer)
        view[:] = (self._unit * len(view))[: len(view)]
        return len(view)


@pytest.mark.parametrize(("unit", "fault"), [(b"a\n", "more than 1 MiB"), (b"\0", "a NUL byte")])
def test_a_pipe_that_never_ends_does(monkeypatch, unit, fault):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Endless(unit))))
    with pytest.raises(ReadError, match=f"^stdin(:1)?: .*{fault}"):
        read("-", max_bytes=MIB)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device here")
def test_a_device_of_zeros_is_no_text():
    for reader in (read, read_text, lambda path: list(numbered_lines(path))):
        with pytest.raises(ReadError, match=r"/dev/zero:1: a NUL byte"):
            reader("/dev/zero")


def test_a_pipe_can_be_read_by_lines(tmp_path):
    """It was opened twice: once to see how it is packed."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(gzip.compress(b"One.\n\nTwo.\n"),))
    writer.start()
    assert list(numbered_lines(path)) == [(1, "One."), (2, ""), (3, "Two.")]
    writer.join()


def test_a_dictionary_larger_than_anybody_needs_is_refused(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 16 * MIB}]
    packed = bytearray(lzma.compress(b"Ada", filters=filters))
    assert unpack(bytes(packed)) == b"Ada"
    # The size of the dictionary is one byte of the block header, behind filter number and length.
    place = packed.index(b"\x21\x01", 12)
    packed[place + 2] = 40  # 4 GiB
    end = 12 + (packed[12] + 1) * 4
    packed[end - 4 : end] = zlib.crc32(packed[12 : end - 4]).to_bytes(4, "little")
    with pytest.raises(ReadError, match=r"more than 256 MiB of memory to unpack; pack it"):
        unpack(bytes(packed))


def test_bytes_as_they_are_stored(tmp_path):
    packed = gzip.compress(b"Ada\0")
    (tmp_path / "a.gz").write_bytes(packed)
    assert raw_bytes(tmp_path / "a.gz") == packed
    assert read_bytes(tmp_path / "a.gz") == b"Ada\0"
    with pytest.raises(ReadError, match="more than 2 bytes"):
        read_bytes(tmp_path / "a.gz", 2)


def test_text_that_begins_as_packed_files_do_is_text():
    assert kind_of(b"BZh9 is a word") == "plain"
    assert unpack(b"BZh") == b"BZh"


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_archives_are_read_as_they_unpack(tmp_path, mode, monkeypatch):
    with tarfile.open(tmp_path / "a.tar", mode) as archive:
        for name, size in (("skipped", 40_000), ("a.txt", 30_000)):
            info = tarfile.TarInfo(name)
            info.size = size
            archive.addfile(info, io.BytesIO(b"a" * size))
    found = read_archive(tmp_path / "a.tar", lambda name: name.endswith(".txt"))
    assert found == {"a.txt": b"a" * 30_000}
    monkeypatch.setattr("skipchain.datasets.readers.archive.MAX_BYTES", 50_000)
    with pytest.raises(ReadError, match="more than 50,000 bytes"):
        read_archive(tmp_path / "a.tar", lambda name: name.endswith(".txt"))


def test_an_archive_of_holes_is_refused(tmp_path):
    """A sparse file has a size that is written nowhere in the archive."""
    info = tarfile.TarInfo("a.txt")
    info.size = 512
    info.pax_headers = {
        "GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "a.txt",
        "GNU.sparse.realsize": str(1 << 40),
    }  # fmt: skip
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info, io.BytesIO(b"1\n0\n0\n".ljust(512, b"\0")))
    with pytest.raises(ReadError, match=r"files have more than 2 GiB"):
        read_archive(tmp_path / "a.tar", lambda name: True)


def test_a_line_longer_than_memory_is_told(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(bomb(b"a", 65))
    with pytest.raises(ReadError, match=r"a.gz:1: a line of more than 64 MiB"):
        list(numbered_lines(path))
