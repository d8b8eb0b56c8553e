"""Draw the pictures of docs/gallery.md anew, each by commands of the package: ``make gallery``.

Pictures that a command draws itself are taken over; of commands that print, the JSON is drawn. All
are kept small: few colours, at most 900 pixels wide.
"""

from __future__ import annotations

import json
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image

from skipchain import load
from skipchain.datasets.harbour import harbour
from skipchain.report.pictures import Picture, png

TARGET = Path(__file__).parent.parent / "docs" / "images" / "gallery"
WIDTH, COLOURS, LARGEST = 900, 200, 80_000  # pixels, colours, bytes

TEXT = "Aske flew to Oslo."
TABLES = {
    "labelbias-branches": "label-bias",
    "toy1-labels": "toy1-labels",
    "toy1-confusions": "toy1-confusions",
    "toy1-rbm2-group-1": "toy1-filters",
    "toy1-rbm2-trace": "toy1-trace",
    "toy2-curves": "toy2-curves",
    "toy2-states": "toy2-states",
    "toy3-bars": "toy3-memory",
}
"""Pictures of ``skipchain reproduce``, and what they are called in the gallery."""


def main() -> None:
    """Run the commands in an empty folder, and write every picture."""
    TARGET.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name:
        folder = Path(name)
        train, test = harbour().split(0.75)
        train.write(folder / "train.conll")
        test.write(folder / "test.conll")

        run(folder, "reproduce labelbias toy1 toy2 toy3 --quick -q -o tables")
        for drawn, called in TABLES.items():
            write(called, (folder / "tables" / f"{drawn}.png").read_bytes())

        run(
            folder,
            "compare train.conll --test test.conll -q -o comparison "
            "--models crf,memm,maxent,perceptron,hmm",
        )
        write("comparison", (folder / "comparison" / "comparison-results.png").read_bytes())

        run(folder, "train train.conll -q -o units.skip --model rbm-crf")
        run(folder, "inspect units.skip --plot .")
        write("label-filters", (folder / "units-group-1.png").read_bytes())

        run(folder, "train train.conll -q -o names.skip")
        write("explain", png(load(folder / "names.skip").explain(TEXT, "Oslo").picture()))
        marked = run(folder, "tag names.skip --marginals --format jsonl", "--text", TEXT)
        write("marginals", png(marginals(json.loads(marked))))

        run(folder, "train train.conll -q -o far.skip --model mop-memm")
        explained = load(folder / "far.skip").explain(test, "Anselm", sentence=2)
        write("parents", png(explained.picture()))


def run(folder: Path, command: str, *more: str) -> str:
    """What a command prints."""
    print(f"skipchain {command} {' '.join(more)}", file=sys.stderr)
    words = [sys.executable, "-m", "skipchain", *command.split(), *more]
    return subprocess.run(words, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def write(name: str, picture: bytes) -> None:
    """Write a picture with few colours."""
    image = Image.open(BytesIO(picture)).convert("RGB")
    if image.width > WIDTH:
        image = image.resize((WIDTH, image.height * WIDTH // image.width), Image.Resampling.LANCZOS)
    target = TARGET / f"{name}.png"
    image.quantize(COLOURS, kmeans=1).save(target, optimize=True)
    if target.stat().st_size > LARGEST:
        raise SystemExit(f"{target} has {target.stat().st_size:,} bytes; at most {LARGEST:,}")


def marginals(tagged: dict[str, Any]) -> Picture:
    """The probability of every label at every token."""
    labels = list(tagged["marginals"][0])
    table = np.array([[row[label] for row in tagged["marginals"]] for label in labels])
    likely = table.max(axis=1) >= 0.01
    labels = [label for label, kept in zip(labels, likely, strict=True) if kept]

    def draw(figure: Any) -> None:
        panel = figure.subplots()
        panel.imshow(table[likely], cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
        for (row, column), value in np.ndenumerate(table[likely]):
            if value >= 0.005:
                colour = "white" if value > 0.6 else "black"
                panel.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour)
        panel.set_xticks(np.arange(len(tagged["tokens"])), tagged["tokens"])
        panel.set_yticks(np.arange(len(labels)), labels)

    return Picture("marginals", "", draw, size=(6.5, 3.2))


if __name__ == "__main__":
    main()
