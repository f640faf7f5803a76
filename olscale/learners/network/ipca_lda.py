"""Linear discriminants on principal components that are updated with each block: olscale's own."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.components import add_block, set_products
from olscale.compiled.csr import CSR
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.contract.parameters import Real, Whole, param
from olscale.learners.network.block_learner import BLOCK_NUMBERS, BlockLearner

_LEAST = 1e-10
"""Part of the mean variance added in every direction within classes.

Where classes have no variance, the nearest mean wins.
"""


class Discriminants(NamedTuple):
    """Scores are ``x W + b``; classes that are `absent` have the lowest."""

    W: FloatArray
    b: FloatArray
    absent: NDArray[np.bool_]


class IPCALDA(BlockLearner):
    """Linear discriminant analysis in the first principal components: one pass, constant memory.

    Incremental principal component analysis with a moving mean keeps the mean mu of n rows,
    directions U and singular values s (`olscale.compiled.components`); of each class c the sum of
    its rows is kept, and their number. In the components the total scatter is ``diag(s^2)``, the
    mean of a class ``M_c = U'(mean_c - mu)``, its share of the rows p_c, and the covariance within
    classes

        ``S = diag(s^2) / n - sum_c p_c M_c M_c'``.

    With ``L_c = (S + eps tr(S) / K)^-1 M_c`` the score of a class is ``z.L_c - M_c.L_c / 2 + log
    p_c`` for the components ``z = U'(x - mu)`` of a row; of two classes it is the difference. So
    all is linear in x.

    Notes
    -----
    State: ``d (K + classes + block)`` numbers for d features, dense. Cost of a row: ``d classes``,
    or nnz for d; of a block of m rows ``O(d (K + m)^2 + K^3)`` more. Class means are exact. So is
    the total scatter while K is not reached; then each block loses what of it lies in the least
    directions, and a variance within classes that falls below 0 counts as 0. A class that has not
    come is not predicted.

    References
    ----------
    D. A. Ross, J. Lim, R.-S. Lin, M.-H. Yang, Incremental learning for robust visual tracking, IJCV
    77, 2008 (the components). T. L. Hayes, C. Kanan, Lifelong machine learning with deep streaming
    linear discriminant analysis, CVPR workshops 2020 (the discriminants, on all features).

    Examples
    --------
    >>> X, y = np.random.default_rng(0).normal(size=(60, 5)), np.tile([0, 1, 2], 20)
    >>> X[np.arange(60), y] += 4.0
    >>> IPCALDA(components=3).fit(X, y).score(X, y)
    1.0
    """

    name = "ipca-lda"
    numbers_per_second = 3.5e9

    components: int = param(
        100,
        Whole(1),
        "Principal components K that are kept; there are never more than features, or rows less "
        "one.",
    )
    shrink: float = param(
        0.1, Real(0.0), "eps: how far the covariance is drawn to a sphere."
    )

    def _most(self, columns: int) -> int:
        return min(int(self.components), columns)

    def _allocate(self, columns: int, outputs: int) -> State:
        classes = max(2, self._classes)
        state = super()._allocate(columns, outputs)
        state["sums"] = np.zeros((classes, columns))
        state["counts"] = np.zeros(classes, dtype=np.int64)
        return state

    def _absorb(self, state: State, X: FloatArray, y: NDArray[np.int64]) -> State:
        components, _ = add_block(self._components(state), X, self._most(self._columns))
        # A copy, because the result may be only for scoring: then `state` must not change.
        sums = state["sums"].copy()
        for label, row in zip(y, X, strict=True):
            sums[label] += row
        counts = state["counts"] + np.bincount(y, minlength=len(sums))
        return {**components._asdict(), "sums": sums, "counts": counts}

    def _model(self, state: State) -> Discriminants:
        n, mean, U, s = self._components(state)
        counts = state["counts"]
        share = counts / n
        class_means = state["sums"] / np.maximum(counts, 1)[:, None]
        M = (class_means - mean) @ U
        # A class without rows has no mean; `_score` sets its scores.
        M[counts == 0] = 0.0
        variances = s**2 / n
        # In the basis Q the covariance within classes is diagonal, and so is its shrunk inverse.
        between = (M.T * share) @ M
        values, Q = np.linalg.eigh(np.diag(variances) - between)
        spread = max(0.0, values.sum()) / max(1, len(s))
        # Rounding and dropped directions can make a variance within classes negative.
        if len(s):
            shrinkage = float(self.shrink) * spread
            values = np.maximum(values, 0.0) + shrinkage + _LEAST * variances.mean()
        L = (M @ Q / values) @ Q.T
        with np.errstate(divide="ignore"):
            prior = np.where(counts > 0, np.log(share), 0.0)
            b = prior - np.sum(M * L, axis=1) / 2.0
        if self._outputs == 1:
            L = L[1:2] - L[:1]
            b = b[1:] - b[:1]
        W = U @ L.T
        return Discriminants(np.ascontiguousarray(W), b - mean @ W, counts == 0)

    def _score(self, model: Discriminants, X: CSR, scores: FloatArray) -> None:
        set_products(X, model.W, model.b, scores)
        if not model.absent.any():
            return
        # The only class that has occurred is predicted.
        if self._outputs == 1:
            if model.absent[0]:
                scores[:] = 1.0
            else:
                scores[:] = -1.0
        else:
            least = scores[:, ~model.absent].min(axis=1, keepdims=True)
            scores[:, model.absent] = least - 1.0

    def state_bytes(self, columns: int, classes: int) -> int:
        return 8 * columns * (self._most(columns) + max(2, classes) + int(self.block))

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: in turning components and in scores."""
        rank = self._most(columns)
        block = columns * (rank + self.block) ** 2 + BLOCK_NUMBERS
        return super().row_numbers(columns, classes, values) + block / self.block

    def cheaper(self) -> str:
        """Return a cheaper alternative."""
        return "keep fewer components, or project the rows first: transform project:features=1000"

    def measures(self) -> dict[str, float]:
        """Return the shared measures and the number of `components`."""
        return {**super().measures(), "components": float(len(self.state_["s"]))}
