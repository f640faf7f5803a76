"""Measures of several targets: each is measured alone, and the overall measure is the average."""

from collections.abc import Sequence

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray, part_of
from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.results.record import Series


class EachTarget(Metric):
    """A metric for each target: ``rmse`` is the mean, ``rmse:NAME`` that of the target `NAME`.

    This is scikit-learn's ``multioutput="uniform_average"``. A mean exists if each of the targets
    has the measure. Curves along the stream show the means.

    Parameters
    ----------
    shape : StreamShape
    kind : Metric class

    Examples
    --------
    >>> from olscale.evaluation.metrics.residuals import Residuals
    >>> shape = StreamShape(rows=2, classes=0, task="regression", targets=("a", "b"))
    >>> metric = EachTarget(shape, Residuals)
    >>> y = np.array([[1.0, 0.0], [3.0, 0.0]])
    >>> metric.see(y, np.array([[0.0, 0.0], [3.0, 4.0]]), np.zeros((2, 2)))
    >>> [metric.values()[name] for name in ("mae", "mae:a", "mae:b")]
    [1.25, 0.5, 2.0]
    """

    def __init__(self, shape: StreamShape, kind: type[Metric]) -> None:
        self._names = shape.targets
        self._metrics = [kind(shape) for _ in shape.targets]
        # Class constants of other metrics depend on the wrapped kind here.
        self.reads_scores = kind.reads_scores  # type: ignore[misc]
        self.reads_probabilities = kind.reads_probabilities  # type: ignore[misc]

    @property
    def sums(self) -> dict[str, Array]:
        """All arrays, with names that begin with the number of the target."""
        return {
            f"{i}/{name}": array
            for i, target_metric in enumerate(self._metrics)
            for name, array in target_metric.sums.items()
        }

    @sums.setter
    def sums(self, sums: dict[str, Array]) -> None:
        for i, target_metric in enumerate(self._metrics):
            target_metric.sums = part_of(sums, f"{i}/")

    def see(self, y: Array, codes: Array, scores: FloatArray) -> None:
        for i, target_metric in enumerate(self._metrics):
            # The scores of one target keep two dimensions, as a metric expects them.
            own_scores = scores[:, i : i + 1]
            target_metric.see(y[:, i], codes[:, i], own_scores)

    def weigh(self, weights: FloatArray) -> None:
        for metric in self._metrics:
            metric.weigh(weights)

    def arrive(self, labels: Array, asked: IntArray | None) -> None:
        for i, metric in enumerate(self._metrics):
            metric.arrive(labels[:, i], asked)

    def test(self, y: Array, codes: Array, scores: FloatArray) -> None:
        for i, target_metric in enumerate(self._metrics):
            own_scores = scores[:, i : i + 1]
            target_metric.test(y[:, i], codes[:, i], own_scores)

    def held_out(self, y: Array, codes: Array) -> None:
        for i, target_metric in enumerate(self._metrics):
            target_metric.held_out(y[:, i], codes[:, i])

    def overflows(self) -> bool:
        return any(target_metric.overflows() for target_metric in self._metrics)

    def values(self) -> dict[str, float]:
        """Return the means of all measures, then the measures of each target."""
        measures = [target_metric.values() for target_metric in self._metrics]
        means = {
            name: _mean([of_target[name] for of_target in measures])
            for name in measures[0]
            if all(name in of_target for of_target in measures)
        }
        return means | {
            f"{name}:{target}": value
            for target, of_target in zip(self._names, measures, strict=True)
            for name, value in of_target.items()
        }

    def series(self) -> list[Series]:
        """Return the means along the stream, if each of the targets has the measure."""
        curves = [
            {series.name: series for series in target_metric.series()}
            for target_metric in self._metrics
        ]
        names = [
            name for name in curves[0] if all(name in of_target for of_target in curves)
        ]
        return [
            _mean_series([of_target[name] for of_target in curves]) for name in names
        ]


def make_metric(kind: type[Metric], shape: StreamShape) -> Metric:
    """Return a metric of a stream, for each of several targets unless it observes the model."""
    if shape.targets and not kind.watches:
        return EachTarget(shape, kind)
    return kind(shape)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _mean_series(curves: Sequence[Series]) -> Series:
    rows = curves[0].rows
    for series in curves[1:]:
        rows = np.intersect1d(rows, series.rows)
    values = [series.values[np.isin(series.rows, rows)] for series in curves]
    return Series(curves[0].name, rows, np.mean(values, axis=0))
