"""Second-order linear learners: a Gaussian over weights; each learner adds only its step.

All keep a mean ``mu`` (the weights) and a covariance ``Sigma``, and make one kind of update. With
margin m and variance ``v = x' Sigma x`` of the row,

    mu += alpha y Sigma x,    Sigma^-1 += gamma x x'

(the same as ``Sigma -= beta Sigma x x' Sigma`` with ``beta = gamma / (1 + gamma v)``).

A rule (`second_order_rule`) gives ``(alpha, gamma)`` from ``(m, v)``. The loop of `full_covariance`
keeps all of Sigma; those of `diagonal_covariance` keep the diagonal of Sigma^-1 and drop the rest
of ``x x'``.

In the max-score form m is the margin of the true class over the best wrong class; the true class
moves by ``+alpha Sigma x``, the wrong one by as much the other way, and all classes share one
covariance.
"""

from abc import abstractmethod
from math import sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, rows_of
from olscale.compiled.pages import aligned_zeros
from olscale.compiled.simd.vectors import fill_vectors
from olscale.errors import DivergedError, ParameterError
from olscale.learners.contract.class_axes import (
    ClassAxes,
    ClassAxis,
    ShardsClasses,
    class_axis,
)
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.estimator import Classifier
from olscale.learners.contract.learner import (
    FloatArray,
    State,
    array_of,
    frobenius_norm,
    no_weights,
    score_columns,
)
from olscale.learners.contract.parameters import Choice, param
from olscale.learners.linear.diagonal_covariance import learn_diagonal
from olscale.learners.linear.first_order import linear_scores
from olscale.learners.linear.full_covariance import learn_full
from olscale.learners.linear.second_order_rule import (
    FINE,
    STEP_NOT_FINITE,
    VARIANCE_OF_FEATURE,
    VARIANCE_OF_ROW,
    takes_weight,
)
from olscale.system.memory import memory_bytes
from olscale.system.sizes import size_text

# of half a covariance, below which only its size sets the time of a row
_NEAR_BYTES = 1e6


