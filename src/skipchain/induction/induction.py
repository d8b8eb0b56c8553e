"""What induction has found: templates, and round by round how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skipchain import __version__
from skipchain.corpus.corpus import plural
from skipchain.features.template import Template
from skipchain.features.templates import Templates
from skipchain.induction.conjunctions import as_text


@dataclass(frozen=True, slots=True)
class InductionCandidate:
    """A conjunction that was looked at.

    ``gain`` is what it adds to the log-likelihood of held-out tokens (in nats, all other weights
    fixed), ``features`` the number of its values in the data.
    """

    template: Template
    gain: float
    features: int

    def as_dict(self) -> dict[str, Any]:
        """The candidate as JSON can hold it."""
        return {
            "template": str(self.template),
            "gain": round(self.gain, 2),
            "features": self.features,
        }


@dataclass(frozen=True, slots=True)
class InductionRound:
    """One round: the best candidates, what was added or removed, and what came of it.

    The gains of those ``added`` are given those added before. ``score`` is that of the templates
    after the round on held-out data, in percent, ``log_likelihood`` that of all held-out labels.
    Round 0 is that of the templates to start from. Trials of leaving templates out are counted
    apart, from 1, by ``pruning``; their ``number`` is the round whose templates they began with.
    """

    number: int
    pruning: int
    considered: int
    candidates: tuple[InductionCandidate, ...]
    added: tuple[InductionCandidate, ...]
    removed: tuple[Template, ...]
    templates: tuple[Template, ...]
    score: float
    log_likelihood: float
    seconds: float

    def describe(self, measure: str) -> list[str]:
        """Lines on the round, as a display shows them."""
        lines = [f"  + {own.template}  (gain {own.gain:,.1f})" for own in self.added]
        lines += [f"  - {own}" for own in self.removed]
        about = f"round {self.number}" if self.number else "start"
        if self.pruning:
            about = f"pruning {self.pruning}"
        if self.considered:
            about += f", {plural(self.considered, 'candidate')}"
        lines.append(
            f"{about}: {plural(len(self.templates), 'template')}, held-out {measure} "
            f"{self.score:.2f}, log-likelihood {self.log_likelihood:,.1f}; {self.seconds:.0f} s"
        )
        return lines

    def as_dict(self) -> dict[str, Any]:
        """The round as JSON can hold it."""
        return {
            "round": self.number,
            "pruning": self.pruning,
            "considered": self.considered,
            "candidates": [own.as_dict() for own in self.candidates],
            "added": [own.as_dict() for own in self.added],
            "removed": [str(own) for own in self.removed],
            "templates": len(self.templates),
            "score": round(self.score, 4),
            "log_likelihood": round(self.log_likelihood, 2),
            "seconds": round(self.seconds, 3),
        }


def best_round(rounds: Sequence[InductionRound]) -> InductionRound:
    """The round with the best score; of equal ones that with the fewest templates."""
    return max(rounds, key=lambda own: (own.score, -len(own.templates)))


@dataclass(frozen=True, slots=True)
class Induction:
    """The templates that were best on held-out data, and the rounds that led to them.

    ``measure`` is what ``score`` means in the rounds (``F1`` or ``accuracy``), ``held_out`` on
    which data, ``stopped`` why there are no more rounds.
    """

    templates: Templates
    rounds: tuple[InductionRound, ...]
    model: str
    measure: str
    held_out: str
    stopped: str

    @property
    def best(self) -> InductionRound | None:
        """The round whose templates were taken; None where not one has ended."""
        return best_round(self.rounds) if self.rounds else None

    @property
    def text(self) -> str:
        """The templates as a file holds them, with comments on how they were found."""
        lines = [f"Induced by skipchain {__version__} with {self.model}; stopped: {self.stopped}."]
        if self.best is not None:
            first, best = self.rounds[0], self.best
            there, kept = set(first.templates), set(best.templates)
            lines.append(
                f"{self.measure} on {self.held_out}: {first.score:.2f} with the "
                f"{plural(len(there), 'template')} at the start, {best.score:.2f} with "
                f"{len(kept)} after {plural(best.number, 'round')}: {len(kept - there)} of them "
                f"new, {len(there - kept)} of the start left out."
            )
        others = self.templates.text.split("\n")[len(self.templates.templates) :]
        body = "\n".join([as_text(self.templates.templates), *others])
        return "".join(f"# {line}\n" for line in lines) + f"\n{body}\n"

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        return {
            "model": self.model,
            "measure": self.measure,
            "held_out": self.held_out,
            "stopped": self.stopped,
            "best_round": None if self.best is None else self.best.number,
            "best_pruning": None if self.best is None else self.best.pruning,
            "templates": [str(own) for own in self.templates.templates],
            "rounds": [own.as_dict() for own in self.rounds],
        }
