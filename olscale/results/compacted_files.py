"""The compacted files of a store, as they are whenever they are asked for: compactions exchange them meanwhile."""

import errno
from collections.abc import Callable, Sequence

import pyarrow as pa

from olscale.errors import StoreError
from olscale.results.compacted import SCHEMAS, read_compacted
from olscale.results.single import ReadResult, is_damage, why
from olscale.storage.base import Storage

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
        self._ids: dict[str, pa.Table] = {}  # a compacted file never changes

    def names(self) -> list[str]:
        """Return the files, sorted."""
        return [name for name in self._files.names(f"compacted/{self._kind}") if name.endswith(".parquet")]

    def read(self, columns: Sequence[str], dictionaries: bool = False, ids: pa.Array | None = None) -> ReadResult:
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
            If the compacted files do not stay the same for as long as it takes to read them, however often that is tried.
        """
        found, tables = self._all(
            lambda name: read_compacted(self._files, self._kind, name, columns, dictionaries, ids), {}
        )
        return ReadResult(list(tables.values()), found)

    def ids(self) -> dict[str, pa.ChunkedArray]:
        """Return the ids in each compacted file; a damaged one has none.

        Raises
        ------
        OSError
            If a compacted file cannot be read, whole or not; it is named.
        """
        faults, self._ids = self._all(lambda name: read_compacted(self._files, self._kind, name, ["id"]), self._ids)
        for name, fault in faults.items():
            if isinstance(fault, OSError) and not is_damage(fault):
                raise OSError(fault.errno or errno.EIO, why(fault), name) from fault
        return {name: table["id"] for name, table in self._ids.items()}

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
        self, read: Callable[[str], pa.Table], known: dict[str, pa.Table]
    ) -> tuple[dict[str, Exception], dict[str, pa.Table]]:
        """Return why files cannot be read, and the tables of the others; the files are the same before and after."""
        tables, faults = dict(known), dict[str, Exception]()
        for _ in range(_TRIES):
            names = self.names()
            try:
                for name in names:
                    if name not in tables and name not in faults:
                        try:
                            tables[name] = read(name)
                        except FileNotFoundError:
                            raise
                        except (OSError, ValueError, pa.ArrowException) as fault:
                            faults[name] = fault
            except FileNotFoundError:
                continue
            if self.names() == names:
                return {n: faults[n] for n in names if n in faults}, {n: tables[n] for n in names if n in tables}
        raise StoreError(
            f"the files in compacted/{self._kind} of the metrics store changed {_TRIES} times while they were read; "
            "try again when fewer compactions run"
        )
