"""Compaction: the loose files of a store become few large parts, whoever reads, writes, compacts or dies meanwhile.

For the ids of each prefix one part is written that holds all their rows; only when all parts are there are the files
removed whose rows they hold. Killed before that, nothing has changed but for parts that repeat what is there, of which
readers count one row a run; killed later, likewise. The next compaction removes what is left over.

The length of the prefixes follows from the number of runs, so that the same runs give the same parts, byte for byte,
in whatever order and however often they were compacted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import pyarrow as pa

from olscale.errors import StoreError
from olscale.results.compacted import (
    SCHEMAS,
    intact,
    one_row_each,
    part_bytes,
    part_name,
    prefix_of,
    read_part,
    salvage,
)
from olscale.results.single import is_damage, read_loose, stem, why
from olscale.results.store import Store
from olscale.results.version import PARTS, version_bytes

__all__ = ["Compaction", "compact", "set_damaged_aside"]

ROWS = 8192
"""A part has no more rows than this, give or take; so many curves fit in memory several times."""

_TRIES = 20


@dataclass(slots=True)
class Compaction:
    """What compaction did.

    Parameters
    ----------
    runs : int
        Runs in parts now.
    parts : int
        Files that hold them.
    merged : int
        Loose files of runs that were merged.
    damaged : list of str
        Damaged files that were set aside, relative to the store; their runs are no longer done.
    """

    runs: int = 0
    parts: int = 0
    merged: int = 0
    damaged: list[str] = field(default_factory=list)


class _OvertakenError(Exception):
    """Another compaction has removed a part that this one was about to read."""


def compact(store: Store) -> Compaction:
    """Merge the loose files of a store into parts; safe at any time, also beside other compactions.

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
    Compaction(runs=0, parts=0, merged=0, damaged=[])
    """
    if store.version < PARTS:  # versions of olscale that do not look for parts must know that they cannot read this
        store.put("store.json", version_bytes(PARTS))
    done = Compaction()
    for kind in ("timings", "runs"):
        _compact_kind(store, kind, done)
    found = store.done()
    store.discard([name for name in store.loose("lost") if stem(name) in found])
    store.discard(_litter(store))
    done.runs, done.parts = len(found), len(store.parts("runs"))
    done.damaged.sort()
    return done


def set_damaged_aside(store: Store, ids: set[str]) -> list[str]:
    """Move the damaged files among those of some runs to ``damaged/``, so that `Store.done` leaves their runs out.

    Parameters
    ----------
    store : Store
    ids : set of str
        Runs whose loose files are looked at. Parts are looked at whatever they hold; rows of a damaged one that can
        still be read are kept.

    Returns
    -------
    list of str
        The files, relative to the store.
    """
    aside = [name for kind in SCHEMAS for name in _rescue_parts(store, kind)]
    for kind in ("runs", "lost", "timings"):
        schema = SCHEMAS["runs" if kind == "lost" else kind]
        names = [name for name in store.loose(kind) if stem(name) in ids]
        aside += _set_aside(store, read_loose(store.files, names, schema, schema.names, store.checked).damaged)
    return sorted(aside)


def _compact_kind(store: Store, kind: str, done: Compaction) -> None:
    for _ in range(_TRIES):
        aside = _rescue_parts(store, kind)
        try:
            aside += _merge(store, kind, done)
        except _OvertakenError:
            continue
        done.damaged += aside
        if not aside:
            return
        # What was set aside changes the number of runs, and so perhaps the prefixes.
    raise StoreError(f"the metrics store {store.path} changes faster than it can be compacted; try again later")


def _merge(store: Store, kind: str, done: Compaction) -> list[str]:
    """Write parts for all rows of a kind, then remove the files they were in; return what was set aside."""
    loose = defaultdict(list)
    names = store.loose(kind)
    parts = store.ids_of_parts(kind)
    ids = {stem(name) for name in names}.union(*(of.to_pylist() for of in parts.values()))
    depth = _depth(len(ids))
    for name in names:
        loose[stem(name)[:depth]].append(name)
    kept: set[str] = set()
    merged: list[str] = []
    aside: list[str] = []
    for prefix in map("".join, product("0123456789abcdef", repeat=depth)):
        old = [name for name in parts if _overlap(prefix_of(name), prefix)]
        if not loose[prefix] and [prefix_of(name) for name in old] == [prefix]:
            kept.update(old)
            continue
        found = read_loose(store.files, loose[prefix], SCHEMAS[kind], SCHEMAS[kind].names, store.checked)
        aside += _set_aside(store, found.damaged)
        table = one_row_each(pa.concat_tables([*_rows(store, kind, old, prefix), *found.tables]), kind)
        if table.num_rows:
            data = part_bytes(table)
            name = part_name(kind, prefix, data)
            if name not in parts:
                store.put(name, data)
            kept.add(name)
        read = {id for of in found.tables for id in of["id"].to_pylist()}
        merged += [name for name in loose[prefix] if stem(name) in read]
    store.discard(merged)
    store.discard([name for name in parts if name not in kept])
    done.merged += len(merged) if kind == "runs" else 0
    return aside


def _litter(store: Store) -> list[str]:
    try:
        return store.files.stale_temporaries()
    except OSError as fault:
        raise StoreError(f"cannot read tmp of the metrics store {store.path}: {why(fault)}") from fault


def _depth(runs: int) -> int:
    """Return the length of the prefixes that make parts of at most `ROWS` rows, on average."""
    depth = 0
    while runs > ROWS * 16**depth:
        depth += 1
    return depth


def _overlap(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _rows(store: Store, kind: str, parts: Sequence[str], prefix: str) -> list[pa.Table]:
    tables = [SCHEMAS[kind].empty_table()]
    for name in parts:
        try:
            table = read_part(store.files, kind, name, SCHEMAS[kind].names)
        except FileNotFoundError as fault:
            raise _OvertakenError from fault
        except (OSError, ValueError, pa.ArrowException) as fault:
            raise StoreError(f"cannot read {name} of the metrics store {store.path}: {why(fault)}") from fault
        tables.append(table.filter(pa.compute.starts_with(table["id"], prefix)))
    return tables


def _rescue_parts(store: Store, kind: str) -> list[str]:
    """Replace damaged parts by what can be read of them; return those that were damaged."""
    aside = []
    for name, data in store.files.read_many(store.parts(kind)):
        if isinstance(data, FileNotFoundError):
            continue
        if isinstance(data, Exception):
            raise StoreError(f"cannot read {name} of the metrics store {store.path}: {why(data)}") from data
        if not intact(name, data):
            rows = one_row_each(salvage(kind, data), kind)
            if rows.num_rows:
                rescued = part_bytes(rows)
                store.put(part_name(kind, prefix_of(name), rescued), rescued)
            store.set_aside(name)
            aside.append(name)
    return aside


def _set_aside(store: Store, damaged: dict[str, Exception]) -> list[str]:
    for name, fault in damaged.items():
        if not is_damage(fault):
            raise StoreError(f"cannot read {name} of the metrics store {store.path}: {why(fault)}") from fault
        store.set_aside(name)
    return list(damaged)
