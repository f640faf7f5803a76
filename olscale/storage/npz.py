"""NumPy archives: written piece by piece, and read safely even if damaged.

Nothing is unpickled, and no memory is allocated for unfulfilled promises of a header.
"""

import math
import zipfile
from collections.abc import Iterable
from typing import IO, Any

import numpy as np
from numpy.lib.format import (
    dtype_to_descr,
    read_array_header_1_0,
    read_array_header_2_0,
    read_magic,
    write_array_header_1_0,
)

from olscale.arrays import Array


def read_npz(file: IO[bytes]) -> dict[str, Array]:
    """Return all arrays of an archive.

    For a damaged archive, zipfile, its decompressors and NumPy raise nearly any error.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.savez(file, w=np.array([0.5, 1.0]))
    >>> read_npz(file)
    {'w': array([0.5, 1. ])}
    """
    file.seek(0)
    arrays = {}
    with np.load(file, allow_pickle=False) as archive:
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("is no archive of arrays")
        for name in archive.files:
            check_size(archive, name)
            arrays[name] = archive[name]
            if not isinstance(arrays[name], np.ndarray):
                raise ValueError(f"its member {name} is no array")
    return arrays


def check_size(arrays: np.lib.npyio.NpzFile, key: str) -> None:
    """Check an array's header against its bytes, since NumPy allocates before it reads.

    Raises
    ------
    ValueError
        If there are fewer bytes than it promises.
    """
    archive = arrays.zip
    assert archive is not None
    header = array_header(arrays, key)
    if header is not None:
        shape, dtype = header
        promised = math.prod(shape) * dtype.itemsize
        size = _member(archive, key).file_size
        if promised > size:
            raise ValueError(f"its header promises {promised} bytes, there are {size}")


def array_header(
    arrays: np.lib.npyio.NpzFile,
    key: str,
) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """Return shape and type of an array as its header promises them; None of an unknown version."""
    archive = arrays.zip
    assert archive is not None
    readers = {(1, 0): read_array_header_1_0, (2, 0): read_array_header_2_0}
    with archive.open(_member(archive, key)) as member:
        version = read_magic(member)
        # a version for named fields, which none of these arrays have
        if version not in readers:
            return None
        shape, _, dtype = readers[version](member)
    return shape, dtype


def _member(archive: zipfile.ZipFile, key: str) -> zipfile.ZipInfo:
    if key not in archive.namelist():
        key = f"{key}.npy"
    return archive.getinfo(key)


def write_member(
    archive: zipfile.ZipFile,
    name: str,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    data: Iterable[Any],
) -> None:
    """Write array `name` from consecutive stretches of bytes, without all of it in memory."""
    # a fixed date: the same arrays give the same bytes
    info = zipfile.ZipInfo(f"{name}.npy")
    info.compress_type = archive.compression
    with archive.open(info, "w", force_zip64=True) as member:
        write_array_header_1_0(
            member,
            {"descr": dtype_to_descr(dtype), "fortran_order": False, "shape": shape},
        )
        for octets in data:
            member.write(octets)
