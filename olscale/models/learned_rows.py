"""What a model gives for rows that it predicts, then learns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from olscale.arrays import FloatArray, IntArray
from olscale.compiled.csr import Rows


@dataclass(slots=True)
class LearnedRows:
    """Rows that a model predicted, then learned.

    Attributes
    ----------
    X : Rows
        After the transforms.
    scores : ndarray of shape (rows, outputs)
    probabilities : ndarray of shape (rows, classes), optional
        Of calibrated models.
    codes : int array of shape (rows,), optional
        Predictions by the threshold of the model, if it has one.
    """

    X: Rows
    scores: FloatArray
    probabilities: FloatArray | None = None
    codes: IntArray | None = None

    @property
    def diverged(self) -> int | None:
        """The first row without finite scores, None if there is none."""
        finite = np.isfinite(self.scores).all(axis=1)
        if finite.all():
            return None
        return int(np.argmin(finite))
