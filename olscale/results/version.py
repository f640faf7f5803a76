"""The store.json, which makes a directory a store and says of what format version.

Version 1 had no compacted files, and in versions 1 and 2 a file without a checksum counts as whole.
Such stores keep their version (compaction makes 2 of 1); a new store has version 3, in which every
file carries a checksum.
"""

import json
from collections.abc import Iterator
from contextlib import suppress

from olscale.errors import DatasetError, StoreError
from olscale.results.faults import unreadable, why
from olscale.storage.base import Storage
from olscale.storage.checked_json import DAMAGE, json_bytes, json_content
from olscale.storage.checked_parquet import checksum_matches
from olscale.storage.open import open_storage

FORMAT = "olscale metrics store"
VERSION = 3

WITH_COMPACTED = 2
"""The first version with compacted files."""

WITH_CHECKSUMS = 3
"""The first version in which a file without a checksum is damaged."""


class DamagedVersionError(StoreError):
    """A store.json that does not say its version any more."""


RECORD_FOLDERS = (
    "runs",
    "lost",
    "timings",
    "compacted/runs",
    "compacted/timings",
    "plans",
    "selections",
)
"""Folders of all that tables and reports are made of: they show that there is a store."""


def open_files(path: str) -> Storage:
    """Return the files of a store; a file system that cannot be opened is a `StoreError`."""
    files = open_storage(path, temporaries="tmp")
    try:
        files.connect()
    except DatasetError as fault:
        reason = str(fault).removeprefix(f"{path} cannot be opened (").removesuffix(")")
        raise StoreError(
            f"cannot open the metrics store {path}: {reason}; use a directory or an fsspec URL"
        ) from fault
    return files


def version_bytes(version: int) -> bytes:
    """Return the store.json of a version."""
    content = {"format": FORMAT, "version": version}
    if version >= WITH_CHECKSUMS:
        return json_bytes(content)
    return (json.dumps(content) + "\n").encode()


def parse_version(data: bytes, path: str) -> int:
    """Return the version in a store.json.

    Raises
    ------
    DamagedVersionError
        If it is damaged, or is not that of a store.
    StoreError
        If it is that of a newer olscale.
    """
    cure = "if it was one, olscale evaluate on it makes store.json anew"
    # The checksum is compared after the version, which says whether there must be one.
    try:
        content = json.loads(data)
        format_ = content["format"]
        version = content["version"]
        json_content(data, checked=version == VERSION)
    except DAMAGE as fault:
        reason = " ".join(str(fault).split())[:200] or type(fault).__name__
        raise DamagedVersionError(
            f"{path} is not a metrics store: its store.json is not valid ({reason}); {cure}"
        ) from fault
    if format_ != FORMAT or not isinstance(version, int) or version < 1:
        raise DamagedVersionError(
            f"{path} is not a metrics store: its store.json says format {format_!r}, version "
            f"{version!r}, expected {FORMAT!r}; {cure}"
        )
    if version > VERSION:
        raise StoreError(
            f"the metrics store {path} has format version {version}, this olscale reads up to "
            f"{VERSION}; upgrade olscale"
        )
    return version


def is_store(files: Storage, path: str) -> bool:
    """Return whether there is a store; what is in its place is a `StoreError`."""
    try:
        if files.is_file("store.json"):
            return True
        if files.is_vacant():
            return False
        # Another process may have made it since the first look.
        if files.is_file("store.json"):
            return True
        is_dataset = files.is_file("manifest.json")
    except NotADirectoryError as fault:
        raise StoreError(
            f"{path} is not a metrics store but a file; name a store, or a new directory"
        ) from fault
    except FileNotFoundError as fault:
        raise StoreError(
            f"cannot look into {path}: {why(fault)}; make the bucket, or check its name and "
            "AWS_ENDPOINT_URL"
        ) from fault
    except OSError as fault:
        raise StoreError(
            f"cannot look into {path}: {why(fault)}; check its permissions"
        ) from fault
    content = "(it has no store.json)"
    if is_dataset:
        content = "but a dataset (it has a manifest.json)"
    raise StoreError(
        f"{path} is not a metrics store {content}; name a store, or a new directory"
    )


def make_store(files: Storage, path: str) -> None:
    """Make a store of no runs."""
    try:
        files.make()
        files.put("store.json", version_bytes(VERSION))
    except OSError as fault:
        raise StoreError(
            f"cannot make the metrics store {path}: {why(fault)}; check its permissions, or name "
            "another one"
        ) from fault


def is_vacant(files: Storage) -> bool:
    """Return whether there is no metrics store among the files."""
    try:
        return not files.is_file("store.json")
    except OSError:
        return False


def mend_version(files: Storage, path: str) -> bool:
    """Write store.json of a store anew, if it is damaged, and keep the damaged one in ``damaged/``.

    Parameters
    ----------
    files : Storage
        Those of a store, if there is one.
    path : str
        Its path, for messages.

    Returns
    -------
    bool
        Whether it was damaged.

    Raises
    ------
    StoreError
        If store.json is damaged and nothing else is there of a store, or the store cannot be
        read or written to.
    """
    try:
        if not files.is_file("store.json"):
            return False
        data = files.read("store.json")
    except OSError as fault:
        raise unreadable(path, "store.json", fault) from fault
    # A store of a newer version is no damaged one, and its error is let out.
    try:
        parse_version(data, path)
    except DamagedVersionError:
        if next(_records(files), None) is None:
            raise
    else:
        return False
    # Where every other file has its checksum, the store was of a version in which all have one.
    version = VERSION
    if not all(is_checked(content) for content in _contents(files, path)):
        version = WITH_COMPACTED
    try:
        files.put("damaged/store.json", data)
        files.put("store.json", version_bytes(version))
    except OSError as fault:
        raise StoreError(
            f"cannot write store.json to the metrics store {path}: {why(fault)}; check its "
            "permissions and free space"
        ) from fault
    return True


def _records(files: Storage) -> Iterator[str]:
    for folder in RECORD_FOLDERS:
        for name in files.names(folder):
            if name.endswith((".parquet", ".json")):
                yield name


def _contents(files: Storage, path: str) -> Iterator[bytes]:
    """Yield the bytes of the records, but for compacted files, whose checksum is in their name."""
    try:
        names = [name for name in _records(files) if not name.startswith("compacted/")]
    except OSError as fault:
        raise unreadable(path, "its folders", fault) from fault
    for name, data in files.read_many(names):
        if isinstance(data, Exception):
            raise unreadable(path, name, data) from data
        yield data


def is_checked(data: bytes) -> bool:
    """Return whether a file carries a checksum that is right."""
    if data.startswith(b"PAR1"):
        return checksum_matches(data, checked=True)
    try:
        json_content(data, checked=True)
    except DAMAGE:
        return False
    return True


def unmake(files: Storage) -> None:
    """Remove a store that holds nothing but plans: it was made for results that did not come."""
    folders = (
        "runs",
        "timings",
        "lost",
        "selections",
        "compacted",
        "damaged",
        "checkpoints",
        "tmp",
    )
    try:
        if any(files.names(folder) for folder in folders):
            return
        files.remove("plans")
        files.remove("live")
        files.discard("store.json")
        if files.local is None:
            return
        # A folder with anything in it stays: another process may write to the store by now.
        for name in (*folders, ""):
            with suppress(OSError):
                (files.local / name).rmdir()
    except OSError:  # it is gone, or stays
        return
