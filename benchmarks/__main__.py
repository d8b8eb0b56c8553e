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
from skipchain.io.files import write_text

# One module each; imported when they are run.
GROUPS = (
    "start", "memory", "passes", "pipelines", "perceptron", "decoders", "family", "longrange",
    "documents", "labelfeatures", "brown", "knowledge", "accuracy",
)  # fmt: skip
LATEST = Path(__file__).with_name("latest.json")


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; all unless told"
    )
    parser.add_argument("--repeat", type=int, default=7, help="runs of each short measurement")
    arguments = parser.parse_args()
    strange = [name for name in arguments.groups if name not in GROUPS]
    if strange:
        parser.error(f"there is no group {strange[0]!r}; there are {', '.join(GROUPS)}")
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        setting = Setting(Path(folder), arguments.repeat)
        for name in arguments.groups or GROUPS:
            import_module(f"benchmarks.{name}").measure(report, setting)
    figures = json.dumps([asdict(figure) for figure in report.figures], indent=2)
    write_text(LATEST, figures + "\n", overwrite=True)
    Console(highlight=False).print(report.table())


if __name__ == "__main__":
    try:
        main()
    except SkipchainError as error:
        sys.exit(f"benchmarks: {error}")
