"""Ingestion: from sources in any format to a dataset at rest."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from io import BufferedReader
from pathlib import Path

from olscale.data.dataset import Dataset, Progress, open_dataset
from olscale.data.formats import TABLE_FORMATS, TEXT_FORMATS, find_format, splits_in
from olscale.data.formats.base import Batch, Format, ReadOptions
from olscale.data.formats.compression import open_source
from olscale.data.ingest.archive import archive_pieces, is_archive, open_member
from olscale.data.ingest.build import SPOOL, Build, Piece, claim
from olscale.data.ingest.parallel import Parsers, read_ranges
from olscale.data.ingest.resume import Earlier, Journal
from olscale.data.ingest.selection import Cut, drop_columns
from olscale.data.ingest.sources import Source, expand, segment_name, sha256_and_size, stamp
from olscale.data.ingest.spilled_rows import keep_rows, kept_rows
from olscale.data.manifest import SourceEntry
from olscale.data.rebatch import DEFAULT_CHUNK_ROWS
from olscale.errors import DatasetError, FormatError, ParameterError
from olscale.storage.base import Storage
from olscale.system.allocation import keep_freed_memory

__all__ = ["ingest"]

_SPARSE_TEXT = "svmlight"
_COPIED_BYTES = 1 << 17
"""Few enough to stay in the cache between decompressing and writing."""
_BATCH_ROWS = 2_048
"""Rows asked of formats that may be dense and wide."""


def ingest(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    dest: str | os.PathLike[str],
    *,
    test: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    format: str | None = None,
    layout: str | None = None,
    chunk_rows: int | None = None,
    segments: str | None = None,
    label: str | int | None = None,
    drop: str | Sequence[str] = (),
    train_rows: int | None = None,
    decimal: str | None = None,
    progress: Progress | None = None,
    parsers: Parsers | None = None,
) -> Dataset:
    r"""Write `sources` as the dataset `dest`, which appears whole or not at all.

    Parameters
    ----------
    sources : path or sequence of paths
        Files, folders, patterns, tar archives (all read in natural order, ``Day2`` before ``Day10``), fsspec addresses,
        or names such as ``sklearn:digits``. Several are concatenated in the order given.
    dest : path
        New directory or prefix. The dataset is called as its last component.
    test : path or sequence of paths
        Sources of the test split. When left out and `sources` is one that itself holds a test split, that is taken.
    format : str, optional
        Name of the format; guessed for each source when left out.
    layout : {'parquet', 'zarr'}, optional
        Zarr for dense, Parquet for sparse data when left out.
    chunk_rows : int, optional
        Rows of a chunk: 16,384 when left out, fewer where wide dense rows would take more than 32 MB.
    segments : str, optional
        ``"files"`` makes each source a segment; any other value names a column, and a new segment begins wherever its
        value changes. In tables it may hold text, and may be dropped.
    label : str or int, optional
        Column of the target in tables, by name or position.
    drop : str or sequence of str
        Columns that are no features, as a row's number: they are left out before anything is encoded. Each is a name, or
        a position from 0 (negative: from the end), or several with commas between.
    train_rows : int, optional
        So many rows from the first on are the train split, all others the test split.
    decimal : {'.', ','}, optional
        Mark between whole part and fraction of a number in CSV and TSV; a point when left out.
    progress : callable, optional
        Called as each batch was read, see `olscale.data.dataset.Progress`.
    parsers : Parsers, optional
        Other processes, in which large SVMlight text is parsed, range by range; the dataset has the same bytes.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        When `dest` is taken or the sources do not go together.
    FormatError
        When a source breaks its format. Nothing is left of the ingest then.

    Notes
    -----
    LIBSVM text cannot say that it is dense. Where at least a quarter of its entries (over all splits) is not zero and
    it has at most 65,536 columns, it is rewritten as a dense dataset after the last row, in one streaming pass.

    Interrupted (killed), it leaves ``ingest.json`` without a manifest: nothing opens that. Ingesting the same sources
    again with the same options goes on, for SVMlight text, with the first source or archive member of which not all rows
    were written (see `olscale.data.ingest.resume`), and starts over for other formats.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "xor.svm").write_text("+1 1:1 2:1\n-1 1:-1 2:1\n")
    ...     dataset = ingest(f"{folder}/xor.svm", f"{folder}/xor")
    ...     dataset.name, dataset.kind, dataset.rows("train"), dataset.classes
    ('xor', 'dense', 2, (-1, 1))
    """
    given = {"train": _paths(sources), "test": _paths(test)}
    dropped = (drop,) if isinstance(drop, str) else tuple(drop)
    if not given["train"]:
        raise DatasetError("no source was given; name at least one file")
    if train_rows is not None and (train_rows < 1 or given["test"]):
        wrong = "with sources of the test split" if given["test"] else f"as {train_rows}, expected at least 1"
        raise ParameterError(f"train_rows was given {wrong}; leave one of them out")
    options: dict[str, object] = {
        "format": format,
        "layout": layout,
        "chunk_rows": chunk_rows,
        "segments": segments,
        "label": label,
    }
    options |= {"drop": list(dropped), "train_rows": train_rows, "decimal": decimal}
    keep_freed_memory()
    found = {split: expand(paths) for split, paths in given.items()}
    if train_rows is not None:
        found["test"] = found["train"]
    elif not found["test"]:
        found["test"] = _held_test(found["train"], format)
    files = list(dict.fromkeys(source.file for part in found.values() for source in part if source.file))
    stamps = {file: stamp(file) for file in files}
    with claim(os.fspath(dest), {**given, "options": options, "stamps": stamps}) as directory, ExitStack() as stack:
        journal = Journal(directory)
        build = Build(directory, layout, chunk_rows, segments, progress, journal)
        # Hashing runs beside the reading: both take the file from the page cache once.
        hashing = stack.enter_context(ThreadPoolExecutor(1))
        stack.callback(hashing.shutdown, cancel_futures=True)
        hashes = {file: hashing.submit(sha256_and_size, file) for file in files}
        by = None if segments == "files" else segments
        first = ReadOptions(chunk_rows=_BATCH_ROWS, label=label, drop=dropped, segments=by, decimal=decimal)
        reading = _Reading(format, first, _spool(directory, stack), journal, parsers)
        train = partial(reading.pieces, found["train"])
        if train_rows is None:
            build.add("train", _Again(train))
            if found["test"]:
                build.add("test", _Again(partial(reading.pieces, found["test"])))
        else:
            parts = Cut(train, train_rows)
            build.add("train", _Again(parts.head))
            build.add("test", _Again(parts.tail))
        entries = [_entry(source, split, hashes) for split, part in found.items() for source in part]
        directory.remove(SPOOL)
        build.finish(entries, densify=reading.formats == {_SPARSE_TEXT})
    return open_dataset(dest)


def _paths(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    return [os.fspath(path) for path in several]


def _spool(directory: Storage, stack: ExitStack) -> Path:
    if directory.local:
        return directory.local / SPOOL
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="olscale-")))


def _held_test(train: list[Source], format: str | None) -> list[Source]:
    """Return the test splits that lie inside the sources of the train split."""
    return [
        replace(source, path=f"{source.path}#test")
        for source in train
        if not is_archive(source.path) and "#" not in source.path and "test" in splits_in(source.path, format)
    ]


def _entry(source: Source, split: str, hashes: dict[str, Future[tuple[str, int]]]) -> SourceEntry:
    if source.file is None:
        return SourceEntry(name=source.name, split=split)
    digest, size = hashes[source.file].result()
    return SourceEntry(name=source.file.rsplit("/", 1)[-1], split=split, bytes=size, sha256=digest)


@dataclass(frozen=True, slots=True)
class _Again:
    """Pieces; iterating over them again reads them again."""

    pieces: Callable[[], Iterator[Piece]]

    def __iter__(self) -> Iterator[Piece]:
        return self.pieces()


class _Reading:
    """Reads source after source with what was learnt from the ones before, or from an interrupted ingest."""

    def __init__(
        self,
        format: str | None,
        options: ReadOptions,
        spool: Path,
        journal: Journal,
        parsers: Parsers | None,
    ) -> None:
        self.formats: set[str] = set()
        self._format, self._options, self._spool, self._journal = format, options, spool, journal
        self._parsers = parsers
        self._earlier = Earlier(journal.directory)

    def pieces(self, sources: Sequence[Source]) -> Iterator[Piece]:
        for source in sources:
            if is_archive(source.path):
                set_aside = partial(self._set_aside, source.path)
                pieces = archive_pieces(source.path, set_aside, self._spool, self._earlier.pieces)
            else:
                name = segment_name(source.name)
                pieces = iter([Piece(source.path, name, partial(self._file, source.path))])
            for piece in pieces:
                batches, key = piece.batches, piece.key or piece.name
                if key in self._earlier.pieces:
                    self.formats.add(_SPARSE_TEXT)
                    batches = partial(self._earlier.batches, key)
                yield replace(piece, batches=partial(self._noted, key, batches))

    def _noted(self, piece: str, batches: Callable[[], Iterator[Batch]]) -> Iterator[Batch]:
        """Yield `batches`; all files of a dataset number their features alike, and have the label in one place."""
        rows = 0
        for batch in batches():
            rows += len(batch)
            if batch.zero_based is not None:
                self._options = replace(self._options, zero_based=batch.zero_based)
                self._journal.zero_based = batch.zero_based
            if isinstance(batch.label, int):
                self._options = replace(self._options, label=batch.label)
            if batch.table is not None and self._options.table is None:
                self._options = replace(self._options, table=batch.table.columns)
            yield batch
        self._journal.read(piece, rows)

    def _set_aside(
        self, archive: str, source: str, content: BufferedReader, file: Path, number: int
    ) -> Callable[[], Iterator[Batch]]:
        """Keep a member of an archive in `file`: SVMlight as rows, which are a quarter of its text, all others as text."""
        format = find_format(source, self._format, content)
        if format.name not in TEXT_FORMATS:
            raise FormatError(
                source, f"is {format.name}, but archives are read only for {', '.join(TEXT_FORMATS)}; unpack it"
            )
        if format.name == _SPARSE_TEXT and self._parsers is None:
            again = partial(open_member, archive, number)
            try:
                keep_rows(format, source, content, file)
            except FormatError as error:
                if error.source != source:
                    raise
                # Its turn decides what is wrong first: a row before it, or one of another member.
                return partial(self._again, source, format, again)
            return partial(self._rows, source, file, again)
        with file.open("wb", buffering=0) as text:
            shutil.copyfileobj(content, text, _COPIED_BYTES)
        return partial(self._text, source, file, format)

    def _rows(
        self, source: str, file: Path, again: Callable[[], AbstractContextManager[BufferedReader]]
    ) -> Iterator[Batch]:
        self.formats.add(_SPARSE_TEXT)
        return self._dropped(source, kept_rows(source, file, self._options.zero_based, again))

    def _again(
        self, source: str, format: Format, again: Callable[[], AbstractContextManager[BufferedReader]]
    ) -> Iterator[Batch]:
        with again() as text:
            yield from self._parsed(source, source, format, text)

    def _text(self, source: str, file: Path, format: Format) -> Iterator[Batch]:
        with open_source(str(file)) as text:
            yield from self._parsed(source, str(file), format, text)
        file.unlink()

    def _file(self, source: str) -> Iterator[Batch]:
        return self._parsed(source, source, find_format(source, self._format))

    def _parsed(self, source: str, file: str, format: Format, text: BufferedReader | None = None) -> Iterator[Batch]:
        """Return the rows of `source`, which is in `file`."""
        self.formats.add(format.name)
        # Not the dataset's chunk_rows: what a format finds out from its first batch must not depend on that.
        rows = DEFAULT_CHUNK_ROWS if format.name == _SPARSE_TEXT else _BATCH_ROWS
        options = replace(self._options, chunk_rows=rows, stream=text)
        batches = None
        if self._parsers is not None and format.name == _SPARSE_TEXT:
            unopened = replace(options, stream=None)
            batches = read_ranges(source, file, unopened, self._parsers, self._spool)
        batches = batches or format.read(source, options)
        return batches if format.name in TABLE_FORMATS else self._dropped(source, batches)

    def _dropped(self, source: str, batches: Iterator[Batch]) -> Iterator[Batch]:
        drop = self._options.drop
        return (drop_columns(batch, drop, source) for batch in batches) if drop else batches
