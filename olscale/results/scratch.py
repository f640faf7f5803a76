"""Scratch arrays in a store's ``tmp/``, from the tasks of a run to that which makes the record."""

import io
from collections.abc import Mapping
from contextlib import suppress

from olscale.arrays import Array
from olscale.errors import StoreError
from olscale.results.store import Store
from olscale.storage.checked_arrays import read_arrays, write_arrays


class Scratch:
    """Named groups of plain arrays of one run, in ``STORE/tmp/shards-<run id>/``.

    Two processes that write the same name write the same arrays, as results depend on the run's
    definition alone.

    Parameters
    ----------
    store : Store
        The metrics store.
    run : str
        Run id.

    Examples
    --------
    >>> import numpy as np
    >>> from olscale.results.opening import open_store
    >>> scratch = Scratch(open_store("memory://doctest-scratch", create=True), "0" * 32)
    >>> scratch.write("first", {"best": np.array([0.5, 1.0])})
    >>> scratch.read("first")
    {'best': array([0.5, 1. ])}
    >>> scratch.clear()
    """

    def __init__(self, store: Store, run: str) -> None:
        self._store = store
        self._folder = f"tmp/shards-{run}"

    def write(self, name: str, arrays: Mapping[str, Array]) -> None:
        """Write a group of arrays whole; a failure is a `StoreError`."""
        data = io.BytesIO()
        write_arrays(data, arrays.items())
        self._store.put(f"{self._folder}/{name}.npz", data.getvalue())

    def has(self, name: str) -> bool:
        """Return whether there is such a group."""
        return self._store.files.is_file(f"{self._folder}/{name}.npz")

    def read(self, name: str) -> dict[str, Array]:
        """Return the arrays of a group.

        Raises
        ------
        StoreError
            If there is no such group, or its file is damaged.
        """
        file = f"{self._folder}/{name}.npz"
        [(_, data)] = self._store.files.read_many([file])
        try:
            if isinstance(data, Exception):
                raise data
            return read_arrays(io.BytesIO(data))
        except Exception as fault:
            # zipfile and NumPy raise nearly anything at damaged bytes
            raise StoreError(
                f"cannot read {file} of the metrics store {self._store.path}: "
                f"{type(fault).__name__}; run the same command again"
            ) from fault

    def clear(self) -> None:
        """Remove all groups of the run; what cannot be removed is left."""
        with suppress(OSError):
            self._store.files.remove(self._folder)
