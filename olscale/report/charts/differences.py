"""Figures on each data set minus those of a baseline, which the reader chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.report.charts.spec import (
    ONLY_PICKED,
    PICKED,
    Spec,
    less,
    minus_baseline,
    names,
    rounded,
    spec,
)
from olscale.report.figures.words import in_unit, metric_text
from olscale.report.palette import COLOURS, GREY


def difference_charts(
    shown: Mapping[str, NDArray[np.float64]],
    baseline: str,
    metric: str,
    datasets: Sequence[str] = (),
) -> list[Spec]:
    """Return a chart with one line per learner: a point per data set and a stroke at the mean."""
    of = {baseline: np.zeros_like(next(iter(shown.values()))), **shown}
    where = names(datasets) or [str(i + 1) for i in range(len(of[baseline]))]
    data = [
        {"learner": name, "dataset": where, "value": rounded(in_unit(metric, values))}
        for name, values in zip(names(of), of.values(), strict=True)
    ]
    minus = f"{metric_text(metric)} minus the baseline's"
    x = {
        "field": "shown",
        "type": "quantitative",
        "title": minus,
        "axis": {"tickCount": 6},
    }
    y = {"field": "learner", "type": "nominal", "sort": names(of), "title": None}
    tooltip = [
        {"field": "learner"},
        {"field": "dataset", "title": "data set"},
        {"field": "shown", "type": "quantitative", "format": "+.4~g", "title": minus},
    ]
    mean = x | {"aggregate": "mean"}
    average = {
        "field": "shown",
        "aggregate": "mean",
        "type": "quantitative",
        "format": "+.4~g",
        "title": "mean difference",
    }
    return [
        spec(
            data,
            height=40 + 24 * len(of),
            params=[PICKED, *less(list(of), names([baseline])[0])],
            transform=[
                {"flatten": ["dataset", "value"]},
                *minus_baseline("dataset"),
                ONLY_PICKED,
            ],
            layer=[
                {
                    "mark": {"type": "rule", "color": GREY},
                    "encoding": {"x": {"datum": 0}},
                },
                {
                    "mark": {
                        "type": "point",
                        "filled": True,
                        "size": 60,
                        "color": COLOURS[0],
                        "opacity": 0.6,
                    },
                    "encoding": {"x": x, "y": y, "tooltip": tooltip},
                },
                {
                    "mark": {"type": "tick", "thickness": 3, "color": GREY},
                    "encoding": {"x": mean, "y": y, "tooltip": [tooltip[0], average]},
                },
            ],
        )
    ]
