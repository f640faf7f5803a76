"""The single files of a store: of many, what was read is kept, and read again only where files are other ones."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from olscale.results.compacted import SCHEMAS
from olscale.results.single import BATCH, WORTHWHILE, ReadResult, read_at_once, read_single
from olscale.storage.base import Storage

_MOST_HELD = 20_000
"""Runs that are held; curves of more would fill the memory."""

_Stamp = tuple[int, int, int]
"""What tells a file from another one of its name: writers exchange files, they change none."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows that were read together, and the files that they are of, in the same order."""

    stamps: Mapping[str, _Stamp]
    table: pa.Table


class SingleFiles:
    """The files of one kind in a store that hold one run each.

    Parameters
    ----------
    files : Storage
        Files of the store.
    kind : {"runs", "timings"}

    Attributes
    ----------
    count : int
        How many files there were when they were last read.
    """

    def __init__(self, files: Storage, kind: str) -> None:
        self._files, self._schema = files, SCHEMAS[kind]
        self._batches: list[_Batch] = []
        self.count = 0

    def read(self, names: Sequence[str], columns: Sequence[str], checked: bool = False) -> ReadResult:
        """Read columns of all files of the kind; as `olscale.results.single.read_single`.

        Parameters
        ----------
        names : sequence of str
            All the files there are.
        columns : sequence of str
            ``id`` among them.
        checked : bool
        """
        self.count = len(names)
        folder = self._files.local
        if folder is None or not WORTHWHILE <= len(names) <= _MOST_HELD:
            return read_single(self._files, names, self._schema, columns, checked)
        stamps = _stamps(folder, names)
        # Readers in other threads see the batches of before, or those of after.
        batches = [batch for batch in self._batches if batch.stamps.items() <= stamps.items()]
        held = {name for batch in batches for name in batch.stamps}
        fresh = [name for name in names if name not in held]
        result = ReadResult()
        for start in range(0, len(fresh), BATCH):
            part = fresh[start : start + BATCH]
            # All columns: to open a file takes longer than to read it.
            table = read_at_once(self._files, part, self._schema, self._schema.names, checked)
            if table is not None and table.num_rows == len(part) and stamps.keys() >= set(part):
                batches.append(_Batch({name: stamps[name] for name in part}, table))
                continue
            alone = read_single(self._files, part, self._schema, columns, checked)
            result.tables += alone.tables
            result.damaged |= alone.damaged
        self._batches = batches
        result.tables = [*(batch.table.select(list(columns)) for batch in batches), *result.tables]
        return result


def _stamps(folder: Path, names: Sequence[str]) -> dict[str, _Stamp]:
    """Return the stamps of files that are there."""
    stamps = {}
    for name in names:
        try:
            status = os.stat(f"{folder}/{name}")  # noqa: PTH116 (ten thousand paths take long to make)
        except OSError:
            continue
        stamps[name] = (status.st_ino, status.st_mtime_ns, status.st_size)
    return stamps
