"""A trial: one candidate of a search, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skipchain.selection.trial_settings import TrialSettings

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate with its score on held-out data in percent, and the seconds that it took.

    ``options`` are those of ``skipchain train`` beside what all candidates share. ``score`` is None
    where the candidate was not tried to the end; ``note`` says why.
    """

    candidate: TrialSettings
    options: str
    score: float | None
    seconds: float
    note: str = ""

    @property
    def name(self) -> str:
        """The options, or that there are none."""
        return self.options or DEFAULT

    def as_dict(self) -> dict[str, Any]:
        """The trial as JSON can hold it."""
        return {
            "options": self.options,
            "score": None if self.score is None else round(self.score, 4),
            "seconds": round(self.seconds, 3),
            "note": self.note,
        }
