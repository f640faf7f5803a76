"""Learners with dual machines that store hard rows and step on them again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, read_only, read_only_csr
from olscale.compiled.pages import aligned_space
from olscale.compiled.simd.vectors import fill_vectors
from olscale.compiled.support_arrays import (
    GROWING,
    STATE,
    check_support,
    empty_support,
    grow_places,
    support_vectors,
    take_shapes,
)
from olscale.compiled.support_vectors import WIDTH, drop
from olscale.learners.contract.cost import EstimatesCost, require_memory
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.learner import FloatArray, State, score_columns
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.kernel.replay_machine import MACHINES, Machines
from olscale.learners.kernel.replay_svm_loop import (
    SAMPLE,
    ReplayRule,
    ReplaySpace,
    csr_of_vectors,
    derive,
    learn_and_score,
    machines_of,
    open_space,
    squared_distances,
)

_NO_INVERSE = np.zeros((MACHINES, 0, 0))
_NOTHING_AHEAD = np.empty((0, 0, 0))
_NO_MATRIX = np.zeros((0, 0, WIDTH), dtype=np.float32)


class ReplayLearner(OnePassLearner, EstimatesCost):
    """Dual machines of several widths under one mixture with other experts.

    A subclass gives the experts, and the parameters that the machines have: `B` stored rows, `D`
    landmarks, `R` steps on stored rows after each row, `theta`, the margin below which a row is
    stored, and the `race`, after which one machine stays.
    """

    layout_exact = True
    takes_unknown = True
    checks_rows = True

    B: int
    D: int
    R: int
    theta: float
    race: int

    early_openings: tuple[int, ...] = ()
    """Rows after which machines open for the time being, with the width of the rows so far."""

    _inverse: NDArray[np.float64] | None = None
    _matrix: NDArray[np.float32] | None = None

    def _allocate(self, columns: int, outputs: int) -> State:
        self._forget_derived()
        most = self._slots()
        support = empty_support(columns, most, most)
        slots = len(support["sizes"])
        return {
            **support,
            "alpha": aligned_space(MACHINES, outputs, slots),
            "late": aligned_space(MACHINES, outputs, slots),
            "label": np.zeros(slots, dtype=np.int64),
            "share": np.zeros((MACHINES, slots)),
            "alive": np.ones(MACHINES, dtype=np.int64),
            "landmarks": np.zeros(1, dtype=np.int64),
            "key": self._random().integers(0, 2**32, 2).astype(np.uint64),
            **self._allocate_experts(columns, outputs),
            "errors": np.zeros((2, MACHINES), dtype=np.int64),
            "gamma": np.zeros(1),
        }

    @abstractmethod
    def _allocate_experts(self, columns: int, outputs: int) -> State:
        """Return the arrays of the experts, apart from the machines, and the weights of all."""

    def _slots(self) -> int:
        return int(self.B) + int(self.D)

    def compile(self, X: Rows) -> None:
        """Compile all loops: another learner of this class opens its machines after two rows."""
        fresh = type(self)(**self.get_params(deep=False))
        fresh.B = 1
        fresh.D = 1
        fresh.begin(2, self._classes)
        fresh.learn(
            np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.zeros(3, dtype=np.int64)
        )

    def _pass(
        self, X: Rows, y: NDArray[Any], state: State, learning: bool, scores: FloatArray
    ) -> None:
        rows = read_only_csr(X)
        labels = read_only(y)
        ahead = self._score_ahead(X, labels, learning)
        row = 0
        while True:
            if learning and state["gamma"][0] > 0.0:
                self._derive()
            opening = self._next_opening()
            row = self._loop(rows, labels, row, opening, learning, scores, ahead)
            count = int(state["counts"][0])
            ends = row == len(scores)
            opens_early = learning and 0 < count == opening
            is_complete = not self._has_width() and count == self._sample()
            if opens_early or (is_complete and not ends):
                self._open_machines()
            elif not ends:
                entries = int(rows.indptr[row + 1] - rows.indptr[row])
                state.update(grow_places(state, entries))
            if ends:
                return

    @abstractmethod
    def _score_ahead(self, X: Rows, y: NDArray[np.int64], learning: bool) -> FloatArray:
        """Return scores of experts that go through all rows before the others.

        Returns
        -------
        float64 array of shape (rows, such experts, outputs)
        """

    def _loop(
        self,
        rows: CSR,
        y: NDArray[np.int64],
        first: int,
        opening: int,
        learning: bool,
        scores: FloatArray,
        ahead: FloatArray,
        again: bool = False,
    ) -> int:
        """Continue from row `first` to the `opening`; see `learn_and_score`."""
        state = self.state_
        rule = rule_of(ReplayRule, self)
        if not self._has_width():
            # The next machines need all rows so far.
            rule = rule._replace(B=self._slots(), theta=np.inf, race=0)
        gamma = float(state["gamma"][0])
        form = (self.norm_limits(), learning, again, state["seen"], state["updates"])
        parts = (self._machines(), self._experts(ahead), rule, gamma, self._space(rows))
        return learn_and_score(rows, y, first, opening, *parts, *form, scores)

    @abstractmethod
    def _experts(self, ahead: FloatArray) -> Any:
        """Return the experts, a named tuple that `mixes`; `ahead` is of `_score_ahead`."""

    def _sample(self) -> int:
        """Return after how many rows the width is final."""
        return min(SAMPLE, self._slots())

    def _next_opening(self) -> int:
        """Return after how many rows machines open next for the time being, 0 where none do."""
        if self._has_width():
            return 0
        count = int(self.state_["counts"][0])
        last = self._sample()
        later = [rows for rows in self.early_openings if count < rows < last]
        return min(later, default=0)

    def _has_width(self) -> bool:
        return bool(self.state_["landmarks"][0] > 0)

    def _open_machines(self) -> None:
        """Take the width from the rows so far, and let new machines learn them."""
        state = self.state_
        support = support_vectors(state)
        sample = read_only_csr(csr_of_vectors(support))
        space = self._space(sample)
        squares = squared_distances(support, space)
        typical = float(np.median(squares)) if len(squares) else 0.0
        if typical <= 0.0 and len(squares):
            # Half of the pairs or more are equal rows.
            typical = float(squares.mean())
        state["gamma"][0] = 1.0 / typical if typical > 0.0 else 1.0
        count = int(state["counts"][0])
        labels = read_only(state["label"][:count].copy())
        for name in ("alpha", "late", "share"):
            state[name][:] = 0.0
        if count == self._sample():
            state["landmarks"][0] = min(int(self.D), count)
            self._begin_race()
        # From the last on: the last vector takes a dropped slot, and landmarks are to stay in
        # theirs.
        for slot in range(count - 1, int(state["landmarks"][0]) - 1, -1):
            drop(support, slot)
        if not self._has_width():
            # Rows get the places they had, on which the last bit of the next width depends.
            state["free"][:] = np.arange(len(state["free"]))
            state["counts"][2] = 0
        self._forget_derived()
        self._derive()
        scores = np.empty((count, self._outputs))
        self._loop(sample, labels, 0, 0, True, scores, _NOTHING_AHEAD, again=True)

    def _begin_race(self) -> None:
        """Forget what machines of earlier widths did."""
        self.state_["errors"][:] = 0

    def _derive(self) -> None:
        """Compute the kernel values between kept rows, unless they are at hand."""
        if self._matrix is not None:
            return
        state = self.state_
        support = support_vectors(state)
        vectors = read_only_csr(csr_of_vectors(support))
        space = self._space(vectors)
        gamma = float(state["gamma"][0])
        landmarks = int(state["landmarks"][0])
        slots = len(state["sizes"])
        # In single precision: unless rows are wide, these are most of the memory.
        self._matrix = np.zeros((slots // WIDTH, slots, WIDTH), dtype=np.float32)
        self._inverse = aligned_space(MACHINES, landmarks, fill_vectors(landmarks))
        derive(vectors, support, gamma, landmarks, space, self._matrix, self._inverse)

    def _forget_derived(self) -> None:
        self._matrix = None
        self._inverse = None

    def _machines(self) -> Machines:
        inverse = _NO_INVERSE if self._inverse is None else self._inverse
        matrix = _NO_MATRIX if self._matrix is None else self._matrix
        return machines_of(self.state_, support_vectors(self.state_), (inverse, matrix))

    def _space(self, rows: CSR) -> ReplaySpace:
        longest = int(np.diff(rows.indptr).max(initial=0))
        entries = max(self.state_["values"].shape[1], longest)
        return open_space(entries, len(self.state_["sizes"]), self._outputs)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`, whose rows may have more features than those of now."""
        check_support(
            {name: state[name] for name in STATE if name in state},
            len(self.state_["place"]),
        )
        slots = len(self.state_["sizes"])
        take_shapes(self.state_, state, GROWING)
        super().restore(state)
        self._forget_derived()
        if len(self.state_["sizes"]) != slots:
            raise ValueError(
                f"state does not fit learner {self.name}: other slots than {slots}"
            )

    def _can_continue(self) -> bool:
        state = self.state_
        count, _, _, most = state["counts"].tolist()
        landmarks = int(state["landmarks"][0])
        gamma = float(state["gamma"][0])
        labels = state["label"][:count]
        alive = state["alive"]
        fits = (
            most == self._slots()
            and ((labels >= 0) & (labels < max(2, self._classes))).all()
        )
        if landmarks > 0:
            fits &= gamma > 0.0 and landmarks <= min(int(self.D), count)
            fits &= count <= landmarks + int(self.B)
        else:
            fits &= landmarks == 0 and count <= self._sample()
        fits &= gamma >= 0.0 and bool(np.isfinite(gamma))
        fits &= bool(np.isin(alive, (0, 1)).all() and alive.any())
        fits &= bool(
            np.isfinite(state["values"]).all() and np.isfinite(state["sizes"]).all()
        )
        # The random numbers take keys of two words of 32 bits.
        fits &= bool((state["key"] < 2**32).all() and (state["trust"] >= 0.0).all())
        return bool(fits) and super()._can_continue()

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: its values times the kept rows."""
        del columns
        return self._slots() * (
            values + (2.0 + int(self.R)) * score_columns(classes) + 20.0
        )

    def stream_numbers(
        self, columns: int, classes: int, values: float, rows: int
    ) -> float:
        """Return how many numbers `rows` rows go through: a third of them is stored at first."""
        del columns
        kept = min(float(self._slots()), int(self.D) + rows / 3.0)
        outputs = score_columns(classes)
        a_row = values + (2.0 + int(self.R)) * outputs + 20.0
        # All but one of the machines learn no longer than the race.
        in_race = (
            min(rows, int(self.race)) * (MACHINES - 1) * (2.0 + int(self.R)) * outputs
        )
        return kept * (rows * a_row + in_race)

    def state_bytes(self, columns: int, classes: int) -> int:
        """Return the bytes of the stored rows, if they have all features, and kernel values."""
        slots = self._slots()
        outputs = score_columns(classes)
        return int(
            8 * slots * (columns + 2 * MACHINES * outputs + MACHINES)
            + 4 * slots * slots
        )

    def check_memory(self, columns: int, classes: int) -> None:
        """Refuse rows so wide that the stored ones may not fit this machine."""
        what = f"{self._slots():,} rows of {columns:,} features may take"
        require_memory(self, self.state_bytes(columns, classes), what)

    def cheaper(self) -> str:
        """Return what to do where rows are wide or many."""
        return "take a smaller B, or project rows first, as with the transform project"

    def coefficients(self, machine: int) -> tuple[FloatArray, FloatArray]:
        """Return what a machine adds to its scores for each kept row, and what its mean adds.

        Parameters
        ----------
        machine : int
            Its kernel is the widest to the power ``2^machine``.

        Returns
        -------
        two float64 arrays of shape (outputs, kept rows)
        """
        state = self.state_
        count = int(state["counts"][0])
        now = state["alpha"][machine, :, :count]
        late = state["late"][machine, :, :count]
        return now, now - late / max(1.0, float(state["seen"][0])) ** 3

    def measures(self) -> dict[str, float]:
        """Return the shared measures, and `support_vectors`: landmarks and stored rows."""
        return {
            **super().measures(),
            "support_vectors": float(self.state_["counts"][0]),
        }
