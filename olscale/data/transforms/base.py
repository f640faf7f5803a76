"""What a transform is."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, to_dense
from olscale.errors import DatasetError

FloatArray = NDArray[np.float64]

_WIDEST_DENSE = 65_536


class Transform(ABC):
    """One step from rows to rows.

    Attributes
    ----------
    name : str
        Name in experiments.
    takes_sparse : bool
        Whether it takes sparse rows as they are; for the others they are made dense first.
    fits_sparse : bool
        Whether `fit` takes them as they are, too.
    streams : bool
        Whether it learns from rows as they come: a `StreamingTransform` that does.
    keeps_missing : bool
        Whether a missing value (NaN) makes no other value missing: neither in its row nor in its
        feature.
    keeps_values : bool
        Whether each feature that keeps its name has the value it had; a missing one may be filled
        in, and features may be left out or added.
    mixes_features : bool
        Whether each new feature is made of many, so that none keeps its name.
    is_random : bool
        Whether it is drawn at random.
    projection : int
        Which of its draws one that is random makes.
    """

    name: ClassVar[str]
    takes_sparse: bool = False
    fits_sparse: ClassVar[bool] = False
    streams: bool = False
    keeps_missing: ClassVar[bool] = False
    keeps_values: ClassVar[bool] = False
    mixes_features: ClassVar[bool] = False
    is_random: ClassVar[bool] = False
    projection: int = 0

    def fit(self, chunks: Callable[[], Iterator[Any]], columns: int) -> None:  # noqa: B027 (most need no fit)
        """Learn what the transform needs; `chunks` starts a new pass over the training rows, dense but for `fits_sparse`."""

    def width(self, columns: int) -> int:
        """Return the number of features after the transform."""
        return columns

    def feature_names(self, names: Sequence[str]) -> list[str]:
        """Return the names of the features after the transform, of those with such names before it."""
        width = self.width(len(names))
        if self.mixes_features or width < len(names):
            return [f"{self.name}{number}" for number in range(width)]
        return [*names, *(f"{self.name}{number}" for number in range(width - len(names)))]

    def size_after(self, columns: int, values: float) -> tuple[int, float]:
        """Return the number of features, and of stored values of a row, that the transform makes of so many."""
        width = self.width(columns)
        dense = not self.takes_sparse or self.is_random
        return width, width if dense else min(width, values + max(0, width - columns))

    def start_rows(self) -> tuple[int, str]:
        """Return how many rows train it before features are anything but 0, and what to do to need fewer."""
        return 0, ""

    def rows(self, X: Rows, columns: int) -> Rows:
        """Return rows as `apply` takes them: dense ones, or as they are.

        Raises
        ------
        DatasetError
            If sparse rows are too wide to be made dense.
        """
        return X if self.takes_sparse else dense_rows(self.name, X, columns)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what `fit` has left, as plain arrays: none where it leaves nothing."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]], columns: int) -> None:
        """Take what a `fit` on rows of `columns` features left, in place of fitting.

        Raises
        ------
        ValueError
            If the arrays are not those of this transform (names, shapes or types differ).
        """
        if state:
            raise ValueError(
                f"transform {self.name} is not fitted, and has arrays {', '.join(sorted(state))}"
            )

    @abstractmethod
    def apply(self, X: Any, columns: int) -> Rows:
        """Return the transformed rows."""


def dense_rows(name: str, X: Rows, columns: int) -> FloatArray:
    """Return rows as dense ones for the transform `name`, if they are not too wide."""
    if isinstance(X, CSR) and columns > _WIDEST_DENSE:
        raise DatasetError(
            f"transform {name} makes rows dense, and {columns:,} features are too many for that "
            "(at most "
            f"{_WIDEST_DENSE:,}); use unit-norm, which keeps rows sparse, or project them first"
        )
    return to_dense(X, columns)
