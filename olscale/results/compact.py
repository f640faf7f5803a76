"""Compaction: the single files of a store become few large ones, whoever reads, writes, compacts or dies meanwhile.

For the ids of each prefix one file is written that holds all their rows. Only when all of these are
there are the files removed whose rows they hold. A compaction that is killed leaves rows in two
files at most; readers count one row a run, and the next compaction removes what is left over.

The length of the prefixes follows from the number of runs, so that the same runs give the same
files, byte for byte, in whatever order and however often they were compacted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby, product

import pyarrow as pa

from olscale.errors import StoreError
from olscale.results.arrow_arrays import empty_table
from olscale.results.compacted import (
    SCHEMAS,
    compacted_bytes,
    compacted_name,
    deduplicate,
    is_intact,
    prefix_of,
    read_compacted,
    salvage,
)
from olscale.results.single import is_damage, read_single, stem, why
from olscale.results.store import Store
from olscale.results.version import WITH_COMPACTED, version_bytes

ROWS = 8192
"""A compacted file has no more rows than this, give or take; so many curves fit in memory several times."""

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


class _OvertakenError(Exception):
    """Another compaction has removed a compacted file that this one was about to read."""


def compact(store: Store) -> Compaction:
    """Merge the single files of a store into compacted files; safe at any time, also beside other compactions.

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
    >>> from olscale.results.store import open_store
    >>> compact(open_store("memory://doctest-compact", create=True))
    Compaction(runs=0, files=0, merged=0, damaged=[])
    """
    if store.version < WITH_COMPACTED:
        # Versions of olscale that do not look for compacted files must know that they cannot read
        # this.
        store.put("store.json", version_bytes(WITH_COMPACTED))
    done = Compaction()
    for kind in ("timings", "runs"):
        _compact_kind(store, kind, done)
    found = store.done()
    store.discard([name for name in store.single_files("lost") if stem(name) in found])
    store.discard(_stale_temporaries(store))
    done.runs, done.files = len(found), len(store.compacted_files("runs"))
    done.damaged.sort()
    return done


def compact_many(store: Store, least: int) -> Compaction:
    """Compact a store that can be written to, and has had compacted files before, if `least` runs or more ask for it.

    Those are the runs in single files, and in compacted files that are not what compaction would
    make of the whole. Timings in more files than runs ask for it too: runs were computed again.
    """
    if store.version < WITH_COMPACTED or not store.files.is_writable():
        return Compaction()
    rows = {name: len(ids) for name, ids in store.compacted_ids("runs").items()}
    runs = len(store.single_files("runs")) + sum(rows.values())
    prefixes = Counter(map(prefix_of, rows))
    alone = [
        name
        for name in rows
        if len(prefix_of(name)) == _depth(runs) and prefixes[prefix_of(name)] == 1
    ]
    scattered = runs - sum(rows[name] for name in alone)
    again = len(store.compacted_files("timings")) > max(1, len(rows))
    return compact(store) if again or scattered >= least else Compaction()


def set_damaged_aside(store: Store, ids: set[str]) -> list[str]:
    """Move the damaged files among those of some runs to ``damaged/``, so that `Store.done` leaves their runs out.

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
    aside = [name for kind in SCHEMAS for name in _rescue_compacted(store, kind)]
    for kind in ("runs", "lost", "timings"):
        schema = SCHEMAS["runs" if kind == "lost" else kind]
        names = [name for name in store.single_files(kind) if stem(name) in ids]
        aside += _set_aside(
            store, read_single(store.files, names, schema, schema.names, store.checked).damaged
        )
    return sorted(aside)


def _compact_kind(store: Store, kind: str, done: Compaction) -> None:
    for _ in range(_TRIES):
        aside = _rescue_compacted(store, kind)
        try:
            aside += _merge(store, kind, done)
        except _OvertakenError:
            continue
        done.damaged += aside
        if not aside:
            return
        # What was set aside changes the number of runs, and so perhaps the prefixes.
    raise StoreError(
        f"the metrics store {store.path} changes faster than it can be compacted; try again later"
    )


