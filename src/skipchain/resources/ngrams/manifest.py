"""What stands in a store of n-grams, and whether all of it is there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from skipchain.errors import ReadError
from skipchain.io.files import read_text

FILE = "manifest.json"
FORMAT, VERSION = "skipchain n-grams", 1


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """One Parquet file: its rows, the sum of their counts, and its size."""

    file: str
    rows: int
    total: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The parts of a store by order, and where they come from.

    ``total`` of a part sums all n-grams of the text, also those rarer than ``min_count``, which
    the store leaves out. ``tags`` is the part that holds parts of speech of words, or None.
    """

    orders: Mapping[int, ParquetFile]
    min_count: int = 1
    origin: tuple[str, ...] = ()
    tags: ParquetFile | None = None
    version: int = VERSION
    format: str = field(default=FORMAT)

    def write(self, folder: Path) -> None:
        """Write it into the folder of the store."""
        text = json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"
        (folder / FILE).write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of a store; every part that it names must be there, and of its size."""
        path = folder / FILE
        if not folder.is_dir():
            raise ReadError("there is no such n-gram store", path=folder)
        if not path.exists():
            raise ReadError(
                f"the folder has no {FILE}: it is no n-gram store, or one half written; "
                "count it again",
                path=folder,
            )
        try:
            found = json.loads(read_text(path))
            manifest = parse_manifest(found, path)
        except (json.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, ReadError):
                raise
            raise ReadError(f"damaged manifest ({error}); count the store again", path=path) from (
                None
            )
        for part in (*manifest.orders.values(), *((manifest.tags,) if manifest.tags else ())):
            check_file(folder / part.file, part)
        return manifest


def parse_manifest(found: Any, path: Path) -> Manifest:
    """The manifest that the JSON holds."""
    if found["format"] != FORMAT:
        raise ReadError(f"expected the format {FORMAT!r}, got {found['format']!r}", path=path)
    if found["version"] != VERSION:
        raise ReadError(
            f"version {found['version']} of the format; this skipchain reads {VERSION}; "
            "count the store again",
            path=path,
        )
    return Manifest(
        {int(order): ParquetFile(**part) for order, part in found["orders"].items()},
        int(found["min_count"]),
        tuple(map(str, found["origin"])),
        None if found["tags"] is None else ParquetFile(**found["tags"]),
    )


def check_file(path: Path, part: ParquetFile) -> None:
    """Refuse a part that is missing or was cut off."""
    if not path.exists():
        raise ReadError("missing from the store; count it again", path=path)
    size = path.stat().st_size
    if size != part.bytes:
        raise ReadError(
            f"{size:,} bytes, but the manifest says {part.bytes:,}: the file is damaged; "
            "count the store again",
            path=path,
        )
