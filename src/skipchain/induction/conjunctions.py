"""Which conjunctions can be made of the templates that are there, and in which order they stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from skipchain.arrays import Labels
from skipchain.features.reader import ViewReader
from skipchain.features.template import STATE, Atom, Template, View
from skipchain.kernels.intern import empty_slots, number_tuples


class AtomReader:
    """The atoms of templates that can be joined, with their values at the tokens of a corpus.

    An atom can be joined where it has one string at each token: it is no bag, no number, and none
    of several values.
    """

    def __init__(self, reader: ViewReader, templates: Iterable[Template]) -> None:
        self._reader = reader
        self.atoms: list[Atom] = []
        for atom in dict.fromkeys(atom for own in templates for atom in own.atoms):
            if atom.bag or atom.view.numeric:
                continue
            if atom.view not in reader.values:
                reader.fit_view(atom.view)
            if reader.values[atom.view].indptr is None:
                self.atoms.append(atom)
        self._rank = {atom: k for k, atom in enumerate(self.atoms)}
        self._codes: dict[Atom, Labels] = {
            atom: reader.tuples([atom]).keys[:, 0] for atom in self.atoms
        }
        self._determined = {
            (a.view, b.view): _determines(reader, a.view, b.view)
            for a in self.atoms
            for b in self.atoms
            if a.view.column == b.view.column
        }

    def joined(self, template: Template, atom: Atom) -> Template | None:
        """The conjunction of a template and an atom; None where one says what the other says."""
        if template.family != STATE or not all(own in self._rank for own in template.atoms):
            return None
        atoms = {*template.atoms, atom}
        if len(atoms) == len(template.atoms) or any(
            a.offsets == b.offsets and self._determined.get((a.view, b.view), False)
            for pair in combinations(atoms, 2)
            for a, b in (pair, pair[::-1])
        ):
            return None
        return Template(tuple(sorted(atoms, key=self._key)))

    def numbers(self, template: Template, min_count: int = 1) -> tuple[Labels, int]:
        """The feature that each token has of a conjunction [N], −1 for none, and their number.

        Those that fewer than ``min_count`` tokens have are left out.
        """
        keys = np.stack([self._codes[atom] for atom in template.atoms], axis=1)
        numbers, _, counts = number_tuples(keys, empty_slots(len(keys)))
        if min_count > 1:
            frequent = counts >= min_count
            kept = np.where(frequent, np.cumsum(frequent) - 1, -1).astype(np.int32)
            numbers = np.where(numbers >= 0, kept[numbers], np.int32(-1))
            return numbers, int(frequent.sum())
        return numbers, len(counts)

    def _key(self, atom: Atom) -> tuple[int, int]:
        return atom.offsets[0], self._rank[atom]


def conjunctions(templates: Sequence[Template], atoms: AtomReader, longest: int) -> list[Template]:
    """Every template joined with every atom, as far as that makes a new one; each once.

    ``longest`` is the number of atoms that a conjunction may have.
    """
    there = {frozenset(own.atoms) for own in templates if own.family == STATE}
    found: dict[Template, None] = {}
    for template in templates:
        if len(template.atoms) >= longest:
            continue
        for atom in atoms.atoms:
            own = atoms.joined(template, atom)
            if own is not None and frozenset(own.atoms) not in there:
                found[own] = None
    return list(found)


def in_reading_order(templates: Iterable[Template]) -> tuple[Template, ...]:
    """Templates as a person would list them: short ones first, those of one view together.

    >>> from skipchain.features.templates import Templates
    >>> own = Templates.parse("pos\\nword & pos\\nword[1]\\nlabel[-1] & pos\\nword")
    >>> [str(t) for t in in_reading_order(own.templates)]
    ['pos', 'word', 'word[1]', 'word & pos', 'label[-1] & pos']
    """
    listed = list(templates)
    ranks: Mapping[View, int] = {
        view: k
        for k, view in enumerate(dict.fromkeys(atom.view for t in listed for atom in t.atoms))
    }

    def key(template: Template) -> tuple[object, ...]:
        atoms = [(ranks[atom.view], atom.offsets) for atom in template.atoms]
        return template.family != STATE, template.trigram, len(atoms), atoms

    return tuple(sorted(listed, key=key))


def as_text(templates: Iterable[Template]) -> str:
    """Templates as text, one a line; single views at offsets in a row as one window.

    >>> from skipchain.features.templates import Templates
    >>> print(as_text(Templates.parse("word[-1..1]\\npos[1]\\nword & pos").templates))
    word[-1..1]
    pos[1]
    <BLANKLINE>
    word & pos
    """
    lines: list[str] = []
    window: list[Atom] = []
    size = 1

    def close() -> None:
        if len(window) > 1:
            lines.append(f"{window[0].view}[{window[0].offsets[0]}..{window[-1].offsets[0]}]")
        else:
            lines.extend(map(str, window))
        window.clear()

    for template in templates:
        atom = template.atoms[0]
        single = len(template.atoms) == 1 and template.family == STATE and not atom.bag
        if window and not (
            single and window[-1].view == atom.view and atom.offsets[0] == window[-1].offsets[0] + 1
        ):
            close()
        if len(template.atoms) != size:
            size = len(template.atoms)
            lines.extend([""] * bool(lines))
        if single:
            window.append(atom)
        else:
            lines.append(str(template))
    close()
    return "\n".join(lines)


def _determines(reader: ViewReader, view: View, other: View) -> bool:
    """Whether a view's value at a token leaves no choice for that of another view there."""
    pairs = np.stack([reader.values[view].codes, reader.values[other].codes], axis=1)
    return len(np.unique(pairs, axis=0)) == len(np.unique(pairs[:, 0]))
