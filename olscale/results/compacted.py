"""Compacted files: the large ones that compaction makes of many single ones.

::

    STORE/compacted/runs/<prefix>-<hash>.parquet       runs whose ids begin so, sorted by id
    STORE/compacted/timings/<prefix>-<hash>.parquet    their timings

A compacted file is written once, in one step, and never changed; its name ends in a hash of its
bytes. A store holds the union of its compacted and single files, whatever their number: where
several have rows of one run, one of them counts (see `deduplicate`). So nothing has to be exchanged
in one step with anything else, and no file needs a lock.
"""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from operator import lt
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from olscale.results.arrow_arrays import arrow_array, empty_table
from olscale.results.record import OUTCOMES
from olscale.results.rows import RUN_SCHEMA, TIMING_SCHEMA
from olscale.storage.base import Storage

SCHEMAS = {"runs": RUN_SCHEMA, "timings": TIMING_SCHEMA}
DECIDES = {"runs": "outcome", "timings": "finished_at"}
"""The column that decides which of several rows of one run counts."""

# Rows of a row group: what is lost at most when a bit of a compacted file flips.
_GROUP = 5000

# Rows that are looked through without Arrow's functions, whose import takes longer.
_FEW = 1000

# Columns that no average needs; they are packed tighter than those that are read for each.
_BULK = ("run", "curve_rows", "curve_mistakes", "segments", "series")

# Columns that repeat themselves, to be read as dictionary arrays where that is asked for.
_TEXTS = {
    "runs": (
        "dataset",
        "fingerprint",
        "learner",
        "version",
        "params",
        "protocol",
        "outcome",
        "metrics.key_value.key",
    ),
    "timings": ("timings.key_value.key",),
}


def compacted_bytes(table: pa.Table) -> bytes:
    """Return the file of a table of runs or timings, the same bytes for the same rows."""
    sink = pa.BufferOutputStream()
    table = table.replace_schema_metadata(None).combine_chunks()
    paths = _leaves(table.schema)
    # What averages need is unpacked quickly, the rest is packed tightly.
    compression = dict.fromkeys(paths, "lz4")
    compression |= {path: "zstd" for path in paths if path.partition(".")[0] in _BULK}
    pq.write_table(
        table,
        sink,
        compression=compression,
        # Ids do not repeat: a dictionary of them would only add to the file.
        use_dictionary=[path for path in paths if path != "id"],
        row_group_size=_GROUP,
        store_schema=False,
        write_page_checksum=True,
    )
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def table_of(kind: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return the table of rows of runs or timings."""
    schema = SCHEMAS[kind]
    # `Table.from_pylist` takes thirty times as long.
    columns = [
        arrow_array([row[field.name] for row in rows], field.type) for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


@cache
def _leaves(schema: pa.Schema) -> list[str]:
    """Return the paths of the columns that Parquet makes of a schema."""
    sink = pa.BufferOutputStream()
    pq.write_table(empty_table(schema), sink, store_schema=False)
    columns = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return [columns.column(i).path for i in range(len(columns))]


def compacted_name(kind: str, prefix: str, data: bytes) -> str:
    """Return the name of a compacted file of these bytes, for the ids that begin with `prefix`."""
    return f"compacted/{kind}/{prefix or 'all'}-{_hash(data)}.parquet"


def prefix_of(name: str) -> str:
    """Return what all ids in a compacted file begin with."""
    prefix = name.rpartition("/")[2].partition("-")[0]
    return "" if prefix == "all" else prefix


def is_intact(name: str, data: bytes) -> bool:
    """Return whether a compacted file has the bytes that its name is made from."""
    return name.endswith(f"-{_hash(data)}.parquet")


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def read_compacted(
    files: Storage,
    kind: str,
    name: str,
    columns: Sequence[str],
    dictionaries: bool = False,
    ids: pa.Array | None = None,
) -> pa.Table:
    """Read columns of a compacted file, all rows or those of some runs.

    Of a remote file only their ranges are fetched.

    Raises
    ------
    FileNotFoundError
        If there is no such compacted file (any more).
    ValueError, pyarrow.ArrowException, OSError
        If what is read of it is damaged.
    """
    with files.ranges(name) as file:
        return _read(file, kind, columns, dictionaries, ids)


def _read(
    file: object,
    kind: str,
    columns: Sequence[str],
    dictionaries: bool,
    ids: pa.Array | None = None,
) -> pa.Table:
    texts = []
    if dictionaries:
        texts = [text for text in _TEXTS[kind] if text.partition(".")[0] in columns]
    # Of a remote file neighbouring ranges are fetched at once, and several at a time.
    is_remote = not isinstance(file, pa.NativeFile)
    try:
        source = pq.ParquetFile(
            file,
            read_dictionary=texts,
            page_checksum_verification=True,
            pre_buffer=is_remote,
        )
    except KeyError as fault:
        raise ValueError(f"has no column {fault}") from fault
    _check_types(source.schema_arrow, kind, columns)
    group_rows = [
        source.metadata.row_group(i).num_rows for i in range(source.num_row_groups)
    ]
    if sum(group_rows) != source.metadata.num_rows:
        raise ValueError(
            f"has {source.metadata.num_rows} rows, and {sum(group_rows)} in its row groups"
        )
    groups = list(range(source.num_row_groups))
    if dictionaries or ids is not None:
        # pyarrow cannot give a dictionary inside a map for several row groups at once.
        tables = [_read_groups(source, [group], columns, ids) for group in groups]
    else:
        tables = [_read_groups(source, groups, columns, ids)]
    table = pa.concat_tables(tables).replace_schema_metadata(None)
    if sorted(table.column_names) != sorted(columns):
        raise ValueError(
            f"has the columns {', '.join(table.column_names)}, expected {', '.join(columns)}"
        )
    table = table.select(columns)
    expected = pa.schema([SCHEMAS[kind].field(name) for name in columns])
    if dictionaries or table.schema.equals(expected):
        return table
    return table.cast(expected)


def _read_groups(
    source: pq.ParquetFile,
    groups: list[int],
    columns: Sequence[str],
    ids: pa.Array | None,
) -> pa.Table:
    """Read columns of row groups; of runs that are not in `ids` no curve stays in memory."""
    if ids is None:
        return source.read_row_groups(groups, columns=list(columns), use_threads=False)
    import pyarrow.compute as pc

    keys = source.read_row_groups(groups, columns=["id"], use_threads=False)
    is_in = pc.is_in(keys["id"], value_set=ids)
    if not pc.any(is_in).as_py():
        return source.read_row_groups([], columns=list(columns), use_threads=False)
    table = source.read_row_groups(groups, columns=list(columns), use_threads=False)
    return table.filter(is_in)


def _check_types(schema: pa.Schema, kind: str, columns: Sequence[str]) -> None:
    """Raise a `ValueError` if a footer, which has no checksum as its pages have, has other types.

    The values of a field inside a column whose name has changed would be taken for none.
    """
    for name in columns:
        if name not in schema.names:
            raise ValueError(f"has no column {name}")
        stored = _plain(schema.field(name).type)
        expected = SCHEMAS[kind].field(name).type
        if _type_text(stored) != _type_text(expected):
            raise ValueError(f"has {name} as {stored}, expected {expected}")


def _type_text(kind: pa.DataType) -> str:
    """Return the text of a type, without the name of a list's items: versions of Arrow differ."""
    return re.sub(r"list<\w+: ", "list<item: ", str(kind))


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return a type with values in the place of dictionaries."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    return kind


def encode_dictionaries(tables: Sequence[pa.Table], kind: str) -> list[pa.Table]:
    """Return tables with those columns as dictionary arrays that `read_compacted` gives as such."""
    if not tables:
        return []
    # Written and read again: pyarrow encodes no strings inside maps otherwise.
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.concat_tables(tables),
        sink,
        compression="none",
        store_schema=False,
    )
    return [
        _read(
            pa.BufferReader(sink.getvalue()),
            kind,
            tables[0].column_names,
            dictionaries=True,
        )
    ]


