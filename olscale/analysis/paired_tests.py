"""Tests of paired differences, and Holm's correction.

The tests are Wilcoxon's, the sign test, Nadeau and Bengio's corrected t, and the Bayesian
signed-rank test: how likely one learner is better, or both are alike in practice.
"""

import math
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.analysis.rank_tests import equal_figures, rank
from olscale.arrays import FloatArray
from olscale.system.blas import one_blas_thread

# Differences up to which the distribution of Wilcoxon's statistic is counted out.
_EXACT = 50

# Digits of the larger figure that a difference keeps: one more than figures must differ by.
_DIGITS = 13

# Power of ten that is a finite number still.
_MOST_EXPONENT = 300


def differences_of(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return `a` minus `b`, such that what is equal but for rounding in the last digits is equal.

    Examples
    --------
    >>> first, second = differences_of(np.array([0.3, 0.8]), np.array([0.1, 0.6]))
    >>> first == second, 0.3 - 0.1 == 0.8 - 0.6
    (np.True_, False)
    """
    is_equal = equal_figures(a, b)
    # Every pair has its own scale: near a large figure another pair's difference is no rounding.
    largest = np.maximum(np.abs(a), np.abs(b))
    scale = np.where(is_equal, 1.0, largest)
    # Powers of ten, so that equal differences of pairs of unequal scale become one number.
    exponents = _DIGITS - np.ceil(np.log10(scale))
    steps_per_unit = 10.0 ** np.minimum(exponents, _MOST_EXPONENT)
    rounded = np.rint((a - b) * steps_per_unit) / steps_per_unit
    return np.where(is_equal, 0.0, rounded)


def wilcoxon(differences: FloatArray) -> FloatArray:
    """Return the two-sided p of Wilcoxon's signed-rank test of each pair; zeros are left out.

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
    is_zero = differences == 0
    zeros = is_zero.sum(axis=-1, keepdims=True)
    # Zeros have the lowest ranks, which the others do not count.
    ranks = rank(np.abs(differences)) - zeros
    # Shared ranks are halves: doubled, all are whole numbers.
    doubled = np.where(is_zero, 0.0, 2 * ranks)
    doubled = doubled.astype(np.int64)
    is_above = differences > 0
    above = (doubled * is_above).sum(axis=-1)
    below = doubled.sum(axis=-1) - above
    least = np.minimum(above, below)
    p_of = cache(_wilcoxon_p)  # many pairs share their ranks, and the sum of them
    ordered = np.sort(doubled, axis=-1).tolist()
    p_values = []
    for ranks_of_pair, sum_ in zip(ordered, least.tolist(), strict=True):
        p_values.append(p_of(tuple(ranks_of_pair), sum_))
    return np.array(p_values)


def _wilcoxon_p(doubled: tuple[int, ...], least: int) -> float:
    """Return the p of one pair.

    Parameters
    ----------
    doubled : tuple of int
        Doubled ranks of its differences, ascending; those of zeros are 0.
    least : int
        The lesser of the sums of the ranks of either sign.
    """
    ranks = doubled[doubled.count(0) :]
    if not ranks:
        return 1.0
    # Of many differences the statistic is nearly normal.
    if len(ranks) > _EXACT:
        variance = sum(rank * rank for rank in ranks) / 4
        deviation = math.sqrt(variance)
        z = (least - sum(ranks) / 2) / deviation
        return math.erfc(-z / math.sqrt(2))
    chances = _chances_of_sums(ranks)
    as_far = float(chances[: least + 1].sum())
    return min(1.0, 2 * as_far)


@lru_cache(maxsize=64)  # pairs without equal differences share their ranks
def _chances_of_sums(ranks: tuple[int, ...]) -> FloatArray:
    """Return the chance of each sum of ranks that either sign has at most; signs are coins."""
    chances = np.zeros(sum(ranks) // 2 + 1)
    chances[0] = 1.0
    for step in ranks:
        halves = chances / 2
        unchanged = max(0, len(halves) - step)
        chances = halves.copy()
        chances[step:] += halves[:unchanged]
    return chances


def sign_test(differences: FloatArray) -> FloatArray:
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
    fewer = np.minimum(wins, losses).tolist()
    signs = (wins + losses).tolist()
    p_of = cache(_sign_p)
    p_values = []
    for count, n in zip(fewer, signs, strict=True):
        p_values.append(p_of(count, n))
    return np.array(p_values)


def _sign_p(fewer: int, n: int) -> float:
    """Return the p of so few signs of one kind among `n`."""
    as_few = sum(math.comb(n, i) for i in range(fewer + 1))
    return min(1.0, 2 * as_few / (1 << n))


def corrected_t(differences: FloatArray, ratio: float) -> FloatArray:
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
    variance = differences.var(axis=-1, ddof=1)
    variance = variance * (1 / n + ratio)
    is_constant = variance == 0.0
    deviation = np.sqrt(np.where(is_constant, 1.0, variance))
    t = np.abs(mean) / deviation
    p_of_constant = np.where(mean == 0.0, 1.0, 0.0)
    p = 2 * stdtr(n - 1, -t)
    return np.where(is_constant, p_of_constant, p)


def holm(p: FloatArray) -> FloatArray:
    """Return p values corrected for their number, by Holm's step-down method.

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6, 1979.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p, kind="stable")
    hypotheses = np.arange(len(p), 0, -1)  # hypotheses that are not rejected yet
    ascending = np.maximum.accumulate(p[order] * hypotheses)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(1.0, ascending)
    return corrected


_Floats = NDArray[np.floating[Any]]

_DRAWS = 10_000
_SEED = 0
_PRIOR = 0.5

# What is worked on at once: half a megabyte of shares, which stays in a core's cache.
_PAIRS_AT_ONCE = 64
_DRAWS_AT_ONCE = 2_000

# Error of single precision beyond which too many draws would be computed again.
_MOST_SLACK = 1e-4


class Posterior(NamedTuple):
    """Probabilities that sum to 1.

    Parameters
    ----------
    below, within, above : float
        That the differences lie mostly below the region of practical equivalence, in it, above it.
    """

    below: float
    within: float
    above: float


def signed_rank(differences: FloatArray, rope: float = 0.0) -> list[Posterior]:
    """Draw from the posteriors of Dirichlet processes.

    The prior is half an observation of no difference. The draws are the same for all pairs, so
    those of one pair do not depend on which others there are. Shares are computed in single
    precision, and again in double where a draw comes too close to a border to be sure of its side.

    Parameters
    ----------
    differences : array of shape (n_pairs, n_datasets)
    rope : float
        Differences from ``-rope`` to ``rope`` are the same in practice.

    References
    ----------
    A. Benavoli, G. Corani, J. Demsar, M. Zaffalon, Time for a change: a tutorial for comparing
    multiple classifiers through Bayesian analysis, JMLR 18, 2017.

    Examples
    --------
    >>> signed_rank(np.full((1, 10), -0.05), rope=0.01)
    [Posterior(below=1.0, within=0.0, above=0.0)]
    """
    pairs, datasets = differences.shape
    first, second = np.triu_indices(datasets + 1)
    z = np.column_stack([np.zeros(pairs), differences])
    counts = np.zeros((pairs, 3), dtype=np.int64)
    # Twice the bound on the rounding of a dot product, of both shares together.
    slack = 4 * (len(first) + 2) * 2.0**-24
    quick: type[np.floating[Any]] = np.float32
    if slack > _MOST_SLACK:
        quick = np.float64
        slack = 0.0
    shape = (2, min(pairs, _PAIRS_AT_ONCE), _DRAWS_AT_ONCE)
    room = np.empty(shape, dtype=quick)
    double_room = np.empty(shape)
    # Each product of two different weights stands for two sums of differences.
    multiples = np.where(first == second, 1.0, 2.0)[:, None]
    with one_blas_thread():  # threads on small products wait for one another
        for draw in range(0, _DRAWS, _DRAWS_AT_ONCE):
            weights = _weights(datasets)[draw : draw + _DRAWS_AT_ONCE].T
            products = multiples * weights[first]
            products *= weights[second]
            quick_products = products.astype(quick)
            of_draws = np.empty_like(counts)
            distances = np.empty(pairs)
            for start in range(0, pairs, _PAIRS_AT_ONCE):
                block = slice(start, start + _PAIRS_AT_ONCE)
                sums = z[block, first] + z[block, second]
                of_draws[block], distances[block] = _count_draws(
                    sums, quick_products, rope, *room
                )
            unsure = np.flatnonzero(distances < slack)
            for start in range(0, len(unsure), _PAIRS_AT_ONCE):
                places = unsure[start : start + _PAIRS_AT_ONCE]
                column = places[:, None]
                sums = z[column, first] + z[column, second]
                of_draws[places], _ = _count_draws(sums, products, rope, *double_room)
            counts += of_draws
    shares = counts / _DRAWS
    return [Posterior(*of_pair) for of_pair in shares.tolist()]


def _count_draws(
    sums: FloatArray,
    products: _Floats,
    rope: float,
    lead: _Floats,
    limit: _Floats,
) -> tuple[NDArray[np.int64], _Floats]:
    """Return in how many draws most weight lies below, within and above, and how close one comes.

    Parameters
    ----------
    sums : array of shape (n_pairs, n_products)
        Of each two differences.
    products : array of shape (n_products, n_draws)
        Of their weights.
    rope : float
    lead, limit : arrays of shape (n_pairs or more, n_draws)
        Where to compute, in the precision of `products`: memory that is new for each block takes
        as long as the products.

    Returns
    -------
    tuple
        Counts of shape (n_pairs, 3), and of each pair the least distance of a draw from a border
        between the three.
    """
    lead = lead[: len(sums)]
    limit = limit[: len(sums)]
    dtype = products.dtype
    # A sum on the border counts half on either side.
    above = np.heaviside(sums - 2 * rope, 0.5)
    below = np.heaviside(-sums - 2 * rope, 0.5)
    # Shares sum to 1: that within is the largest where 2 - 3 * (above + below) is larger than
    # |above - below|.
    difference = (above - below).astype(dtype)
    bound = (2 - 3 * (above + below)).astype(dtype)
    np.matmul(difference, products, out=lead)
    np.matmul(bound, products, out=limit)
    # NumPy takes three times as long with a single zero.
    zeros = np.zeros(products.shape[1], dtype=dtype)
    np.maximum(limit, zeros, out=limit)
    more = np.array([np.count_nonzero(draws) for draws in lead > limit])
    np.negative(lead, out=lead)
    less = np.array([np.count_nonzero(draws) for draws in lead >= limit])
    np.abs(lead, out=lead)
    np.subtract(lead, limit, out=lead)
    np.abs(lead, out=lead)
    between = products.shape[1] - less - more
    counts = np.column_stack([less, between, more])
    return counts, lead.min(axis=1)


@lru_cache(maxsize=1)
def _weights(n: int) -> FloatArray:
    """Return draws of the weights of the prior and of `n` observations."""
    rng = np.random.default_rng(_SEED)
    return rng.dirichlet([_PRIOR, *[1.0] * n], _DRAWS)
