"""Budgeted online gradient descent (Zhao, Wang, Wu, Jin and Hoi 2012)."""

from typing import Any, NamedTuple

from olscale.compiled.decorator import nested
from olscale.compiled.support_vectors import take_out
from olscale.learners.contract.parameters import Choice, Flag, Real, Whole, param
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add, shrink
from olscale.learners.kernel.norma import check_fading
from olscale.learners.kernel.rbp import RandomVictims, random_slot


class BOGDRule(NamedTuple):
    """Step `eta`, regularisation `lam`, greatest coefficient ``eta clip``, budget and removal."""

    eta: float
    lam: float
    clip: float
    B: int
    oldest: bool
    rescale: bool


@learns(BOGDRule, weighted=True)
def learn_bogd(rule: Any, model: Any, row: Any) -> bool:
    """Fade the model and add a row with loss, replacing a vector when the budget is spent."""
    support = model.support
    outputs = row.f.shape[0]
    moved = False
    for c in range(outputs):
        has_loss = row.margin[c] <= 1.0
        if has_loss:
            row.step[c] = row.weight * (rule.eta * row.target[c])
        else:
            row.step[c] = 0.0
        moved |= row.step[c] != 0.0
    slot = support.counts[0]
    factor = 1.0 - rule.eta * rule.lam
    if moved and slot == rule.B:
        if rule.oldest:
            # Vectors take the slots in turn, so the next slot of the circle has the oldest.
            slot = support.counts[2] % rule.B
        else:
            slot = random_slot(model, row)
        take_out(support, slot)
        if rule.rescale:
            factor *= rule.B / (rule.B - 1.0)
    for c in range(outputs):
        shrink(model, c, factor)
    if moved:
        add(model, row, slot)
        clip_coefficients(model, rule.eta * rule.clip, row.pair)
    return moved


@nested
def clip_coefficients(model: Any, greatest: float, together: bool) -> None:
    """Shrink each output, or all by the same factor, until no coefficient is above `greatest`."""
    alpha = model.alpha
    count = model.support.counts[0]
    outputs = model.alpha.shape[1]
    over = 0.0
    for c in range(outputs):
        largest = 0.0
        for s in range(count):
            largest = max(largest, abs(alpha[s, c]))
        largest *= model.scale[c]
        if not together and largest > greatest:
            shrink(model, c, greatest / largest)
        over = max(over, largest)
    # The classes of the max-score form share their vectors' coefficients, and so one factor.
    if together and over > greatest:
        for c in range(outputs):
            shrink(model, c, greatest / over)


class BOGD(RandomVictims, WeightedClassifier):
    """Budgeted online gradient descent: kernel gradient descent with at most `B` support vectors.

    When the budget is spent, a random vector goes.

    Every row multiplies all coefficients by ``1 - eta lam``, and one with ``y f <= 1`` is added
    with ``alpha = eta y``. When the budget is spent it replaces another, drawn with equal
    probability, and the others are multiplied by ``B / (B - 1)``, so that the model stays what it
    was on average. Then the whole model shrinks until no coefficient is above ``eta clip``.

    Notes
    -----
    State: ``B (d + outputs)`` numbers for d features that the vectors have. Cost of a row: O(B d),
    or nnz for d. Max-score: +eta for the class, -eta for its best rival; one factor for all
    classes.

    The code of the KOL paper has ``lam = 1/n^2`` for n rows and ``clip = 10``. With sigma = 8, B =
    100 and eta = 0.2 that gives the BOGD row of PAMO's Table 2, and loses to predicting the
    majority on its four datasets: ``B / (B - 1)`` inflates what is left. The defaults fade and clip
    more. KOL's program drops the oldest and lets nothing grow
    (``removal = "oldest", rescale = False``). Clipping each coefficient alone is worse (a9a: 32 %
    errors instead of 28).

    A row's weight multiplies its step, the step on a loss that counts that many times; `clip` and
    the fading stay.

    References
    ----------
    P. Zhao, J. Wang, P. Wu, R. Jin, S. C. H. Hoi, Fast bounded online gradient descent algorithms
    for scalable kernel-based online learning, ICML 2012.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> BOGD(B=8).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "bogd"
    numbers_per_second = 1.65e9
    update_params = ("eta", "lam", "clip")

    B: int = param(100, Whole(2), "Most support vectors.")
    eta: float = param(0.2, Real(0.0, open_="low"), "Step; ``eta lam < 1``.")
    lam: float = param(0.01, Real(0.0), "Regularisation.")
    clip: float = param(
        1.0,
        Real(0.0, open_="both"),
        "Greatest coefficient in steps. A great number lets them grow freely.",
    )
    removal: str = param("random", Choice(("random", "oldest")), "Which vector goes.")
    rescale: bool = param(True, Flag(), "Whether the others grow by ``B / (B - 1)``.")
    seed: int = param(
        0,
        Whole(0),
        "Seed of the victims; the seed and number of the permutation count too.",
    )

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form; refuse steps that would flip the model."""
        params = super().resolved_params()
        check_fading(self.name, params["eta"], params["lam"])
        return params

    def _rule(self) -> BOGDRule:
        return rule_of(BOGDRule, self, oldest=self.removal == "oldest")
