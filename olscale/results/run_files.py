"""The runs and timings of a store in their files: one file a run, or many runs in a compacted file.

Single files are looked at before compacted ones. What a compaction takes away meanwhile is in the
compacted files that are there afterwards. What was read is kept as long as its files stay the same.
"""

import errno
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from olscale.errors import StoreError, UnknownNameError
from olscale.results.arrow_arrays import arrow_array, empty_table
from olscale.results.compacted import (
    DECIDES,
    SCHEMAS,
    deduplicate,
    encode_dictionaries,
    read_compacted,
)
from olscale.results.faults import is_damage, why
from olscale.results.record import is_run_id
from olscale.results.rows import parse, unvalidated, validated
from olscale.storage.base import Storage
from olscale.storage.checked_parquet import checksum_matches

WORTHWHILE = 200
"""Files from which their rows are checked together, not one by one."""

# Files read at once. If one of them is not as it should be, so many are read one by one.
_BATCH = 1000

# Single files whose rows are held; curves of more would fill the memory.
_MOST_HELD = 20_000

# How often compacted files are listed again because compaction has exchanged them meanwhile.
_TRIES = 20

_UNREADABLE = (OSError, ValueError, pa.ArrowException)

# Name and stamp of a file, whose bytes are the same as long as both are.
_StampedName = tuple[str, Hashable]


def stem(name: str) -> str:
    """Return the run id in the name of a single file."""
    return name.rpartition("/")[2].removesuffix(".parquet")


def file_of(folder: str, id: str) -> str:
    """Return the name of the single file of a run in ``runs/``, ``lost/`` or ``timings/``."""
    return f"{folder}/{id[:2]}/{id}.parquet"


