"""NPZ: arrays stored by `numpy.savez`.

Recognised names: ``X_train, y_train`` with or without ``X_test, y_test``; ``x_train ...`` as Keras writes them;
``X, y``; ``x, y``; ``data, target``. ``FILE.npz`` and ``FILE.npz#train`` read the training rows, ``FILE.npz#test`` the
test rows. Pickled objects are never loaded.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.base import Batch, ReadOptions, batches_of_arrays, split_fragment
from olscale.data.formats.compression import open_raw
from olscale.errors import FormatError
from olscale.storage.npz import check_size

_NAMES = {
    "train": (("X_train", "y_train"), ("x_train", "y_train"), ("X", "y"), ("x", "y"), ("data", "target")),
    "test": (("X_test", "y_test"), ("x_test", "y_test")),
}


class NpzFormat:
    """Arrays stored by `numpy.savez`."""

    name: ClassVar[str] = "npz"
    suffixes: ClassVar[tuple[str, ...]] = (".npz",)

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether `head` is that of a zip archive whose first member is an array."""
        return head.startswith(b"PK\x03\x04") and b".npy" in head[:512]

    def splits(self, source: str) -> tuple[str, ...]:
        """Return ``("train", "test")`` when the archive holds test arrays too."""
        path, fragment = split_fragment(source)
        if fragment is not None:
            return ("train",)
        with open_raw(path) as file, _archive(path, file) as arrays:
            return ("train", "test") if _keys(arrays, "test") else ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of one split of `source`.

        Raises
        ------
        FormatError
            When the archive is damaged, lacks the arrays, or they hold objects or do not fit together.
        """
        path, fragment = split_fragment(source)
        split = fragment or "train"
        if split not in _NAMES:
            raise FormatError(source, f"there is no split {split!r}, expected #train or #test")
        with open_raw(path) as file, _archive(path, file) as arrays:
            keys = _keys(arrays, split)
            if keys is None and not options.labels_needed:
                keys = next(((X, None) for X, _ in _NAMES[split] if X in arrays.files), None)
            if keys is None:
                expected = " or ".join(", ".join(pair) for pair in _NAMES[split])
                raise FormatError(source, f"holds the arrays {', '.join(arrays.files) or 'none'}; expected {expected}")
            X = _array(source, arrays, keys[0])
            y = None if keys[1] is None else _labels(source, arrays, keys[1], options)
        yield from batches_of_arrays(source, X, y, options)


def _archive(path: str, file: BinaryIO) -> np.lib.npyio.NpzFile:
    try:
        archive = np.load(file, allow_pickle=False)
    except FormatError:
        raise
    except Exception as error:  # zipfile raises nearly anything at damaged bytes
        raise FormatError(path, f"is no NPZ archive or is truncated ({str(error) or repr(error)})") from error
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise FormatError(path, "holds one bare array, expected an NPZ archive with features and targets")
    return archive


def _array(source: str, arrays: np.lib.npyio.NpzFile, key: str) -> NDArray[Any]:
    try:
        check_size(arrays, key)
        array = arrays[key]
    except FormatError:
        raise
    except Exception as error:  # zipfile, its four decompressors and NumPy raise nearly anything at damaged bytes
        raise FormatError(source, f"its array {key} cannot be read ({str(error) or repr(error)})") from error
    if not isinstance(array, np.ndarray):
        raise FormatError(source, f"its member {key} is no array")
    return array


def _labels(source: str, arrays: np.lib.npyio.NpzFile, key: str, options: ReadOptions) -> NDArray[Any] | None:
    """Return the labels; None where they are none, as an array of `None`, and need not be."""
    try:
        return _array(source, arrays, key)
    except FormatError:
        if options.labels_needed:
            raise
        return None


def _keys(arrays: np.lib.npyio.NpzFile, split: str) -> tuple[str, str | None] | None:
    return next((pair for pair in _NAMES[split] if set(pair) <= set(arrays.files)), None)
