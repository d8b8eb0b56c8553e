"""A folder that keeps the results of a comparison, so that it can be interrupted and go on."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

from skipchain.comparison.entry import Entry
from skipchain.comparison.fingerprint import Fingerprint, changed_parts
from skipchain.comparison.run_result import RunResult
from skipchain.io.files import begins_as_model, check_own_target, make_folder, write_text

BEGINNING = b'{"model": '  # of a result


class ResultStore:
    """A folder with one file per entry for its result, and one for its model."""

    def __init__(self, path: str | Path) -> None:
        self.path = make_folder(path)

    def check(self, entries: Iterable[Entry], *, overwrite: bool = False) -> None:
        """Refuse to replace files of others; a damaged result beside a model is one of ours."""
        for entry in entries:
            model, result = self.model_file(entry), self._file(entry, ".json")
            check_own_target(model, begins_as_model, overwrite=overwrite)
            is_own = _is_anything if model.is_file() else _is_result
            check_own_target(result, is_own, overwrite=overwrite)

    def load(self, entry: Entry, fingerprint: Fingerprint) -> tuple[RunResult | None, str]:
        """The stored result with this fingerprint, or None; and a note on what is stored."""
        file = self._file(entry, ".json")
        if not file.exists():
            return None, ""
        try:
            written = json.loads(file.read_text(encoding="utf-8"))
            changed = changed_parts(written["origin"], fingerprint)
            if changed:
                return None, f"other {' and '.join(changed)} than before: running it again"
            return RunResult.of(written["outcome"]), f"done before, kept in {file}"
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None, f"{file} cannot be read: running it again"

    def save(self, entry: Entry, fingerprint: Fingerprint, result: RunResult) -> None:
        """Write a result, whole or not at all."""
        record = {"model": entry.name, "origin": dict(fingerprint), "outcome": result.as_dict()}
        text = json.dumps(record, ensure_ascii=False) + "\n"
        write_text(self._file(entry, ".json"), text, overwrite=True)

    def model_file(self, entry: Entry) -> Path:
        """Where the entry's model is kept."""
        return self._file(entry, ".skip")

    def _file(self, entry: Entry, ending: str) -> Path:
        """A name that every file system takes, different for different entries."""
        plain = re.sub(r"[^\w=.]+", "-", entry.name, flags=re.ASCII)[:60]
        if plain != entry.name:
            plain += "-" + hashlib.sha256(entry.name.encode()).hexdigest()[:6]
        return self.path / (plain + ending)


def _is_result(start: bytes) -> bool:
    return start.startswith(BEGINNING)


def _is_anything(start: bytes) -> bool:
    return True
