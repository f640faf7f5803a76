"""Ranks of methods over datasets, ours and a paper's: orders may agree where figures do not."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, combinations

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
                cell.published.dataset,
                (cell.published.mean, cell.summary.mean),
            )
    datasets = list(dict.fromkeys(chain.from_iterable(figures.values())))
    methods = [name for name in figures if len(figures[name]) == len(datasets)]
    if len(methods) < 2:
        return None
    left_out = {
        method: tuple(dataset for dataset in datasets if dataset not in of_method)
        for method, of_method in figures.items()
        if method not in methods
    }
    # Shape (methods, datasets, 2): published errors and ours.
    errors = np.array([[figures[method][name] for name in datasets] for method in methods])
    published = rank(errors[..., 0].T)
    ours = rank(errors[..., 1].T)
    # Two methods agree on a data set where both errors differ in one direction.
    agree = []
    for one_method, other_method in combinations(errors, 2):
        difference = one_method - other_method
        agree.append(difference[:, 0] * difference[:, 1] > 0)
    p = friedman(ours).p
    critical = math.nan
    if not math.isnan(p):
        critical = critical_difference(len(methods), len(datasets))
    return Ranks(
        methods=tuple(methods),
        datasets=tuple(datasets),
        left_out=left_out,
        published=tuple(map(tuple, published.T.tolist())),
        ours=tuple(map(tuple, ours.T.tolist())),
        agreement=float(np.mean(agree)),
        p=p,
        critical=critical,
    )
