"""Where an example of Vowpal Wabbit keeps its features, so that compiled code can write them.

The package takes features from Python one by one, as tuples, which takes longer than learning from
them. An example keeps the features of a namespace in two growing arrays, of float32 values and
uint64 indices, each with pointers to its begin, end and the end of its space, and beside them the
sum of the squared values [1]_. `layout` searches a new example for features that it has just been
given through Python, fills it until it grows, to see that the third pointer is the end of the
space, and then lets Python read features that were written into its memory. Where one of these
does not fit, there is no layout, and features go through Python.

Nothing is written beyond the space that Vowpal Wabbit itself has reserved for an array.

References
----------
.. [1] ``features`` in ``vowpalwabbit/core/include/vw/core/feature_group.h`` and ``v_array`` in
   ``v_array.h`` of Vowpal Wabbit 9.
"""

import os
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import carray, types
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, read_only
from olscale.compiled.decorator import compiled
from olscale.compiled.intrinsics import intrinsic

NAMESPACE = 32
"""The namespace without a name, a space."""

# An object of pybind11: count of references, type, and then the pointer.
_POINTER_WORD = 2
_SEARCHED_BYTES = 1 << 16
# Two lengths: what stands at the same places for both is no accident.
_PROBES = (5, 11)
_MOST_SPACE = 1_000


class Layout(NamedTuple):
    """Distances in bytes from the start of an example.

    Parameters
    ----------
    values, indices : int
        The pointers of the two arrays of `NAMESPACE`.
    squares : int
        The sum of the squared values.
    """

    values: int
    indices: int
    squares: int


def address_of(example: Any) -> int:
    """Return the address of the C++ object behind `example`, which pybind11 keeps in its object."""
    words = np.frombuffer(_memory(id(example), type(example).__basicsize__), np.uint64)
    return int(words[_POINTER_WORD])


@cache
def layout() -> Layout | None:
    """Return the layout of examples of the installed vowpalwabbit; None if it is another one."""
    try:
        layouts = {_searched(count) for count in _PROBES}
        if len(layouts) != 1:
            return None
        only = layouts.pop()
        if only is None or not (_has_ends(only) and _is_right(only)):
            return None
        return only
    except (OSError, IndexError, OverflowError, ValueError):
        # Systems may refuse to read a process's memory as a file.
        return None


def _memory(address: int, count: int) -> bytes:
    """Return bytes of this process's memory; `OSError` rather than a crash if there are none."""
    file = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        return os.pread(file, count, address)
    finally:
        os.close(file)


def _probe(count: int) -> tuple[Any, Any, NDArray[np.float32], NDArray[np.uint64]]:
    """Return a workspace with an example of `count` features, and their values and indices."""
    import pylibvw

    workspace = pylibvw.vw(["--quiet", "--no_stdin", "-b", "8"])
    example = pylibvw.example(workspace, workspace.lSimple)
    example.push_namespace(NAMESPACE)
    # Numbers that memory is unlikely to hold by chance.
    values = (np.arange(1, count + 1) * 1.37).astype(np.float32)
    indices = (np.arange(count) * 1_001 + 17).astype(np.uint64)
    push(workspace, example, indices.tolist(), values.tolist())
    return workspace, example, values, indices


def push(workspace: Any, example: Any, indices: list[int], values: list[float]) -> None:
    """Add features to an example through Python."""
    features = [*zip(indices, values, strict=True)]
    example.push_feature_list(workspace, NAMESPACE, 0, features)


def _searched(count: int) -> Layout | None:
    """Return where an example of `count` features has them; None if there is no place for each.

    The first is its own: memory behind it may be that of a freed example with the same pointers.
    """
    workspace, example, values, indices = _probe(count)
    words = np.frombuffer(_memory(address_of(example), _SEARCHED_BYTES), np.uint64)
    lengths = words[1:] - words[:-1]
    places = []
    for array in (values, indices):
        starts = np.flatnonzero(lengths == array.nbytes)
        same = [start for start in starts if _holds(int(words[start]), array)]
        places.append([8 * int(start) for start in same])
    squares = np.float32(example.sum_feat_sq(NAMESPACE))
    places.append((4 * np.flatnonzero(words.view(np.float32) == squares)).tolist())
    workspace.finish()
    if not all(places):
        return None
    return Layout(*map(min, places))


def _holds(address: int, array: NDArray[Any]) -> bool:
    try:
        return _memory(address, array.nbytes) == array.tobytes()
    except (OSError, OverflowError):
        return False


