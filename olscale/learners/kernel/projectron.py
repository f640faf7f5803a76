"""Projectron and Projectron++ (Orabona, Keshet and Caputo, JMLR 2009)."""

import math
from typing import Any, ClassVar, NamedTuple

from olscale.compiled.decorator import nested
from olscale.compiled.inverse_gram import LEAST_DISTANCE, border, project
from olscale.learners.contract.parameters import Choice, Maybe, Real, Whole, param
from olscale.learners.kernel.gram_learner import GramLearner
from olscale.learners.kernel.kernel_learner import KernelLearner
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add


class ProjectronRule(NamedTuple):
    """Threshold `eta`, budget `B` (0: none), whether margins count, bound `U` on a good model."""

    eta: float
    B: int
    plus: bool
    U: float


@learns(ProjectronRule)
def learn_projectron(rule: Any, model: Any, row: Any) -> bool:
    """Learn a row by either rule."""
    outputs = row.f.shape[0]
    count = model.support.counts[0]
    mistakes = 0
    near = 0
    for c in range(outputs):
        row.step[c] = 0.0
        if row.target[c] != 0.0:
            # KOL's code counts a score of 0 as +1, the paper as a mistake.
            if row.wrong[c] if rule.B > 0 else row.margin[c] <= 0.0:
                row.step[c] = row.target[c]
                mistakes += 1
            elif rule.plus and 0.0 < row.margin[c] < 1.0:
                near += 1
    if mistakes + near == 0 or row.own <= 0.0:
        return False
    share = row.other
    distance = project(model.matrix, count, row.k, row.own, share)
    # Without a budget B is 0, and the model is never full.
    full = 0 < rule.B <= count
    # The distance of a duplicate is rounding: as a vector it would make the inverse meaningless.
    threshold = max(rule.eta, LEAST_DISTANCE * row.own)
    adds = mistakes > 0 and not full and distance > threshold
    moved = mistakes > 0
    for c in range(outputs):
        step = row.step[c]
        if adds and step != 0.0:
            continue  # the row becomes a vector with this step
        if (
            near > 0
            and step == 0.0
            and row.target[c] != 0.0
            and 0.0 < row.margin[c] < 1.0
        ):
            step = row.target[c] * _partial_step(
                rule, row, 1.0 - row.margin[c], distance
            )
        if step != 0.0:
            moved = True
            for s in range(count):
                model.alpha[s, c] += step * share[s]
    if adds:
        border(model.matrix, count, share, distance)
        add(model, row, count)
    return moved


@nested
def _partial_step(rule: Any, row: Any, loss: float, distance: float) -> float:
    """Return how far to move along the projection of a row in the margin, 0 if that may harm."""
    # the two outputs of the max-score form share the loss
    parts = 2.0 if row.pair else 1.0
    inside = parts * (row.own - distance)
    if inside <= 0.0:  # a row far from all vectors: its score was almost 0
        return 0.0
    if rule.B > 0:
        step = min(loss / inside, 1.0)
        progress = (
            2.0 * loss - step * inside - 2.0 * rule.U * math.sqrt(parts * distance)
        )
        return step if progress >= 0.0 else 0.0
    remaining = loss - distance / rule.eta
    share: float = 0.0
    if remaining > 0.0:
        share = min(loss / inside, 1.0, 2.0 * remaining / inside)
    return share


class Projectron(GramLearner, KernelLearner):
    """Projectron: a perceptron that projects mistakes on the support vectors at little loss.

    On a mistake, with kernel values k of the row x and the vectors, and the inverse K of the matrix
    of the vectors' own, ``c = K k`` are the coefficients of its projection and ``delta = k(x, x) -
    k.c`` is the squared distance from it. A row within `eta` moves the vectors' coefficients,
    ``alpha += y c``; another becomes a support vector with coefficient y.

    Notes
    -----
    State: ``m (d + outputs)`` numbers for m vectors of d features, and ``m^2`` of the inverse. Cost
    of a row: O(m d), or nnz for d, and O(m^2) more on a mistake. Max-score: the class moves by c
    and its best rival by -c.

    A row nearer than 1e-8 ``k(x, x)`` is projected in either form: for duplicates, whose delta is 0
    up to rounding, other implementations of the budget form divide by delta and continue with NaN
    or meaningless numbers.

    References
    ----------
    F. Orabona, J. Keshet, B. Caputo, Bounded kernel-based online learning, JMLR 10 (2009). In the
    text eta is the distance, here and in the author's program DOGMA its square.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> Projectron().fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "projectron"
    # The value for the slowest shape: the rows decide how many vectors are kept.
    numbers_per_second = 5.8e9
    kept_share = 0.12
    kept_power = 0.5
    plus: ClassVar[bool] = False
    update_params = ("eta",)

    form: str = param(
        "true",
        Choice(("true", "budget")),
        "``'true'``: as published; a mistake is a row with ``y f <= 0``. ``'budget'``: a row is "
        "put in while there are fewer than `B`, and projected afterwards, as in KOL and its "
        "MATLAB code; a mistake is a wrong prediction, a score of 0 being one of +1.",
    )
    eta: float | None = param(
        None,
        Maybe(Real(0.0, open_="low")),
        "Squared distance from the span up to which a row is projected. Without it 0.1 in "
        "the true form; in the budget form rows are projected early only where it is given, say "
        "1e-3.",
    )
    B: int = param(100, Whole(1), "Budget of that form.")
    capacity: int = param(
        10_000,
        Whole(1),
        "Most support vectors of the true form; a row that comes after one more ends learning "
        "with an error.",
    )

    def resolved_params(self) -> dict[str, Any]:
        params = super().resolved_params()
        if self.form == "true" and params["eta"] is None:
            params["eta"] = 0.1
        return params

    def _rule(self) -> ProjectronRule:
        if self.form == "budget":
            B = int(self.B)
        else:
            B = 0
        # The norm U up to which the Forgetron's bound holds.
        if B:
            bound = math.sqrt((B + 1) / math.log(B + 1)) / 4.0
        else:
            bound = 0.0
        return ProjectronRule(
            float(self.resolved_params()["eta"] or 0.0), B, self.plus, bound
        )

    def _budget(self) -> int | None:
        if self.form == "budget":
            return self.B
        return None


class ProjectronPlusPlus(Projectron):
    """Projectron++: Projectron whose vectors also move for rows inside the margin.

    For ``0 < y f < 1`` with loss ``l = 1 - y f``, projection c, squared distance delta from it and
    ``q = k(x, x) - delta``: ``alpha += tau y c``. In the true form ``tau = min(l / q, 1, 2 (l -
    delta / eta) / q)`` where that is positive. In the budget form ``tau = min(l / q, 1)`` where ``2
    l - tau q >= 2 U sqrt(delta)`` with ``U = sqrt((B + 1) / ln(B + 1)) / 4``.

    Notes
    -----
    State as in Projectron. Cost of a row: O(m d), and O(m^2) more inside the margin.
    Max-score: class and rival share the loss, ``2 q`` for q and ``2 delta`` under the root.

    Where q is 0, for a row far from all vectors, nothing moves. As in the MATLAB code, nor does the
    budget form at a score of 0 that counts as right.

    References
    ----------
    F. Orabona, J. Keshet, B. Caputo, Bounded kernel-based online learning, JMLR 10 (2009).

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> ProjectronPlusPlus(form="budget", B=4).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "projectron++"
    # The value for the slowest shape: the rows decide how many vectors are kept.
    numbers_per_second = 5.9e9
    plus = True
