"""The Bayesian signed-rank test: how likely one learner is better, the other is, or both are the same in practice."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.system.blas import one_blas_thread

_DRAWS, _SEED, _PRIOR = 10_000, 0, 0.5

_PAIRS_AT_ONCE, _DRAWS_AT_ONCE = 64, 2_000
"""What is worked on at once: a megabyte of shares, which stays in a core's cache."""


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
    """Draw from the posteriors of Dirichlet processes whose prior is half an observation of no difference.

    The draws are the same for all pairs, so those of one pair do not depend on which others there
    are.

    Parameters
    ----------
    differences : array of shape (n_pairs, n_datasets)
    rope : float
        Differences from ``-rope`` to ``rope`` are the same in practice.

    References
    ----------
    A. Benavoli, G. Corani, J. Demsar, M. Zaffalon, Time for a change: a tutorial for comparing multiple classifiers through
    Bayesian analysis, JMLR 18, 2017.

    Examples
    --------
    >>> signed_rank(np.full((1, 10), -0.05), rope=0.01)
    [Posterior(below=1.0, within=0.0, above=0.0)]
    """
    pairs, datasets = differences.shape
    first, second = np.triu_indices(datasets + 1)
    z = np.column_stack([np.zeros(pairs), differences])
    counts = np.zeros((pairs, 3), dtype=np.int64)
    room = np.empty((2, min(pairs, _PAIRS_AT_ONCE), _DRAWS_AT_ONCE))
    with one_blas_thread():  # threads on small products wait for one another
        for draw in range(0, _DRAWS, _DRAWS_AT_ONCE):
            weights = _weights(datasets)[draw : draw + _DRAWS_AT_ONCE].T
            products = np.where(first == second, 1.0, 2.0)[:, None] * weights[first]
            products *= weights[second]
            for pair in range(0, pairs, _PAIRS_AT_ONCE):
                block = slice(pair, pair + _PAIRS_AT_ONCE)
                counts[block] += _count_draws(
                    z[block, first] + z[block, second], products, rope, *room
                )
    return [Posterior(*shares) for shares in (counts / _DRAWS).tolist()]


def _count_draws(
    sums: NDArray[np.float64],
    products: NDArray[np.float64],
    rope: float,
    lead: NDArray[np.float64],
    limit: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return in how many draws most of the weight lies below, within and above the region.

    Parameters
    ----------
    sums : array of shape (n_pairs, n_products)
        Of each two differences.
    products : array of shape (n_products, n_draws)
        Of their weights.
    rope : float
    lead, limit : arrays of shape (n_pairs or more, n_draws)
        Where to compute: memory that is new for each block takes as long as the products.
    """
    lead, limit = lead[: len(sums)], limit[: len(sums)]
    # A sum on the border counts half on either side.
    above = np.heaviside(sums - 2 * rope, 0.5)
    below = np.heaviside(-sums - 2 * rope, 0.5)
    # Shares sum to 1: that within is the largest where 2 - 3 * (above + below) is larger than
    # |above - below|.
    np.matmul(above - below, products, out=lead)
    np.matmul(2 - 3 * (above + below), products, out=limit)
    np.maximum(limit, 0.0, out=limit)
    more = np.array([np.count_nonzero(draws) for draws in lead > limit])
    np.negative(lead, out=lead)
    less = np.array([np.count_nonzero(draws) for draws in lead >= limit])
    return np.column_stack([less, products.shape[1] - less - more, more])


@lru_cache(maxsize=1)
def _weights(n: int) -> NDArray[np.float64]:
    """Return draws of the weights of the prior and of `n` observations."""
    return np.random.default_rng(_SEED).dirichlet([_PRIOR, *[1.0] * n], _DRAWS)
