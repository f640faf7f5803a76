"""The Bayesian signed-rank test: how likely one learner is better, the other is, or both are the same in practice."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_DRAWS, _SEED, _PRIOR = 10_000, 0, 0.5


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


def signed_rank(differences: NDArray[np.float64], rope: float = 0.0) -> Posterior:
    """Draw from the posterior of a Dirichlet process whose prior is half an observation of no difference.

    Parameters
    ----------
    differences : array of shape (n_datasets,)
    rope : float
        Differences from ``-rope`` to ``rope`` are the same in practice.

    References
    ----------
    A. Benavoli, G. Corani, J. Demsar, M. Zaffalon, Time for a change: a tutorial for comparing multiple classifiers through
    Bayesian analysis, JMLR 18, 2017.

    Examples
    --------
    >>> signed_rank(np.full(10, -0.05), rope=0.01)
    Posterior(below=1.0, within=0.0, above=0.0)
    """
    z = np.concatenate([[0.0], differences])
    sums = z[:, None] + z[None, :]
    # A sum on the border counts half on either side.
    above, below = (np.heaviside(side - 2 * rope, 0.5) for side in (sums, -sums))
    weights = _weights(len(differences))
    sides = [((weights @ where) * weights).sum(axis=1) for where in (below, above)]
    shares = np.array([sides[0], 1 - sides[0] - sides[1], sides[1]])
    return Posterior(*(np.bincount(shares.argmax(axis=0), minlength=3) / _DRAWS).tolist())


@lru_cache(maxsize=1)
def _weights(n: int) -> NDArray[np.float64]:
    """Return draws of the weights of the prior and of `n` observations, the same for all pairs of a comparison."""
    return np.random.default_rng(_SEED).dirichlet([_PRIOR, *[1.0] * n], _DRAWS)
