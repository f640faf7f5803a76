"""Settings of a local learner in one pass: settings with the same prototypes find them once."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, rows_of, slice_rows, values_of
from olscale.compiled.pages import copy_of
from olscale.compiled.prototypes import PROTOTYPES
from olscale.learners.contract.fused_settings import FusedSettings
from olscale.learners.contract.learner import FloatArray, Learner

# numbers of rows that stay in the last cache while all settings learn them
_NUMBERS = 1 << 19

Rule = TypeVar("Rule")


class FusedLocal(FusedSettings, Generic[Rule]):
    """Settings of a local learner: the prototypes of a few rows are found once for all settings.

    Parameters
    ----------
    learners : sequence of Learner
        Learners with sequential prototypes, after `begin`.
    rules : sequence
        The parameters of each learner's step.
    """

    def __init__(self, learners: Sequence[Learner], rules: Sequence[Rule]) -> None:
        self._learners = learners
        self._rules = rules
        for learner in learners:
            learner.state_ = {
                name: np.require(array, requirements="W")
                for name, array in learner.state_.items()
            }

    def learn(
        self, X: Rows, y: NDArray[np.int64], weights: FloatArray | None = None
    ) -> list[FloatArray]:
        """Predict, then update, row by row; return each learner's scores before each update."""
        rows = rows_of(X)
        scores = [np.empty((rows, learner._outputs)) for learner in self._learners]
        size = max(1, int(_NUMBERS * rows / max(1, values_of(X))))
        for start in range(0, max(1, rows), size):
            part = slice(start, min(start + size, rows))
            own_scores = [setting_scores[part] for setting_scores in scores]
            own_weights = None if weights is None else weights[part]
            if not self._learn(
                slice_rows(X, start, part.stop), y[part], own_scores, own_weights
            ):
                for setting_scores in scores:
                    setting_scores[part.stop :] = np.nan
                break
        return scores

    @abstractmethod
    def _learn(
        self,
        X: Rows,
        y: NDArray[np.int64],
        scores: Sequence[FloatArray],
        weights: FloatArray | None,
    ) -> bool:
        """Learn from a few rows; False if one cannot be used."""

    def release(self) -> None:
        """Bring the learners up to date."""
        first, *further = self._learners
        for learner in further:
            learner.state_.update(
                {name: copy_of(first.state_[name]) for name in PROTOTYPES}
            )
