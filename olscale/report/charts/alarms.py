"""Where a drift detector raised its alarm."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from olscale.analysis.curves import Curve
from olscale.report.charts.spec import (
    ONLY_PICKED,
    PICKED,
    Spec,
    by_learner,
    names,
    spec,
)
from olscale.report.figures.looks import Looks, looks


def alarm_charts(
    shown: Mapping[str, Curve], rows: int | None = None, of_learner: Looks | None = None
) -> list[Spec]:
    """Return a chart with a stroke at the row of every alarm."""
    raised = {
        label: np.diff(curve.errors, axis=1, prepend=0.0).any(axis=0)
        for label, curve in shown.items()
    }
    data = [
        {"learner": name, "rows": curve.rows[raised[label]].tolist()}
        for name, (label, curve) in zip(names(shown), shown.items(), strict=True)
    ]
    encoding = by_learner(
        of_learner.of(shown) if of_learner else looks(shown), list(shown)
    )
    last = rows or max(
        (int(curve.rows[-1]) for curve in shown.values() if len(curve.rows)), default=1
    )
    x = {
        "field": "rows",
        "type": "quantitative",
        "scale": {"domain": [0, last], "nice": False},
        "axis": {"tickCount": 5},
    }
    y = {"field": "learner", "type": "nominal", "sort": names(shown), "title": None}
    tooltip = [
        {"field": "learner"},
        {"field": "rows", "type": "quantitative", "format": ",", "title": "row"},
    ]
    return [
        spec(
            data,
            height=30 + 22 * len(shown),
            params=[PICKED],
            transform=[{"flatten": ["rows"]}, ONLY_PICKED],
            mark={"type": "tick", "thickness": 2},
            encoding={"x": x, "y": y, **encoding, "tooltip": tooltip},
        )
    ]
