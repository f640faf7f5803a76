"""STAGGER concepts: size, colour and shape of a thing, each of three values, and three rules.

Function 1: small and red. Function 2: green or a circle. Function 3: medium or large. Columns hold
the numbers of the values (small, medium, large; red, blue, green; circle, square, triangle), or
with ``one_hot`` a column of 0 and 1 for each value. The rows are those of MOA's ``STAGGERGenerator
-f FUNCTION -i SEED``.

References
----------
J. C. Schlimmer, R. H. Granger, "Incremental learning from noisy data", Machine Learning 1 (1986),
page 341.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.compiled.java_random import java_random, next_int
from olscale.data.generators.concept_stream import ROWS, ConceptStream, batches_of
from olscale.data.generators.numbered_columns import NumberedColumns
from olscale.data.generators.option_values import flag, whole

__all__ = ["ROWS", "SEGMENTS", "Stagger", "batches"]

SEGMENTS = False

_VALUES = {
    "size": ("small", "medium", "large"),
    "color": ("red", "blue", "green"),
    "shape": ("circle", "square", "triangle"),
}


@compiled
def _draw(
    random: Any, function: int, balance: bool, next_label: Any, X: Any, y: Any
) -> None:
    for i in range(X.shape[0]):
        label = -1
        while label < 0:
            size = next_int(random, 3)
            color = next_int(random, 3)
            shape = next_int(random, 3)
            holds = size >= 1
            if function == 1:
                holds = size == 0 and color == 0
            elif function == 2:
                holds = color == 2 or shape == 0
            label = 1 if holds else 0
            if balance and label != next_label[0]:
                label = -1
        next_label[0] = 1 - label
        X[i, 0] = size
        X[i, 1] = color
        X[i, 2] = shape
        y[i] = label


class Stagger(ConceptStream):
    """STAGGER concepts.

    Parameters
    ----------
    seed : int
        Seed of ``java.util.Random``.
    function : {1, 2, 3}
        Which rule.
    balance : bool, default False
        Whether classes alternate, from class 1 on.
    one_hot : bool, default False
        Whether each value is a column of its own.
    """

    def __init__(
        self, seed: int, function: int = 1, balance: bool = False, one_hot: bool = False
    ) -> None:
        self._function = whole("function", function, 1, 3)
        self._balance = flag("balance", balance)
        self._columns = NumberedColumns(
            tuple(_VALUES), _VALUES, flag("one_hot", one_hot)
        )
        self.feature_names = self._columns.names
        self._random = java_random(seed)
        self._wanted = np.ones(1, dtype=np.int64)

    def take(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        X = np.empty((count, 3))
        y = np.empty(count)
        _draw(self._random, self._function, self._balance, self._wanted, X, y)
        return self._columns.apply(X), y


batches = batches_of(Stagger)
