"""Ridge regression, exact in one pass: sums of products, solved when a row is scored."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.copies import copy_numbers
from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.many_targets import add_line, copy_line, divide_line, target_of
from olscale.compiled.row_layout import by_layout
from olscale.compiled.rows import add_row, row_scores, weight_of
from olscale.errors import DivergedError, ParameterError
from olscale.learners.contract.capability import LearnsTargets
from olscale.learners.contract.learner import (
    FloatArray,
    State,
    array_of,
    frobenius_norm,
)
from olscale.learners.contract.parameters import Choice, Real, param
from olscale.learners.contract.regressor import OnePassRegressor
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.contract.weighted import WeightedRegressor
from olscale.learners.linear.feature_pairs import PairsFeatures


@by_layout
def add_products(X: Rows, i: int, weight: float, A: NDArray[np.float64]) -> Any:
    """Add `weight` times ``x_i x_i'`` to the upper triangle of `A`."""

    def dense(X, i, weight, A):  # type: ignore[no-untyped-def]
        x = X[i]
        for j in range(A.shape[0]):
            value = weight * x[j]
            if value != 0.0:
                a = A[j]
                for k in range(j, A.shape[0]):
                    a[k] += value * x[k]

    def csr(X, i, weight, A):  # type: ignore[no-untyped-def]
        for p in range(X.indptr[i], X.indptr[i + 1]):
            a = A[X.indices[p]]
            for q in range(p, X.indptr[i + 1]):
                a[X.indices[q]] += weight * X.data[p] * X.data[q]

    return dense, csr


# With penalties by the size of features the matrix changes everywhere with each row, so no factor
# can be updated: each prediction solves anew, at O(d^3). Without scaling, `rls` gives the same
# for less.
@compiled
def solve(
    A: Any, b: Any, lam: float, by_size: bool, rows: float, U: Any, w: Any
) -> bool:
    """Set ``w = (A + D)^-1 b`` by elimination in `U`; return whether there is a solution.

    `A` holds the upper triangle. D is `lam` on the diagonal or, `by_size`, `lam` times the mean
    square of each feature. Each column of `b` gives one of `w`.
    """
    columns = A.shape[0]
    for j in range(columns):
        copy_numbers(A[j], U[j], columns)
        copy_line(b, w, j)
        U[j, j] += lam * A[j, j] / rows if by_size and A[j, j] > 0.0 else lam
    for j in range(columns):
        u = U[j]
        pivot = U[j, j]
        if not (0.0 < pivot < np.inf):
            return False
        for k in range(j + 1, columns):
            if u[k] != 0.0:
                factor = u[k] / pivot
                v = U[k]
                for m in range(k, columns):
                    v[m] -= factor * u[m]
                add_line(w, k, -factor, j)
    for j in range(columns - 1, -1, -1):
        u = U[j]
        for k in range(j + 1, columns):
            add_line(w, j, -u[k], k)
        divide_line(w, j, u[j])
    return True


@compiled
def _pass(
    X: Any,
    y: NDArray[np.float64],
    A: Any,
    b: Any,
    lam: float,
    by_size: bool,
    learning: bool,
    limits: Any,
    seen: Any,
    updates: Any,
    scores: FloatArray,
    weights: Any,
) -> int:
    """Return the row at which there is no solution, or -1."""
    low, high = limits
    outputs = scores.shape[1]
    f = np.zeros(outputs)
    step = np.zeros(outputs)
    w = np.zeros_like(b)
    U = np.empty_like(A)
    solved = False
    for i in range(scores.shape[0]):
        if not solved and not solve(A, b, lam, by_size, max(1.0, float(seen[0])), U, w):
            return i
        solved = True
        square = row_scores(X, i, w, f)
        copy_numbers(f, scores[i], outputs)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            if learning:
                scores[i:] = np.nan
                break
            scores[i] = np.nan
        elif learning and not np.isnan(target_of(y, i, 0)):
            seen[0] += 1
            updates[0] += 1
            weight = weight_of(weights, i)
            for c in range(outputs):
                step[c] = weight * target_of(y, i, c)
            add_products(X, i, weight, A)
            add_row(X, i, b, step)
            solved = False
    return -1


