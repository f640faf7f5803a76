"""The Bayesian signed-rank test: how likely a learner is better, or two are alike in practice."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.system.blas import one_blas_thread

FloatArray = NDArray[np.floating[Any]]

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


def signed_rank(differences: NDArray[np.float64], rope: float = 0.0) -> list[Posterior]:
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
    room = np.empty((2, min(pairs, _PAIRS_AT_ONCE), _DRAWS_AT_ONCE), dtype=quick)
    double_room = np.empty(room.shape)
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
                of_draws[block], distances[block] = _count_draws(sums, quick_products, rope, *room)
            unsure = np.flatnonzero(distances < slack)
            for start in range(0, len(unsure), _PAIRS_AT_ONCE):
                places = unsure[start : start + _PAIRS_AT_ONCE]
                sums = z[places[:, None], first] + z[places[:, None], second]
                of_draws[places], _ = _count_draws(sums, products, rope, *double_room)
            counts += of_draws
    shares = counts / _DRAWS
    return [Posterior(*of_pair) for of_pair in shares.tolist()]


def _count_draws(
    sums: NDArray[np.float64],
    products: FloatArray,
    rope: float,
    lead: FloatArray,
    limit: FloatArray,
) -> tuple[NDArray[np.int64], FloatArray]:
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
    counts = np.column_stack([less, products.shape[1] - less - more, more])
    return counts, lead.min(axis=1)


@lru_cache(maxsize=1)
def _weights(n: int) -> NDArray[np.float64]:
    """Return draws of the weights of the prior and of `n` observations."""
    rng = np.random.default_rng(_SEED)
    return rng.dirichlet([_PRIOR, *[1.0] * n], _DRAWS)
