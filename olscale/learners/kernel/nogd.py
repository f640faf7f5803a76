"""Nystrom online gradient descent (Lu, Hoi, Wang, Zhao and Liu, JMLR 2016)."""

from typing import Any, NamedTuple

import numpy as np

from olscale.compiled.decorator import compiled
from olscale.compiled.simd.columns import multiply_first
from olscale.errors import ParameterError
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.contract.parameters import Real, Whole, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.kernel.gram_learner import GramLearner
from olscale.learners.kernel.kernel_learner import KernelLearner
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add
from olscale.learners.kernel.kernels import vector_row
from olscale.system.blas import one_blas_thread

_LEAST_EIGENVALUE = 1e-10
"""Eigenvalues below this part of the largest are rounding."""

_COLLECTS = 0.0
_KNOWS_FEATURES = 1.0
_STEPS_IN_FEATURES = 2.0


class NOGDRule(NamedTuple):
    """Step `eta`."""

    eta: float


@learns(NOGDRule, weighted=True)
def learn_nogd(rule: Any, model: Any, row: Any) -> bool:
    """Keep a row with loss until there are B; after that, step in the features of those."""
    alpha = model.alpha
    matrix = model.matrix
    phase = model.memory[0]
    moving = False
    outputs = row.f.shape[0]
    slots = alpha.shape[0]
    count = model.support.counts[0]
    for c in range(outputs):
        loss = row.target[c] != 0.0 and row.margin[c] < 1.0 and row.weight > 0.0
        if loss:
            row.step[c] = row.weight * (rule.eta * row.target[c])
        else:
            row.step[c] = 0.0
        moving |= loss
    # Rows without loss are not candidates for the features.
    if not moving:
        return False
    if phase[0] == _COLLECTS:
        add(model, row, count)
        return True
    # Coefficients of the first phase are replaced by their projection, once.
    if phase[0] == _KNOWS_FEATURES:
        # one by one: slices make numba compile an error message, as long as everything else
        for s in range(count):
            for c in range(outputs):
                alpha[s, c] = matrix[s, slots + c]
        phase[0] = _STEPS_IN_FEATURES
    step = row.other
    multiply_first(row.k[:count], matrix, count, step)
    for s in range(count):
        for c in range(outputs):
            alpha[s, c] += row.step[c] * step[s]
    return True


@compiled
def set_gram(model: Any, at: Any, value: Any, K: FloatArray) -> None:
    """Set row s of `K` to kernel values of vector s with all; `at`, `value` as in `Space`."""
    support = model.support
    for s in range(support.counts[0]):
        vector_row(model.kernel, support, s, at, value, K[s])


class NOGD(GramLearner, KernelLearner, WeightedClassifier):
    """Nystrom online gradient descent: kernel gradient descent, then linear on `k` features.

    The change comes when `B` rows are kept.

    While there are fewer than B support vectors, each row with loss is added with the coefficient
    `eta y`. Then the Gram matrix of the B, ``K = V D V'`` with its k largest eigenvalues, makes
    features ``z(x) = D^-1/2 V' k(x)``. The next row with loss turns the coefficients to weights
    ``w = D^1/2 V' alpha``; it and each later one moves them by ``eta y z(x)``. Scores are
    ``w.z(x)``, kept as ``beta.k(x)`` with ``beta = V D^-1/2 w``: features cost an update alone. For
    k = B they are the scores of kernel gradient descent with the part of each row along the B.

    Notes
    -----
    State: ``B (d + B + 2 outputs)`` numbers for d features that the vectors have. Cost of a row:
    O(B d), or nnz for d, and O(B^2) for one with loss; O(B^3) once. The eigenvectors are LAPACK's
    on one thread: their last bits, and those of scores after them, may be other ones on another
    kind of processor.

    The text of the LOL paper keeps the first B rows, not the first B with loss; at small steps
    these are the same.

    A row's weight multiplies its step, as in CSOGD (J. Wang, P. Zhao, S. C. H. Hoi, Cost-sensitive
    online classification, ICDM 2012): its loss counts as many times.

    References
    ----------
    J. Lu, S. C. H. Hoi, J. Wang, P. Zhao, Z.-Y. Liu, Large scale online kernel learning, JMLR 17
    (2016), algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> NOGD(B=8, k=4).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "nogd"
    rule_type = NOGDRule
    numbers_per_second = 2.3e9
    memory = 1
    update_params = ("eta",)

    B: int = param(100, Whole(1), "Support vectors.")
    k: int = param(
        20,
        Whole(1),
        "Features, at most B. Eigenvalues below 1e-10 of the largest give none.",
    )
    eta: float = param(0.2, Real(0.0, open_="low"), "Step.")

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form, with at most as many features as vectors."""
        params = super().resolved_params()
        if params["k"] > params["B"]:
            raise ParameterError(
                f"learner nogd: k was {self.k}, expected at most B, which was {self.B}"
            )
        return params

    def _slots(self) -> tuple[int, int]:
        return int(self.B) + 1, int(self.B)

    def _allocate(self, columns: int, outputs: int) -> State:
        """Return the state, with room for coefficients at the change of features."""
        state = super()._allocate(columns, outputs)
        slots = len(state["sizes"])
        return {**state, "matrix": np.zeros((slots, slots + outputs))}

    def _grow(self, entries: int) -> None:
        # The loop returns for lack of room when there are B vectors: compiled code cannot call
        # LAPACK.
        if (
            self.state_["memory"][0, 0] == _COLLECTS
            and self.state_["counts"][0] == self.B
        ):
            self._find_features()
        else:
            super()._grow(entries)

    def _find_features(self) -> None:
        """Set the matrix to ``V D^-1 V'``, and the room next to it to ``V V' alpha``."""
        state = self.state_
        count = int(self.B)
        slots = len(state["sizes"])
        places = state["values"].shape[1]
        K = np.zeros((count, slots))
        set_gram(self._model(), np.empty(places, np.int32), np.empty(places), K)
        # sums over several threads would have other bits
        with one_blas_thread():
            values, vectors = np.linalg.eigh(K[:, :count])
            used = values > _LEAST_EIGENVALUE * values[-1]
            # eigh sorts in ascending order: the last k are the largest.
            used[: count - int(self.k)] = False
            V = vectors[:, used]
            D = values[used]
            state["matrix"][:count, :count] = (V / D) @ V.T
            along = V.T @ state["alpha"][:count]
            state["matrix"][:count, slots:] = V @ along
        # one spare slot lets the loop continue
        state["memory"][0, 0] = _KNOWS_FEATURES
        state["counts"][3] = self.B + 1
