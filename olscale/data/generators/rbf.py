"""Random radial basis functions: rows around centroids that move, each of some class.

The centroids are uniform in the unit cube, with a class, a standard deviation and a weight each,
all drawn by ``model_seed``. A row is of a centroid chosen by weight, at a Gaussian distance in a
random direction. With a ``speed`` the first ``drifting`` centroids move so far before each row,
each along its own direction, and turn back at the walls of the cube.

The rows are those of MOA's ``RandomRBFGeneratorDrift -r MODEL_SEED -i SEED``, with speed 0 also
those of ``RandomRBFGenerator``, bit for bit.

References
----------
A. Bifet, G. Holmes, R. Kirkby, B. Pfahringer, "MOA: massive online analysis", Journal of Machine
Learning Research 11 (2010).
"""

from math import sqrt
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
from olscale.data.generators.option_values import real, whole

__all__ = ["ROWS", "SEGMENTS", "Rbf", "batches"]

SEGMENTS = False


@compiled
def _draw_centroids(
    random: Any,
    classes: int,
    centres: Any,
    labels: Any,
    deviations: Any,
    weights: Any,
) -> None:
    for c in range(centres.shape[0]):
        for j in range(centres.shape[1]):
            centres[c, j] = next_double(random)
        labels[c] = next_int(random, classes)
        deviations[c] = next_double(random)
        weights[c] = next_double(random)


@compiled
def _draw_directions(random: Any, directions: Any) -> None:
    for c in range(directions.shape[0]):
        square = 0.0
        for j in range(directions.shape[1]):
            directions[c, j] = next_double(random)
            square += directions[c, j] * directions[c, j]
        norm = sqrt(square)
        for j in range(directions.shape[1]):
            directions[c, j] /= norm


@compiled
def _move(centres: Any, directions: Any, speed: float) -> None:
    for c in range(directions.shape[0]):
        for j in range(directions.shape[1]):
            centres[c, j] += directions[c, j] * speed
            if centres[c, j] > 1.0:
                centres[c, j] = 1.0
                directions[c, j] = -directions[c, j]
            if centres[c, j] < 0.0:
                centres[c, j] = 0.0
                directions[c, j] = -directions[c, j]


@compiled
def _draw(
    random: Any,
    centres: Any,
    labels: Any,
    deviations: Any,
    weights: Any,
    directions: Any,
    speed: float,
    X: Any,
    y: Any,
) -> None:
    total = 0.0
    for c in range(weights.shape[0]):
        total += weights[c]
    for i in range(X.shape[0]):
        if speed > 0.0:
            _move(centres, directions, speed)
        mark = next_double(random) * total
        c = 0
        reached = weights[0]
        # The last centroid takes what rounding leaves.
        while reached <= mark and c + 1 < weights.shape[0]:
            c += 1
            reached += weights[c]
        square = 0.0
        for j in range(X.shape[1]):
            # Drawn in MOA's order: each number comes from the same place in the
            # sequence.
            X[i, j] = next_double(random) * 2.0 - 1.0
            square += X[i, j] * X[i, j]
        scale = next_gaussian(random) * deviations[c] / sqrt(square)
        for j in range(X.shape[1]):
            X[i, j] = centres[c, j] + X[i, j] * scale
        y[i] = labels[c]


class Rbf(ConceptStream):
    """Random radial basis functions.

    Parameters
    ----------
    seed : int
        Seed of ``java.util.Random`` for the rows.
    model_seed : int, default 1
        The same for the centroids, so that another one is another concept.
    columns : int, default 10
        Number of features.
    classes : int, default 2
        Number of classes.
    centroids : int, default 50
        Number of centroids.
    drifting : int, default 50
        How many of them move; all if there are fewer.
    speed : float, default 0
        How far they move before each row; the cube has edges of 1.
    """

    def __init__(
        self,
        seed: int,
        model_seed: int = 1,
        columns: int = 10,
        classes: int = 2,
        centroids: int = 50,
        drifting: int = 50,
        speed: float = 0.0,
    ) -> None:
        columns = whole("columns", columns, 1)
        centroids = whole("centroids", centroids, 1)
        model_seed = whole("model_seed", model_seed, 0)
        self._speed = real("speed", speed, 0.0, 1.0)
        self.feature_names = tuple(f"att{number + 1}" for number in range(columns))
        self._centres = np.empty((centroids, columns))
        self._labels = np.empty(centroids, dtype=np.int64)
        self._deviations = np.empty(centroids)
        self._weights = np.empty(centroids)
        _draw_centroids(
            java_random(model_seed),
            whole("classes", classes, 2),
            self._centres,
            self._labels,
            self._deviations,
            self._weights,
        )
        moving = min(whole("drifting", drifting, 0), centroids)
        self._directions = np.empty((moving, columns))
        # MOA begins the numbers of the model anew for them.
        _draw_directions(java_random(model_seed), self._directions)
        self._random = java_random(seed)

    def take(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        X = np.empty((count, len(self.feature_names)))
        y = np.empty(count)
        _draw(
            self._random,
            self._centres,
            self._labels,
            self._deviations,
            self._weights,
            self._directions,
            self._speed,
            X,
            y,
        )
        return X, y


batches = batches_of(Rbf)
