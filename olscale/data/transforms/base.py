"""What a transform is."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows

FloatArray = NDArray[np.float64]


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
    is_random : bool
        Whether it is drawn at random.
    projection : int
        Which of its draws one that is random makes.
    """

    name: ClassVar[str]
    takes_sparse: ClassVar[bool] = False
    fits_sparse: ClassVar[bool] = False
    is_random: ClassVar[bool] = False
    projection: int = 0

    def fit(self, chunks: Callable[[], Iterator[Any]], columns: int) -> None:  # noqa: B027 (most need no fit)
        """Learn what the transform needs; `chunks` starts a new pass over the training rows, dense but for `fits_sparse`."""

    def width(self, columns: int) -> int:
        """Return the number of features after the transform."""
        return columns

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
            raise ValueError(f"transform {self.name} is not fitted, and has arrays {', '.join(sorted(state))}")

    @abstractmethod
    def apply(self, X: Any, columns: int) -> Rows:
        """Return the transformed rows."""
