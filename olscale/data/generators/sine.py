"""Sine concepts: whether a point of the unit square lies below a sine.

Of functions 1 and 2 the curve is ``sin x``, of 3 and 4 ``0.5 + 0.3 sin(3 pi x)``. Points below it
are of class 0 in functions 1 and 3, of class 1 in 2 and 4. Two further features decide nothing. The
rows are those of MOA's ``SineGenerator -f FUNCTION -i SEED``.

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

__all__ = ["ROWS", "SEGMENTS", "Sine", "batches"]

SEGMENTS = False

_PI = math.pi


@compiled
def _draw(
    random: Any, function: int, balance: bool, next_label: Any, X: Any, y: Any
) -> None:
    below = (function + 1) % 2
    for i in range(X.shape[0]):
        label = -1
        while label < 0:
            X[i, 0] = next_double(random)
            X[i, 1] = next_double(random)
            curve = sine_cosine(X[i, 0])[0]
            if function > 2:
                curve = 0.5 + 0.3 * sine_cosine(3.0 * _PI * X[i, 0])[0]
            label = below if X[i, 1] < curve else 1 - below
            if balance and label != next_label[0]:
                label = -1
        next_label[0] = 1 - label
        for j in range(2, X.shape[1]):
            X[i, j] = next_double(random)
        y[i] = label


class Sine(ConceptStream):
    """Sine concepts.

    Parameters
    ----------
    seed : int
        Seed of ``java.util.Random``.
    function : {1, 2, 3, 4}
        Which curve, and which side of it is class 0.
    balance : bool, default False
        Whether classes alternate, from class 1 on.
    irrelevant : bool, default True
        Whether there are two features that decide nothing.
    """

    def __init__(
        self,
        seed: int,
        function: int = 1,
        balance: bool = False,
        irrelevant: bool = True,
    ) -> None:
        self._function = whole("function", function, 1, 4)
        self._balance = flag("balance", balance)
        columns = 4 if flag("irrelevant", irrelevant) else 2
        self.feature_names = tuple(f"att{number + 1}" for number in range(columns))
        self._random = java_random(seed)
        self._wanted = np.ones(1, dtype=np.int64)

    def take(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        X = np.empty((count, len(self.feature_names)))
        y = np.empty(count)
        _draw(self._random, self._function, self._balance, self._wanted, X, y)
        return X, y


batches = batches_of(Sine)
