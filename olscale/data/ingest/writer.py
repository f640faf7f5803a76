"""From batches to a dataset: files and a manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, nbytes, slice_rows, to_dense, trim
from olscale.data.checksums import fingerprint
from olscale.data.dataset import Progress
from olscale.data.formats.base import Batch
from olscale.data.ingest.chunk_writer import ChunkWriter
from olscale.data.ingest.claim import PROGRESS, REWRITE, Journal
from olscale.data.ingest.columns import Columns, Segments, Weights, segments_by
from olscale.data.ingest.members import Member
from olscale.data.ingest.table_notes import TableNotes
from olscale.data.labels import Labels
from olscale.data.layouts import LAYOUTS, Block, SplitShape, open_reader
from olscale.data.layouts.base import StoredRows
from olscale.data.manifest import MANIFEST, ChunkEntry, Manifest, SourceEntry
from olscale.data.stored_rows import default_chunk_rows, join_targets
from olscale.errors import DatasetError, FormatError, ParameterError
from olscale.storage.base import Storage
from olscale.version import __version__

_DENSE_SHARE = 0.25
_DENSE_COLUMNS = 65_536


# Sources may be of `uint8` at first and of `float32` later: chunks that are written are then
# rewritten in the wider type, so that sources are read once.
class DatasetWriter:
    """Writes the splits of one dataset and then its manifest; used with ``with``.

    Parameters
    ----------
    directory : Storage
        Reserved by `olscale.data.ingest.claim`.
    layout : {'parquet', 'zarr'}, optional
        Zarr for dense and Parquet for sparse rows when left out.
    chunk_rows : int, optional
        Rows of a chunk; see `default_chunk_rows`.
    segments : str, optional
        ``"files"``: one segment per member. Any other value: name of a column whose changes begin a
        segment.
    progress : callable, optional
        Receives name, rows and bytes of each batch.
    journal : Journal, optional
        Records what is written, for an ingest that resumes this one.
    labels : Labels, optional
        Options for the labels.
    weights : str, optional
        The column of weights, if weights are kept.
    like : Manifest, optional
        A dataset whose columns are all that there are.
    """

    def __init__(
        self,
        directory: Storage,
        layout: str | None = None,
        chunk_rows: int | None = None,
        segments: str | None = None,
        progress: Progress | None = None,
        journal: Journal | None = None,
        labels: Labels | None = None,
        weights: str | None = None,
        like: Manifest | None = None,
    ) -> None:
        if layout is not None:
            LAYOUTS.check(layout)
        if chunk_rows is not None and chunk_rows < 1:
            raise ParameterError(f"chunk_rows is {chunk_rows}, expected at least 1")
        self._directory = directory
        self._asked = (layout, chunk_rows)
        self._layout = ""
        self._chunk_rows = 0
        self._by = segments
        self._progress = progress
        self._journal = journal
        self._labels = labels or Labels()
        self._like = like
        self._columns = Columns(like)
        self._notes = TableNotes()
        self._splits: dict[str, ChunkWriter] = {}
        self._segments: dict[str, Segments | None] = {}
        self._split: str | None = None
        self._label_column: str | int | None = None
        self._targets: tuple[str, ...] | None = None
        self._target_nonzeros = 0
        self._weights = None if weights is None else Weights(weights)
        self._zero_based: bool | None = None
        self._dtype: np.dtype[Any] | None = None
        # One thread, since the running hashes need the chunks in order.
        self._background = ThreadPoolExecutor(1)

    def __enter__(self) -> DatasetWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._background.shutdown()

    def rows(self, split: str) -> int:
        """Return the number of rows of `split` so far."""
        if split in self._splits:
            return self._splits[split].rows
        return 0

    def write(self, split: str, member: Member, batch: Batch) -> None:
        """Write the next rows of `split`; all rows of a split precede those of the next.

        Dense rows are stored in the type of the first. If later rows need a wider type, earlier
        ones are rewritten.

        Raises
        ------
        DatasetError, FormatError
            When the rows do not fit those before them.
        """
        if split != self._split:
            self._begin(split)
        if not isinstance(batch.X, CSR) and not batch.columns:
            raise FormatError(
                member.name,
                "has no features: its rows have no columns beside the label",
            )
        # The names of columns first: that a source is dense may only mean that it lacks one.
        self._notes.add(batch, member.name)
        X = self._columns.align(batch, member.name)
        if self._label_column is None:
            self._label_column = batch.label
        if batch.zero_based is not None:
            self._zero_based = batch.zero_based
        if self._targets is None:
            self._targets = batch.targets
        elif batch.targets != self._targets:
            new_targets, old_targets = (
                ", ".join(map(repr, names)) or "one"
                for names in (batch.targets, self._targets)
            )
            raise DatasetError(
                f"{member.name} has the targets {new_targets} but the sources before it had "
                f"{old_targets}"
            )
        segments = self._segments[split]
        if segments is not None:
            segments.add(
                member,
                X,
                self._columns.names,
                None if batch.table is None else batch.table.segments,
            )
        label = self._labels.encode(batch.target, member.name, batch.regression)
        # Weights come first, then targets, then features: `part_rows` relies on that order.
        if self._targets:
            self._target_nonzeros += int(np.count_nonzero(label[:, 1:]))
            X = join_targets(label[:, 1:], X)
            label = label[:, 0]
        if self._weights is not None:
            X = join_targets(self._weights.take(batch, member.name)[:, np.newaxis], X)
        self._writer(split, X).put(Block(X, label))
        if self._progress is not None:
            self._progress(member.name, len(batch), nbytes(batch.X))

    @property
    def unknown(self) -> int:
        """Values so far for which the dataset that this one is like has no column."""
        return self._columns.unknown

    def finish(
        self, sources: Iterable[SourceEntry], *, densify: bool = False
    ) -> Manifest:
        """Write the manifest, which makes the dataset exist.

        Parameters
        ----------
        sources : iterable of SourceEntry
            Where the rows came from.
        densify : bool
            Rewrite sparse rows as dense ones if at least a quarter of all entries is not zero and
            there are at most 65,536 columns: text formats cannot say that they are dense.
        """
        self._end()
        columns = self._columns
        if columns.width < 1 or columns.kind is None:
            raise DatasetError("the sources hold no features: every row is empty")
        self._labels.check()
        # Layouts that store the width could not know it before the last row of all splits.
        for writer in self._splits.values():
            writer.finish(self._width)
        kind = columns.kind
        like = self._like
        places = None if like is not None else self._notes.sorted_places(columns.names)
        if like is not None:
            densify = like.kind == "dense"
        if places is not None:
            self._reorder(places)
        if (
            densify
            and kind == "sparse"
            and columns.width <= _DENSE_COLUMNS
            and (like is not None or self._share() >= _DENSE_SHARE)
        ):
            # Many entries would cost an index a value, and learners their dense loops.
            self._densify()
            kind = "dense"
        labels = self._labels
        notes = self._notes
        segments = {
            name: [] if maker is None else maker.finish()
            for name, maker in self._segments.items()
        }
        splits = {
            name: writer.entry(
                segments[name],
                labels.class_rows(name),
                notes.missing(name),
                notes.infinite(name),
            )
            for name, writer in self._splits.items()
        }
        index_base: Literal[0, 1] | None = None
        if self._zero_based is not None:
            index_base = 0 if self._zero_based else 1
        manifest = Manifest(
            kind=kind,
            layout=self._layout,
            # `join_targets` makes rows float64.
            dtype="float64" if self._targets or self._weights else str(columns.dtype),
            columns=columns.width,
            nonzeros=sum(split.nonzeros for split in splits.values()),
            chunk_rows=self._chunk_rows,
            task=labels.task,
            classes=labels.classes,
            label_column=self._label_column,
            targets=self._targets or None,
            target_nonzeros=self._target_nonzeros if self._targets else None,
            weights=None if self._weights is None else self._weights.entry(),
            unseen_classes=labels.unseen,
            distinct_labels=labels.distinct,
            label_names=labels.names,
            feature_names=columns.names,
            table=self._notes.entry(columns.names),
            index_base=index_base,
            rounded=self._notes.rounded(columns.width, columns.names),
            splits=splits,
            sources=tuple(sources),
            created_by=f"olscale {__version__}",
            fingerprint=fingerprint(
                kind,
                columns.width,
                labels.classes,
                labels.names,
                {name: writer.hash for name, writer in self._splits.items()},
                segments,
                self._targets or None,
                weighted=self._weights is not None,
            ),
        )
        # Of a writer that was killed.
        self._directory.discard_parts(MANIFEST)
        # Last, since readers see a dataset as soon as it is there.
        self._directory.put(MANIFEST, manifest.to_json())
        return manifest

    @property
    def _width(self) -> int:
        """Number of stored columns."""
        return (
            (self._weights is not None)
            + max(0, len(self._targets or ()) - 1)
            + self._columns.width
        )

    def _begin(self, split: str) -> None:
        self._end()
        self._split, self._segments[split] = split, segments_by(self._by)
        for state in (self._labels, self._notes, self._weights):
            if state is not None:
                state.begin(split)
        self._columns.begin()

    def _end(self) -> None:
        if self._split is not None:
            self._splits[self._split].end(max(1, self._width))
        self._split = None

    def _writer(self, split: str, X: StoredRows) -> ChunkWriter:
        """Return the writer of `split`, whose earlier rows have the type of `X`."""
        if not self._splits:
            self._settle(X)
        if split not in self._splits:
            self._splits[split] = self._open(split)
        elif not isinstance(X, CSR) and X.dtype != self._dtype:
            # They do not fill a chunk yet, so that no file has them.
            blocks = self._splits[split].take_rest()
            self._splits[split].finish(self._width)
            self._rewrite(
                [split], "dense", lambda block: iter([_of_type(block, X.dtype)])
            )
            for block in blocks:
                self._splits[split].put(_of_type(block, X.dtype))
        self._dtype = None if isinstance(X, CSR) else X.dtype
        return self._splits[split]

    def _settle(self, X: StoredRows) -> None:
        layout, chunk_rows = self._asked
        usual = "zarr"
        if isinstance(X, CSR):
            usual = "parquet"
        self._layout = layout or usual
        self._chunk_rows = chunk_rows or default_chunk_rows(X)

    def _open(self, split: str) -> ChunkWriter:
        return ChunkWriter(
            self._directory,
            split,
            self._layout,
            self._chunk_rows,
            self._background,
            self._note,
        )

    def _note(
        self,
        split: str,
        chunks: list[ChunkEntry],
        files: dict[str, int],
    ) -> None:
        if self._journal is not None:
            self._journal.written(
                split, chunks, files, self._layout, self._chunk_rows, self._width
            )

    def _share(self) -> float:
        chunks = [chunk for writer in self._splits.values() for chunk in writer.chunks]
        rows = sum(chunk.rows for chunk in chunks)
        nonzeros = sum(chunk.nonzeros for chunk in chunks)
        width = self._width
        if self._weights is not None:  # weights say nothing about the features
            nonzeros -= rows - self._weights.zeros
            width -= 1
        return nonzeros / (rows * width)

    def _densify(self) -> None:
        # Dense rows are not those of the text any more: nothing could be resumed from them.
        self._journal = None
        self._directory.remove(PROGRESS)
        width = self._width
        self._rewrite(
            list(self._splits),
            "sparse",
            lambda block: _dense_parts(block, width, self._chunk_rows),
        )
        for writer in self._splits.values():
            writer.end(width)

    def _reorder(self, places: NDArray[np.int64]) -> None:
        """Rewrite sparse rows with their features at other places."""
        self._journal = None
        self._directory.remove(PROGRESS)
        # weights and targets come before features
        aside = self._width - self._columns.width
        stored = np.concatenate([np.arange(aside), aside + places])

        def moved(block: Block) -> Iterator[Block]:
            assert isinstance(block.X, CSR)
            yield Block(_renumbered(block.X, stored), block.label)

        self._rewrite(list(self._splits), "sparse", moved, densify=False)
        for writer in self._splits.values():
            writer.end(self._width)
        self._columns.reorder(places)

    def _rewrite(
        self,
        splits: Iterable[str],
        kind: str,
        change: Callable[[Block], Iterator[Block]],
        *,
        densify: bool = True,
    ) -> None:
        """Rewrite `splits`, rows of `kind`, as the rows that `change` makes of each chunk.

        They are dense, unless `densify` is False.
        """
        layout = self._layout
        chunk_rows = self._chunk_rows
        width = self._width
        before = {split: self._splits.pop(split) for split in splits}
        for split, writer in before.items():
            if writer.chunks:
                self._directory.move(split, f"{REWRITE}/{split}")
        if kind == "sparse" and densify:
            self._settle(np.empty((0, width)))
        for split, writer in before.items():
            self._splits[split] = self._open(split)
            rows = sum(chunk.rows for chunk in writer.chunks)
            shape = SplitShape(
                f"{REWRITE}/{split}", kind, width, rows, chunk_rows, writer.files
            )
            reader = open_reader(layout, self._directory, shape)
            for i in range(len(writer.chunks)):
                for block in change(reader.read(i)):
                    self._splits[split].put(block)
        self._directory.remove(REWRITE)


def _of_type(block: Block, dtype: np.dtype[Any]) -> Block:
    assert not isinstance(block.X, CSR)
    return Block(block.X.astype(dtype, copy=False), block.label)


def _renumbered(X: CSR, places: NDArray[np.int64]) -> CSR:
    """Return rows whose features are at other `places`, each row in ascending order."""
    from scipy.sparse import csr_matrix

    indptr, indices, data = trim(X)
    shape = (len(indptr) - 1, len(places))
    rows = csr_matrix(
        (data, places[indices].astype(np.int32), indptr), shape=shape, copy=False
    )
    rows.sort_indices()
    return CSR(indptr, rows.indices.astype(np.int32, copy=False), rows.data)


def _dense_parts(block: Block, columns: int, rows: int) -> Iterator[Block]:
    """Yield `block` as dense rows, at most `rows` at once: a sparse chunk may become very large."""
    assert isinstance(block.X, CSR)
    for start in range(0, len(block), rows):
        stop = min(start + rows, len(block))
        yield Block(
            to_dense(slice_rows(block.X, start, stop), columns), block.label[start:stop]
        )
