"""Run notebooks, keep what they show, and compare it with what they showed before.

``python docs/_ext/notebooks.py NOTEBOOK …`` runs notebooks and puts the answers of this machine
into them. What is kept of a cell is what it prints, its table or its picture; nothing of the
machine or the time.
"""

from __future__ import annotations

import re
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from html import unescape
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent))

from replay import SECONDS, agree

VERSION = 4
SHOWN = ("text/html", "image/png", "text/plain")  # the first of these that a cell gives is shown
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
COLOURS = 128  # of a picture, which keeps it small
TAG = re.compile(r"<[^>]*>")
SPACED = re.compile(r"</(?:td|th|tr|p|small)>")  # what ends a cell or a line


def read(path: Path) -> Any:
    """A notebook as it is stored."""
    return nbformat.read(path, as_version=VERSION)


def run(notebook: Any) -> Any:
    """A copy of a notebook that has been run in an empty folder, with what it showed.

    A cell that fails is an error.
    """
    done = nbformat.from_dict(notebook)
    for cell in done.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    with TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(done, timeout=SECONDS, kernel_name="python3", resources=resources).execute()
    for number, cell in enumerate(done.cells):
        cell.id = f"cell-{number}"
        if cell.cell_type == "code":
            cell.metadata.pop("execution", None)  # times
            cell.outputs = [output for output in map(_kept, cell.outputs) if output is not None]
    done.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    return done


def _kept(output: Any) -> Any:
    """An output with what is shown of it; None for what only a terminal should show."""
    if output.output_type == "stream":
        return output if output.name == "stdout" else None
    kind = next(kind for kind in SHOWN if kind in output.data)
    data = _with_few_colours(output.data[kind]) if kind == "image/png" else output.data[kind]
    kept = {"output_type": output.output_type, "data": {kind: data.strip()}, "metadata": {}}
    if output.output_type == "execute_result":
        kept["execution_count"] = output.execution_count
    return nbformat.from_dict(kept)


def _with_few_colours(picture: str) -> str:
    """A picture, as the base64 text of a PNG file, with few colours."""
    small = BytesIO()
    image = Image.open(BytesIO(b64decode(picture))).convert("RGB")
    image.quantize(COLOURS, kmeans=1).save(small, "png", optimize=True)
    return b64encode(small.getvalue()).decode()


def differences(stored: Any, found: Any) -> Iterator[str]:
    """Where a notebook that was run shows something else than the stored one.

    Text and tables agree as answers on pages do; of a picture only that there is one is compared.
    """
    for number, (wanted, own) in enumerate(zip(stored.cells, found.cells, strict=True)):
        if wanted.cell_type != "code":
            continue
        if wanted.execution_count != own.execution_count:
            yield f"cell {number}: not run in order"
            continue
        before, after = ([_as_text(output) for output in cell.outputs] for cell in (wanted, own))
        if len(before) != len(after) or not all(map(agree, before, after)):
            yield "\n".join([f"cell {number}:", own.source, *after, "stored:", *before])


def _as_text(output: Any) -> str:
    if output.output_type == "stream":
        text: str = output.text
        return text
    [(kind, data)] = output.data.items()
    if kind == "image/png":
        return "a picture"
    return unescape(TAG.sub("", SPACED.sub(" ", data))) if kind == "text/html" else data


def renew(path: Path) -> int:
    """Put what this machine shows into a notebook; how many cells showed something else."""
    stored = read(path)
    found = run(stored)
    nbformat.write(found, path)
    return sum(1 for _ in differences(stored, found))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"{name}: {renew(Path(name))} cells changed")
