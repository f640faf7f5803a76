"""The metrics store: a directory (or object-store prefix) where each finished run lands once.

::

    STORE/store.json                       format and version
    STORE/runs/<id[:2]>/<id>.parquet       definition and results; its bytes depend on the definition alone
    STORE/timings/<id[:2]>/<id>.parquet    seconds, rows per second, host, versions, when
    STORE/lost/<id[:2]>/<id>.parquet       runs whose workers kept dying; superseded by a file in runs/
    STORE/plans/<name>-<hash>.json         which runs make up an experiment
    STORE/checkpoints/<pack key>/          runs in mid-stream, for whoever continues them
    STORE/tmp/                             files being written

The file in ``runs/`` is the commit: it is written last, in one atomic step, and never changed. There are no locks; any
number of processes may write, because two that finish the same run write the same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Literal

import pyarrow as pa

from olscale.errors import StoreError, UnknownNameError
from olscale.results.bulk import WORTHWHILE, read_bulk
from olscale.results.files import Files, LocalFiles, files_at
from olscale.results.record import Record, is_run_id
from olscale.results.rows import RUN_SCHEMA, TIMING_SCHEMA, parse, record_of, run_bytes, timing_bytes

__all__ = ["Store", "open_store"]

FORMAT, VERSION = "olscale metrics store", 1

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
        if self.files.exists(_file("runs", record.id)):
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
                f"cannot write {name} to the metrics store {self.path}: {_why(fault)}; "
                "check its permissions and free space, or name another store"
            ) from fault

    def done(self) -> set[str]:
        """Return the ids of the finished runs (``lost`` ones are not). Lists directories, reads no file."""
        return self._ids("runs")

    def lost(self) -> set[str]:
        """Return the ids of the runs that were given up as ``lost`` and have no result since."""
        return self._ids("lost") - self.done()

    def failed(self) -> set[str]:
        """Return the ids of the runs with another outcome than ``ok``, ``lost`` ones included. Reads every file."""
        table = self.read(["id", "outcome"], on_damage="skip")
        outcomes = zip(table["id"].to_pylist(), table["outcome"].to_pylist(), strict=True)
        return {id for id, outcome in outcomes if outcome != "ok"}

    def forget(self, ids: Iterable[str]) -> None:
        """Remove runs, so that they are computed again.

        Raises
        ------
        StoreError
            If a file cannot be removed.
        """
        for name in (_file(kind, id) for id in sorted(ids) for kind in ("runs", "lost", "timings")):
            try:
                self.files.discard(name)
            except OSError as fault:
                raise StoreError(f"cannot remove {name} from the metrics store {self.path}: {_why(fault)}") from fault

    def read(self, columns: Sequence[str] | None = None, on_damage: OnDamage = "raise") -> pa.Table:
        """Read all runs, sorted by id, ``lost`` ones that have no result included.

        Parameters
        ----------
        columns : sequence of str, optional
            Columns of `olscale.results.rows.RUN_SCHEMA`; leaving out the curves makes it faster. All by default.
        on_damage : {"raise", "skip"}
            What to do about a file that is not a whole, valid run: raise, or leave it out and name it in `damaged`.

        Returns
        -------
        pyarrow.Table
            One row a run.

        Raises
        ------
        StoreError
            If a file is damaged (named in the message).
        """
        return self._read(self._run_files(), RUN_SCHEMA, columns, on_damage)

    def timings(self, on_damage: OnDamage = "raise") -> pa.Table:
        """Read the timings of all runs that `read` returns, sorted by id.

        Returns
        -------
        pyarrow.Table
            Columns ``id``, ``timings`` (map), ``environment`` (map), ``finished_at`` (UTC).

        Raises
        ------
        StoreError
            If a file is damaged (named in the message).
        """
        listed = self.done() | self._ids("lost")
        # A timings file without its run belongs to a run that was interrupted before the commit.
        names = sorted(_file("timings", id) for id in self._ids("timings") & listed)
        return self._read(names, TIMING_SCHEMA, None, on_damage)

    def get(self, id: str) -> Record:
        """Return one run.

        Raises
        ------
        StoreError
            If the store has no such run or its file is damaged.
        """
        found = (_file(kind, id) for kind in ("runs", "lost"))
        name = next((name for name in found if is_run_id(id) and self.files.exists(name)), None)
        if name is None:
            raise StoreError(
                f"the metrics store {self.path} has no run {id!r}; expected one of the ids of Store.done()"
            )
        runs = self._read([name], RUN_SCHEMA, None, "raise")
        timing, columns = _file("timings", id), ["timings", "environment"]
        found = self._read([timing], TIMING_SCHEMA, columns, "raise").to_pylist() if self.files.exists(timing) else []
        try:
            return record_of(runs.to_pylist()[0], found[0] if found else None)
        except (ValueError, TypeError, AttributeError, RecursionError) as fault:
            raise StoreError(
                f"damaged file {name} in the metrics store {self.path}: {_why(fault)}; delete it and evaluate again"
            ) from fault

    def _ids(self, kind: str) -> set[str]:
        stems = (_stem(name) for name in self._list(kind) if name.endswith(".parquet"))
        return {stem for stem in stems if is_run_id(stem)}

    def _list(self, folder: str) -> list[str]:
        try:
            return self.files.names(folder)
        except OSError as fault:
            raise StoreError(f"cannot list {folder} of the metrics store {self.path}: {_why(fault)}") from fault

    def _run_files(self) -> list[str]:
        """Return every source of rows of runs, ordered by run id."""
        kinds = dict.fromkeys(self._ids("lost"), "lost") | dict.fromkeys(self.done(), "runs")
        return [_file(kinds[id], id) for id in sorted(kinds)]

    def _read(
        self, names: Iterable[str], schema: pa.Schema, columns: Sequence[str] | None, on_damage: OnDamage
    ) -> pa.Table:
        wanted = schema.names if columns is None else list(columns)
        for column in wanted:
            if column not in schema.names:
                raise UnknownNameError("column", column, schema.names)
        fetched = wanted if "id" in wanted else ["id", *wanted]  # the id tells a file that is another's copy
        names = list(names)
        if isinstance(self.files, LocalFiles) and len(names) >= WORTHWHILE:
            paths = [str(self.files.root / name) for name in names]
            table = read_bulk(paths, [_stem(name) for name in names], schema, fetched)
            if table is not None:
                self.damaged = ()
                return table.select(wanted)
        tables: list[pa.Table] = []
        damaged: list[str] = []
        for name, data in self.files.read(names):
            try:
                if isinstance(data, Exception):
                    raise data
                table = parse(data, schema, fetched)
                if table["id"].to_pylist() != [_stem(name)]:
                    raise ValueError("does not hold the one run that its name says")
                tables.append(table)
            except (OSError, ValueError, pa.ArrowException) as fault:
                if on_damage == "raise":
                    raise StoreError(
                        f"damaged file {name} in the metrics store {self.path}: {_why(fault)}; "
                        "delete it and evaluate again, or leave it out with on_damage='skip' (--skip-damaged)"
                    ) from fault
                damaged.append(name)
        self.damaged = tuple(damaged)
        if not tables:
            return pa.schema([schema.field(name) for name in wanted]).empty_table()
        return pa.concat_tables(tables).select(wanted).combine_chunks()


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
        raise StoreError(f"cannot look into {store.path}: {_why(fault)}; check its permissions") from fault
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
        store.put("store.json", (json.dumps({"format": FORMAT, "version": VERSION}) + "\n").encode())
    _check_version(store)
    if create and not store.files.writable():
        raise StoreError(f"cannot write to the metrics store {store.path}: permission denied; name another store")
    return store


def _check_version(store: Store) -> None:
    [(_, data)] = store.files.read(["store.json"])
    if isinstance(data, Exception):
        raise StoreError(f"cannot read store.json of the metrics store {store.path}: {_why(data)}") from data
    try:
        about = json.loads(data)
        format_, version = about["format"], about["version"]
    except (ValueError, KeyError, TypeError) as fault:
        raise StoreError(f"{store.path} is not a metrics store: its store.json is not valid ({_why(fault)})") from fault
    if format_ != FORMAT or not isinstance(version, int):
        raise StoreError(f"{store.path} is not a metrics store: its store.json says format {format_!r}, not {FORMAT!r}")
    if version > VERSION:
        raise StoreError(
            f"the metrics store {store.path} has format version {version}, this olscale reads up to {VERSION}; "
            "upgrade olscale"
        )


def _file(kind: str, id: str) -> str:
    return f"{kind}/{id[:2]}/{id}.parquet"


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".parquet")


def _why(fault: Exception) -> str:
    text = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
    return " ".join(text.split()) or type(fault).__name__