def _merge(store: Store, kind: str, done: Compaction) -> list[str]:
    """Write compacted files for all rows of a kind, then remove the files they were in; return what was set aside."""
    single = defaultdict(list)
    names = store.single_files(kind)
    compacted = store.compacted_ids(kind)
    ids = {stem(name) for name in names}.union(*(of.to_pylist() for of in compacted.values()))
    depth = _depth(len(ids))
    if _cut(store, kind, depth, compacted):
        compacted = store.compacted_ids(kind)
    for name in names:
        single[stem(name)[:depth]].append(name)
    kept: set[str] = set()
    merged: list[str] = []
    aside: list[str] = []
    for prefix in _prefixes(depth):
        old = [name for name in compacted if _overlap(prefix_of(name), prefix)]
        if not single[prefix] and [prefix_of(name) for name in old] == [prefix]:
            kept.update(old)
            continue
        found = read_single(
            store.files, single[prefix], SCHEMAS[kind], SCHEMAS[kind].names, store.checked
        )
        aside += _set_aside(store, found.damaged)
        table = deduplicate(
            pa.concat_tables([*_rows(store, kind, old, prefix), *found.tables]), kind
        )
        if table.num_rows:
            data = compacted_bytes(table)
            name = compacted_name(kind, prefix, data)
            if name not in compacted:
                store.put(name, data)
            kept.add(name)
        read = {id for of in found.tables for id in of["id"].to_pylist()}
        merged += [name for name in single[prefix] if stem(name) in read]
    store.discard(merged)
    store.discard([name for name in compacted if name not in kept])
    done.merged += len(merged) if kind == "runs" else 0
    return aside


def _cut(store: Store, kind: str, depth: int, compacted: Mapping[str, pa.ChunkedArray]) -> bool:
    """Cut compacted files of shorter prefixes, those of run groups, by longer ones; return whether there were any.

    Each is read once then, and not once a prefix, with no more rows at a time than a compacted file
    has.
    """
    import pyarrow.compute as pc

    short = [name for name in compacted if len(prefix_of(name)) < depth]
    ends = accumulate(len(compacted[name]) for name in short)
    for _, batch in groupby(zip(ends, short, strict=True), lambda each: each[0] // ROWS):
        names = [name for _, name in batch]
        table = deduplicate(pa.concat_tables(_rows(store, kind, names, "")), kind)
        for prefix in _prefixes(depth):
            rows = table.filter(pc.starts_with(table["id"], prefix))
            if rows.num_rows:
                data = compacted_bytes(rows)
                store.put(compacted_name(kind, prefix, data), data)
        store.discard(names)
    return bool(short)


def _prefixes(depth: int) -> Iterator[str]:
    return map("".join, product("0123456789abcdef", repeat=depth))


def _stale_temporaries(store: Store) -> list[str]:
    try:
        return store.files.stale_temporaries()
    except OSError as fault:
        raise StoreError(
            f"cannot read tmp of the metrics store {store.path}: {why(fault)}"
        ) from fault


def _depth(runs: int) -> int:
    """Return the length of the prefixes that make compacted files of at most `ROWS` rows, on average."""
    depth = 0
    while runs > ROWS * 16**depth:
        depth += 1
    return depth


def _overlap(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _rows(store: Store, kind: str, names: Sequence[str], prefix: str) -> list[pa.Table]:
    import pyarrow.compute as pc

    tables = [empty_table(SCHEMAS[kind])]
    for name in names:
        try:
            table = read_compacted(store.files, kind, name, SCHEMAS[kind].names)
        except FileNotFoundError as fault:
            raise _OvertakenError from fault
        except (OSError, ValueError, pa.ArrowException) as fault:
            raise StoreError(
                f"cannot read {name} of the metrics store {store.path}: {why(fault)}"
            ) from fault
        tables.append(table.filter(pc.starts_with(table["id"], prefix)))
    return tables


def _rescue_compacted(store: Store, kind: str) -> list[str]:
    """Replace damaged compacted files by what can be read of them; return those that were damaged."""
    aside = []
    for name, data in store.files.read_many(store.compacted_files(kind)):
        if isinstance(data, FileNotFoundError):
            continue
        if isinstance(data, Exception):
            raise StoreError(
                f"cannot read {name} of the metrics store {store.path}: {why(data)}"
            ) from data
        if not is_intact(name, data):
            rows = deduplicate(salvage(kind, data), kind)
            if rows.num_rows:
                rescued = compacted_bytes(rows)
                store.put(compacted_name(kind, prefix_of(name), rescued), rescued)
            store.set_aside(name)
            aside.append(name)
    return aside


def _set_aside(store: Store, damaged: dict[str, Exception]) -> list[str]:
    for name, fault in damaged.items():
        if not is_damage(fault):
            raise StoreError(
                f"cannot read {name} of the metrics store {store.path}: {why(fault)}"
            ) from fault
        store.set_aside(name)
    return list(damaged)
