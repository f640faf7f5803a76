"""Reading single files, a run each: many local ones at once, several times faster than one by one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq

from olscale.results.arrow_arrays import check_times
from olscale.results.rows import OPTIONAL, fill_missing, parse
from olscale.storage.base import Storage
from olscale.storage.checked_parquet import checksum_matches

WORTHWHILE = 200
"""Files from which their rows are checked together, not one by one."""

BATCH = 1000
"""Files read at once. If one of them is not as it should be, so many are read one by one."""


@dataclass(slots=True)
class ReadResult:
    """What reading gave.

    Parameters
    ----------
    tables : list of pyarrow.Table
        Rows.
    damaged : dict of str to Exception
        Why the files of these names gave none.
    """

    tables: list[pa.Table] = field(default_factory=list)
    damaged: dict[str, Exception] = field(default_factory=dict)


def read_single(
    files: Storage,
    names: Iterable[str],
    schema: pa.Schema,
    columns: Sequence[str],
    checked: bool = False,
) -> ReadResult:
    """Read files of one row.

    A file that is no longer there is passed over: compaction has moved its run to a compacted file.

    Parameters
    ----------
    files : Storage
    names : iterable of str
        Files, each named by the id of its run.
    schema : pyarrow.Schema
        Schema of the files.
    columns : sequence of str
        Columns to read, ``id`` among them.
    checked : bool
        Whether a file without a checksum is damaged.
    """
    found, waiting = ReadResult(), iter(names)
    while batch := list(islice(waiting, BATCH)):
        table = read_at_once(files, batch, schema, columns, checked)
        if table is not None:
            found.tables.append(table)
            continue
        for name, data in files.read_many(batch):
            try:
                if isinstance(data, Exception):
                    raise data
                table = parse(data, schema, columns, checked)
                if table["id"].to_pylist() != [stem(name)]:
                    raise ValueError("does not hold the one run that its name says")
                found.tables.append(table)
            except FileNotFoundError:
                continue
            except (OSError, ValueError, pa.ArrowException) as fault:
                found.damaged[name] = fault
    return found


def read_at_once(
    files: Storage, names: Sequence[str], schema: pa.Schema, columns: Sequence[str], checked: bool
) -> pa.Table | None:
    """Return the rows of those files that are there, in order; None if they are to be read one by one."""
    if files.local is None or len(names) < WORTHWHILE:
        return None
    ids = []
    contents = []
    for name, data in files.read_many(names):
        if isinstance(data, FileNotFoundError):
            continue
        if isinstance(data, Exception) or not checksum_matches(data, checked):
            return None
        ids.append(stem(name))
        contents.append(data)
    return read_together(contents, ids, schema, columns) if contents else None


def read_together(
    contents: Sequence[bytes], ids: Sequence[str], schema: pa.Schema, columns: Sequence[str]
) -> pa.Table | None:
    """Read one-row files whose checksums match, and check their rows together.

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
        rows = [_row_of(data, schema, columns) for data in contents]
        table = pa.concat_tables(rows).cast(pa.schema([schema.field(name) for name in columns]))
        table = table.combine_chunks()
        table.validate(full=True)  # text that is none, offsets that point nowhere
        if "finished_at" in columns:
            check_times(table["finished_at"])
    except (ValueError, KeyError, OSError, OverflowError, pa.ArrowException):
        return None
    return table if table["id"].to_pylist() == list(ids) else None


def _row_of(data: bytes, schema: pa.Schema, columns: Sequence[str]) -> pa.Table:
    file = pq.ParquetFile(pa.BufferReader(data))
    absent = [name for name in OPTIONAL if name in columns and name not in file.schema_arrow.names]
    row = file.read(columns=[name for name in columns if name not in absent], use_threads=False)
    return fill_missing(row, schema, absent).select(list(columns)).replace_schema_metadata(None)


def is_damage(fault: Exception) -> bool:
    """Return whether a file itself is at fault, and not the way to it, as with a denied permission."""
    return not isinstance(fault, OSError) or (type(fault) is OSError and fault.errno is None)


def stem(name: str) -> str:
    """Return the run id in the name of a single file."""
    return name.rpartition("/")[2].removesuffix(".parquet")


def file_of(kind: str, id: str) -> str:
    """Return the name of the single file of a run in ``runs/``, ``lost/`` or ``timings/``."""
    return f"{kind}/{id[:2]}/{id}.parquet"


def why(fault: Exception) -> str:
    """Return a fault's message on one line."""
    text = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
    return " ".join(text.split()) or type(fault).__name__
