"""Recursive least squares on random Fourier features."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, to_csr
from olscale.compiled.decorator import compiled
from olscale.compiled.rows import add_column
from olscale.data.transforms.fourier import set_fourier_features
from olscale.data.transforms.matrix import MatrixRows
from olscale.errors import ParameterError
from olscale.learners.contract.capability import LearnsTargets
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.contract.parameters import Flag, Real, Whole, param
from olscale.learners.contract.regressor import OnePassRegressor
from olscale.learners.contract.weighted import WeightedClassifier, WeightedRegressor
from olscale.learners.kernel.kernel_width import GammaLearner
from olscale.learners.network.fixed_layer import FixedLayer


@compiled
def _add_rows(X: Any, Z: Any, first: int, columns: int) -> None:
    """Add a 1 and the rows, of `columns` features, to the columns of `Z` from `first` on."""
    for i in range(Z.shape[0]):
        Z[i, first] = 1.0
        add_column(X, i, Z[i, first + 1 : first + 1 + columns], 0, 1.0)


class FourierLayer(GammaLearner, FixedLayer):
    """Base of learners with such features, for any task."""

    first_rows_will_do: ClassVar[bool] = True
    update_params = ("forget",)

    features: int = param(
        1000,
        Whole(2),
        "Number of features D, even; more are better, at a cost of D^2 a row.",
    )
    gamma: float | str = "median"
    linear: bool = param(False, Flag(), "Whether x itself and a 1 are features too.")
    lam: float = param(
        0.001,
        Real(0.0, open_="low"),
        "Ridge penalty. Features have length 1, so it need not follow the units of x.",
    )
    seed: int = param(
        0, Whole(0), "Number of the frequencies; each permutation draws others."
    )

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form."""
        params = super().resolved_params()
        if params["features"] % 2:
            raise ParameterError(
                f"learner {self.name}: features was {self.features}, expected an even number, a "
                "sine for each cosine"
            )
        return params

    def cheaper(self) -> str:
        """Return how to avoid a large matrix."""
        if self.linear:
            return "use linear=false, or fewer features"
        return "take fewer features"

    def _count(self, columns: int) -> int:
        return int(self.features) + (columns + 1 if self.linear else 0)

    def _start(self, columns: int, outputs: int) -> None:
        super()._start(columns, outputs)
        self._draw()

    def _draw(self) -> None:
        """Derive the frequencies from the state's key."""
        first, second = self.state_["key"].tolist()
        key = (first, second)
        count = int(self.features) // 2  # a cosine and a sine of each
        self._frequencies = MatrixRows(key, self._columns, count, 0.0)

    def _allocate(self, columns: int, outputs: int) -> State:
        key = self._random().integers(1 << 32, size=2)
        gamma = self._first_width(columns)
        return {**super()._allocate(columns, outputs), "key": key, "gamma": gamma}

    def frequencies(self) -> FloatArray:
        """Return the frequencies u of ``cos(u.x)``, shape (columns, D / 2)."""
        drawn = self._frequencies.times(to_csr(np.eye(self._columns)))
        return np.asarray(np.sqrt(2.0 * float(self.state_["gamma"][0])) * drawn)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`, with its frequencies."""
        super().restore(state)
        self._draw()

    def measures(self) -> dict[str, float]:
        """Return the shared measures and `frequency_bytes`, the bytes of cached frequencies."""
        return {
            **super().measures(),
            "frequency_bytes": float(self._frequencies.nbytes),
        }

    def _share_layer(self, other: Any) -> None:
        super()._share_layer(other)
        self._frequencies = other._frequencies

    def _check_ready(self, X: Rows) -> None:
        self._check_width(X)

    def _set_features(self, X: Rows, state: State, Z: FloatArray) -> None:
        count = int(self.features)
        set_fourier_features(X, self._frequencies, count, float(state["gamma"][0]), Z)
        if self.linear:
            _add_rows(X, Z, count, self._columns)


class RFFRLS(FourierLayer, OnePassLearner, WeightedClassifier):
    """Recursive least squares on random Fourier features: nearly kernel ridge regression.

    The targets are 1 and -1; one pass is enough.

    ``z(x) = sqrt(2 / D) [cos(u.x), sin(u.x)]`` with D / 2 frequencies u, drawn from a Gaussian of
    variance ``2 gamma`` in each direction: the features of the transform ``rff``. On these, and on
    x and a 1 if `linear`, the weights are after each row the ridge solution of all rows so far, as
    in `oselm`. One output separates two classes; more classes have one each.

    Notes
    -----
    State: half of a matrix, ``D^2 / 2`` numbers, D for each output, each row of a block and 17
    more, and the key of the frequencies; with `linear`, D is as many more as x has features and
    one. Time a row: O(D (nonzeros + D + outputs)).

    With ``gamma="median"``, the default, it looks ahead for one number and is not strictly
    one-pass; ``partial_fit`` takes the rows of its first call for that. The defaults need no tuning
    as long as features of x are on one scale: use the transform ``minmax`` or ``standardize`` where
    they are not. Frequencies are functions of a key, as those of `fogd`, and at most 64 MiB of them
    are kept outside the state.

    A row's weight multiplies the square of its error: 2 equals the row twice.

    References
    ----------
    A. Rahimi, B. Recht, Random features for large-scale kernel machines, NIPS 2007. N.-Y. Liang et
    al., IEEE Transactions on Neural Networks 17 (2006), equations 19 to 23.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> RFFRLS(features=50).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "rff-rls"
    numbers_per_second = 12e9


class RFFRLSR(FourierLayer, OnePassRegressor, WeightedRegressor, LearnsTargets):
    """Recursive least squares on random Fourier features, for targets: `RFFRLS` on targets.

    Notes
    -----
    State and time are as in `RFFRLS`, with one output. Targets are not scaled: `lam` means more
    where they are large.

    A row's weight multiplies the square of its error: 2 equals the row twice.

    References
    ----------
    A. Rahimi, B. Recht, Random features for large-scale kernel machines, NIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> model = RFFRLSR(features=50, lam=1e-6).fit(X, np.sin(3.0 * X[:, 0]))
    >>> model.predict(np.array([[0.5]])).round(1)
    array([1.])
    """

    name = "rff-rls-r"
    numbers_per_second = 12e9

    features: int = 300
    linear: bool = True
