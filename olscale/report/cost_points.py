"""Errors of compared learners against a cost of theirs, both on the same runs."""

import math
from collections.abc import Sequence

import numpy as np

from olscale.analysis.compare import Comparison
from olscale.analysis.replicates import SettingFigures
from olscale.report.comparison import Compared
from olscale.report.figures.pareto import CostPoint
from olscale.report.figures.words import in_unit


def cost_points(
    one: Compared, outcome: Comparison, costs: SettingFigures
) -> list[CostPoint]:
    """Return the mean error and cost of each learner that has the cost for all compared runs.

    Costs of data sets may differ by powers of ten, so their mean is the geometric one.

    Parameters
    ----------
    one : Compared
    outcome : Comparison
        Its comparison, or that of some of its learners.
    costs : SettingFigures
    """
    errors = in_unit(one.metric, outcome.values.mean(axis=0))
    points = []
    for i, name in enumerate(outcome.learners):
        of_datasets = _mean_costs(one, name, outcome.datasets, costs)
        if min(of_datasets) > 0.0 and math.isfinite(max(of_datasets)):
            cost = float(np.exp(np.mean(np.log(of_datasets))))
            points.append(CostPoint(name, cost, float(errors[i])))
    return points


def _mean_costs(
    one: Compared, learner: str, datasets: Sequence[str], costs: SettingFigures
) -> list[float]:
    """Return the mean cost of a learner's compared runs on each data set; 0 if one is missing."""
    means = []
    for dataset in datasets:
        values: list[float] = []
        lacks_some = False
        for blocks in one.ways(dataset).values():
            of_way = one.by_replicate(costs, learner, blocks)
            lacks_some |= len(of_way) < len(blocks)
            values += of_way.values()
        means.append(0.0 if lacks_some else float(np.mean(values)))
    return means
