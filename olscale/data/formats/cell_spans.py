"""Cells of text as positions in a buffer: the distinct ones among them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def different_cells(
    buffer: NDArray[np.uint8], spans: NDArray[np.int32]
) -> tuple[list[str], NDArray[Any]]:
    """Return the distinct cells in order of first appearance, and the number of each cell's.

    Parameters
    ----------
    buffer : ndarray of uint8
        UTF-8 text.
    spans : ndarray of shape (cells, 2)
        First byte and end of each.
    """
    import pyarrow

    from olscale.data.formats._table_loop import gather_cells

    offsets = np.zeros(len(spans) + 1, dtype=np.int32)
    np.cumsum(spans[:, 1] - spans[:, 0], out=offsets[1:])
    data = np.empty(offsets[-1], dtype=np.uint8)
    gather_cells(buffer, spans, offsets, data)
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)]
    coded = pyarrow.Array.from_buffers(pyarrow.binary(), len(spans), buffers).dictionary_encode()
    return [cell.decode() for cell in coded.dictionary.to_pylist()], codes_of(coded)


def codes_of(coded: Any) -> NDArray[np.int32]:
    """Return the dictionary entry of each item of an encoded array without missing items.

    Arrow's ``to_numpy`` imports pandas if it is installed, which takes longer than reading 30 MB of
    text.
    """
    items = coded.indices
    return np.frombuffer(
        items.buffers()[1], dtype=np.int32, count=len(items), offset=4 * items.offset
    )
