"""What is zero and untouched in a wide array is found, copied, restored and written as next to nothing, to the same bits."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from olscale.compiled import pages
from olscale.compiled.pages import (
    BLOCK,
    aligned_zeros,
    copy_of,
    filled_blocks,
    filled_bytes,
    put,
    put_blocks,
    take_blocks,
)
from olscale.storage.checked_arrays import read_arrays, write_arrays
from olscale.system.memory import resident_bytes

WIDE = 1 << 28  # bytes


def _plain(array: NDArray[Any]) -> list[int]:
    """Return the blocks with a bit set, by looking at every byte."""
    data = np.zeros(-(-array.nbytes // BLOCK) * BLOCK, dtype=np.uint8)
    data[: array.nbytes] = np.frombuffer(array.tobytes(), dtype=np.uint8)
    return np.flatnonzero(data.reshape(-1, BLOCK).any(axis=1)).tolist()


@st.composite
def arrays(draw: st.DrawFn) -> NDArray[Any]:
    """Return arrays with few bits set, of several kinds of memory, ends and places; some are read before."""
    dtype = np.dtype(draw(st.sampled_from(["f8", "f4", "i1"])))
    size = (90_000 + draw(st.integers(0, 3 * BLOCK))) // dtype.itemsize
    offset = draw(st.sampled_from([0, 1, 2, 8, 511, 512, 600]))
    whole = (aligned_zeros if draw(st.booleans()) else np.zeros)(
        (offset + size,), dtype
    )  # type: ignore[operator]
    array: NDArray[Any] = whole[offset:]
    assert not draw(st.booleans()) or not array.any()
    for place in draw(
        st.lists(st.integers(0, size - 1) | st.sampled_from([0, size - 1]), max_size=6)
    ):
        array[place] = (
            draw(st.sampled_from([1.0, -0.0, 5.0])) if dtype.kind == "f" else 1
        )
    return array


@pytest.mark.long
@settings(max_examples=50)
@given(arrays(), arrays())
def test_blocks_copies_and_files_have_the_bits_of_the_array(
    array: NDArray[Any], other: NDArray[Any]
) -> None:
    """What is restored into an array that had other bits as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "_LEAST", 80_000)
        numbers = filled_blocks(array)
        if array.ctypes.data % 8:
            assert numbers is None
        else:
            assert numbers is not None
            assert numbers.tolist() == _plain(array)
            again = np.zeros_like(array)
            put_blocks(again, numbers, take_blocks(array, numbers))
            assert again.tobytes() == array.tobytes()
        assert copy_of(array).tobytes() == array.tobytes()
        target = np.resize(other, array.shape).astype(array.dtype)
        put(target, array)
        assert target.tobytes() == array.tobytes()
        file = io.BytesIO()
        write_arrays(file, [("w", array), ("n", np.arange(3))])
        found = read_arrays(file)
        assert list(found) == ["w", "n"]
        assert (found["w"].dtype, found["w"].shape) == (array.dtype, array.shape)
        assert found["w"].tobytes() == array.tobytes()
        assert numbers is None or file.tell() < len(numbers) * BLOCK + 5_000


def test_full_and_small_arrays_are_handled_as_a_whole() -> None:
    full = np.ones(1 << 18)
    small = aligned_zeros((100,), "f8")
    columns = aligned_zeros((1 << 10, 1 << 10), "f8")[:, ::2]
    for array in (full, small, columns):
        assert filled_blocks(array) is None
        assert copy_of(array).tobytes() == array.tobytes()


def test_what_is_untouched_takes_no_memory() -> None:
    """Of 256 MB of zeros with three pages written to, copy, file and restored array take about three pages."""
    array = aligned_zeros((WIDE // 8,), "f8")
    array[[5, 10_000_000, -1]] = 1.0
    assert filled_bytes(array) == 3 * BLOCK  # and the loops are compiled
    put(copy_of(array), array)
    before = resident_bytes()
    copy = copy_of(array)
    file = io.BytesIO()
    restored = aligned_zeros(array.shape, "f8")
    write_arrays(file, [("w", copy)])
    put(restored, read_arrays(file)["w"])
    assert file.tell() < 10_000
    assert resident_bytes() - before < WIDE // 16
    assert restored[[5, 10_000_000, -1]].tolist() == [1.0, 1.0, 1.0]
    put(restored, aligned_zeros(array.shape, "f8"))
    assert filled_blocks(restored).tolist() == []  # type: ignore[union-attr]


def test_a_file_in_memory_is_looked_at_as_any_array(tmp_path: Path) -> None:
    np.ones(1 << 20).tofile(tmp_path / "ones")
    array = np.memmap(tmp_path / "ones", dtype="f8", mode="r")
    assert filled_blocks(array) is None
    assert copy_of(array).all()
