"""What scikit-learn expects of an estimator, without importing it at start-up."""

from __future__ import annotations

import inspect
from typing import Any, Self

from skipchain.errors import ParameterError


class ParameterMixin:
    """Parameters are the keyword arguments of ``__init__``, kept under their own names."""

    @classmethod
    def _parameters(cls) -> dict[str, Any]:
        found = inspect.signature(cls.__init__).parameters
        return {name: p.default for name, p in found.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name; unknown names are refused with the list of known ones."""
        known = self._parameters()
        for name, value in parameters.items():
            if name not in known:
                raise ParameterError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._parameters().items()
            if getattr(self, name) is not default and getattr(self, name) != default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False, dict=True),
        )
