"""Ranks of methods over datasets, ours against a paper's: orders often agree where figures do not."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from olscale.analysis.ledger import Cell
from olscale.analysis.rank_tests import critical_difference, friedman, rank


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ranks by the mean error, 1 for the least, equals share a mean rank.

    Parameters
    ----------
    methods, datasets : tuple of str
        Only methods with a figure on each of the datasets, so that ranks compare.
    left_out : dict of str to tuple of str
        By method that has some figures: the datasets on which it has none.
    published, ours : tuple of tuple of float, of shape (methods, datasets)
    agreement : float
        Share of the pairs of methods, over the datasets, that are in the published order.
    p : float
        Friedman test on our ranks, that the methods do not differ; NaN for fewer than three methods
        or two datasets.
    critical : float
        Nemenyi's critical difference of mean ranks at the 5 % level; NaN likewise.
    """

    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    left_out: Mapping[str, tuple[str, ...]]
    published: tuple[tuple[float, ...], ...]
    ours: tuple[tuple[float, ...], ...]
    agreement: float
    p: float
    critical: float


def rank_methods(cells: Iterable[Cell]) -> Ranks | None:
    """Rank the methods of one metric; None if fewer than two have figures on a common dataset.

    Datasets for which the most methods have figures decide: a method without a figure on one of the
    datasets that have any is left out, and named.

    References
    ----------
    J. Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006.
    """
    figures: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for cell in cells:
        if cell.summary is not None:
            # A paper may print a method's figure in several tables; the first counts.
            figures[cell.published.learner].setdefault(
                cell.published.dataset, (cell.published.mean, cell.summary.mean)
            )
    datasets = list(dict.fromkeys(name for of in figures.values() for name in of))
    methods = [name for name, of in figures.items() if len(of) == len(datasets)]
    if len(methods) < 2:
        return None
    left_out = {
        name: tuple(dataset for dataset in datasets if dataset not in of)
        for name, of in figures.items()
        if name not in methods
    }
    errors = np.array([[figures[method][name] for name in datasets] for method in methods])
    published, ours = (rank(errors[..., which].T) for which in (0, 1))
    steps = [errors[a] - errors[b] for a, b in combinations(range(len(methods)), 2)]
    agreement = float(np.mean([step[:, 0] * step[:, 1] > 0 for step in steps]))
    rows = [tuple(map(tuple, of.T.tolist())) for of in (published, ours)]
    p = friedman(ours).p
    critical = critical_difference(len(methods), len(datasets)) if p == p else math.nan
    return Ranks(
        tuple(methods), tuple(datasets), left_out, rows[0], rows[1], agreement, p, critical
    )
