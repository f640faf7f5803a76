"""Small JSON files of a store, beside its runs: plans and selections."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from olscale.errors import StoreError
from olscale.results.store import Store

__all__ = ["read_json_files"]

T = TypeVar("T")


def read_json_files(store: Store, folder: str, what: str, build: Callable[[Any], T]) -> list[T]:
    """Return what `build` makes of each JSON file of a folder, sorted by the names of the files.

    Parameters
    ----------
    store : Store
    folder, what : str
        Where they are, and the word for one of them.
    build : callable
        Takes the content of a file; `KeyError`, `TypeError` and `ValueError` tell that it is damaged.

    Raises
    ------
    StoreError
        If a file cannot be read (it is named).
    """
    found = []
    names = [name for name in store.files.names(folder) if name.endswith(".json")]
    for name, data in store.files.read(names):
        try:
            if isinstance(data, Exception):
                raise data
            found.append(build(json.loads(data)))
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as fault:
            raise StoreError(
                f"damaged {what} {name} in the metrics store {store.path}: delete it and evaluate again ({fault!r:.200})"
            ) from fault
    return found
