"""Ingestion: from sources in any format to a dataset at rest."""

import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from olscale.addresses import redacted_parts
from olscale.data.dataset import Dataset, Progress, open_dataset
from olscale.data.formats import splits_in
from olscale.data.formats.arrays import names_test_arrays, parse_arrays
from olscale.data.formats.base import ReadOptions
from olscale.data.formats.cell_form import missing_words
from olscale.data.formats.coding import coding_texts, parse_codings
from olscale.data.formats.dialect import delimiter_called
from olscale.data.formats.drop_list import DropList
from olscale.data.formats.svmlight import ZeroIndexError
from olscale.data.ingest.archive import is_archive
from olscale.data.ingest.claim import SPILL, Journal, claim, start_over
from olscale.data.ingest.like import check_alone, options_like
from olscale.data.ingest.reader import Reader
from olscale.data.ingest.selection import rows_between
from olscale.data.ingest.sources import (
    Source,
    expand,
    partition_names,
    sha256_and_size,
    stamp,
    with_partitions,
)
from olscale.data.ingest.writer import DatasetWriter
from olscale.data.labels import Labels
from olscale.data.manifest import SourceEntry
from olscale.errors import DatasetError, ParameterError
from olscale.printable import printable
from olscale.storage.base import Storage
from olscale.system.arguments import checked_arguments
from olscale.system.memory import keep_freed_memory
from olscale.system.paths import path_text
from olscale.views import make_view


