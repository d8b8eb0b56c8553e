"""Disks that are full or read-only, files that vanish, and others who write to the same place."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from random import Random

from hardening.faults.commands import RIVALS
from hardening.faults.references import References
from hardening.faults.snapshot import below, same, snapshot
from hardening.faults.trial import (
    ENDS,
    Case,
    Fault,
    draw_place,
    finish,
    named,
    run,
    run_line,
    start,
)

PAGE = 4096
READERS = {  # files that commands read
    "train": ("train.conll",),
    "tag": ("names.skip", "story.txt"),
    "compare": ("train.conll", "test.conll"),
    "brown": ("first.txt",),
    "ngrams": ("first.txt",),
    "ngrams-overwrite": ("first.txt",),
    "convert": ("train.conll",),
}
TO_FULL = (
    "train in/train.conll -q --epochs 3 --threads 1 -o /dev/full",
    "tag in/names.skip in/story.txt --threads 1 -q -o /dev/full --to conll",
    "convert in/train.conll /dev/full --to jsonl -q",
    "brown in/first.txt --clusters 20 --min-count 2 -q -o /dev/full",
)


def full_disk(references: References, random: Random, name: str) -> Case:
    """The output folder is on a disk with little room; where that is not allowed, files are."""
    place = draw_place(references, random, name)
    room = random.randint(0, _pages(place.reference.new))
    size = (_pages({**place.foreign, **place.old}) + room) * PAGE
    with ExitStack() as stack:
        if not stack.enter_context(_disk(place.out, size)):
            return file_size(references, random, name)
        place.fill()
        return f"{named(place)} with {room * PAGE:,} bytes left on the disk", run(place)


def file_size(references: References, random: Random, name: str) -> Case:
    """No file may become larger than a limit."""
    place = draw_place(references, random, name)
    largest = max(len(data or b"") for data in place.reference.new.values())
    limit = random.randint(512, max(512, largest))
    ends = run(place, limits={"RLIMIT_FSIZE": limit})
    return f"{named(place)} with files of at most {limit:,} bytes", ends


def device_full(references: References, random: Random, name: str) -> Case:
    """The output is a device that is full."""
    line = random.choice(TO_FULL)
    return line, run_line(references, random, name, line, codes=(2,))


def read_only(references: References, random: Random, name: str) -> Case:
    """Nothing can be written to the output folder."""
    place = draw_place(references, random, name)
    folders = [place.out, *(path for path in place.out.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        findings = run(place, codes=(2,) if _bound() else ENDS, prefix=_without_override())
    finally:
        for folder in folders:
            folder.chmod(0o755)
    return f"{named(place)} in a read-only folder", findings


def vanishing_input(references: References, random: Random, name: str) -> Case:
    """An input is removed or emptied while the command runs."""
    place = draw_place(references, random, name, list(READERS))
    lost = place.folder / "in" / random.choice(READERS[place.reference.command.name])
    cut = random.random() < 0.5
    moment = random.uniform(0, place.reference.seconds)
    action = partial(os.truncate, lost, 0) if cut else lost.unlink
    what = f"{named(place)}, {lost.name} {'emptied' if cut else 'removed'} after {moment:.3f} s"
    return what, run(place, moment=moment, action=action)


def cut_model(references: References, random: Random, name: str) -> Case:
    """A model file loses its end while it is loaded."""
    place = draw_place(references, random, name, ["tag"])
    model = place.folder / "in" / "names.skip"
    size = random.randrange(model.stat().st_size)
    moment = random.uniform(0, place.reference.seconds)
    findings = run(place, moment=moment, action=partial(os.truncate, model, size))
    return f"tag, model cut to {size:,} bytes after {moment:.3f} s", findings


def vanishing_output(references: References, random: Random, name: str) -> Case:
    """The output folder is removed while the command runs."""
    place = draw_place(references, random, name)
    moment = random.uniform(0, place.reference.seconds)
    remove = partial(shutil.rmtree, place.out, ignore_errors=True)
    child = start(place, place.reference.command.arguments)
    findings = finish(child, ENDS, moment, remove)
    found = snapshot(place.out)
    findings += [("uncaught", f"left {name}") for name in place.litter(found)]
    return f"{named(place)}, folder removed after {moment:.3f} s", findings


def rivals(references: References, random: Random, name: str) -> Case:
    """Several processes write to one target: the result is that of one of them."""
    return _rivals(references, random, name, random.choice(list(RIVALS)))


def rival_stores(references: References, random: Random, name: str) -> Case:
    """Several processes replace one n-gram store."""
    return _rivals(references, random, name, "ngrams-overwrite")


FAULTS: tuple[Fault, ...] = (
    full_disk, file_size, device_full, read_only, vanishing_input, cut_model, vanishing_output,
    rivals, rival_stores,
)  # fmt: skip


def _rivals(references: References, random: Random, name: str, which: str) -> Case:
    place = draw_place(references, random, name, [which])
    own, other = place.reference.command.arguments, RIVALS[which]
    count = random.randint(2, 4)
    children = []
    for number in range(count):
        children.append(start(place, (own, other)[number % 2]))
        time.sleep(random.uniform(0, 0.1))
    findings = [finding for child in children for finding in finish(child, ENDS)]
    found = below(snapshot(place.out), place.reference.command.target)
    if not any(same(found, known) for known in (place.reference.new, place.reference.rival)):
        findings.append(("uncaught", f"the result is that of none: it has {sorted(found)}"))
    if all(child.code != 0 for child in children):
        findings.append(("uncaught", "none of them could write"))
    findings += [("uncaught", f"left {n}") for n in place.litter(snapshot(place.out))]
    return f"{count} × {which} at once", findings


@contextmanager
def _disk(folder: Path, size: int) -> Iterator[bool]:
    """A small disk in the place of a folder; false where we may not mount one."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    mounted = (
        shutil.which("mount") is not None
        and not subprocess.run(command, capture_output=True, check=False).returncode
    )
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False)


def _pages(content: dict[str, bytes | None]) -> int:
    """The room that files take on such a disk; folders take none."""
    return sum(-(-len(data or b"") // PAGE) for data in content.values())


def _without_override() -> tuple[str, ...]:
    """What takes from root the right to write where permissions forbid it."""
    if os.geteuid() or not shutil.which("setpriv"):
        return ()
    return ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def _bound() -> bool:
    """Whether permissions hold for the commands that we start."""
    return bool(os.geteuid() or _without_override())
