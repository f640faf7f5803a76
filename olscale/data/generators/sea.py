"""SEA concepts: three uniform features; two of them decide against a threshold that changes.

``x ~ U(0, 10)`` in three columns. A row is of class 0 if ``x1 + x2`` is at most 8, 9, 7 or 9.5 in
functions 1 to 4, else of class 1; the third column decides nothing. The rows are those of MOA's
``SEAGenerator -f FUNCTION -p NOISE -i SEED``, bit for bit.

References
----------
W. N. Street, Y. Kim, "A streaming ensemble algorithm (SEA) for large-scale classification", KDD
2001, section 5.2.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.compiled.java_random import java_random, next_double, next_int
from olscale.data.generators.concept_stream import ROWS, ConceptStream, batches_of
from olscale.data.generators.option_values import flag, whole

__all__ = ["ROWS", "SEGMENTS", "Sea", "batches"]

SEGMENTS = False

_THRESHOLDS = (8.0, 9.0, 7.0, 9.5)


@compiled
def _draw(
    random: Any,
    threshold: float,
    noise: int,
    balance: bool,
    next_label: Any,
    X: Any,
    y: Any,
) -> None:
    for i in range(X.shape[0]):
        label = -1
        while label < 0:
            for j in range(3):
                X[i, j] = 10.0 * next_double(random)
            label = 0 if X[i, 0] + X[i, 1] <= threshold else 1
            if balance and label != next_label[0]:
                label = -1
        next_label[0] = 1 - label
        if 1 + next_int(random, 100) <= noise:
            label = 1 - label
        y[i] = label


class Sea(ConceptStream):
    """SEA concepts.

    Parameters
    ----------
    seed : int
        Seed of ``java.util.Random``.
    function : {1, 2, 3, 4}
        Which threshold.
    noise : int, default 10
        Percent of the labels that are turned over.
    balance : bool, default False
        Whether classes alternate before the noise, from class 1 on.
    """

    feature_names = ("attrib1", "attrib2", "attrib3")

    def __init__(
        self, seed: int, function: int = 1, noise: int = 10, balance: bool = False
    ) -> None:
        self._threshold = _THRESHOLDS[whole("function", function, 1, 4) - 1]
        self._noise = whole("noise", noise, 0, 100)
        self._balance = flag("balance", balance)
        self._random = java_random(seed)
        self._wanted = np.ones(1, dtype=np.int64)

    def take(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        X = np.empty((count, 3))
        y = np.empty(count)
        _draw(
            self._random,
            self._threshold,
            self._noise,
            self._balance,
            self._wanted,
            X,
            y,
        )
        return X, y


batches = batches_of(Sea)