@checked_arguments()
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
    target: str | None = None,
    novel: str | int | float | None = None,
    decimal: str | None = None,
    encode: str | Sequence[str] | Mapping[str, str] = (),
    header: bool | None = None,
    delimiter: str | None = None,
    index_base: int | None = None,
    arrays: str | Mapping[str, str] | None = None,
    quoting: str | None = None,
    escape: str | None = None,
    missing: str | Sequence[str] = (),
    weights: str | int | None = None,
    like: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    note: Callable[[str], None] | None = None,
) -> Dataset:
    r"""Write `sources` as the dataset `dest`, completely or not at all.

    Parameters
    ----------
    sources : path or sequence of paths
        Files, folders, patterns, tar or zip archives (all read in natural order, ``Day2`` before
        ``Day10``), the members of an archive that match ``ARCHIVE#PATTERN``, fsspec addresses, or
        names such as ``sklearn:digits``. Several are concatenated in the order given.
    dest : path
        New directory or prefix. Its last component names the dataset.
    test : path or sequence of paths
        Sources of the test split. When left out and a single source contains a test split, that is
        used.
    format : str, optional
        Name of the format; guessed for each source when left out.
    layout : {'parquet', 'zarr'}, optional
        Zarr for dense, Parquet for sparse data when left out.
    chunk_rows : int, optional
        Rows per chunk: 16,384 when left out, fewer if wide dense rows would take more than 32 MB.
    segments : str, optional
        ``"files"`` makes each source a segment; any other value names a column, and a new segment
        begins whenever its value changes. In tables it may hold text, and may be dropped.
    label : str or int, optional
        Column of the target in tables, by name or position; several names separated by commas are
        several targets.
    drop : str or sequence of str
        Columns that are no features, such as row numbers: they are left out before anything is
        encoded. Each is a name, or a position from 0 (negative: from the end), or several separated
        by commas.
    train_rows : int, optional
        The first `train_rows` rows are the train split, all others the test split.
    target : {'classes', 'real'}, optional
        Whether the labels are classes, or numbers to predict (a regression). When left out, whole
        numbers and up to 32 different fractions are classes; other numbers are real-valued targets.
    novel : str, int or float, optional
        Label of novelties: makes a dataset for novelty detection, with the label -1 for them and +1
        for all others.
    decimal : {'.', ','}, optional
        Mark between whole part and fraction of a number in CSV and TSV; a point when left out.
    encode : str, sequence of str or mapping of str to str
        ``COLUMN=hash``, ``COLUMN=text`` (both may end in ``:features=N``), ``COLUMN=date`` or
        ``COLUMN=one-hot:values=N``: columns of a table, possibly numeric, whose cells become a
        bounded number of features, see `olscale.data.formats.coding`, instead of one per value.
        ``COLUMN=number``: a column of text or categories whose words are numbers becomes numeric.
        A mapping has the coding of each column: ``{"placed": "date"}``.
    header : bool, optional
        Whether the first row of each CSV and TSV source names its columns; guessed when left out.
    delimiter : str, optional
        Character between cells in CSV and TSV: one character, ``"tab"`` or ``"space"`` (any white
        space); guessed when left out.
    index_base : {0, 1}, optional
        First index of SVMlight text. When left out it is 0 if any row has an index 0, else 1.
    arrays : str or mapping of str to str, optional
        Names of the arrays in NPZ and MAT files, if they are not the usual ones:
        ``"X=train_data,y=train_labels"``; with ``X_test`` and ``y_test`` the same files also
        contain a test split.
    quoting : {'none'}, optional
        Quotes in CSV and TSV are ordinary characters; when left out a cell may stand between double
        quotes.
    escape : {'backslash'}, optional
        A backslash in CSV and TSV removes the meaning of the delimiter, quote, end of line or
        backslash after it, and a cell ``\N`` has no value, as MySQL, Hive and Spark write it.
    missing : str or sequence of str
        Cells of CSV and TSV that have no value, in addition to those that never have one (empty,
        ``?``, ``NA``, ``n/a``, ``nan``, ``null``, ``none``): each a word as it is written, or
        several separated by commas. A number stands for all cells of its value.
    weights : str or int, optional
        Column of the weights of the rows, by name or position: finite numbers, 0 or more. It is no
        feature; learners receive it if an experiment says ``weights`` in ``[protocol]``. For NPZ
        and MAT files it is an array (``w``, or ``w_train`` and ``w_test``), for VW text
        ``"importance"``.
    like : path, optional
        A dataset whose columns, classes and ways of reading this one has, so that its models take
        the rows. Columns may come in any order; a value that it does not know counts as none.
    progress : callable, optional
        Called after each batch is read, see `olscale.data.dataset.Progress`. When left out, an
        ingest of more than half a second in a notebook displays its progress.
    note : callable, optional
        Called, once the dataset exists, with each line that says how an ambiguous source was read,
        such as a first row that may be names or data. When left out these lines are warnings.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        When `dest` is taken or the sources do not belong together.
    FormatError
        When a source breaks its format. Nothing of the ingest remains then.

    Notes
    -----
    LIBSVM text cannot say that it is dense, nor can sparse ARFF of numbers. If at least a quarter
    of the entries (over all splits) is not zero and there are at most 65,536 columns, they are
    rewritten as a dense dataset after the last row, in one streaming pass.

    If killed, it leaves ``ingest.json`` without a manifest, which nothing opens. Ingesting the same
    sources again with the same options continues, for SVMlight text, with the first source or
    archive member whose rows were not all written (see `olscale.data.ingest.claim`), and starts
    over for other formats.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "xor.svm").write_text("+1 1:1 2:1\n-1 1:-1 2:1\n")
    ...     dataset = ingest(f"{folder}/xor.svm", f"{folder}/xor")
    ...     dataset.name, dataset.kind, dataset.rows("train"), dataset.classes
    ('xor', 'dense', 2, (-1, 1))
    """
    paths = {"train": _paths(sources), "test": _paths(test)}
    names = (drop,) if isinstance(drop, str) else tuple(drop)
    if not paths["train"]:
        raise DatasetError("no source was given; name at least one file")
    if train_rows is not None and (train_rows < 1 or paths["test"]):
        wrong = "with sources of the test split"
        if not paths["test"]:
            wrong = f"as {train_rows}, expected at least 1"
        raise ParameterError(f"train_rows was given {wrong}; leave one of them out")
    if target not in (None, "classes", "real") or (target and novel is not None):
        wrong = f"was {target!r}" + (
            f", with novel = {novel!r}" if novel is not None else ""
        )
        raise ParameterError(
            f"target {wrong}; expected 'classes' or 'real', or novel alone"
        )
    if index_base not in (None, 0, 1):
        raise ParameterError(f"index_base was {index_base!r}, expected 0 or 1")
    # A notebook shows a bar unasked, a script stays quiet.
    if progress is None and "IPython" in sys.modules:
        progress = make_view("ingest")
    delimiter = None if delimiter is None else delimiter_called(delimiter)
    absent = missing_words((missing,) if isinstance(missing, str) else missing)
    options: dict[str, object] = {
        "format": format,
        "layout": layout,
        "chunk_rows": chunk_rows,
        "segments": segments,
        "label": label,
    }
    options |= {"drop": list(names), "train_rows": train_rows, "decimal": decimal}
    # Only if given: an ingest that an earlier version began can still be continued.
    column_of_weights = None
    if weights is not None:
        column_of_weights = str(weights)
    names_of_arrays = None
    if arrays is not None:
        names_of_arrays = parse_arrays(arrays)
    later = {
        "target": target,
        "novel": novel,
        "header": header,
        "delimiter": delimiter,
        "index_base": index_base,
        "arrays": names_of_arrays,
        "quoting": quoting,
        "escape": escape,
        "missing": list(absent) or None,
        "weights": column_of_weights,
    }
    options |= {name: value for name, value in later.items() if value is not None}
    other = None if like is None else open_dataset(like).manifest
    if other is not None:
        check_alone(encode=encode, target=target)
        options["like"] = other.fingerprint
        if (novel is None) != (other.task != "novelty"):
            raise ParameterError(
                "like: give novel where the other dataset is of novelties"
            )
    codings = coding_texts(encode)
    if codings:
        # A wrong coding is refused before any source is opened.
        parse_codings(codings)
        options["encode"] = list(codings)
    keep_freed_memory()
    notes: list[str] = []
    by_split = _expanded(paths, notes.append)
    if train_rows is not None:
        by_split["test"] = by_split["train"]
    elif not by_split["test"]:
        by_split["test"] = _test_splits_in(by_split["train"], format, names_of_arrays)
    files = list(
        dict.fromkeys(
            source.file
            for split_sources in by_split.values()
            for source in split_sources
            if source.file
        )
    )
    source_paths = {
        source.path for of_split in by_split.values() for source in of_split
    }
    has_several = len(source_paths) > 1 or any(map(is_archive, source_paths))
    # A source that has changed must not continue an interrupted ingest of the old one.
    stamps = {file: stamp(file) for file in files}
    with (
        claim(
            # Without passwords: the marker stays on disk if the process is killed.
            path_text(dest, "dest"),
            redacted_parts({**paths, "options": options, "stamps": stamps}),
        ) as directory,
        ExitStack() as stack,
    ):
        # Hashing runs alongside reading, so that both share one pass of the page cache.
        hashing = stack.enter_context(ThreadPoolExecutor(1))
        stack.callback(hashing.shutdown, cancel_futures=True)
        hashes = {file: hashing.submit(sha256_and_size, file) for file in files}
        by_column = None
        if segments != "files":
            by_column = segments
        first = ReadOptions(
            label=label,
            drop=names,
            segments=by_column,
            decimal=decimal,
            encode=codings,
            header=header,
            delimiter=delimiter,
            zero_based=None if index_base is None else index_base == 0,
            arrays=names_of_arrays,
            quoting=quoting,
            escape=escape,
            missing=absent,
            weights=column_of_weights,
            drop_list=DropList(names) if has_several else None,
        )

        if other is not None:
            first = options_like(other, first)

        def build(reader: Reader) -> None:
            kind = target
            if other is not None and other.task != "novelty":
                kind = "real" if other.classes is None else "classes"
            labels = Labels(
                kind,
                None if novel is None else str(novel),
                None if other is None else other.classes,
                None if other is None else other.label_names,
            )
            writer = DatasetWriter(
                directory,
                layout,
                chunk_rows,
                segments,
                progress,
                reader.journal,
                labels,
                first.weights,
                other,
            )
            with writer:
                if train_rows is None:
                    for split, split_sources in by_split.items():
                        _write(writer, reader, split_sources, split)
                else:
                    _write(writer, reader, by_split["train"], "test", train_rows)
                reader.check_drops()
                if index_base is None:
                    # Where the user says how indices count, sources may look otherwise.
                    reader.check_bases()
                entries = [
                    _entry(source, split, hashes)
                    for split, split_sources in by_split.items()
                    for source in split_sources
                ]
                # Before the manifest is there: a dataset holds nothing but its own files.
                directory.remove(SPILL)
                writer.finish(entries, densify=reader.may_be_dense)
                if writer.unknown:
                    notes.append(
                        f"{writer.unknown:,} values and indices that {like} does not know count "
                        "as none"
                    )

        reader = Reader(
            format, first, _spill_folder(directory, stack), Journal(directory)
        )
        try:
            build(reader)
        except ZeroIndexError as fault:
            if index_base is not None:
                raise
            # Rows before it were numbered from 1, so all sources are read once more.
            start_over(directory)
            reader = reader.counting_from_0(fault)
            build(reader)
    for line in [*notes, *reader.all_notes()]:
        if note is None:
            warnings.warn(printable(line), stacklevel=2)
        else:
            note(line)
    return open_dataset(dest)


