"""Folds without a second pass: each row of one stream tests some of k models and trains the others.

The choice is an exact function of the seed and the number of the row. It comes from a counter-based
generator (Philox), so that any rows can be computed, in chunks of any size.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, factorial
from typing import Any

import numpy as np

from olscale.arrays import FloatArray, IntArray

# Keeps these draws apart from those of permutations and parts, which use the same seed.
_TAG = 0x464F4C4453
_DRAWS_A_STEP = 4  # Philox makes four numbers per value of its counter


@dataclass(frozen=True, slots=True)
class OnlineFolds:
    """A way to distribute rows to `folds` models.

    Attributes
    ----------
    kind : str
        One of `ONLINE_FOLDS`.
    seed : int
        Seed of the draws.
    folds : int
        Number of models.

    References
    ----------
    A. Bifet, G. de Francisci Morales, J. Read, G. Holmes, B. Pfahringer, Efficient online
    evaluation of big data stream classifiers, KDD 2015.

    Examples
    --------
    Every row tests one model and trains the other two.

    >>> folds = OnlineFolds("prequential-kfold", seed=0, folds=3)
    >>> sum(folds.weights(fold, 0, 4) for fold in range(3))
    array([2, 2, 2, 2])
    """

    kind: str
    seed: int
    folds: int

    def weights(self, fold: int, first: int, stop: int) -> IntArray:
        """Return how often model `fold` learns from each of the rows; 0 means that it is tested."""
        return ONLINE_FOLDS[self.kind](self, fold, first, stop)

    def definition(self) -> dict[str, Any]:
        """Return the folds as plain JSON values, named as in other splits."""
        return {"split": self.kind, "split_seed": self.seed, "folds": self.folds}

    def _uniform(self, first: int, stop: int, *number: int) -> FloatArray:
        """Return a number in [0, 1) per row."""
        seed = np.random.SeedSequence([self.seed, *number, _TAG])
        # The generator can only begin at a step: draws of its rows before `first` are left out.
        source = np.random.Philox(seed).advance(first // _DRAWS_A_STEP)
        skipped = first % _DRAWS_A_STEP
        return np.random.Generator(source).random(skipped + stop - first)[skipped:]

    def _picks(self, fold: int, first: int, stop: int) -> IntArray:
        """Return 1 for each row that picks the model `fold`; each row picks one model at random."""
        pick = (self._uniform(first, stop) * self.folds).astype(np.int64)
        return np.equal(pick, fold).astype(np.int64)


def _kfold(folds: OnlineFolds, fold: int, first: int, stop: int) -> IntArray:
    """Each row tests one model, drawn at random, and trains the others."""
    return 1 - folds._picks(fold, first, stop)


# P(X <= count) for the mean 1; beyond these counts it rounds to 1.0.
_POISSON = np.cumsum([exp(-1.0) / factorial(count) for count in range(18)])


def _bootstrap(folds: OnlineFolds, fold: int, first: int, stop: int) -> IntArray:
    """Each row trains each model as often as a Poisson number of mean 1 says, and tests it at 0."""
    return np.searchsorted(_POISSON, folds._uniform(first, stop, fold), side="right")


ONLINE_FOLDS: dict[str, Callable[[OnlineFolds, int, int, int], IntArray]] = {
    "prequential-kfold": _kfold,
    # Each row trains one model, drawn at random, and tests the others.
    "prequential-split": OnlineFolds._picks,
    "prequential-bootstrap": _bootstrap,
}
"""Ways of distributing rows, by name; each returns how often a model learns from each row."""
