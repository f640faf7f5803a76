"""Kernel learners: one loop over the rows, to which each learner adds what a row changes.

The model is ``f_c(x) = scale_c sum_s alpha_sc k(x, s)`` over support vectors s: rows that were kept. A learner is a named
tuple of parameters (its rule) together with a function that learns one row; the loop has the row's kernel values, scores
and targets ready for it. All classes share the support vectors, and so the kernel values.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, read_only, to_csr
from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.dot import vector_dot
from olscale.compiled.intrinsics import borrowed, flat
from olscale.compiled.row_layout import borrowed_rows, is_tuple_of
from olscale.compiled.support_vectors import (
    GROWING,
    SupportVectors,
    empty_support,
    find_places,
    grow_places,
    grow_slots,
    has_room,
    put,
)
from olscale.errors import ParameterError
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.learner import UNKNOWN, FloatArray, State
from olscale.learners.contract.parameters import Choice, Domain, Real, Whole
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.kernel_width import WidthLearner
from olscale.learners.kernels import KERNELS, Kernel, kernel_row, own_value, size_of
from olscale.learners.rkhs_norm import MOST_VECTORS, rkhs_norm

LEAST_SCALE = 1e-150
"""Below this, and above its inverse, the scale is multiplied into the coefficients."""


class Model(NamedTuple):
    """What a learner's update changes.

    Parameters
    ----------
    support : SupportVectors
    alpha : float64 array of shape (slots, outputs)
        Coefficients, to be multiplied by `scale`.
    scale, offset : float64 array of shape (outputs,)
        The offset is added to the scores.
    memory : float64 array of shape (outputs, numbers)
        Numbers that the learner keeps besides.
    matrix : float64 array of shape (slots, slots)
        A matrix over the support vectors, for learners that keep one; else it has no rows.
    kernel : Kernel
    """

    support: SupportVectors
    alpha: FloatArray
    scale: FloatArray
    offset: FloatArray
    memory: FloatArray
    matrix: FloatArray
    kernel: Kernel


class Space(NamedTuple):
    """Arrays in which the loop has what a row is learned from, and in which learners work.

    Parameters
    ----------
    f : float64 array of shape (outputs,)
        Scores.
    target : float64 array of shape (outputs,)
        +1 or -1; in the max-score form +1 for the class, -1 for the best of the others, and 0.
    margin : float64 array of shape (outputs,)
        ``target f``; in the max-score form, for both classes, the score of the class less that of its rival.
    wrong : bool array of shape (outputs,)
        Whether the prediction is: of a score of 0 it is +1, of two equal ones it is the first.
    step : float64 array of shape (outputs,)
        Space for the new coefficients.
    at, value, k, other : array
        Space for the places, the values and the kernel values of another row; `k` has those of this one.
    """

    f: FloatArray
    target: FloatArray
    margin: FloatArray
    wrong: NDArray[np.bool_]
    step: FloatArray
    at: NDArray[np.int32]
    value: FloatArray
    k: FloatArray
    other: FloatArray


class Row(NamedTuple):
    """A row to learn, with the arrays of `Space`.

    Parameters
    ----------
    X : CSR
    i : int
        The row is row `i` of `X`.
    t : int
        Its number in the stream, from 1.
    size, own : float
        Its size and ``k(x, x)``.
    pair : bool
        Whether two outputs move together, as in the max-score form.
    """

    X: CSR
    i: int
    t: int
    size: float
    own: float
    pair: bool
    f: FloatArray
    target: FloatArray
    margin: FloatArray
    wrong: NDArray[np.bool_]
    step: FloatArray
    at: NDArray[np.int32]
    value: FloatArray
    k: FloatArray
    other: FloatArray


@inlined
def borrowed_model(model: Any) -> Any:
    """Return the model with arrays that nobody owns, as `borrowed_rows` does."""
    of = model.support
    support = SupportVectors(
        borrowed(of.values),
        borrowed(of.place),
        borrowed(of.feature),
        borrowed(of.free),
        borrowed(of.holders),
        borrowed(of.held),
        borrowed(of.sizes),
        borrowed(of.born),
        borrowed(of.counts),
    )
    scales = borrowed(model.scale), borrowed(model.offset)
    return Model(support, borrowed(model.alpha), *scales, borrowed(model.memory), borrowed(model.matrix), model.kernel)


@inlined
def borrowed_space(of: Any) -> Any:
    """Return the space with arrays that nobody owns."""
    aims = borrowed(of.f), borrowed(of.target), borrowed(of.margin), borrowed(of.wrong), borrowed(of.step)
    return Space(*aims, borrowed(of.at), borrowed(of.value), borrowed(of.k), borrowed(of.other))


def learn_row(rule: Any, model: Model, row: Row) -> bool:
    """Learn a row by `rule` and return whether the model changed; compiled loops resolve it to the rule's own function."""
    raise TypeError("for compiled loops only")


