"""What lies in an output folder, and whether it is the old, the new, or neither."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

from hardening.faults.commands import Command

Snapshot = dict[str, bytes | None]
"""Contents by relative path; None for folders."""
FIGURES = re.compile(rb"[-+\d.,e<\s:|]+|\xe2\x80\x93")  # times and sizes, and how they are laid out
PNG = b"\x89PNG\r\n\x1a\n"
FOREIGN: Mapping[str, bytes] = {
    "other.tmp": b"a file of somebody else\n",
    "notes.txt": b"remember the milk\n",
    "project/manifest.json": b'{"name": "a project of somebody else"}\n',
    "project/data.txt": b"1 2 3\n",
}


def snapshot(folder: Path) -> Snapshot:
    """All that lies in a folder."""
    found: Snapshot = {}
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        name = path.relative_to(folder).as_posix()
        found[name] = path.read_bytes() if path.is_file() else None
    return found


def restore(content: Mapping[str, bytes | None], folder: Path) -> None:
    """Make a folder hold the content."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in content.items():
        path = folder / name
        if data is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def foreign(command: Command) -> Snapshot:
    """Files of others in the folder, some of which have names much like ours."""
    target = command.target
    return {
        **FOREIGN,
        "project": None,
        f"{target}.mine.tmp": b"named by a user\n",
        f"{target}.copy.tmp": None,
        f"{target}.copy.tmp/manifest.json": b"{}\n",
    }


def like(data: bytes | None, wanted: bytes | None) -> bool:
    """Whether a file is what a clean run writes; times and figures in it may differ.

    >>> like(b"train s: 0.12", b"train s: 3.4"), like(b"train", b"train s: 3.4")
    (True, False)
    """
    if data is None or wanted is None:
        return data is wanted
    if data == wanted:
        return True
    if wanted.startswith(PNG):
        return whole_png(data)
    try:
        data.decode(), wanted.decode()
    except UnicodeDecodeError:
        return False
    return FIGURES.sub(b"", data) == FIGURES.sub(b"", wanted)


def whole_png(data: bytes) -> bool:
    """Whether every chunk of a picture is there and unharmed."""
    place = len(PNG)
    while data.startswith(PNG) and place + 12 <= len(data):
        (size,) = struct.unpack(">I", data[place : place + 4])
        chunk = data[place + 4 : place + 8 + size]
        check = data[place + 8 + size : place + 12 + size]
        if check != struct.pack(">I", zlib.crc32(chunk)):
            return False
        place += 12 + size
        if chunk == b"IEND":
            return place == len(data)
    return False


def below(content: Mapping[str, bytes | None], name: str) -> Snapshot:
    """The part of a snapshot that is a file, or a folder and what is in it."""
    return {
        path: data for path, data in content.items() if path == name or path.startswith(f"{name}/")
    }


def same(found: Mapping[str, bytes | None], wanted: Mapping[str, bytes | None]) -> bool:
    """Whether two snapshots hold the same but for figures."""
    return found.keys() == wanted.keys() and all(like(found[k], wanted[k]) for k in wanted)


def moved_aside(found: Snapshot, name: str, wanted: Snapshot) -> bool:
    """Whether the thing of this name lies whole under another name in the folder."""
    tops = {path.split("/")[0] for path in found} - {name}
    for top in tops:
        renamed = {name + path[len(top) :]: data for path, data in below(found, top).items()}
        if renamed == wanted:
            return True
    return False
