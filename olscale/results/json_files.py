"""Small JSON files of a store, beside its runs: plans and selections."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from olscale.errors import StoreError
from olscale.results.single import is_damage, why
from olscale.results.store_runs import OnDamage, StoreRuns
from olscale.storage.checked_json import DAMAGE, json_bytes, json_content

T = TypeVar("T")


def read_json_files(
    store: StoreRuns, folder: str, build: Callable[[Any, str], T], on_damage: OnDamage = "raise"
) -> list[T]:
    """Return what `build` makes of each JSON file of a folder, sorted by the names of the files.

    Parameters
    ----------
    store : StoreRuns
    folder : str
        Where they are.
    build : callable
        Takes the content of a file and its name; `ValueError`, `KeyError` and `TypeError` tell that
        it is damaged.
    on_damage : {"raise", "skip"}
        What to do about a damaged file: raise, or leave it out and add it to ``store.damaged``.

    Raises
    ------
    StoreError
        If a file is damaged or cannot be read (it is named).
    """
    found = []
    names = [name for name in store.names(folder) if name.endswith(".json")]
    for name, data in store.files.read_many(names):
        try:
            if isinstance(data, Exception):
                raise data
            found.append(build(json_content(data, store.checked), name))
        except FileNotFoundError:  # set aside or forgotten meanwhile
            continue
        except (OSError, *DAMAGE) as fault:
            if on_damage == "skip":
                store.damaged = (*store.damaged, name)
                if not is_damage(fault):
                    store.unreadable[name] = why(fault)
                continue
            if not is_damage(fault):
                raise StoreError(
                    f"cannot read {name} of the metrics store {store.path}: {why(fault)}; check "
                    "its permissions and its disk"
                ) from fault
            raise StoreError(
                f"damaged file {name} in the metrics store {store.path}: evaluate its experiment "
                "again, which makes it "
                f"anew, or delete it ({fault!r:.200})"
            ) from fault
    return found


def write_json_file(
    store: StoreRuns,
    name: str,
    content: Mapping[str, Any],
    is_same: Callable[[Any], bool],
    sort_keys: bool = False,
) -> bool:
    """Write a JSON file, unless it is there; a damaged one is set aside and written anew.

    Parameters
    ----------
    store : StoreRuns
    name : str
    content : dict
    is_same : callable
        Takes the content of the file that is there, and returns whether it says what `content`
        says.
    sort_keys : bool
        Whether the keys of the file are sorted.

    Returns
    -------
    bool
        Whether a damaged file was set aside.

    Raises
    ------
    StoreError
        If the file cannot be read or written.
    """
    [(_, data)] = store.files.read_many([name])
    damaged = False
    if isinstance(data, bytes):
        try:
            if is_same(json_content(data, store.checked)):
                return False
            # What has a checksum was written so, and what it tells of has changed since.
            damaged = not _is_checked(data)
        except DAMAGE:
            damaged = True
    elif not isinstance(data, FileNotFoundError):
        raise StoreError(
            f"cannot read {name} of the metrics store {store.path}: {why(data)}; check its "
            "permissions and its disk"
        ) from data
    if damaged:
        store.set_aside(name)
    store.put(name, json_bytes(content, indent=1, sort_keys=sort_keys))
    return damaged


def _is_checked(data: bytes) -> bool:
    try:
        json_content(data, checked=True)
    except DAMAGE:
        return False
    return True
