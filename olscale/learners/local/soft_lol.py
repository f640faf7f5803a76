"""Soft local online learning: olscale's own learner in the family of LOL.

Settings that differ only in C, lam and averaging share gates in one pass.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, to_dense
from olscale.compiled.near_prototypes import lost_share, why_hidden
from olscale.compiled.pages import aligned_zeros
from olscale.compiled.prototypes import (
    allocate_prototypes,
    close_share,
    means_of,
    open_prototypes,
)
from olscale.compiled.simd.mixture import GROUPS
from olscale.learners.contract.capability import ExplainsNoScore
from olscale.learners.contract.cost import EstimatesCost, in_dense_values
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.fused_settings import FusedSettings, FusesSettings
from olscale.learners.contract.learner import (
    FloatArray,
    Learner,
    State,
    array_of,
    score_columns,
)
from olscale.learners.contract.parameters import Choice, Real, Whole, param
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.local.local_fused import FusedLocal
from olscale.learners.local.soft_lol_loop import (
    EXPONENT,
    MEAN,
    NO_CHOICE,
    SoftLOLRule,
    assign,
    learn_and_score,
    learn_assigned,
    open_gates,
)


class FusedSoftLOL(FusedLocal[SoftLOLRule]):
    """Settings of soft-LOL.

    Examples
    --------
    >>> from olscale.learners.local.soft_lol import SoftLOL
    >>> learners = [SoftLOL(k=2, lam=1.0, C=C) for C in (0.1, 1.0)]
    >>> for learner in learners:
    ...     learner.begin(columns=1, classes=2)
    >>> fused = learners[0].fuse(learners)
    >>> [scores.tolist() for scores in fused.learn(np.array([[1.0], [2.0]]), np.array([1, 0]))]
    [[[0.0], [0.1]], [[0.0], [0.5]]]
    """

    def _learn(
        self,
        X: Rows,
        y: NDArray[np.int64],
        scores: Sequence[FloatArray],
        weights: FloatArray | None,
    ) -> bool:
        shared = self._learners[0].state_
        rule = self._rules[0]
        prototypes = open_prototypes(
            shared, X, int(np.count_nonzero(shared["members"]))
        )
        gates = open_gates(len(y), rule.m)
        usable = assign(X, y, prototypes, gates, rule, self._learners[0].norm_limits())
        for learner, own_rule, scored in zip(
            self._learners, self._rules, scores, strict=True
        ):
            state = learner.state_
            model = (state["V"], gates, usable, state.get("force", NO_CHOICE))
            counts = (state["seen"], state["updates"])
            learn_assigned(X, y, *model, own_rule, *counts, scored, array_of(weights))
        return bool(usable == len(y))


_ROWS = 32  # rows whose prototypes are found before the first of them is scored


class SoftLOL(
    OnePassLearner, WeightedClassifier, FusesSettings, EstimatesCost, ExplainsNoScore
):
    """Soft local online learning: olscale's own variant of `LOL`, not from a paper.

    A row x, scaled to length 1, is scored by a common hyperplane and by those of the m prototypes
    nearest to it: ``f = w.x + sum_j g_j u_j.x``, the gate g_j in proportion to ``1 / distance^(2
    sharpness)`` with ``|g| = 1``. With hinge loss l the step is ``tau = min(C, l / (1 + 1/lam))``,
    then ``w += tau y x / lam`` and ``u_j += tau g_j y x``. More than two classes: only the row's
    class and the best wrong one move, in opposite directions, with ``l / (2 (1 + 1/lam))``. Steps
    follow the weights as they are; predictions are those of a mean of the weights over the rows so
    far, in which the weights after row t count as ``t^averaging - (t-1)^averaging``.

    Notes
    -----
    State: ``(2 outputs (k + 1) + k') d`` numbers for d features, k' being k rounded up to a
    multiple of 16 (above 8); there are hyperplanes for d rounded up to a multiple of 4. Cost of a
    row: O((k + m outputs) d), or nnz for d on a sparse row. Length 1 makes ``x`` and ``c x`` the
    same row: add a bias feature where length tells. Predictions are those of a mean of the weights,
    and follow a change in the stream far later than the weights do: where a stream may change, take
    ``averaging="adaptive"``.

    A row costs 1.3 to 2.9 times what LOL's does with k = 60 where it is dense, with up to 26
    classes, or sparse with two classes (``olscale bench soft-local`` and ``local``). With 249
    classes it costs 3.4 times as much and with 1,000 classes 5.5 times, in float32 2.4 and 3.1
    times. A sparse row with many features and many classes costs far more: about 40 times LOL's
    with 50,000 features and 105 classes (``olscale bench soft-local-wide``), since each of its
    values is looked up in m + 1 places for every class, where LOL's weights of all classes lie next
    to each other.

    Where it loses (docs/soft-local.md): cbcl_face and the cumulative error on w7a are above PAMO's
    published figures, mnist is level with LOL's, and in streams that change the default is far
    behind LOL and PA-I.

    Origins: prototypes, common component and step are from LOL [1]_; the multi-class step from
    [2]_; the mean of the weights from [3]_, its weighting from [4]_; several hyperplanes per row,
    weighted by distance, from locally linear SVMs [5]_, where they are not learned in one pass.

    A row's weight multiplies `C`, as in `LOL`; prototypes and the mean of the weights ignore the
    weights of rows.

    References
    ----------
    .. [1] Z. Zhou, W.-S. Zheng, J.-F. Hu, Y. Xu, J. You, One-pass online learning: a local
       approach, Pattern Recognition 51, 2016.
    .. [2] K. Crammer et al., Online passive-aggressive algorithms, JMLR 7, 2006.
    .. [3] Y. Freund, R. Schapire, Large margin classification using the perceptron algorithm,
       Machine Learning 37, 1999.
    .. [4] O. Shamir, T. Zhang, Stochastic gradient descent for non-smooth optimization, ICML 2013.
    .. [5] L. Ladicky, P. Torr, Locally linear support vector machines, ICML 2011.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> SoftLOL(k=4).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "soft-lol"
    numbers_per_second = 6.5e9
    row_seconds = 150e-9
    row_seconds = 150e-9
    version = 2
    layout_exact = True
    takes_unknown = True
    checks_rows = True
    update_params = ("C",)

    k: int = param(
        64,
        Whole(1),
        "Number of prototypes: the first k rows that are not empty; each later row moves the "
        "one nearest to it.",
    )
    m: int = param(6, Whole(1), "Prototypes that score a row, and are moved with it.")
    lam: float = param(
        3.0,
        Real(0.0, np.inf, open_="both"),
        "Weight of the common component, as in `LOL`: the larger, the less `w` moves.",
    )
    C: float = param(
        1.0,
        Real(0.0, open_="low"),
        "Aggressiveness, the largest step. Rows have length 1, so it means the same for all data.",
    )
    sharpness: int = param(
        2, Whole(1), "How fast a gate falls with the distance: 1 is ``1/distance^2``."
    )
    averaging: int | str = param(
        3,
        Whole(1, ("adaptive",)),
        "1 is the plain mean over all rows; the larger, the more the latest rows count. "
        "``t^averaging`` must stay in the range of `dtype`: below 1e38 in float32. With "
        "``'adaptive'`` either the mean of ``averaging=3`` predicts or the weights as they are "
        "now, whichever erred less lately: the mean first; the other takes over once it has "
        "made 16 errors fewer than the one in force, counted from when they last were level. "
        "For streams that change.",
    )
    dtype: str = param(
        "float64",
        Choice(("float64", "float32")),
        "Precision of hyperplanes and prototype sums, as in `LOL`.",
    )

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: prototypes, and `m` models."""
        distances: float = 12.0 * (int(self.k) / 60.0) ** 1.4
        a_value = distances + int(self.m) * score_columns(classes)
        return in_dense_values(columns, values, 7.5) * a_value

    def _allocate(self, columns: int, outputs: int) -> State:
        k = int(self.k)
        # The choice between mean and current weights belongs to the state: it survives a break.
        if self.averaging == "adaptive":
            choice = {"force": np.array([MEAN, 0])}
        else:
            choice = {}
        return {
            # The last of k + 1 is the common hyperplane; the last axis has weights and their
            # mean.
            "V": aligned_zeros(
                (k + 1, outputs, -(-columns // GROUPS) * GROUPS, 2), self.dtype
            ),
            **allocate_prototypes(columns, k, self.dtype),
            **choice,
        }

    def _pass(
        self,
        X: Rows,
        y: NDArray[np.int64],
        state: State,
        learning: bool,
        scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        prototypes = open_prototypes(state, X, int(np.count_nonzero(state["members"])))
        model = (
            state["V"],
            prototypes,
            open_gates(_ROWS, int(self.m)),
            state.get("force", NO_CHOICE),
        )
        counts = (state["seen"], state["updates"])
        rule = self._rule()
        limits = self.norm_limits()
        learn_and_score(
            X, y, *model, rule, limits, *counts, learning, scores, array_of(weights)
        )

    def _rule(self) -> SoftLOLRule:
        averaging = EXPONENT if self.averaging == "adaptive" else self.averaging
        return rule_of(SoftLOLRule, self, averaging=averaging)

    def grid_key(self) -> object:
        """Return what gates depend on: `C`, `lam` and `averaging` may differ in a pass."""
        return type(self), self.k, self.m, self.sharpness, self.dtype

    def fuse(self, learners: Sequence[Learner]) -> FusedSettings:
        """Return `learners` in one pass."""
        return FusedSoftLOL(
            learners,
            [learner._rule() for learner in learners if isinstance(learner, SoftLOL)],
        )

    def why_no_score(self, row: Rows) -> str:
        """Return that rounding hides distances, if it does."""
        x = to_dense(row, len(self.state_["S"]))[0]
        length = float(np.linalg.norm(x))
        unit = x / max(length, np.finfo(np.float64).tiny)
        return why_hidden(self.prototypes_, unit, lost_share(close_share(self.dtype)))

    def prediction_weights(self) -> FloatArray:
        """Return the weights that predict, of each prototype and last of all rows.

        Returns
        -------
        float64 array of shape (k + 1, outputs, n_features)
        """
        state = self.state_
        V = np.asarray(state["V"], dtype=np.float64)[:, :, : len(state["S"])]
        if self.averaging == "adaptive" and state["force"][0] != MEAN:
            return V[..., 0]
        # V[..., 1] sums the moves, that of row t times (t - 1)^a: the mean over T rows is the
        # weights less that sum over T^a.
        power = max(1.0, float(state["seen"][0])) ** self._rule().averaging
        return np.asarray(V[..., 0] - V[..., 1] / power)

    @property
    def prototypes_(self) -> FloatArray:
        """The prototypes so far, means of rows of length 1, shape (at most k, n_features)."""
        return means_of(self.state_, int(np.count_nonzero(self.state_["members"])))
