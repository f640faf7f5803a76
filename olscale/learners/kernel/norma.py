"""NORMA: gradient descent with kernels, for all tasks (Kivinen, Smola, Williamson 2004)."""

from typing import Any, ClassVar, NamedTuple

from olscale.compiled.decorator import inlined
from olscale.compiled.elementary import falling_power
from olscale.compiled.support_vectors import take_out
from olscale.errors import ParameterError
from olscale.learners.contract.learner import State
from olscale.learners.contract.parameters import Choice, Flag, Maybe, Real, Whole, param
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.contract.weighted import WeightedClassifier, WeightedRegressor
from olscale.learners.kernel.kernel_learner import (
    KernelDetector,
    KernelLearner,
    KernelRegressor,
    SupportVectorLearner,
)
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add, shrink


class NORMARule(NamedTuple):
    """Step ``eta t^-power``, regularisation, share `nu` in the margin, vectors kept and bias."""

    eta: float
    lam: float
    nu: float
    power: float
    tau: int
    bias: bool


@learns(NORMARule, weighted=True)
def learn_norma(rule: Any, model: Any, row: Any) -> bool:
    """Fade the model, add a row within the margin, and move the margin."""
    support = model.support
    rho = model.memory
    eta = rule.eta * falling_power(float(row.t), rule.power)
    moved = False
    for c in range(row.f.shape[0]):
        shared = 0 if row.pair else c  # the max-score form has one margin
        is_within = row.margin[c] <= rho[shared, 0]
        hit = row.target[c] != 0.0 and is_within and row.weight > 0.0
        if hit:
            row.step[c] = row.weight * (eta * row.target[c])
        else:
            row.step[c] = 0.0
        moved |= hit
        # Old vectors fade before the row comes in with its full step.
        shrink(model, c, 1.0 - eta * rule.lam)
        if rule.bias:
            model.offset[c] += row.step[c]
        if rule.nu > 0.0 and not row.pair:
            rho[c, 0] += row.weight * (eta * (rule.nu - hit))
    if rule.nu > 0.0 and row.pair:
        rho[0, 0] += row.weight * (eta * (rule.nu - moved))
    if moved:
        add(model, row, slot_of_oldest(support, rule.tau))
    return moved


@inlined
def slot_of_oldest(support: Any, tau: int) -> int:
    """Return a free slot; with `tau` vectors take out the oldest and return its slot."""
    slot: int = support.counts[0]
    if slot == tau:
        # Vectors take the slots in turn, so the next slot of the circle has the oldest.
        slot = support.counts[2] % tau
        take_out(support, slot)
    return slot


def check_fading(name: str, eta: float, lam: float) -> None:
    """Refuse a step that multiplies the model by less than 0.

    Raises
    ------
    ParameterError
        If ``eta lam`` is 1 or more.
    """
    # 1 - eta lam would be negative: each row would turn all scores around.
    if eta * lam >= 1.0:
        raise ParameterError(
            f"learner {name}: eta lam was {eta * lam:g}, expected less than 1; lower eta or lam"
        )


