"""A dataset: an immutable directory of chunks, opened for reading."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache

import numpy as np

from olscale.addresses import redacted
from olscale.compiled.csr import CSR, nbytes
from olscale.data.checksums import SplitHash, decoded_crc32, fingerprint
from olscale.data.chunk import Chunk
from olscale.data.labels import ClassCodes
from olscale.data.layouts import Block, SplitShape, open_reader
from olscale.data.layouts.base import SplitReader
from olscale.data.manifest import MANIFEST, MARKER, Manifest, SplitEntry
from olscale.data.stored_rows import part_rows
from olscale.errors import DatasetError, ParameterError, UnknownNameError
from olscale.storage.base import Storage
from olscale.storage.open import open_storage
from olscale.system.memory import keep_freed_memory
from olscale.system.paths import path_text
from olscale.task import Task

Progress = Callable[[str, int, int], None]
"""Called with the name of what is read, the rows since the last call and their bytes in memory."""


class Dataset:
    """A dataset at rest; use `open_dataset`.

    It pickles as path and fingerprint, and opens files when rows are first read.
    """

    def __init__(self, path: str, expected: str | None = None) -> None:
        self._directory = open_storage(path)
        # What was pickled: a worker must not read another dataset that took its place meanwhile.
        self._expected = expected
        self._manifest: Manifest | None = None
        self._readers: dict[str, SplitReader] = {}

    def __reduce__(self) -> tuple[type[Dataset], tuple[str, str]]:
        # References travel to workers, rows never do.
        return type(self), (self.path, self.fingerprint)

    def __repr__(self) -> str:
        return (
            f"Dataset({redacted(self.path)!r}, fingerprint={self.fingerprint[:12]!r})"
        )

    @property
    def path(self) -> str:
        """Directory or URL."""
        return self._directory.path

    @property
    def name(self) -> str:
        """Last component of the path."""
        return self._directory.name

    @property
    def manifest(self) -> Manifest:
        """Everything known without reading rows."""
        if self._manifest is None:
            manifest = _read_manifest(self._directory)
            if self._expected not in (None, manifest.fingerprint):
                raise DatasetError(
                    f"{self.path} holds another dataset than before: fingerprint "
                    f"{manifest.fingerprint[:12]}, "
                    f"expected {str(self._expected)[:12]}"
                )
            self._manifest = manifest
        return self._manifest

    @property
    def fingerprint(self) -> str:
        """Identity of rows and segments, 64 hex digits; independent of layout and chunk size."""
        return self.manifest.fingerprint

    @property
    def kind(self) -> str:
        """``"dense"`` or ``"sparse"``."""
        return self.manifest.kind

    @property
    def columns(self) -> int:
        """Number of features."""
        return self.manifest.columns

    @property
    def task(self) -> Task:
        """The task: what to predict."""
        return self.manifest.task

    @property
    def classes(self) -> tuple[float | int | str, ...] | None:
        """Sorted class labels over all splits; None for a regression."""
        return self.manifest.classes

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the targets of a row if there are several, else empty."""
        return self.manifest.targets or ()

    @property
    def weights(self) -> str | None:
        """Name of the column of row weights; None if all rows count alike."""
        if self.manifest.weights is None:
            return None
        return self.manifest.weights.column

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits."""
        return tuple(self.manifest.splits)

    def rows(self, split: str = "train") -> int:
        """Return the rows of `split`."""
        return self._split(split).rows

    def nonzeros(self, split: str = "train") -> int:
        """Return the stored entries of `split` (dense: entries that are not zero)."""
        return self._split(split).nonzeros

    def segments(self, split: str = "train") -> tuple[tuple[str, int], ...]:
        """Return name and first row of each segment of `split`; empty if it has none.

        A segment ends where the next begins; the manifest also has their rows.
        """
        return tuple(
            (segment.name, segment.start) for segment in self._split(split).segments
        )

    def chunk_count(self, split: str = "train") -> int:
        """Return the number of chunks of `split`."""
        return len(self._split(split).chunks)

    def chunk_starts(self, split: str = "train") -> list[int]:
        """Return the position of the first row of every chunk of `split`."""
        return [i * self.manifest.chunk_rows for i in range(self.chunk_count(split))]

    def chunk(self, split: str, i: int) -> Chunk:
        """Return chunk `i` of `split`, with float64 values and labels as positions in `classes`.

        Raises
        ------
        DatasetError
            When its files are damaged.
        ParameterError
            When there is no chunk `i`.
        """
        return self.decoded(self.block(split, i))

    def decoded(self, block: Block) -> Chunk:
        """Return stored rows as a chunk."""
        X, label, weights = part_rows(
            block, self.manifest.more_targets, self.weights is not None
        )
        if not isinstance(X, CSR):
            # Stored in a small type, such as uint8 for pixels; learners compute in float64.
            X = X.astype(np.float64, copy=False)
        return Chunk(
            X, self._codes(label), self.columns, weights=weights, origin=self.manifest
        )

    def chunks(self, split: str = "train", start: int = 0) -> Iterator[Chunk]:
        """Yield the chunks of `split` in order, from chunk `start` on."""
        for i in range(start, self.chunk_count(split)):
            yield self.chunk(split, i)

    def block(self, split: str, i: int) -> Block:
        """Return chunk `i` of `split` as it is stored, after checking its checksum."""
        entries = self._split(split).chunks
        if not 0 <= i < len(entries):
            raise ParameterError(
                f"chunk {i} of {split} of {self.path}: there are {len(entries)}, counted from 0"
            )
        entry = entries[i]
        where = f"{self.path}: chunk {i} of {split} ({entry.file})"
        try:
            block = self._reader(split).read(i)
        except Exception as error:  # decoders of damaged bytes raise nearly anything
            reason = (str(error).strip() or repr(error)).splitlines()[0]
            raise DatasetError(
                f"{where} cannot be read: {reason}; ingest the dataset again"
            ) from error
        # Only format version 1 has checksums of decoded chunks; later ones have those of files.
        if entry.crc32 is not None and (got := decoded_crc32(block)) != entry.crc32:
            raise DatasetError(
                f"{where} is damaged: checksum {got:08x}, expected {entry.crc32:08x}; ingest the "
                "dataset again"
            )
        if len(block) != entry.rows:
            raise DatasetError(
                f"{where} has {len(block)} rows, {MANIFEST} says {entry.rows}; ingest the dataset "
                "again"
            )
        # Compiled loops check no bounds, so that rows with the right checksum are compared, too.
        self._check_fit(block, where)
        return block

    def _check_fit(self, block: Block, where: str) -> None:
        """Refuse rows that contradict the manifest.

        A learner would write past its arrays at an index beyond the columns.
        """
        manifest = self.manifest
        X = block.X
        if isinstance(X, CSR):
            # As unsigned numbers negative indices are large, so one pass checks both bounds: 2 % of
            # the time of reading the chunk.
            typed = manifest.kind == "sparse" and [array.dtype for array in X] == [
                np.int64,
                np.int32,
                np.float64,
            ]
            ends = X.indptr[0] == 0 and X.indptr[-1] == len(X.indices) == len(X.data)
            is_consistent = ends and (np.diff(X.indptr) >= 0).all()
            fits = (
                typed
                and is_consistent
                and int(X.indices.view(np.uint32).max(initial=0))
                < manifest.stored_columns
            )
        else:
            typed = manifest.kind == "dense" and np.can_cast(X.dtype, manifest.dtype)
            fits = typed and X.shape == (len(block), manifest.stored_columns)
        label = block.label
        if not fits or label.dtype != np.float64 or not self._codes.fit(label):
            raise DatasetError(
                f"{where} is whole but is not what {MANIFEST} says; ingest the dataset again"
            )

    def verify(self, progress: Progress | None = None) -> None:
        """Read every chunk and recompute the fingerprint.

        Parameters
        ----------
        progress : callable, optional
            Called with the split, the rows of a chunk and their bytes.

        Raises
        ------
        DatasetError
            Naming what is damaged.
        """
        manifest = self.manifest
        hashes = {}
        for split in self.splits:
            # The hash of the dataset's own version: an old fingerprint is compared with its like.
            hashes[split] = SplitHash(manifest.format_version)
            for i in range(self.chunk_count(split)):
                block = self.block(split, i)
                hashes[split].update(block)
                if block.nonzeros != (
                    expected := self._split(split).chunks[i].nonzeros
                ):
                    raise DatasetError(
                        f"{self.path}: chunk {i} of {split} has {block.nonzeros} nonzeros, "
                        f"{MANIFEST} says {expected}; "
                        "ingest the dataset again"
                    )
                if progress is not None:
                    progress(split, len(block), nbytes(block.X))
        segments = {name: split.segments for name, split in manifest.splits.items()}
        shape = manifest.kind, manifest.columns, manifest.classes, manifest.label_names
        got = fingerprint(
            *shape,
            hashes,
            segments,
            manifest.targets,
            weighted=self.weights is not None,
        )
        if got != manifest.fingerprint:
            raise DatasetError(
                f"{self.path}: every chunk is as {MANIFEST} says, but the fingerprint is "
                f"{got[:12]}, expected "
                f"{manifest.fingerprint[:12]}: the manifest was changed; ingest the dataset again"
            )

    def size(self) -> int:
        """Return the bytes of all files of the dataset."""
        return self._directory.size()

    @cached_property
    def _codes(self) -> ClassCodes:
        return ClassCodes(self.manifest.classes, self.manifest.label_names)

    def _split(self, split: str) -> SplitEntry:
        try:
            return self.manifest.splits[split]
        except KeyError:
            raise UnknownNameError(
                f"split of {self.name}", split, self.manifest.splits
            ) from None

    def _reader(self, split: str) -> SplitReader:
        if split not in self._readers:
            # Page faults of memory that was returned to the system cost as much as decoding.
            keep_freed_memory()
            manifest = self.manifest
            entry = self._split(split)
            columns = manifest.stored_columns
            chunk_rows = manifest.chunk_rows
            shape = SplitShape(
                split, manifest.kind, columns, entry.rows, chunk_rows, entry.files
            )
            self._readers[split] = open_reader(manifest.layout, self._directory, shape)
        return self._readers[split]


def open_dataset(path: str | os.PathLike[str]) -> Dataset:
    """Open the dataset at `path`.

    Parameters
    ----------
    path : path
        Directory or fsspec address.

    Raises
    ------
    DatasetError
        When there is none, its ingest did not finish, or its manifest is broken.
    """
    dataset = Dataset(path_text(path, "dataset"))
    dataset.manifest  # noqa: B018 - tell now what is wrong
    return dataset


def _nearest(directory: Storage) -> str:
    """Suggest the dataset in the same folder whose name is most like that of `directory`."""
    parent = open_storage(directory.path.rstrip("/").rpartition("/")[0] or ".")
    try:
        names = parent.entries() if parent.exists() else []
        for name in difflib.get_close_matches(directory.name, names, n=3, cutoff=0.6):
            if parent.exists(f"{name}/{MANIFEST}"):
                return f"did you mean {f'{parent.path}/{name}'!r}? else "
    except OSError:
        pass  # without a listing the error still says that the dataset is missing
    return ""


@lru_cache(maxsize=8)
def _parsed(content: bytes, dataset: str) -> Manifest:
    """Parse a manifest once, no matter how many groups of runs open its dataset."""
    return Manifest.from_json(content, dataset)


def _read_manifest(directory: Storage) -> Manifest:
    try:
        return _parsed(directory.read(MANIFEST), directory.path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise DatasetError(
            f"{directory} cannot be read ({error.strerror or error}); check its permissions, "
            "address and credentials"
        ) from error
    # Told apart from a wrong path, since the cure is another one.
    if directory.exists(MARKER):
        raise DatasetError(
            f"{directory} is not finished: its ingest was interrupted or is still running; "
            "run the same ingest again to finish it"
        )
    if not directory.exists():
        raise DatasetError(
            f"{directory} does not exist; {_nearest(directory)}make it with `olscale ingest`"
        )
    raise DatasetError(
        f"{directory} is no dataset: it has no {MANIFEST}; make one with `olscale ingest`"
    )
