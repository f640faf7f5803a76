"""Parameters as scikit-learn has them: the arguments of ``__init__``, kept under their names.

Estimators have this before their base class of scikit-learn is imported, and from `BaseEstimator`
nothing of it later.
"""

import inspect
from functools import cache
from typing import Any, Self


class InitParameters:
    """An object made anew from its parameters, which scikit-learn can list, set, clone and show."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the arguments of ``__init__``, sorted."""
        return sorted(_defaults(cls))  # type: ignore[arg-type]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; they hold no other estimators, so `deep` changes nothing."""
        del deep
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Raises
        ------
        ValueError
            If there is no such parameter.
        """
        known = self._get_param_names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: "
                    f"{known!r}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Return the call that makes such an object, without the parameters at their defaults."""
        defaults, shown = _defaults(type(self)), []  # type: ignore[arg-type]
        for name in self._get_param_names():
            value = repr(getattr(self, name, None))
            if value != repr(defaults[name]):
                shown.append(f"{name}={value}")
        return f"{type(self).__name__}({', '.join(shown)})"


@cache  # to look at a signature takes as long as a small run
def _defaults(of: type) -> dict[str, Any]:
    """Return the arguments of ``__init__`` with their defaults."""
    if of.__init__ is object.__init__:  # type: ignore[misc]
        return {}
    arguments = list(inspect.signature(of).parameters.values())
    return {one.name: one.default for one in arguments if one.kind is not one.VAR_KEYWORD}
