"""The self-tuned Forgetron (Dekel, Shalev-Shwartz and Singer 2008)."""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from olscale.compiled.decorator import nested
from olscale.compiled.support_vectors import take_out
from olscale.learners.contract.parameters import Choice, Whole, param
from olscale.learners.kernel.kernel_learner import KernelLearner
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add, combine, shrink
from olscale.learners.kernel.kernels import own_value, vector_row

SHARE = 15.0 / 32.0
"""Share of the mistakes M that the damage Q by removals may reach at most."""


class ForgetronRule(NamedTuple):
    """Budget `B`."""

    B: int


@learns(ForgetronRule)
def learn_forgetron(rule: Any, model: Any, row: Any) -> bool:
    """Add a row with ``y f <= 0``; with the budget spent, fade all so that the oldest can go."""
    support = model.support
    outputs = row.f.shape[0]
    moved = False
    for c in range(outputs):
        if row.margin[c] <= 0.0:
            row.step[c] = row.target[c]
        else:
            row.step[c] = 0.0
        moved |= row.step[c] != 0.0
    if not moved:
        return False
    model.memory[0, 1] += 1.0
    slot = support.counts[0]
    if slot == rule.B:
        # Vectors take the slots in turn, so the next slot of the circle has the oldest.
        slot = support.counts[2] % rule.B
        factor = fading(model, row, slot)
        take_out(support, slot)
        for c in range(outputs):
            shrink(model, c, factor)
            # The row is in the model that fades.
            row.step[c] *= factor
    add(model, row, slot)
    return True


@nested
def fading(model: Any, row: Any, slot: int) -> float:
    """Return the greatest factor up to 1 with which vector `slot` may go, and record the damage.

    With delta the coefficient of the vector and mu its margin once the row is in, the damage is
    ``Psi(phi) = (delta phi)^2 k_rr + 2 delta phi (1 - phi mu)``, and ``Q + Psi <= 15/32 M`` must
    hold.
    """
    support = model.support
    alpha = model.alpha
    memory = model.memory[0]
    outputs = alpha.shape[1]
    vector_row(model.kernel, support, slot, row.at, row.value, row.other)
    f = row.f  # the row's own scores are no longer needed
    combine(alpha, model.scale, row.other, support.counts[0], f)
    # In the max-score form a vector moves two outputs: its part along the model is half the
    # difference of their scores.
    if row.pair:
        parts = 2.0
    else:
        parts = 1.0
    delta = 0.0
    mu = 0.0
    for c in range(outputs):
        delta = max(delta, abs(alpha[slot, c]) * model.scale[c])
        score_after = f[c] + row.step[c] * row.k[slot]
        mu += np.sign(alpha[slot, c]) * score_after / parts
    a = delta * delta * own_value(model.kernel, support.sizes[slot]) - 2.0 * delta * mu
    b = 2.0 * delta
    c = memory[0] - SHARE * memory[1]
    # The root of a phi^2 + b phi + c in (0, 1], in the form that is accurate for both signs of a
    # and for 0.
    if a + b + c <= 0.0:
        phi = 1.0
    else:
        discriminant = max(0.0, b * b - 4.0 * a * c)
        phi = min(1.0, -2.0 * c / (b + np.sqrt(discriminant)))
    damage = memory[0] + (a * phi + b) * phi
    memory[0] = min(damage, SHARE * memory[1])
    return phi


class Forgetron(KernelLearner):
    """The self-tuned Forgetron: the kernel perceptron with `B` support vectors that fade with age.

    A row with ``y f <= 0`` counts as a mistake, M, and is added with ``alpha = y``. When the budget
    is spent, all coefficients are multiplied by phi and the oldest vector r goes. Phi is the
    greatest number in (0, 1] with ``Q + Psi <= 15/32 M``, where
    ``Psi = (delta phi)^2 k_rr + 2 delta phi (1 - phi mu)`` with ``delta = |alpha_r|`` and
    ``mu = sign(alpha_r) f(x_r)``, the row counted in, and Q sums Psi.

    Notes
    -----
    State: ``B (d + outputs)`` numbers for d features that the vectors have, Q and M. Cost of a row:
    O(B d), or nnz for d, and once more when a vector goes.

    A score of 0 is always a mistake. The code of the KOL paper takes the other root for phi when
    ``delta < 2 mu``, which is above 1 (svmguide1: 251 mistakes instead of 190). Several classes
    have the max-score form only, +1 for the class and -1 for its best rival, where mu is half the
    difference of the two scores, so that the bound is that of two classes; models of one class each
    cannot share the vectors that go.

    References
    ----------
    O. Dekel, S. Shalev-Shwartz, Y. Singer, The Forgetron: a kernel-based perceptron on a budget,
    SIAM Journal on Computing 37(5), 2008.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> Forgetron(B=8).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "forgetron"
    rule_type = ForgetronRule
    numbers_per_second = 1.65e9
    kept_share = 0.2
    memory: ClassVar[int] = 2

    B: int = param(100, Whole(1), "Most support vectors.")
    multiclass: str = param(
        "max-score",
        Choice(("max-score",)),
        "The class against the best of the others. The bound of the mistakes holds where "
        "``k(x, x) <= 1``.",
    )