def salvage(kind: str, data: bytes) -> pa.Table:
    """Return the rows of the whole row groups of a damaged file; none of any other file."""
    schema = SCHEMAS[kind]
    tables = [schema.empty_table()]
    try:
        source = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        _check_types(source.schema_arrow, kind, schema.names)
    except (ValueError, OSError, pa.ArrowException):
        return tables[0]
    for group in range(source.num_row_groups):
        try:
            rows = source.read_row_group(
                group, use_threads=False
            ).replace_schema_metadata(None)
            tables.append(rows.select(schema.names).cast(schema))
        except (ValueError, OSError, KeyError, pa.ArrowException):
            continue
    return pa.concat_tables(tables)


def rows_of(table: pa.Table, ids: Collection[str]) -> pa.Table:
    """Return the rows of these runs."""
    id_set = frozenset(ids)
    is_kept = [id in id_set for id in table["id"].to_pylist()]
    if all(is_kept):
        return table
    return table.filter(arrow_array(is_kept, pa.bool_()))


def deduplicate(table: pa.Table, kind: str) -> pa.Table:
    """Sort rows by id and keep one a run: of results the better outcome, of timings the latest.

    Better is what stands first in `olscale.results.record.OUTCOMES`. Rows of one id and outcome are
    the same, as the bytes of a run depend on its definition alone.
    """
    ids = table["id"]
    if len(ids) < _FEW:
        # Mostly they ascend, and there is nothing to sort.
        texts = ids.to_pylist()
        if all(map(lt, texts, texts[1:])):
            return table
    import pyarrow.compute as pc

    ascends = pc.less(ids[:-1], ids[1:])
    if pc.all(ascends).as_py():
        return table
    decides = table[DECIDES[kind]]
    direction = "descending"
    if kind == "runs":
        # By the place of the outcome, the best first.
        outcomes = arrow_array(OUTCOMES, pa.string())
        decides = pc.index_in(decides.cast(pa.string()), value_set=outcomes)
        direction = "ascending"
    keys = pa.table({"id": ids, "by": decides})
    order = pc.sort_indices(keys, [("id", "ascending"), ("by", direction)])
    ids = ids.take(order)
    is_another = pc.not_equal(ids[1:], ids[:-1])
    is_first = pa.chunked_array([arrow_array([True], pa.bool_()), *is_another.chunks])
    return table.take(order.filter(is_first.combine_chunks()))
