"""Export: a split of a dataset as one file that other programs read."""

import csv
import io
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, entries_of, nbytes, to_dense, trim
from olscale.data.dataset import Dataset, Progress
from olscale.data.layouts import Block
from olscale.data.stored_rows import PartedRows, cut, part_rows
from olscale.errors import DatasetError, UnknownNameError
from olscale.storage.npz import write_member
from olscale.storage.open import open_output
from olscale.system.paths import path_text

_SUFFIXES = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".csv": "csv",
    ".npz": "npz",
}
WEIGHTS = "weights"
"""Name of the array of row weights in NPZ; ``weights_train`` if the file has several splits."""

_CSV_COLUMNS = 65_536
_CSV_ROWS = 1_024


def export(
    dataset: Dataset,
    file: str | os.PathLike[str],
    *,
    split: str | None = None,
    format: str | None = None,
    progress: Progress | None = None,
) -> None:
    """Write rows of `dataset` to `file`, streaming chunk by chunk.

    Numbers are written so that they read back bit for bit.

    Parameters
    ----------
    dataset : Dataset
        What to write.
    file : path
        Target, replaced atomically. Text whose name ends in ``.gz`` is compressed.
    split : str, optional
        The split to write: ``"train"`` when left out, except that a dense NPZ file then holds all
        splits.
    format : {'svmlight', 'csv', 'npz'}, optional
        Deduced from the ending of `file` when left out. SVMlight text leaves zeros out, and its
        indices count from 1, or from 0 where those of the dataset's sources did. CSV has a header
        and the label last. NPZ holds ``X_train``, ``y_train`` ...; of sparse rows, one split as
        `scipy.sparse.load_npz` reads it, with labels ``y``; `olscale.ingest` reads either back. The
        weights of rows are a column of CSV, and the arrays ``weights_train`` ... or ``weights`` of
        NPZ.
    progress : callable, optional
        Called with the split, the rows of a chunk and their bytes as they are read; NPZ reads them
        several times.

    Raises
    ------
    DatasetError
        When the format cannot hold the dataset.
    UnknownNameError
        For a format or split that does not exist.
    """
    path = path_text(file, "file")
    name = format or _guess(path)
    if name not in _WRITERS:
        raise UnknownNameError("export format", name, _WRITERS)
    if split is not None:
        dataset.rows(split)
    # The file appears only when it is complete: half of it would pass for a smaller dataset.
    with open_output(path) as raw, _compressed(raw, path, name) as out:
        _WRITERS[name](_Rows(dataset, progress), split, out)


def _guess(path: str) -> str:
    suffix = os.path.splitext(path.removesuffix(".gz"))[1]  # noqa: PTH122 - `path` may be a URL
    if suffix not in _SUFFIXES:
        raise DatasetError(
            f"cannot tell the format of {path} by its ending; end it in .svm, .csv or .npz, or "
            "name a format"
        )
    return _SUFFIXES[suffix]


@contextmanager
def _compressed(raw: IO[bytes], path: str, format: str) -> Iterator[IO[bytes]]:
    if not path.endswith(".gz") or format == "npz":
        yield raw
        return
    from isal import igzip

    # The file contains neither a name nor a time: the same rows give the same bytes.
    packed: Any = igzip.IGzipFile
    with packed(filename="", fileobj=raw, mode="wb", mtime=0) as out:
        yield out


@dataclass(frozen=True, slots=True)
class _Rows:
    """The dataset to write, and the callback for progress."""

    dataset: Dataset
    progress: Progress | None

    def blocks(self, split: str) -> Iterator[Block]:
        """Yield the rows as they are stored, with all targets as labels."""
        for rows in self.parted(split):
            yield Block(rows.X, rows.label)

    def parted(self, split: str) -> Iterator[PartedRows]:
        """Yield the rows with their weights separated."""
        more = self.dataset.manifest.more_targets
        weighted = self.dataset.weights is not None
        for i in range(self.dataset.chunk_count(split)):
            block = self.dataset.block(split, i)
            yield part_rows(block, more, weighted)
            if self.progress is not None:
                self.progress(split, len(block), nbytes(block.X))


def _number(value: float) -> str:
    # `repr` gives the shortest text that reads back as the same double.
    return repr(value).removesuffix(".0")


def _write_svmlight(rows: _Rows, split: str | None, out: IO[bytes]) -> None:
    dataset = rows.dataset
    if dataset.targets:
        raise DatasetError(
            f"{dataset.path} has several targets, SVMlight text holds one; export it to csv or npz"
        )
    if dataset.weights is not None:
        raise DatasetError(
            f"{dataset.path} has weights, which SVMlight text cannot hold; export it to csv or npz"
        )
    if dataset.manifest.label_names is not None:
        raise DatasetError(
            f"{dataset.path} has text labels, which SVMlight text cannot hold; export it to csv "
            "or npz"
        )
    base = 1
    if dataset.manifest.index_base is not None:
        base = dataset.manifest.index_base
    for block in rows.blocks(split or "train"):
        for label, indices, values in _sparse_rows(block):
            # A row may be empty, hence no separator on its own.
            pairs = "".join(
                f" {i + base}:{_number(v)}"
                for i, v in zip(indices, values, strict=True)
            )
            out.write(f"{_number(label)}{pairs}\n".encode())


def _sparse_rows(block: Block) -> Iterator[tuple[float, list[int], list[float]]]:
    labels = block.label.tolist()
    X = block.X
    if isinstance(X, CSR):
        yield from (
            (label, *entries)
            for label, entries in zip(labels, entries_of(X), strict=True)
        )
        return
    for label, row in zip(labels, X, strict=True):
        values = row.astype(np.float64, copy=False)
        # -0 is written, so that rows read back bit for bit.
        at = np.flatnonzero((values != 0) | np.signbit(values))
        yield label, at.tolist(), values[at].tolist()


