"""Tests of paired differences: Wilcoxon's, the sign test, Nadeau and Bengio's corrected t; and Holm's correction of many."""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from olscale.analysis.rank_tests import equal_figures, rank

_EXACT = 50
"""Differences up to which the distribution of Wilcoxon's statistic is counted out."""

_DIGITS = 13
"""Digits of the larger figure that its difference to another keeps: one more than what figures must differ by."""

_MOST_EXPONENT = 300
"""Power of ten that is a finite number still."""


def differences_of(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `one` minus `other`, such that what is equal but for rounding in the last digits is equal.

    Examples
    --------
    >>> a, b = differences_of(np.array([0.3, 0.8]), np.array([0.1, 0.6]))
    >>> a == b, 0.3 - 0.1 == 0.8 - 0.6
    (np.True_, False)
    """
    # Every pair has its own scale: beside a large figure another pair's difference is no rounding.
    equal = equal_figures(one, other)
    scale = np.where(equal, 1.0, np.maximum(np.abs(one), np.abs(other)))
    # Powers of ten, so that equal differences of pairs of unequal scale become one number.
    exponents = np.minimum(_DIGITS - np.ceil(np.log10(scale)), _MOST_EXPONENT)
    steps_per_unit = 10.0**exponents
    return np.where(equal, 0.0, np.rint((one - other) * steps_per_unit) / steps_per_unit)


def wilcoxon(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the two-sided p of Wilcoxon's signed-rank test of each pair; differences of zero are left out.

    Of up to 50 differences it is exact, also where some are equal; of more it is that of the normal
    approximation.

    Parameters
    ----------
    differences : array of shape (n_pairs, n_differences)

    References
    ----------
    F. Wilcoxon, Individual comparisons by ranking methods, Biometrics Bulletin 1, 1945.

    Examples
    --------
    >>> wilcoxon(np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0, 1.0, -2.0, 3.0, -4.0, 5.0]]))
    array([0.03125, 0.8125 ])
    """
    zeros = (differences == 0).sum(axis=-1, keepdims=True)
    # Zeros have the lowest ranks. Shared ranks are halves: doubled, all are whole numbers.
    doubled = np.where(differences == 0, 0.0, 2 * (rank(np.abs(differences)) - zeros)).astype(
        np.int64
    )
    above = (doubled * (differences > 0)).sum(axis=-1)
    least = np.minimum(above, doubled.sum(axis=-1) - above)
    p_of = cache(_wilcoxon_p)  # many pairs share their ranks, and the sum of them
    ranks = map(tuple, np.sort(doubled, axis=-1).tolist())
    return np.array(
        [p_of(of_pair, sum_) for of_pair, sum_ in zip(ranks, least.tolist(), strict=True)]
    )


def _wilcoxon_p(doubled: tuple[int, ...], least: int) -> float:
    """Return the p of one pair from the doubled ranks of its differences, zeros in front, and their least sum."""
    ranks = [rank for rank in doubled if rank]
    if not ranks:
        return 1.0
    if len(ranks) > _EXACT:
        z = (least - sum(ranks) / 2) / math.sqrt(sum(rank * rank for rank in ranks) / 4)
        return math.erfc(-z / math.sqrt(2))
    # Chances of each sum of ranks up to the least; signs are coins.
    chances = np.zeros(least + 1)
    chances[0] = 1.0
    for step in ranks:
        halves = chances / 2
        chances = halves.copy()
        chances[step:] += halves[: max(0, len(halves) - step)]
    return min(1.0, 2 * float(chances.sum()))


def sign_test(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the two-sided p of the sign test of each pair; differences of zero are left out.

    Parameters
    ----------
    differences : array of shape (n_pairs, n_differences)

    Examples
    --------
    >>> sign_test(np.array([[1.0, 2.0, 0.5, 3.0, -1.0, 0.0]]))
    array([0.375])
    """
    wins = (differences > 0).sum(axis=-1)
    losses = (differences < 0).sum(axis=-1)
    p_of = cache(_sign_p)
    counts = zip(np.minimum(wins, losses).tolist(), (wins + losses).tolist(), strict=True)
    return np.array([p_of(fewer, both) for fewer, both in counts])


def _sign_p(fewer: int, n: int) -> float:
    """Return the p of so few signs of one kind among `n`."""
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(fewer + 1)) / (1 << n))


def corrected_t(differences: NDArray[np.float64], ratio: float) -> NDArray[np.float64]:
    """Return the two-sided p of Nadeau and Bengio's corrected resampled t test of each pair.

    Folds share training rows, so their differences vary less than those of fresh data would: the
    correction adds `ratio` to ``1 / n``.

    Parameters
    ----------
    differences : array of shape (n_pairs, n_folds)
    ratio : float
        Rows tested on over rows trained on: ``1 / (folds - 1)`` of cross-validation.

    References
    ----------
    C. Nadeau, Y. Bengio, Inference for the generalization error, Machine Learning 52, 2003.

    Examples
    --------
    >>> corrected_t(np.array([[0.02, 0.01, 0.03, 0.02, 0.02]]), 1 / 4).round(4)
    array([0.0135])
    """
    from scipy.special import stdtr

    n = differences.shape[-1]
    mean = differences.mean(axis=-1)
    variance = differences.var(axis=-1, ddof=1) * (1 / n + ratio)
    constant = variance == 0.0
    t = np.abs(mean) / np.sqrt(np.where(constant, 1.0, variance))
    return np.where(constant, np.where(mean == 0.0, 1.0, 0.0), 2 * stdtr(n - 1, -t))


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p values corrected by Holm's step-down method for that there are many.

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return corrected
