"""``python -m benchmarks``: every figure with its bar, us and the peer in one run."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from rich.console import Console

from benchmarks.report import Report
from benchmarks.setting import Setting
from skipchain.errors import SkipchainError
from skipchain.io.files import make_folder, write_text

# One module each; imported when they are run.
GROUPS = (
    "start", "memory", "passes", "pipelines", "tagging", "short_texts", "perceptron", "decoders",
    "family", "longrange", "documents", "hidden_units", "brown", "counts", "knowledge", "accuracy",
    "scale", "streams", "disk", "cluster", "cluster_tagging",
)  # fmt: skip
LATEST = Path(__file__).with_name("latest.json")  # which git ignores


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; by default all"
    )
    parser.add_argument("--repeat", type=int, default=7, help="runs of each short measurement")
    parser.add_argument("-o", "--output", type=Path, default=LATEST, help="JSON file of figures")
    parser.add_argument("--pictures", type=Path, help="folder for pictures; by default none drawn")
    parser.add_argument("--full", action="store_true", help="with measurements of minutes")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.groups if name not in GROUPS]
    if unknown:
        parser.error(f"there is no group {unknown[0]!r}; there are {', '.join(GROUPS)}")
    if arguments.pictures is not None:
        make_folder(arguments.pictures)
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        setting = Setting(Path(folder), arguments.repeat, arguments.pictures, arguments.full)
        for name in arguments.groups or GROUPS:
            import_module(f"benchmarks.{name}").measure(report, setting)
    figures = json.dumps([asdict(figure) for figure in report.figures], indent=2)
    write_text(arguments.output, figures + "\n", overwrite=True)
    Console(highlight=False).print(report.table())


if __name__ == "__main__":
    try:
        main()
    except SkipchainError as error:
        sys.exit(f"benchmarks: {error}")
