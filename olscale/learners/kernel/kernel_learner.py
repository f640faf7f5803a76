"""Kernel learners: rows that are kept, and their coefficients.

The model is ``f_c(x) = scale_c sum_s alpha_sc k(x, s)`` over support vectors s: rows that were
kept. A learner is a rule of `olscale.learners.kernel.kernel_loop`. All classes share the support
vectors, and so the kernel values.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, read_only, read_only_csr
from olscale.compiled.decorator import compiled, is_ours, uncached
from olscale.compiled.pages import aligned_space
from olscale.compiled.rows_together import together_space
from olscale.compiled.support_arrays import (
    GROWING,
    STATE,
    check_support,
    empty_support,
    grow_places,
    grow_slots,
    support_vectors,
    take_shapes,
)
from olscale.errors import ParameterError
from olscale.learners.contract.capability import ShiftFree
from olscale.learners.contract.cost import EstimatesCost, in_dense_values
from olscale.learners.contract.detector import OnePassDetector
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.fused_settings import FusedSettings, FusesSettings
from olscale.learners.contract.learner import (
    FloatArray,
    Learner,
    State,
    array_of,
    no_weights,
    score_columns,
)
from olscale.learners.contract.parameters import Choice, Real, Whole, param
from olscale.learners.contract.regressor import OnePassRegressor
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.kernel.kernel_fused import FusedVectors
from olscale.learners.kernel.kernel_loop import learn_and_score, takes_weight
from olscale.learners.kernel.kernel_model import Model, Space
from olscale.learners.kernel.kernel_width import WidthLearner
from olscale.learners.kernel.kernels import (
    DISTANCE_KERNELS,
    KERNELS,
    Kernel,
    vector_row,
)
from olscale.learners.kernel.shared_values import SharedValues, no_values


class Ready(NamedTuple):
    """The loop of a learner, with its model, rule, space and the form in which it learns."""

    loop: Any
    model: tuple[Model, NamedTuple, Space]
    form: tuple[Any, ...]


_USUAL_ROWS = 2_000
"""Number of rows that `kept_share` is a share of."""

CAPACITY: int = param(
    100_000,
    Whole(1),
    "Most support vectors; a row that comes after one more ends learning with an error.",
)
"""The parameter `capacity` of a learner without a budget."""


class SupportVectorLearner(WidthLearner, FusesSettings, EstimatesCost, ShiftFree):
    """Base of the learners with support vectors: a subclass gives parameters, rule and limits.

    `KernelLearner`, `KernelRegressor` and `KernelDetector` are this for each task.
    """

    layout_exact = True
    takes_unknown = True
    checks_rows = True
    keeps_matrix: ClassVar[bool] = False
    memory: ClassVar[int] = 0
    kept_share: ClassVar[float] = 0.5
    """Share of `_USUAL_ROWS` added if there is room: the median in `pipelines/grand.toml`."""
    kept_power: ClassVar[float] = 1.0
    """Growth of the vectors, as a power of the rows: below 1 where a good model adds fewer."""
    rule_type: ClassVar[type[NamedTuple]]
    """The named tuple of the update, registered by `learns`."""
    capacity = 100_000
    """Most support vectors of a learner without a budget, the parameter `CAPACITY`."""

    kernel: str = param(
        "gaussian",
        Choice(KERNELS),
        "The kernel; see `olscale.learners.kernel.kernels`.",
    )
    degree: int = param(
        3, Whole(1), "Of the polynomial kernel ``(gamma x.s + coef0)^degree``."
    )
    coef0: float = param(1.0, Real(0.0), "Of the polynomial kernel.")

    @property
    def shift_free(self) -> bool:
        """Whether the kernel depends on distances only."""
        return self.kernel in DISTANCE_KERNELS

    def _rule(self) -> NamedTuple:
        """Return the parameters of the update."""
        return rule_of(self.rule_type, self)

    def _budget(self) -> int | None:
        """Return how many support vectors the budget, parameter `B`, allows; None without one."""
        budget: int | None = getattr(self, "B", None)
        return budget

    def _slots(self) -> tuple[int, int]:
        """Return how many support vectors there is room for at first and at most.

        There is room for one more than may stay: a row is scored, and may turn out not to need its
        slot, before that is known.
        """
        # One slot more: a row comes in before another goes.
        budget = self._budget()
        if budget is not None:
            return int(budget) + 1, int(budget) + 1
        most = int(self.capacity) + 1
        return min(64, most), most

    def _allocate(self, columns: int, outputs: int) -> State:
        support = empty_support(columns, *self._slots())
        slots = len(support["sizes"])
        return {
            **support,
            "alpha": np.zeros((slots, outputs)),
            "scale": np.ones(outputs),
            "offset": np.zeros(outputs),
            "memory": np.zeros((outputs, self.memory)),
            "matrix": self._matrix(slots if self.keeps_matrix else 0),
            "gamma": self._first_width(columns),
        }

    def _matrix(self, slots: int) -> FloatArray:
        return aligned_space(slots, slots)

    def _pass(
        self,
        X: Rows,
        y: NDArray[Any],
        state: State,
        learning: bool,
        scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        self._check_width(X)
        rows = read_only_csr(X)
        self._go(
            self._ready(learning, rows),
            rows,
            read_only(y),
            no_values(),
            scores,
            weights,
        )

    def _ready(self, learning: bool, rows: CSR | None = None) -> Ready:
        """Return what the loop needs of the learner; `rows` are those to look up, if any."""
        rule = self._rule()
        # Machine code for a rule that is defined elsewhere must not enter our cache: it would
        # outlive an edit.
        if is_ours(type(rule).__module__):
            loop = learn_and_score
        else:
            loop = uncached(learn_and_score)
        form = (
            self._is_max_score(),
            self.norm_limits(),
            learning,
            self.state_["seen"],
            self.state_["updates"],
        )
        return Ready(loop, (self._model(), rule, self._space(rows)), form)

    def _go(
        self,
        ready: Ready,
        rows: CSR,
        y: NDArray[Any],
        shared: SharedValues,
        scores: FloatArray,
        weights: FloatArray | None,
    ) -> Ready:
        """Learn rows, alone or with values shared by settings; return the last `Ready`."""
        if weights is not None and not takes_weight(ready.model[1]):
            raise ParameterError(no_weights(self.name))
        row = 0
        weights = array_of(weights)
        # The loop returns where it lacks room: compiled code does not allocate the state.
        while True:
            row = ready.loop(
                rows, y, row, *ready.model, shared, *ready.form, scores, weights
            )
            if row == len(scores):
                return ready
            self._grow(int(rows.indptr[row + 1] - rows.indptr[row]))
            ready = self._ready(ready.form[2], rows)

    def grid_key(self) -> object:
        """Return what products of rows depend on, for a learner without a budget.

        Its settings keep mostly the same rows. With a budget most time is spent on each setting
        alone.
        """
        first, most = self._slots()
        # With a budget, each setting holds other vectors, and there is nothing to share.
        if first < most and not self.keeps_matrix:
            return (type(self), self.kernel == "laplacian")
        return None

    def fuse(self, learners: Sequence[Learner]) -> FusedSettings:
        return FusedVectors(learners)

    def _is_max_score(self) -> bool:
        return False

    def _model(self) -> Model:
        state = self.state_
        support = support_vectors(state)
        kernel = Kernel(
            KERNELS.index(self.kernel),
            float(state["gamma"][0]),
            float(self.coef0),
            int(self.degree),
        )
        arrays = {
            name: state[name]
            for name in ("alpha", "scale", "offset", "memory", "matrix")
        }
        return Model(support, **arrays, kernel=kernel)

    def _space(self, rows: CSR | None) -> Space:
        outputs = self.state_["alpha"].shape[1]
        slots = len(self.state_["sizes"])
        # A row may have more entries than there are places: features that no vector has.
        if rows is None:
            longest = 0
        else:
            longest = int(np.diff(rows.indptr).max(initial=0))
        entries = max(self.state_["values"].shape[1], longest)
        f, target, margin, step = np.zeros((4, outputs))
        at = np.empty(entries, dtype=np.int32)
        value = np.empty(entries)
        aims = f, target, margin, np.zeros(outputs, np.bool_), step
        return Space(
            *aims,
            at,
            value,
            np.empty(slots),
            np.empty(slots),
            together_space(entries, slots),
        )

    def _grow(self, entries: int) -> None:
        """Make room for a vector of `entries` entries."""
        state = self.state_
        if len(state["feature"]) - state["counts"][1] < min(
            entries, len(state["place"]) - state["counts"][1]
        ):
            state.update(grow_places(state, entries))
        slots, (count, *_, most) = len(state["sizes"]), state["counts"]
        if count == most:
            raise ParameterError(
                f"learner {self.name} has {count:,} support vectors, more than its parameter "
                "capacity allows; raise "
                "that, or take a learner with a budget, as bpas or projectron"
            )
        # There were slots; places of features were lacking.
        if count < slots:
            return
        state.update(grow_slots(state))
        new = len(state["sizes"])
        state["alpha"] = np.concatenate(
            [state["alpha"], np.zeros((new - slots, state["alpha"].shape[1]))]
        )
        if self.keeps_matrix:
            more = (0, new - slots)
            state["matrix"] = np.pad(
                state["matrix"], [(0, 0)] * (state["matrix"].ndim - 2) + [more, more]
            )

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`, whose support vectors may need more room than the current ones."""
        check_support(
            {name: state[name] for name in STATE if name in state},
            len(self.state_["place"]),
        )
        # which may have columns besides the square of the vectors
        empty = self.state_["matrix"].shape
        # These arrays take their shape from `state`; the base class then copies the numbers.
        take_shapes(self.state_, state, (*GROWING, "alpha", "matrix"))
        super().restore(state)
        slots = len(self.state_["sizes"])
        before = self.state_["matrix"].shape
        if empty[-2]:
            expected = (slots, slots + empty[-1] - empty[-2])
        else:
            expected = empty[-2:]
        if len(self.state_["alpha"]) != slots or before[-2:] != expected:
            raise ValueError(
                f"state does not fit learner {self.name}: {slots} support vectors, a matrix of "
                f"{before}"
            )

    def _can_continue(self) -> bool:
        count = int(self.state_["counts"][0])
        # Rules that remove vectors sum over all slots: those without a vector are 0.
        has_none = not self.state_["alpha"][count:].any()
        return has_none and super()._can_continue()

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: its values times the vectors."""
        if hasattr(self, "state_"):
            vectors = int(self.state_["counts"][0])
        else:
            vectors = 0
        return max(self._slots()[0], vectors) * self._vector_numbers(
            columns, classes, values
        )

    def stream_numbers(
        self, columns: int, classes: int, values: float, rows: int
    ) -> float:
        """Return how many numbers `rows` rows go through: theirs and those of vectors."""
        count, mean = self._expected_vectors(rows)
        # The norm needs all kernel values between vectors.
        pairs = count**2 / 2.0 if count <= MOST_VECTORS else 0.0  # of `norm_w`
        return rows * (3.0 * values + 40.0) + (
            rows * mean + pairs
        ) * self._vector_numbers(columns, classes, values)

    def cheaper(self) -> str:
        """Return what to do instead of keeping ever more rows."""
        first, most = self._slots()
        if first >= most:
            return ""
        budget = {
            "classification": "bpas or fogd",
            "regression": "krls with B",
            "novelty": "norma-n with tau",
        }
        return (
            "it keeps ever more of them: take fewer rows, or a learner with a budget, as "
            f"{budget[self.task]}"
        )

    def _expected_vectors(self, rows: int) -> tuple[float, float]:
        """Return the expected number of vectors after `rows` rows, and their average until then."""
        most = self._slots()[1]
        power = self.kept_power
        came = _USUAL_ROWS * self.kept_share
        # Rows until there is no room.
        filling = min(float(rows), _USUAL_ROWS * (most / came) ** (1.0 / power))
        count = came * (filling / _USUAL_ROWS) ** power
        return count, count * (1.0 - filling / max(1, rows) * power / (1.0 + power))

    def _vector_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a vector takes; of `values`, each may be looked up by itself."""
        outputs, (first, most) = score_columns(classes), self._slots()
        if first < most:
            return 0.1 * in_dense_values(columns, values, 10.0) + 0.7 * outputs + 2.0
        # The exchange of vectors takes as long as sums of outputs.
        return 0.16 * in_dense_values(columns, values, 2.6) + 1.8 * outputs

    def measures(self) -> dict[str, float]:
        """Return the shared measures, `support_vectors` and, of up to 2,000, `norm_w`.

        The first is the number of support vectors, the second is `rkhs_norm`.
        """
        count = int(self.state_["counts"][0])
        if count <= MOST_VECTORS:
            norm = {"norm_w": float(rkhs_norm(self._model()))}
        else:
            norm = {}
        return {**super().measures(), "support_vectors": float(count), **norm}


