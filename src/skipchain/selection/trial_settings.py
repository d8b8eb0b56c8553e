"""Settings of an estimator as commands take them, of which a search tries some."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skipchain.assembly import build_estimator
from skipchain.models.base.estimator import BaseEstimator

NOT_SHOWN = ("threads",)  # which change no result
CONSISTENCY = "consistency"


@dataclass(frozen=True, slots=True)
class TrialSettings:
    """Settings by the names that `skipchain.assembly.build_estimator` has for them.

    >>> TrialSettings({}).changed(model="crf:order=2", factors="consistency").options
    '--model crf:order=2 --consistency'
    """

    settings: Mapping[str, Any]

    def changed(self, **settings: Any) -> TrialSettings:
        """The same with other settings."""
        return TrialSettings({**self.settings, **settings})

    def estimator(self) -> BaseEstimator:
        """The estimator, not fitted; settings that do not go together are refused."""
        return build_estimator(**self.settings)

    @property
    def options(self) -> str:
        """The options of ``skipchain train`` that mean these settings."""
        words: list[str] = []
        for name, value in self.settings.items():
            if (value is None and name != "encoding") or name in NOT_SHOWN:
                continue
            if name == "factors" and value == CONSISTENCY:
                words.append("--consistency")
            elif name == "assignments":
                words += [word for text in value for word in ("--set", text)]
            elif name == "without":
                words += ["--without", ",".join(value)] if value else []
            elif name == "encoding":
                words += ["--learn-as", "none" if value is None else value]
            elif (name, value) != ("model", "crf"):
                words += [f"--{name}", str(value)]
        return shlex.join(words)