@dataclass(slots=True)
class ReadResult:
    """What reading files gave.

    Parameters
    ----------
    tables : list of pyarrow.Table
        Rows.
    damaged : dict of str to Exception
        Why the files of these names gave none.
    """

    tables: list[pa.Table] = field(default_factory=list)
    damaged: dict[str, Exception] = field(default_factory=dict)

    def add(self, other: "ReadResult") -> None:
        """Take in what reading other files gave."""
        self.tables += other.tables
        self.damaged |= other.damaged


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows that were read together, and the files that they are of, in the same order."""

    stamps: Mapping[str, Hashable]
    table: pa.Table


class RunFiles:
    """The files of a store that hold runs, or those that hold timings.

    Parameters
    ----------
    files : Storage
        Files of the store.
    kind : {"runs", "timings"}
        Runs that were given up as ``lost`` are of the first kind, in a folder of their own.

    Attributes
    ----------
    single_count : int
        How many single files there were when all of them were last read.
    """

    def __init__(self, files: Storage, kind: str) -> None:
        self.kind = kind
        self.single_count = 0
        self._files = files
        self._schema = SCHEMAS[kind]
        self._batches: list[_Batch] = []
        self._ids: dict[_StampedName, pa.Table] = {}

    def single_names(self, folder: str) -> list[str]:
        """Return the single files in a folder, sorted."""
        names = self._files.names(folder)
        return [
            name
            for name in names
            if name.endswith(".parquet") and is_run_id(stem(name))
        ]

    def compacted_names(self) -> list[str]:
        """Return the compacted files, sorted."""
        names = self._files.names(f"compacted/{self.kind}")
        return [name for name in names if name.endswith(".parquet")]

    def read(
        self,
        single_names: Sequence[str],
        columns: Sequence[str],
        checked: bool = False,
        dictionaries: bool = False,
        ids: Collection[str] | None = None,
    ) -> tuple[pa.Table, dict[str, Exception]]:
        """Return one row a run, sorted by id, and why files that gave none are damaged.

        Parameters
        ----------
        single_names : sequence of str
            All single files of the kind.
        columns : sequence of str
            They are read with ``id`` and what decides which of several rows counts.
        checked : bool
            Whether a single file without a checksum is damaged.
        dictionaries : bool
            Give columns of text that repeat themselves as dictionary arrays.
        ids : collection of str, optional
            Runs whose rows are read; those of others may be among them.
        """
        for column in columns:
            if column not in self._schema.names:
                raise UnknownNameError("column", column, self._schema.names)
        fetched = list(dict.fromkeys([*columns, "id", DECIDES[self.kind]]))
        ids_array = None
        if ids is not None:
            ids_array = arrow_array(sorted(ids), pa.string())
        if ids is None or self._batches:
            single = self.read_all_single(single_names, fetched, checked)
        else:
            names = [name for name in single_names if stem(name) in ids]
            single = self.read_single(names, fetched, checked)
        compacted = self.read_compacted(fetched, dictionaries, ids_array)
        damaged = single.damaged | compacted.damaged
        if dictionaries:
            single.tables = encode_dictionaries(single.tables, self.kind)
        tables = compacted.tables + single.tables
        if not tables:
            return empty_table(
                pa.schema([self._schema.field(name) for name in fetched])
            ), damaged
        table = deduplicate(pa.concat_tables(tables), self.kind)
        if not dictionaries:
            table = table.combine_chunks()
        return table, damaged

    def read_single(
        self,
        names: Sequence[str],
        columns: Sequence[str],
        checked: bool = False,
    ) -> ReadResult:
        """Read single files.

        A file that is no longer there is passed over: compaction has moved its run to a compacted
        file.

        Parameters
        ----------
        names : sequence of str
            The files, each named by the id of its run.
        columns : sequence of str
            Columns to read, ``id`` among them.
        checked : bool
            Whether a file without a checksum is damaged.
        """
        result = ReadResult()
        for start in range(0, len(names), _BATCH):
            batch = names[start : start + _BATCH]
            table = self._read_at_once(batch, columns, checked)
            if table is None:
                result.add(self._read_one_by_one(batch, columns, checked))
            else:
                result.tables.append(table)
        return result

    def read_all_single(
        self,
        names: Sequence[str],
        columns: Sequence[str],
        checked: bool = False,
    ) -> ReadResult:
        """Read all single files there are, as `read_single`; of many what was read is kept."""
        self.single_count = len(names)
        if self._files.local is None or not WORTHWHILE <= len(names) <= _MOST_HELD:
            return self.read_single(names, columns, checked)
        stamps: dict[str, Hashable] = {}
        for folder in dict.fromkeys(name.partition("/")[0] for name in names):
            stamps |= self._files.stamps(folder)
        # Readers in other threads see the batches of before, or those of after.
        batches = [
            batch for batch in self._batches if batch.stamps.items() <= stamps.items()
        ]
        held = {name for batch in batches for name in batch.stamps}
        fresh = [name for name in names if name not in held]
        result = ReadResult()
        for start in range(0, len(fresh), _BATCH):
            batch = fresh[start : start + _BATCH]
            # All columns: to open a file takes longer than to read it.
            table = self._read_at_once(batch, self._schema.names, checked)
            if table is None:
                result.add(self._read_one_by_one(batch, columns, checked))
            elif table.num_rows < len(batch) or not stamps.keys() >= set(batch):
                result.tables.append(table.select(list(columns)))
            else:
                batches.append(_Batch({name: stamps[name] for name in batch}, table))
        self._batches = batches
        result.tables[:0] = [batch.table.select(list(columns)) for batch in batches]
        return result

    def _read_at_once(
        self,
        names: Sequence[str],
        columns: Sequence[str],
        checked: bool,
    ) -> pa.Table | None:
        """Return the rows of the files that are there; None if they must be read one by one."""
        if self._files.local is None or len(names) < WORTHWHILE:
            return None
        ids = []
        contents = []
        for name, data in self._files.read_many(names):
            if isinstance(data, FileNotFoundError):
                continue
            if isinstance(data, Exception) or not checksum_matches(data, checked):
                return None
            ids.append(stem(name))
            contents.append(data)
        if not contents:
            return None
        return read_together(contents, ids, self._schema, columns)

    def _read_one_by_one(
        self,
        names: Sequence[str],
        columns: Sequence[str],
        checked: bool,
    ) -> ReadResult:
        result = ReadResult()
        for name, data in self._files.read_many(names):
            try:
                if isinstance(data, Exception):
                    raise data
                table = parse(data, self._schema, columns, checked)
                if table["id"].to_pylist() != [stem(name)]:
                    raise ValueError("does not hold the one run that its name says")
                result.tables.append(table)
            except FileNotFoundError:
                continue
            except _UNREADABLE as fault:
                result.damaged[name] = fault
        return result

    def read_compacted(
        self,
        columns: Sequence[str],
        dictionaries: bool = False,
        ids: pa.Array | None = None,
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
        nothing: dict[_StampedName, pa.Table] = {}
        if ids is not None:
            id_set = frozenset(ids.to_pylist())
            # Of small files opening takes the time: none that is known to hold others only.
            nothing = {
                file: table
                for file, table in self._ids.items()
                if id_set.isdisjoint(table["id"].to_pylist())
            }
        damaged, tables = self._read_each(
            lambda name: read_compacted(
                self._files, self.kind, name, columns, dictionaries, ids
            ),
            nothing,
        )
        return ReadResult(
            [table for file, table in tables.items() if file not in nothing], damaged
        )

    def compacted_ids(self) -> dict[str, pa.ChunkedArray]:
        """Return the ids in each compacted file; a damaged one has none.

        Raises
        ------
        OSError
            If a compacted file cannot be read, whole or not; it is named.
        """
        damaged, self._ids = self._read_each(
            lambda name: read_compacted(self._files, self.kind, name, ["id"]),
            self._ids,
        )
        for name, fault in damaged.items():
            if isinstance(fault, OSError) and not is_damage(fault):
                raise OSError(fault.errno or errno.EIO, why(fault), name) from fault
        return {name: table["id"] for (name, _), table in self._ids.items()}

    def _read_each(
        self,
        read: Callable[[str], pa.Table],
        known: dict[_StampedName, pa.Table],
    ) -> tuple[dict[str, Exception], dict[_StampedName, pa.Table]]:
        """Return why files cannot be read, and the tables of the others, all of one moment."""
        tables = dict(known)
        faults: dict[_StampedName, Exception] = {}
        for _ in range(_TRIES):
            files = self._stamped()
            for file in files:
                if file in tables or file in faults:
                    continue
                try:
                    tables[file] = read(file[0])
                except FileNotFoundError:  # exchanged for another one
                    break
                except _UNREADABLE as fault:
                    faults[file] = fault
            else:
                if self._stamped() == files:
                    damaged = {
                        file[0]: faults[file] for file in files if file in faults
                    }
                    return damaged, {
                        file: tables[file] for file in files if file in tables
                    }
        raise StoreError(
            f"the files in compacted/{self.kind} of the metrics store changed {_TRIES} times "
            "while they were read; try again when fewer compactions run"
        )

    def _stamped(self) -> list[_StampedName]:
        stamps = self._files.stamps(f"compacted/{self.kind}")
        return [
            (name, stamps[name]) for name in sorted(stamps) if name.endswith(".parquet")
        ]


def read_together(
    contents: Sequence[bytes],
    ids: Sequence[str],
    schema: pa.Schema,
    columns: Sequence[str],
) -> pa.Table | None:
    """Read one-row files whose checksums match, several times faster than one by one.

    Parameters
    ----------
    contents : sequence of bytes
        Of the files.
    ids : sequence of str
        The run id that each of them must hold.
    schema : pyarrow.Schema
        Schema of the files.
    columns : sequence of str
        Columns to read, ``id`` among them.

    Returns
    -------
    pyarrow.Table or None
        The rows in the order of `contents`; None if anything about any file is not as it should be.
        Reading the files one by one then finds out which.
    """
    try:
        rows = [unvalidated(data, schema, columns) for data in contents]
        table = validated(pa.concat_tables(rows).combine_chunks(), schema, columns)
    except (*_UNREADABLE, KeyError, OverflowError):
        return None
    if table["id"].to_pylist() != list(ids):
        return None
    return table