class Ridge(PairsFeatures, OnePassRegressor, WeightedRegressor, LearnsTargets):
    """Ridge regression on all rows seen, exact: ``w = (X'X + lam D)^-1 X'y`` before each row.

    Notes
    -----
    State: the sums ``X'X`` and ``X'y``, ``columns^2`` numbers of 8 bytes. Time a row:
    ``O(columns^3)`` where each row is predicted before it is learned; `rls` keeps the same
    solution, without `scaling`, in ``O(columns^2)``. Elimination is in double precision, in fixed
    order. The transform ``bias`` gives an intercept, which is penalised too.

    A row's weight multiplies the square of its error: 2 equals the row twice. ``scaling="rms"``
    takes no weights.

    References
    ----------
    A. E. Hoerl, R. W. Kennard, Ridge regression, Technometrics 12, 1970. scikit-learn's
    ``Ridge(alpha=lam, fit_intercept=False)`` on the rows seen.

    Examples
    --------
    >>> learner = Ridge(lam=1.0).fit(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2.0, 3.0]))
    >>> learner.coef_
    array([1.4, 0.8])
    """

    name = "ridge"
    numbers_per_second = 1.8e9
    layout_exact = True
    takes_unknown = True
    checks_rows = True

    lam: float = param(1.0, Real(0.0, open_="low"), "Penalty.")
    scaling: str = param(
        "none",
        Choice(("none", "rms")),
        "Whether all features are penalised alike (D is 1), or as if each were divided by its "
        "root mean square in the rows seen (D is its mean square): units of features then do "
        "not matter.",
    )

    def _weights_of(
        self, y: NDArray[Any], weights: FloatArray | None
    ) -> FloatArray | None:
        if weights is not None and self.scaling == "rms":
            raise ParameterError(
                "learner ridge: rows came with weights and scaling = 'rms', whose mean square is "
                "that of rows that count "
                "alike; use scaling = 'none', or leave the weights out"
            )
        return super()._weights_of(y, weights)

    def cheaper(self) -> str:
        """Return how to avoid the matrix and its elimination."""
        return "use rls, or rls:form=diagonal, or fewer features: transform project:features=500"

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: those of an elimination."""
        return values**2 / 2 + columns**3 / 6

    def _allocate(self, columns: int, outputs: int) -> State:
        return {
            "products": np.zeros((columns, columns)),
            "targets": np.zeros(columns if outputs == 1 else (columns, outputs)),
        }

    def _pass(
        self,
        X: Rows,
        y: NDArray[Any],
        state: State,
        learning: bool,
        scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        arguments = (
            learning,
            self.norm_limits(),
            state["seen"],
            state["updates"],
            scores,
            array_of(weights),
        )
        i = _pass(
            X,
            y,
            state["products"],
            state["targets"],
            float(self.lam),
            self.scaling == "rms",
            *arguments,
        )
        if i >= 0:
            if np.isfinite(scores[:i]).all():
                reason = (
                    "the sums lost their definiteness to rounding: scale the features, or "
                    "use a larger lam"
                )
                raise DivergedError(reason, int(state["seen"][0]))
            scores[i:] = np.nan

    @property
    def coef_(self) -> FloatArray:
        """Weights, shape (n_features,) or (n_targets, n_features), solved on demand."""
        A = self.state_["products"]
        b = self.state_["targets"]
        w = np.zeros_like(self.state_["targets"])
        if not solve(
            A,
            b,
            float(self.lam),
            self.scaling == "rms",
            max(1.0, float(self.state_["seen"][0])),
            A * 0.0,
            w,
        ):
            w[:] = np.nan
        return w.T

    def measures(self) -> dict[str, float]:
        """Return the shared measures and `norm_w`, the norm of the weights."""
        return {**super().measures(), "norm_w": frobenius_norm(self.coef_)}