def _has_ends(layout: Layout) -> bool:
    """Return whether both arrays move where a feature is added behind the third pointer."""
    workspace, example, values, _ = _probe(min(_PROBES))
    count = len(values)
    first = _spaces(example, layout)
    begin, _, end = (int(pointer) for pointer in first[0])
    space = (end - begin) // values.itemsize
    if not count <= space <= _MOST_SPACE:
        workspace.finish()
        return False
    push(workspace, example, [1] * (space - count), [1.0] * (space - count))
    filled = _spaces(example, layout)
    push(workspace, example, [1], [1.0])
    grown = _spaces(example, layout)
    workspace.finish()
    return (
        np.array_equal(filled[:, ::2], first[:, ::2])
        and np.array_equal(filled[:, 1], filled[:, 2])
        and bool(np.all(grown[:, 2] - grown[:, 0] > filled[:, 2] - filled[:, 0]))
    )


def _spaces(example: Any, layout: Layout) -> NDArray[np.uint64]:
    """Return the pointers of the two arrays of an example, a row each."""
    address = address_of(example)
    pointers = [_memory(address + at, 24) for at in (layout.values, layout.indices)]
    return np.frombuffer(b"".join(pointers), np.uint64).reshape(2, 3)


def _is_right(layout: Layout) -> bool:
    """Return whether Python reads from an example the features that are written into it."""
    workspace, example, _, _ = _probe(max(_PROBES))
    values = np.array([0.5, 0.0, -3.0, 1e-3])
    rows = CSR(
        read_only(np.array([0, 4])),
        read_only(np.array([7, 8, 3, 2**20], dtype=np.int32)),
        read_only(values),
    )
    addresses = np.array([address_of(example)], dtype=np.int64)
    lacking = write_rows(addresses, *layout, *rows, 0)
    written = [
        (example.feature(NAMESPACE, i), example.feature_weight(NAMESPACE, i))
        for i in range(example.num_features_in(NAMESPACE))
    ]
    squares = example.sum_feat_sq(NAMESPACE)
    workspace.finish()
    expected = [(7, 0.5), (3, -3.0), (2**20, float(np.float32(1e-3)))]
    return lacking == 0 and written == expected and 9.25 <= squares < 9.251


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:
    """Return an integer as a pointer."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), codegen


@compiled
def write_rows(  # type: ignore[no-untyped-def]
    examples,
    values_at,
    indices_at,
    squares_at,
    indptr,
    indices,
    data,
    first,
):
    """Write the features of CSR rows from `first` on into `examples`, a row into each.

    Zeros are left out, as Vowpal Wabbit's reader of text does.

    Parameters
    ----------
    examples : ndarray of int64
        Their addresses.
    values_at, indices_at, squares_at : int
        The `Layout`.
    indptr, indices, data : ndarray
        The rows.
    first : int

    Returns
    -------
    int
        0, or the features that an example lacks space for; nothing is written then.
    """
    for row in range(first, first + len(examples)):
        entries = indptr[row + 1] - indptr[row]
        example = examples[row - first]
        space = carray(_pointer(example + values_at), (3,), np.int64)
        other_space = carray(_pointer(example + indices_at), (3,), np.int64)
        # All are looked at before any is written: the caller makes room and begins anew.
        if (
            space[0] + 4 * entries > space[2]
            or other_space[0] + 8 * entries > other_space[2]
        ):
            return entries
    for row in range(first, first + len(examples)):
        example = examples[row - first]
        value_ends = carray(_pointer(example + values_at), (3,), np.int64)
        index_ends = carray(_pointer(example + indices_at), (3,), np.int64)
        entries = indptr[row + 1] - indptr[row]
        values = carray(_pointer(value_ends[0]), (entries,), np.float32)
        places = carray(_pointer(index_ends[0]), (entries,), np.uint64)
        squares = np.float32(0.0)
        count = 0
        for entry in range(indptr[row], indptr[row + 1]):
            value = np.float32(data[entry])
            if value != 0.0:
                values[count] = value
                places[count] = indices[entry]
                # Rounded at each step, as Vowpal Wabbit sums floats.
                squares = np.float32(squares + value * value)
                count += 1
        value_ends[1] = value_ends[0] + 4 * count
        index_ends[1] = index_ends[0] + 8 * count
        carray(_pointer(example + squares_at), (1,), np.float32)[0] = squares
    return 0
