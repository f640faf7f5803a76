"""Mixed concepts: two of three conditions on two truth values and a point under a sine.

A row is in class 0 of function 1, and in class 1 of function 2, where at least two of these hold:
``v`` is 1, ``w`` is 1, and ``y < 0.5 + 0.3 sin(3 pi x)``. The rows are those of MOA's
``MixedGenerator -f FUNCTION -i SEED``.

References
----------
J. Gama, P. Medas, G. Castillo, P. Rodrigues, "Learning with drift detection", SBIA 2004, section 4.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import sine_cosine
from olscale.compiled.java_random import java_random, next_double
from olscale.data.generators.concept_stream import ROWS, ConceptStream, batches_of
from olscale.data.generators.option_values import flag, whole

__all__ = ["ROWS", "SEGMENTS", "Mixed", "batches"]

SEGMENTS = False

_PI = math.pi


@compiled
def _draw(
    random: Any, function: int, balance: bool, next_label: Any, X: Any, y: Any
) -> None:
    for i in range(X.shape[0]):
        label = -1
        while label < 0:
            for j in range(2):
                X[i, j] = 0.0 if next_double(random) < 0.5 else 1.0
            X[i, 2] = next_double(random)
            X[i, 3] = next_double(random)
            curve = 0.5 + 0.3 * sine_cosine(3.0 * _PI * X[i, 2])[0]
            conditions = X[i, 0] + X[i, 1]
            if X[i, 3] < curve:
                conditions += 1.0
            label = function - 1 if conditions >= 2.0 else 2 - function
            if balance and label != next_label[0]:
                label = -1
        next_label[0] = 1 - label
        y[i] = label


class Mixed(ConceptStream):
    """Mixed concepts.

    Parameters
    ----------
    seed : int
        Seed of ``java.util.Random``.
    function : {1, 2}
        Which class has two of the conditions.
    balance : bool, default False
        Whether classes alternate, from class 1 on.
    """

    feature_names = ("v", "w", "x", "y")

    def __init__(self, seed: int, function: int = 1, balance: bool = False) -> None:
        self._function = whole("function", function, 1, 2)
        self._balance = flag("balance", balance)
        self._random = java_random(seed)
        self._wanted = np.ones(1, dtype=np.int64)

    def take(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        X = np.empty((count, len(self.feature_names)))
        y = np.empty(count)
        _draw(self._random, self._function, self._balance, self._wanted, X, y)
        return X, y


batches = batches_of(Mixed)
