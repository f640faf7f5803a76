"""Memory that the system provides page by page, and copies that skip empty pages.

A wide sparse model is gigabytes of weights for features that no row has had yet. Their pages take
no memory until something writes to them: reading a missing page gives the system's page of zeros.
So code that saves, copies or restores arrays handles only the blocks that have a set bit.
"""

import mmap

import numpy as np
from numpy.typing import DTypeLike, NDArray

from olscale.arrays import Array, FloatArray, IntArray

BLOCK = 256
"""Bytes of a block, the unit in which zeros are skipped.

A page of 4096 bytes with one non-zero weight is mostly zeros: after 40,000 URL-like rows the
existing pages of LOL's model (k = 60, float32) hold 478 MB, its non-zero blocks 79.
"""

_LINE = 64  # bytes of a cache line
_LEAST = 1 << 20  # bytes of an array for which skipping zeros pays
_AT_ONCE = 1 << 16  # blocks that are copied through a buffer


def aligned_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """Return zeros that begin at a cache line: a padded row of weights touches the fewest lines.

    The system provides the memory page by page on writing. `numpy.zeros` asks for huge pages, and
    the first pass over sparse rows with few features each would wait for the zeroing of all of
    them.
    """
    items = int(np.prod(shape))
    size = items * np.dtype(dtype).itemsize
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(shape, dtype)  # Windows
    # A map of no bytes is refused.
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    pages = mmap.mmap(-1, max(size, 1), flags=private)
    buffer = np.frombuffer(pages, dtype=np.uint8)
    flat = buffer[:size].view(dtype)
    return flat.reshape(shape)


def aligned_space(*shape: int) -> FloatArray:
    """Return zeros that begin at a cache line, in the memory of `numpy.zeros`.

    They are for arrays that every row reads.
    """
    size = 8 * int(np.prod(shape))
    space = np.zeros(size + _LINE, dtype=np.uint8)
    first = -space.ctypes.data % _LINE
    aligned = space[first : first + size]
    return aligned.view(np.float64).reshape(shape)


def aligned_copy(array: Array) -> Array:
    """Return a copy that begins at a cache line, in the huge pages of `numpy.empty`.

    All of it is written.
    """
    space = np.empty(array.nbytes + _LINE, dtype=np.uint8)
    first = -space.ctypes.data % _LINE
    own = space[first : first + array.nbytes]
    copy = own.view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def filled_blocks(array: Array) -> IntArray | None:
    """Return the numbers of the blocks of `BLOCK` bytes of an array that have a set bit.

    None for an array that is best handled as a unit: a small one, one with few zeros, or one that
    is not contiguous.

    Examples
    --------
    >>> wide = aligned_zeros((1000, 1000), "f8")
    >>> wide[500, 0] = -0.0
    >>> filled_blocks(wide).tolist()
    [15625]
    """
    if (
        array.nbytes < _LEAST
        or not array.flags.c_contiguous
        or BLOCK % array.itemsize
        or array.ctypes.data % 8
    ):
        return None
    from olscale.compiled.copies import mark_blocks

    data = _bytes(array)
    blocks = -(-array.nbytes // BLOCK)
    marks = np.zeros(blocks, dtype=np.bool_)
    bytes_of_words = array.nbytes // 8 * 8
    words = data[:bytes_of_words].view(np.uint64)
    mark_blocks(words, BLOCK // 8, marks)
    after_words = data[bytes_of_words:]
    marks[-1] |= bool(after_words.any())
    numbers = np.flatnonzero(marks)
    if 4 * len(numbers) <= 3 * len(marks):
        return numbers
    return None


def filled_bytes(array: Array) -> int:
    """Return how many bytes of an array are in filled blocks; all, if it is best kept whole."""
    numbers = filled_blocks(array)
    if numbers is None:
        return array.nbytes
    return len(numbers) * BLOCK


def take_blocks(array: Array, numbers: IntArray) -> Array:
    """Return copies of blocks of an array, shape (blocks, items in a block).

    Past the end of the array there are zeros.
    """
    from olscale.compiled.copies import gather_blocks

    shape = (len(numbers), BLOCK)
    blocks = np.empty(shape, dtype=np.uint8)
    gather_blocks(_bytes(array), numbers, blocks)
    return blocks.view(array.dtype)


def put_blocks(array: Array, numbers: IntArray, blocks: Array) -> None:
    """Put `blocks`, as returned by `take_blocks`, at their positions in an array."""
    from olscale.compiled.copies import scatter_blocks

    contiguous = np.ascontiguousarray(blocks)
    bytes_of_blocks = contiguous.view(np.uint8)
    scatter_blocks(_bytes(array), numbers, bytes_of_blocks)


def copy_of(array: Array) -> Array:
    """Return a copy of an array; pages without a set bit stay empty, unless the copy is plain."""
    numbers = filled_blocks(array)
    if numbers is None:
        return array.copy()
    copy = aligned_zeros(array.shape, array.dtype)
    _carry(array, copy, numbers)
    return copy


def put(array: Array, source: Array) -> None:
    """Set all of `array` to `source`, of the same shape and type, except pages zero in both."""
    numbers = filled_blocks(source)
    if numbers is None:
        stale = None
    else:
        stale = filled_blocks(array)
    if numbers is None or stale is None:
        array[...] = source
        return
    empty = np.setdiff1d(stale, numbers, assume_unique=True)
    zeros = np.zeros((len(empty), BLOCK), dtype=np.uint8)
    put_blocks(array, empty, zeros)
    _carry(source, array, numbers)


def _carry(source: Array, target: Array, numbers: IntArray) -> None:
    for start in range(0, len(numbers), _AT_ONCE):
        some = numbers[start : start + _AT_ONCE]
        blocks = take_blocks(source, some)
        put_blocks(target, some, blocks)


def _bytes(array: Array) -> NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)