def _expanded(
    paths: dict[str, list[str]], note: Callable[[str], None]
) -> dict[str, list[Source]]:
    """Return the sources of each split; the train split decides which columns folders name."""
    train = expand(paths["train"], note)
    test = expand(paths["test"], note)
    names = partition_names(train)
    if more := [name for name in partition_names(test) if name not in names]:
        columns = ", ".join(map(repr, more))
        note(
            f"folders of the test split say {columns}, those of the train split do not: not read"
        )
    sources = with_partitions([*train, *test], names)
    return {"train": sources[: len(train)], "test": sources[len(train) :]}


def _write(
    writer: DatasetWriter,
    reader: Reader,
    sources: Sequence[Source],
    split: str,
    train_rows: int = 0,
) -> None:
    """Write the rows of `sources` as `split`, except the first `train_rows`, which train."""
    for source in sources:
        for member in reader.members(source):
            for batch in reader.batches(member):
                cut = min(max(train_rows - writer.rows("train"), 0), len(batch))
                if cut:
                    writer.write("train", member, rows_between(batch, 0, cut))
                if cut < len(batch):
                    writer.write(split, member, rows_between(batch, cut, len(batch)))
    if sources and not writer.rows(split):
        raise DatasetError(f"the sources of {split} hold no rows")


def _paths(paths: Any) -> list[str]:
    is_sequence = (
        isinstance(paths, Iterable)
        and not isinstance(paths, str | os.PathLike)
        and not hasattr(paths, "__array__")
    )
    return [path_text(path, "source") for path in (paths if is_sequence else [paths])]


def _spill_folder(directory: Storage, stack: ExitStack) -> Path:
    if directory.local:
        return directory.local / SPILL
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="olscale-")))


def _test_splits_in(
    train: list[Source],
    format: str | None,
    arrays: Mapping[str, str] | None,
) -> list[Source]:
    """Return the test splits inside the sources of the train split."""
    return [
        replace(source, path=f"{source.path}#test")
        for source in train
        if not is_archive(source.path)
        and "#" not in source.path
        and (names_test_arrays(arrays) or "test" in splits_in(source.path, format))
    ]


def _entry(
    source: Source, split: str, hashes: dict[str, Future[tuple[str, int]]]
) -> SourceEntry:
    if source.file is None:
        return SourceEntry(name=source.name, split=split)
    digest, size = hashes[source.file].result()
    return SourceEntry(name=source.name, split=split, bytes=size, sha256=digest)