def _write_csv(rows: _Rows, split: str | None, out: IO[bytes]) -> None:
    dataset = rows.dataset
    if dataset.columns > _CSV_COLUMNS:
        raise DatasetError(
            f"{dataset.path} has {dataset.columns} columns, csv takes at most {_CSV_COLUMNS}; "
            "export it to svmlight"
        )
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    names = dataset.manifest.feature_names or tuple(
        f"x{i}" for i in range(dataset.columns)
    )
    of_weights = () if dataset.weights is None else (dataset.weights,)
    writer.writerow([*names, *of_weights, *(dataset.targets or ("label",))])
    labels = dataset.manifest.label_names
    has_targets = bool(dataset.targets)
    for parted in rows.parted(split or "train"):
        block = Block(parted.X, parted.label)
        weights = (
            np.empty((len(block), 0))
            if parted.weights is None
            else parted.weights[:, np.newaxis]
        )
        # A few rows at a time: sparse ones become dense here, and a whole chunk may be too wide for
        # that.
        for start in range(0, len(block), _CSV_ROWS):
            part = cut(block, start, min(start + _CSV_ROWS, len(block)))
            X = to_dense(part.X, dataset.columns).astype(np.float64, copy=False)
            numbers = np.hstack([X, weights[start : start + len(part)]])
            for row, label in zip(numbers.tolist(), part.label.tolist(), strict=True):
                if has_targets:
                    targets = [_number(target) for target in label]
                elif labels:
                    targets = [labels[int(label)]]
                else:
                    targets = [_number(label)]
                writer.writerow([*map(_number, row), *targets])
    # The wrapper would close `out`, which belongs to the caller.
    text.detach()


def _write_npz(rows: _Rows, split: str | None, out: IO[bytes]) -> None:
    dataset = rows.dataset
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        if dataset.kind == "sparse":
            _write_sparse_npz(archive, rows, split or "train")
            return
        names = dataset.splits if split is None else (split,)
        for name in names:
            shape = (dataset.rows(name), dataset.columns)
            dtype = np.dtype(dataset.manifest.dtype)
            _member(
                archive,
                f"X_{name}",
                dtype,
                shape,
                (np.asarray(block.X) for block in rows.blocks(name)),
            )
            _label_member(archive, f"y_{name}", rows, name)
            _weights_member(archive, f"{WEIGHTS}_{name}", rows, name)


def _write_sparse_npz(archive: zipfile.ZipFile, rows: _Rows, split: str) -> None:
    dataset = rows.dataset
    count = dataset.rows(split)
    # The manifest counts stored entries, and those of weights and further targets leave the rows.
    stored_apart = dataset.targets or dataset.weights is not None
    entries = (
        sum(block.nonzeros for block in rows.blocks(split))
        if stored_apart
        else dataset.nonzeros(split)
    )
    i64 = np.dtype(np.int64)
    i32 = np.dtype(np.int32)
    f64 = np.dtype(np.float64)
    _member(archive, "indptr", i64, (count + 1,), _row_ends(rows, split))
    _member(
        archive, "indices", i32, (entries,), (X.indices for X in _sparse(rows, split))
    )
    _member(archive, "data", f64, (entries,), (X.data for X in _sparse(rows, split)))
    _member(archive, "shape", i64, (2,), [np.array([count, dataset.columns])])
    # As scipy.sparse.save_npz writes it, so that load_npz reads the file.
    _member(archive, "format", np.dtype("S3"), (), [np.array(b"csr")])
    _label_member(archive, "y", rows, split)
    _weights_member(archive, WEIGHTS, rows, split)


def _sparse(rows: _Rows, split: str) -> Iterator[CSR]:
    return (trim(block.X) for block in rows.blocks(split) if isinstance(block.X, CSR))


def _row_ends(rows: _Rows, split: str) -> Iterator[NDArray[np.int64]]:
    end = 0
    yield np.zeros(1, dtype=np.int64)
    for X in _sparse(rows, split):
        yield X.indptr[1:] + end
        end += len(X.data)


def _label_member(
    archive: zipfile.ZipFile,
    member: str,
    rows: _Rows,
    split: str,
) -> None:
    names = rows.dataset.manifest.label_names
    texts = None
    if names is not None:
        texts = np.array(names)
    labels = (
        block.label if texts is None else texts[block.label.astype(np.int64)]
        for block in rows.blocks(split)
    )
    dtype = np.dtype(np.float64) if texts is None else texts.dtype
    target_shape = (len(rows.dataset.targets),) if rows.dataset.targets else ()
    _member(archive, member, dtype, (rows.dataset.rows(split), *target_shape), labels)


def _weights_member(
    archive: zipfile.ZipFile,
    member: str,
    rows: _Rows,
    split: str,
) -> None:
    if rows.dataset.weights is not None:
        weights = (parted.weights for parted in rows.parted(split))
        _member(
            archive, member, np.dtype(np.float64), (rows.dataset.rows(split),), weights
        )


def _member(
    archive: zipfile.ZipFile,
    name: str,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    parts: Any,
) -> None:
    """Write array `name` from consecutive `parts`, without holding all of it in memory."""
    write_member(
        archive,
        name,
        dtype,
        shape,
        (np.ascontiguousarray(part, dtype=dtype).tobytes() for part in parts),
    )


_WRITERS: dict[str, Callable[[_Rows, str | None, IO[bytes]], None]] = {
    "svmlight": _write_svmlight,
    "csv": _write_csv,
    "npz": _write_npz,
}
