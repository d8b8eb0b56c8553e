"""What a reader of model files is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from skipchain.arrays import Arrays
from skipchain.schema.arrays import ArraySchema, check_arrays
from skipchain.schema.fields import Anything, Entries, Flag, Items, Number, Record, Shown, Whole

MAX_DEPTH = 8  # of models and annotators inside each other; each costs as much as one alone
MODEL_HEADER = Entries(Anything())
"""The header of a model inside another one; its entries are checked as that model is read."""
_COUNTS = Items(Items(Number(0.0)))
SUMMARY = Record(
    {},
    optional={
        "restarts": Items(Record({"loss": Number(), "finished": Flag()})),
        "followed": _COUNTS,
        "emitted": _COUNTS,
        "unknown": Items(Number()),
        "longest_document": Whole(),
        "pairs": Entries(Whole(0, 1 << 53)),
    },
    others=Shown(10_000),
)
"""What a model tells of its training; what is counted with has a form."""


@dataclass(frozen=True, slots=True)
class StoredModel:
    """What a file holds of a model: its header, its arrays and, once they are read, its features.

    ``functions`` are those of the model's author, by name; ``path`` is where errors are found. The
    names of a model inside another one begin with ``prefix`` in the file. ``claimed`` are the names
    of the arrays that a schema has, of all models of the file.
    """

    header: Mapping[str, Any]
    arrays: Arrays
    functions: Mapping[str, Any]
    path: object
    features: Any = None
    prefix: str = ""
    depth: int = 0
    claimed: set[str] = field(default_factory=set)

    @property
    def common(self) -> dict[str, Any]:
        """What models of all forms have, as arguments by name."""
        names = ("kind", "scheme", "encoding", "constrained", "summary")
        return {
            **{name: self.header[name] for name in names},
            "labels": tuple(self.header["labels"]),
            "features": self.features,
        }

    @property
    def lengths(self) -> dict[str, int]:
        """The lengths that a schema can name: labels, and features once they are read."""
        lengths = {"labels": len(self.header["labels"])}
        if self.features is not None:
            lengths["features"] = self.features.n_features
        return lengths

    def claim(self, schema: Mapping[str, ArraySchema]) -> None:
        """Note that arrays of these names belong here; any other is one too many."""
        self.claimed.update(f"{self.prefix}{name}" for name in schema)

    def check(self, schema: Mapping[str, ArraySchema]) -> None:
        """Claim arrays, and refuse them where they are not what the schema says."""
        self.claim(schema)
        check_arrays(schema, self.arrays, self.lengths, self.prefix)

    def inside(self, header: Mapping[str, Any], prefix: str) -> StoredModel:
        """A model that is part of this one; the names of its arrays begin with ``prefix``."""
        size = len(prefix)
        arrays = {k[size:]: own for k, own in self.arrays.items() if k.startswith(prefix)}
        if self.depth >= MAX_DEPTH:
            raise ValueError(f"models are more than {MAX_DEPTH} deep inside each other")
        prefix, depth = self.prefix + prefix, self.depth + 1
        return replace(
            self, header=header, arrays=arrays, features=None, prefix=prefix, depth=depth
        )