class KernelLearner(SupportVectorLearner, OnePassLearner):
    """Base of the classifiers with support vectors."""

    multiclass: str = param(
        "max-score",
        Choice(("max-score", "ova")),
        "The class against the best of the others, or a problem a class; all share the support "
        "vectors.",
    )

    def _is_max_score(self) -> bool:
        return self._outputs > 1 and self.multiclass == "max-score"


class KernelRegressor(SupportVectorLearner, OnePassRegressor):
    """Base of the regressors with support vectors."""


class KernelDetector(SupportVectorLearner, OnePassDetector):
    """Base of the novelty detectors with support vectors."""


MOST_VECTORS = 2_000
"""Vectors up to which the norm is worth a kernel value per pair."""


@compiled
def rkhs_norm(model: Any) -> float:
    """Return the square root of ``sum_c alpha_c' K alpha_c``."""
    support = model.support
    alpha = model.alpha
    scale = model.scale
    count = support.counts[0]
    outputs = alpha.shape[1]
    places = support.values.shape[1]
    at = np.empty(places, np.int32)
    value = np.empty(places)
    k = np.empty(support.sizes.shape[0])
    square = 0.0
    for s in range(count):
        vector_row(model.kernel, support, s, at, value, k)
        for c in range(outputs):
            f = 0.0
            for r in range(count):
                f += k[r] * alpha[r, c]
            square += (scale[c] * alpha[s, c]) * (scale[c] * f)
    return float(np.sqrt(max(0.0, square)))
