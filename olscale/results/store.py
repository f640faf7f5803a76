"""The metrics store: a directory (or object-store prefix) where each finished run lands once.

::

    STORE/store.json                       format and version (`olscale.results.version`)
    STORE/runs/<id[:2]>/<id>.parquet       definition and results; bytes depend on the definition
    STORE/timings/<id[:2]>/<id>.parquet    seconds, rows per second, host, versions, when
    STORE/lost/<id[:2]>/<id>.parquet       runs whose workers kept dying, until they have a result
    STORE/compacted/                       runs and timings in few large files
    STORE/damaged/                         files that were set aside, under the path they had
    STORE/plans/<name>-<hash>.json         which runs make up an experiment, and their labels
    STORE/selections/<id>.json             what tuning chose, and how each candidate did
    STORE/models/<id>.olm                  final models, where an experiment asks to keep them
    STORE/checkpoints/<group key>/         runs in mid-stream, to be continued
    STORE/live/                            what evaluations are doing now (`olscale.results.live`)
    STORE/tmp/                             files being written

The file with results is the commit: it is written last, in one atomic step, and not changed unless
somebody asks for the run to be computed again. There are no locks; any number of processes may
write, because two that finish the same run write the same bytes. Every file carries a checksum.

`olscale.results.run_files` reads runs, `olscale.results.compact` compacts them.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Literal

import pyarrow as pa

from olscale.addresses import redacted
from olscale.errors import StoreError
from olscale.results.arrow_arrays import arrow_array
from olscale.results.compacted import (
    SCHEMAS,
    compacted_bytes,
    compacted_name,
    rows_of,
    table_of,
)
from olscale.results.faults import is_damage, refuse_damage, unreadable, why
from olscale.results.record import Record
from olscale.results.rows import run_bytes, run_row, timing_bytes, timing_row
from olscale.results.run_files import RunFiles, file_of, stem
from olscale.results.version import (
    RECORD_FOLDERS,
    WITH_CHECKSUMS,
    open_files,
    parse_version,
)
from olscale.system.arguments import checked_arguments

OnDamage = Literal["raise", "skip"]

_MODEL = ".olm"


class Store:
    """A metrics store that exists; get one from `open_store`.

    It holds no file open and pickles as its path.

    Parameters
    ----------
    path : str
        Directory or fsspec URL.

    Attributes
    ----------
    files : Storage
        All files below the path.
    run_files : dict of str to RunFiles
        Those that hold ``"runs"``, and those that hold ``"timings"``.
    damaged : tuple of str
        Files that the last `read` or `timings` with ``on_damage="skip"`` left out, relative to
        `path`.
    unreadable : dict of str to str
        Why files that were left out could not be read, where they may be whole.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.files = open_files(path)
        self.run_files = {kind: RunFiles(self.files, kind) for kind in SCHEMAS}
        self.damaged: tuple[str, ...] = ()
        self.unreadable: dict[str, str] = {}
        self._version = 0

    def __reduce__(self) -> tuple[type[Store], tuple[str]]:
        return type(self), (self.path,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({redacted(self.path)!r})"

    # Files by name.

    @property
    def version(self) -> int:
        """Format version of the store."""
        # Read at first use: making a store object needs no file of it.
        if not self._version:
            [(_, data)] = self.files.read_many(["store.json"])
            if isinstance(data, Exception):
                raise unreadable(self.path, "store.json", data) from data
            self._version = parse_version(data, self.path)
        return self._version

    @property
    def checked(self) -> bool:
        """Whether every file of the store carries a checksum, so that one without is damaged."""
        return self.version >= WITH_CHECKSUMS

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
        """Return whether there is a file of this name; an unknown answer is a `StoreError`."""
        try:
            return self.files.is_file(name)
        except OSError as fault:
            raise StoreError(
                f"cannot look for {name} in the metrics store {self.path}: {why(fault)}"
            ) from fault

    def names(self, folder: str) -> list[str]:
        """Return the files below a folder, sorted; that it cannot be listed is a `StoreError`."""
        with self.reading(folder):
            return self.files.names(folder)

    def set_aside(self, name: str) -> None:
        """Move a damaged file to ``damaged/``, so that its run counts as not done."""
        [(_, data)] = self.files.read_many([name])
        # Another process may have set it aside.
        if not isinstance(data, Exception):
            self.put(f"damaged/{name}", data)
            self.discard([name])

    def discard(self, names: Iterable[str]) -> None:
        """Remove files; a failure is a `StoreError`."""
        try:
            self.files.discard_all(names)
        except OSError as fault:
            raise StoreError(
                f"cannot remove files of the metrics store {self.path}: {why(fault)}"
            ) from fault

    def record_stamps(self) -> dict[str, Hashable]:
        """Return a stamp of each file that tables and reports are made of.

        A table that was made holds for as long as they are the same: a run that is computed again,
        a file that is damaged or set aside, and a plan with other labels change them.
        """
        stamps: dict[str, Hashable] = {}
        for folder in RECORD_FOLDERS:
            with self.reading(folder):
                stamps |= self.files.stamps(folder)
        return stamps

    def single_files(self, folder: str) -> list[str]:
        """Return the files of ``"runs"``, ``"lost"`` or ``"timings"`` with one run each, sorted."""
        with self.reading(folder):
            return self.files_in(folder).single_names(folder)

    def compacted_files(self, kind: str) -> list[str]:
        """Return the compacted files of ``"runs"`` or ``"timings"``, sorted."""
        with self.reading(f"compacted/{kind}"):
            return self.run_files[kind].compacted_names()

    def put_compacted(
        self,
        kind: str,
        prefix: str,
        table: pa.Table,
        present: Collection[str] = (),
    ) -> str:
        """Write a compacted file of the runs whose ids begin with `prefix`; return its name.

        One of those that are present is not written again.
        """
        data = compacted_bytes(table)
        name = compacted_name(kind, prefix, data)
        if name not in present:
            self.put(name, data)
        return name

    def compacted_ids(self, kind: str = "runs") -> dict[str, pa.ChunkedArray]:
        """Return the ids in each compacted file; a damaged one has none: its runs are not done."""
        with self.reading(f"compacted/{kind}"):
            return self.run_files[kind].compacted_ids()

    def files_in(self, folder: str) -> RunFiles:
        """Return the reader of the files in ``"runs"``, ``"lost"`` or ``"timings"``."""
        return self.run_files["runs" if folder == "lost" else folder]

    def model_ids(self) -> set[str]:
        """Return the ids of the runs whose final models the store keeps."""
        return {
            name.rpartition("/")[2].removesuffix(_MODEL)
            for name in self.names("models")
            if name.endswith(_MODEL)
        }

    @contextmanager
    def adding_damage(self) -> Iterator[None]:
        """Add to `damaged` what the block leaves out; `read` and `timings` replace the names."""
        before = self.damaged
        self.damaged = ()
        yield
        self.damaged = tuple(dict.fromkeys((*before, *self.damaged)))

    @contextmanager
    def reading(self, folder: str) -> Iterator[None]:
        """Turn an `OSError` of the block into a `StoreError` that names the file, or `folder`."""
        try:
            yield
        except OSError as fault:
            name = str(fault.filename or folder).removeprefix(f"{self.files}/")
            raise unreadable(self.path, name, fault) from fault

    # Runs.

    def write(self, record: Record) -> bool:
        """Write a finished run, unless it is there already.

        Parameters
        ----------
        record : Record
            The run. An outcome of ``"lost"`` is kept apart: it does not count as done and gives way
            to a result.

        Returns
        -------
        bool
            Whether this call wrote it.

        Raises
        ------
        StoreError
            If the store cannot be written to.
        """
        # No lock: two processes that finish one run write the same bytes.
        if self._is_done(record.id):
            return False
        folder = "lost" if record.outcome == "lost" else "runs"
        results = run_bytes(record)
        # Results come last: they are the commit.
        self.put(
            file_of("timings", record.id),
            timing_bytes(record, datetime.now(UTC)),
        )
        self.put(file_of(folder, record.id), results)
        return True

    def write_together(self, records: Sequence[Record]) -> str:
        """Write finished runs, none of them ``lost``, to one compacted file: one wait for the disk.

        Those that are there already are written again; readers count one of each.

        Returns
        -------
        str
            The name of the file.

        Raises
        ------
        StoreError
            If the store cannot be written to.
        """
        moment = datetime.now(UTC)
        ordered = sorted(records, key=lambda record: record.id)
        timings = table_of(
            "timings", [timing_row(record, moment) for record in ordered]
        )
        runs = table_of("runs", [run_row(record) for record in ordered])
        self.put_compacted("timings", "", timings)
        return self.put_compacted("runs", "", runs)

    def done(self) -> set[str]:
        """Return the ids of the finished runs (``lost`` ones are not); no single file is opened."""
        ids = {stem(name) for name in self.single_files("runs")}
        for compacted in self.compacted_ids().values():
            ids.update(compacted.to_pylist())
        return ids

    def lost(self) -> set[str]:
        """Return the ids of the runs that were given up as ``lost`` and have no result since."""
        return {stem(name) for name in self.single_files("lost")} - self.done()

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
        columns : sequence of str
            Columns of `olscale.results.rows.RUN_SCHEMA`; leaving out the curves makes it faster.
            All by default.
        on_damage : {"raise", "skip"}
            What to do about a file that is not a whole, valid run: raise, or leave it out and name
            it in `damaged`.
        dictionaries : bool, default False
            Give columns of text that repeat themselves as dictionary arrays, which is several times
            faster.
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
        if columns is None:
            columns = SCHEMAS["runs"].names
        if ids is not None:
            ids = set(ids)
        table = self._read("runs", columns, on_damage, dictionaries, ids)
        if ids is not None:
            table = rows_of(table, ids)
        return table.select(list(columns))

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
        if columns is None:
            columns = SCHEMAS["timings"].names
        if ids is None:
            run_ids = self.done() | {stem(name) for name in self.single_files("lost")}
            ids = pa.chunked_array([arrow_array(sorted(run_ids), pa.string())])
        table = self._read("timings", columns, on_damage, dictionaries)
        # Timings without their run belong to one that was interrupted before the commit.
        if not table["id"].equals(ids):
            table = rows_of(table, set(ids.to_pylist()))
        return table.select(list(columns))

    def get(self, id: str) -> Record:
        """Return one run.

        Raises
        ------
        StoreError
            If the store has no such run or its file is damaged.
        """
        return self.get_many([id])[id]

    def get_many(self, ids: Collection[str]) -> dict[str, Record]:
        """Return runs by id; compacted files are gone through once for all of them.

        Raises
        ------
        StoreError
            As `get` does, for the first that cannot be returned.

        Examples
        --------
        >>> from olscale.results.opening import open_store
        >>> open_store("memory://doctest-get-many", create=True).get_many([])
        {}
        """
        # Imported here: it reads through a store.
        from olscale.results.records_by_id import read_records

        return read_records(self, ids)

    @checked_arguments()
    def forget(
        self,
        learners: Collection[str] = (),
        datasets: Collection[str] = (),
        everything: bool = False,
    ) -> int:
        """Remove runs with all that belongs to them, so that an evaluation computes them again.

        That is their results, lost ones included, timings and checkpoints, and the plans and
        selections that have no run left. Killed at any instant, the store is whole, and the same
        call continues.

        Parameters
        ----------
        learners, datasets : collection of str, optional
            Runs of these learners, on these datasets; a run must be of both kinds where both are
            given.
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
        # Imported here: it reads plans and selections, which are read from a store.
        from olscale.results.forget import forget_matching

        return forget_matching(self, learners, datasets, everything)

    def _read(
        self,
        kind: str,
        columns: Sequence[str],
        on_damage: OnDamage,
        dictionaries: bool,
        ids: Collection[str] | None = None,
    ) -> pa.Table:
        """Return `columns`, and others, of one row a run, sorted by id; `ids` and perhaps more."""
        folders = ("lost", "runs") if kind == "runs" else ("timings",)
        names = [name for folder in folders for name in self.single_files(folder)]
        with self.reading(f"compacted/{kind}"):
            table, damaged = self.run_files[kind].read(
                names, columns, self.checked, dictionaries, ids
            )
        if on_damage == "raise":
            refuse_damage(self.path, damaged)
        self.unreadable |= {
            name: why(fault) for name, fault in damaged.items() if not is_damage(fault)
        }
        self.damaged = tuple(sorted(damaged))
        return table

    def _is_done(self, id: str) -> bool:
        if self.exists(file_of("runs", id)):
            return True
        # An Arrow scalar: pyarrow imports pandas to make one of a text.
        value = arrow_array([id], pa.string())[0]
        return any(
            ids.index(value).as_py() >= 0 for ids in self.compacted_ids().values()
        )


def model_file(id: str) -> str:
    """Return where the store keeps the final model of a run, with ``[protocol] keep_model``.

    It is written before the record of the run, which is the commit: a run that is done under that
    option has its model.
    """
    return f"models/{id}{_MODEL}"
