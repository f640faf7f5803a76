"""Fourier online gradient descent (Lu, Hoi, Wang, Zhao and Liu, JMLR 2016)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, read_only, read_only_csr, rows_of, to_csr
from olscale.compiled.decorator import compiled
from olscale.compiled.dot import vector_dot
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.pages import aligned_space
from olscale.compiled.row_layout import borrowed_rows
from olscale.compiled.rows import weight_of
from olscale.data.transforms.fourier import set_angles, set_features
from olscale.data.transforms.matrix import MatrixRows, borrowed_kept
from olscale.learners.contract.class_axes import ClassAxes, ShardsClasses, class_axis
from olscale.learners.contract.class_shards import count_update
from olscale.learners.contract.cost import EstimatesCost, in_dense_values
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.fused_settings import FusedSettings, FusesSettings
from olscale.learners.contract.learner import (
    UNKNOWN,
    FloatArray,
    Learner,
    State,
    array_of,
    frobenius_norm,
    score_columns,
)
from olscale.learners.contract.parameters import Choice, Real, Whole, param
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.kernel.kernel_loop import aim
from olscale.learners.kernel.kernel_width import WidthLearner

_SINE_NUMBERS = 3
"""Numbers whose processing takes as long as one pair of cosine and sine."""


@compiled
def _learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    kept: Any,
    W: Any,
    gamma: FloatArray,
    eta: FloatArray,
    scale: float,
    max_score: bool,
    limits: Any,
    learning: bool,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    space: FloatArray,
    scores: FloatArray,
    weights: Any,
) -> None:
    X, kept, (low, high) = borrowed_rows(X), borrowed_kept(kept), limits
    settings, outputs, width = W.shape
    W = borrowed(W)
    scores = borrowed(scores)
    angles = borrowed(space[: width // 2])
    z = borrowed(space[width // 2 :])
    target = np.empty(outputs)
    margin = np.empty(outputs)
    wrong = np.empty(outputs, np.bool_)
    for i in range(scores.shape[0]):
        square, bound = set_angles(X, i, kept, angles)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        learns = learning and y[i] != UNKNOWN
        seen[0] += learns
        for s in range(settings):
            # Settings of one width follow each other, and share the features.
            if s == 0 or gamma[s] != gamma[s - 1]:
                set_features(angles, bound, gamma[s], scale, z)
            f = scores[i, s * outputs : (s + 1) * outputs]
            moved = False
            for c in range(outputs):
                f[c] = vector_dot(z, W[s, c])
            if not learns:
                continue
            aim(f, y[i], max_score, target, margin, wrong)
            weight = weight_of(weights, i)
            for c in range(outputs):
                if target[c] != 0.0 and margin[c] < 1.0 and weight > 0.0:
                    w = W[s, c]
                    step = weight * (eta[s] * target[c])
                    moved = True
                    for j in range(width):
                        w[j] += step * z[j]
            # Marks of rows are for class shards, which have one setting.
            if moved and settings == 1:
                count_update(updates, i)
            else:
                updates[s] += moved


# The matrix of frequencies for 3.2 million features does not fit into memory, and a checkpoint
# should not carry what 16 bytes determine: the state has the key, and rows are drawn by key and
# feature.
class FOGD(
    WidthLearner,
    OnePassLearner,
    WeightedClassifier,
    ShardsClasses,
    FusesSettings,
    EstimatesCost,
):
    """Fourier online gradient descent: a linear learner on cosines and sines of random projections.

    With D frequencies u, drawn from a Gaussian of variance ``2 gamma`` in each direction, ``z(x) =
    [cos(u.x), sin(u.x)]``: the product ``z(x).z(s) / D`` has the mean ``exp(-gamma |x - s|^2)`` and
    a standard deviation of at most ``1 / sqrt(2 D)``. On these features it is gradient descent on
    the hinge loss, ``f = w.z`` and ``w += eta y z`` where ``y f < 1``.

    Notes
    -----
    State: ``2 D outputs`` numbers and the key of the frequencies. These are functions of key,
    feature and number, by the matrix of the transform ``project``: at most 64 MiB of them are kept
    outside the state (`frequency_bytes` says how many), those of features met most, also for
    millions of features. Cost of a row: O(D (nnz + outputs)); settings that share a pass have the
    projections in common, and those of one width the features.

    The papers' MATLAB code takes ``D B`` frequencies for its parameter D and a budget B. Angles
    beyond 1e5 lose whole turns first, so that features are cosines and sines however long a row is.

    A row's weight multiplies its step, as in CSOGD (J. Wang, P. Zhao, S. C. H. Hoi, Cost-sensitive
    online classification, ICDM 2012): its loss counts as many times.

    References
    ----------
    J. Lu, S. C. H. Hoi, J. Wang, P. Zhao, Z.-Y. Liu, Large scale online kernel learning, JMLR 17
    (2016), algorithm 1.
    A. Rahimi, B. Recht, Random features for large-scale kernel machines, NIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> FOGD(D=50).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "fogd"
    numbers_per_second = 3.85e9
    layout_exact = True
    takes_unknown = True
    checks_rows = True
    update_params = ("eta",)

    D: int = param(400, Whole(1), "Number of frequencies; there are 2 D features.")
    eta: float = param(0.2, Real(0.0, open_="low"), "Step.")
    scale: str = param(
        "unit",
        Choice(("unit", "paper")),
        "Whether features are divided by ``sqrt(D)``, so that ``z.z`` is the kernel and `eta` "
        "means what it means for kernel learners, or are cosines and sines as they are: an "
        "`eta` of the paper is that of the unit scale divided by D.",
    )
    seed: int = param(
        0, Whole(0), "Number of the frequencies; each permutation draws others."
    )
    multiclass: str = param(
        "max-score",
        Choice(("max-score", "ova")),
        "The class against its best rival, which both move by the step; or one binary learner a "
        "class.",
    )

    def _start(self, columns: int, outputs: int) -> None:
        super()._start(columns, outputs)
        self._draw()

    def _draw(self) -> None:
        """Derive the frequencies from the state's key."""
        first, second = self.state_["key"].tolist()
        # Not in the state: drawn again from the key, to the same bits.
        self._frequencies = MatrixRows((first, second), self._columns, int(self.D), 0.0)

    def _allocate(self, columns: int, outputs: int) -> State:
        return {
            "W": aligned_space(outputs, 2 * int(self.D)),
            "key": self._random().integers(1 << 32, size=2),
            "gamma": self._first_width(columns),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`, with its frequencies."""
        super().restore(state)
        self._draw()

    def class_axes(self, outputs: int) -> ClassAxes | None:
        """Return the axis of the weights in the one-vs-all form; all classes share the features."""
        if self.multiclass == "ova" and not self.looks_ahead:
            return {"W": class_axis(0, outputs)}
        return None

    def frequencies(self) -> FloatArray:
        """Return the frequencies u of ``cos(u.x)``, shape (columns, D)."""
        drawn = self._frequencies.times(to_csr(np.eye(self._columns)))
        return np.asarray(np.sqrt(2.0 * float(self.state_["gamma"][0])) * drawn)

    def _pass(
        self,
        X: Rows,
        y: NDArray[np.int64],
        state: State,
        learning: bool,
        scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        self._check_width(X)
        setting_state = {
            **state,
            "W": state["W"][None],
            "eta": np.array([self.eta], dtype=np.float64),
        }
        self._learn_and_score(X, y, setting_state, learning, scores, weights)

    def _learn_and_score(
        self,
        X: Rows,
        y: NDArray[np.int64],
        state: State,
        learning: bool,
        scores: FloatArray,
        weights: FloatArray | None,
    ) -> None:
        """Learn and score rows for one or more settings.

        `state` holds their weights, shape (settings, outputs, 2 D), and steps.
        """
        rows = read_only_csr(X)
        y = read_only(y)
        if self.scale == "unit":
            scale = float(self.D) ** -0.5
        else:
            scale = 1.0
        model = (
            state["W"],
            state["gamma"],
            state["eta"],
            scale,
            self._outputs > 1 and self.multiclass == "max-score",
        )
        counts = (state["seen"], state["updates"])
        space = aligned_space(3 * int(self.D))
        # Threads of a worker may share the kept frequencies.
        with self._frequencies.lock:
            _learn_and_score(
                rows,
                y,
                self._frequencies.kept,
                *model,
                self.norm_limits(),
                learning,
                *counts,
                space,
                scores,
                array_of(weights),
            )

    def grid_key(self) -> object:
        """Return what the projections depend on: steps and widths may differ in a pass."""
        return type(self), int(self.D), self.scale, int(self.seed), self.multiclass

    def fuse(self, learners: Sequence[Learner]) -> FusedSettings:
        return FusedFOGD(learners)

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: values and weights, times frequencies."""
        products = 0.2 * in_dense_values(columns, values, 1.8)
        return float(self.D) * (products + _SINE_NUMBERS + 0.4 * score_columns(classes))

    def measures(self) -> dict[str, float]:
        """Return the shared measures, `norm_w` and `frequency_bytes`, of frequencies kept."""
        norm = frobenius_norm(self.state_["W"])
        size = self._frequencies.nbytes
        return {**super().measures(), "norm_w": norm, "frequency_bytes": float(size)}


class FusedFOGD(FusedSettings):
    """Settings of FOGD in one pass, those of one width next to each other.

    Examples
    --------
    >>> learners = [FOGD(D=3, eta=eta) for eta in (0.1, 1.0)]
    >>> for learner in learners:
    ...     learner.begin(columns=2, classes=2)
    >>> scores = FusedFOGD(learners).learn(np.eye(2), np.array([0, 1]))
    >>> bool(np.isclose(10.0 * scores[0], scores[1]).all())
    True
    """

    def __init__(self, learners: Sequence[Learner]) -> None:
        self._learners = [learner for learner in learners if isinstance(learner, FOGD)]
        states = [learner.state_ for learner in self._learners]
        widths = np.concatenate([state["gamma"] for state in states])
        # Settings of one width follow each other: the loop computes their features once.
        self._order = np.argsort(widths, kind="stable")
        weights_of_settings = [states[n]["W"] for n in self._order]
        updates = [states[n]["updates"] for n in self._order]
        etas = [self._learners[n].eta for n in self._order]
        self._state: State = {
            "W": np.stack(weights_of_settings),
            "gamma": widths[self._order],
            "eta": np.array(etas, dtype=np.float64),
            "seen": states[0]["seen"].copy(),
            "updates": np.concatenate(updates),
        }

    def learn(
        self, X: Rows, y: NDArray[np.int64], weights: FloatArray | None = None
    ) -> list[FloatArray]:
        """Predict, then update, row by row; return each learner's scores before each update."""
        for learner in self._learners:
            learner._check_width(X)
        settings, outputs, _ = self._state["W"].shape
        scores = np.empty((rows_of(X), settings * outputs))
        self._learners[0]._learn_and_score(X, y, self._state, True, scores, weights)
        parts = np.split(scores, settings, axis=1)
        return [parts[place] for place in np.argsort(self._order)]

    def release(self) -> None:
        for place, n in enumerate(self._order):
            state = self._learners[n].state_
            state["W"] = self._state["W"][place].copy()
            state["seen"] = self._state["seen"].copy()
            state["updates"] = self._state["updates"][place : place + 1].copy()
