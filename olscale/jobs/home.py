"""The home of a job: folders of nights and history, the page, and the lock of one caller."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.dataset as pads

from olscale.errors import ExecutionError, StoreError
from olscale.results.faults import why
from olscale.storage.checked_json import DAMAGE, json_bytes, json_content
from olscale.storage.checked_parquet import checksum_matches, parquet_bytes
from olscale.storage.local import LocalStorage
from olscale.system.regular_file import open_regular, read_regular


@dataclass(frozen=True, slots=True)
class JobHome:
    """The folder of a job.

    Parameters
    ----------
    path : Path
        Made when the first night begins.
    """

    path: Path

    @property
    def history(self) -> Path:
        """Folder of what came of each night."""
        return self.path / "history"

    def night(self, name: str) -> Path:
        """Return the folder of a night."""
        return self.path / "nights" / name

    def nights(self) -> list[str]:
        """Return the nights that have a folder, in order."""
        folder = self.path / "nights"
        if folder.is_dir():
            return sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
        return []

    def latest_store(self) -> Path | None:
        """Return the store of the last night that has one."""
        stores = (self.night(name) / "store" for name in reversed(self.nights()))
        return next((store for store in stores if store.is_dir()), None)

    def holder(self) -> dict[str, Any] | None:
        """Return what runs a night now: host, process and since when; None without one."""
        try:
            with open_regular(self.path / "lock", "r") as file:
                try:
                    # Shared, so that two who only look do not take each other for a night.
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    holder = json.loads(file.read() or "{}")
                    if isinstance(holder, dict):
                        return holder
                    return {}
        except OSError:
            pass
        except ValueError:  # held, by somebody of whom nothing can be read
            return {}
        return None

    @contextmanager
    def held(self, now: float) -> Iterator[bool]:
        """Hold the lock, which the system frees when a process dies; yield whether it was free."""
        with self.written():
            self.path.mkdir(parents=True, exist_ok=True)
            # Mode "a+" would write behind the words of the holder before.
            descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
            file = os.fdopen(descriptor, "r+")
        with file:
            if not _lock(file):
                yield False
                return
            with self.written():
                # The lock is the system's; what the file says is only for people.
                file.truncate()
                file.write(
                    json.dumps(
                        {"host": socket.gethostname(), "pid": os.getpid(), "since": now}
                    )
                )
                file.flush()
            yield True

    @contextmanager
    def written(self) -> Iterator[None]:
        """Say what to do where a folder or a disk refuses to be written to.

        Raises
        ------
        ExecutionError
            In place of an `OSError`.
        """
        try:
            yield
        except OSError as fault:
            raise ExecutionError(
                f"cannot write to {self.path}: {fault.strerror or fault}; make it writable, make "
                "room on its disk, or name "
                "another folder by --home"
            ) from None


# A file with a heartbeat needs a rule for stale ones, and taking it over races; the system frees
# the lock of a killed holder at once.
def _lock(file: IO[str]) -> bool:
    """Lock a file, unless somebody holds it for longer than a look at who does."""
    # `jobs status` holds a shared lock for a moment, which must keep no night out.
    for seconds in (0.1, 0.2, 0.4, 0.0):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(seconds)
    return False


def read_json(file: Path) -> dict[str, Any]:
    """Return the content of a JSON file; an empty dictionary if it is missing or damaged.

    Earlier versions wrote no checksum.
    """
    try:
        return json_content(read_regular(file), checked=False)
    except (OSError, *DAMAGE):
        return {}


def write_file(file: Path, data: bytes) -> None:
    """Write a file by a rename, so that it is there whole or not at all."""
    folder = LocalStorage(str(file.parent))
    folder.make()
    # Of writers that were killed: only one process at a time writes to a home.
    folder.discard_parts(file.name)
    with folder.writing(file.name) as out:
        out.write(data)


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Write plain JSON with a checksum, by a rename."""
    write_file(file, json_bytes(content, indent=1, sort_keys=True))


SPEEDS = ("rows_per_cpu_second", "rows_per_second")
"""Of learning, the first by the processor's time, which nights of earlier versions do not have."""

_TEXT = pa.string()
_FLOAT = pa.float64()
_WHICH = ("night", "state", "job", "code", "machine")
HISTORY_SCHEMA = pa.schema(
    [
        *[(name, _TEXT) for name in (*_WHICH, "kind")],
        ("began", pa.timestamp("ms", tz="UTC")),
        ("load", _FLOAT),
        ("made_by", pa.map_(_TEXT, _TEXT)),
        *[
            (name, _TEXT)
            for name in (
                "dataset",
                "fingerprint",
                "transforms",
                "learner",
                "version",
                "params",
                "protocol",
            )
        ],
        ("ids", pa.list_(_TEXT)),
        ("digests", pa.list_(_TEXT)),
        ("digest", _TEXT),
        ("n", pa.int64()),
        ("outcomes", pa.map_(_TEXT, pa.int64())),
        ("error_metric", _TEXT),
        *[
            (name, _FLOAT)
            for name in (
                "error",
                "error_std",
                *SPEEDS,
                "fit_seconds",
                "read_seconds",
                "model_bytes",
            )
        ],
        *[(name, _TEXT) for name in ("benchmark", "figure", "unit", "peer")],
        *[
            (name, _FLOAT)
            for name in ("value", "ratio", "rows", "megabytes_per_second", "seconds")
        ],
        ("calls", pa.int64()),
        ("failures", pa.list_(_TEXT)),
        ("alarms", pa.list_(_TEXT)),
        ("alarm_keys", pa.list_(_TEXT)),
        ("changed", pa.list_(_TEXT)),
    ]
)
"""Columns of the history.

`load` is the load per core in the minute before the night, `calls` counts those of `jobs run`.
"""

