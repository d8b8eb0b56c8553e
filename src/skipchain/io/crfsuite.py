"""CRFsuite's attribute files: a label and weighted attributes a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path

from skipchain.errors import CorpusError, ReadError
from skipchain.io.files import check_text, read_text, write_text

Item = dict[str, float]
# A name, in which a backslash takes the next character as it is, up to the first bare colon.
ATTRIBUTE = re.compile(r"((?:[^\\:]|\\.?)*+)(?::(.*))?", re.DOTALL)
ESCAPE = re.compile(r"\\([\\:])")


def read_crfsuite(path: str | Path) -> tuple[list[list[Item]], list[list[str]]]:
    """Read the sequences of a CRFsuite file: attributes with their weights, and labels.

    An attribute that an item has twice weighs the sum.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_crfsuite([[{"w=Ada": 1.0, "len": 0.5}]], [["PER"]], folder + "/x")
    ...     read_crfsuite(folder + "/x")
    ([[{'w=Ada': 1.0, 'len': 0.5}]], [['PER']])
    """
    text = check_text(read_text(path), path)
    items: list[list[Item]] = [[]]
    labels: list[list[str]] = [[]]
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if line:
            label, *cells = line.split("\t")
            items[-1].append(read_item(cells, path, number))
            labels[-1].append(ESCAPE.sub(r"\1", label))
        elif items[-1]:
            items.append([])
            labels.append([])
    return list(filter(None, items)), list(filter(None, labels))


def write_crfsuite(
    X: Sequence[Sequence[Mapping[str, float]]],
    y: Sequence[Sequence[str]],
    path: str | Path,
    *,
    overwrite: bool = False,
) -> None:
    """Write sequences of attributes with weights, and their labels, as a CRFsuite file."""
    if len(X) != len(y):
        raise CorpusError(f"X has {len(X)} sequences, but y has {len(y)}")
    blocks = []
    for number, (items, labels) in enumerate(zip(X, y, strict=True)):
        if len(items) != len(labels):
            raise CorpusError(f"sequence {number} has {len(items)} items, but {len(labels)} labels")
        if not len(items):
            raise CorpusError(f"sequence {number} is empty; a CRFsuite file cannot show it")
        blocks.append("\n".join(map(format_item, items, labels)) + "\n\n")
    if not blocks:
        raise CorpusError("there are no sequences to write")
    text = "".join(blocks)
    if text.isspace():
        raise CorpusError("the labels are nothing but white space, so the file would look empty")
    write_text(path, text, overwrite=overwrite)


def read_item(cells: Iterable[str], path: object, number: int) -> Item:
    """The attributes of one line."""
    item: Item = {}
    for cell in cells:
        if not cell:
            continue
        match = ATTRIBUTE.fullmatch(cell)
        assert match is not None  # the pattern fits every string
        name = ESCAPE.sub(r"\1", match[1])
        if not name:
            raise ReadError(f"{cell!r} is a weight without a name", path=path, line=number)
        weight = 1.0 if match[2] is None else read_weight(match[2], name, path, number)
        item[name] = item.get(name, 0.0) + weight
        if not isfinite(item[name]):
            raise ReadError(f"the weights of {name!r} add up to infinity", path=path, line=number)
    return item


def read_weight(text: str, name: str, path: object, number: int) -> float:
    """The weight behind a colon."""
    try:
        weight = float(text)
    except ValueError:
        fault = f"{text!r} is no weight for {name!r}; if the colon belongs to the name, write \\:"
        raise ReadError(fault, path=path, line=number) from None
    if not isfinite(weight):
        raise ReadError(f"the weight of {name!r} is {text}", path=path, line=number)
    return weight


def format_item(item: Mapping[str, float], label: str) -> str:
    """One line.

    >>> format_item({"w:a": 1.0, "len": 0.5}, "PER")
    'PER\\tw\\\\:a\\tlen:0.5'
    """
    cells = [escape(label, "label")]
    for name, weight in item.items():
        if not name:
            raise CorpusError("an attribute has no name")
        if not isfinite(weight):
            raise CorpusError(f"the weight of {name!r} is {weight}")
        shown = "" if weight == 1 else f":{float(weight)!r}"
        cells.append(escape(name, "attribute") + shown)
    line = "\t".join(cells)
    if not line:
        fault = "an item has neither label nor attributes; a CRFsuite file cannot show it"
        raise CorpusError(fault)
    return line


def escape(text: str, kind: str) -> str:
    """The text with a backslash before each backslash and colon."""
    if re.search(r"[\t\n\r\0]", text):
        raise CorpusError(f"a CRFsuite file cannot hold the {kind} {text!r}")
    return re.sub(r"([\\:])", r"\\\1", text)
