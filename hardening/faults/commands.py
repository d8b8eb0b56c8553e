"""The commands that are attacked: small inputs, and an output that is known to the byte."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

SENTENCES = 60  # of the built-in corpus that models are trained on
OLD = b"what was here before\n"
# What commands take for an output of their own, which they replace without being told to.
OLD_MODEL = bytes([64, 1, 0, 0, 0, 0, 0, 0]) + b'{"__metadata__": {}}' + OLD
OLD_COMPARISON = {
    "crf.json": b'{"model": "crf"}\n',
    "crf.skip": OLD_MODEL,
    "comparison.md": b"# Comparison\n\n" + OLD,
}
OLD_PAGE = b"<title>Stories tagged by skipchain</title>\n"


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, run beside ``in`` and ``out``, and what it writes into ``out``.

    ``target`` is the file or folder after ``-o``; ``whole`` says that the folder is replaced as one
    thing. ``old`` are files that lie there before, ``old_store`` the arguments of a run that makes
    what lies there before. ``partial`` says that an interrupt keeps what was learnt so far.
    ``script`` is another program to be run in place of the command line.
    """

    name: str
    arguments: tuple[str, ...]
    target: str
    old: Mapping[str, bytes] = field(default_factory=dict)
    old_store: tuple[str, ...] = ()
    whole: bool = False
    partial: bool = False
    script: str | None = None

    @property
    def options(self) -> dict[str, str]:
        """What the launcher has to know."""
        return {} if self.script is None else {"script": self.script}


def _file(name: str, arguments: str, target: str, *, partial: bool = False) -> Command:
    line = (name, *arguments.split(), "--overwrite")
    return Command(name, line, target, {target: OLD}, partial=partial)


COUNT = "ngrams count in/{} -q --orders 3 -o out/store"
FIRST, SECOND = (tuple(COUNT.format(f"{name}.txt").split()) for name in ("first", "second"))
COMPARE = "in/train.conll --test in/test.conll --models crf,maxent --set epochs=3 --threads 1 -q"
TRAIN = "in/train.conll -q --epochs 10 --threads 1"
COMMANDS = (
    _file("train", f"{TRAIN} -o out/names.skip", "names.skip", partial=True),
    Command(
        "train-scratch",
        ("train", *TRAIN.split(), "--scratch", "out", "-o", "out/names.skip", "--overwrite"),
        "names.skip",
        {"names.skip": OLD},
        partial=True,
    ),
    _file("tag", "in/names.skip in/story.txt --threads 1 -q -o out/story.html", "story.html"),
    Command(
        "compare",
        ("compare", *COMPARE.split(), "-o", "out/comparison"),
        "comparison",
        {f"comparison/{name}": content for name, content in OLD_COMPARISON.items()},
    ),
    _file("brown", "in/first.txt --clusters 20 --min-count 2 -q -o out/paths.txt", "paths.txt"),
    Command("ngrams", FIRST, "store", whole=True),
    Command("ngrams-overwrite", (*FIRST, "--overwrite"), "store", old_store=SECOND, whole=True),
    _file("convert", "in/train.conll out/train.jsonl.gz -q", "train.jsonl.gz"),
    Command(
        "reproduce",
        ("reproduce", "labelbias", "--quick", "-q", "-o", "out/tables", "--overwrite"),
        "tables",
        {"tables/labelbias.md": OLD, "tables/labelbias-branches.png": OLD},
    ),
    Command(
        "demo",
        ("demo", "--threads", "1", "-o", "out/demo"),
        "demo",
        {"demo/harbour.skip": OLD_MODEL, "demo/harbour.html": OLD_PAGE},
    ),
)
"""Those that are killed."""
BY_NAME = {command.name: command for command in COMMANDS}
RIVALS = {
    "convert": ("convert", "in/test.conll", "out/train.jsonl.gz", "-q", "--overwrite"),
    "train": ("train", *TRAIN.split(), "--l2", "0.9", "-o", "out/names.skip", "--overwrite"),
    "ngrams-overwrite": (*SECOND, "--overwrite"),
}
"""Commands that write something else to the same target."""


def write_inputs(folder: Path) -> None:
    """Write what the commands read, but for the model, which `train` makes."""
    folder.mkdir()
    harbour = files("skipchain.datasets.harbour")
    sentences = harbour.joinpath("harbour.conll").read_text(encoding="utf-8").split("\n\n")
    parts = {"train": sentences[:SENTENCES], "test": sentences[SENTENCES : 2 * SENTENCES]}
    for name, part in parts.items():
        (folder / f"{name}.conll").write_text("\n\n".join(part) + "\n\n", encoding="utf-8")
    for name, part in (("first", sentences), ("second", sentences[: len(sentences) // 2])):
        (folder / f"{name}.txt").write_text(_plain(part), encoding="utf-8")
    story = harbour.joinpath("story.txt").read_text(encoding="utf-8")
    (folder / "story.txt").write_text(story, encoding="utf-8")


def _plain(sentences: list[str]) -> str:
    """Sentences of columns as text, one a line."""
    words = ([line.split()[0] for line in s.splitlines() if line.strip()] for s in sentences)
    return "".join(" ".join(line) + "\n" for line in words)


def copy_inputs(source: Path, folder: Path) -> None:
    """The inputs of one case, which it may destroy."""
    shutil.copytree(source, folder)
