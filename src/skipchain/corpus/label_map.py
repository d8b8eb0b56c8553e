"""Types of labels that are given other names, or left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from skipchain.corpus.column import Column
from skipchain.corpus.corpus import Corpus
from skipchain.corpus.schemes import UNKNOWN, Spans, decode, encode
from skipchain.corpus.schemes import types as types_of
from skipchain.corpus.schemes.labels import split
from skipchain.corpus.schemes.scheme import TABLE
from skipchain.errors import ParameterError

OUTSIDE = "O"
APART = "iob2"  # in which touching spans of one type stay two


@dataclass(frozen=True, slots=True)
class LabelMap:
    """New names of types, ``O`` for those that are left out; ``only`` some types (None: all).

    The types in ``only`` are those after renaming; all others are left out. Labels that mark no
    spans are renamed as they are.

    >>> corpus = Corpus.of([["Ada", "in", "Rome"]], [["B-person", "O", "B-city"]], scheme="iob2")
    >>> LabelMap({"person": "PER"}, only=["PER"]).apply(corpus).labels.tolist()
    ['B-PER', 'O', 'O']
    """

    names: Mapping[str, str] = field(default_factory=dict)
    only: Sequence[str] | None = None

    @classmethod
    def parse(cls, names: str | None, only: str | None = None) -> LabelMap:
        """The map that ``A=B,C=O`` and ``A,B`` say.

        >>> LabelMap.parse("MISC=O,PERSON=PER", "PER,LOC")
        LabelMap(names={'MISC': 'O', 'PERSON': 'PER'}, only=('PER', 'LOC'))
        """
        pairs: dict[str, str] = {}
        for part in () if names is None else names.split(","):
            old, sign, new = (text.strip() for text in part.partition("="))
            if not (old and sign and new):
                wanted = "a list of old and new names, such as MISC=O,PERSON=PER"
                raise ParameterError(f"--map takes {wanted} (O leaves a type out), got {names!r}")
            if pairs.setdefault(old, new) != new:
                raise ParameterError(f"--map gives {old} two names, {pairs[old]} and {new}")
            if new == UNKNOWN:
                raise ParameterError(f"--map {part}: {UNKNOWN} is a label that is not known")
        kept = None if only is None else tuple(part.strip() for part in only.split(","))
        if kept is not None and ("" in kept or OUTSIDE in kept):
            raise ParameterError(f"--only takes a list of types, such as PER,LOC, got {only!r}")
        return cls(pairs, kept)

    def __bool__(self) -> bool:
        """Whether there is anything to rename or to leave out."""
        return bool(self.names) or self.only is not None

    def check(self, types: Mapping[str, Iterable[str]]) -> None:
        """Refuse names of types that occur nowhere; ``types`` are those of each thing, by name.

        >>> LabelMap({"PERSON": "PER"}).check({"gold.conll": ["PER", "LOC"]})
        Traceback (most recent call last):
        ...
        skipchain.errors.ParameterError: there is no type 'PERSON' to map; gold.conll has LOC, PER
        """
        known = {name for names in types.values() for name in names}
        mapped = {self.names.get(name, name) for name in known} - {OUTSIDE}
        for name in self.names:
            if name not in known:
                raise ParameterError(f"there is no type {name!r} to map; {_listed(types)}")
        for name in self.only or ():
            if name not in mapped:
                fault = f"there is no type {name!r} for --only to keep; {_listed(types)}"
                after = f"; --map makes of them {', '.join(sorted(mapped))}"
                raise ParameterError(fault + after * bool(self.names))

    def apply(self, corpus: Corpus) -> Corpus:
        """The corpus with its types renamed and left out.

        Spans stay as they are: where two of what is one type now touch, and the scheme would merge
        them, the labels are written in iob2.
        """
        if not self or not corpus.labelled:
            return corpus
        if corpus.scheme is None and self.only is not None:
            fault = "the labels mark no spans, so no types can be left out"
            raise ParameterError(f"{fault}; --only is for types of spans")
        values = [self._label(label, corpus.scheme) for label in corpus.labels.values]
        labels = corpus.labels.renamed(values)
        if corpus.scheme is None:
            return corpus.with_labels(labels)
        wanted = self._spans(_spans(corpus.labels, corpus))
        if _spans(labels, corpus) == wanted:
            return corpus.with_labels(labels, corpus.scheme)
        scheme = APART if TABLE[corpus.scheme].merges else corpus.scheme
        written = encode(wanted, corpus.sentences, scheme).tolist()
        pairs = zip(corpus.labels.tolist(), written, strict=True)
        known = [UNKNOWN if old == UNKNOWN else new for old, new in pairs]
        return corpus.with_labels(Column.encode(known), scheme)

    def changes(self, corpus: Corpus) -> dict[str, tuple[str, int]]:
        """The types of a corpus that are changed: the new name, and how many spans (or labels).

        >>> corpus = Corpus.of([["Ada", "in", "Rome"]], [["B-PER", "O", "B-LOC"]], scheme="iob2")
        >>> LabelMap(only=["LOC"]).changes(corpus)
        {'PER': ('O', 1)}
        """
        if corpus.scheme is None:
            codes, names = corpus.labels.codes, corpus.labels.values
        else:
            spans = _spans(corpus.labels, corpus)
            codes, names = spans.types, spans.names
        counts = np.bincount(codes, minlength=len(names)).tolist()
        found = sorted((old, count) for old, count in zip(names, counts, strict=True) if count)
        changed = ((old, self.new_name(old), count) for old, count in found if old != OUTSIDE)
        return {old: (new, count) for old, new, count in changed if new != old}

    def new_name(self, name: str) -> str:
        """The new name of a type, ``O`` where it is left out."""
        new = self.names.get(name, name)
        return new if self.only is None or new in self.only else OUTSIDE

    def _label(self, label: str, scheme: str | None) -> str:
        if label in (OUTSIDE, UNKNOWN):
            return label
        prefix, name = ("", label) if scheme in (None, "bare") else split(label)
        new = self.new_name(name)
        return new if new == OUTSIDE or not prefix else f"{prefix}-{new}"

    def _spans(self, spans: Spans) -> Spans:
        renamed = ((start, stop, self.new_name(name)) for start, stop, name in spans)
        return Spans.of(span for span in renamed if span[2] != OUTSIDE)


def label_types(labels: Iterable[str], scheme: str | None) -> tuple[str, ...]:
    """The types that labels name, or the labels themselves where they mark no spans.

    >>> label_types(["O", "B-PER", "I-PER"], "iob2"), label_types(["NN", "DT"], None)
    (('PER',), ('DT', 'NN'))
    """
    known = [label for label in labels if label not in (OUTSIDE, UNKNOWN)]
    return tuple(sorted(known)) if scheme is None else types_of(known, scheme)


def types_in(corpus: Corpus) -> tuple[str, ...]:
    """The types that the labels of a corpus name."""
    values = corpus.labels.values
    return label_types((values[code] for code in corpus.labels.used().tolist()), corpus.scheme)


def _spans(labels: Column, corpus: Corpus) -> Spans:
    """The spans of labels, of which some may not be known."""
    assert corpus.scheme is not None
    known = [OUTSIDE if label == UNKNOWN else label for label in labels.values]
    return decode(labels.renamed(known), corpus.sentences, corpus.scheme)


def _listed(types: Mapping[str, Iterable[str]]) -> str:
    """``gold.conll has LOC, PER; the model has LOC``."""
    listed = ((what, ", ".join(sorted(names)) or "none") for what, names in types.items())
    return "; ".join(f"{what} has {names}" for what, names in listed)
