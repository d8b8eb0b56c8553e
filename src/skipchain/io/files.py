"""Whole files in and out: compression, encoding, and writing that never leaves half a file."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from skipchain.errors import ReadError, SkipchainError
from skipchain.io.charsets import decode_text
from skipchain.io.temporary import TemporaryFile
from skipchain.io.unpack import read_unpacked

COMPRESSED_ENDINGS = (".gz", ".xz")
STDIO = "-"  # stdin or stdout


def read_text(
    path: str | Path,
    max_bytes: int | None = None,
    *,
    charset: str | None = None,
    named: bool = False,
) -> str:
    """The text of a file, line ends untouched; ``-`` is stdin, .gz and .xz are unpacked.

    It is in ``charset``, by default UTF-8, or in what a byte-order mark says, which is dropped.
    Bytes that are no text, and NUL, give a `ReadError` with the line, and so do more than
    ``max_bytes`` bytes, unpacked; by default 2 GiB. ``named`` is as for `decode_text`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_text(folder + "/a.txt.gz", "Ada slept.")
    ...     read_text(folder + "/a.txt.gz")
    'Ada slept.'
    """
    data = unpacked_bytes(path, max_bytes, text=True, charset=charset, named=named)
    return decode_text(data, display_path(path), charset=charset, named=named)


def read_content(path: str | Path, max_bytes: int | None = None, **how: Any) -> str:
    """The text of a file (see `read_text`) in which there must be more than white space."""
    return check_text(read_text(path, max_bytes, **how), display_path(path))


def display_path(path: str | Path) -> str | Path:
    """The path as errors show it."""
    return "stdin" if str(path) == STDIO else path


def read_bytes(path: str | Path, max_bytes: int | None = None) -> bytes:
    """The bytes of a file or of stdin, unpacked where they are gzip or xz."""
    return bytes(unpacked_bytes(path, max_bytes))


def unpacked_bytes(path: str | Path, max_bytes: int | None, **how: Any) -> bytearray:
    """The bytes of a file, unpacked; ``how`` is as for `read_unpacked`."""
    with open_binary(path) as file:
        if how.get("text"):
            refuse_model(file, path)
        data, kind = read_unpacked(file, display_path(path), max_bytes, **how)
    if data:
        check_packed(kind, path)
    return data


def check_packed(kind: str, path: str | Path) -> None:
    """Refuse a file that is not packed, though its name says so."""
    if kind == "plain" and str(path).endswith(COMPRESSED_ENDINGS):
        ending = str(path)[-3:]
        raise ReadError(f"the name ends in {ending}, but the content is not packed", path=path)


@contextmanager
def open_binary(path: str | Path) -> Iterator[IO[bytes]]:
    """A file, or stdin, to read bytes from; what the system refuses is a `ReadError`."""
    try:
        file = stdin() if str(path) == STDIO else open(path, "rb")  # noqa: SIM115
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise describe_os_error(path, error) from None
    with nullcontext() if str(path) == STDIO else file:
        try:
            yield file
        except BrokenPipeError:  # of what is written meanwhile
            raise
        except OSError as error:
            raise describe_os_error(display_path(path), error) from None


def stdin() -> BinaryIO:
    """The bytes of stdin, which may be closed (``<&-``)."""
    if sys.stdin is None:
        raise ReadError("it is closed; name a file, or send one to it", path=display_path(STDIO))
    return sys.stdin.buffer


def check_text(text: str, path: object) -> str:
    """The text, unless there is nothing in it but spaces, tabs and line ends."""
    if not text.strip(" \t\r\n"):
        detail = ": it holds only white space" if text else ""
        raise ReadError(f"the file is empty{detail}", path=path)
    return text


def write_text(path: str | Path, text: str, *, overwrite: bool = False) -> None:
    """Write a text as UTF-8, whole or not at all (see `atomic_write`)."""
    with atomic_write(path, overwrite=overwrite) as file:
        if text.startswith("\ufeff"):  # reading drops the first byte-order mark
            file.write("\ufeff")
        file.write(text)


@contextmanager
def atomic_write(
    path: str | Path, *, binary: bool = False, overwrite: bool = False
) -> Iterator[IO[Any]]:
    """A file to write to, which takes its name only when all has been written.

    The data go to a temporary file in the same folder, which is renamed once they are on the disk,
    and removed on any failure; what a killed process left is removed by the next. ``.gz`` and
    ``.xz`` are packed, ``-`` is stdout. A file that exists is an error unless ``overwrite``.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with atomic_write(folder + "/a.txt") as file:
    ...         _ = file.write("Ada")
    ...     Path(folder, "a.txt").read_text()
    'Ada'
    """
    if str(path) == STDIO:
        yield from write_stdout(binary)
        return
    check_target(path, overwrite)
    target = os.path.realpath(path)
    direct = os.path.exists(target) and not os.path.isfile(target)  # /dev/null, a pipe
    try:
        if direct:
            with open(target, "wb") as below, open_packed(below, str(path), binary) as file:
                yield file
        else:
            with TemporaryFile(target) as temporary:
                # The lock stays with the descriptor when the file is closed, until it is renamed.
                below = open(os.dup(temporary.descriptor), "wb")  # noqa: SIM115 (by `with`)
                with below, open_packed(below, str(path), binary) as file:
                    yield file
                temporary.publish()
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None and not str(error.filename).startswith(target):
            raise  # of another file, which the caller meant to read
        detail = error.strerror or error
        raise SkipchainError(f"cannot write {path}: {detail}; nothing was written") from None
    except UnicodeEncodeError as error:
        raise SkipchainError(describe_surrogate(path, error)) from None


def raw_bytes(path: str | Path) -> bytes:
    """The bytes as they are stored."""
    with open_binary(path) as file:
        return bytes(read_unpacked(file, display_path(path), as_stored=True)[0])


def describe_os_error(path: object, error: Exception) -> ReadError:
    """The error for a file that cannot be opened."""
    fault = f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if isinstance(error, FileNotFoundError):
        fault = "there is no such file"
    elif isinstance(error, IsADirectoryError):
        fault = "this is a folder; name a file in it"
    elif isinstance(error, PermissionError):
        fault = "no permission to read the file"
    return ReadError(fault, path=path)


def make_folder(path: str | Path) -> Path:
    """The folder of that name, made where it is missing."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        detail = getattr(error, "strerror", None) or error
        raise SkipchainError(f"cannot make the folder {path}: {detail}") from None
    return folder


