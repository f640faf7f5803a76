"""The random budget perceptron (Cavallanti, Cesa-Bianchi and Gentile 2007).

The row's number decides which support vector makes room, so that any split of a stream has the same
victims.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from olscale.compiled.decorator import nested
from olscale.compiled.philox import philox
from olscale.compiled.support_vectors import take_out
from olscale.learners.contract.learner import State
from olscale.learners.contract.parameters import Whole, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.kernel.kernel_learner import KernelLearner
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add


@nested
def random_slot(model: Any, row: Any) -> Any:
    """Return a slot in use, each with equal probability."""
    t = np.uint64(row.t)
    zero = np.uint64(0)
    key = model.memory[0]
    low = t & np.uint64(0xFFFFFFFF)
    high = t >> np.uint64(32)
    first_key = np.uint64(key[0])
    second_key = np.uint64(key[1])
    word = philox(low, high, zero, zero, first_key, second_key)[0]
    # The high half of the product: a division by 2^32, which needs no modulo.
    count = np.uint64(model.support.counts[0])
    return np.int64((word * count) >> np.uint64(32))


class RandomVictims(KernelLearner):
    """Base of the learners that draw victims, from the parameter `seed` and the run's entropy."""

    memory: ClassVar[int] = 2

    def _allocate(self, columns: int, outputs: int) -> State:
        state = super()._allocate(columns, outputs)
        state["memory"][0] = self._random().integers(0, 2**32, 2)
        return state


class RBPRule(NamedTuple):
    """Budget `B`."""

    B: int


@learns(RBPRule, weighted=True)
def learn_rbp(rule: Any, model: Any, row: Any) -> bool:
    """Add a row that is predicted wrongly, replacing a random vector when the budget is spent."""
    support = model.support
    moved = False
    for c in range(row.f.shape[0]):
        if row.wrong[c]:
            row.step[c] = row.weight * row.target[c]
        else:
            row.step[c] = 0.0
        moved |= row.step[c] != 0.0
    if moved:
        slot = support.counts[0]
        if slot == rule.B:
            slot = random_slot(model, row)
            take_out(support, slot)
        add(model, row, slot)
    return moved


class RBP(RandomVictims, WeightedClassifier):
    """The random budget perceptron: the kernel perceptron with `B` support vectors.

    One of them is replaced at random when the budget is spent.

    A row that is predicted wrongly is added with ``alpha = y``; when the budget is spent it
    replaces a vector drawn with equal probability.

    Notes
    -----
    State: ``B (d + outputs)`` numbers for d features that the vectors have. Cost of a row: O(B d),
    or nnz for d. Max-score: +1 for the class, -1 for its best rival.

    The victim is drawn by a generator of the seed and the row's number (Philox), so cuts and
    resumes agree; other programs draw other victims, and agree on average only.

    A row's weight multiplies its step, as in `kernel_perceptron`; the victim is drawn with equal
    probability.

    References
    ----------
    G. Cavallanti, N. Cesa-Bianchi, C. Gentile, Tracking the best hyperplane with a simple budget
    perceptron, Machine Learning 69, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> RBP(B=8).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "rbp"
    rule_type = RBPRule
    numbers_per_second = 2.4e9
    kept_share = 0.2

    B: int = param(100, Whole(1), "Most support vectors.")
    seed: int = param(
        0,
        Whole(0),
        "Seed of the victims; the seed and number of the permutation count too.",
    )
