"""The metrics store: a directory (or object-store prefix) where each finished run lands once.

::

    STORE/store.json                       format and version
    STORE/runs/<id[:2]>/<id>.parquet       definition and results; its bytes depend on the definition alone
    STORE/timings/<id[:2]>/<id>.parquet    seconds, rows per second, host, versions, when
    STORE/lost/<id[:2]>/<id>.parquet       runs whose workers kept dying; superseded by a file in runs/
    STORE/compacted/                       runs and timings that compaction has moved into few large files
    STORE/damaged/                         files that were set aside, under the path they had
    STORE/plans/<name>-<hash>.json         which runs make up an experiment, in what order and under which labels
    STORE/checkpoints/<pack key>/          runs in mid-stream, for whoever continues them
    STORE/tmp/                             files being written

The file in ``runs/`` is the commit: it is written last, in one atomic step, and never changed. There are no locks; any
number of processes may write, because two that finish the same run write the same bytes.

Readers look at loose files first and at parts (`olscale.results.parts`) afterwards. A run that was loose and is so no
longer is then in a part, because compaction removes nothing before the part is there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from olscale.errors import StoreError, UnknownNameError
from olscale.results.files import Files, LocalFiles, files_at
from olscale.results.loose import Found, read_loose, stem, why
from olscale.results.parts import DECIDES, SCHEMAS, Parts, encoded, one_row_each
from olscale.results.record import Record, is_run_id
from olscale.results.rows import record_of, run_bytes, timing_bytes

__all__ = ["OnDamage", "Store", "is_vacant", "open_store", "unmake", "write_version"]

FORMAT, VERSION = "olscale metrics store", 2
"""Version 1 had no parts. Reading it needs nothing special; compaction makes version 2 of it."""

OnDamage = Literal["raise", "skip"]


class Store:
    """A metrics store that exists; get one from `open_store`.

    It holds no open file and pickles as its path.

    Attributes
    ----------
    path : str
        Directory or fsspec URL.
    damaged : tuple of str
        Files that the last `read` or `timings` with ``on_damage="skip"`` left out, relative to `path`.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.files: Files = files_at(path)
        self.damaged: tuple[str, ...] = ()
        self._parts = {kind: Parts(self.files, kind) for kind in SCHEMAS}

    def __reduce__(self) -> tuple[type[Store], tuple[str]]:
        return Store, (self.path,)

    def __repr__(self) -> str:
        return f"Store({self.path!r})"

    def write(self, record: Record) -> bool:
        """Write a finished run, unless it is there already.

        Parameters
        ----------
        record : Record
            The run. An outcome of ``"lost"`` is kept apart: it does not count as done and gives way to a result.

        Returns
        -------
        bool
            Whether this call wrote it.

        Raises
        ------
        StoreError
            If the store cannot be written to.
        """
        if self._has(record.id):
            return False
        kind = "lost" if record.outcome == "lost" else "runs"
        results = run_bytes(record)
        self.put(_file("timings", record.id), timing_bytes(record, datetime.now(UTC)))
        self.put(_file(kind, record.id), results)
        return True

    def put(self, name: str, data: bytes) -> None:
        """Write one file of the store atomically; a failure is a `StoreError`."""
        try:
            self.files.put(name, data)
        except OSError as fault:
            raise StoreError(
                f"cannot write {name} to the metrics store {self.path}: {why(fault)}; "
                "check its permissions and free space, or name another store"
            ) from fault

    def done(self) -> set[str]:
        """Return the ids of the finished runs (``lost`` ones are not). Of loose files only the names are looked at."""
        loose = {stem(name) for name in self.loose("runs")}
        return loose.union(*(ids.to_pylist() for ids in self.ids_of_parts().values()))

    def lost(self) -> set[str]:
        """Return the ids of the runs that were given up as ``lost`` and have no result since."""
        return {stem(name) for name in self.loose("lost")} - self.done()

    def failed(self) -> set[str]:
        """Return the ids of the runs with another outcome than ``ok``, ``lost`` ones included. Reads every file."""
        table = self.read(["id", "outcome"], on_damage="skip")
        outcomes = zip(table["id"].to_pylist(), table["outcome"].to_pylist(), strict=True)
        return {id for id, outcome in outcomes if outcome != "ok"}

    def read(
        self, columns: Sequence[str] | None = None, on_damage: OnDamage = "raise", dictionaries: bool = False
    ) -> pa.Table:
        """Read all runs, sorted by id, ``lost`` ones that have no result included.

        Parameters
        ----------
        columns : sequence of str, optional
            Columns of `olscale.results.rows.RUN_SCHEMA`; leaving out the curves makes it faster. All by default.
        on_damage : {"raise", "skip"}
            What to do about a file that is not a whole, valid run: raise, or leave it out and name it in `damaged`.
        dictionaries : bool, default False
            Give columns of text that repeat themselves as dictionary arrays, which is several times faster.

        Returns
        -------
        pyarrow.Table
            One row a run.

        Raises
        ------
        StoreError
            If a file is damaged (named in the message).
        """
        return self._read("runs", ("lost", "runs"), columns, on_damage, dictionaries)

    def timings(
        self,
        on_damage: OnDamage = "raise",
        columns: Sequence[str] | None = None,
        ids: pa.ChunkedArray | None = None,
        dictionaries: bool = False,
    ) -> pa.Table:
        """Read the timings of runs, sorted by id.

        Parameters
        ----------
        on_damage : {"raise", "skip"}
        columns : sequence of str, optional
            Of ``id``, ``timings`` (map), ``environment`` (map), ``finished_at`` (UTC).
        ids : pyarrow.ChunkedArray, optional
            Runs whose timings are wanted; by default those that `read` gives.
        dictionaries : bool, default False
            As in `read`.

        Returns
        -------
        pyarrow.Table

        Raises
        ------
        StoreError
            If a file is damaged (named in the message).
        """
        if ids is None:
            ids = pa.chunked_array([sorted(self.done() | {stem(name) for name in self.loose("lost")})], pa.string())
        fetched = SCHEMAS["timings"].names if columns is None else list(columns)
        table = self._read("timings", ("timings",), [*dict.fromkeys(["id", *fetched])], on_damage, dictionaries)
        # Timings without their run belong to one that was interrupted before the commit.
        if not table["id"].equals(ids):
            table = table.filter(pc.is_in(table["id"], value_set=ids.combine_chunks()))
        return table.select(fetched)

    def get(self, id: str) -> Record:
        """Return one run.

        Raises
        ------
        StoreError
            If the store has no such run or its file is damaged.
        """
        run = (self._row("runs", id) or self._row("lost", id)) if is_run_id(id) else None
        if run is None:
            raise StoreError(
                f"the metrics store {self.path} has no run {id!r}; expected one of the ids of Store.done()"
            )
        timing = self._row("timings", id)
        try:
            return record_of(run, timing)
        except (ValueError, TypeError, AttributeError, RecursionError) as fault:
            raise StoreError(
                f"damaged run {id} in the metrics store {self.path}: {why(fault)}; delete its file and evaluate again"
            ) from fault

    def loose(self, kind: str) -> list[str]:
        """Return the files of ``"runs"``, ``"lost"`` or ``"timings"`` that hold one run each, sorted."""
        with self._listing(kind):
            names = self.files.names(kind)
        return [name for name in names if name.endswith(".parquet") and is_run_id(stem(name))]

    def parts(self, kind: str) -> list[str]:
        """Return the parts of ``"runs"`` or ``"timings"``, sorted."""
        with self._listing(f"compacted/{kind}"):
            return self._parts[kind].names()

    def ids_of_parts(self, kind: str = "runs") -> dict[str, pa.ChunkedArray]:
        """Return the ids in each part; a damaged one has none, so that its runs count as not done."""
        with self._listing(f"compacted/{kind}"):
            return self._parts[kind].ids()

    def set_aside(self, name: str) -> None:
        """Move a damaged file to ``damaged/``, so that its run counts as not done."""
        [(_, data)] = self.files.read([name])
        if not isinstance(data, Exception):
            self.put(f"damaged/{name}", data)
            self.discard([name])

    def discard(self, names: Iterable[str]) -> None:
        """Remove files; a failure is a `StoreError`."""
        try:
            self.files.discard_all(names)
        except OSError as fault:
            raise StoreError(f"cannot remove files of the metrics store {self.path}: {why(fault)}") from fault

    @contextmanager
    def _listing(self, folder: str) -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            raise StoreError(f"cannot list {folder} of the metrics store {self.path}: {why(fault)}") from fault

    def _has(self, id: str) -> bool:
        try:
            if self.files.exists(_file("runs", id)):
                return True
        except OSError as fault:
            raise StoreError(f"cannot look into the metrics store {self.path}: {why(fault)}") from fault
        return any(pc.index(ids, id).as_py() >= 0 for ids in self.ids_of_parts().values())

    def _row(self, kind: str, id: str) -> dict[str, Any] | None:
        """Return the row of one run, if there is one, from its loose file or else from a part."""
        schema = SCHEMAS["runs" if kind == "lost" else kind]
        name = _file(kind, id)
        found = read_loose(self.files, [name], schema, schema.names)
        self._judge(found, "raise")
        if not found.tables and kind in SCHEMAS:
            with self._listing(f"compacted/{kind}"):
                found = self._parts[kind].row(id)
            self._judge(found, "raise")
        rows: list[dict[str, Any]] = [row for table in found.tables for row in table.to_pylist()]
        return rows[0] if rows else None

    def _read(
        self,
        kind: str,
        folders: Sequence[str],
        columns: Sequence[str] | None,
        on_damage: OnDamage,
        dictionaries: bool,
    ) -> pa.Table:
        schema = SCHEMAS[kind]
        wanted = schema.names if columns is None else list(columns)
        for column in wanted:
            if column not in schema.names:
                raise UnknownNameError("column", column, schema.names)
        fetched = list(dict.fromkeys([*wanted, "id", DECIDES[kind]]))
        # Loose files first: what compaction takes away meanwhile is in the parts that are there afterwards.
        names = [name for folder in folders for name in self.loose(folder)]
        loose = read_loose(self.files, names, schema, fetched)
        with self._listing(f"compacted/{kind}"):
            parts = self._parts[kind].read(fetched, dictionaries)
        self._judge(Found([], loose.damaged | parts.damaged), on_damage)
        tables = [*parts.tables, *(encoded(loose.tables, kind) if dictionaries else loose.tables)]
        if not tables:
            return pa.schema([schema.field(name) for name in wanted]).empty_table()
        table = one_row_each(pa.concat_tables(tables), kind).select(wanted)
        return table if dictionaries else table.combine_chunks()

    def _judge(self, found: Found, on_damage: OnDamage) -> None:
        """Raise for the first damaged file, or take note of all."""
        if on_damage == "raise" and found.damaged:
            name, fault = min(found.damaged.items(), key=lambda item: item[0])
            raise StoreError(
                f"damaged file {name} in the metrics store {self.path}: {why(fault)}; olscale compact sets it aside, "
                "after which olscale evaluate runs it again; or leave it out with on_damage='skip' (--skip-damaged)"
            ) from fault
        self.damaged = tuple(sorted(found.damaged))


