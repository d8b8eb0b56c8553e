"""Types that --map and --only rename or leave out, in whatever is compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from warnings import warn

from skipchain.cli import options
from skipchain.errors import SkipchainWarning

if TYPE_CHECKING:
    from skipchain.corpus import Corpus, LabelMap
    from skipchain.models.base.model import AnyModel


def check_map(
    names: LabelMap,
    corpora: Mapping[str, Corpus],
    model: AnyModel | None = None,
    *,
    quiet: bool = False,
) -> None:
    """Refuse types that neither a corpus nor the model has; corpora are named for the error.

    Where the first has no type in common with another, or with the model, a warning says so;
    where it lacks types that the model has, stderr tells which, unless ``quiet``.
    """
    from skipchain.corpus.label_map import label_types, types_in

    types: dict[str, Sequence[str]] = {name: types_in(own) for name, own in corpora.items()}
    if model is not None:
        types["the model"] = label_types(model.labels, model.encoding)
    names.check(types)
    (first, own), *others = (
        (what, {names.new_name(name) for name in found}) for what, found in types.items() if found
    )
    for what, found in others:
        if not own & found - {"O"}:
            fault = (
                f"{first} and {what} have no type in common: {_listed(own)} and {_listed(found)}"
            )
            advice = "give some the names of others with --map A=B,C=D"
            warn(f"{fault}; {advice}", SkipchainWarning, stacklevel=2)
        elif what == "the model" and names.only is None and not quiet:
            _tell_missing(own - {"O"}, found - {"O"})


def apply_map(
    names: LabelMap, corpora: Mapping[str, Corpus], *, quiet: bool = False
) -> dict[str, Corpus]:
    """The corpora with types renamed and left out; stderr tells which, unless ``quiet``."""
    for what, corpus in corpora.items():
        changes = [
            f"{old} is left out ({count:,})" if new == "O" else f"{old} is {new} ({count:,})"
            for old, (new, count) in names.changes(corpus).items()
        ]
        if changes and not quiet:
            options.say(f"{what}: {', '.join(changes)}")
    return {what: names.apply(corpus) for what, corpus in corpora.items()}


def map_as_dict(names: LabelMap, corpora: Mapping[str, Corpus]) -> dict[str, Any]:
    """What was renamed (to ``O``: left out), for JSON."""
    changed = {old: new for own in corpora.values() for old, (new, _) in names.changes(own).items()}
    return {"map": dict(sorted(changed.items()))} if names else {}


def _tell_missing(gold: set[str], found: set[str]) -> None:
    """Say which types only the model has: whatever it finds of them counts as a mistake."""
    if missing := sorted(found - gold):
        option = f"--only {','.join(sorted(gold))}"
        them = "it" if len(missing) == 1 else "them"
        told = f"gold has no {', '.join(missing)}, which the model has"
        options.say(f"{told}; {option} leaves {them} out")


def _listed(types: Iterable[str]) -> str:
    return ", ".join(sorted({*types} - {"O"})) or "none"
