"""The perceptron and gradient descent with kernels (Freund and Schapire 1999)."""

from typing import Any, NamedTuple

from olscale.learners.contract.parameters import Choice, Real, param
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.contract.weighted import WeightedClassifier, WeightedRegressor
from olscale.learners.kernel.kernel_learner import (
    CAPACITY,
    KernelLearner,
    KernelRegressor,
)
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add


class StepRule(NamedTuple):
    """Step `eta`, and whether all rows with hinge loss move the model or only mistakes."""

    eta: float
    hinge: bool


@learns(StepRule, weighted=True)
def learn_step(rule: Any, model: Any, row: Any) -> bool:
    """Add a row with a separate step for each output at fault."""
    moved = False
    for c in range(row.f.shape[0]):
        if rule.hinge:
            fault = row.margin[c] < 1.0
        else:
            fault = row.wrong[c]
        if fault:
            row.step[c] = row.weight * (rule.eta * row.target[c])
        else:
            row.step[c] = 0.0
        # A row of weight 0 is at fault, but adds nothing.
        moved |= row.step[c] != 0.0
    if moved:
        add(model, row, model.support.counts[0])
    return moved


class KernelPerceptron(KernelLearner, WeightedClassifier):
    """The perceptron with kernels: a row that is predicted wrongly is added with ``alpha = y``.

    Notes
    -----
    State: ``m (d + outputs)`` numbers for m support vectors with d features, and m grows with every
    mistake. Cost of a row: O(m d), or nnz for d. Max-score: +1 for the class, -1 for its best
    rival.

    A score of 0 is a prediction of +1. In float32 distant rows have a kernel value of 0 where they
    still have a nearest vector in float64: KOL makes 169 mistakes on svmguide1 (unscaled, gamma =
    0.001), this one 164.

    A row's weight multiplies its step, as in CSOGD (J. Wang, P. Zhao, S. C. H. Hoi, Cost-sensitive
    online classification, ICDM 2012): its loss counts as many times.

    References
    ----------
    Y. Freund, R. E. Schapire, Large margin classification using the perceptron algorithm, Machine
    Learning 37, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> KernelPerceptron().fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "kernel-perceptron"
    numbers_per_second = 2.2e9
    kept_share = 0.2
    kept_power = 0.8

    capacity: int = CAPACITY

    def _rule(self) -> StepRule:
        return StepRule(1.0, False)


class OGDKernel(KernelLearner, WeightedClassifier):
    """Online gradient descent with kernels: a row with ``y f < 1`` is added with ``alpha = eta y``.

    Notes
    -----
    State: ``m (d + outputs)`` numbers for m support vectors with d features, and m grows with every
    loss. Cost of a row: O(m d), or nnz for d. Max-score: +eta for the class, -eta for its best
    rival.

    `norma` also shrinks the model and decreases the step; `bogd` keeps a budget.

    A row's weight multiplies its step, as in CSOGD (J. Wang, P. Zhao, S. C. H. Hoi, Cost-sensitive
    online classification, ICDM 2012): its loss counts as many times.

    References
    ----------
    J. Kivinen, A. J. Smola, R. C. Williamson, Online learning with kernels, IEEE Transactions on
    Signal Processing 52(8), 2004: section III without regularisation.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> OGDKernel(eta=0.5).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "ogd-kernel"
    numbers_per_second = 2.2e9
    kept_share = 0.7
    update_params = ("eta",)

    eta: float = param(0.5, Real(0.0, open_="low"), "Step.")
    capacity: int = CAPACITY

    def _rule(self) -> StepRule:
        return StepRule(float(self.eta), True)


class ResidualRule(NamedTuple):
    """Steps of `eta` times the residual, or its sign."""

    eta: float
    sign: bool


@learns(ResidualRule, weighted=True)
def learn_residual(rule: Any, model: Any, row: Any) -> bool:
    """Add a row whose prediction differs from its target."""
    error = row.margin[0]
    if error == 0.0 or row.weight == 0.0:
        return False
    step = rule.eta * error
    # Steps of one length, as the perceptron for classes has.
    if rule.sign:
        if error > 0.0:
            step = rule.eta
        else:
            step = -rule.eta
    row.step[0] = row.weight * step
    add(model, row, model.support.counts[0])
    return True


class KernelPerceptronR(KernelRegressor, WeightedRegressor):
    """The perceptron with kernels for targets: every row is added.

    Its coefficient is ``alpha = eta (y - f)`` or ``eta sign(y - f)``.

    Notes
    -----
    State: ``m (d + 1)`` numbers for m support vectors with d features, and m grows with every row.
    Cost of a row: O(m d), or nnz for d.

    The OLK paper compares itself with a kernel perceptron for regression that no source defines;
    these are the two ways to read it.

    A row's weight multiplies its step, that of gradient descent on a loss that counts as many
    times.

    References
    ----------
    W. Liu, P. Pokharel, J. C. Principe, The kernel least-mean-square algorithm, IEEE Transactions
    on Signal Processing 56(2), 2008.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(200, 1))
    >>> model = KernelPerceptronR(eta=0.5, p=0.5).fit(X, np.sin(3.0 * X[:, 0]))
    >>> bool(abs(model.predict([[0.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """

    name = "kernel-perceptron-r"
    numbers_per_second = 2.2e9
    kept_share = 1.0
    update_params = ("eta",)

    eta: float = param(
        0.5,
        Real(0.0, open_="low"),
        "Step. Those of ``'sign'`` are in units of the target.",
    )
    step: str = param(
        "lms",
        Choice(("lms", "sign")),
        "``'lms'``: the step goes with the residual, which is known as kernel least mean "
        "squares. ``'sign'``: all are of one length, as the perceptron's are.",
    )
    capacity: int = CAPACITY

    def _rule(self) -> ResidualRule:
        return rule_of(ResidualRule, self, sign=self.step == "sign")