def learns(rule_type: type) -> Callable[[Callable[..., bool]], Callable[..., bool]]:
    """Register a function ``(rule, model, row) -> bool`` as that which learns a row by rules of `rule_type`."""

    def register(function: Callable[..., bool]) -> Callable[..., bool]:
        @overload(learn_row, strict=False, jit_options={"forceinline": True})
        def choose(rule, model, row):  # type: ignore[no-untyped-def]
            return function if is_tuple_of(rule, rule_type) else None

        return function

    return register


@inlined
def combine(alpha: Any, scale: Any, k: Any, count: int, f: Any) -> None:
    """Set ``f_c = scale_c sum_s alpha_sc k_s``; the sum of one output runs in eight groups of slots."""
    outputs = f.shape[0]
    if outputs == 1:
        f[0] = scale[0] * vector_dot(k[:count], flat(alpha))
    else:
        f[:] = 0.0
        for s in range(count):
            for c in range(outputs):
                f[c] += k[s] * alpha[s, c]
        for c in range(outputs):
            f[c] *= scale[c]


@inlined
def aim(f: Any, y: int, max_score: bool, target: Any, margin: Any, wrong: Any) -> None:
    """Set targets, margins and mistakes of a row of class `y` (see `Row`)."""
    outputs = f.shape[0]
    if max_score:
        rival = 0 if y != 0 else 1
        for c in range(outputs):
            target[c], wrong[c], margin[c] = 0.0, False, 0.0
            if c != y and f[c] > f[rival]:
                rival = c
        between = f[y] - f[rival]
        mistaken = between < 0.0 or (between == 0.0 and rival < y)
        target[y], target[rival] = 1.0, -1.0
        margin[y] = margin[rival] = between
        wrong[y] = wrong[rival] = mistaken
    else:
        for c in range(outputs):
            target[c] = 1.0 if y == (c if outputs > 1 else 1) else -1.0
            margin[c] = target[c] * f[c]
            wrong[c] = (f[c] >= 0.0) != (target[c] > 0.0)


@inlined
def add(model: Any, row: Any, slot: int) -> None:
    """Put the row in an empty slot as a support vector with the coefficients `row.step`."""
    put(model.support, slot, row.X, row.i, row.size)
    for c in range(row.step.shape[0]):
        model.alpha[slot, c] = row.step[c] / model.scale[c]


@inlined
def shrink(model: Any, c: int, factor: float) -> None:
    """Multiply all coefficients of output `c` by `factor`."""
    model.scale[c] *= factor
    if not LEAST_SCALE < abs(model.scale[c]) < 1.0 / LEAST_SCALE:
        for s in range(model.support.counts[0]):
            model.alpha[s, c] *= model.scale[c]
        model.scale[c] = 1.0


@compiled
def _learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    first: int,
    model: Any,
    rule: Any,
    space: Any,
    max_score: bool,
    limits: Any,
    learning: bool,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    scores: FloatArray,
) -> int:
    X, (low, high) = borrowed_rows(X), limits
    model, space = borrowed_model(model), borrowed_space(space)
    support, kernel = model.support, model.kernel
    f, target, margin, wrong, step, at, value, k, other = space
    rows, outputs = scores.shape
    for i in range(first, rows):
        learns = learning and y[i] != UNKNOWN
        if learns and not has_room(support, X.indptr[i + 1] - X.indptr[i]):
            return i
        found, square = find_places(support, X, i, at, value)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        size = size_of(kernel, X, i, square)
        kernel_row(kernel, support, at, value, found, size, k)
        combine(model.alpha, model.scale, k, support.counts[0], f)
        for c in range(outputs):
            f[c] += model.offset[c]
            scores[i, c] = f[c]
        if learns:
            seen[0] += 1
            aim(f, y[i], max_score, target, margin, wrong)
            row = Row(
                X,
                i,
                seen[0],
                size,
                own_value(kernel, size),
                max_score,
                f,
                target,
                margin,
                wrong,
                step,
                at,
                value,
                k,
                other,
            )
            if learn_row(rule, model, row):
                updates[0] += 1
    return int(rows)