TIMES = (
    *("began", "load", "made_by", *SPEEDS, "fit_seconds", "read_seconds"),
    *("value", "ratio", "megabytes_per_second", "seconds", "calls"),
)
"""Columns that differ from one execution of the same night to the next."""


def write_night(home: JobHome, night: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write what came of a night, by a rename."""
    table = pa.Table.from_pylist(list(rows), schema=HISTORY_SCHEMA)
    write_file(
        home.history / f"{night}.parquet", parquet_bytes(table, compression="zstd")
    )


def history_nights(home: JobHome) -> list[str]:
    """Return the nights that the history has, in order."""
    return sorted(
        path.stem for path in home.history.glob("*.parquet") if path.is_file()
    )


def read_history(
    home: JobHome,
    columns: Collection[str] | None = None,
    kinds: Collection[str] | None = None,
    nights: Sequence[str] | None = None,
) -> pa.Table:
    """Read the history in the order of nights; columns that came later are null in files of before.

    Raises
    ------
    StoreError
        If a file is damaged or cannot be read; it is named.
    """
    fields = [
        name for name in HISTORY_SCHEMA.names if columns is None or name in columns
    ]
    names = nights
    if nights is None:
        names = history_nights(home)
    if not names:
        return pa.schema([HISTORY_SCHEMA.field(name) for name in fields]).empty_table()
    contents = [_content(home, night) for night in names]
    try:
        return _table(contents, fields, kinds)
    except _DAMAGE as fault:
        # All nights are read as one table, so the fault does not say which of them is damaged.
        damaged = [
            (night, reason) for night in names if (reason := damage_of(home, night))
        ]
        night, reason = next(iter(damaged), (names[0], why(fault)))
        raise _damaged(home, night, reason) from None


_DAMAGE = (ValueError, OSError, KeyError, OverflowError, pa.ArrowException)
"""What reading a damaged file raises."""


def damage_of(home: JobHome, night: str) -> str:
    """Return what is wrong with the file of a night; empty if it is whole.

    Raises
    ------
    StoreError
        If it cannot be read, whole or not.
    """
    try:
        data = _content(home, night, checked=False)
        if checksum_matches(data, checked=True):
            return ""
        rows = _table([data], HISTORY_SCHEMA.names, None).to_pylist()
    except _DAMAGE as fault:
        return why(fault)
    # A file without a checksum may be readable and still be that of another night.
    kinds = [row["kind"] for row in rows]
    if kinds.count("night") != 1 or {row["night"] for row in rows} != {night}:
        return "it does not hold the one night that its name says"
    return ""


def _content(home: JobHome, night: str, checked: bool = True) -> bytes:
    """Return the file of a night; a wrong checksum is a `StoreError`, or a `ValueError`."""
    file = home.history / f"{night}.parquet"
    try:
        data = read_regular(file)
    except OSError as fault:
        raise StoreError(
            f"{file}: cannot be read: {why(fault)}; check its permissions and its disk"
        ) from None
    if not checksum_matches(data):
        if checked:
            raise _damaged(home, night, _WRONG)
        raise ValueError(_WRONG)
    return data


_WRONG = "its checksum is wrong"


def _damaged(home: JobHome, night: str, reason: str) -> StoreError:
    return StoreError(
        f"{home.history / f'{night}.parquet'}: is damaged: {reason}; olscale jobs run sets it "
        "aside and makes it anew from "
        "the night's store"
    )


def _table(
    contents: Sequence[bytes], columns: Sequence[str], kinds: Collection[str] | None
) -> pa.Table:
    form = pads.ParquetFileFormat()
    parts = [form.make_fragment(pa.BufferReader(data)) for data in contents]
    condition = None
    if kinds is not None:
        condition = pads.field("kind").isin(list(kinds))
    table = pads.FileSystemDataset(parts, HISTORY_SCHEMA, form).to_table(
        columns=list(columns), filter=condition
    )
    # A damaged file of before checksums may hold text that is not UTF-8, or a date past 9999,
    # on which readers of the table would fail much later.
    table.validate(full=True)
    if "began" in columns:
        table["began"].to_pylist()
    return table


def night_rows(
    home: JobHome, nights: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Return the row of each night, or of some, in order."""
    columns = (
        "night",
        "state",
        "job",
        "code",
        "machine",
        "began",
        "load",
        "made_by",
        "seconds",
        "calls",
    )
    rows: list[dict[str, Any]] = read_history(
        home, [*columns, "failures", "alarms", "changed"], ["night"], nights
    ).to_pylist()
    return [row | {"made_by": dict(row["made_by"] or ())} for row in rows]
