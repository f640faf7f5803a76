"""Budgeted stochastic gradient descent (Wang, Crammer and Vucetic, JMLR 2012)."""

from typing import Any, NamedTuple

from olscale.compiled.inverse_gram import LEAST_DISTANCE, border, project
from olscale.compiled.support_vectors import put
from olscale.errors import ParameterError
from olscale.learners.contract.parameters import Choice, Real, Whole, param
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.kernel.budget_maintenance import (
    merge_lightest,
    project_lightest,
    remove_lightest,
)
from olscale.learners.kernel.gram_learner import GramLearner
from olscale.learners.kernel.kernel_learner import KernelLearner
from olscale.learners.kernel.kernel_loop import learns

MAINTENANCE = ("merging", "projection", "removal")
MERGING, PROJECTION, REMOVAL = range(3)

JITTER = 1e-10
"""Share of ``k(x, x)`` that projection adds to the diagonal of the vectors' kernel values."""


class BSGDRule(NamedTuple):
    """Regularisation `lam`, budget `B` and the position of the maintenance in `MAINTENANCE`."""

    lam: float
    B: int
    maintenance: int


@learns(BSGDRule, weighted=True)
def learn_bsgd(rule: Any, model: Any, row: Any) -> bool:
    """Learn a row; the scale ``1 / (lam t)`` shrinks all coefficients by ``1 - 1 / t``."""
    outputs = row.f.shape[0]
    slot = model.support.counts[0]
    moved = False
    for c in range(outputs):
        # Coefficients are stored without it: the row's factor 1 - 1/t costs nothing.
        model.scale[c] = 1.0 / (rule.lam * row.t)
        if row.margin[c] < 1.0:
            row.step[c] = row.weight * row.target[c]
        else:
            row.step[c] = 0.0
        moved = moved or row.step[c] != 0.0
    if not moved:
        return False
    # The inverse is there already, and tells whether the row adds a direction.
    if rule.maintenance == PROJECTION:
        distance = project(
            model.matrix, slot, row.k, row.own * (1.0 + JITTER), row.other
        )
        if distance < LEAST_DISTANCE * row.own or row.own <= 0.0:  # the vectors span it
            for s in range(slot):
                for c in range(outputs):
                    model.alpha[s, c] += row.step[c] * row.other[s]
            return True
        border(model.matrix, slot, row.other, distance)
    put(model.support, slot, row.X, row.i, row.size)
    # unscaled: dividing by the scale and multiplying again would not give 1
    for c in range(outputs):
        model.alpha[slot, c] = row.step[c]
    # The row has come in first, so that it may be the one that goes.
    if slot == rule.B:
        if rule.maintenance == MERGING:
            merge_lightest(model, row)
        elif rule.maintenance == PROJECTION:
            project_lightest(model, row)
        else:
            remove_lightest(model, row)
    return True


class BSGD(GramLearner, KernelLearner, WeightedClassifier):
    """Budgeted stochastic gradient descent, BSGD: Pegasos with kernels, a budget and no offset.

    Row t is scored, all coefficients shrink by ``1 - 1 / t``, and where ``y f < 1`` the row is
    added with ``y / (lam t)``. A model of more than `B` vectors is then brought back by what
    changes it least:

    ``"removal"``
        The vector with the least ``|a|^2 k(s, s)`` is dropped.
    ``"projection"``
        With the inverse K of the matrix of the vectors' kernel values, the vector with the least
        ``|a_s|^2 / K_ss`` is dropped and the others take over its projection, ``a_r -= a_s K_rs /
        K_ss``.
    ``"merging"``
        The vector with the least ``|a|`` and the partner for which the merge loses least become one
        vector between them (for the Gaussian kernel only); a vector without a partner of its sign
        is dropped.

    Among equals the oldest vector goes, or is the partner; a merged vector is as old as the heavier
    of its two.

    Notes
    -----
    State: ``B (d + outputs)`` numbers for d features that the vectors have, and B^2 for projection.
    Cost of a row: O(B d), or nnz for d; of one that comes in O(B d) more for merging, O(B^2) for
    projection. Coefficients are kept times ``lam t``: a new one is 1 or -1, and no row passes over
    the others to shrink them.

    Max-score, as in Crammer and Singer: class and best rival move by 1 and -1 where their scores
    differ by less than 1. Merging then maximises the norm of the merged vector's coefficients;
    BudgetedSVM sums a ratio over classes instead.

    All vectors that have not been merged weigh the same, so the choice among equals matters:
    BudgetedSVM leaves it to rounding. It also looks beyond the two vectors, and at partners of the
    other sign.
    Its two-class form moves two weight vectors: its lam is twice this one.

    With projection, a row nearer than 1e-8 ``k(x, x)`` to the vectors' span is projected and does
    not come in; 1e-10 of ``k(x, x)`` is added to the diagonal.

    A row's weight multiplies its step, that of gradient descent on a loss that counts as many
    times. The shrinks are those of any row.

    References
    ----------
    Z. Wang, K. Crammer, S. Vucetic, Breaking the curse of kernelization: budgeted stochastic
    gradient descent for large-scale SVM training, JMLR 13 (2012).

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> BSGD(lam=0.01, B=4).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "bsgd"
    numbers_per_second = 0.72e9
    update_params = ("lam",)

    lam: float = param(1e-4, Real(0.0, open_="low"), "Regularisation.")
    B: int = param(100, Whole(1), "Most support vectors.")
    maintenance: str = param(
        "merging", Choice(MAINTENANCE), "What is done with one too many."
    )

    @property
    def keeps_matrix(self) -> bool:  # type: ignore[override]
        """Whether the learner keeps a matrix: only for projection."""
        return self.maintenance == "projection"

    def resolved_params(self) -> dict[str, Any]:
        params = super().resolved_params()
        if self.maintenance == "merging" and self.kernel != "gaussian":
            raise ParameterError(
                f"learner {self.name}: kernel was {self.kernel!r} with maintenance = 'merging', "
                "expected 'gaussian': for "
                "that alone is the best vector between two known; use maintenance = 'projection' "
                "or 'removal'"
            )
        return params

    def _rule(self) -> BSGDRule:
        return rule_of(BSGDRule, self, maintenance=MAINTENANCE.index(self.maintenance))
