"""The set of model labels that each token may have, by labels given and by a dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from skipchain.arrays import Bools, Ints
from skipchain.chains.potentials import Constraints
from skipchain.corpus import Column
from skipchain.corpus.schemes import check_scheme, decode, encode
from skipchain.corpus.schemes.scheme import TABLE
from skipchain.errors import CorpusError, SkipchainError

OUTSIDE = "O"

# What a prefix says of its token: (begins a span, ends a span); None where it leaves that open.
_PREFIXES: dict[str, dict[str, tuple[bool | None, bool | None]]] = {
    "io": {"I": (None, None)},
    "iob1": {"B": (True, None), "I": (None, None)},
    "iob2": {"B": (True, None), "I": (False, None)},
    "ioe1": {"E": (None, True), "I": (None, None)},
    "ioe2": {"E": (None, True), "I": (None, False)},
    "bioes": {"B": (True, False), "I": (False, False), "E": (False, True), "S": (True, True)},
    "bilou": {"B": (True, False), "I": (False, False), "L": (False, True), "U": (True, True)},
    "bare": {},
}


def allowed_labels(
    given: Sequence[str | None],
    offsets: Ints,
    scheme: str | None,
    labels: Sequence[str],
    encoding: str | None,
) -> Bools:
    """Which of the model's labels, written in ``encoding``, agree with labels given in ``scheme``.

    Returns [N, L]; a token given None may have any label. offsets [C + 1] are those of the chains.

    >>> labels, offsets = ["B-PER", "E-PER", "O", "S-PER"], np.array([0, 2])
    >>> allowed_labels(["B-PER", None], offsets, "iob2", labels, "bioes").astype(int)
    array([[1, 0, 0, 1],
           [1, 1, 1, 1]])
    """
    if scheme is None or encoding is None or scheme == encoding:
        rows = [None if label is None else _one_label(label, labels) for label in given]
    else:
        meanings = _meanings(given, offsets, check_scheme(scheme))
        model_meanings = [label_meaning(label, encoding) for label in labels]
        rows = [
            None if wanted is None else _agreeing(wanted, model_meanings) for wanted in meanings
        ]
        for token, label in _certain_labels(given, offsets, scheme, encoding):
            rows[token] = _one_label(label, labels)
    allowed = np.ones((len(given), len(labels)), np.bool_)
    for token, row in enumerate(rows):
        if row is None:
            continue
        if not row.any():
            raise SkipchainError(
                f"token {token}: label {given[token]!r} is unknown to the model, which has "
                f"{', '.join(labels)}"
            )
        allowed[token] = row
    if scheme != encoding and scheme in ("iob1", "ioe1"):
        _join_neighbours(given, offsets, scheme, labels, allowed)
    return allowed


def require_agreement(
    given: Sequence[str | None], allowed: Bools, offsets: Ints, constraints: Constraints
) -> None:
    """Refuse labels given that leave a chain no path, naming those that clash."""
    lost = constraints.dead_ends(allowed, offsets)
    if (lost < 0).all():
        return
    chain = int((lost >= 0).argmax())
    first, token = int(offsets[chain]), int(lost[chain])
    before = next((t for t in range(token - 1, first - 1, -1) if given[t] is not None), None)
    clashing = [
        f"{given[t]!r} given for token {t}"
        for t in (before, token)
        if t is not None and given[t] is not None
    ]
    clash = "the labels given contradict each other or the scheme"
    if len(clashing) == 2:
        clash = f"{clashing[0]} and {clashing[1]} contradict each other"
    elif clashing:
        clash = f"{clashing[0]} contradicts the scheme, by which it has no place there"
    raise CorpusError(
        f"the sequence at token {first} has no possible labelling: {clash}; free one of them, or "
        "decode without constraints"
    )


def relax_candidates(
    candidates: Bools, allowed: Bools | None, offsets: Ints, constraints: Constraints | None
) -> Bools:
    """Candidates of a dictionary, which gives way where nothing allowed would be left. [N, L]

    A token whose label is given otherwise may have that too; in a chain that has no path through
    the candidates every token may have any label.

    >>> offsets, given = np.array([0, 2]), np.array([[True, True], [False, True]])
    >>> relax_candidates(np.array([[True, False], [True, False]]), given, offsets, None).astype(int)
    array([[1, 0],
           [1, 1]])
    """
    limits = candidates
    if allowed is not None:
        barred = ~(candidates & allowed).any(axis=1, keepdims=True)
        candidates = candidates | (barred & allowed)
        limits = candidates & allowed
    if constraints is None:
        return candidates
    lost = np.repeat(constraints.dead_ends(limits, offsets) >= 0, np.diff(offsets))
    return candidates | lost[:, None]


@dataclass(frozen=True, slots=True)
class LabelMeaning:
    """What a label says: the type of its span (None: outside), and whether it begins or ends it."""

    type_name: str | None
    begins: bool | None = None
    ends: bool | None = None


def _one_label(label: str, labels: Sequence[str]) -> Bools:
    return np.array([label == other for other in labels])


def _agreeing(wanted: LabelMeaning, meanings: Sequence[LabelMeaning]) -> Bools:
    return np.array([_agree(wanted, meaning) for meaning in meanings])


def _agree(a: LabelMeaning, b: LabelMeaning) -> bool:
    pairs = ((a.begins, b.begins), (a.ends, b.ends))
    return a.type_name == b.type_name and all(x is None or y is None or x == y for x, y in pairs)


def _certain_labels(
    given: Sequence[str | None], offsets: Ints, scheme: str, encoding: str
) -> Iterator[tuple[int, str]]:
    """The labels in ``encoding`` of the tokens whose neighbours are given too: they are certain."""
    for first, last in pairwise(offsets.tolist()):
        t = first
        while t < last:
            stop = t
            while stop < last and given[stop] is not None:
                stop += 1
            if stop > t:
                run, whole = Column.encode([str(v) for v in given[t:stop]]), np.array([0, stop - t])
                spans = decode(run, whole, scheme)
                exact = encode(spans, whole, encoding, lossy=True).tolist()
                again = encode(spans, whole, scheme, lossy=True).tolist()
                for k in range(t + (t > first), stop - (stop < last)):
                    if again[k - t] == given[k]:  # else it breaks its scheme, and settles nothing
                        yield k, exact[k - t]
            t = stop + 1


def label_meaning(label: str, scheme: str) -> LabelMeaning:
    """The meaning of a label by itself."""
    if label == OUTSIDE:
        return LabelMeaning(None)
    if TABLE[scheme].bare:
        return LabelMeaning(label)
    prefix, _, type_name = label.partition("-")
    if prefix not in _PREFIXES[scheme] or not type_name:
        known = ", ".join(f"{prefix}-TYPE" for prefix in _PREFIXES[scheme])
        raise SkipchainError(f"label {label!r} does not belong to {scheme}, which has O, {known}")
    return LabelMeaning(type_name, *_PREFIXES[scheme][prefix])


def _meanings(given: Sequence[str | None], offsets: Ints, scheme: str) -> list[LabelMeaning | None]:
    """The meaning of each label among its neighbours: in iob1 and ioe1 they decide what I- says."""
    meanings = [None if label is None else label_meaning(label, scheme) for label in given]
    for first, last in pairwise(offsets.tolist()):
        for t in range(first, last):
            here = meanings[t]
            if here is None or here.type_name is None:
                continue
            if scheme == "iob1" and here.begins is None:
                before = meanings[t - 1] if t > first else LabelMeaning(None)
                if before is not None:
                    meanings[t] = replace(here, begins=before.type_name != here.type_name)
            elif scheme == "ioe1" and here.ends is None:
                after = meanings[t + 1] if t + 1 < last else LabelMeaning(None)
                if after is not None:
                    meanings[t] = replace(here, ends=after.type_name != here.type_name)
    return meanings


def _join_neighbours(
    given: Sequence[str | None], offsets: Ints, scheme: str, labels: Sequence[str], allowed: Bools
) -> None:
    """B- of iob1 (E- of ioe1) splits two spans of one type: a free neighbour must be of it."""
    prefix, step = ("B-", -1) if scheme == "iob1" else ("E-", 1)
    for first, last in pairwise(offsets.tolist()):
        for t in range(first, last):
            label, other = given[t], t + step
            splits = label is not None and label.startswith(prefix)
            if label is not None and splits and first <= other < last and given[other] is None:
                type_name = label[len(prefix) :]
                allowed[other] &= [name.partition("-")[2] == type_name for name in labels]
