"""A learner whose numbers a test moves by one unit in the last place, as a compiler or a library may."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


class OneUlp:
    """Predicts by the first feature alone; `edge` is one of the values that it has."""

    edge = 0.0

    def __init__(self, offset: float = 0.0) -> None:
        self.offset = offset

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters."""
        return {"offset": self.offset}

    def set_params(self, **params: Any) -> Self:
        """Set parameters."""
        self.offset = params.get("offset", self.offset)
        return self

    def partial_fit(self, X: NDArray[np.float64], y: Any, classes: Any = None) -> Self:
        """Learn nothing but what classes there are."""
        self.classes_ = np.asarray(classes if classes is not None else self.classes_)
        return self

    def fit(self, X: NDArray[np.float64], y: Any) -> Self:
        """Learn nothing."""
        return self.partial_fit(X, y, np.unique(y))

    def predict(self, X: NDArray[np.float64]) -> Any:
        """Return a class by the first feature."""
        return self.classes_[(X[:, 0] - self.offset > type(self).edge).astype(int)]
