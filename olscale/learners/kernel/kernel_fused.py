"""Settings of a kernel learner in one pass: products with shared vectors are computed once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, read_only, read_only_csr, rows_of, values_of
from olscale.compiled.support_arrays import (
    empty_support,
    grow_places,
    grow_slots,
    support_vectors,
)
from olscale.compiled.support_vectors import SupportVectors
from olscale.learners.contract.fused_settings import FusedSettings
from olscale.learners.contract.learner import FloatArray, Learner
from olscale.learners.kernel.shared_values import keep_vectors, no_values, set_values

_ROWS = 64
"""Rows whose values are computed before the settings learn; until then all share them."""

_LEAST_VECTORS = 256
"""Vectors before which the share of common vectors cannot be estimated."""

_VALUE = 0.4
_FINISH = 5.0
_TAKE = 5.0
_LEAST_GAIN = 1.2
"""Time for one vector to compute, to finish and to learn a value, and the gain that sharing needs.

The first is for a value of the row, the second to finish what `raw_row` makes of it, the third for
a setting to take the known values and to learn; the last is how much quicker than alone all must
be.
"""


# Only for learners that never give vectors up: with a budget of 100, victims and replacements are
# each setting's own, and sharing was 0.4 to 1.3 times as fast as each setting alone.
class FusedVectors(FusedSettings):
    """Settings of a kernel learner: values of a few rows with all vectors are computed once.

    Then each setting learns. Each keeps its own vectors too, and learns from the rows as it does
    alone. Where settings have too few vectors in common, and after a checkpoint, which does not say
    which are the same, all continue alone.

    Examples
    --------
    >>> from olscale.learners.kernel.norma import NORMA
    >>> learners = [NORMA(eta=eta) for eta in (0.1, 0.5)]
    >>> for learner in learners:
    ...     learner.begin(columns=2, classes=2)
    >>> scores = FusedVectors(learners).learn(np.eye(2), np.array([0, 1]))
    >>> [float(mine[1, 0].round(3)) for mine in scores]
    [-0.037, -0.184]
    """

    def __init__(self, learners: Sequence[Learner]) -> None:
        # all have support vectors: `grid_key` guarantees it
        self._learners: list[Any] = list(learners)
        self.task = self._learners[0].task
        for learner in learners:
            learner.state_ = {
                name: np.require(array, requirements="W")
                for name, array in learner.state_.items()
            }
        kernels = [learner._model().kernel for learner in self._learners]
        self._kernel = kernels[0]
        self._finished = len(set(kernels)) == 1
        self._alone = any(learner.state_["counts"][0] for learner in self._learners)
        self._arrays: dict[str, NDArray[Any]] = empty_support(
            len(learners[0].state_["place"]), _ROWS, 0
        )
        self._shared = [no_values(_ROWS) for _ in learners]
        self._ready = [learner._ready(learning=True) for learner in self._learners]
        self._failed: dict[int, Exception] = {}

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> list[FloatArray | Exception]:
        """Predict, then update, row by row; return each learner's scores, or its error.

        The scores of a row are those before its update.
        """
        rows = read_only_csr(X)
        y = read_only(y)
        count = rows_of(X)
        scores = [np.empty((count, learner._outputs)) for learner in self._learners]
        start = 0
        usable = True
        # No rows are one part too: so loops are compiled before a clock starts.
        while start < max(1, count):
            if self._alone:
                stop = count
            else:
                stop = min(start + _ROWS, count)
            part = slice(start, stop)
            few = CSR(rows.indptr[start : stop + 1], *rows[1:])
            own_scores = [setting_scores[part] for setting_scores in scores]
            own_weights = None if weights is None else weights[part]
            if not usable:
                for setting_scores in own_scores:
                    setting_scores[:] = np.nan
            elif self._alone:
                self._go(few, y[part], own_scores, own_weights)
            else:
                usable = self._learn(few, y[part], own_scores, own_weights)
            start = max(1, stop)
        return [self._failed.get(n, own_scores) for n, own_scores in enumerate(scores)]

    def _learn(
        self,
        rows: CSR,
        y: NDArray[Any],
        scores: Sequence[FloatArray],
        weights: FloatArray | None,
    ) -> bool:
        """Learn from a few rows; False if one cannot be used."""
        count = rows_of(rows)
        self._make_room(count, int(rows.indptr[-1] - rows.indptr[0]))
        slots = len(self._arrays["sizes"])
        places = self._arrays["values"].shape[1]
        came = np.empty(count, np.int64)
        values = np.empty((count, slots))
        space = np.empty(places, np.int32), np.empty(places)
        limits = self._learners[0].norm_limits()
        usable = set_values(
            rows,
            self._support(),
            self._kernel,
            self._finished,
            limits,
            *space,
            came,
            values,
        )
        self._shared = [
            learner._replace(values=values, finished=self._finished, came=came)
            for learner in self._shared
        ]
        self._go(rows, y, scores, weights)
        self._keep(values_of(rows) / max(1, count))
        return usable == count

    def _go(
        self,
        rows: CSR,
        y: NDArray[Any],
        scores: Sequence[FloatArray],
        weights: FloatArray | None,
    ) -> None:
        """Let every setting that has not failed learn the rows; an error ends its own one."""
        for n, learner in enumerate(self._learners):
            if n not in self._failed:
                try:
                    ready = self._ready[n]
                    shared = self._shared[n]
                    self._ready[n] = learner._go(
                        ready, rows, y, shared, scores[n], weights
                    )
                except Exception as error:
                    self._failed[n] = error

    def _make_room(self, rows: int, entries: int) -> None:
        arrays = self._arrays
        if len(arrays["feature"]) - arrays["counts"][1] < min(
            entries, len(arrays["place"]) - arrays["counts"][1]
        ):
            self._arrays = arrays = grow_places(arrays, entries)
        while len(self._arrays["sizes"]) < np.count_nonzero(arrays["born"] >= 0) + rows:
            self._arrays = grow_slots(self._arrays)
        for n, learner in enumerate(self._learners):
            shared = self._shared[n]
            most = int(learner.state_["counts"][0]) + rows
            if len(shared.at) < most:
                at, born = (
                    np.append(array, np.zeros(most, array.dtype))
                    for array in (shared.at, shared.born)
                )
                self._shared[n] = shared._replace(at=at, born=born)

    def _support(self) -> SupportVectors:
        return support_vectors(self._arrays)

    def _keep(self, values: float) -> None:
        """Keep the vectors of a setting.

        Where that does not pay for rows of so many values, let all settings continue alone.
        """
        own = [
            shared.at[: shared.noted[0]]
            for n, shared in enumerate(self._shared)
            if n not in self._failed
        ]
        used = np.zeros(len(self._arrays["sizes"]), np.bool_)
        for at in own:
            used[at] = True
        keep_vectors(self._support(), used)
        vectors = np.count_nonzero(used)
        total = sum(map(len, own))
        if vectors < _LEAST_VECTORS:
            return
        products = _VALUE * values
        finish = (vectors if self._finished else total) * _FINISH
        if total * (products + _FINISH) < _LEAST_GAIN * (
            vectors * products + finish + total * _TAKE
        ):
            self._alone = True
            self._arrays = {}
            self._shared = [no_values() for _ in self._shared]

    def release(self) -> None:
        """Do nothing: the learners are up to date."""
