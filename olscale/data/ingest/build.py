"""Building a dataset: from pieces of batches to files and a manifest.

Until ``manifest.json`` is there, the directory holds ``ingest.json``, the marker of an unfinished dataset with what it
is made of. A build that fails removes what it made; one that is killed leaves the marker, and the next clears what there
is, but for what `olscale.data.ingest.resume` can use.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import olscale
from olscale.compiled.csr import CSR, nbytes, slice_rows, to_dense
from olscale.data.checksums import SplitHash, fingerprint
from olscale.data.dataset import Progress
from olscale.data.formats.base import Batch
from olscale.data.ingest.columns import Columns, WiderType
from olscale.data.ingest.resume import EARLIER, PROGRESS, Journal, keep_earlier
from olscale.data.ingest.segments import ColumnSegments
from olscale.data.ingest.table_notes import TableNotes
from olscale.data.labels import Labels
from olscale.data.layouts import LAYOUTS, Block, SplitShape, open_reader, open_writer
from olscale.data.layouts.base import SplitWriter
from olscale.data.manifest import MANIFEST, MARKER, ChunkEntry, Manifest, Segment, SourceEntry, SplitEntry
from olscale.data.rebatch import default_chunk_rows, rebatch
from olscale.errors import DatasetError, FormatError, ParameterError
from olscale.storage.base import Storage
from olscale.storage.open import UNWRITABLE, open_storage

__all__ = ["SPOOL", "Build", "Piece", "claim"]

SPOOL = "spool"
_SPARSE = "sparse"
_OWN = ("train", "test", _SPARSE, SPOOL, PROGRESS, f"{PROGRESS}.part", EARLIER, MARKER)
_DENSE_SHARE, _DENSE_COLUMNS = 0.25, 65_536


@contextmanager
def claim(dest: str, recipe: dict[str, Any]) -> Iterator[Storage]:
    """Make `dest` ours until a manifest is in it.

    Parameters
    ----------
    dest : str
        A directory that is absent, empty, or holds an interrupted build, which is cleared. What one of the same recipe
        has written is kept for `olscale.data.ingest.resume.Earlier`.
    recipe : dict
        Sources and options, kept in the marker.

    Raises
    ------
    DatasetError
        When `dest` is a finished dataset, holds other files, or another process is building there; it stays untouched.
    """
    directory = open_storage(dest)
    try:
        names = directory.entries()
        missing = directory.missing()
    except OSError as error:
        raise DatasetError(
            f"{dest} cannot be made ({error.strerror or error}); check address and credentials"
        ) from error
    if not missing and not directory.is_folder():
        raise DatasetError(f"{dest} is a file; name a new directory for the dataset")
    if MANIFEST in names:
        raise DatasetError(f"{dest} already is a dataset; choose another directory, or remove this one first")
    if names and MARKER not in names:
        raise DatasetError(f"{dest} holds other files ({names[0]} ...); choose a new or empty directory")
    with ExitStack() as stack:
        try:
            ours = stack.enter_context(directory.lock(MARKER))
        except OSError as error:
            directory.remove_empty(missing)
            raise DatasetError(
                f"{dest} cannot be made ({error.strerror or error}); choose another directory"
            ) from error
        # The other process may have finished between the look and the lock.
        if not ours or directory.exists(MANIFEST):
            raise DatasetError(f"another process is building {dest}; wait for it, or choose another directory")
        before = _marker(directory)
        made = missing or [str(path) for path in before.get("made", ())]
        content = {"created_by": f"olscale {olscale.__version__}", "made": made, **recipe}
        begun = False
        try:
            if before == json.loads(json.dumps(content)):
                keep_earlier(directory)
            else:
                directory.remove(EARLIER)
            for name in _OWN[:-2]:
                directory.remove(name)
            directory.write(MARKER, json.dumps(content, indent=1).encode())
            begun = True
            yield directory
        except Exception as error:
            with suppress(OSError):  # of a disk that has become read-only; the marker then says that it is not finished
                for name in _OWN:
                    directory.remove(name)
            directory.remove_empty(made)
            if isinstance(error, OSError) and (error.errno in UNWRITABLE or not begun):
                raise _refused(dest, error) from error
            raise
        for name in (PROGRESS, EARLIER, MARKER):
            directory.remove(name)


def _refused(dest: str, error: OSError) -> DatasetError:
    if error.errno in UNWRITABLE:
        return DatasetError(f"{dest} cannot be written ({error.strerror}); make room, or choose another directory")
    return DatasetError(f"{dest} cannot be made ({error.strerror or error}); choose another directory")


def _marker(directory: Storage) -> dict[str, Any]:
    """Return the marker of an interrupted build: the directories that it made, and its recipe."""
    try:
        content = json.loads(directory.read(MARKER))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) and isinstance(content.get("made"), list) else {}


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows that are read together: a source, or a stretch of a generator. Candidate for a segment.

    Parameters
    ----------
    name : str
        For messages and progress.
    segment : str
        Name of the segment.
    batches : callable
        Returns a new iterator over the rows.
    key : str
        What an interrupted ingest is told of it by, if not by its name, which other pieces may have too.
    """

    name: str
    segment: str
    batches: Callable[[], Iterator[Batch]]
    key: str = ""


