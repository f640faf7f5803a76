"""Class axes: where the classes of a one-vs-all learner lie in its state.

With them a shard of the classes can learn alone: `cut_classes` takes the state of a shard out of
the full state, `join_classes` puts the shards together again.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.pages import aligned_zeros, copy_of, filled_blocks
from olscale.learners.contract.capability import Capability
from olscale.learners.contract.class_weights import weighs_classes


class ClassAxis(NamedTuple):
    """The axis of a state array along which the classes lie.

    Parameters
    ----------
    axis : int
        Number of the axis.
    positions : int64 array of shape (classes, positions of a class)
        Which positions along the axis belong to each class; positions of no class are shared by
        all.
    """

    axis: int
    positions: NDArray[np.int64]


ClassAxes = Mapping[str, ClassAxis]
"""The class axis of each state array that has one; all classes share the other arrays."""


class ShardsClasses(Capability):
    """A one-vs-all learner that can learn some classes without the others, to the same bits.

    Each score column, and all that belongs to it, must not depend on the other columns, and what
    the columns share must depend on the rows alone. The loops count updates with
    `olscale.learners.contract.class_shards.count_update`. `olscale.testing` checks the claim.
    """

    @abstractmethod
    def class_axes(self, outputs: int) -> ClassAxes | None:
        """Return where the classes of a state with `outputs` score columns lie, or None.

        None says that the classes depend on each other.
        """


def class_axes(learner: object, outputs: int) -> ClassAxes | None:
    """Return the class axes of `learner`, or None if its classes cannot be learned separately.

    Weights of classes come from the labels of all classes, which a shard does not have.
    """
    # Weights by class need the counts of all classes.
    if not isinstance(learner, ShardsClasses) or weighs_classes(learner):
        return None
    return learner.class_axes(outputs)


def class_axis(axis: int, classes: int, each: int = 1) -> ClassAxis:
    """Return the axis of an array with `each` consecutive positions per class, in class order.

    Examples
    --------
    >>> class_axis(0, classes=3, each=2).positions.tolist()
    [[0, 1], [2, 3], [4, 5]]
    """
    positions = np.arange(classes * each, dtype=np.int64)
    return ClassAxis(axis, positions.reshape(classes, each))


def cut_classes(
    state: Mapping[str, NDArray[Any]], axes: ClassAxes, part: ClassAxes, classes: range
) -> dict[str, NDArray[Any]]:
    """Return the state of a shard.

    Parameters
    ----------
    state : dict of str to ndarray
        State of the full learner.
    whole, part : ClassAxes
        Class axes of the full learner and of the shard.
    classes : range
        Classes of the shard.

    Examples
    --------
    >>> state = {"seen": np.array([7]), "W": np.array([[1.0, 2.0, 3.0]])}
    >>> cut = cut_classes(state, {"W": class_axis(1, 3)}, {"W": class_axis(1, 2)}, range(1, 3))
    >>> cut["W"].tolist(), cut["seen"].tolist()
    ([[2.0, 3.0]], [7])
    """
    cut = {name: copy_of(array) for name, array in state.items() if name not in axes}
    for name, (axis, positions) in axes.items():
        array = state[name]
        shared = np.setdiff1d(np.arange(array.shape[axis]), positions)
        own = part[name].positions
        size = own.size + len(shared)
        order = np.empty(size, dtype=np.int64)
        # The part keeps the layout that a learner of so many classes would have.
        order[own] = positions[classes.start : classes.stop]
        elsewhere = np.setdiff1d(np.arange(size), own)
        order[elsewhere] = shared
        filled = filled_blocks(array)
        # a wide model has no page at its start
        if filled is not None and not len(filled):
            shape = (*array.shape[:axis], size, *array.shape[axis + 1 :])
            cut[name] = aligned_zeros(shape, array.dtype)
        else:
            cut[name] = np.ascontiguousarray(np.take(array, order, axis))
    return cut


def join_classes(
    states: Sequence[Mapping[str, NDArray[Any]]],
    axes: ClassAxes,
    parts: Sequence[ClassAxes],
) -> dict[str, NDArray[Any]]:
    """Return the state of the full learner from those of its shards, in the order of classes.

    What the classes share is taken from the first shard.

    Examples
    --------
    >>> states = [{"W": np.array([[1.0]])}, {"W": np.array([[2.0, 3.0]])}]
    >>> parts = [{"W": class_axis(1, 1)}, {"W": class_axis(1, 2)}]
    >>> join_classes(states, {"W": class_axis(1, 3)}, parts)
    {'W': array([[1., 2., 3.]])}
    """
    joined = {name: array.copy() for name, array in states[0].items()}
    for name, (axis, positions) in axes.items():
        first = states[0][name]
        size = positions.size + first.shape[axis] - parts[0][name].positions.size
        shape = (*first.shape[:axis], size, *first.shape[axis + 1 :])
        # Views with the class axis in front: filling them fills the array.
        joined[name] = np.empty(shape, dtype=first.dtype)
        target = np.moveaxis(joined[name], axis, 0)
        sizes = ((size, positions), (first.shape[axis], parts[0][name].positions))
        # Positions of what all classes share, in the array of all and in that of the first part.
        shared, shared_before = (np.setdiff1d(np.arange(n), own) for n, own in sizes)
        target[shared] = np.moveaxis(first, axis, 0)[shared_before]
        start = 0
        for state, part in zip(states, parts, strict=True):
            own = part[name].positions
            stop = start + len(own)
            target[positions[start:stop]] = np.moveaxis(state[name], axis, 0)[own]
            start = stop
    return joined
