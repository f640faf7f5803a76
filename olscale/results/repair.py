"""A store whose store.json is damaged gets another one, of the version that its files tell of."""

from collections.abc import Iterator

from olscale.errors import StoreError
from olscale.results.store import Store
from olscale.results.version import VERSION, WITH_COMPACTED, DamagedVersionError, version_bytes
from olscale.storage.checked_json import DAMAGE, json_content
from olscale.storage.checked_parquet import checksum_matches


def mend_version(path: str) -> bool:
    """Put store.json of a store anew, if it is damaged, and keep the damaged one in ``damaged/``.

    Parameters
    ----------
    path : str
        Where there may be a store.

    Returns
    -------
    bool
        Whether it was damaged.

    Raises
    ------
    StoreError
        If store.json is damaged and nothing else is there of a store, or the store cannot be
        written to.
    """
    store = Store(path)
    try:
        if not store.exists("store.json"):
            return False
        _ = store.version
    except DamagedVersionError:
        if next(_files(store), None) is None:
            raise
        [(_, data)] = store.files.read_many(["store.json"])
        version = VERSION if all(map(_is_checked, _contents(store))) else WITH_COMPACTED
        if isinstance(data, bytes):
            store.put("damaged/store.json", data)
        store.put("store.json", version_bytes(version))
        return True
    return False


def _files(store: Store) -> Iterator[str]:
    """Yield the files that tell a store from anything else."""
    for kind in ("runs", "lost", "timings"):
        yield from store.single_files(kind)
        yield from store.compacted_files(kind) if kind != "lost" else ()
    for folder in ("plans", "selections"):
        yield from (name for name in store.names(folder) if name.endswith(".json"))


def _contents(store: Store) -> Iterator[bytes]:
    for name, data in store.files.read_many(
        name for name in _files(store) if not name.startswith("compacted/")
    ):
        if isinstance(data, Exception):
            raise StoreError(
                f"cannot read {name} of the metrics store {store.path}: {data}"
            ) from data
        yield data


def _is_checked(data: bytes) -> bool:
    """Return whether a file carries a checksum that is right."""
    if data.startswith(b"PAR1"):
        return checksum_matches(data, checked=True)
    try:
        json_content(data, checked=True)
    except DAMAGE:
        return False
    return True
