"""Reading runs and timings of a store, from single and compacted files together."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa

from olscale.errors import StoreError, UnknownNameError
from olscale.results.arrow_arrays import arrow_array, empty_table
from olscale.results.compacted import DECIDES, SCHEMAS, deduplicate, encode_dictionaries
from olscale.results.single import file_of, is_damage, read_single, stem, why
from olscale.results.store_files import StoreFiles


def read_table(
    store: StoreFiles,
    kind: str,
    folders: Sequence[str],
    columns: Sequence[str] | None,
    dictionaries: bool = False,
    ids: Collection[str] | None = None,
) -> tuple[pa.Table, dict[str, Exception]]:
    """Return columns of one row a run, sorted by id, and why files that gave none are damaged.

    Parameters
    ----------
    store : StoreFiles
    kind : {"runs", "timings"}
    folders : sequence of str
        Folders of single files.
    columns : sequence of str, optional
        All by default.
    dictionaries : bool
        Give columns of text that repeat themselves as dictionary arrays.
    ids : collection of str, optional
        Runs whose rows are read; those of others may be among them where all single files have been
        read before.
    """
    schema = SCHEMAS[kind]
    wanted = schema.names if columns is None else list(columns)
    for column in wanted:
        if column not in schema.names:
            raise UnknownNameError("column", column, schema.names)
    fetched = list(dict.fromkeys([*wanted, "id", DECIDES[kind]]))
    # Single files first: what compaction takes away meanwhile is in the compacted files that are
    # there afterwards.
    names = [name for folder in folders for name in store.single_files(folder)]
    if ids is None or store.single[kind].count:
        single = store.single[kind].read(names, fetched, store.checked)
    else:
        names = [name for name in names if stem(name) in ids]
        single = read_single(store.files, names, schema, fetched, store.checked)
    wanted_ids = None if ids is None else arrow_array(sorted(ids), pa.string())
    with store.reading(f"compacted/{kind}"):
        compacted = store.compacted[kind].read(fetched, dictionaries, wanted_ids)
    tables = [
        *compacted.tables,
        *(encode_dictionaries(single.tables, kind) if dictionaries else single.tables),
    ]
    damaged = single.damaged | compacted.damaged
    if not tables:
        return empty_table(pa.schema([schema.field(name) for name in wanted])), damaged
    table = deduplicate(pa.concat_tables(tables), kind).select(wanted)
    return (table if dictionaries else table.combine_chunks()), damaged


def read_row(store: StoreFiles, kind: str, id: str) -> dict[str, Any] | None:
    """Return the row of one run but for `finished_at`, from its single file or a compacted one.

    Raises
    ------
    StoreError
        If a file is damaged.
    """
    schema = SCHEMAS["runs" if kind == "lost" else kind]
    read = read_single(store.files, [file_of(kind, id)], schema, schema.names, store.checked)
    refuse_damage(store, read.damaged)
    if not read.tables and kind in SCHEMAS:
        with store.reading(f"compacted/{kind}"):
            read = store.compacted[kind].row(id)
        refuse_damage(store, read.damaged)
    # pyarrow imports pandas for a timestamp, and no record has one.
    fields = [name for name in schema.names if name != "finished_at"]
    rows = [row for table in read.tables for row in table.select(fields).to_pylist()]
    return rows[0] if rows else None


def refuse_damage(store: StoreFiles, damaged: Mapping[str, Exception]) -> None:
    """Raise a `StoreError` for the first of these files, one that cannot be read before one that is damaged."""
    for name, fault in sorted(damaged.items(), key=lambda item: (is_damage(item[1]), item[0])):
        if not is_damage(fault):
            raise StoreError(
                f"cannot read {name} of the metrics store {store.path}: {why(fault)}; check its "
                "permissions and its disk, "
                "or leave it out with on_damage='skip' (--skip-damaged)"
            ) from fault
        raise StoreError(
            f"damaged file {name} in the metrics store {store.path}: {why(fault)}; olscale "
            "compact sets it aside, "
            "after which olscale evaluate runs it again; or leave it out with on_damage='skip' "
            "(--skip-damaged)"
        ) from fault
