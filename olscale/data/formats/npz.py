"""NPZ: arrays stored by `numpy.savez`, or a sparse matrix by `scipy.sparse.save_npz`.

Recognised names: ``X_train, y_train`` with or without ``X_test, y_test``; ``x_train ...`` as Keras
writes them; ``X, y``; ``x, y``; ``data, target``; any other with `ReadOptions.arrays`.
``FILE.npz`` and ``FILE.npz#train`` read the training rows, ``FILE.npz#test`` the test rows; a file
with only test rows needs no ``#test``. A sparse matrix is called ``X``, and its labels are an array
``y`` in the same archive. Pickled objects are never loaded.
"""

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.arrays import (
    HeldArray,
    batches_of_sparse,
    choose_arrays,
    path_and_split,
    sparse_matrix,
    sparse_members,
    weights_array,
)
from olscale.data.formats.base import (
    Batch,
    ReadOptions,
    batches_of_arrays,
    split_fragment,
)
from olscale.data.formats.compression import open_raw
from olscale.errors import FormatError
from olscale.storage.npz import array_header, check_size

_NAMES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "train": (
        ("X_train", "y_train"),
        ("x_train", "y_train"),
        ("X", "y"),
        ("x", "y"),
        ("data", "target"),
    ),
    "test": (("X_test", "y_test"), ("x_test", "y_test")),
}
# Name of the matrix of an archive that holds a sparse one.
_SPARSE = "X"
_USABLE = "buifUS"
_OBJECTS = "of Python objects"
_BARE = "is a single array of NumPy, expected an archive of features and targets"


class NpzFormat:
    """Arrays stored by `numpy.savez`.

    Features and labels are `X` and `y`, `data` and `target`, or `X_train`, `y_train`, `X_test`
    and `y_test`; ``--arrays X=NAME,y=NAME`` gives other names. An error lists the arrays with
    their shapes. An archive of `scipy.sparse.save_npz` is read as `X` and needs labels:
    ``numpy.savez("new.npz", **numpy.load("old.npz"), y=y)`` adds them.
    """

    name: ClassVar[str] = "npz"
    suffixes: ClassVar[tuple[str, ...]] = (".npz",)

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether `head` is that of a zip archive whose first member is an array."""
        return head.startswith(b"PK\x03\x04") and b".npy" in head[:512]

    def splits(self, source: str) -> tuple[str, ...]:
        """Return ``("train", "test")`` if the archive also contains test arrays."""
        path, fragment = split_fragment(source)
        if fragment is not None:
            return ("train",)
        with open_raw(path) as file, _archive(path, file) as arrays:
            held = set(arrays.files)
            both = all(
                any(held.issuperset(pair) for pair in pairs)
                for pairs in _NAMES.values()
            )
            if both:
                return ("train", "test")
            return ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of one split of `source`.

        Raises
        ------
        FormatError
            When the archive is damaged, lacks the arrays, or they hold objects or do not fit
            together.
        """
        path, split = path_and_split(source)
        with open_raw(path) as file, _archive(path, file) as arrays:
            sparse = sparse_members(arrays.files)
            held = _held(source, arrays, sparse)
            features, targets = choose_arrays(source, held, _NAMES, options, split)
            counting = weights_array(source, held, options, split)
            weights = None
            if counting is not None:
                weights = _array(source, arrays, counting)
            y = None
            if targets is not None:
                y = _labels(source, arrays, targets, options)
            if sparse and features == _SPARSE:
                members = {name: _array(source, arrays, name) for name in sparse}
                X = sparse_matrix(source, members)
            else:
                X = _array(source, arrays, features)
        if isinstance(X, np.ndarray):
            yield from batches_of_arrays(source, X, y, options, weights=weights)
        else:
            yield from batches_of_sparse(source, X, y, options, weights)


def _held(
    source: str, arrays: np.lib.npyio.NpzFile, sparse: tuple[str, ...]
) -> list[HeldArray]:
    """Return the arrays of an archive; the members of a sparse matrix count as one."""
    held = [_held_array(arrays, name) for name in arrays.files if name not in sparse]
    if sparse:
        shape = _array(source, arrays, "shape")
        held.insert(0, HeldArray(_SPARSE, tuple(shape.reshape(-1).tolist())))
    return held


def _held_array(arrays: np.lib.npyio.NpzFile, name: str) -> HeldArray:
    try:
        header = array_header(arrays, name)
    except Exception:  # zipfile and NumPy raise nearly anything for damaged bytes
        return HeldArray(name, (), "(no array, or damaged)")
    if header is None:
        return HeldArray(name, (), "with fields")
    shape, dtype = header
    return HeldArray(name, shape, "" if dtype.kind in _USABLE else _kind(dtype))


def _kind(dtype: np.dtype[Any]) -> str:
    if dtype.hasobject:
        return _OBJECTS
    if dtype.names is None:
        return f"of {dtype}"
    return "with fields"


def _archive(path: str, file: BinaryIO) -> np.lib.npyio.NpzFile:
    try:
        archive = np.load(file, allow_pickle=False)
    except FormatError:
        raise
    except Exception as error:  # zipfile raises nearly anything for damaged bytes
        raise FormatError(
            path,
            f"is no NPZ archive or is truncated ({str(error) or repr(error)})",
        ) from error
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise FormatError(
            path, f"{_BARE}; keep both together: numpy.savez(FILE, X=X, y=y)"
        )
    return archive


def _array(source: str, arrays: np.lib.npyio.NpzFile, key: str) -> NDArray[Any]:
    if _held_array(arrays, key).other == _OBJECTS:
        cure = "save it as numbers (astype(float)) or text (astype(str))"
        problem = f"its array {key} cannot be read: it holds Python objects, which may run code"
        raise FormatError(source, f"{problem}; {cure}")
    try:
        check_size(arrays, key)
        array = arrays[key]
    except FormatError:
        raise
    # zipfile, its four decompressors and NumPy raise nearly anything for damaged bytes.
    except Exception as error:
        raise FormatError(
            source,
            f"its array {key} cannot be read ({str(error) or repr(error)})",
        ) from error
    if not isinstance(array, np.ndarray):
        raise FormatError(source, f"its member {key} is no array")
    return array


def _labels(
    source: str,
    arrays: np.lib.npyio.NpzFile,
    key: str,
    options: ReadOptions,
) -> NDArray[Any] | None:
    """Return the labels; None if the array holds only `None` and labels are not needed."""
    try:
        return _array(source, arrays, key)
    except FormatError:
        if options.labels_needed:
            raise
        return None
