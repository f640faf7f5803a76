"""Whether a store is that of an undisturbed evaluation, byte for byte, and holds nothing that was left half done."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from olscale.results.compact import compact
from olscale.results.compacted import is_intact
from olscale.results.opening import open_store
from olscale.results.rows import run_bytes
from olscale.results.store import Store

__all__ = ["differences"]


def differences(store: Path, undisturbed: Path) -> list[str]:
    """Return the files in which `store` is not what it should be; it is compacted on the way.

    Three comparisons: the loose file of every run, with that made again of the record wherever
    compaction has put it; what must not be there; and the parts that compaction makes of both
    stores, as the same runs give the same parts.

    Parameters
    ----------
    store : path
        Store of the disturbed evaluation; nobody writes to it any more.
    undisturbed : path
        Store of an undisturbed evaluation; it is left as it is.
    """
    ours = open_store(store)
    theirs = open_store(undisturbed)
    wanted = {id: run_bytes(theirs.get(id)) for id in theirs.done()}
    found = {id: run_bytes(ours.get(id)) for id in ours.done()}
    wrong = _unlike(found, wanted)
    loose = {
        Path(name).stem: data
        for name, data in ours.files.read_many(ours.single_files("runs"))
    }
    wrong += _unlike(loose, {id: wanted.get(id) for id in loose})
    wrong += [
        f"{name}: bytes are not those of its name"
        for name in _parts(ours)
        if not _whole(ours, name)
    ]
    wrong += _left_over(store)

    compact(ours)
    copy = undisturbed.with_name(f"{undisturbed.name}-compacted")
    shutil.copytree(undisturbed, copy)
    compact(open_store(copy))
    wrong += _unlike(
        _files(store / "compacted" / "runs"), _files(copy / "compacted" / "runs")
    )
    wrong += [f"{name}: still loose" for name in ours.single_files("runs")]
    if not ours.read().equals(open_store(copy).read()):
        wrong.append("the records, as read")
    if ours.timings(columns=["id"])["id"].to_pylist() != sorted(wanted):
        wrong.append("the runs that have timings")
    shutil.rmtree(copy)
    return wrong


def _unlike(found: Mapping[str, object], wanted: Mapping[str, object]) -> list[str]:
    return sorted(
        name
        for name in found.keys() | wanted.keys()
        if found.get(name) != wanted.get(name)
    )


def _parts(store: Store) -> list[str]:
    return store.compacted_files("runs") + store.compacted_files("timings")


def _whole(store: Store, name: str) -> bool:
    [(_, data)] = store.files.read_many([name])
    return isinstance(data, bytes) and is_intact(name, data)


def _left_over(store: Path) -> list[str]:
    """Return what should be gone: checkpoints, scratch arrays of shards, rows of lost runs, files set aside."""
    gone = [
        file
        for folder in ("checkpoints", "lost", "damaged")
        for file in (store / folder).rglob("*")
    ]
    gone += [folder for folder in (store / "tmp").glob("*") if folder.is_dir()]
    return sorted(
        str(path.relative_to(store))
        for path in gone
        if path.is_file() or path.parent.name != "lost"
    )


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
