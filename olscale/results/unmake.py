"""Whether there is a store, and taking back one that was made for results that did not come."""

import os
from contextlib import suppress

from olscale.results.store import Store
from olscale.system.paths import path_text


def is_vacant(path: str | os.PathLike[str]) -> bool:
    """Return whether there is no metrics store at `path`."""
    try:
        return not Store(path_text(path, "store")).files.is_file("store.json")
    except OSError:
        return False


def unmake(store: Store) -> None:
    """Remove a store that holds nothing but plans: one that was made for results that did not come."""
    files = store.files
    try:
        kept = (
            "runs",
            "timings",
            "lost",
            "selections",
            "compacted",
            "damaged",
            "checkpoints",
            "tmp",
        )
        if any(files.names(folder) for folder in kept):
            return
        files.remove("plans")
        files.remove("live")
        files.discard("store.json")
        for name in (*kept, ""):
            if files.local is not None:
                with suppress(OSError):
                    (files.local / name).rmdir()
    except OSError:  # it is gone, or stays
        return
