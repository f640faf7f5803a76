"""The compacted files of a store, as they are whenever they are asked for: compactions exchange them meanwhile."""

import errno
from collections.abc import Callable, Hashable, Sequence

import pyarrow as pa

from olscale.errors import StoreError
from olscale.results.compacted import SCHEMAS, read_compacted
from olscale.results.single import ReadResult, is_damage, why
from olscale.storage.base import Storage

_File = tuple[str, Hashable]
"""Name and stamp of a file, whose bytes are the same as long as both are."""

_TRIES = 20
"""How often compacted files are listed again because compaction has exchanged them meanwhile."""


class CompactedFiles:
    """The compacted files of one kind in a store, as they are whenever they are asked for.

    Parameters
    ----------
    files : Storage
        Files of the store.
    kind : {"runs", "timings"}
    """

    def __init__(self, files: Storage, kind: str) -> None:
        self._files, self._kind = files, kind
        self._ids: dict[_File, pa.Table] = {}

    def names(self) -> list[str]:
        """Return the files, sorted."""
        return [
            name
            for name in self._files.names(f"compacted/{self._kind}")
            if name.endswith(".parquet")
        ]

    def read(
        self, columns: Sequence[str], dictionaries: bool = False, ids: pa.Array | None = None
    ) -> ReadResult:
        """Read columns of all compacted files that are there at one moment.

        Parameters
        ----------
        columns : sequence of str
        dictionaries : bool
            Give columns of text that repeat themselves as dictionary arrays.
        ids : pyarrow.Array, optional
            Only the rows of these runs.

        Raises
        ------
        StoreError
            If the compacted files do not stay the same for as long as it takes to read them,
            however often that is tried.
        """
        found, tables = self._all(
            lambda name: read_compacted(self._files, self._kind, name, columns, dictionaries, ids),
            {},
        )
        return ReadResult(list(tables.values()), found)

    def ids(self) -> dict[str, pa.ChunkedArray]:
        """Return the ids in each compacted file; a damaged one has none.

        Raises
        ------
        OSError
            If a compacted file cannot be read, whole or not; it is named.
        """
        faults, self._ids = self._all(
            lambda name: read_compacted(self._files, self._kind, name, ["id"]), self._ids
        )
        for name, fault in faults.items():
            if isinstance(fault, OSError) and not is_damage(fault):
                raise OSError(fault.errno or errno.EIO, why(fault), name) from fault
        return {name: table["id"] for (name, _), table in self._ids.items()}

    def row(self, id: str) -> ReadResult:
        """Return the row of one run, if there is one."""
        for name, ids in self.ids().items():
            if ids.index(id).as_py() >= 0:
                try:
                    table = read_compacted(self._files, self._kind, name, SCHEMAS[self._kind].names)
                except (OSError, ValueError, pa.ArrowException) as fault:
                    return ReadResult([], {name: fault})
                at = table["id"].index(id).as_py()
                return ReadResult([table.slice(at, 1)] if at >= 0 else [])
        return ReadResult()

    def _all(
        self, read: Callable[[str], pa.Table], known: dict[_File, pa.Table]
    ) -> tuple[dict[str, Exception], dict[_File, pa.Table]]:
        """Return why files cannot be read, and the tables of the others; the files are the same before and after."""
        tables, faults = dict(known), dict[_File, Exception]()
        for _ in range(_TRIES):
            files = self._stamped()
            try:
                for file in files:
                    if file not in tables and file not in faults:
                        try:
                            tables[file] = read(file[0])
                        except FileNotFoundError:
                            raise
                        except (OSError, ValueError, pa.ArrowException) as fault:
                            faults[file] = fault
            except FileNotFoundError:
                continue
            if self._stamped() == files:
                whole = {file: tables[file] for file in files if file in tables}
                return {file[0]: faults[file] for file in files if file in faults}, whole
        raise StoreError(
            f"the files in compacted/{self._kind} of the metrics store changed {_TRIES} times "
            "while they were read; "
            "try again when fewer compactions run"
        )

    def _stamped(self) -> list[_File]:
        stamps = self._files.stamps(f"compacted/{self._kind}")
        return [(name, stamps[name]) for name in sorted(stamps) if name.endswith(".parquet")]
