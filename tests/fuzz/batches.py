"""What is checked of rows that a reader accepted: the contract of `Batch`, and that obvious parsers read the same."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from olscale.compiled.csr import CSR
from olscale.data.formats import ReadOptions, find_format
from olscale.data.formats.base import Batch
from tests.fuzz.target import Broken

ROWS = 5
"""Rows of a batch: few, so that inputs of a few rows make several."""

MOST_BYTES = 256 << 20
"""Of one batch, from inputs of at most 64 kB."""


def checked(batches: Iterable[Batch], most_rows: int) -> list[Batch]:
    """Return `batches` once each was found to keep what `Batch` promises."""
    kept = []
    width = 0
    names = 0
    for batch in batches:
        _check(batch, most_rows)
        if batch.columns < width:
            raise Broken(f"{batch.columns} columns after {width}")
        if (
            batch.feature_names is not None
            and not names <= len(batch.feature_names) <= batch.columns
        ):
            raise Broken(
                f"{len(batch.feature_names)} names for {batch.columns} columns"
            )
        width = batch.columns
        names = len(batch.feature_names or ())
        kept.append(batch)
    if not kept:
        raise Broken("no batch and no error")
    return kept


def read_rows(path: Path, format: str | None) -> None:
    """Read all rows of a file and check them."""
    checked(
        find_format(str(path), format).read(str(path), ReadOptions(chunk_rows=ROWS)),
        ROWS,
    )


def _check(batch: Batch, most_rows: int) -> None:
    rows = len(batch)
    X = batch.X
    if not 1 <= rows <= most_rows:
        raise Broken(f"a batch of {rows} rows")
    if not isinstance(batch.target, list) and (
        batch.target.shape != (rows,) or batch.target.dtype != np.float64
    ):
        raise Broken(f"targets of shape {batch.target.shape}, {batch.target.dtype}")
    if not isinstance(X, CSR):
        if (
            X.shape != (rows, batch.columns)
            or X.dtype.kind not in "uif"
            or X.nbytes > MOST_BYTES
        ):
            raise Broken(
                f"rows of shape {X.shape}, {X.dtype}, for {rows} x {batch.columns}"
            )
        return
    if [array.dtype for array in X] != [np.int64, np.int32, np.float64]:
        raise Broken(f"CSR of {[str(array.dtype) for array in X]}")
    lengths = np.diff(X.indptr)
    if len(lengths) != rows or X.indptr[0] != 0 or (lengths < 0).any():
        raise Broken(f"row offsets {X.indptr[:10]} for {rows} rows")
    if not X.indptr[-1] == len(X.indices) == len(X.data):
        raise Broken(
            f"{X.indptr[-1]} entries, {len(X.indices)} indices, {len(X.data)} values"
        )
    if len(X.indices) and not (
        X.indices.min() >= 0 and X.indices.max() < batch.columns
    ):
        raise Broken(
            f"indices from {X.indices.min()} to {X.indices.max()}, {batch.columns} columns"
        )
    starts = np.zeros(len(X.indices) + 1, dtype=bool)
    starts[X.indptr] = True
    if not ((np.diff(X.indices) > 0) | starts[1:-1]).all():
        raise Broken("indices of a row do not increase")


def same_batches(some: list[Batch], others: list[Batch]) -> None:
    """Compare what two ways of reading give, bit for bit."""
    if [_plain(batch) for batch in some] != [_plain(batch) for batch in others]:
        raise Broken("two ways of reading differ")


def _plain(batch: Batch) -> list[object]:
    arrays = [batch.X] if isinstance(batch.X, np.ndarray) else [*batch.X]
    target = batch.target if isinstance(batch.target, list) else batch.target.tobytes()
    return [
        *(array.tobytes() for array in arrays),
        target,
        batch.feature_names,
        batch.columns,
    ]


def same_as_slow_svmlight(path: Path, batches: list[Batch]) -> None:
    """Compare with a parser of a few lines; it may refuse what the fast one takes (as text that is not UTF-8)."""
    expected = []
    try:
        for line in path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            words = line.split(b"#")[0].split()
            if words:
                pairs = [
                    word.partition(b":")
                    for word in words[1:]
                    if not word.startswith(b"qid:")
                ]
                expected.append(
                    (
                        float(words[0]),
                        [int(i) for i, _, _ in pairs],
                        [float(v) for _, _, v in pairs],
                    )
                )
    except ValueError:
        return
    got = []
    base = 0 if batches[0].zero_based else 1
    for batch in batches:
        assert isinstance(batch.X, CSR)
        bounds = batch.X.indptr.tolist()
        indices = (batch.X.indices + np.int64(base)).tolist()
        data = batch.X.data.tolist()
        for label, start, stop in zip(
            batch.target, bounds[:-1], bounds[1:], strict=True
        ):
            got.append((label, indices[start:stop], data[start:stop]))
    if len(got) != len(expected):
        raise Broken(f"{len(got)} rows, the slow parser has {len(expected)}")
    for row, (ours, other) in enumerate(zip(got, expected, strict=True)):
        if not (
            _same([ours[0]], [other[0]])
            and ours[1] == other[1]
            and _same(ours[2], other[2])
        ):
            raise Broken(
                f"row {row} is {ours!r:.300}, the slow parser has {other!r:.300}"
            )


def same_as_slow_table(path: Path, batches: list[Batch], delimiter: str) -> None:
    """Compare dense rows of numbers with the cells; the label is the last column."""
    if any(
        isinstance(batch.X, CSR) or isinstance(batch.target, list) for batch in batches
    ):
        return
    if any(
        isinstance(batch.label, int) and batch.label != batch.columns
        for batch in batches
    ):
        return
    with path.open(encoding="utf-8-sig", newline="") as file:
        cells = [
            row for row in csv.reader(file, delimiter=delimiter, strict=True) if row
        ]
    got = np.vstack(
        [np.column_stack([batch.X, np.asarray(batch.target)]) for batch in batches]
    )
    if len(cells) - len(got) not in (0, 1):
        raise Broken(f"{len(got)} rows of {len(cells)} lines")
    for row, line in zip(got.tolist(), cells[len(cells) - len(got) :], strict=True):
        expected = [_float(cell) for cell in line]
        if not _same(row, expected):
            raise Broken(f"row {row!r:.300}, the cells are {line!r:.300}")


def _float(cell: str) -> float:
    try:
        return math.nan if "_" in cell else float(cell)
    except ValueError:
        return math.nan


def _same(a: list[float], b: list[float]) -> bool:
    return [_bits(value) for value in a] == [_bits(value) for value in b]


def _bits(value: float) -> str:
    return float(value).hex()
