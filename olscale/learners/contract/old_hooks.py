"""Base classes as version 0.1 had them: learners written for it override, and call by ``super()``, hooks of the base.

The hooks are capabilities today. `olscale.old_names` gives these classes to imports of the old
modules.
"""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.learners.contract.class_axes import ClassAxes, ShardsClasses
from olscale.learners.contract.compilation import CompilesLoops
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.estimator import Classifier, OnePassLearner
from olscale.learners.contract.fused_settings import FusedSettings, FusesSettings
from olscale.learners.contract.learner import FloatArray, Learner, State
from olscale.learners.contract.look_ahead import LooksAhead


class OldLearner(Learner, LooksAhead, ShardsClasses, FusesSettings, EstimatesCost, CompilesLoops):
    """`Learner` with every hook that version 0.1 had."""

    @property
    def looks_ahead(self) -> bool:
        return False

    def prepare(self, X: Rows) -> None:
        raise TypeError(f"learner {self.name} is one-pass: its looks_ahead is False")

    def class_axes(self, outputs: int) -> ClassAxes | None:
        del outputs
        return None

    def grid_key(self) -> object:
        return None

    def fuse(self, learners: Sequence[Learner]) -> FusedSettings:
        raise TypeError(f"learner {self.name} runs alone: its grid_key() is None")


class OldClassifier(Classifier, OldLearner):
    """`Classifier` with every hook that version 0.1 had."""


class SweepLearner(OnePassLearner, OldClassifier):
    """`OnePassLearner` under its name of version 0.1, with the loop in `_sweep`."""

    @abstractmethod
    def _sweep(
        self, X: Rows, y: NDArray[np.int64], state: State, learning: bool, scores: FloatArray
    ) -> None:
        """Learn from rows where `learning`, and set `scores`; `_pass` today."""

    def _pass(
        self, X: Rows, y: NDArray[np.int64], state: State, learning: bool, scores: FloatArray
    ) -> None:
        self._sweep(X, y, state, learning, scores)
