"""The files of a metrics store: put, listed, set aside and removed by name, with faults that say what to do."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from olscale.addresses import redacted
from olscale.errors import DatasetError, StoreError
from olscale.results.compacted import SCHEMAS
from olscale.results.compacted_files import CompactedFiles
from olscale.results.record import is_run_id
from olscale.results.single import stem, why
from olscale.results.single_files import SingleFiles
from olscale.results.version import WITH_CHECKSUMS, parse_version
from olscale.storage.base import Storage
from olscale.storage.open import open_storage

_RECORDS = ("runs", "lost", "timings", "compacted/runs", "compacted/timings", "plans", "selections")
"""Folders of all that tables and reports are made of."""


class StoreFiles:
    """The files of a store; it holds none open and pickles as its path.

    Parameters
    ----------
    path : str
        Directory or fsspec URL.

    Attributes
    ----------
    files : Storage
        The files themselves.
    single : dict of str to SingleFiles
        The files of each kind that hold one run each.
    compacted : dict of str to CompactedFiles
        The compacted files of each kind.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.files = _open_files(path)
        self.single = {kind: SingleFiles(self.files, kind) for kind in SCHEMAS}
        self.compacted = {kind: CompactedFiles(self.files, kind) for kind in SCHEMAS}
        self._version = 0

    def __reduce__(self) -> tuple[type[StoreFiles], tuple[str]]:
        return type(self), (self.path,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({redacted(self.path)!r})"

    @property
    def version(self) -> int:
        """Format version of the store."""
        if not self._version:
            [(_, data)] = self.files.read_many(["store.json"])
            if isinstance(data, Exception):
                raise StoreError(
                    f"cannot read store.json of the metrics store {self.path}: {why(data)}; check "
                    "its permissions"
                ) from data
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
        """Return whether there is a file of this name; that nobody can tell is a `StoreError`."""
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

    def record_stamps(self) -> dict[str, Hashable]:
        """Return what tells the files of which tables and reports are made from those of another time.

        Whatever is kept of them holds for as long as this is the same: a run that is computed
        again, a file that is damaged or set aside, and a plan with other labels change it.
        """
        stamps = dict[str, Hashable]()
        for folder in _RECORDS:
            with self.reading(folder):
                stamps |= self.files.stamps(folder)
        return stamps

    def single_files(self, kind: str) -> list[str]:
        """Return the files of ``"runs"``, ``"lost"`` or ``"timings"`` that hold one run each, sorted."""
        return [
            name for name in self.names(kind) if name.endswith(".parquet") and is_run_id(stem(name))
        ]

    def compacted_files(self, kind: str) -> list[str]:
        """Return the compacted files of ``"runs"`` or ``"timings"``, sorted."""
        with self.reading(f"compacted/{kind}"):
            return self.compacted[kind].names()

    def compacted_ids(self, kind: str = "runs") -> dict[str, pa.ChunkedArray]:
        """Return the ids in each compacted file; a damaged one has none, so that its runs count as not done."""
        with self.reading(f"compacted/{kind}"):
            return self.compacted[kind].ids()

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
            raise StoreError(
                f"cannot remove files of the metrics store {self.path}: {why(fault)}"
            ) from fault

    @contextmanager
    def reading(self, folder: str) -> Iterator[None]:
        """Turn an `OSError` of the block into a `StoreError` that names the file, or else `folder`."""
        try:
            yield
        except OSError as fault:
            name = str(fault.filename or folder).removeprefix(f"{self.files}/")
            raise StoreError(
                f"cannot read {name} of the metrics store {self.path}: {why(fault)}; check its "
                "permissions and its disk"
            ) from fault


def _open_files(path: str) -> Storage:
    files = open_storage(path, temporaries="tmp")
    try:
        files.connect()
    except DatasetError as fault:
        reason = str(fault).removeprefix(f"{path} cannot be opened (").removesuffix(")")
        raise StoreError(
            f"cannot open the metrics store {path}: {reason}; use a directory or an fsspec URL"
        ) from fault
    return files