def open_store(path: str | os.PathLike[str], create: bool = False) -> Store:
    """Open a metrics store.

    Parameters
    ----------
    path : str or path-like
        Directory or fsspec URL.
    create : bool, default False
        Make the store if there is none, and check that it can be written to.

    Returns
    -------
    Store

    Raises
    ------
    StoreError
        If there is no store and `create` is false, `path` holds something else, the store was written by a newer
        olscale, or it is to be written to and cannot be.

    Examples
    --------
    >>> store = open_store("memory://doctest-store", create=True)
    >>> store.done()
    set()
    """
    store = Store(os.fspath(path))
    try:
        present = store.files.exists("store.json")
        free = present or store.files.is_free()
    except OSError as fault:
        raise StoreError(f"cannot look into {store.path}: {why(fault)}; check its permissions") from fault
    if not present:
        if not free:
            raise StoreError(
                f"{store.path} is not a metrics store (it has no store.json); name a store, or a new directory"
            )
        if not create:
            raise StoreError(
                f"there is no metrics store at {store.path}; check the path, "
                f"or make one with: olscale evaluate ... --store {store.path}"
            )
        try:
            store.files.make()
        except OSError as fault:
            raise StoreError(
                f"cannot make the metrics store {store.path}: {why(fault)}; check its permissions, or name another one"
            ) from fault
        write_version(store)
    _check_version(store)
    if create and not store.files.writable():
        raise StoreError(f"cannot write to the metrics store {store.path}: permission denied; name another store")
    return store


