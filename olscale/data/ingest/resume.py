"""Resume an interrupted ingest: the rows already written, and the members they belong to.

While SVMlight text is ingested, ``progress.json`` next to the marker records after every chunk
which chunks are safe and how many rows the members read so far have. The next ingest from the same
sources with the same options moves all that to ``earlier/`` and reads every member that lies
completely in those chunks from there, instead of parsing its text; it continues with the member
that was interrupted. Everything else (labels, columns, checksums, the fingerprint) is computed from
the rows as always, so the result has the same bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from olscale.data.formats.base import Batch
from olscale.data.layouts import Block, SplitShape, open_reader
from olscale.data.layouts.base import SplitReader
from olscale.data.manifest import ChunkEntry
from olscale.data.rebatch import cut
from olscale.errors import DatasetError
from olscale.storage.base import Storage
from olscale.storage.checked_json import DAMAGE, json_bytes, json_content

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
        self.splits[split] = {"chunks": [chunk.rows for chunk in chunks], "files": files}
        content = {
            "zero_based": self.zero_based,
            "layout": layout,
            "chunk_rows": chunk_rows,
            "columns": columns,
            "pieces": list(self.members.items()),
            "splits": self.splits,
        }
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
                    yield Batch(part.X, part.label, content["columns"], zero_based=self.zero_based)
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
    except (OSError, *DAMAGE):  # damaged, or without a checksum: all sources are read again
        return None
