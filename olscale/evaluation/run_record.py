"""The record of a run: what its metrics have counted, how it ended, and where and how fast it ran."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

from olscale.evaluation.metrics import Metric, Prequential
from olscale.evaluation.run import Run
from olscale.results.record import Record


def metric_results(metrics: Sequence[Metric], measures: Mapping[str, float]) -> dict[str, Any]:
    """Return the part of a record that metrics make; `measures` are the learner's own."""
    prequential = next(metric for metric in metrics if isinstance(metric, Prequential))
    rows, mistakes = prequential.curve()
    values = {name: value for metric in metrics for name, value in metric.values().items()}
    return {
        "metrics": values | dict(measures),
        "curve_rows": rows,
        "curve_mistakes": mistakes,
        "segments": prequential.segments(),
        "series": [series for metric in metrics for series in metric.series()],
    }


def make_record(
    run: Run, outcome: str, reason: str, results: Mapping[str, Any], timings: Mapping[str, float]
) -> Record:
    """Return the record of a run that has ended."""
    return Record(
        id=run.id,
        run=run.definition(),
        outcome=outcome,
        reason=reason,
        **results,
        timings=dict(timings),
        environment=_environment(),
    )


@cache
def _environment() -> dict[str, str]:
    packages: Iterable[str] = ("olscale", "numpy", "numba", "scikit-learn", "dask")
    found = {package: version(package) for package in packages}
    return {**found, "python": platform.python_version(), "host": platform.node(), "cpus": str(os.cpu_count())}