class SecondOrderLearner(Classifier, ShardsClasses, EstimatesCost):
    """Base of the second-order learners; a subclass gives its parameters and `_rule`."""

    layout_exact = True
    takes_unknown = True
    checks_rows = True
    row_seconds = 15e-9
    _update_numbers: ClassVar[float] = 950.0
    """Numbers in the time of an update of a full covariance, apart from those of its size."""

    covariance: str = param(
        "full",
        Choice(("full", "diagonal")),
        "All of Sigma, or the diagonal of its inverse.",
    )
    multiclass: str = param(
        "max-score",
        Choice(("max-score", "ova")),
        "True class against the best wrong class with one Sigma, or one binary learner a class, "
        "each with its own.",
    )
    dtype: str = param(
        "float64",
        Choice(("float64", "float32")),
        "Precision of the state; sums are float64 in both, each number is rounded when it is "
        "stored. In the full form the rounding of Sigma adds up.",
    )

    @abstractmethod
    def _rule(self, max_score: bool) -> NamedTuple:
        """Return the update rule, a named tuple of floats, for the max-score or binary form."""

    def _covariances(self, outputs: int) -> int:
        if self.multiclass == "ova":
            return outputs
        return 1

    def state_bytes(self, columns: int, classes: int) -> int:
        outputs = score_columns(classes)
        if self.covariance == "full":
            numbers_of_one = columns * fill_vectors(columns)
        else:
            numbers_of_one = columns
        return (
            columns * outputs + numbers_of_one * self._covariances(outputs)
        ) * np.dtype(self.dtype).itemsize

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: weights, and half a matrix for every other.

        Beyond the size of a near cache, reading it takes up to five times as long.
        """
        outputs = score_columns(classes)
        if self.covariance == "full":
            size = columns * columns / 2 * np.dtype(self.dtype).itemsize
            beyond = min(5.5, max(1.0, sqrt(size / _NEAR_BYTES)))
            of_one = 0.27 * columns * columns * beyond + self._update_numbers
            of_covariances = of_one * self._covariances(outputs)
        else:
            of_covariances = values * outputs
        return super().row_numbers(columns, classes, values) + of_covariances

    def score_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers the weights have."""
        return super().row_numbers(columns, classes, values)

    def cheaper(self) -> str:
        """Return how to avoid a full covariance."""
        if self.covariance != "full":
            return ""
        return (
            "covariance=full has a number for each pair of features; use covariance=diagonal, or "
            "fewer features: "
            "transform project:features=500"
        )

    def check_memory(self, columns: int, classes: int) -> None:
        needed = self.state_bytes(columns, classes)
        memory = memory_bytes()
        outputs = score_columns(classes)
        if needed > memory:
            diagonal = (
                columns
                * (outputs + self._covariances(outputs))
                * np.dtype(self.dtype).itemsize
            )
            raise ParameterError(
                f"learner {self.name}: covariance={self.covariance} of {columns} features needs "
                f"{size_text(needed)}"
                f" ({self.dtype}), this machine has {size_text(memory)}; use covariance=diagonal"
                f" ({size_text(diagonal)}) or project the features to fewer dimensions first"
            )

    def _allocate(self, columns: int, outputs: int) -> State:
        covariances = self._covariances(outputs)
        if self.covariance == "full":
            sigma = aligned_zeros(
                (covariances, columns, fill_vectors(columns)), self.dtype
            )
            for matrix in sigma:
                np.fill_diagonal(matrix, 1.0)
            return {
                "mean": np.zeros((columns, outputs), dtype=self.dtype),
                "covariance": sigma,
            }
        # Mean and variance of a feature are adjacent: one cache line holds both.
        state = np.zeros((columns, outputs + covariances), dtype=self.dtype)
        state[:, outputs:] = 1.0
        return {"mean_variance": state}

    def class_axes(self, outputs: int) -> ClassAxes | None:
        """Return the axes of means and covariances in the one-vs-all form, one per class."""
        if self.multiclass != "ova":
            return None
        if self.covariance == "full":
            return {
                "mean": class_axis(1, outputs),
                "covariance": class_axis(0, outputs),
            }
        means = np.arange(outputs, dtype=np.int64)
        return {
            "mean_variance": ClassAxis(1, np.stack([means, outputs + means], axis=1))
        }

    def learn(
        self, X: Rows, y: NDArray[np.int64], weights: FloatArray | None = None
    ) -> FloatArray:
        """Predict, then update, row by row; return the scores, shape (rows, outputs).

        The scores of a row are those before its update.

        Raises
        ------
        DivergedError
            At the row that breaks the numbers: x' Sigma x or the variance of a feature is not
            positive (rounding cost Sigma its definiteness, or the variance underflowed), or a
            score, step or mean is not finite.
        """
        weights = self._weights_of(y, weights)
        state = self.state_
        outputs = self._mean.shape[1]
        max_score = outputs > 1 and self.multiclass == "max-score"
        scores = np.empty((rows_of(X), outputs))
        rule = self._rule(max_score)
        if weights is not None and not takes_weight(rule):
            raise ParameterError(no_weights(self.name))
        counts = (state["seen"], state["updates"])
        ends = (scores, array_of(weights))
        arguments = (rule, max_score, self.norm_limits(), *counts, *ends)
        if self.covariance == "full":
            reason, v, i = learn_full(
                X, y, state["mean"], state["covariance"], *arguments
            )
        else:
            reason, v, i = learn_diagonal(X, y, state["mean_variance"], *arguments)
        if reason != FINE:
            if np.isfinite(scores[:i]).all():
                raise DivergedError(self._broken(reason, v), int(state["seen"][0]) - 1)
            # an earlier row ended the run, as if the stream was cut after it
            scores[i:] = np.nan
        return scores

    def _broken(self, reason: int, v: float) -> str:
        full = self.covariance == "full"
        if reason == VARIANCE_OF_ROW:
            if full and v <= 0.0:
                lost = "the covariance lost its definiteness"
            else:
                lost = "the covariance broke down"
            return f"{lost}: variance x' Sigma x is {v:.3g}"
        if reason == VARIANCE_OF_FEATURE:
            if full:
                lost = "the covariance lost its definiteness"
            else:
                lost = "a variance underflowed"
            least = f"{np.finfo(self.dtype).tiny:.3g}"
            return f"{lost}: the variance of a feature is not {least} or more"
        if reason == STEP_NOT_FINITE:
            return "score or step is not finite"
        return "a mean is not finite"

    def scores(self, X: Rows) -> FloatArray:
        """Return ``X mu``, shape (rows, outputs)."""
        if self.covariance == "full":
            return linear_scores(X, self.state_["mean"], self.norm_limits())
        outputs = self._mean.shape[1]
        return np.ascontiguousarray(
            linear_scores(X, self.state_["mean_variance"], self.norm_limits())[
                :, :outputs
            ]
        )

    @property
    def _mean(self) -> NDArray[Any]:
        # The state decides: `set_params` may have changed the form of a fitted model.
        if "mean" in self.state_:
            return self.state_["mean"]
        return self.state_["mean_variance"][:, : self._outputs]

    @property
    def coef_(self) -> FloatArray:
        """Mean weights, shape (1 or n_classes, n_features)."""
        return self._mean.T

    def measures(self) -> dict[str, float]:
        """Return the shared measures and `norm_w`, the Frobenius norm of the mean weights."""
        return {**super().measures(), "norm_w": frobenius_norm(self._mean)}
