"""Digits of a display: seven segments that are on or off, some of them wrong, and 17 random bits.

The classes are the digits 0 to 9, the columns 0 or 1. With ``drifting`` the first so many segments
change places with the first random bits. The rows are those of MOA's ``LEDGenerator -n NOISE -i
SEED``, or of ``LEDGeneratorDrift -d DRIFTING`` besides.

References
----------
L. Breiman, J. H. Friedman, R. A. Olshen, C. J. Stone, Classification and regression trees, 1984,
section 2.6.1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.compiled.java_random import java_random, next_int
from olscale.data.generators.concept_stream import ROWS, ConceptStream, batches_of
from olscale.data.generators.option_values import flag, whole
from olscale.errors import ParameterError

__all__ = ["ROWS", "SEGMENTS", "Led", "batches"]

SEGMENTS = False

_SEGMENT_COUNT = 7
_RANDOM_BITS = 17
# Top, upper left, upper right, middle, lower left, lower right, bottom.
_DIGITS = (
    "1110111",
    "0010010",
    "1011101",
    "1011011",
    "0111010",
    "1101011",
    "1101111",
    "1010010",
    "1111111",
    "1111011",
)


@compiled
def _draw(random: Any, digits: Any, places: Any, noise: int, X: Any, y: Any) -> None:
    for i in range(X.shape[0]):
        digit = next_int(random, 10)
        for j in range(7):
            lit = digits[digit, j]
            if 1 + next_int(random, 100) <= noise:
                lit = 1 - lit
            X[i, places[j]] = lit
        for j in range(7, X.shape[1]):
            X[i, places[j]] = next_int(random, 2)
        y[i] = digit


class Led(ConceptStream):
    """Digits of a display.

    Parameters
    ----------
    seed : int
        Seed of ``java.util.Random``.
    noise : int, default 10
        Percent of the segments that are wrong.
    drifting : int, default 0
        Number of segments, up to 7, that change places with random bits.
    irrelevant : bool, default True
        Whether there are 17 random bits.
    """

    def __init__(
        self, seed: int, noise: int = 10, drifting: int = 0, irrelevant: bool = True
    ) -> None:
        self._noise = whole("noise", noise, 0, 100)
        moved = whole("drifting", drifting, 0, _SEGMENT_COUNT)
        columns = _SEGMENT_COUNT
        if flag("irrelevant", irrelevant):
            columns += _RANDOM_BITS
        elif moved:
            raise ParameterError(
                f"drifting is {moved} without irrelevant features to change places with; expected 0"
            )
        self.feature_names = tuple(f"att{number + 1}" for number in range(columns))
        self._places = np.arange(columns)
        self._places[:moved] += _SEGMENT_COUNT
        self._places[_SEGMENT_COUNT : _SEGMENT_COUNT + moved] -= _SEGMENT_COUNT
        self._digits = np.array([[int(bit) for bit in digit] for digit in _DIGITS])
        self._random = java_random(seed)

    def take(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        X = np.empty((count, len(self.feature_names)))
        y = np.empty(count)
        _draw(self._random, self._digits, self._places, self._noise, X, y)
        return X, y


batches = batches_of(Led)
