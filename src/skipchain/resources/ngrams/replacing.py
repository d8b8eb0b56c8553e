"""The folder of an n-gram store, made whole before it takes its name from an older one.

The older store is moved aside, to a name beside it, until the new one is in place. A process that
is killed in between leaves the older one there; the next that writes to the same folder moves it
back first.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from skipchain.errors import ReadError, SkipchainError
from skipchain.io.files import already_there, read_text
from skipchain.io.temporary import (
    ENDING,
    lock,
    lock_if_dead,
    remove,
    same_file,
    sync_path,
    temporary_folder,
    temporary_names,
)
from skipchain.resources.ngrams.manifest import FILE, TAGS_FILE, order_file, parse_manifest
from skipchain.unfinished import Clearing

ASIDE = ".skipchain.old"
RIVALRY = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT)


@contextmanager
def replaced_folder(path: str | Path, overwrite: bool) -> Iterator[Path]:
    """A new folder that takes the name of the path at the end; a store there goes if it may."""
    target = Path(os.path.realpath(path))
    recover(target)
    check_folder(target, path, overwrite)
    with temporary_folder(str(target)) as folder:
        yield folder
        for file in sorted(folder.iterdir()):
            sync_path(file)
        sync_path(folder)
        try:
            publish(folder, target, path, overwrite)
        except OSError as error:
            if error.errno not in RIVALRY or not target.parent.is_dir():
                raise
            fault = "another process wrote or removed it at the same time"
            advice = "nothing was written; give the command again, or name another folder"
            raise SkipchainError(f"cannot write {path}: {fault}; {advice}") from None
        with suppress(OSError):
            sync_path(target.parent)


def recover(target: Path) -> None:
    """Bring back a store that a killed process had moved aside; remove it if it was replaced."""
    for aside in temporary_names(str(target), ASIDE):
        if not os.path.isdir(aside) or os.path.islink(aside):
            continue
        if not target.exists():
            # Without locks it may be that of a living process between its two renames, which then
            # fails; the older store is kept in any case.
            with _locked(Path(aside)) as (own, _), suppress(OSError):
                if own is not False:
                    os.rename(aside, target)
        elif _strange(target) is None:
            with lock_if_dead(aside) as dead:
                if dead and _strange(Path(aside)) is None:
                    remove(aside)


def check_folder(target: Path, path: str | Path, overwrite: bool) -> None:
    """Refuse a folder that is no store, and a store not to overwrite, before any work is done."""
    if any(sign in str(target) for sign in "*?["):
        fault = "DuckDB takes *, ? and [ in a path for patterns; name another"
        raise SkipchainError(f"cannot write {path}: {fault}")
    if not target.exists():
        if not target.parent.is_dir():
            fault = f"there is no folder {target.parent}; make it first"
            raise SkipchainError(f"cannot write {path}: {fault}")
        return
    strange = _strange(target)
    if strange is not None:
        advice = "name another folder, or remove this one yourself"
        raise SkipchainError(
            f"cannot write {path}: it exists and is no n-gram store: {strange}; {advice}"
        )
    if not overwrite:
        raise already_there(path)


def publish(folder: Path, target: Path, path: str | Path, overwrite: bool) -> None:
    """Give the folder its last name."""
    if target.exists():
        check_folder(target, path, overwrite)  # it may have changed in the hours of counting
        exchange(folder, target)
    else:
        os.rename(folder, target)


def exchange(folder: Path, target: Path) -> None:
    """Put the folder in the place of the older one, which is kept until then."""
    with _locked(target) as (_, descriptor):  # so that no other process takes it for left behind
        aside = Path(next(n for n in temporary_names(str(target), ASIDE) if not os.path.lexists(n)))
        # Once replaced it is rubbish, and bears the name of what the next process may remove.
        rubbish = aside.with_name(aside.name.removesuffix(ASIDE) + ENDING)
        with Clearing(partial(_settle, descriptor, target, aside, rubbish)):
            os.rename(target, aside)
            os.rename(folder, target)


def _settle(descriptor: int | None, target: Path, aside: Path, rubbish: Path) -> None:
    """Bring the older folder back, or remove it where the new one is in its place."""
    if descriptor is not None and same_file(rubbish, descriptor):
        remove(rubbish)
    moved = os.path.lexists(aside) if descriptor is None else same_file(aside, descriptor)
    if not moved:
        return
    if not target.exists():
        os.rename(aside, target)
        return
    if not os.path.lexists(rubbish):
        os.rename(aside, rubbish)
        aside = rubbish
    remove(aside)


def _strange(folder: Path) -> str | None:
    """What tells that a folder is not a store and nothing else; None for a store.

    Files that the manifest names may be missing or damaged.
    """
    if not stat.S_ISDIR(os.lstat(folder).st_mode):
        return "it is no folder"
    if not (folder / FILE).is_file():
        return f"there is no {FILE} in it"
    try:
        manifest = parse_manifest(json.loads(read_text(folder / FILE)), folder / FILE)
    except ReadError as error:
        return str(error)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"its {FILE} is not that of a store"
    expected = {FILE, *map(order_file, manifest.orders)}
    if manifest.tags is not None:
        expected.add(TAGS_FILE)
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name not in expected or not entry.is_file(follow_symlinks=False):
                return f"it holds {entry.name}, which no store has"
    return None


@contextmanager
def _locked(folder: Path) -> Iterator[tuple[bool | None, int | None]]:
    """Whether the folder is locked inside the block, and by what; None where it cannot be."""
    if os.name != "posix":  # Windows opens no folders
        yield None, None
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield lock(descriptor), descriptor
    finally:
        os.close(descriptor)
