"""Budgeted passive-aggressive learning with a plain victim (Wang and Vucetic, AISTATS 2010)."""

from typing import Any, NamedTuple

from olscale.compiled.decorator import inlined
from olscale.compiled.support_vectors import first_least, take_out
from olscale.learners.contract.parameters import Real, Whole, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.kernel.kernel_learner import KernelLearner
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add
from olscale.learners.kernel.kernels import GAUSSIAN, own_value


class BPASRule(NamedTuple):
    """Aggressiveness `C` and budget `B`."""

    C: float
    B: int


@inlined
def _least_loss(model: Any, row: Any) -> int:
    """Return the first vector r with the least ``|alpha_r|^2 (k_rr - k_r^2 / k_xx)``."""
    support = model.support
    alpha = model.alpha
    k = row.k
    loss = row.other
    count = support.counts[0]
    outputs = alpha.shape[1]
    for s in range(count):
        loss[s] = alpha[s, 0] * alpha[s, 0]
        for c in range(1, outputs):
            loss[s] += alpha[s, c] * alpha[s, c]
    # Gaussian kernels have k(x, x) = 1, which spares the divisions.
    if model.kernel.kind == GAUSSIAN:
        for s in range(count):
            loss[s] *= 1.0 - k[s] * k[s]
    else:
        for s in range(count):
            own = own_value(model.kernel, support.sizes[s])
            loss[s] *= own - k[s] * k[s] / row.own
    return first_least(loss, count)


@learns(BPASRule, weighted=True)
def learn_bpas(rule: Any, model: Any, row: Any) -> bool:
    """Add a row with loss, replacing another vector when the budget is spent."""
    outputs = row.f.shape[0]
    moving = 0
    for c in range(outputs):
        moving += row.target[c] != 0.0 and row.margin[c] < 1.0
    if moving == 0 or row.own <= 0.0 or row.weight == 0.0:
        return False
    # The two outputs of the max-score form share the loss; each one-vs-all output has its own.
    if row.pair:
        parts = 2.0
    else:
        parts = 1.0
    for c in range(outputs):
        if row.target[c] != 0.0:
            loss = max(0.0, 1.0 - row.margin[c])
        else:
            loss = 0.0
        exact_step = loss / (parts * row.own)
        row.step[c] = row.target[c] * min(row.weight * rule.C, exact_step)
    support = model.support
    alpha = model.alpha
    slot = support.counts[0]
    if slot == rule.B:
        slot = _least_loss(model, row)
        take_out(support, slot)
        # The row takes over the part of the vector along it, before its coefficients go.
        for c in range(outputs):
            row.step[c] += alpha[slot, c] * row.k[slot] / row.own
    add(model, row, slot)
    return True


class BPAS(KernelLearner, WeightedClassifier):
    """Budgeted passive-aggressive, BPA-S: PA-I with kernels and at most `B` support vectors.

    With hinge loss l the row is added with ``tau = min(C, l / k(x, x))``. When the budget is spent
    it replaces the support vector r with the least ``|alpha_r|^2 (k_rr - k_r^2 / k_xx)``, whose
    part along the row it takes over. That is the vector which the paper's objective picks, without
    the rounding of its long form.

    Notes
    -----
    State: ``B (d + outputs)`` numbers for d features that the vectors have. Cost of a row: O(B d),
    or nnz for d. Max-score: ``tau = min(C, l / (2 k(x, x)))`` for the class, -tau for its best
    rival.

    The long form of the objective loses digits: other implementations make 6870 to 7022 mistakes on
    a9a (B = 100), by compiler and kernel, this one always 6807.

    A row's weight multiplies `C`: in the objective its slack costs that many times as much.

    References
    ----------
    Z. Wang, S. Vucetic, Online passive-aggressive algorithms on a budget, AISTATS 2010.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> BPAS(B=4).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "bpas"
    rule_type = BPASRule
    numbers_per_second = 1.9e9
    update_params = ("C",)

    B: int = param(100, Whole(1), "Most support vectors.")
    C: float = param(1.0, Real(0.0, open_="low"), "Aggressiveness.")
