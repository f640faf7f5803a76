"""How far predicted targets are from the true ones."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.task import Task

_ROWS, _ABSOLUTE, _SQUARED, _MEAN, _SPREAD = range(5)


@compiled
def _add(y: Any, predicted: Any, sums: Any) -> None:
    # Row by row: any other order of the additions would give bits that depend on the chunks.
    for i in range(y.shape[0]):
        error = y[i] - predicted[i]
        sums[_ROWS] += 1.0
        sums[_ABSOLUTE] += abs(error)
        sums[_SQUARED] += error * error
        # Welford's form: sum y^2 - n mean^2 would lose all digits where the mean is large.
        away = y[i] - sums[_MEAN]
        sums[_MEAN] += away / sums[_ROWS]
        sums[_SPREAD] += away * (y[i] - sums[_MEAN])


class Residuals(Metric):
    """`mae`, `rmse` and `r2` of the predictions before each update; the same with ``test_`` of the final model.

    With residuals ``e = y - prediction``: the mean of ``|e|``, the root of the mean of ``e^2``, and
    ``1 - sum e^2 / sum (y - mean y)^2``, which is left out where all targets are equal.

    Examples
    --------
    >>> metric = Residuals(StreamShape(rows=2, classes=0, task="regression"))
    >>> metric.see(np.array([1.0, 3.0]), np.array([0.0, 3.0]), np.zeros((2, 1)))
    >>> metric.values()["mae"], metric.values()["r2"]
    (0.5, 0.5)
    """

    tasks: ClassVar[tuple[Task, ...]] = ("regression",)

    def __init__(self, shape: StreamShape) -> None:
        self.sums = {"stream": np.zeros(5), "test": np.zeros(5)}

    def see(self, y: NDArray[Any], codes: NDArray[Any], scores: NDArray[np.float64]) -> None:
        _add(np.ascontiguousarray(y), np.ascontiguousarray(codes), self.sums["stream"])

    def test(self, y: NDArray[Any], codes: NDArray[Any], scores: NDArray[np.float64]) -> None:
        _add(np.ascontiguousarray(y), np.ascontiguousarray(codes), self.sums["test"])

    def values(self) -> dict[str, float]:
        return _values(self.sums["stream"], "") | _values(self.sums["test"], "test_")


def _values(sums: NDArray[np.float64], prefix: str) -> dict[str, float]:
    rows, absolute, squared, _, spread = sums.tolist()
    if not rows:
        return {}
    found = {"mae": absolute / rows, "rmse": (squared / rows) ** 0.5}
    if spread > 0.0:
        found["r2"] = 1.0 - squared / spread
    return {prefix + name: value for name, value in found.items()}
