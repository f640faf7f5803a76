"""Recursive least squares."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, rows_of
from olscale.compiled.pages import aligned_zeros
from olscale.compiled.simd.vectors import fill_vectors
from olscale.errors import DivergedError, ParameterError
from olscale.learners.contract.capability import LearnsTargets
from olscale.learners.contract.learner import (
    FloatArray,
    State,
    array_of,
    frobenius_norm,
)
from olscale.learners.contract.parameters import Choice, Real, param
from olscale.learners.contract.weighted import WeightedRegressor
from olscale.learners.linear.feature_pairs import PairsFeatures
from olscale.learners.linear.first_order import linear_scores, one_or_many
from olscale.learners.linear.rls_loop import (
    FINE,
    learn_diagonal,
    learn_full,
    why_broken,
)


class RLS(PairsFeatures, WeightedRegressor, LearnsTargets):
    """Recursive least squares: the ridge solution of all rows seen, with exponential forgetting.

    With ``P = I / lam`` at the start, ``u = P x`` and ``k = u / (forget + x.u)``: ``w += k (y -
    f)`` and ``P = (P - k u') / forget``. The diagonal form keeps the diagonal of ``P^-1`` and drops
    the rest of ``x x'``.

    Notes
    -----
    State: ``columns^2`` numbers of 8 bytes; of the diagonal form, two a feature. Time a row:
    ``O(columns^2)``, and ``O(nonzeros)``. With ``forget=1`` the full form equals `ridge` and
    scikit-learn's ``Ridge(alpha=lam, fit_intercept=False)`` on the rows seen; the transform
    ``bias`` gives an intercept, which is penalised too.

    With ``forget < 1`` the variances of features that do not vary grow like ``forget^-t`` until
    only rounding is left: a full form in which one passes ``1 / (lam 2.2e-16)`` ends as diverged.
    The diagonal form has no such end.

    A row's weight multiplies the square of its error: 2 equals the row twice.

    References
    ----------
    R. L. Plackett, Some theorems in least squares, Biometrika 37, 1950. S. Haykin, Adaptive filter
    theory, 2002, chapter 9.
    padasip's ``FilterRLS(mu=forget, eps=lam, w="zeros")`` is the full form.

    Examples
    --------
    >>> learner = RLS(lam=1.0).fit(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2.0, 3.0]))
    >>> learner.coef_
    array([1.4, 0.8])
    """

    name = "rls"
    numbers_per_second = 1.35e10
    row_seconds = 45e-9
    layout_exact = True
    takes_unknown = True
    checks_rows = True
    update_params = ("forget",)

    lam: float = param(1.0, Real(0.0, open_="low"), "Ridge penalty of the start.")
    forget: float = param(
        1.0,
        Real(0.0, 1.0, open_="low"),
        "Weight of a row after each row that follows; 1 forgets nothing, 0.99 "
        "remembers some 100 rows.",
    )
    form: str = param(
        "full", Choice(("full", "diagonal")), "The whole matrix, or a number a feature."
    )

    def _pairs(self) -> bool:
        return self.form == "full"

    def takes_several(self) -> bool:
        """Return whether the form is the full one."""
        return self._pairs()

    def expect_targets(self, targets: int) -> None:
        """Expect `targets` targets per row; the diagonal form takes one."""
        if targets > 1 and not self.takes_several():
            raise ParameterError(
                f"learner rls: form=diagonal learns one target, got {targets}; use form=full, or "
                "sgd-r"
            )
        super().expect_targets(targets)

    def cheaper(self) -> str:
        """Return how to avoid a matrix."""
        if self._pairs():
            return (
                "use form=diagonal, or fewer features: transform project:features=500"
            )
        return ""

    def _allocate(self, columns: int, outputs: int) -> State:
        scale = np.ones(1)
        if not self._pairs():
            pairs = np.zeros((columns, 2))
            pairs[:, 1] = 1.0 / self.lam
            return {"W_variance": pairs, "scale": scale}
        matrix = aligned_zeros((columns, fill_vectors(columns)), "float64")
        np.fill_diagonal(matrix, 1.0 / self.lam)
        return {"W": np.zeros((columns, outputs)), "P": matrix, "scale": scale}

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> FloatArray:
        """Predict, then update, row by row; return the predictions, shape (rows, targets).

        Each prediction is made before its row's update.

        Raises
        ------
        DivergedError
            At the row that breaks the numbers: a variance is negative or has grown past all digits,
            or a step is not finite.
        """
        state = self.state_
        scores = np.empty((rows_of(X), self._outputs))
        arguments = (
            self.norm_limits(),
            state["seen"],
            state["updates"],
            scores,
            array_of(weights),
        )
        forget = float(self.forget)
        if self._pairs():
            most = 1.0 / (float(self.lam) * float(np.finfo(np.float64).eps))
            reason, i = learn_full(
                X,
                y,
                one_or_many(state["W"]),
                state["P"],
                state["scale"],
                forget,
                most,
                *arguments,
            )
        else:
            reason, i = learn_diagonal(
                X,
                y,
                state["W_variance"].reshape(-1),
                state["scale"],
                forget,
                *arguments,
            )
        if reason != FINE:
            if np.isfinite(scores[: i + 1]).all():
                raise DivergedError(
                    why_broken(reason, forget, ", or form=diagonal"),
                    int(state["seen"][0]) - 1,
                )
            # an earlier row ended the run, as if the stream was cut after it
            scores[i:] = np.nan
        return scores

    def scores(self, X: Rows) -> FloatArray:
        """Return ``X W``, shape (rows, targets)."""
        weights = self.state_["W" if self._pairs() else "W_variance"]
        return np.ascontiguousarray(
            linear_scores(X, weights, self.norm_limits())[:, : self._outputs]
        )

    @property
    def coef_(self) -> FloatArray:
        """Weights, shape (n_features,), or (n_targets, n_features)."""
        # The state decides: `set_params` may have changed the form of a fitted model.
        weights = self.state_["W" if "W" in self.state_ else "W_variance"]
        if self._outputs == 1:
            return weights[:, 0]
        return weights.T

    def measures(self) -> dict[str, float]:
        """Return the shared measures and `norm_w`, the norm of the weights."""
        return {**super().measures(), "norm_w": frobenius_norm(self.coef_)}
