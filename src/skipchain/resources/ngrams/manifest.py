"""The manifest of an n-gram store: its files, and whether all of them are there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from skipchain.errors import ReadError
from skipchain.io.files import read_text

FILE = "manifest.json"
TAGS_FILE = "tags.parquet"
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
    """The files of a store by order, and the texts that were counted (``origin``).

    ``total`` of a file sums all n-grams of the text, also those rarer than ``min_count``, which
    the store leaves out. ``tags`` is the file that holds parts of speech of words, or None.
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
        """The manifest of a store; every file that it names must be there, and of its size."""
        path = folder / FILE
        if not folder.is_dir():
            raise ReadError("there is no such n-gram store", path=folder)
        if not path.exists():
            fault = f"the folder has no {FILE}: it is no n-gram store, or one half written"
            raise ReadError(f"{fault}; count it again", path=folder)
        try:
            content = json.loads(read_text(path))
            manifest = parse_manifest(content, path)
        except (json.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, ReadError):
                raise
            fault = f"damaged manifest ({error}); count the store again"
            raise ReadError(fault, path=path) from None
        for file in (*manifest.orders.values(), *((manifest.tags,) if manifest.tags else ())):
            check_file(folder / file.file, file)
        return manifest


def order_file(order: int) -> str:
    """The name of the file with the n-grams of an order."""
    return f"{order}.parquet"


def parse_manifest(content: Any, path: Path) -> Manifest:
    """The manifest that the JSON holds."""
    if content["format"] != FORMAT:
        raise ReadError(f"expected the format {FORMAT!r}, got {content['format']!r}", path=path)
    if content["version"] != VERSION:
        fault = f"version {content['version']} of the format; this skipchain reads {VERSION}"
        raise ReadError(f"{fault}; count the store again", path=path)
    return Manifest(
        {int(order): ParquetFile(**file) for order, file in content["orders"].items()},
        int(content["min_count"]),
        tuple(map(str, content["origin"])),
        None if content["tags"] is None else ParquetFile(**content["tags"]),
    )


def check_file(path: Path, file: ParquetFile) -> None:
    """Refuse a file that is missing or was cut off."""
    if not path.exists():
        raise ReadError("missing from the store; count it again", path=path)
    size = path.stat().st_size
    if size != file.bytes:
        fault = f"{size:,} bytes, but the manifest says {file.bytes:,}: the file is damaged"
        raise ReadError(f"{fault}; count the store again", path=path)
