"""Waveforms: a mean of two of three triangular waves at 21 points, with Gaussian noise.

The waves have their peaks of 6 at points 7, 15 and 11; a row of class 0 is of waves 1 and 2, of
class 1 of 1 and 3, of class 2 of 2 and 3, with a uniform weight. ``irrelevant`` adds 19 features
that are noise only; with ``drifting`` so many features change places with others.

The rows are those of MOA's ``WaveformGenerator -i SEED``, or with ``drifting`` of
``WaveformGeneratorDrift -d DRIFTING``, bit for bit.

References
----------
L. Breiman, J. H. Friedman, R. A. Olshen, C. J. Stone, Classification and regression trees, 1984,
section 2.6.2.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.compiled.java_random import (
    java_random,
    next_double,
    next_gaussian,
    next_int,
)
from olscale.data.generators.concept_stream import ROWS, ConceptStream, batches_of
from olscale.data.generators.option_values import flag, whole

__all__ = ["ROWS", "SEGMENTS", "Waveform", "batches"]

SEGMENTS = False

_POINTS = 21
_NOISE_COLUMNS = 19
_PEAKS = (6, 14, 10)
_FIRST_WAVE = (0, 0, 1)
_SECOND_WAVE = (1, 2, 2)


@compiled
def _draw(random: Any, waves: Any, places: Any, X: Any, y: Any) -> None:
    for i in range(X.shape[0]):
        label = next_int(random, 3)
        first = waves[_FIRST_WAVE[label]]
        second = waves[_SECOND_WAVE[label]]
        share = next_double(random)
        rest = 1.0 - share
        for j in range(21):
            X[i, places[j]] = (
                share * first[j] + rest * second[j] + next_gaussian(random)
            )
        for j in range(21, X.shape[1]):
            X[i, places[j]] = next_gaussian(random)
        y[i] = label


class Waveform(ConceptStream):
    """Waveforms.

    Parameters
    ----------
    seed : int
        Seed of ``java.util.Random``.
    irrelevant : bool, default False
        Whether there are 19 features of noise only.
    drifting : int, default 0
        Number of features that change places.
    """

    def __init__(self, seed: int, irrelevant: bool = False, drifting: int = 0) -> None:
        columns = _POINTS
        if flag("irrelevant", irrelevant):
            columns += _NOISE_COLUMNS
        self.feature_names = tuple(f"att{number + 1}" for number in range(columns))
        self._random = java_random(seed)
        self._places = np.arange(columns)
        moved = whole("drifting", drifting, 0, columns)
        if moved:
            start = next_int(self._random, columns)
            other = next_int(self._random, columns)
            for step in range(moved):
                here = (start + step) % columns
                there = (other + step) % columns
                self._places[[here, there]] = self._places[[there, here]]
        points = np.arange(_POINTS)
        self._waves = np.array(
            [np.maximum(6.0 - abs(points - peak), 0.0) for peak in _PEAKS]
        )

    def take(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        X = np.empty((count, len(self.feature_names)))
        y = np.empty(count)
        _draw(self._random, self._waves, self._places, X, y)
        return X, y


batches = batches_of(Waveform)
