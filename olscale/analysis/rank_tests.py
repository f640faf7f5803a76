"""Ranks of learners over data sets, and the tests of ranks alone: Friedman's and Nemenyi's.

References
----------
J. Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006.
"""

import math
from typing import NamedTuple

import numpy as np

from olscale.arrays import BoolArray, FloatArray

ALPHA = 0.05
# Share of a figure below which a difference comes from the rounding of its last digits.
_ROUNDING = 1e-12


class Friedman(NamedTuple):
    """Friedman's test that all learners have the same mean rank.

    All figures are NaN for fewer than three learners or two data sets.

    Parameters
    ----------
    statistic : float
        Chi-square with ties accounted for.
    f : float
        The less cautious F statistic of Iman and Davenport.
    datasets, learners : int
    """

    statistic: float = math.nan
    f: float = math.nan
    datasets: int = 0
    learners: int = 0

    # Computed where it is asked for: importing scipy's functions takes longer than a small table.
    @property
    def p(self) -> float:
        """The p of the statistic."""
        if math.isnan(self.statistic):
            return math.nan
        if self.statistic == 0.0:
            return 1.0
        from scipy.special import chdtrc

        return float(chdtrc(self.learners - 1, self.statistic))

    @property
    def f_p(self) -> float:
        """The p of F."""
        if math.isnan(self.f):
            return math.nan
        if self.f == math.inf:
            return 0.0
        if self.f == 0.0:
            return 1.0
        from scipy.special import fdtrc

        freedom = (self.learners - 1) * (self.datasets - 1)
        return float(fdtrc(self.learners - 1, freedom, self.f))


def rank(losses: FloatArray) -> FloatArray:
    """Return ranks along the last axis, 1 for the least; equals share the mean of their ranks.

    Figures that differ by the rounding of their last digits are equal.

    Examples
    --------
    >>> rank(np.array([0.2, 0.1, 0.2]))
    array([2.5, 1. , 2.5])
    """
    order = np.argsort(losses, axis=-1, kind="stable")
    ascending = np.take_along_axis(losses, order, axis=-1)
    is_new = np.ones(losses.shape, dtype=bool)
    before = ascending[..., :-1]
    after = ascending[..., 1:]
    is_new[..., 1:] = after != before
    # Equals lie side by side: their rank is the middle of their stretch.
    place = np.arange(losses.shape[-1])
    begins = np.where(is_new, place, 0)
    first = np.maximum.accumulate(begins, axis=-1)
    is_last = np.ones(losses.shape, dtype=bool)
    is_last[..., :-1] = is_new[..., 1:]
    ends = np.where(is_last, place, losses.shape[-1])
    from_last = np.minimum.accumulate(ends[..., ::-1], axis=-1)
    last = from_last[..., ::-1]
    middle = (first + last) / 2 + 1
    ranks = np.empty(losses.shape)
    np.put_along_axis(ranks, order, middle, axis=-1)
    # Where neighbours differ by less than rounding, all are compared with all.
    is_near = equal_figures(after, before) & is_new[..., 1:]
    is_absent = np.isnan(losses)
    rounded = is_near.any(axis=-1) | is_absent.any(axis=-1)
    if rounded.any():
        ranks[rounded] = _ranks_by_pairs(losses[rounded])
    return ranks


def _ranks_by_pairs(losses: FloatArray) -> FloatArray:
    """Return ranks along the last axis, of figures that may differ by rounding."""
    ranked = losses[..., :, None]
    compared = losses[..., None, :]
    is_equal = equal_figures(ranked, compared)  # each figure is equal to itself
    # The rank of a figure is the count of lesser ones, and half that of its equals.
    is_more = (ranked > compared) & ~is_equal
    lesser = is_more.sum(axis=-1)
    equals = is_equal.sum(axis=-1)
    return np.asarray(lesser + (equals + 1) / 2)


def equal_figures(a: FloatArray, b: FloatArray) -> BoolArray:
    """Return where two figures are equal, or differ by the rounding of their last digits.

    Examples
    --------
    >>> equal_figures(np.array([0.1 + 0.2, 1e-20]), np.array([0.3, 2e-20]))
    array([ True, False])
    """
    largest = np.maximum(np.abs(a), np.abs(b))
    is_near = np.abs(a - b) <= _ROUNDING * largest
    return np.asarray((a == b) | is_near)


def friedman(ranks: FloatArray) -> Friedman:
    """Test whether learners differ at all.

    Parameters
    ----------
    ranks : array of shape (n_datasets, n_learners)

    Examples
    --------
    >>> test = friedman(rank(np.array([[1.0, 2, 3], [1, 2, 3], [1, 2, 3], [1, 3, 2]])))
    >>> round(test.statistic, 3), round(test.p, 4), round(test.f, 3), round(test.f_p, 4)
    (6.5, 0.0388, 13.0, 0.0066)
    """
    n, k = ranks.shape
    if k < 3 or n < 2:
        return Friedman()
    middle = (k + 1) / 2
    # The variance of the ranks of a data set, that of 1 ... k where none are equal.
    squares = (ranks - middle) ** 2
    variance = float(squares.sum()) / (n * (k - 1))
    if variance == 0.0:
        return Friedman(0.0, 0.0, n, k)
    squares_of_means = (ranks.mean(axis=0) - middle) ** 2
    statistic = n * float(squares_of_means.sum()) / variance
    largest = n * (k - 1)
    if largest - statistic < 1e-9 * largest:  # all data sets agree
        return Friedman(statistic, math.inf, n, k)
    f = (n - 1) * statistic / (largest - statistic)
    return Friedman(statistic, f, n, k)


def critical_difference(k: int, n: int) -> float:
    """Return by how much mean ranks must differ by Nemenyi's test, at the 5 % level.

    Parameters
    ----------
    k, n : int
        Learners, and data sets.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    from scipy.stats import studentized_range

    quantile = studentized_range.ppf(1 - ALPHA, k, np.inf)
    deviation = math.sqrt(k * (k + 1) / (6 * n))
    return float(quantile) / math.sqrt(2) * deviation


def nemenyi(distances: FloatArray, k: int, n: int) -> FloatArray:
    """Return the p of distances of mean ranks, already corrected for all pairs of `k` learners."""
    from scipy.stats import studentized_range

    # Each distinct distance takes an integral.
    distinct, place = np.unique(distances, return_inverse=True)
    scale = math.sqrt(12 * n / (k * (k + 1)))
    p = studentized_range.sf(distinct * scale, k, np.inf)
    return np.asarray(p)[place]
