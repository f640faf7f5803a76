"""Recursive least squares on random Fourier features."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, rows_of
from olscale.compiled.decorator import compiled
from olscale.compiled.rows import add_column
from olscale.data.transforms.fourier import fourier_features
from olscale.data.transforms.matrix import MatrixRows
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.contract.parameters import Domain, Flag, Whole
from olscale.learners.contract.regressor import OnePassRegressor
from olscale.learners.fixed_layer import FixedLayer
from olscale.learners.kernel_width import GammaLearner


@compiled
def _add_rows(X: Any, Z: Any, first: int) -> None:
    """Add the rows and a 1 to the columns of `Z` from `first` on; the 1 comes first."""
    for i in range(Z.shape[0]):
        Z[i, first] = 1.0
        z = Z[i, first + 1 :].reshape(-1, 1)
        add_column(X, i, z, 0, 1.0)


class FourierLayer(GammaLearner, FixedLayer):
    """Base of learners with such features, whatever their task; for parameters see `RFFRLS`."""

    domains: ClassVar[dict[str, Domain]] = {
        "features": Whole(2),
        **GammaLearner.gammas,
        "linear": Flag(),
        **FixedLayer.shared_domains,
        "seed": Whole(0),
    }

    def __init__(
        self,
        features: int = 1000,
        gamma: float | str = "median",
        linear: bool = False,
        lam: float = 0.01,
        forget: float = 1.0,
        block: int = 1,
        seed: int = 0,
    ) -> None:
        self.features = features
        self.gamma = gamma
        self.linear = linear
        self.lam = lam
        self.forget = forget
        self.block = block
        self.seed = seed

    def _count(self, columns: int) -> int:
        return int(self.features) + (columns + 1 if self.linear else 0)

    def _start(self, columns: int, outputs: int) -> None:
        super()._start(columns, outputs)
        self._columns = columns
        self._draw()

    def _draw(self) -> None:
        """Have the frequencies of the state's key."""
        first, second = self.state_["key"].tolist()
        self._frequencies = MatrixRows((first, second), self._columns, int(self.features) // 2, 0.0)

    def _allocate(self, columns: int, outputs: int) -> State:
        key, gamma = self._random().integers(1 << 32, size=2), self._first_width(columns)
        return {**super()._allocate(columns, outputs), "key": key, "gamma": gamma}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`, with its frequencies."""
        super().restore(state)
        self._draw()

    def _check_ready(self, X: Rows) -> None:
        self._check_width(X)

    def _set_features(self, X: Rows, state: State, Z: FloatArray) -> None:
        if rows_of(X):
            count = int(self.features)
            Z[:, :count] = fourier_features(X, self._frequencies, count, float(state["gamma"][0]))
            if self.linear:
                _add_rows(X, Z, count)


class RFFRLS(FourierLayer, OnePassLearner):
    """X."""

    name = "rff-rls"


class RFFRLSR(FourierLayer, OnePassRegressor):
    """X."""

    name = "rff-rls-r"
