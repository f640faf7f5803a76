"""The median absolute error."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.evaluation.metrics.kept_rows import EveryRow
from olscale.task import Task


class MedianError(EveryRow):
    """`medae`: the median of ``|y - prediction|``."""

    name = "medae"
    width = 1
    tasks: ClassVar[tuple[Task, ...]] = ("regression",)

    def _kept(
        self, y: NDArray[Any], codes: NDArray[Any], scores: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        distance: NDArray[np.float64] = np.abs(y - codes)
        return distance[:, np.newaxis]

    def _value(self, rows: NDArray[np.float64]) -> float:
        return float(np.median(rows))