class KernelLearner(WidthLearner, EstimatesCost):
    """Base of the learners with support vectors; a subclass gives its parameters, its rule and how many vectors it keeps."""

    layout_exact = True
    takes_unknown = True
    checks_rows = True
    keeps_matrix: ClassVar[bool] = False
    memory: ClassVar[int] = 0
    shared_domains: ClassVar[dict[str, Domain]] = {
        "kernel": Choice(KERNELS),
        **WidthLearner.widths,
        "degree": Whole(1),
        "coef0": Real(0.0),
        "multiclass": Choice(("max-score", "ova")),
    }

    kernel: str
    degree: int
    coef0: float
    multiclass: str

    @abstractmethod
    def _rule(self) -> NamedTuple:
        """Return the parameters of the update."""

    @abstractmethod
    def _slots(self) -> tuple[int, int]:
        """Return how many support vectors there is room for at first, and at most."""

    def _allocate(self, columns: int, outputs: int) -> State:
        support = empty_support(columns, *self._slots())
        slots = len(support["sizes"])
        return {
            **support,
            "alpha": np.zeros((slots, outputs)),
            "scale": np.ones(outputs),
            "offset": np.zeros(outputs),
            "memory": np.zeros((outputs, self.memory)),
            "matrix": np.zeros((slots, slots) if self.keeps_matrix else (0, 0)),
            "gamma": self._first_width(columns),
        }

    def _pass(self, X: Rows, y: NDArray[np.int64], state: State, learning: bool, scores: FloatArray) -> None:
        self._check_width(X)
        # One kind of arrays, for which the loop is compiled once.
        sparse = to_csr(X)
        rows = CSR(read_only(sparse.indptr), read_only(sparse.indices), read_only(sparse.data))
        y = read_only(y)
        row, max_score = 0, self._outputs > 1 and self.multiclass == "max-score"
        while True:
            loop = (max_score, self.norm_limits(), learning, self.state_["seen"], self.state_["updates"])
            row = _learn_and_score(rows, y, row, self._model(), self._rule(), self._space(rows), *loop, scores)
            if row == len(scores):
                return
            self._grow(int(rows.indptr[row + 1] - rows.indptr[row]))

    def _model(self) -> Model:
        state = self.state_
        support = SupportVectors(*(state[name] for name in SupportVectors._fields))
        kernel = Kernel(KERNELS.index(self.kernel), float(state["gamma"][0]), float(self.coef0), int(self.degree))
        arrays = {name: state[name] for name in ("alpha", "scale", "offset", "memory", "matrix")}
        return Model(support, **arrays, kernel=kernel)

    def _space(self, rows: CSR) -> Space:
        outputs, slots = self.state_["alpha"].shape[1], len(self.state_["sizes"])
        entries = max(self.state_["values"].shape[1], int(np.diff(rows.indptr).max(initial=0)))
        f, target, margin, step = np.zeros((4, outputs))
        at, value = np.empty(entries, dtype=np.int32), np.empty(entries)
        return Space(f, target, margin, np.zeros(outputs, np.bool_), step, at, value, np.empty(slots), np.empty(slots))

    def _grow(self, entries: int) -> None:
        """Make room for a vector of so many entries."""
        state = self.state_
        if len(state["feature"]) - state["counts"][1] < min(entries, len(state["place"]) - state["counts"][1]):
            state.update(grow_places(state, entries))
        slots, (count, *_, most) = len(state["sizes"]), state["counts"]
        if count == most:
            raise ParameterError(
                f"learner {self.name} has {count:,} support vectors, as many as its parameter capacity allows; raise "
                "that, or take a learner with a budget, as bpas or projectron"
            )
        if count < slots:
            return
        state.update(grow_slots(state))
        new = len(state["sizes"])
        state["alpha"] = np.concatenate([state["alpha"], np.zeros((new - slots, state["alpha"].shape[1]))])
        if self.keeps_matrix:
            state["matrix"] = np.pad(state["matrix"], (0, new - slots))

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`, whose support vectors may take more room than those of now."""
        growing = {*GROWING, "alpha", "matrix"}
        for name in growing & state.keys() & self.state_.keys():
            old, new = self.state_[name], state[name]
            if old.ndim == new.ndim and old.dtype == new.dtype and new.size >= old.size:
                self.state_[name] = np.zeros(new.shape, new.dtype)
        super().restore(state)

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers are gone through for a row: its values with each vector."""
        del columns
        return self._slots()[0] * (values + super().row_numbers(0, classes, 1.0))

    def measures(self) -> dict[str, float]:
        """Return the shared measures, `support_vectors`, how many there are, and, of up to 2,000, `norm_w` (`rkhs_norm`)."""
        count = int(self.state_["counts"][0])
        norm = {"norm_w": float(rkhs_norm(self._model()))} if count <= MOST_VECTORS else {}
        return {**super().measures(), "support_vectors": float(count), **norm}
