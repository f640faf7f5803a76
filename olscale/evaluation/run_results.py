"""What a run has counted, and what its record has of it: results of metrics, the environment."""

import os
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

from olscale.arrays import Array
from olscale.evaluation.metrics import Metric, Prequential
from olscale.version import __version__


def metric_results(
    metrics: Sequence[Metric], measures: Mapping[str, float]
) -> dict[str, Any]:
    """Return the part of a record that metrics provide; `measures` are the learner's own."""
    values = {
        name: value for metric in metrics for name, value in metric.values().items()
    }
    return {
        "metrics": values | dict(measures),
        **_mistakes(metrics),
        "series": [series for metric in metrics for series in metric.series()],
    }


def _mistakes(metrics: Sequence[Metric]) -> dict[str, Any]:
    """Return the mistakes along the stream and by segment; nothing for a regression."""
    for metric in metrics:
        if isinstance(metric, Prequential):
            rows, mistakes = metric.curve()
            return {
                "curve_rows": rows,
                "curve_mistakes": mistakes,
                "segments": metric.segments(),
            }
    return {}


@cache
def environment() -> dict[str, str]:
    """Return versions and machine of the current process."""
    versions = {
        package: version(package)
        for package in ("numpy", "numba", "scikit-learn", "dask")
    }
    return {
        # That of the code, not what was installed last: a checkout may have moved on since.
        "olscale": __version__,
        **versions,
        "python": platform.python_version(),
        "host": platform.node(),
        "cpus": str(os.cpu_count()),
    }


class Counted(NamedTuple):
    """What a run has counted: sums of metrics, held-out and repeated rows, seconds spent."""

    sums: list[dict[str, Array]]
    predicted: tuple[int, int]
    spent: float
