"""The metrics store: a directory (or object-store prefix) where each finished run lands once.

::

    STORE/store.json                       format and version (`olscale.results.version`)
    STORE/runs/<id[:2]>/<id>.parquet       definition and results; its bytes depend on the definition alone
    STORE/timings/<id[:2]>/<id>.parquet    seconds, rows per second, host, versions, when
    STORE/lost/<id[:2]>/<id>.parquet       runs whose workers kept dying; superseded by a file in runs/
    STORE/compacted/                       runs and timings that compaction has moved into few large files
    STORE/damaged/                         files that were set aside, under the path they had
    STORE/plans/<name>-<hash>.json         which runs make up an experiment, in what order and under which labels
    STORE/selections/<id>.json             what tuning chose, and how each candidate did
    STORE/checkpoints/<pack key>/          runs in mid-stream, for whoever continues them
    STORE/tmp/                             files being written

The file in ``runs/`` is the commit: it is written last, in one atomic step, and not changed unless somebody asks for the
run to be computed again. There are no locks; any number of processes may write, because two that finish the same run write
the same bytes. Every file carries a checksum.

Readers look at loose files first and at parts (`olscale.results.compacted`) afterwards. A run that was loose and is so no
longer is then in a part, because compaction removes nothing before the part is there.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from olscale.errors import DatasetError, StoreError, UnknownNameError
from olscale.results.compacted import DECIDES, SCHEMAS, Parts, encoded, one_row_each
from olscale.results.record import Record, is_run_id
from olscale.results.rows import record_of, run_bytes, timing_bytes
from olscale.results.single import Found, is_damage, read_loose, stem, why
from olscale.results.version import CHECKED, VERSION, is_store, parse_version, version_bytes
from olscale.storage.base import Storage
from olscale.storage.open import open_storage

__all__ = ["OnDamage", "Store", "file_of", "is_vacant", "open_store", "require_writable", "unmake"]

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
    unreadable : dict of str to str
        Why files that were left out could not be read, where they may be whole.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.files = _files(path)
        self.damaged: tuple[str, ...] = ()
        self.unreadable: dict[str, str] = {}
        self._version = 0
        self._parts = {kind: Parts(self.files, kind) for kind in SCHEMAS}

    def __reduce__(self) -> tuple[type[Store], tuple[str]]:
        return Store, (self.path,)

    def __repr__(self) -> str:
        return f"Store({self.path!r})"

    @property
    def version(self) -> int:
        """Format version of the store."""
        if not self._version:
            [(_, data)] = self.files.read_many(["store.json"])
            if isinstance(data, Exception):
                raise StoreError(
                    f"cannot read store.json of the metrics store {self.path}: {why(data)}; check its permissions"
                ) from data
            self._version = parse_version(data, self.path)
        return self._version

    @property
    def checked(self) -> bool:
        """Whether every file of the store carries a checksum, so that one without is damaged."""
        return self.version >= CHECKED

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
        self.put(file_of("timings", record.id), timing_bytes(record, datetime.now(UTC)))
        self.put(file_of(kind, record.id), results)
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

    def exists(self, name: str) -> bool:
        """Return whether there is a file of this name; that nobody can tell is a `StoreError`."""
        try:
            return self.files.is_file(name)
        except OSError as fault:
            raise StoreError(f"cannot look for {name} in the metrics store {self.path}: {why(fault)}") from fault

    def names(self, folder: str) -> list[str]:
        """Return the files below a folder, sorted; that it cannot be listed is a `StoreError`."""
        with self._reading(folder):
            return self.files.names(folder)

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
        self,
        columns: Sequence[str] | None = None,
        on_damage: OnDamage = "raise",
        dictionaries: bool = False,
        ids: Collection[str] | None = None,
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
        ids : collection of str, optional
            Read these runs only, those of them that are there.

        Returns
        -------
        pyarrow.Table
            One row a run.

        Raises
        ------
        StoreError
            If a file is damaged (named in the message).
        """
        if ids is None:
            return self._read("runs", ("lost", "runs"), columns, on_damage, dictionaries)
        wanted, ids = list(SCHEMAS["runs"].names if columns is None else columns), set(ids)
        table = self._read("runs", ("lost", "runs"), [*dict.fromkeys(["id", *wanted])], on_damage, dictionaries, ids)
        return table.filter(pc.is_in(table["id"], value_set=pa.array(sorted(ids), pa.string()))).select(wanted)

    def forget(self, learners: Collection[str] = (), datasets: Collection[str] = (), everything: bool = False) -> int:
        """Remove runs with all that belongs to them, so that an evaluation computes them again.

        That is their results, lost ones included, timings and checkpoints, and the plans and selections of which no run is
        left. Killed at any instant, the store is whole, and the same call goes on.

        Parameters
        ----------
        learners, datasets : collection of str, optional
            Runs of these learners, on these datasets; a run must be of both kinds where both are given.
        everything : bool, default False
            Remove all runs; needed where neither learners nor datasets are given.

        Returns
        -------
        int
            How many runs were removed.

        Raises
        ------
        UnknownNameError
            If the store has no run of one of the learners or on one of the datasets.
        StoreError
            If the store cannot be written to.
        """
        from olscale.results.forget import forget_matching

        return forget_matching(self, learners, datasets, everything)

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
        return [name for name in self.names(kind) if name.endswith(".parquet") and is_run_id(stem(name))]

    def parts(self, kind: str) -> list[str]:
        """Return the parts of ``"runs"`` or ``"timings"``, sorted."""
        with self._reading(f"compacted/{kind}"):
            return self._parts[kind].names()

    def ids_of_parts(self, kind: str = "runs") -> dict[str, pa.ChunkedArray]:
        """Return the ids in each part; a damaged one has none, so that its runs count as not done."""
        with self._reading(f"compacted/{kind}"):
            return self._parts[kind].ids()

    def set_aside(self, name: str) -> None:
        """Move a damaged file to ``damaged/``, so that its run counts as not done."""
        [(_, data)] = self.files.read_many([name])
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
    def _reading(self, folder: str) -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            name = str(fault.filename or folder).removeprefix(f"{self.files}/")
            raise StoreError(
                f"cannot read {name} of the metrics store {self.path}: {why(fault)}; check its permissions and its disk"
            ) from fault

    def _has(self, id: str) -> bool:
        if self.exists(file_of("runs", id)):
            return True
        return any(pc.index(ids, id).as_py() >= 0 for ids in self.ids_of_parts().values())

    def _row(self, kind: str, id: str) -> dict[str, Any] | None:
        """Return the row of one run, if there is one, from its loose file or else from a part."""
        schema = SCHEMAS["runs" if kind == "lost" else kind]
        name = file_of(kind, id)
        found = read_loose(self.files, [name], schema, schema.names, self.checked)
        self._judge(found, "raise")
        if not found.tables and kind in SCHEMAS:
            with self._reading(f"compacted/{kind}"):
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
        ids: Collection[str] | None = None,
    ) -> pa.Table:
        schema = SCHEMAS[kind]
        wanted = schema.names if columns is None else list(columns)
        for column in wanted:
            if column not in schema.names:
                raise UnknownNameError("column", column, schema.names)
        fetched = list(dict.fromkeys([*wanted, "id", DECIDES[kind]]))
        # Loose files first: what compaction takes away meanwhile is in the parts that are there afterwards.
        names = [name for folder in folders for name in self.loose(folder) if ids is None or stem(name) in ids]
        loose = read_loose(self.files, names, schema, fetched, self.checked)
        with self._reading(f"compacted/{kind}"):
            parts = self._parts[kind].read(fetched, dictionaries)
        self._judge(Found([], loose.damaged | parts.damaged), on_damage)
        tables = [*parts.tables, *(encoded(loose.tables, kind) if dictionaries else loose.tables)]
        if not tables:
            return pa.schema([schema.field(name) for name in wanted]).empty_table()
        table = one_row_each(pa.concat_tables(tables), kind).select(wanted)
        return table if dictionaries else table.combine_chunks()

    def _judge(self, found: Found, on_damage: OnDamage) -> None:
        """Raise for the first damaged file, or take note of all."""
        unreadable = {name: fault for name, fault in found.damaged.items() if not is_damage(fault)}
        if on_damage == "raise" and unreadable:
            name, fault = min(unreadable.items(), key=lambda item: item[0])
            raise StoreError(
                f"cannot read {name} of the metrics store {self.path}: {why(fault)}; check its permissions and its disk, "
                "or leave it out with on_damage='skip' (--skip-damaged)"
            ) from fault
        if on_damage == "raise" and found.damaged:
            name, fault = min(found.damaged.items(), key=lambda item: item[0])
            raise StoreError(
                f"damaged file {name} in the metrics store {self.path}: {why(fault)}; olscale compact sets it aside, "
                "after which olscale evaluate runs it again; or leave it out with on_damage='skip' (--skip-damaged)"
            ) from fault
        self.unreadable |= {name: why(fault) for name, fault in unreadable.items()}
        self.damaged = tuple(sorted(found.damaged))


