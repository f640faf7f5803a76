"""Made-up rows in the shape of Multi-PIE: 74,700 x 100, 249 classes, 15 poses per class.

A pose moves all faces alike; a face lies around the pose, partly at a place of its own and more at
one that is another in every pose. What distinguishes two faces so changes from pose to pose:
hyperplanes that are local learn it, one a class less.

References
----------
R. Gross, I. Matthews, J. Cohn, T. Kanade, S. Baker, Multi-PIE, Image and Vision Computing 28 (5),
2010: the real set. Its shape is that of Zhou et al., Pattern Recognition 51, 2016, Table 2.
"""

from collections.abc import Iterator

import numpy as np

from olscale.data.formats.base import Batch

ROWS = 74_700
COLUMNS = 100
CLASSES = 249
SEGMENTS = False

_POSES = 15
_BATCH_ROWS = 8_192


def batches(rows: int, seed: int) -> Iterator[Batch]:
    """Yield `rows` dense rows, 8,192 at a time, of 100 features, with targets 0 to 248.

    The first 249 are one of each class. Every batch has a stream of random numbers of its own.
    """
    places = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    poses = 3.0 * places.standard_normal((_POSES, 1, COLUMNS))
    faces = 0.5 * places.standard_normal(
        (1, CLASSES, COLUMNS)
    ) + places.standard_normal((_POSES, CLASSES, COLUMNS))
    centres = poses + faces
    for number, start in enumerate(range(0, rows, _BATCH_ROWS)):
        # Whole batches are drawn, also the last one: more rows begin with fewer rows.
        generator = np.random.Generator(
            np.random.PCG64(np.random.SeedSequence([seed, number]))
        )
        face = generator.integers(CLASSES, size=_BATCH_ROWS)
        # Every class has to be there, however few rows are asked for.
        if number == 0:
            face[:CLASSES] = generator.permutation(CLASSES)
        X = centres[generator.integers(_POSES, size=_BATCH_ROWS), face]
        X += 0.5 * generator.standard_normal((_BATCH_ROWS, COLUMNS))
        remaining = slice(0, rows - start)
        yield Batch(X[remaining], face[remaining].astype(np.float64), COLUMNS)