class FadingLearner(SupportVectorLearner):
    """Base of the NORMA learners: the step, the fading norm and the removal of old vectors."""

    update_params = ("eta", "lam", "nu", "power")

    eta: float = param(0.1, Real(0.0, open_="low"), "First step; ``eta lam < 1``.")
    lam: float = param(0.001, Real(0.0), "Regularisation.")
    power: float = param(
        0.0,
        Real(0.0, 1.0),
        "How the step falls: 0 for a constant one, 0.5 as in the paper's bounds.",
    )
    tau: int | None = param(
        None,
        Maybe(Whole(1)),
        "Support vectors that are kept: the oldest makes room. Without it all are, up to "
        "`capacity`.",
    )
    capacity: int = param(
        100_000,
        Whole(1),
        "Most support vectors without `tau`; a row that comes after one more ends learning with "
        "an error.",
    )

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form; refuse steps that would flip the model."""
        params = super().resolved_params()
        check_fading(self.name, params["eta"], params["lam"])
        return params

    def _rule(self) -> NamedTuple:
        return rule_of(self.rule_type, self, tau=self.tau or -1)

    def _budget(self) -> int | None:
        return self.tau


class NORMA(FadingLearner, KernelLearner, WeightedClassifier):
    """NORMA, naive online regularised risk minimisation: gradient descent on hinge loss and norm.

    A row t takes a step ``eta_t = eta t^-power``: all coefficients are multiplied by
    ``1 - eta_t lam``, and if the row is within the margin, ``y f <= rho``, it is added with
    ``alpha = eta_t y``. With ``nu > 0`` the margin moves, by ``eta_t (nu - 1)`` after such a row
    and by ``eta_t nu`` after another, so that a share nu of rows is within it.

    Notes
    -----
    State: ``m (d + outputs)`` numbers for m support vectors with d features; m is at most tau, or
    grows with every loss. Cost of a row: O(m d), or nnz for d. Max-score: +eta_t for the class,
    -eta_t for its best rival, one margin.

    The paper truncates by the age of rows. With tau vectors kept, none is less than tau rows old
    when it goes, so with a constant step the error is within the paper's bound,
    ``(1 - eta lam)^tau / lam`` for ``k(x, x) = 1``. The paper leaves open what rho starts from and
    whether it may become negative: here it may. f is taken before the model fades, as by MADlib and
    the R package NORMA; kernlab's ``onlearn`` decides by the score of the previous row and does not
    agree.

    A row's weight multiplies the step of its loss, by which coefficient and margin move; the
    model fades as for any row.

    References
    ----------
    J. Kivinen, A. J. Smola, R. C. Williamson, Online learning with kernels, IEEE Transactions on
    Signal Processing 52(8), 2004: sections III and IV.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> NORMA(tau=8).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "norma"
    rule_type = NORMARule
    numbers_per_second = 2.2e9
    kept_share = 0.7
    version = 2
    memory: ClassVar[int] = 1

    eta: float = 0.5
    nu: float = param(
        0.0,
        Real(0.0, 1.0, open_="high"),
        "Share of rows within the margin; with 0 the margin stays at `rho`.",
    )
    rho: float = param(1.0, Real(), "Margin at the start.")
    bias: bool = param(
        False,
        Flag(),
        "Whether to add a bias to the scores, which goes by ``eta_t y`` and does not fade.",
    )

    def _allocate(self, columns: int, outputs: int) -> State:
        state = super()._allocate(columns, outputs)
        state["memory"][:] = self.rho
        return state


class NORMARegressionRule(NamedTuple):
    """Hold step, regularisation `lam`, share `nu` outside the tube, vectors `tau`, and the loss."""

    eta: float
    lam: float
    nu: float
    power: float
    tau: int
    squared: bool


@learns(NORMARegressionRule, weighted=True)
def learn_norma_r(rule: Any, model: Any, row: Any) -> bool:
    """Fade the model, add a row outside the tube, and move the tube."""
    tube = model.memory[0]
    error = row.margin[0]
    eta = rule.eta * falling_power(float(row.t), rule.power)
    # By the squared loss every row with an error moves.
    hit: bool = error != 0.0 and row.weight > 0.0
    shrink(model, 0, 1.0 - eta * rule.lam)
    if rule.squared:
        row.step[0] = row.weight * (eta * error)
    else:
        hit = abs(error) > tube[0] and row.weight > 0.0
        row.step[0] = row.weight * (eta if error > 0.0 else -eta)
        if rule.nu > 0.0:
            tube[0] += row.weight * (eta * (hit - rule.nu))
    if hit:
        add(model, row, slot_of_oldest(model.support, rule.tau))
    return hit


