"""Kernel recursive least squares (Engel, Mannor and Meir 2004)."""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from olscale.compiled.decorator import nested
from olscale.compiled.inverse_gram import LEAST_DISTANCE, border, project
from olscale.compiled.simd.columns import multiply_dense
from olscale.learners.contract.capability import LearnsTargets
from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.parameters import Maybe, Real, Whole, param
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.contract.weighted import WeightedRegressor
from olscale.learners.kernel.gram_learner import GramLearner
from olscale.learners.kernel.kernel_learner import KernelRegressor
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add


class KRLSRule(NamedTuple):
    """Squared distance `nu` above which a row is added, and the budget `B` (0: none)."""

    nu: float
    B: int


@learns(KRLSRule, weighted=True)
def learn_krls(rule: Any, model: Any, row: Any) -> bool:
    """Add a row that the vectors do not span, or solve for their coefficients again."""
    count = model.support.counts[0]
    errors = row.margin
    share = row.other
    if row.weight == 0.0:
        return False
    inverse = model.matrix[0]
    P = model.matrix[1]
    alpha = model.alpha
    distance = project(inverse, count, row.k, row.own, share)
    full = 0 < rule.B <= count
    if not full and distance > max(rule.nu, LEAST_DISTANCE * row.own):
        for c in range(errors.shape[0]):
            row.step[c] = errors[c] / distance
            for s in range(count):
                alpha[s, c] -= share[s] * row.step[c]
        border(inverse, count, share, distance)
        P[count, count] = 1.0 / row.weight
        add(model, row, count)
    elif count > 0:
        _reduce(inverse, P, count, share, row.k, errors, row.weight, alpha)
    else:
        return False
    return True


@nested
def _reduce(
    inverse: Any,
    P: Any,
    count: int,
    share: Any,
    q: Any,
    errors: Any,
    weight: float,
    alpha: Any,
) -> None:
    """Let a row with projection `share` move the coefficients; `q` and `share` are then space."""
    multiply_dense(share[:count], P[:count], q)
    inside = 1.0 / weight
    for s in range(count):
        inside += share[s] * q[s]
    for s in range(count):  # symmetric to the bit, like the inverse
        line = P[s]
        size = q[s]
        for r in range(count):
            line[r] -= (size * q[r]) / inside
    multiply_dense(q[:count], inverse[:count], share)
    for c in range(errors.shape[0]):
        for s in range(count):
            alpha[s, c] += share[s] * (errors[c] / inside)


class KRLS(GramLearner, KernelRegressor, WeightedRegressor, LearnsTargets):
    """Kernel recursive least squares: least squares on all rows, over a dictionary of some of them.

    With kernel values k of the row x and the dictionary, and the inverse K of the matrix of the
    dictionary's own, ``a = K k`` are the coefficients of its projection and
    ``delta = k(x, x) - k.a`` is the squared distance from it. A row with ``delta > nu`` is added
    with ``alpha = (y - f) / delta``, a share a of which the others give up. Another moves the
    coefficients as recursive least squares does: ``q = P a / (1 + a.P a)``, ``P -= q (P a)'``,
    ``alpha += K q (y - f)``.

    Notes
    -----
    State: ``m (d + 1)`` numbers for m rows of d features, and ``2 m^2`` of the matrices. Cost of a
    row: O(m d), or nnz for d, and O(m^2) more.

    Nothing is regularised: as long as most rows are added, the model interpolates noisy targets. A
    row nearer than 1e-8 ``k(x, x)`` is projected for any `nu`. Results agree with kafbox and the
    package krls; the latter adds exact duplicates, as if delta was 1.

    A row's weight multiplies the square of its error: 2 equals the row twice. Rows enter the
    dictionary regardless of weight, except those of weight 0.

    References
    ----------
    Y. Engel, S. Mannor, R. Meir, The kernel recursive least-squares algorithm, IEEE Transactions on
    Signal Processing 52(8), 2004.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(200, 1))
    >>> model = KRLS(p=0.5, nu=0.001).fit(X, np.sin(3.0 * X[:, 0]))
    >>> bool(abs(model.predict([[0.5]])[0] - np.sin(1.5)) < 0.01)
    True
    >>> int(model.measures()["support_vectors"])
    11
    """

    name = "krls"
    # The value for the slowest shape: the rows decide how many vectors are kept.
    numbers_per_second = 5.2e9
    kept_share = 0.05
    kept_power = 0.5
    matrices: ClassVar[int] = 2
    matrix_share: ClassVar[float] = 0.25
    update_params = ("nu",)

    nu: float = param(
        0.1,
        Real(0.0),
        "Squared distance beyond which a row comes in (approximate linear dependence).",
    )
    B: int | None = param(
        None,
        Maybe(Whole(1)),
        "Most rows of the dictionary: when it is full all rows are projected on it.",
    )
    capacity: int = param(
        5_000,
        Whole(1),
        "Most rows of the dictionary without `B`; a row that comes after one more ends learning "
        "with an error.",
    )

    def _matrix(self, slots: int) -> FloatArray:
        return np.zeros((self.matrices, slots, slots))

    def _rule(self) -> KRLSRule:
        return rule_of(KRLSRule, self, B=self.B or 0)
