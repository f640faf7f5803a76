"""A hyperplane that turns: uniform features, and a weighted sum that decides.

``x ~ U(0, 1)``; a row is of class 1 if ``sum_j w_j x_j >= 1/2 sum_j w_j``. After each row the first
``drifting`` weights move by ``change``, and each turns back with a probability of ``reversal``
percent. The rows are those of MOA's ``HyperplaneGenerator -i SEED``, bit for bit.

References
----------
G. Hulten, L. Spencer, P. Domingos, "Mining time-changing data streams", KDD 2001, section 4.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.compiled.java_random import java_random, next_double, next_int
from olscale.data.generators.concept_stream import ROWS, ConceptStream, batches_of
from olscale.data.generators.option_values import real, whole
from olscale.errors import ParameterError

__all__ = ["ROWS", "SEGMENTS", "Hyperplane", "batches"]

SEGMENTS = False


@compiled
def _draw_numbers(random: Any, numbers: Any) -> None:
    for j in range(numbers.shape[0]):
        numbers[j] = next_double(random)


@compiled
def _draw(
    random: Any,
    weights: Any,
    signs: Any,
    change: float,
    noise: int,
    reversal: int,
    X: Any,
    y: Any,
) -> None:
    for i in range(X.shape[0]):
        weighted = 0.0
        total = 0.0
        for j in range(X.shape[1]):
            X[i, j] = next_double(random)
            weighted += weights[j] * X[i, j]
            total += weights[j]
        label = 1 if weighted >= total * 0.5 else 0
        if 1 + next_int(random, 100) <= noise:
            label = 1 - label
        y[i] = label
        for j in range(signs.shape[0]):
            weights[j] += signs[j] * change
            if 1 + next_int(random, 100) <= reversal:
                signs[j] = -signs[j]


class Hyperplane(ConceptStream):
    """A hyperplane that turns.

    Parameters
    ----------
    seed : int
        Seed of ``java.util.Random``.
    columns : int, default 10
        Number of features.
    drifting : int, default 2
        How many weights move.
    change : float, default 0
        How far each moves after a row; weights begin between 0 and 1.
    noise : int, default 5
        Percent of the labels that are turned over.
    reversal : int, default 10
        Percent of the rows at which a weight turns back.
    """

    def __init__(
        self,
        seed: int,
        columns: int = 10,
        drifting: int = 2,
        change: float = 0.0,
        noise: int = 5,
        reversal: int = 10,
    ) -> None:
        columns = whole("columns", columns, 1)
        if whole("drifting", drifting, 0) > columns:
            raise ParameterError(
                f"drifting is {drifting}, expected at most the {columns} columns"
            )
        self._change = real("change", change, 0.0, 1.0)
        self._noise = whole("noise", noise, 0, 100)
        self._reversal = whole("reversal", reversal, 0, 100)
        self.feature_names = tuple(f"att{number + 1}" for number in range(columns))
        self._random = java_random(seed)
        self._weights = np.empty(columns)
        _draw_numbers(self._random, self._weights)
        self._signs = np.ones(drifting)

    def take(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        X = np.empty((count, len(self.feature_names)))
        y = np.empty(count)
        _draw(
            self._random,
            self._weights,
            self._signs,
            self._change,
            self._noise,
            self._reversal,
            X,
            y,
        )
        return X, y


batches = batches_of(Hyperplane)
