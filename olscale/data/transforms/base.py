"""The base class of transforms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, to_dense
from olscale.errors import DatasetError

if TYPE_CHECKING:
    from olscale.data.transforms.known_columns import KnownColumns

FloatArray = NDArray[np.float64]

_WIDEST_DENSE = 65_536


class Transform(ABC):
    """One step from rows to rows.

    Attributes
    ----------
    name : str
        Name in experiments.
    takes_sparse : bool
        Whether it takes sparse rows as they are; otherwise they are made dense first.
    fits_sparse : bool
        Whether `fit` also takes sparse rows as they are.
    streams : bool
        Whether it learns from rows as they arrive, as a `StreamingTransform` does.
    keeps_missing : bool
        Whether a missing value (NaN) makes no other value missing, neither in its row nor in its
        feature.
    keeps_values : bool
        Whether each feature that keeps its name keeps its values; a missing one may be filled in,
        and features may be left out or added.
    mixes_features : bool
        Whether each new feature combines many, so that none keeps its name.
    takes_categories : bool
        Whether values are names of categories to it, so that it is for chosen columns only.
    is_random : bool
        Whether it is drawn at random.
    projection : int
        Number of the draw of a random transform.
    """

    name: ClassVar[str]
    takes_sparse: bool = False
    fits_sparse: bool = False
    streams: bool = False
    keeps_missing: bool = False
    keeps_values: bool = False
    mixes_features: bool = False
    takes_categories: bool = False
    is_random: bool = False
    projection: int = 0

    # Not abstract: most need no fit.
    def fit(self, chunks: Callable[[], Iterator[Any]], columns: int) -> None:  # noqa: B027
        """Learn from the training rows; `chunks` starts a pass, dense unless `fits_sparse`."""

    def bound_to(self, known: KnownColumns, chosen: NDArray[np.int64]) -> Transform:
        """Return a copy for some columns of a dataset, at the positions `chosen`."""
        del known
        del chosen
        return copy(self)

    def width(self, columns: int) -> int:
        """Return the number of features after the transform."""
        return columns

    def feature_names(self, names: Sequence[str]) -> list[str]:
        """Return the names of the features after the transform, given those before it."""
        width = self.width(len(names))
        if self.mixes_features or width < len(names):
            return [f"{self.name}{number}" for number in range(width)]
        return [
            *names,
            *(f"{self.name}{number}" for number in range(width - len(names))),
        ]

    def code_counts(
        self, names: Sequence[str], counts: Mapping[str, int]
    ) -> Mapping[str, int]:
        """Return which features are codes of categories after the transform, and how many codes.

        Parameters
        ----------
        names : sequence of str
            All features before it.
        counts : mapping of str to int
            Those of them that are codes; 0 where the number of codes is not known ahead.
        """
        if not self.keeps_values:
            return {}
        after = set(self.feature_names(names))
        return {name: count for name, count in counts.items() if name in after}

    def size_after(self, columns: int, values: float) -> tuple[int, float]:
        """Return the numbers of features and of stored values per row after the transform."""
        width = self.width(columns)
        if not self.takes_sparse or self.is_random:
            return width, width
        return width, min(width, values + max(0, width - columns))

    def start_rows(self) -> tuple[int, str]:
        """Return how many rows train it before features are nonzero, and how to need fewer."""
        return 0, ""

    def rows(self, X: Rows, columns: int) -> Rows:
        """Return rows in the form that `apply` takes: dense, or unchanged.

        Raises
        ------
        DatasetError
            If sparse rows are too wide to be made dense.
        """
        if self.takes_sparse:
            return X
        return dense_rows(self.name, X, columns)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the results of `fit` as plain arrays: none if it leaves nothing."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]], columns: int) -> None:
        """Restore the results of a `fit` on rows of `columns` features, in place of fitting.

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
    """Return rows as dense ones for the transform `name`, unless they are too wide."""
    check_dense_width(name, X, columns)
    return to_dense(X, columns)


def check_dense_width(name: str, X: Rows, columns: int) -> None:
    """Refuse sparse rows that are too wide for a transform that makes them dense."""
    if isinstance(X, CSR) and columns > _WIDEST_DENSE:
        raise DatasetError(
            f"transform {name} makes rows dense, and {columns:,} features are too many for that "
            "(at most "
            f"{_WIDEST_DENSE:,}); use unit-norm, which keeps rows sparse, or project them first"
        )
