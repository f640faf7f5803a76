"""The runs of a metrics store: written once, read together, from single and compacted files alike."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import pyarrow as pa

from olscale.errors import StoreError
from olscale.results.arrow_arrays import arrow_array
from olscale.results.compacted import SCHEMAS, compacted_bytes, compacted_name, rows_of
from olscale.results.read import read_row, read_table, refuse_damage
from olscale.results.record import Record, is_run_id
from olscale.results.rows import record_of, run_bytes, run_row, timing_bytes, timing_row
from olscale.results.single import file_of, is_damage, stem, why
from olscale.results.store_files import StoreFiles

OnDamage = Literal["raise", "skip"]


class StoreRuns(StoreFiles):
    """The files of a store as runs.

    Attributes
    ----------
    path : str
        Directory or fsspec URL.
    damaged : tuple of str
        Files that the last `read` or `timings` with ``on_damage="skip"`` left out, relative to
        `path`.
    unreadable : dict of str to str
        Why files that were left out could not be read, where they may be whole.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.damaged: tuple[str, ...] = ()
        self.unreadable: dict[str, str] = {}

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
        if self._has(record.id):
            return False
        kind = "lost" if record.outcome == "lost" else "runs"
        results = run_bytes(record)
        self.put(file_of("timings", record.id), timing_bytes(record, datetime.now(UTC)))
        self.put(file_of(kind, record.id), results)
        return True

    def write_together(self, records: Sequence[Record]) -> str:
        """Write finished runs, none of them ``lost``, to one compacted file: one wait for the disk, however many they are.

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
        now, ordered = datetime.now(UTC), sorted(records, key=lambda record: record.id)
        timings = [timing_row(record, now) for record in ordered]
        for kind, rows in (("timings", timings), ("runs", [run_row(record) for record in ordered])):
            # `Table.from_pylist` takes thirty times as long.
            columns = [
                arrow_array([row[field.name] for row in rows], field.type)
                for field in SCHEMAS[kind]
            ]
            data = compacted_bytes(pa.Table.from_arrays(columns, schema=SCHEMAS[kind]))
            name = compacted_name(kind, "", data)
            self.put(name, data)
        return name

    def done(self) -> set[str]:
        """Return the ids of the finished runs (``lost`` ones are not). Of single files only the names are looked at."""
        single = {stem(name) for name in self.single_files("runs")}
        return single.union(*(ids.to_pylist() for ids in self.compacted_ids().values()))

    def lost(self) -> set[str]:
        """Return the ids of the runs that were given up as ``lost`` and have no result since."""
        return {stem(name) for name in self.single_files("lost")} - self.done()

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
        if ids is None:
            return self._read_table(on_damage, "runs", ("lost", "runs"), columns, dictionaries)
        wanted, ids = list(SCHEMAS["runs"].names if columns is None else columns), set(ids)
        table = self._read_table(
            on_damage,
            "runs",
            ("lost", "runs"),
            [*dict.fromkeys(["id", *wanted])],
            dictionaries,
            ids,
        )
        return rows_of(table, ids).select(wanted)

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
            known = sorted(self.done() | {stem(name) for name in self.single_files("lost")})
            ids = pa.chunked_array([arrow_array(known, pa.string())])
        fetched = SCHEMAS["timings"].names if columns is None else list(columns)
        table = self._read_table(
            on_damage, "timings", ("timings",), [*dict.fromkeys(["id", *fetched])], dictionaries
        )
        # Timings without their run belong to one that was interrupted before the commit.
        if not table["id"].equals(ids):
            table = rows_of(table, set(ids.to_pylist()))
        return table.select(fetched)

    def get(self, id: str) -> Record:
        """Return one run.

        Raises
        ------
        StoreError
            If the store has no such run or its file is damaged.
        """
        run = (read_row(self, "runs", id) or read_row(self, "lost", id)) if is_run_id(id) else None
        if run is None:
            raise StoreError(
                f"the metrics store {self.path} has no run {id!r}; expected one of the ids of "
                "Store.done()"
            )
        timing = read_row(self, "timings", id)
        try:
            return record_of(run, timing)
        except (ValueError, TypeError, AttributeError, RecursionError) as fault:
            raise StoreError(
                f"damaged run {id} in the metrics store {self.path}: {why(fault)}; delete its "
                "file and evaluate again"
            ) from fault

    def _read_table(self, on_damage: OnDamage, *args: Any) -> pa.Table:
        table, damaged = read_table(self, *args)
        if on_damage == "raise":
            refuse_damage(self, damaged)
        self.unreadable |= {
            name: why(fault) for name, fault in damaged.items() if not is_damage(fault)
        }
        self.damaged = tuple(sorted(damaged))
        return table

    def _has(self, id: str) -> bool:
        if self.exists(file_of("runs", id)):
            return True
        wanted = arrow_array([id], pa.string())[0]
        return any(ids.index(wanted).as_py() >= 0 for ids in self.compacted_ids().values())
