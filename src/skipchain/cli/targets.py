"""Where several files go: each into one folder, under its own name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skipchain.cli.waiting import file_size
from skipchain.errors import SkipchainError


@dataclass(frozen=True, slots=True)
class Target:
    """A file to read, and the file to write for it, in a format."""

    source: str
    path: str
    format: str

    @property
    def size(self) -> int:
        """The bytes of the file to read; 1 where nobody can tell."""
        return file_size(self.source)


def is_folder_target(output: str, files: Sequence[str], format: str | None) -> bool:
    """Whether what is written goes into a folder, under the names of the files.

    One file goes there, too, where the folder exists or its name ends as a folder's; but as brat
    it becomes the folder.
    """
    if len(files) != 1:
        return len(files) > 1
    return format != "brat" and (output.endswith(os.sep) or os.path.isdir(output))


def check_targets(
    files: Sequence[str], folder: str, format: str | None, known: Iterable[str], *, overwrite: bool
) -> list[Target]:
    """A target for each file; refused where one would replace another, before any is written.

    Without a ``format`` it is that of a file's ending, where it is among those ``known``, else
    columns.
    """
    from skipchain.io.files import STDIO, check_target
    from skipchain.io.formats import ENDINGS, ending

    if folder == STDIO:
        raise SkipchainError(
            f"{len(files)} files are not written to stdout; give a folder for them with -o FOLDER"
        )
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise SkipchainError(f"{folder} is no folder, and {len(files)} files need one: -o FOLDER")
    if not os.path.exists(folder) and folder[-1:] != os.sep and ending(folder) in ENDINGS:
        raise SkipchainError(
            f"{folder} is called like a file, and {len(files)} files go into a folder: -o FOLDER"
        )
    if STDIO in files:
        raise SkipchainError("stdin has no name, so it cannot be one of several files to tag")
    targets: dict[str, Target] = {}
    read = {os.path.realpath(file): file for file in files}
    for file in files:
        wanted = format or _own_format(file, known)
        path = str(Path(folder, _name(file, wanted)))
        if path in targets:
            both = f"{targets[path].source} and {file} would both become {path}"
            raise SkipchainError(f"{both}; write them to folders of their own")
        if os.path.realpath(path) in read:
            fault = f"{file} would be written to {path}, which is a file to read"
            raise SkipchainError(f"{fault}; name another folder")
        targets[path] = Target(file, path, wanted)
    if os.path.isdir(folder):
        for target in targets.values():
            if target.format != "brat":
                check_target(target.path, overwrite)
    return list(targets.values())


def _own_format(file: str, known: Iterable[str]) -> str:
    """The format of a file by its ending, where it can be written; else columns."""
    from skipchain.io.formats import ENDINGS, ending

    found = ENDINGS.get(ending(file), "conll")
    return found if found in known and found not in ("brat", "html") else "conll"


def _name(file: str, format: str) -> str:
    """The name of a file in a format: its own, with another ending where that is another format's.

    >>> [_name(own, "conll") for own in ("a/letters.txt", "b.iob.gz", "c.d.jsonl", "e")]
    ['letters.conll', 'b.iob.gz', 'c.d.conll', 'e.conll']
    """
    from skipchain.io.files import COMPRESSED_ENDINGS
    from skipchain.io.formats import ENDINGS, TABLE, ending

    name = Path(os.path.abspath(file))
    if ENDINGS.get(ending(name)) == format and format != "brat":
        return name.name
    stem = Path(name.stem) if name.suffix in COMPRESSED_ENDINGS else name
    if format == "brat":  # a folder
        return stem.stem
    return stem.stem + next(iter(TABLE[format].endings), f".{format}")
