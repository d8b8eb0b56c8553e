"""A folder that keeps the outcomes of a comparison, so that it can be interrupted and go on."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from skipchain.comparison.contender import Contender
from skipchain.comparison.fingerprint import Parts, changes
from skipchain.comparison.outcome import Outcome
from skipchain.io.files import make_folder, write_text


class Folder:
    """One file per contender with its outcome, and one with its model."""

    def __init__(self, path: str | Path) -> None:
        self.path = make_folder(path)

    def kept(self, contender: Contender, origin: Parts) -> tuple[Outcome | None, str]:
        """An outcome of the same origin, and what became of the one that is there (or nothing)."""
        file = self._file(contender, ".json")
        if not file.exists():
            return None, ""
        try:
            written = json.loads(file.read_text(encoding="utf-8"))
            changed = changes(written["origin"], origin)
            if changed:
                return None, f"other {' and '.join(changed)} than before: running it again"
            return Outcome.of(written["outcome"]), f"done before, kept in {file}"
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None, f"{file} cannot be read: running it again"

    def keep(self, contender: Contender, origin: Parts, outcome: Outcome) -> None:
        """Write an outcome, whole or not at all."""
        record = {"model": contender.name, "origin": dict(origin), "outcome": outcome.as_dict()}
        text = json.dumps(record, ensure_ascii=False) + "\n"
        write_text(self._file(contender, ".json"), text, overwrite=True)

    def model_file(self, contender: Contender) -> Path:
        """Where the contender's model is kept."""
        return self._file(contender, ".skip")

    def _file(self, contender: Contender, ending: str) -> Path:
        """A name that every file system takes, different for different contenders."""
        plain = re.sub(r"[^\w=.]+", "-", contender.name, flags=re.ASCII)[:60]
        if plain != contender.name:
            plain += "-" + hashlib.sha256(contender.name.encode()).hexdigest()[:6]
        return self.path / (plain + ending)
