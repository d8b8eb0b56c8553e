"""Options of earlier versions: each is refused with its new spelling, ready to be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from typer.core import TyperCommand

from skipchain.cli.hints import hinting
from skipchain.errors import SkipchainError


@dataclass(frozen=True, slots=True)
class GoneOption:
    """Where a value goes now: to a specification (``place``) or to ``--set``, under a name."""

    place: str
    name: str
    flag: bool = False


def _rows(place: str, *names: str, flag: bool = False) -> dict[str, GoneOption]:
    return {f"--{name}": GoneOption(place, name.replace("-", "_"), flag) for name in names}


SOLVER = GoneOption("--solver", "")
RENAMED = {"--encoding": GoneOption("--learn-as", "")}
SHARED = {**RENAMED, **_rows("--set", "min-count", "constraints")}
GONE: Mapping[str, Mapping[str, GoneOption]] = {
    "train": {
        **RENAMED,
        "--optimiser": SOLVER,
        **_rows("--model", "min-count", "constraints", "dictionary", "order", "edges", "orderings"),
        **_rows("--model", "mixing", "groups", "borders", "observation", "gamma", "experts"),
        **_rows("--model", "damping", "max-sweeps", "states", "init", "objective", "update"),
        **_rows("--model", "emissions", "smoothing"),
        **_rows("--model", "agreement", "bias", "dependent", flag=True),
        **_rows("--solver", "l1", "pairs", "rate", "dropout", "tolerance", "max-iterations"),
        **_rows("--solver", "patience"),
        **_rows("--set", "folds", "penalties", "strength", "steps", "restarts", "em", "annealing"),
        **_rows("--recipe", "lexicons", "clusters", "vectors"),
    },
    "compare": SHARED,
    "states": SHARED,
}
"""By command: the options that are gone."""
DEFAULTS = {"--model": "crf", "--recipe": "ner-knowledge"}


class Command(TyperCommand):
    """A command that knows the options it had in earlier versions, and those that are meant."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse options that are gone, and read the others."""
        if self.name == "train" and any(word.startswith("--resume") for word in args):
            from skipchain.cli.checkpoints import completed

            args = completed(args)
        gone = GONE.get(self.name or "", {})
        flags, known = set(), set()
        for param in self.params:
            known.update(param.opts)
            if getattr(param, "is_flag", False):
                flags.update(param.opts)
        refuse_gone(args, gone, known, flags)
        return hinting(ctx, self.params, lambda: super(Command, self).parse_args(ctx, args))


def refuse_gone(
    arguments: Sequence[str],
    gone: Mapping[str, GoneOption],
    known: Iterable[str],
    flags: Iterable[str],
) -> None:
    """Raise an error that has the new spelling of the options that are gone, if there are any.

    >>> refuse_gone(["--model", "memm", "--order", "2"], GONE["train"], ["--model"], [])
    Traceback (most recent call last):
    ...
    skipchain.errors.SkipchainError: --order 2 is now --model memm:order=2
    """
    found: list[tuple[str, str]] = []
    others: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        option, equals, value = argument.partition("=")
        if argument == "--":
            break
        if option in gone:
            if gone[option].flag:
                value = "true"
            elif not equals:
                value = next(rest, "")
            found.append((option, value))
        elif option in known and option not in flags:
            others[option] = value if equals else next(rest, "")
        elif option in flags:
            others[option] = "true"
    if found:
        old = [
            option if gone[option].flag else shlex.join([option, value]) for option, value in found
        ]
        verb = "is" if len(old) == 1 else "are"
        new = " ".join(new_spelling([(gone[option], value) for option, value in found], others))
        raise SkipchainError(f"{', '.join(old)} {verb} now {new}")


def new_spelling(found: Sequence[tuple[GoneOption, str]], others: Mapping[str, str]) -> list[str]:
    """The options that say the same as those that are gone, beside those that are ``given``."""
    specifications = {place: others.get(place, default) for place, default in DEFAULTS.items()}
    values: dict[GoneOption, str] = {}
    for option, value in found:  # lexicons that were repeated are a list; else the last counts
        listed = option in values and option.name == "lexicons"
        values[option] = f"{values[option]};{value}" if listed else value
    solver = values.get(SOLVER, others.get("--solver"))
    if solver is not None:
        specifications["--solver"] = solver
    changed = {"--solver": None} if SOLVER in values else {}
    plain: list[str] = []
    for option, value in values.items():
        place, name = option.place, option.name
        if option != SOLVER and not name:
            plain += [place, value]
        elif name and place in specifications and "," not in value:
            written = "[]" if (name, value) == ("lexicons", "none") else value
            sign = "," if ":" in specifications[place] else ":"
            specifications[place] += f"{sign}{name}={written}"
            changed[place] = None
        elif name:
            plain += ["--set", f"{_qualified(name, others)}={value}"]
    parts = [part for place in changed for part in (place, specifications[place])]
    return [shlex.quote(part) for part in (*parts, *plain)]


def _qualified(name: str, others: Mapping[str, str]) -> str:
    """The name for ``--set``, with its part where several parts have it."""
    around = "--consistency" in others or "--factors" in others
    if name == "folds" and around:
        return "factors.folds"
    if name == "folds" and others.get("--recipe", "").startswith("ner-full"):
        return "recipe.folds"
    return f"solver.{name}" if name == "tolerance" and around else name
