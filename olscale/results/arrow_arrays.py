"""Arrow arrays of records, from the buffers that Arrow's format lays down.

``pyarrow.array`` imports pandas at its first call, where that is installed, to ask whether it was
given a series. It takes as long as a small evaluation. The arrays have the bytes that it would give
them.

References
----------
Apache Arrow, "Columnar Format": https://arrow.apache.org/docs/format/Columnar.html
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain
from typing import Any

import numpy as np
import pyarrow as pa

from olscale.arrays import Array

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DTYPES = {"double": "float64", "float": "float32"}
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


def arrow_array(values: Sequence[Any] | Array, kind: pa.DataType) -> pa.Array:
    """Return `values`, none of which is None, as an array.

    Parameters
    ----------
    values : sequence
        Numbers, texts or times in UTC; sequences, of pairs for a map; of a struct mappings with all
        of its fields.
    kind : pyarrow.DataType
        float64, int64, bool, string, a timestamp of microseconds, or a list, map or struct of
        these.

    Examples
    --------
    >>> arrow_array([[1.5], [], [2.0, 3.0]], pa.list_(pa.float64())).to_pylist()
    [[1.5], [], [2.0, 3.0]]
    """
    if pa.types.is_string(kind):
        texts = [value.encode() for value in values]
        return _from_buffers(
            kind, values, _offsets(texts), pa.py_buffer(b"".join(texts))
        )
    if pa.types.is_struct(kind):
        fields = [
            arrow_array([value[field.name] for value in values], field.type)
            for field in kind
        ]
        return _from_buffers(kind, values, children=fields)
    if pa.types.is_map(kind):
        # A map is a list of structs of a key and an item.
        pairs = [*chain.from_iterable(values)]
        keys = arrow_array([key for key, _ in pairs], kind.key_type)
        items = arrow_array([item for _, item in pairs], kind.item_type)
        entries = _from_buffers(kind.field(0).type, pairs, children=[keys, items])
        return _from_buffers(kind, values, _offsets(values), children=[entries])
    if pa.types.is_list(kind):
        items = arrow_array(_joined(values), kind.value_type)
        return _from_buffers(kind, values, _offsets(values), children=[items])
    if pa.types.is_boolean(kind):
        # Eight values a byte, the first in the lowest bit.
        bits = np.packbits(np.asarray(values, dtype=np.bool_), bitorder="little")
        return _from_buffers(kind, values, pa.py_buffer(bits))
    dtype = np.float64 if pa.types.is_float64(kind) else np.int64
    numbers: Any = values
    if pa.types.is_timestamp(kind):
        # Whole microseconds: seconds as a float would be rounded.
        numbers = [(value - _EPOCH) // _MICROSECOND for value in values]
    return _from_buffers(kind, values, pa.py_buffer(np.asarray(numbers, dtype=dtype)))


def _from_buffers(
    kind: pa.DataType,
    values: Sequence[Any] | Array,
    *buffers: pa.Buffer,
    children: Sequence[pa.Array] = (),
) -> pa.Array:
    """Return an array of as many values; its first buffer, None, would say which are missing."""
    return pa.Array.from_buffers(
        kind, len(values), [None, *buffers], children=list(children)
    )


def _joined(parts: Sequence[Any] | Array) -> Sequence[Any]:
    if parts and all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)  # type: ignore[return-value]
    return [*chain.from_iterable(parts)]


def _offsets(parts: Sequence[Any] | Array) -> pa.Buffer:
    """Return where each of `parts` begins, and where the last ends."""
    # Offsets have 32 bits, so that many items are more than one array can have.
    ends = [*accumulate(map(len, parts), initial=0)]
    if ends[-1] > np.iinfo(np.int32).max:
        raise ValueError(
            f"a column has {ends[-1]:,} items, more than Arrow's lists and texts can number"
        )
    return pa.py_buffer(np.array(ends, dtype=np.int32))


def numbers_of(array: pa.Array) -> Array:
    """Return an array of numbers as one of NumPy, without a copy where none is missing.

    Examples
    --------
    >>> numbers_of(arrow_array([3, 1, 2], pa.int64())[1:])
    array([1, 2])
    """
    buffer = array.buffers()[1]
    if array.null_count or buffer is None:
        return array.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    dtype = np.dtype(_DTYPES.get(str(array.type), str(array.type)))
    return np.frombuffer(buffer, dtype, len(array), array.offset * dtype.itemsize)


def positions_of(ids: pa.ChunkedArray, known: pa.ChunkedArray) -> Array:
    """Return where among `known` each of `ids` is.

    Examples
    --------
    >>> known = pa.chunked_array([arrow_array(["a", "b", "c"], pa.string())])
    >>> positions_of(known[1:], known)
    array([1, 2], dtype=int32)
    """
    import pyarrow.compute as pc

    return numbers_of(pc.index_in(ids, known.combine_chunks()).combine_chunks())


def times_of(
    times: pa.Array | pa.ChunkedArray,
) -> list[datetime | None]:
    """Return times of microseconds in UTC as Python's, as `to_pylist` does.

    Examples
    --------
    >>> times_of(arrow_array([datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("us", tz="UTC")))
    [datetime.datetime(2026, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)]
    """
    numbers = times.cast(pa.int64()).to_pylist()
    return [
        None if count is None else _EPOCH + count * _MICROSECOND for count in numbers
    ]


def empty_table(schema: pa.Schema) -> pa.Table:
    """Return a table of no rows."""
    return pa.Table.from_arrays(
        [arrow_array([], field.type) for field in schema], schema=schema
    )


def check_times(times: pa.ChunkedArray) -> None:
    """Refuse times that no `datetime` can be: beyond the year 9999, or before the year 1.

    Raises
    ------
    OverflowError
        With how far it is from 1970.
    """
    import pyarrow.compute as pc

    for moment in pc.min_max(times).values():
        if moment.is_valid and not _FIRST <= moment.value <= _LAST:
            raise OverflowError(
                f"{moment.value} microseconds from 1970 are beyond the years 1 to 9999"
            )
