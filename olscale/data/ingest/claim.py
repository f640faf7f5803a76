"""The directory of a dataset while it is being built.

Until ``manifest.json`` exists, the directory holds ``ingest.json``, the marker of an unfinished
dataset with its recipe. A build that fails removes its files; one that is killed leaves the marker,
and the next build removes everything except what `olscale.data.ingest.resume` can use.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from olscale.data.ingest.resume import EARLIER, PROGRESS, keep_earlier
from olscale.data.manifest import MANIFEST, MARKER
from olscale.errors import DatasetError
from olscale.storage.base import Storage
from olscale.storage.open import UNWRITABLE, open_storage
from olscale.version import __version__

SPILL = "spool"
"""Scratch folder with members of archives."""
REWRITE = "sparse"
"""Scratch folder with the splits that are being rewritten."""
_OWN = ("train", "test", REWRITE, SPILL, PROGRESS, f"{PROGRESS}.part", EARLIER, MARKER)


@contextmanager
def claim(dest: str, recipe: dict[str, Any]) -> Iterator[Storage]:
    """Reserve `dest` until a manifest is in it.

    Parameters
    ----------
    dest : str
        A directory that is absent, empty, or holds an interrupted build, which is cleared. The rows
        of a build with the same recipe are kept for `olscale.data.ingest.resume.Earlier`.
    recipe : dict
        Sources and options, kept in the marker.

    Raises
    ------
    DatasetError
        When `dest` is a finished dataset, holds other files, or another process is building there;
        it stays unchanged.
    """
    directory = open_storage(dest)
    try:
        names = directory.entries()
        missing = directory.missing()
    except OSError as error:
        raise DatasetError(
            f"{dest} cannot be made ({error.strerror or error}); check address and credentials"
        ) from error
    if not missing and not directory.is_folder():
        raise DatasetError(f"{dest} is a file; name a new directory for the dataset")
    if MANIFEST in names:
        raise DatasetError(
            f"{dest} already is a dataset; choose another directory, or remove this one first"
        )
    if names and MARKER not in names:
        raise DatasetError(
            f"{dest} holds other files ({names[0]} ...); choose a new or empty directory"
        )
    with ExitStack() as stack:
        try:
            is_locked = stack.enter_context(directory.lock(MARKER))
        except OSError as error:
            directory.remove_empty(missing)
            raise DatasetError(
                f"{dest} cannot be made ({error.strerror or error}); choose another directory"
            ) from error
        # The other process may have finished between the check and the lock.
        if not is_locked or directory.exists(MANIFEST):
            raise DatasetError(
                f"another process is building {dest}; wait for it, or choose another directory"
            )
        before = _marker(directory)
        directories = missing or [str(path) for path in before.get("made", ())]
        content = {"created_by": f"olscale {__version__}", "made": directories, **recipe}
        begun = False
        try:
            if before == json.loads(json.dumps(content)):
                keep_earlier(directory)
            else:
                directory.remove(EARLIER)
            for name in _OWN[:-2]:
                directory.remove(name)
            directory.write(MARKER, json.dumps(content, indent=1).encode())
            begun = True
            yield directory
        except Exception as error:
            # The disk may have become read-only; the marker then says "unfinished".
            with suppress(OSError):
                for name in _OWN:
                    directory.remove(name)
            directory.remove_empty(directories)
            if isinstance(error, OSError) and (error.errno in UNWRITABLE or not begun):
                raise _refused(dest, error) from error
            raise
        for name in (PROGRESS, EARLIER, MARKER):
            directory.remove(name)


def start_over(directory: Storage) -> None:
    """Remove everything that a claimed build wrote, and what an earlier one left to resume."""
    for name in _OWN:
        if name != MARKER:
            directory.remove(name)


def _refused(dest: str, error: OSError) -> DatasetError:
    if error.errno in UNWRITABLE:
        return DatasetError(
            f"{dest} cannot be written ({error.strerror}); make room, or choose another directory"
        )
    return DatasetError(
        f"{dest} cannot be made ({error.strerror or error}); choose another directory"
    )


def _marker(directory: Storage) -> dict[str, Any]:
    """Return the marker of an interrupted build: the directories it created, and its recipe."""
    try:
        content = json.loads(directory.read(MARKER))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) and isinstance(content.get("made"), list) else {}
