"""The arrays in which leaves count the values of nominal columns, and how nodes refer to these."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from olscale.compiled.decorator import INLINED, inlined
from olscale.compiled.optional import Loop, only_with
from olscale.compiled.row_layout import is_tuple_of
from olscale.learners.contract.learner import FloatArray, State

MOST_VALUES = 1 << 16
"""Codes of values are below this."""

NO_BRANCH = 0
"""In place of the child of a test that ends a chain: no node has the root below it."""

FOLLOWS = -1
"""In place of the slot of a node that continues the test of the node before it."""

NO_COLUMNS = np.zeros(0, dtype=np.int64)
"""The numbers of the nominal columns where all are numeric."""

# Numbers of features from here down are nominal columns; -1 is a leaf.
_LAST_NUMERIC = -2
LEAST_ROOM = 2
"""Values of a nominal column for which there is room before the first row."""


class ValueCounts(NamedTuple):
    """What leaves count of nominal columns.

    Parameters
    ----------
    nominal : int64 array of shape (nominal columns,)
        Numbers of the columns, ascending.
    value_starts : int64 array of shape (nominal columns + 1,)
        Where the values of each begin in `value_counts`.
    value_counts : float64 array of shape (slots, classes, values)
        Weight of the rows of each class and value since the leaf began.
    value_totals : float64 array of shape (slots, classes, nominal columns)
        Weight of those of them that have a value.
    value_spans : int64 array of shape (slots, classes, nominal columns)
        One more than the greatest code among them.
    """

    nominal: NDArray[np.int64]
    value_starts: NDArray[np.int64]
    value_counts: FloatArray
    value_totals: FloatArray
    value_spans: NDArray[np.int64]


def empty_value_counts(
    nominal: NDArray[np.int64], classes: int, slots: int, rooms: Sequence[int] = ()
) -> State:
    """Return the arrays for leaves without rows, with room for so many values of each column.

    No arrays are returned for no columns: trees of numeric features are stored without them.

    Examples
    --------
    >>> arrays = empty_value_counts(np.array([3, 5]), classes=2, slots=4, rooms=[8, 2])
    >>> arrays["value_counts"].shape, arrays["value_starts"].tolist()
    ((4, 2, 10), [0, 8, 10])
    """
    columns = len(nominal)
    if columns == 0:
        return {}
    starts = np.zeros(columns + 1, dtype=np.int64)
    starts[1:] = np.cumsum(rooms or columns * [LEAST_ROOM])
    shape = (slots, classes, columns)
    return {
        "nominal": nominal.copy(),
        "value_starts": starts,
        "value_counts": np.zeros((slots, classes, starts[-1])),
        "value_totals": np.zeros(shape),
        "value_spans": np.zeros(shape, dtype=np.int64),
    }


def value_counts_of(state: Mapping[str, NDArray[Any]]) -> Any:
    """Return the counts of these arrays; nothing where no column is nominal."""
    if "nominal" not in state:
        return ()
    return ValueCounts(**{name: state[name] for name in ValueCounts._fields})


def of_nominal(otherwise: Any = None) -> Callable[[Loop], Loop]:
    """Make a primitive, for compiled loops only, whose first argument are the counts of values.

    For trees without nominal columns it is the constant `otherwise`.
    """
    return only_with(ValueCounts, otherwise)


def by_columns(loops: Callable[..., Any]) -> Callable[..., Any]:
    """Make a primitive, for compiled loops only, from its loops without and with nominal columns.

    `loops` is called with numba's types of the arguments, the tree first, and returns the loops.
    """

    @wraps(loops)
    def primitive(*arguments: Any) -> Any:
        raise TypeError("for compiled loops only")

    @overload(primitive, strict=False, jit_options=INLINED)
    def choose(tree: types.Type, *others: types.Type) -> Callable[..., Any]:
        numeric, nominal = loops(tree, *others)
        kinds = dict(zip(tree.fields, tree.types, strict=True))
        is_nominal = is_tuple_of(kinds["values"], ValueCounts)
        loop: Callable[..., Any] = nominal if is_nominal else numeric
        return loop

    return primitive


@of_nominal(False)
def has_nominal(values: ValueCounts) -> bool:
    """Return whether there are nominal columns."""
    return True


@of_nominal(-1)
def nominal_place(values: ValueCounts, j: int) -> int:
    """Return the place of column `j` among the nominal ones, -1 if it is numeric."""
    for k in range(values.nominal.shape[0]):
        if values.nominal[k] == j:
            return k
    return -1


def with_slots(state: Mapping[str, NDArray[Any]], slots: int) -> State:
    """Return the arrays with room for so many slots."""
    values = value_counts_of(state)
    if not values:
        return {}
    classes = state["counts"].shape[1]
    rooms = np.diff(values.value_starts).tolist()
    larger = empty_value_counts(values.nominal, classes, slots, rooms)
    for name in larger.keys() - {"nominal", "value_starts"}:
        larger[name][: len(state[name])] = state[name]
    return larger


def with_values(state: Mapping[str, NDArray[Any]], spans: NDArray[np.int64]) -> State:
    """Return the arrays with room for so many values of each column; empty if there is room.

    The room of a column doubles, so that its counts are copied a few times only.
    """
    values = value_counts_of(state)
    if not values:
        return {}
    rooms = np.diff(values.value_starts)
    if (spans <= rooms).all():
        return {}
    for k in np.flatnonzero(spans > rooms).tolist():
        rooms[k] = 2 ** int(spans[k] - 1).bit_length()
    slots, classes, _ = values.value_counts.shape
    larger = empty_value_counts(values.nominal, classes, slots, rooms.tolist())
    starts = larger["value_starts"]
    # Column by column: with other room each one's values begin elsewhere.
    for k in range(len(starts) - 1):
        begin, stop = values.value_starts[k : k + 2]
        place = slice(starts[k], starts[k] + stop - begin)
        larger["value_counts"][:, :, place] = values.value_counts[:, :, begin:stop]
    larger["value_totals"][:] = values.value_totals
    larger["value_spans"][:] = values.value_spans
    return larger


def with_room_of(
    state: Mapping[str, NDArray[Any]], other: Mapping[str, NDArray[Any]]
) -> State:
    """Return the arrays with the room for values of `other`; empty if it is none of theirs."""
    starts = other.get("value_starts")
    if "nominal" not in state or starts is None:
        return {}
    if starts.shape != state["value_starts"].shape or starts.dtype != np.int64:
        return {}
    rooms = np.diff(starts)
    # No more than are in memory already.
    has_room = other.get("value_counts", starts).shape[-1]
    if starts[0] != 0 or (rooms < 1).any() or rooms.sum() != has_room:
        return {}
    return with_values(state, rooms)


def are_value_counts(values: ValueCounts | tuple[()]) -> bool:
    """Return whether loops over the values of leaves stay within the arrays."""
    if not values:
        return True
    rooms = np.diff(values.value_starts)
    return bool(
        values.value_starts[0] == 0
        and (rooms >= 1).all()
        and rooms.sum() == values.value_counts.shape[2]
        and (values.value_spans >= 0).all()
        and (values.value_spans <= rooms).all()
    )


@inlined
def values_test(column: int) -> int:
    """Return what stands in place of the feature of a node that tests a nominal column."""
    return _LAST_NUMERIC - column


@inlined
def column_of_test(feature: int) -> int:
    """Return the column of a node that tests a nominal one."""
    return _LAST_NUMERIC - feature


def is_end_of_values(feature: Any, child: Any) -> Any:
    """Return which nodes end a chain of tests: values that have no branch stop there."""
    return (feature <= _LAST_NUMERIC) & (child == NO_BRANCH)


def are_tests(
    feature: NDArray[np.int64], values: ValueCounts | tuple[()], columns: int
) -> bool:
    """Return whether all nodes are leaves or test a column that there is."""
    tested = _LAST_NUMERIC - feature[feature <= _LAST_NUMERIC]
    nominal = values.nominal if values else ()
    return bool((feature < columns).all() and np.isin(tested, nominal).all())
