"""The scheme of labels as they come: named or inferred, and rare mistakes repaired."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus.column import Column
from skipchain.corpus.schemes.inference import infer_scheme
from skipchain.corpus.schemes.labels import UNKNOWN, belongs, split
from skipchain.corpus.schemes.layout import marks_of, read, write
from skipchain.corpus.schemes.near_types import near_types
from skipchain.corpus.schemes.scheme import TABLE, Scheme, check_scheme, is_no_scheme
from skipchain.corpus.schemes.spelling import in_our_spelling, readable_labels
from skipchain.corpus.schemes.violations import describe_first, violations_of
from skipchain.errors import BrokenSchemeError, SchemeError

RARE = 1000  # labels are repaired unasked where fewer than one token in so many is wrong
EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Resolution:
    """Labels with their scheme (None: they mark no spans), and what was repaired.

    ``repaired`` [R] are the tokens whose label is another now; ``remark`` says what a reader should
    know, if anything.
    """

    labels: Column
    scheme: str | None
    before: Column
    repaired: Ints  # [R]
    remark: str | None = None

    def told(self, place: Callable[[int], str]) -> str | None:
        """What was repaired, with the first examples, in words; None where nothing was.

        ``place`` names the place of a token.
        """
        if not len(self.repaired):
            return self.remark
        tokens = self.repaired[:EXAMPLES]
        old, new = self.before.take(tokens).tolist(), self.labels.take(tokens).tolist()
        rows = zip(tokens.tolist(), old, new, strict=True)
        shown = [f"{place(token)} {was!r} is now {now!r}" for token, was, now in rows]
        more = len(self.repaired) - len(shown)
        if more:
            shown.append(f"{more:,} more")
        count = len(self.repaired)
        what = "1 label breaks" if count == 1 else f"{count:,} labels break"
        verb = "is" if count == 1 else "are"
        return (
            f"{what} {self.scheme} and {verb} repaired ({len(self.labels):,} tokens): "
            f"{'; '.join(shown)}"
        )


def resolve(
    column: Column,
    offsets: Ints,
    scheme: str | None = None,
    repair: bool | None = None,
    *,
    may_be_bare: bool = True,
) -> Resolution:
    """The labels in the scheme that is named (``none``: they mark no spans), or that they show.

    Labels that break it are repaired where they are fewer than one in a thousand tokens; more are a
    `BrokenSchemeError`. With ``repair`` they are repaired whatever their number, with False all
    stay as they are. A redundant B- of iob1 or E- of ioe1 is no mistake, and is repaired only where
    that is asked for. Labels that are not known (``_``) fit every scheme and show none. Labels
    without prefixes are taken for spans only where they ``may_be_bare``.

    >>> labels = Column.encode(["O", "I-PER"] + ["O"] * 1000)
    >>> found = resolve(labels, np.array([0, 2, 1002]), "iob2")
    >>> found.scheme, found.labels.tolist()[:2], found.told(lambda token: f"token {token}")
    ('iob2', ['O', 'B-PER'],
     "1 label breaks iob2 and is repaired (1,002 tokens): token 1 'I-PER' is now 'B-PER'")
    """
    none = np.zeros(0, np.int64)
    if is_no_scheme(scheme):
        return Resolution(column, None, column, none)
    if UNKNOWN in column.values:
        return Resolution(column, *_partial(column, offsets, scheme))
    if repair is not False and (ours := in_our_spelling(column)) is not None:
        found = resolve(ours, offsets, scheme, repair, may_be_bare=may_be_bare)
        return replace(found, remark=found.remark or _spelling_told(column, ours))
    cased = column if repair is False else _in_known_case(column, repair)
    found = _in_shown_scheme(cased, offsets, scheme, repair, may_be_bare=may_be_bare)
    if cased is column:
        return found
    if found.scheme is None:
        return Resolution(column, None, column, none, found.remark)
    pairs = zip(column.tolist(), found.labels.tolist(), strict=True)
    changed = np.flatnonzero([old != new for old, new in pairs])
    return Resolution(found.labels, found.scheme, column, changed, found.remark)


def _spelling_told(column: Column, ours: Column) -> str:
    """That labels are spelt in another way, with an example."""
    token = int((ours.codes != ours.values.index("O")).argmax()) if "O" in ours.values else 0
    own, read_as = (labels.values[labels.codes[token]] for labels in (column, ours))
    return f"labels are spelt in another way: {own!r} is read as {read_as!r}"


def _in_shown_scheme(
    column: Column, offsets: Ints, scheme: str | None, repair: bool | None, *, may_be_bare: bool
) -> Resolution:
    """The labels in the scheme that is named, or that they show."""
    none = np.zeros(0, np.int64)
    if scheme is not None:
        return _in_scheme(column, offsets, TABLE[check_scheme(scheme)], repair)
    found = infer_scheme(column, offsets)
    wanted, remark = found.scheme or found.nearest, None
    if wanted is None and _mostly_prefixed(column):
        found = infer_scheme(readable_labels(column)[0], offsets)
        wanted = found.scheme or found.nearest
    if wanted is None or (wanted == "bare" and not may_be_bare):
        return Resolution(column, None, column, none)
    try:
        return _in_scheme(column, offsets, TABLE[wanted], repair)
    except BrokenSchemeError:
        raise
    except SchemeError as error:
        if repair is not False:
            raise
        remark = f"{error}; taken as labels without spans"
    return Resolution(column, None, column, none, remark)


def _partial(
    column: Column, offsets: Ints, scheme: str | None
) -> tuple[str | None, Column, Ints, str | None]:
    """Scheme, labels, repairs and remark for labels of which some are not known."""
    none = np.zeros(0, np.int64)
    known = column.renamed(["O" if value == UNKNOWN else value for value in column.values])
    if scheme is not None:
        name = check_scheme(scheme)
        read(known, offsets, TABLE[name])
        return name, column, none, None
    found = infer_scheme(known, offsets)
    if (found.scheme or found.nearest) is None or set(known.values) <= {"O"}:
        return None, column, none, None
    remark = f"labels {UNKNOWN!r} leave open which scheme it is; taken as labels without spans"
    return None, column, none, remark


def _mostly_prefixed(column: Column) -> bool:
    """Whether more tokens have a label with a prefix than one that is neither that nor O."""
    counts = np.bincount(column.codes, minlength=len(column.values))
    prefixed = np.array([bool(split(label)[0]) for label in column.values], bool)
    outside = np.array([label == "O" for label in column.values], bool)
    return bool(counts[prefixed].sum() > counts[~prefixed & ~outside].sum())


def _in_scheme(column: Column, offsets: Ints, scheme: Scheme, repair: bool | None) -> Resolution:
    """The labels in a scheme, with what breaks it repaired."""
    used = column.values if not len(column) else [column.values[k] for k in column.used().tolist()]
    foreign = [label for label in used if not belongs(label, scheme)]
    if foreign and repair is False:
        read(column, offsets, scheme)  # says which label does not belong to it
    readable, unreadable = readable_labels(column) if foreign else (column, ())
    marks, layout = read(readable, offsets, None if foreign else scheme)
    if unreadable:
        lost = np.isin(column.codes, [column.values.index(label) for label in unreadable])
        if not _is_rare(int(lost.sum()), len(column)):
            inside = np.array([value != "O" for value in readable.values], bool)
            if repair is False or lost.sum() >= inside[readable.codes].sum():
                read(column, offsets, scheme)  # says which label does not belong to it
            if repair is None:
                label = column.values[column.codes[int(lost.argmax())]]
                fault = f"label {label!r} does not belong to {scheme.name}, and says nothing"
                wanted = f"wanted O or {scheme.forms}; repaired, it is O"
                raise BrokenSchemeError(f"{fault}: {wanted}", int(lost.argmax()))
    if not foreign:
        wrong = marks != marks_of(layout, scheme)
        if repair is False or not wrong.any() or (scheme.only_if_needed and not repair):
            return Resolution(column, scheme.name, column, np.zeros(0, np.int64))
    labels = write(layout, scheme)
    number = {label: code for code, label in enumerate(labels.values)}
    codes = np.array([number.get(label, -1) for label in column.values], np.int64)
    changed = np.flatnonzero(codes[column.codes] != labels.codes)
    if repair is None and not _is_rare(len(changed), len(column)):
        count = f"{len(changed):,} of {len(column):,} labels break {scheme.name}"
        if not foreign:
            violations = violations_of(column, offsets, scheme, marks, layout)
            raise BrokenSchemeError(f"{count}: {describe_first(violations[:1])}", int(changed[0]))
        token = int(np.isin(column.codes, [column.values.index(k) for k in foreign]).argmax())
        label = column.values[column.codes[token]]
        fitting = infer_scheme(column, offsets).scheme
        fault = f"label {label!r} does not belong to {scheme.name}: wanted O or {scheme.forms}"
        better = "" if fitting is None else f"; all labels fit {fitting}"
        raise BrokenSchemeError(f"{fault}; {count}{better}", token)
    return Resolution(labels, scheme.name, column, changed)


def _in_known_case(column: Column, repair: bool | None) -> Column:
    """Rare types that differ from a frequent one in case only become that one."""
    names = {
        near.rare: near.frequent
        for near in near_types(column)
        if near.by_case and (repair or _is_rare(near.counts[0], len(column)))
    }
    if not names:
        return column
    values = []
    for label in column.values:
        prefix, name = split(label)
        values.append(f"{prefix}-{names[name]}" if name in names else label)
    return column.renamed(values)


def _is_rare(count: int, tokens: int) -> bool:
    return count * RARE < tokens
