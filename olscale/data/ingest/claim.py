"""The directory of a dataset while it is being built, and what an interrupted build leaves in it.

Until ``manifest.json`` exists, the directory holds ``ingest.json``, the marker of an unfinished
dataset with its recipe. A build that fails removes its files; one that is killed leaves the marker,
and the next build removes everything except what it can resume.

While SVMlight text is ingested, ``progress.json`` next to the marker records after every chunk
which chunks are safe and how many rows the members read so far have. The next ingest from the same
sources with the same options moves all that to ``earlier/`` and reads every member that lies
completely in those chunks from there, instead of parsing its text; it continues with the member
that was interrupted. Everything else (labels, columns, checksums, the fingerprint) is computed from
the rows as always, so the result has the same bytes.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from olscale.data.formats.base import Batch
from olscale.data.layouts import Block, SplitShape, open_reader
from olscale.data.layouts.base import SplitReader
from olscale.data.manifest import MANIFEST, MARKER, ChunkEntry
from olscale.data.stored_rows import cut
from olscale.errors import DatasetError
from olscale.storage.base import Storage
from olscale.storage.checked_json import DAMAGE, json_bytes, json_content
from olscale.storage.open import UNWRITABLE, open_storage
from olscale.version import __version__

PROGRESS = "progress.json"
EARLIER = "earlier"
_SPLITS = ("train", "test")


@dataclass
class Journal:
    """Keeps ``progress.json`` while a dataset is being built.

    Attributes
    ----------
    zero_based : bool or None
        Numbering of the text, which later members share; None if the text is not SVMlight, and
        nothing is recorded.
    """

    directory: Storage
    zero_based: bool | None = None
    members: dict[str, int] = field(default_factory=dict)
    twice: bool = False
    splits: dict[str, dict[str, Any]] = field(default_factory=dict)

    def read(self, member: str, rows: int) -> None:
        """Record that a member has been read to its end."""
        # Members with the same name cannot be told apart: the second and all later ones are parsed
        # again.
        self.twice = self.twice or member in self.members
        if not self.twice:
            self.members[member] = rows

    def written(
        self,
        split: str,
        chunks: list[ChunkEntry],
        files: dict[str, int],
        layout: str,
        chunk_rows: int,
        columns: int,
    ) -> None:
        """Record that `chunks` of `split` are where a reader finds them."""
        if self.zero_based is None:
            return
        self.splits[split] = {
            "chunks": [chunk.rows for chunk in chunks],
            "files": files,
        }
        content = {
            "zero_based": self.zero_based,
            "layout": layout,
            "chunk_rows": chunk_rows,
            "columns": columns,
            "pieces": list(self.members.items()),
            "splits": self.splits,
        }
        # With a checksum: what a power cut leaves of it must not pass for progress.
        self.directory.replace(PROGRESS, json_bytes(content))


def keep_earlier(directory: Storage) -> None:
    """Move the rows of an interrupted build to where `Earlier` finds them.

    Rows of an earlier build stay if there are more of them.
    """
    latest = _load(directory, "")
    previous = _load(directory, f"{EARLIER}/")
    if latest is None or (previous is not None and _count(previous) >= _count(latest)):
        return
    directory.remove(EARLIER)
    for split in _SPLITS:
        if directory.exists(split):
            directory.move(split, f"{EARLIER}/{split}")
    directory.move(PROGRESS, f"{EARLIER}/{PROGRESS}")


class Earlier:
    """The rows that an interrupted build has written, by member.

    Attributes
    ----------
    members : dict of str to (int, int)
        First row and number of rows, over both splits, of each member that is complete.
    zero_based : bool or None
        See `Journal`.
    """

    def __init__(self, directory: Storage) -> None:
        self._directory = directory
        self.members: dict[str, tuple[int, int]] = {}
        self.zero_based: bool | None = None
        content = _load(directory, f"{EARLIER}/")
        if content is None:
            return
        self._content = content
        self.zero_based = content["zero_based"]
        start = 0
        safe = _count(content)
        for name, rows in content["pieces"]:
            # The member that was interrupted is read from its text again.
            if start + rows > safe:
                break
            self.members[name] = (start, rows)
            start += rows

    def batches(self, member: str) -> Iterator[Batch]:
        """Yield the rows of `member`.

        Raises
        ------
        DatasetError
            When they are damaged.
        """
        first, count = self.members[member]
        content = self._content
        start = 0
        for split, entry in content["splits"].items():
            shape = SplitShape(
                f"{EARLIER}/{split}",
                "sparse",
                content["columns"],
                sum(entry["chunks"]),
                content["chunk_rows"],
                entry["files"],
            )
            reader = open_reader(content["layout"], self._directory, shape)
            for i, size in enumerate(entry["chunks"]):
                low = max(first - start, 0)
                high = min(first + count - start, size)
                if low < high:
                    block = self._checked(reader, i)
                    part = cut(block, low, high)
                    yield Batch(
                        part.X,
                        part.label,
                        content["columns"],
                        zero_based=self.zero_based,
                    )
                start += size

    def _checked(self, reader: SplitReader, i: int) -> Block:
        try:
            return reader.read(i)
        except Exception as error:  # decoders of damaged bytes raise nearly anything
            raise DatasetError(
                f"{self._directory}: rows of an interrupted ingest are damaged ({error}); ingest "
                "again"
            ) from error


def _count(content: dict[str, Any]) -> int:
    return sum(sum(entry["chunks"]) for entry in content["splits"].values())


def _load(directory: Storage, folder: str) -> dict[str, Any] | None:
    try:
        return json_content(directory.read(f"{folder}{PROGRESS}"), checked=True)
    except (OSError, *DAMAGE):
        # damaged, or without a checksum: all sources are read again
        return None


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
        of a build with the same recipe are kept for `olscale.data.ingest.claim.Earlier`.
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
            # A lock ends with its process, so that a killed build blocks no other.
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
        # Those that an interrupted build of the same place has made count as its own.
        directories = missing or [str(path) for path in before.get("made", ())]
        content = {
            "created_by": f"olscale {__version__}",
            "made": directories,
            **recipe,
        }
        begun = False
        try:
            # As JSON on both sides, where tuples are lists.
            if before == json.loads(json.dumps(content)):
                keep_earlier(directory)
            else:
                directory.remove(EARLIER)
            # All but the marker and what an earlier build left to resume.
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
    if isinstance(content, dict) and isinstance(content.get("made"), list):
        return content
    return {}