def check_target(path: str | Path, overwrite: bool) -> None:
    """Refuse a path that cannot, or should not, be written, before any work is done."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        folder = os.path.dirname(os.path.realpath(path))
        if not os.path.isdir(folder):
            fault = f"cannot write {path}: there is no folder {folder}; make it first"
            raise SkipchainError(fault) from None
        return
    except (OSError, ValueError) as error:
        detail = getattr(error, "strerror", None) or error
        raise SkipchainError(f"cannot write {path}: {detail}; nothing was written") from None
    if stat.S_ISDIR(mode):
        raise SkipchainError(f"cannot write {path}: it is a folder; name a file in it")
    if stat.S_ISREG(mode) and not overwrite:
        raise already_there(path)


def check_own_target(
    path: str | Path, is_own: Callable[[bytes], bool], *, overwrite: bool = False
) -> None:
    """Refuse to replace a file that does not begin as ours do, before any work is done.

    ``is_own`` is asked about the first 4096 bytes; in an empty file there is nothing to lose.
    """
    check_target(path, overwrite=True)
    if overwrite or not os.path.isfile(path):
        return
    try:
        with open(path, "rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise describe_os_error(path, error) from None
    if start and not is_own(start):
        fault = f"{path} exists already, and this command has not written it"
        advice = "name another folder, or use --overwrite (overwrite=True) to replace it"
        raise SkipchainError(f"{fault}; {advice}")


def begins_as_model(start: bytes) -> bool:
    """Whether bytes are the beginning of a model file: a header's length, then the header.

    >>> begins_as_model(bytes([64, 1, 0, 0, 0, 0, 0, 0]) + b'{"__meta'), begins_as_model(b"what ")
    (True, False)
    """
    return start[5:9] == b"\0\0\0{"


def refuse_model(file: IO[bytes], path: str | Path) -> None:
    """Refuse an open model file where a text belongs, before any of it is read."""
    if isinstance(file, BufferedReader) and begins_as_model(file.peek(16)):
        fault = "this is a model file; wanted is text, or a labelled file"
        raise ReadError(fault, path=display_path(path))


def already_there(path: str | Path) -> SkipchainError:
    """The error for a file or folder that is not to be overwritten."""
    return SkipchainError(f"{path} exists already; use --overwrite (overwrite=True) to replace it")


def open_packed(below: BinaryIO, name: str, binary: bool) -> IO[Any]:
    """The file below, packed as the ending of the final name says; closing it may close both."""
    file: Any = below
    if name.endswith(".xz"):
        import lzma

        file = lzma.LZMAFile(below, "wb")  # noqa: SIM115 (closed by the caller)
    elif name.endswith(".gz"):
        import gzip

        # No name and no date in the header: the same content gives the same bytes.
        file = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=below, mtime=0)
    if not binary:
        import io

        file = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
    return cast(IO[Any], file)


def write_stdout(binary: bool) -> Iterator[IO[Any]]:
    """Stdout, in UTF-8 whatever the locale; a broken pipe is the caller's to handle."""
    import io

    check_stdout()
    sys.stdout.flush()
    out = sys.stdout.buffer
    file: IO[Any] = out if binary else io.TextIOWrapper(out, encoding="utf-8", newline="\n")
    try:
        yield file
        file.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SkipchainError(f"cannot write stdout: {error.strerror or error}") from None
    except UnicodeEncodeError as error:
        raise SkipchainError(describe_surrogate("stdout", error)) from None
    finally:
        if isinstance(file, io.TextIOWrapper):
            with suppress(OSError):
                file.detach()  # or its end would close stdout


def check_stdout() -> None:
    """Refuse a stdout that is closed (``>&-``)."""
    if sys.stdout is None:
        raise SkipchainError("cannot write stdout: it is closed; name a file with -o")


def describe_surrogate(path: object, error: UnicodeEncodeError) -> str:
    """The error text for half a surrogate pair, which no file can hold."""
    code = ord(error.object[error.start])
    return f"cannot write {path}: U+{code:04X} is half a character and has no UTF-8 form"
