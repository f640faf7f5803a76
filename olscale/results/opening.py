"""Opening a metrics store: made where there is none, checked, and known to be writable."""

import os
from typing import NamedTuple

from olscale.errors import StoreError
from olscale.results.store import Store
from olscale.results.version import is_store, is_vacant, make_store, mend_version
from olscale.system.arguments import checked_arguments
from olscale.system.paths import path_text


@checked_arguments()
def open_store(
    path: str | os.PathLike[str],
    create: bool = False,
    writes: bool | None = None,
) -> Store:
    """Open a metrics store.

    Parameters
    ----------
    path : str or path-like
        Directory or fsspec URL.
    create : bool, default False
        Make the store if there is none.
    writes : bool, optional
        Check that it can be written to; by default where `create` is true.

    Returns
    -------
    Store

    Raises
    ------
    StoreError
        If there is no store and `create` is false, `path` holds something else, the store was
        written by a newer olscale, or it is to be written to and cannot be.

    Examples
    --------
    >>> store = open_store("memory://doctest-store", create=True)
    >>> store.done()
    set()
    """
    store = Store(path_text(path, "store"))
    _require_store(store, create)
    if writes is None:
        writes = create
    if writes:
        require_writable(store)
    return store


class ReadyStore(NamedTuple):
    """A store to write to, whether it is new, and whether its store.json was damaged."""

    store: Store
    is_new: bool
    is_mended: bool


def make_or_mend_store(path: str) -> ReadyStore:
    """Open the store of an evaluation, made where there is none, with a whole store.json.

    Writing is checked once there is something to write: a complete store may be read-only.

    Raises
    ------
    StoreError
        If `path` holds something else, or the store cannot be read or mended.
    """
    store = Store(path)
    is_new = is_vacant(store.files)
    is_mended = mend_version(store.files, path)
    _require_store(store, create=True)
    return ReadyStore(store, is_new, is_mended)


def _require_store(store: Store, create: bool) -> None:
    if not is_store(store.files, store.path):
        if not create:
            raise StoreError(
                f"there is no metrics store at {store.path}; check the path, "
                f"or make one with: olscale evaluate ... --store {store.path}"
            )
        make_store(store.files, store.path)
    assert store.version  # or an error that says what is wrong with it


def require_writable(store: Store) -> None:
    """Raise a `StoreError` if the store cannot be written to, as far as that is known unwritten."""
    if not store.files.is_writable():
        raise StoreError(
            f"cannot write to the metrics store {store.path}: permission denied; name another store"
        )
