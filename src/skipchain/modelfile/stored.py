"""What a reader of model files is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from skipchain.arrays import Arrays


@dataclass(frozen=True, slots=True)
class StoredModel:
    """What a file holds of a model: its header, its arrays and, once they are read, its features.

    ``functions`` are those of the model's author, by name; ``path`` is where errors are found.
    """

    header: Mapping[str, Any]
    arrays: Arrays
    functions: Mapping[str, Any]
    path: object
    features: Any = None

    @property
    def common(self) -> dict[str, Any]:
        """What models of all forms have, as arguments by name."""
        names = ("scheme", "encoding", "summary")
        return {
            **{name: self.header[name] for name in names},
            "kind": str(self.header["kind"]),
            "labels": tuple(self.header["labels"]),
            "constrained": bool(self.header["constrained"]),
            "features": self.features,
        }

    def inside(self, header: Mapping[str, Any], prefix: str) -> StoredModel:
        """A model that is part of this one; the names of its arrays begin with ``prefix``."""
        size = len(prefix)
        arrays = {k[size:]: own for k, own in self.arrays.items() if k.startswith(prefix)}
        return replace(self, header=header, arrays=arrays, features=None)