class NORMAR(FadingLearner, KernelRegressor, WeightedRegressor):
    """NORMA for targets: gradient descent on the norm and the epsilon-insensitive or squared loss.

    A row t takes a step ``eta_t = eta t^-power``: all coefficients are multiplied by
    ``1 - eta_t lam``, and a row outside the tube, ``|y - f| > epsilon``, is added with
    ``alpha = eta_t sign(y - f)``. With ``nu > 0`` the tube moves, by ``eta_t (1 - nu)`` after such
    a row and by ``-eta_t nu`` after another, so that a share nu of rows is outside. With the
    squared loss every row comes in, with ``eta_t (y - f)``.

    Notes
    -----
    State: ``m (d + 1)`` numbers for m support vectors with d features; m is at most tau, or grows
    with every loss. Cost of a row: O(m d), or nnz for d.

    f is taken before the model fades. The tube may become negative, as the paper leaves open; every
    row is outside then. The R package NORMA agrees with a fixed tube, operalib's ONORMA with the
    squared loss and half of its lam. kernlab's ``onlearn`` decides by the score of the previous row
    and adds rows inside the tube, kafbox fades first: these do not agree.

    A row's weight multiplies the step of its loss, by which coefficient and tube move; the
    model fades as for any row.

    References
    ----------
    J. Kivinen, A. J. Smola, R. C. Williamson, Online learning with kernels, IEEE Transactions on
    Signal Processing 52(8), 2004: section III.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(200, 1))
    >>> model = NORMAR(eta=0.2, lam=0.001, epsilon=0.01, p=0.5).fit(X, np.sin(3.0 * X[:, 0]))
    >>> bool(abs(model.predict([[0.5]])[0] - np.sin(1.5)) < 0.2)
    True
    """

    name = "norma-r"
    numbers_per_second = 2.2e9
    version = 2
    kept_share = 0.4
    memory: ClassVar[int] = 1

    loss: str = param(
        "epsilon-insensitive",
        Choice(("epsilon-insensitive", "squared")),
        "The loss that is followed.",
    )
    epsilon: float = param(
        0.1,
        Real(0.0),
        "Half the width of the tube in units of the target, that at the start where it moves.",
    )
    nu: float = param(
        0.0,
        Real(0.0, 1.0, open_="high"),
        "Share of rows outside the tube; with 0 the tube stays.",
    )

    def _allocate(self, columns: int, outputs: int) -> State:
        state = super()._allocate(columns, outputs)
        state["memory"][:] = self.epsilon
        return state

    def _rule(self) -> NamedTuple:
        # No count of vectors ever equals -1.
        tau = self.tau or -1
        return rule_of(
            NORMARegressionRule, self, tau=tau, squared=self.loss == "squared"
        )


class NORMANoveltyRule(NamedTuple):
    """Step ``eta t^-power``, regularisation `lam`, share `nu` of novelties, and vectors `tau`."""

    eta: float
    lam: float
    nu: float
    power: float
    tau: int


@learns(NORMANoveltyRule)
def learn_norma_n(rule: Any, model: Any, row: Any) -> bool:
    """Fade the model, add a row that is a novelty, and move rho."""
    eta = rule.eta * falling_power(float(row.t), rule.power)
    hit: bool = row.f[0] < 0.0  # the offset is -rho
    shrink(model, 0, 1.0 - eta * rule.lam)
    model.offset[0] -= eta * (rule.nu - hit)
    if hit:
        row.step[0] = eta
        add(model, row, slot_of_oldest(model.support, rule.tau))
    return hit


class NORMAN(FadingLearner, KernelDetector):
    """NORMA for novelties: a row is normal where ``f - rho >= 0``, and one that is not comes in.

    A row t takes a step ``eta_t = eta t^-power``: all coefficients are multiplied by
    ``1 - eta_t lam``, and a novelty is added with ``alpha = eta_t``. rho begins at 0 and moves by
    ``eta_t (nu - 1)`` after a novelty and by ``eta_t nu`` after another row, so that a share nu of
    rows are novelties.

    Notes
    -----
    State: ``m (d + 1)`` numbers for m support vectors with d features; m is at most tau, or grows
    with every novelty. Cost of a row: O(m d), or nnz for d.

    Labels are ignored. rho may become negative, as the paper leaves open; f is taken before the
    model fades. kernlab's ``onlearn`` decides by the score of the previous row and does not agree.

    References
    ----------
    J. Kivinen, A. J. Smola, R. C. Williamson, Online learning with kernels, IEEE Transactions on
    Signal Processing 52(8), 2004: section III.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> NORMAN(lam=0.1, p=1.0).fit(X).predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    name = "norma-n"
    rule_type = NORMANoveltyRule
    numbers_per_second = 2.2e9
    version = 2
    kept_share = 0.1

    lam: float = 1.0
    nu: float = param(0.1, Real(0.0, 1.0, open_="both"), "Share of novelties.")
