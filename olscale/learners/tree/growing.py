"""Room for what trees grow: more leaves, or more values of nominal columns in each."""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from olscale.learners.contract.learner import State
from olscale.learners.tree.nominal_columns import KnowsNominal
from olscale.learners.tree.value_counts import with_values

_NO_VALUES = np.zeros(1, dtype=np.int64)


class GrowsLeaves(KnowsNominal):
    """Base of learners whose arrays of leaves, and of values of nominal columns, grow by need."""

    @abstractmethod
    def _check_room(
        self, columns: int, classes: int, leaves: int, values: int = 0
    ) -> None:
        """Raise `ParameterError` where so many leaves, with so many `values`, exceed the memory."""

    @abstractmethod
    def _more_leaves(self, state: State, values: int) -> State:
        """Return the arrays with room for more leaves, which have so many `values`."""

    def _no_spans(self) -> NDArray[np.int64]:
        """Return a place for how many values of each nominal column a row needs."""
        return np.zeros(len(self.nominal_columns(self._columns)), dtype=np.int64)

    def _make_room(self, state: State, spans: NDArray[np.int64]) -> None:
        """Enlarge the trees: for so many values of nominal columns, or else for more leaves."""
        larger = with_values(state, spans)
        if larger:
            values = int(larger["value_starts"][-1])
            slots = len(state["counts"])
            self._check_room(self._columns, self._classes, slots, values)
        else:
            values = int(state.get("value_starts", _NO_VALUES)[-1])
            larger = self._more_leaves(state, values)
        state.update(larger)
