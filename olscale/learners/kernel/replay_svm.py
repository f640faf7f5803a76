"""replay-svm: one pass near the accuracy of a batch machine, olscale's own learner."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.learners.contract.cost import learning_seconds
from olscale.learners.contract.learner import FloatArray, State, score_columns
from olscale.learners.contract.parameters import Real, Whole, param
from olscale.learners.kernel.local_expert import (
    SHARE,
    LocalExpert,
    has_local_expert,
    local_bytes,
    local_state,
    with_prefix,
)
from olscale.learners.kernel.replay_learner import ReplayLearner
from olscale.learners.kernel.replay_machine import MACHINES
from olscale.learners.kernel.replay_svm_loop import Experts


class ReplaySVM(ReplayLearner):
    """A support vector machine that sees each row once and returns to the hard ones it stores.

    Four dual machines with Gaussian kernels share `D` landmarks and up to `B` stored rows. A row
    whose margin is below `theta` is stored and makes a dual step; after each row, `R` stored ones
    make a step again. Where the memory is full, the row that the machines need least is folded: the
    landmarks take its coefficients on. The machines race for `race` rows, and the one with the
    fewest mistakes stays. Five scores are mixed by weights that follow their mistakes: that of the
    machine, that of PA-I, those of the means of their coefficients over the stream, and that of
    `soft-lol`, which is worth more where labels are noisy.

    Notes
    -----
    Strictly online: a row is scored before anything is learned from it, and the width of the
    kernels is that of the first 400 rows. Until row 25 PA-I alone predicts; then, and after 50, 100
    and 200 rows anew, machines learn all rows so far with the width of these, and after 400 rows
    those that stay. Rows are stepped on again, so it is one pass over the stream but not one look
    at each row; ``R=0`` is the strict form. **It stores B rows of the data**: a saved model
    contains them. Two models cannot be merged, and classes cannot be learned apart. Features should
    have similar scales: see `running-standardize`. ``docs/replay-svm.md`` has equations, figures,
    and where it loses.

    State: ``(B + D) (d + 16 outputs)`` numbers for d features that the stored rows have, and that
    of `soft-lol`, which is left out where it would take more than 64 MB. Cost of a row: ``(B + D)
    d`` products, nnz for d on a sparse row, ``(2 + R) outputs (B + D)`` more, and that of
    `soft-lol`. In memory, kernel values between stored rows take ``4 (B + D)^2`` bytes more; they
    are no part of the state. A row's weight is not used.

    References
    ----------
    A. Bordes, L. Bottou, P. Gallinari, J. Weston, Solving multiclass support vector machines with
    LaRank, ICML 2007. Z. Wang, K. Crammer, S. Vucetic, Breaking the curse of kernelization:
    budgeted stochastic gradient descent for large-scale SVM training, JMLR 13, 2012. C. Williams,
    M. Seeger, Using the Nystroem method to speed up kernel machines, NIPS 2001. M. Herbster,
    M. Warmuth, Tracking the best expert, Machine Learning 32, 1998. O. Shamir, T. Zhang,
    Stochastic gradient descent for non-smooth optimization, ICML 2013.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1.0, 1.0, size=(2000, 2))
    >>> y = (X[:, 0] * X[:, 1] > 0.0).astype(int)
    >>> model = ReplaySVM(B=100).fit(X, y)
    >>> bool(np.mean(model.predict(X) == y) > 0.97)
    True
    """

    name = "replay-svm"
    numbers_per_second = 2.5e9
    version = 3
    early_openings = (25, 50, 100, 200)

    B: int = param(
        2048,
        Whole(1),
        "Most stored rows: more err less and take more time and memory in proportion.",
    )
    D: int = param(
        256,
        Whole(1),
        "Most landmarks, the first rows of the stream, which take on what is no longer stored.",
    )
    R: int = param(
        2, Whole(0), "Steps on stored rows after each row; 0 looks at each row once."
    )
    theta: float = param(0.5, Real(), "Margin below which a row is stored.")
    race: int = param(
        3000,
        Whole(1),
        "Row after which only the machine with the fewest mistakes stays.",
    )
    seed: int = param(
        0,
        Whole(0),
        "Seed of the steps on stored rows; the seed and number of the run count too.",
    )

    def _allocate_experts(self, columns: int, outputs: int) -> State:
        state = {
            "W": np.zeros((columns + 1, outputs)),
            "late_W": np.zeros((columns + 1, outputs)),
        }
        self._local = None
        shares = np.ones(2 * MACHINES + 2)
        if has_local_expert(columns, outputs):
            local = LocalExpert()
            local.begin(columns, self._classes, self._entropy)
            state |= with_prefix(local.state_)
            shares = np.append(shares, SHARE)
            self._local = local
        self._shares = shares / shares.sum()
        # A copy: the shares are needed again when the race begins.
        return state | {"trust": self._shares.copy()}

    def compile(self, X: Rows) -> None:
        """Compile all loops, those of the local expert for rows like `X`."""
        super().compile(X)
        if (local := self.local()) is not None:
            local.compile(X)

    def _begin_race(self) -> None:
        super()._begin_race()
        # Trust so far was earned with machines of another width.
        self.state_["trust"][:] = self._shares

    def local(self) -> LocalExpert | None:
        """Return the local expert, which shares its arrays with this learner; None without one."""
        if self._local is not None:
            self._local.state_ = local_state(self.state_)
        return self._local

    def _score_ahead(self, X: Rows, y: NDArray[np.int64], learning: bool) -> FloatArray:
        """Return the scores of the local expert, which depend on no other."""
        local = self.local()
        if local is None:
            return np.empty((0, 0, self._outputs))
        return local.scores_ahead(X, y, learning)[:, np.newaxis]

    def _experts(self, ahead: FloatArray) -> Experts:
        state = self.state_
        others = len(state["trust"]) - 2 * MACHINES
        return Experts(
            state["W"],
            state["late_W"],
            state["trust"],
            state["errors"],
            ahead,
            np.zeros((others, self._outputs)),
        )

    def linear_coefficients(self) -> FloatArray:
        """Return what the linear expert adds to the scores of rows ``(x, 1)`` of length 1.

        Returns
        -------
        float64 array of shape (features + 1, outputs)
        """
        state = self.state_
        now = state["W"]
        mean = now - state["late_W"] / max(1.0, float(state["seen"][0])) ** 3
        trust = state["trust"][2 * MACHINES :]
        # The experts are mixed by their trust, and scores are linear in the weights.
        weighted: FloatArray = trust[0] * now + trust[1] * mean
        return weighted

    def _can_continue(self) -> bool:
        local = self.local()
        fits = local is None or local._can_continue()
        return fits and super()._can_continue()

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through, at the speed of the machines."""
        machines = super().row_numbers(columns, classes, values)
        return machines + self._local_numbers(columns, classes, values)

    def stream_numbers(
        self, columns: int, classes: int, values: float, rows: int
    ) -> float:
        """Return how many numbers `rows` rows go through, at the speed of the machines."""
        machines = super().stream_numbers(columns, classes, values, rows)
        return machines + rows * self._local_numbers(columns, classes, values)

    def _local_numbers(self, columns: int, classes: int, values: float) -> float:
        if not has_local_expert(columns, score_columns(classes)):
            return 0.0
        seconds = learning_seconds(LocalExpert(), columns, classes, values)
        return seconds * self.numbers_per_second

    def state_bytes(self, columns: int, classes: int) -> int:
        """Return the bytes of the state, if the stored rows have all features."""
        machines = super().state_bytes(columns, classes)
        outputs = score_columns(classes)
        if not has_local_expert(columns, outputs):
            return machines
        return machines + local_bytes(columns, outputs)
