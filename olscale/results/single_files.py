"""The single files of a store: of many, what was read is kept, and read again only where files are other ones."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from olscale.results.compacted import SCHEMAS
from olscale.results.single import BATCH, WORTHWHILE, ReadResult, read_at_once, read_single
from olscale.storage.base import Storage

_MOST_HELD = 20_000
"""Runs that are held; curves of more would fill the memory."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows that were read together, and the files that they are of, in the same order."""

    stamps: Mapping[str, Hashable]
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

    def read(
        self, names: Sequence[str], columns: Sequence[str], checked: bool = False
    ) -> ReadResult:
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
        if self._files.local is None or not WORTHWHILE <= len(names) <= _MOST_HELD:
            return read_single(self._files, names, self._schema, columns, checked)
        folders = dict.fromkeys(name.partition("/")[0] for name in names)
        stamps = {
            name: stamp for folder in folders for name, stamp in self._files.stamps(folder).items()
        }
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
