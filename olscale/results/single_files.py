"""The single files of a store: of many, what was read is kept, and read again only where files are other ones."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from olscale.results.compacted import BULK, SCHEMAS
from olscale.results.single import BATCH, WORTHWHILE, ReadResult, read_at_once, read_bulk, read_single, stem
from olscale.storage.base import Storage

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
        if folder is None or len(names) < WORTHWHILE:
            return read_single(self._files, names, self._schema, columns, checked)
        stamps = _stamps(folder, names)
        # Readers in other threads see the batches of before, or those of after.
        batches = [
            whole
            for batch in self._batches
            if batch.stamps.items() <= stamps.items()
            and (whole := self._with_columns(folder, batch, columns)) is not None
        ]
        held = {name for batch in batches for name in batch.stamps}
        fresh = [name for name in names if name not in held]
        result = ReadResult()
        for start in range(0, len(fresh), BATCH):
            part = fresh[start : start + BATCH]
            table = read_at_once(self._files, part, self._schema, self._worth_reading(columns), checked)
            if table is None or table.num_rows < len(part):
                alone = read_single(self._files, part, self._schema, columns, checked)
                result.tables += alone.tables
                result.damaged |= alone.damaged
            else:
                batches.append(_Batch({name: stamps[name] for name in part if name in stamps}, table))
        self._batches = batches
        result.tables = [*(batch.table.select(list(columns)) for batch in batches), *result.tables]
        return result

    def _worth_reading(self, columns: Sequence[str]) -> list[str]:
        """Return the columns that are read where these are asked for: to open a file takes longer than to read it.

        What is bulky is held only where something bulky is asked for.
        """
        bulk = any(name in BULK for name in columns)
        return [name for name in self._schema.names if bulk or name not in BULK]

    def _with_columns(self, folder: Path, batch: _Batch, columns: Sequence[str]) -> _Batch | None:
        """Return a batch with these columns; None if they cannot be read."""
        held = batch.table.column_names
        if set(columns) <= set(held):
            return batch
        paths = [str(folder / name) for name in batch.stamps]
        wanted = ["id", *(name for name in self._worth_reading(columns) if name not in held)]
        more = read_bulk(paths, [stem(name) for name in batch.stamps], self._schema, wanted)
        if more is None:
            return None
        table = batch.table
        for name in wanted[1:]:
            table = table.append_column(self._schema.field(name), more[name])
        return _Batch(batch.stamps, table)


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
