"""Local online learning: hyperplanes around prototypes.

Zhou et al., Pattern Recognition 51, 2016. Settings that differ only in C and lam share prototypes
in one pass.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, to_dense
from olscale.compiled.near_prototypes import why_hidden
from olscale.compiled.pages import aligned_zeros
from olscale.compiled.prototypes import (
    allocate_prototypes,
    means_of,
    open_prototypes,
    same_share,
)
from olscale.errors import ParameterError
from olscale.learners.contract.capability import ExplainsNoScore, LooksAhead
from olscale.learners.contract.class_axes import ClassAxes, ShardsClasses, class_axis
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
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.local.local_fused import FusedLocal
from olscale.learners.local.lol_loop import (
    Hyperplanes,
    LOLRule,
    assign,
    learn_and_score,
    learn_assigned,
    open_output_space,
    open_places,
)
from olscale.learners.local.offline_prototypes import offline_prototypes


class FusedLOL(FusedLocal[LOLRule]):
    """Settings of LOL or I-LOL.

    Examples
    --------
    >>> from olscale.learners.local.lol import LOL
    >>> learners = [LOL(k=2, C=C) for C in (0.1, 1.0)]
    >>> for learner in learners:
    ...     learner.begin(columns=1, classes=2)
    >>> fused = learners[0].fuse(learners)
    >>> X = np.array([[1.0], [2.0], [1.0]])
    >>> [scores.tolist() for scores in fused.learn(X, np.array([1, 0, 0]))]
    [[[0.0], [0.2], [0.0]], [[0.0], [1.0], [0.5]]]
    """

    def _learn(
        self,
        X: Rows,
        y: NDArray[np.int64],
        scores: Sequence[FloatArray],
        weights: FloatArray | None,
    ) -> bool:
        shared = self._learners[0].state_
        learned = int(shared["seen"][0])
        places = open_places(len(y))
        space = open_output_space(self._learners[0]._classes, scores[0].shape[1])
        prototypes = open_prototypes(shared, X, min(learned, len(shared["members"])))
        # Prototypes depend on neither C nor lam: once for all settings.
        usable = assign(
            X,
            y,
            prototypes,
            places,
            self._rules[0],
            self._learners[0].norm_limits(),
            learned,
        )
        for learner, rule, own_scores in zip(
            self._learners, self._rules, scores, strict=True
        ):
            state = learner.state_
            planes = Hyperplanes(state["W"], state["U"])
            counts = (state["seen"], state["updates"])
            ends = (own_scores, array_of(weights))
            learn_assigned(X, y, planes, places, space, usable, rule, *counts, *ends)
        return bool(usable == len(y))


_ROWS = 32  # rows whose prototypes are found before the first of them is scored


class _Local(
    OnePassLearner,
    WeightedClassifier,
    LooksAhead,
    ShardsClasses,
    FusesSettings,
    EstimatesCost,
    ExplainsNoScore,
):
    """Common base of LOL and I-LOL: the compiled loop, the state and the prototypes."""

    layout_exact = True
    takes_unknown = True
    checks_rows = True

    k: int = param(60, Whole(1), "Number of prototypes.")
    C: float = param(1.0, Real(0.0, open_="low"), "Aggressiveness, the largest step.")
    multiclass: str = param(
        "ova",
        Choice(("ova", "max-score")),
        "One binary problem a class; or the true class against the best wrong one, with the "
        "margin ``f_y - f_s`` and the step ``min(C, l / (2 (1 + 1/lam) |x|^2))``, up for the true "
        "class's hyperplanes and down for the other's.",
    )
    prototypes: str = param(
        "sequential",
        Choice(("sequential", "offline")),
        "Sequential k-means as the rows come; or k-means before the stream, prototypes fixed from "
        "then on (section 5.4.5). With ``'offline'`` it is NOT one-pass: an evaluation first "
        "shows it the training rows without labels, or a uniform sample of 65,536 if there are "
        "more; `fit` shows it all of `X`, and `partial_fit` alone is refused.",
    )
    count_rule: str = param(
        "macqueen",
        Choice(("macqueen", "paper")),
        "Whether a prototype's first row counts in its mean (MacQueen), or is replaced by the "
        "first row assigned to it, as Algorithm 1 has it; without effect on offline prototypes.",
    )
    dtype: str = param(
        "float64",
        Choice(("float64", "float32")),
        "Precision of hyperplanes and prototype sums. Scores are summed in float64 in both; the "
        "products with the prototypes are summed in this precision, each rounded together with "
        "its sum, so a row about equally near to two may go to the other with float32.",
    )

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: of outputs, and distances to prototypes.

        Those of few prototypes take little time: most are left out after some features.
        """
        distances: float = 2.4 * (int(self.k) / 60.0) ** 1.4
        products = in_dense_values(columns, values, 4.0)
        return products * (score_columns(classes) + distances)

    def norm_limits(self) -> tuple[float, float]:
        """Return the least and greatest squared norm of a row: products are squares in `dtype`."""
        number = np.finfo(self.dtype)
        # Headroom for products of two rows and sums over features.
        room = 2.0 ** (-80 if self.dtype == "float64" else -40)
        return float(number.tiny) / float(number.eps), float(number.max) * room

    def _inverse_lam(self) -> float:
        """Return ``1/lambda``; 0 omits the common component."""
        return 0.0

    def _allocate(self, columns: int, outputs: int) -> State:
        k = int(self.k)
        if self._inverse_lam() > 0.0:
            common = columns
        else:
            common = 0
        return {
            "W": aligned_zeros((common, outputs), self.dtype),
            "U": aligned_zeros((k, columns, outputs), self.dtype),
            **allocate_prototypes(columns, k, self.dtype),
        }

    @property
    def looks_ahead(self) -> bool:
        """Whether the prototypes are fitted to the rows before the stream begins."""
        return self.prototypes == "offline"

    def prepare(self, X: Rows) -> None:
        """Fit the prototypes to the rows `X` by k-means; afterwards they do not move."""
        if not self.looks_ahead:
            raise TypeError(
                f"learner {self.name} is one-pass: its looks_ahead is False"
            )
        # Only features that occur have means: others would fill memory with zeros.
        features, means = offline_prototypes(X, int(self.k), self._random())
        S = self.state_["S"]
        count = len(means)
        S[features, :count] = means.T
        self.state_["members"][:count] = 1.0
        self.state_["squares"][:count] = np.square(
            S[features, :count], dtype=np.float64
        ).sum(axis=0)

    def class_axes(self, outputs: int) -> ClassAxes | None:
        """Return the axes of one-vs-all hyperplanes; all classes share the prototypes."""
        if self.multiclass != "ova" or self.looks_ahead:
            return None
        return {"W": class_axis(1, outputs), "U": class_axis(2, outputs)}

    def _pass(
        self,
        X: Rows,
        y: NDArray[np.int64],
        state: State,
        learning: bool,
        scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        # A chunk without rows compiles the loops, before `prepare`.
        if self.looks_ahead and len(scores) and not state["members"].any():
            raise ParameterError(
                f"learner {self.name}: prototypes = 'offline' are fitted to the rows before the "
                "first is learned from, and "
                "partial_fit sees only some of them; call fit, or prepare(X) after begin, or use "
                "prototypes = 'sequential'"
            )
        counts = (state["seen"], state["updates"])
        prototypes = open_prototypes(state, X, self._existing(state))
        planes = Hyperplanes(state["W"], state["U"])
        space = open_output_space(self._classes, scores.shape[1])
        arguments = (
            self._rule(),
            self.norm_limits(),
            *counts,
            learning,
            scores,
            array_of(weights),
        )
        learn_and_score(X, y, planes, prototypes, open_places(_ROWS), space, *arguments)

    def _rule(self) -> LOLRule:
        return LOLRule(
            C=float(self.C),
            inverse_lam=self._inverse_lam(),
            first_count=1.0 if self.count_rule == "macqueen" else 0.0,
            fixed=self.looks_ahead,
            max_score=self.multiclass == "max-score" and self._outputs > 1,
        )

    def grid_key(self) -> object:
        """Return what prototypes and scores depend on: in a pass `C` and `lam` may differ."""
        # Offline prototypes are fitted to the rows of one run: no pass to share.
        if self.looks_ahead:
            return None
        return type(self), self.k, self.multiclass, self.count_rule, self.dtype

    def fuse(self, learners: Sequence[Learner]) -> FusedSettings:
        """Return `learners` in one pass."""
        return FusedLOL(
            learners,
            [learner._rule() for learner in learners if isinstance(learner, _Local)],
        )

    def _existing(self, state: State) -> int:
        """Return the number of prototypes so far."""
        members = state["members"]
        if self.looks_ahead:
            return int(np.count_nonzero(members))
        return min(int(state["seen"][0]), len(members))

    def why_no_score(self, row: Rows) -> str:
        """Return that rounding hides distances, if it does."""
        x = to_dense(row, len(self.state_["S"]))[0].astype(self.dtype)
        return why_hidden(
            self.prototypes_, x.astype(np.float64), same_share(self.dtype)
        )

    @property
    def prototypes_(self) -> FloatArray:
        """Prototypes so far, shape (at most k, n_features)."""
        return means_of(self.state_, self._existing(self.state_))


class LOL(_Local):
    """Local online learning: a common hyperplane and one more around each prototype.

    The first k rows are the prototypes; later rows move the nearest one (sequential k-means). A row
    x with nearest prototype i scores ``f = (w + u_i).x``; with hinge loss l the step is ``eta =
    min(C, l / ((1 + 1/lam) |x|^2))``, then ``w += eta y x / lam`` and ``u_i += eta y x``: PA-I on a
    stacked row, ``x / sqrt(lam)`` first and x in the place of prototype i. More than two classes
    share the prototypes, and each has hyperplanes of its own.

    Notes
    -----
    State: ``(k outputs + k' + outputs) d`` numbers for d features, k' being k rounded up to a
    multiple of 16 (above 8). Cost of a row: O(k d), or O(k nnz) for a sparse row. Two errors of the
    paper are corrected here: eq. (18) lacks the label, and Algorithm 1 gives the dimension kd for
    (k+1)d.

    A row's weight multiplies `C`: in the objective its slack costs that many times as much.
    Prototypes move by rows of any weight.

    References
    ----------
    Z. Zhou, W.-S. Zheng, J.-F. Hu, Y. Xu, J. You, One-pass online learning: a local approach,
    Pattern Recognition 51, 2016: Algorithm 1, eqs. (11)-(20).

    Examples
    --------
    XOR is beyond a hyperplane, but not beyond four.

    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> LOL(k=4).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "lol"
    numbers_per_second = 1.4e9
    row_seconds = 60e-9
    version = 3
    update_params = ("C", "lam")

    lam: float = param(
        1.0,
        Real(0.0, np.inf, open_="both"),
        "Lambda, weight of the common component: the larger, the less `w` moves.",
    )

    def _inverse_lam(self) -> float:
        return 1.0 / float(self.lam)


class ILOL(_Local):
    """Independent local online learning: LOL without the common component (``w = 0``).

    The step is ``min(C, l / |x|^2)``: ``1/lam`` is 0.

    Notes
    -----
    Weights of rows count as in `LOL`.

    References
    ----------
    Zhou et al., Pattern Recognition 51, 2016: section 3.1, I-LOL.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> ILOL(k=4).fit(np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "ilol"
    numbers_per_second = 1.8e9
    row_seconds = 60e-9
    version = 3
    update_params = ("C",)
