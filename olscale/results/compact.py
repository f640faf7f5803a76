"""Compaction: the single files of a store become few large ones, while others read and write.

For the ids of each prefix one file is written that holds all their rows, and only then are the
files removed that it takes the place of. A compaction that is killed leaves rows in two files at
most; readers count one row a run, and the next compaction removes what is left over.

The length of the prefixes follows from the number of runs, so that the same runs give the same
files, byte for byte, in whatever order and however often they were compacted.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf

import pyarrow as pa

from olscale.errors import StoreError
from olscale.results.arrow_arrays import empty_table
from olscale.results.compacted import (
    SCHEMAS,
    deduplicate,
    is_intact,
    prefix_of,
    read_compacted,
    salvage,
)
from olscale.results.faults import is_damage, unreadable
from olscale.results.run_files import stem
from olscale.results.store import Store
from olscale.results.version import WITH_COMPACTED, version_bytes

ROWS = 8192
"""Rows of a compacted file at most, give or take: so many curves fit in memory several times."""

_TRIES = 20


@dataclass(slots=True)
class Compaction:
    """What compaction did.

    Parameters
    ----------
    runs : int
        Runs in compacted files now.
    files : int
        Files that hold them.
    merged : int
        Single files of runs that were merged.
    damaged : list of str
        Damaged files that were set aside, relative to the store; their runs are no longer done.
    """

    runs: int = 0
    files: int = 0
    merged: int = 0
    damaged: list[str] = field(default_factory=list)


def compact(store: Store) -> Compaction:
    """Merge the single files of a store into compacted files, at any time, others at work or not.

    Parameters
    ----------
    store : Store

    Returns
    -------
    Compaction

    Raises
    ------
    StoreError
        If the store cannot be written to. Nothing is lost then.

    Examples
    --------
    >>> from olscale.results.opening import open_store
    >>> compact(open_store("memory://doctest-compact", create=True))
    Compaction(runs=0, files=0, merged=0, damaged=[])
    """
    if store.version < WITH_COMPACTED:
        # Versions of olscale that look for no compacted files must know that they cannot read it.
        store.put("store.json", version_bytes(WITH_COMPACTED))
    result = Compaction()
    # Timings first, as they are written: a run that is seen has its timings.
    for kind in ("timings", "runs"):
        _compact_kind(store, kind, result)
    # A lost run has got a result since.
    ids = store.done()
    store.discard([name for name in store.single_files("lost") if stem(name) in ids])
    store.discard(_stale_temporaries(store))
    result.runs = len(ids)
    result.files = len(store.compacted_files("runs"))
    result.damaged.sort()
    return result


def compact_many(
    store: Store, least: int, share: float = inf, added: int = 0
) -> Compaction:
    """Compact a store that has had compacted files before, if enough runs ask for it.

    Enough are `least`, or this `share` of those that do not ask. Those that ask are the runs in
    single files, and in compacted files that are not what compaction would make of the whole; any
    are enough after so many runs as the share were `added`. Where a share is enough, so are many
    small files. Timings in more files than runs ask for it too: runs were computed again.
    """
    if store.version < WITH_COMPACTED or not store.files.is_writable():
        return Compaction()
    rows = {name: len(ids) for name, ids in store.compacted_ids("runs").items()}
    single_files = len(store.single_files("runs"))
    runs = single_files + sum(rows.values())
    depth = _depth(runs)
    # Compaction makes one file of those of a prefix: the smaller ones ask, and the largest.
    largest: dict[str, int] = {}
    for name, count in rows.items():
        prefix = prefix_of(name)
        if len(prefix) == depth:
            largest[prefix] = max(count, largest.get(prefix, 0))
    compact_rows = sum(largest.values())
    asking = runs - compact_rows
    is_share = max(asking, added) >= share * compact_rows
    is_enough = asking >= least or (asking > 0 and is_share)
    # Each evaluation opens every small file, and to compact takes as long as there are runs:
    # together they take least where the files are as many as the root of the runs.
    small_files = single_files + len(rows) - len(largest)
    if share < inf and small_files**2 > compact_rows:
        is_enough = True
    more_timings = len(store.compacted_files("timings")) - max(1, len(rows))
    if not is_enough and (more_timings <= 0 or more_timings**2 <= compact_rows):
        return Compaction()
    return compact(store)


def set_damaged_aside(store: Store, ids: set[str]) -> list[str]:
    """Move the damaged files of some runs to ``damaged/``: the runs are no longer done.

    Parameters
    ----------
    store : Store
    ids : set of str
        Runs whose single files are looked at. All compacted files are; rows of a damaged one that
        can still be read are kept.

    Returns
    -------
    list of str
        The files, relative to the store.
    """
    aside: list[str] = []
    for kind in SCHEMAS:
        aside += _rescue_compacted(store, kind)
    for folder in ("runs", "lost", "timings"):
        names = [name for name in store.single_files(folder) if stem(name) in ids]
        _, damaged = _read_single(store, folder, names)
        aside += damaged
    return sorted(aside)


def _compact_kind(store: Store, kind: str, result: Compaction) -> None:
    for _ in range(_TRIES):
        before = len(result.damaged)
        result.damaged += _rescue_compacted(store, kind)
        try:
            _merge(store, kind, result)
        except FileNotFoundError:
            # another compaction has removed a compacted file that was to be read
            continue
        # What was set aside changes the number of runs, and so perhaps the prefixes.
        if len(result.damaged) == before:
            return
    raise StoreError(
        f"the metrics store {store.path} changes faster than it can be compacted; try again later"
    )


def _merge(store: Store, kind: str, result: Compaction) -> None:
    """Make one compacted file of all rows of each prefix."""
    single_names = store.single_files(kind)
    compacted = store.compacted_ids(kind)
    ids = {stem(name) for name in single_names}
    for of_file in compacted.values():
        ids.update(of_file.to_pylist())
    depth = _depth(len(ids))
    _split_short(store, kind, depth, compacted)

    single = defaultdict(list)
    for name in single_names:
        single[stem(name)[:depth]].append(name)
    # Names of longer prefixes are of a store that had more runs.
    old = defaultdict(list)
    for name in store.compacted_files(kind):
        old[prefix_of(name)[:depth]].append(name)
    for prefix in _prefixes(depth):
        # One file of the prefix, and nothing to add to it: it stays.
        if not single[prefix] and [prefix_of(name) for name in old[prefix]] == [prefix]:
            continue
        tables, damaged = _read_single(store, kind, single[prefix])
        result.damaged += damaged
        table = _merged(store, kind, old[prefix], tables)
        written = ""
        if table.num_rows:
            written = store.put_compacted(kind, prefix, table, old[prefix])
        # A single file that was gone is in a compacted file of another compaction.
        read_ids = {
            id for single_table in tables for id in single_table["id"].to_pylist()
        }
        merged = [name for name in single[prefix] if stem(name) in read_ids]
        store.discard([*merged, *(name for name in old[prefix] if name != written)])
        if kind == "runs":
            result.merged += len(merged)


def _split_short(
    store: Store,
    kind: str,
    depth: int,
    compacted: Mapping[str, pa.ChunkedArray],
) -> None:
    """Split compacted files of shorter prefixes, as those of run groups, into files of this depth.

    Each is read once then, and not once a prefix, with no more rows at a time than a compacted file
    has.
    """
    import pyarrow.compute as pc

    batches: list[list[str]] = []
    rows = 0
    for name, ids in compacted.items():
        if len(prefix_of(name)) >= depth:
            continue
        rows += len(ids)
        if not batches or rows > ROWS:
            batches.append([])
            rows = len(ids)
        batches[-1].append(name)
    for names in batches:
        table = _merged(store, kind, names, [])
        for prefix in _prefixes(depth):
            part = table.filter(pc.starts_with(table["id"], prefix))
            if part.num_rows:
                store.put_compacted(kind, prefix, part)
        store.discard(names)


def _prefixes(depth: int) -> Iterator[str]:
    return map("".join, product("0123456789abcdef", repeat=depth))


def _depth(runs: int) -> int:
    """Return the length of the prefixes that make files of at most `ROWS` rows, on average."""
    depth = 0
    # A digit more in the prefix makes sixteen files of one.
    while runs > ROWS * 16**depth:
        depth += 1
    return depth


def _merged(
    store: Store,
    kind: str,
    names: Sequence[str],
    single: Sequence[pa.Table],
) -> pa.Table:
    """Return the rows of compacted files and of single ones, sorted by id, one a run.

    Raises
    ------
    FileNotFoundError
        If a compacted file is gone.
    """
    tables = [empty_table(SCHEMAS[kind])]
    for name in names:
        try:
            tables.append(read_compacted(store.files, kind, name, SCHEMAS[kind].names))
        except FileNotFoundError:
            raise
        except (OSError, ValueError, pa.ArrowException) as fault:
            raise unreadable(store.path, name, fault) from fault
    return deduplicate(pa.concat_tables([*tables, *single]), kind)


def _read_single(
    store: Store, folder: str, names: Sequence[str]
) -> tuple[list[pa.Table], list[str]]:
    """Return the rows of single files, and the names of damaged ones, which are set aside."""
    files = store.files_in(folder)
    result = files.read_single(names, SCHEMAS[files.kind].names, store.checked)
    for name, fault in result.damaged.items():
        if not is_damage(fault):
            raise unreadable(store.path, name, fault) from fault
        store.set_aside(name)
    return result.tables, list(result.damaged)


def _rescue_compacted(store: Store, kind: str) -> list[str]:
    """Replace damaged compacted files by what can be read of them; return their names."""
    aside = []
    for name, data in store.files.read_many(store.compacted_files(kind)):
        if isinstance(data, FileNotFoundError):
            continue
        if isinstance(data, Exception):
            raise unreadable(store.path, name, data) from data
        if is_intact(name, data):
            continue
        rows = deduplicate(salvage(kind, data), kind)
        if rows.num_rows:
            store.put_compacted(kind, prefix_of(name), rows)
        store.set_aside(name)
        aside.append(name)
    return aside


def _stale_temporaries(store: Store) -> list[str]:
    try:
        return store.files.stale_temporaries()
    except OSError as fault:
        raise unreadable(store.path, "tmp", fault) from fault