@dataclass(slots=True)
class _Split:
    writer: SplitWriter
    hash: SplitHash = field(default_factory=SplitHash)
    chunks: list[ChunkEntry] = field(default_factory=list)

    def append(self, parts: Sequence[Block]) -> None:
        for part in parts:
            self.hash.update(part)
        file = self.writer.append(parts)
        rows, nonzeros = sum(map(len, parts)), sum(part.nonzeros for part in parts)
        self.chunks.append(ChunkEntry(rows=rows, nonzeros=nonzeros, file=file))

    def entry(
        self, segments: Iterable[Segment], class_rows: tuple[int, ...] | None, missing: dict[str, int] | None
    ) -> SplitEntry:
        return SplitEntry(
            rows=sum(chunk.rows for chunk in self.chunks),
            nonzeros=sum(chunk.nonzeros for chunk in self.chunks),
            chunks=tuple(self.chunks),
            files=self.writer.files,
            segments=tuple(segments),
            class_rows=class_rows,
            missing=missing,
        )


class Build:
    """Writes the splits of one dataset and then its manifest.

    Parameters
    ----------
    directory : Storage
        Claimed.
    layout : {'parquet', 'zarr'}, optional
        Zarr for dense and Parquet for sparse rows when left out.
    chunk_rows : int, optional
        Rows of a chunk; see `default_chunk_rows`.
    segments : str, optional
        ``"files"``: a segment for each piece. Any other: name of a column whose changes begin a segment.
    progress : callable, optional
        Told of what is read.
    journal : Journal, optional
        Told of what is written.
    """

    def __init__(
        self,
        directory: Storage,
        layout: str | None = None,
        chunk_rows: int | None = None,
        segments: str | None = None,
        progress: Progress | None = None,
        journal: Journal | None = None,
    ) -> None:
        if layout is not None:
            LAYOUTS.check(layout)
        if chunk_rows is not None and chunk_rows < 1:
            raise ParameterError(f"chunk_rows is {chunk_rows}, expected at least 1")
        self._directory, self._asked, self._layout = directory, (layout, chunk_rows), ""
        self._chunk_rows = 0
        self._by, self._progress, self._journal = segments, progress, journal
        self._labels, self._columns, self._notes = Labels(), Columns(), TableNotes()
        self._splits: dict[str, _Split] = {}
        self._segments: dict[str, list[Segment]] = {}
        self._label_column: str | int | None = None

    def add(self, split: str, pieces: Iterable[Piece]) -> None:
        """Read `pieces` one after another and write them as `split`.

        Dense rows are stored in the type of the first. Where a later piece needs a wider one, `pieces` are iterated
        again from the start.
        """
        self._columns.begin()
        try:
            self._read(split, pieces)
        except WiderType as wider:
            self._splits.pop(split, None)
            self._directory.remove(split)
            self._columns.begin(np.result_type(wider.dtype, np.float64))
            self._read(split, pieces)

    def _read(self, split: str, pieces: Iterable[Piece]) -> None:
        self._segments[split] = []
        self._labels.begin(split)
        self._notes.begin(split)
        blocks = self._blocks(split, pieces)
        first = next(blocks, None)
        if first is None:
            raise DatasetError(f"the sources of {split} hold no rows")
        if not self._splits:
            self._settle(first)
        self._write(split, itertools.chain([first], blocks))

    def _settle(self, first: Block) -> None:
        layout, chunk_rows = self._asked
        self._layout = layout or ("parquet" if isinstance(first.X, CSR) else "zarr")
        self._chunk_rows = chunk_rows or default_chunk_rows(first.X)

    def _blocks(self, split: str, pieces: Iterable[Piece]) -> Iterator[Block]:
        segments, rows = self._segments[split], 0
        by_column = ColumnSegments(self._by) if self._by not in (None, "files") else None
        for piece in pieces:
            start = rows
            for batch in piece.batches():
                if len(batch.target) == 0:
                    continue
                X = self._columns.align(batch, piece.name)
                self._notes.add(batch, piece.name)
                if self._label_column is None:
                    self._label_column = batch.label
                if by_column is not None:
                    cells = batch.table.segments if batch.table is not None else None
                    by_column.add(X, self._columns.names, piece.name, cells)
                rows += len(batch.target)
                yield Block(X, self._labels.encode(batch.target, piece.name, batch.regression))
                if self._progress is not None:
                    self._progress(piece.name, len(batch), nbytes(batch.X))
            if rows == start:
                raise FormatError(piece.name, "no rows")
            if self._by == "files":
                segments.append(Segment(name=piece.segment, start=start, rows=rows - start))
        if by_column is not None:
            segments += by_column.finish()

    def _write(self, split: str, blocks: Iterable[Block]) -> None:
        state = _Split(open_writer(self._layout, self._directory, split, self._chunk_rows))
        self._splits[split] = state
        # One chunk is hashed and written while the next is parsed; never more than one waits.
        with ThreadPoolExecutor(1) as writing:
            written = None
            for parts in rebatch(blocks, self._chunk_rows):
                if written is not None:
                    written.result()
                written = writing.submit(self._append, split, state, parts)
            if written is not None:
                written.result()
        # The next split may be long, and what is held back would be lost with the process.
        state.writer.finish(max(1, self._columns.width))
        self._note(split, state)

    def _append(self, split: str, state: _Split, parts: Sequence[Block]) -> None:
        state.append(parts)
        self._note(split, state)

    def _note(self, split: str, state: _Split) -> None:
        if self._journal is not None and split in self._splits:
            chunks = state.chunks[: state.writer.safe()]
            self._journal.written(
                split, chunks, state.writer.files, self._layout, self._chunk_rows, self._columns.width
            )

    def finish(self, sources: Iterable[SourceEntry], *, densify: bool = False) -> Manifest:
        """Write the manifest, after which the dataset exists.

        Parameters
        ----------
        sources : iterable of SourceEntry
            Where the rows came from.
        densify : bool
            Rewrite sparse rows as dense ones where at least a quarter of all entries is not zero and there are at most
            65,536 columns: text formats cannot tell.
        """
        columns = self._columns
        if columns.width < 1 or columns.kind is None:
            raise DatasetError("the sources hold no features: every row is empty")
        for state in self._splits.values():
            state.writer.finish(columns.width)
        kind = columns.kind
        if densify and kind == "sparse" and columns.width <= _DENSE_COLUMNS and self._share() >= _DENSE_SHARE:
            self._densify()
            kind = "dense"
        labels = self._labels
        splits = {
            name: state.entry(self._segments[name], labels.class_rows(name), self._notes.missing(name))
            for name, state in self._splits.items()
        }
        manifest = Manifest.model_validate(
            {
                "kind": kind,
                "layout": self._layout,
                "dtype": str(columns.dtype),
                "columns": columns.width,
                "nonzeros": sum(split.nonzeros for split in splits.values()),
                "chunk_rows": self._chunk_rows,
                "task": labels.task,
                "classes": labels.classes,
                "label_column": self._label_column,
                "unseen_classes": labels.unseen,
                "distinct_labels": labels.distinct,
                "label_names": labels.names,
                "feature_names": columns.names,
                "table": self._notes.entry(columns.names),
                "splits": splits,
                "sources": tuple(sources),
                "created_by": f"olscale {olscale.__version__}",
                "fingerprint": fingerprint(
                    kind,
                    columns.width,
                    labels.classes,
                    labels.names,
                    {name: state.hash for name, state in self._splits.items()},
                    self._segments,
                ),
            }
        )
        self._directory.put(MANIFEST, manifest.to_json())
        return manifest

    def _share(self) -> float:
        chunks = [chunk for state in self._splits.values() for chunk in state.chunks]
        return sum(chunk.nonzeros for chunk in chunks) / (sum(chunk.rows for chunk in chunks) * self._columns.width)

    def _densify(self) -> None:
        self._journal = None
        self._directory.remove(PROGRESS)
        sparse, width = self._splits, self._columns.width
        layout, old_rows = self._layout, self._chunk_rows
        for split in sparse:
            self._directory.move(split, f"{_SPARSE}/{split}")
        self._splits = {}
        self._settle(Block(np.empty((0, width)), np.empty(0)))
        for split, state in sparse.items():
            rows = sum(chunk.rows for chunk in state.chunks)
            shape = SplitShape(f"{_SPARSE}/{split}", "sparse", width, rows, old_rows, state.writer.files)
            reader = open_reader(layout, self._directory, shape)
            stored = (reader.read(i) for i in range(len(state.chunks)))
            self._write(split, (part for block in stored for part in _dense_parts(block, width, self._chunk_rows)))
        for state in self._splits.values():
            state.writer.finish(width)
        self._directory.remove(_SPARSE)


def _dense_parts(block: Block, columns: int, rows: int) -> Iterator[Block]:
    """Yield `block` as dense rows, no more than `rows` at once: a sparse chunk can be a very large dense one."""
    assert isinstance(block.X, CSR)
    for start in range(0, len(block), rows):
        stop = min(start + rows, len(block))
        yield Block(to_dense(slice_rows(block.X, start, stop), columns), block.label[start:stop])