def _files(path: str) -> Storage:
    files = open_storage(path, temporaries="tmp")
    try:
        files.connect()
    except DatasetError as fault:
        raise StoreError(
            f"cannot open the metrics store {path}: {fault.__cause__}; use a directory or an fsspec URL"
        ) from fault
    return files


def open_store(path: str | os.PathLike[str], create: bool = False, writes: bool | None = None) -> Store:
    """Open a metrics store.

    Parameters
    ----------
    path : str or path-like
        Directory or fsspec URL.
    create : bool, default False
        Make the store if there is none.
    writes : bool, optional
        Check that it can be written to; by default where `create` is true.

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
    if not is_store(store.files, store.path):
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
        store.put("store.json", version_bytes(VERSION))
    assert store.version  # or an error that says what is wrong with it
    if create if writes is None else writes:
        require_writable(store)
    return store


def is_vacant(path: str | os.PathLike[str]) -> bool:
    """Return whether there is no metrics store at `path`."""
    try:
        return not Store(os.fspath(path)).files.is_file("store.json")
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
        for name in (*kept, ""):
            if files.local is not None:
                with suppress(OSError):
                    (files.local / name).rmdir()
    except OSError:  # it is gone, or stays
        return


def require_writable(store: Store) -> None:
    """Raise a `StoreError` if it can be told without writing that the store cannot be written to."""
    if not store.files.is_writable():
        raise StoreError(f"cannot write to the metrics store {store.path}: permission denied; name another store")


def file_of(kind: str, id: str) -> str:
    """Return the name of the loose file of a run in ``runs/``, ``lost/`` or ``timings/``."""
    return f"{kind}/{id[:2]}/{id}.parquet"
