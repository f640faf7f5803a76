"""Small JSON files of a store: plans and selections."""

from collections.abc import Callable
from typing import Any, TypeVar

from olscale.errors import StoreError
from olscale.results.faults import is_damage, unreadable, why
from olscale.results.store import OnDamage, Store
from olscale.storage.checked_json import DAMAGE, json_content

T = TypeVar("T")

Build = Callable[[Any, str], T]
"""Takes the content of a file and its name; an error of `DAMAGE` says that the file is damaged."""


def read_json_files(
    store: Store,
    folder: str,
    build: Build[T],
    on_damage: OnDamage = "raise",
) -> list[T]:
    """Return what `build` makes of each JSON file of a folder, sorted by the names of the files.

    Parameters
    ----------
    store : Store
    folder : str
        Where they are.
    build : callable
        Takes the content of a file and its name.
    on_damage : {"raise", "skip"}
        What to do about a damaged file: raise, or leave it out and add it to ``store.damaged``.

    Raises
    ------
    StoreError
        If a file is damaged or cannot be read (it is named).
    """
    built = []
    names = [name for name in store.names(folder) if name.endswith(".json")]
    for name, data in store.files.read_many(names):
        try:
            if isinstance(data, Exception):
                raise data
            built.append(build(json_content(data, store.checked), name))
        except FileNotFoundError:  # set aside or forgotten meanwhile
            continue
        except (OSError, *DAMAGE) as fault:
            if on_damage == "raise":
                raise _refusal(store, name, fault) from fault
            store.damaged = (*store.damaged, name)
            if not is_damage(fault):
                store.unreadable[name] = why(fault)
    return built


def _refusal(store: Store, name: str, fault: Exception) -> StoreError:
    if not is_damage(fault):
        return unreadable(store.path, name, fault)
    return StoreError(
        f"damaged file {name} in the metrics store {store.path}: evaluate its experiment again, "
        f"which makes it anew, or delete it ({fault!r:.200})"
    )


def read_json_file(store: Store, name: str, build: Build[T]) -> tuple[T | None, bool]:
    """Return what `build` makes of a file that is to be written; a damaged one is set aside.

    Returns
    -------
    built : object or None
        None where there is no such file, or a damaged one.
    set_aside : bool
        Whether there was a damaged one.

    Raises
    ------
    StoreError
        If the file cannot be read.
    """
    [(_, data)] = store.files.read_many([name])
    if isinstance(data, FileNotFoundError):
        return None, False
    if isinstance(data, Exception):
        raise unreadable(store.path, name, data) from data
    try:
        return build(json_content(data, store.checked), name), False
    except DAMAGE:
        store.set_aside(name)
        return None, True
