"""Opening a metrics store: made where there is none, checked, and known to be writable."""

import os

from olscale.errors import StoreError
from olscale.results.store import Store
from olscale.results.version import is_store, make_store
from olscale.system.paths import path_text


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
    if not is_store(store.files, store.path):
        if not create:
            raise StoreError(
                f"there is no metrics store at {store.path}; check the path, "
                f"or make one with: olscale evaluate ... --store {store.path}"
            )
        make_store(store.files, store.path)
    assert store.version  # or an error that says what is wrong with it
    if writes is None:
        writes = create
    if writes:
        require_writable(store)
    return store


def require_writable(store: Store) -> None:
    """Raise a `StoreError` if the store cannot be written to, as far as that is known unwritten."""
    if not store.files.is_writable():
        raise StoreError(
            f"cannot write to the metrics store {store.path}: permission denied; name another store"
        )