def is_vacant(path: str | os.PathLike[str]) -> bool:
    """Return whether there is no metrics store at `path`."""
    try:
        return not Store(os.fspath(path)).files.exists("store.json")
    except OSError:
        return False


def unmake(store: Store) -> None:
    """Remove a store that holds nothing but plans: one that was made for results that did not come."""
    files = store.files
    try:
        kept = ("runs", "timings", "lost", "selections", "compacted", "damaged", "checkpoints", "tmp")
        if any(files.names(folder) for folder in kept):
            return
        files.remove("plans")
        files.discard("store.json")
        if isinstance(files, LocalFiles):
            for folder in (*(files.root / name for name in kept), files.root):
                with suppress(OSError):
                    folder.rmdir()
    except OSError:  # it is gone, or stays
        return


def write_version(store: Store) -> None:
    """Write store.json of the present version."""
    store.put("store.json", (json.dumps({"format": FORMAT, "version": VERSION}) + "\n").encode())


def _check_version(store: Store) -> None:
    [(_, data)] = store.files.read(["store.json"])
    if isinstance(data, Exception):
        raise StoreError(f"cannot read store.json of the metrics store {store.path}: {why(data)}") from data
    try:
        about = json.loads(data)
        format_, version = about["format"], about["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        raise StoreError(f"{store.path} is not a metrics store: its store.json is not valid ({why(fault)})") from fault
    if format_ != FORMAT or not isinstance(version, int):
        raise StoreError(f"{store.path} is not a metrics store: its store.json says format {format_!r}, not {FORMAT!r}")
    if version > VERSION:
        raise StoreError(
            f"the metrics store {store.path} has format version {version}, this olscale reads up to {VERSION}; "
            "upgrade olscale"
        )


def _file(kind: str, id: str) -> str:
    return f"{kind}/{id[:2]}/{id}.parquet"
