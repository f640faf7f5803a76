"""The format version of a store, in its store.json.

Version 1 had no compacted files, and in versions 1 and 2 a file without a checksum counts as whole.
Such stores keep their version (compaction makes 2 of 1); a new store has version 3, in which every
file carries a checksum.
"""

import json

from olscale.errors import StoreError
from olscale.results.single import why
from olscale.storage.base import Storage
from olscale.storage.checked_json import DAMAGE, json_bytes, json_content

FORMAT, VERSION = "olscale metrics store", 3

WITH_COMPACTED = 2
"""The first version with compacted files."""

WITH_CHECKSUMS = 3
"""The first version in which a file without a checksum is damaged."""


class DamagedVersionError(StoreError):
    """A store.json of which it cannot be told what it said."""


def version_bytes(version: int) -> bytes:
    """Return the store.json of a version."""
    about = {"format": FORMAT, "version": version}
    return json_bytes(about) if version >= WITH_CHECKSUMS else (json.dumps(about) + "\n").encode()


def parse_version(data: bytes, path: str) -> int:
    """Return the version in a store.json.

    Raises
    ------
    DamagedVersionError
        If it is damaged, or is not that of a store.
    StoreError
        If it is that of a newer olscale.
    """
    try:
        about = json.loads(data)
        format_, version = about["format"], about["version"]
        content = json_content(data, checked=version == VERSION)
    except DAMAGE as fault:
        why = " ".join(str(fault).split())[:200] or type(fault).__name__
        raise DamagedVersionError(
            f"{path} is not a metrics store: its store.json is not valid ({why}); if it was one, "
            "olscale evaluate on it "
            "makes store.json anew"
        ) from fault
    if content["format"] != FORMAT or not isinstance(version, int) or version < 1:
        raise DamagedVersionError(
            f"{path} is not a metrics store: its store.json says format {format_!r}, version "
            f"{version!r}, expected "
            f"{FORMAT!r}; if it was one, olscale evaluate on it makes store.json anew"
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
        raise StoreError(f"cannot look into {path}: {why(fault)}; check its permissions") from fault
    what = "but a dataset (it has a manifest.json)" if is_dataset else "(it has no store.json)"
    raise StoreError(f"{path} is not a metrics store {what}; name a store, or a new directory")
