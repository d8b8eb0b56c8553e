"""An entry of a comparison: a kind of model with its settings, as it is written in a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skipchain.assembly import with_model_files, without_columns
from skipchain.corpus.schemes import check_scheme
from skipchain.errors import ParameterError, SkipchainError
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.registry import make_estimator
from skipchain.models.specification import Specification, settings_of, split_specifications


@dataclass(frozen=True, slots=True)
class Entry:
    """A kind of model with the settings that are its own; ``name`` is its row's.

    >>> Entry.of("memm:order=2,l2=0.5")
    Entry(name='memm:order=2,l2=0.5', kind='memm', settings={'order': 2, 'l2': 0.5})
    >>> Entry.of("mop-memm:edges=previous+same_word(recent=3,lower=true)").settings
    {'edges': 'previous,same_word(recent=3,lower=true)'}
    """

    name: str
    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Entry:
        """The entry that a specification such as ``crf`` or ``memm:order=2,l2=0.5`` describes."""
        parsed = Specification.of_model(text)
        return cls(text.strip(), parsed.kind, parsed.settings)

    @classmethod
    def parse_list(cls, text: str) -> list[Entry]:
        """The entries of a list; what is no model's name is a setting of the one before.

        >>> [each.name for each in Entry.parse_list("crf:l2=0.5,order=2,memm,hmm")]
        ['crf:l2=0.5,order=2', 'memm', 'hmm']
        """
        return [cls.of(part) for part in split_specifications(text)]

    def estimator(self, common: Mapping[str, Any], without: Sequence[str] = ()) -> BaseEstimator:
        """The estimator: own settings first, then those of ``common`` that its kind has.

        An HMM that shares the features of all emits all of them by default. Features do not see
        the columns ``without``.
        """
        known = settings_of(self.kind)
        shared = {name: value for name, value in common.items() if name in known}
        if self.kind == "hmm" and "features" not in self.settings:
            shared.setdefault("emissions", "features")
        settings = with_model_files({**shared, **self.settings})
        try:
            features = settings.pop("features", None)
            if without:
                features = without_columns(features, without, self.kind)
            made = make_estimator(self.kind, features, **settings)
            made._check()
            if made.encoding is not None:
                check_scheme(made.encoding)
        except SkipchainError as error:
            raise ParameterError(f"{self.name}: {error}") from None
        return made


def check_distinct(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries, unless there is none or one is named twice."""
    if not entries:
        raise ParameterError("there is no model to compare; name some, such as crf,memm,maxent")
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"{name} is named twice; every model has one row")
    return tuple(entries)
