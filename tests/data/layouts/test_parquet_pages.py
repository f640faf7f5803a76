"""Pages are decoded to what pyarrow makes of them, and whatever has another form is left to pyarrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from olscale.bench.workloads import generate
from olscale.compiled.csr import CSR
from olscale.data.dataset import open_dataset
from olscale.data.layouts import _parquet_file, parquet
from olscale.data.layouts._parquet_file import sparse_file
from olscale.data.layouts._parquet_pages import read_plain
from olscale.data.layouts.base import Block
from olscale.errors import DatasetError

OURS = {
    "compression": "lz4",
    "use_dictionary": False,
    "write_statistics": False,
    "data_page_version": "2.0",
}


def packed(table: Any, **options: Any) -> memoryview:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **{**OURS, **options})
    return memoryview(bytearray(sink.getvalue()))


def block(lengths: list[int] | np.ndarray) -> Block:
    random = np.random.default_rng(0)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    entries = int(indptr[-1])
    X = CSR(
        indptr,
        random.integers(0, 1000, entries).astype(np.int32),
        random.random(entries),
    )
    return Block(X, random.random(len(lengths)))


def sparse(lengths: list[int] | np.ndarray) -> Any:
    """Return rows as pyarrow has them."""
    rows = block(lengths)
    columns = [pa.array(rows.label)]
    fields = [pa.field("label", pa.float64(), nullable=False)]
    for name, values in (("indices", rows.X.indices), ("values", rows.X.data)):
        items = pa.array(values)
        kind = pa.list_(pa.field("element", items.type, nullable=False))
        fields.append(pa.field(name, kind, nullable=False))
        columns.append(
            pa.ListArray.from_arrays(
                pa.array(rows.X.indptr.astype(np.int32)), items, type=kind
            )
        )
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


LENGTHS = {
    "one row": [3],
    "one empty row": [0],
    "empty rows only": [0] * 100,
    "long rows": [900, 1, 5000],
    "some empty rows": [0, 0, 5, 0, 113, 1, 0],
    "many rows": np.random.default_rng(1).integers(0, 60, 2000),
    "mostly empty rows": np.random.default_rng(2).integers(0, 60, 3000)
    * (np.arange(3000) % 7 == 0),
}


@pytest.mark.parametrize("page", [1 << 20, 700])
@pytest.mark.parametrize("rows", LENGTHS)
def test_pages_hold_what_pyarrow_reads(rows: str, page: int):
    """Whatever the lengths of rows, and where pages end: also within a row."""
    file = packed(sparse(LENGTHS[rows]), data_page_size=page, write_batch_size=10)
    got = read_plain(file)
    expected = parquet._read(file)
    assert got is not None
    assert got.keys() == expected.keys()
    for name, arrays in expected.items():
        for array, plain in zip(arrays, got[name], strict=True):
            np.testing.assert_array_equal(plain, array)
            assert plain.dtype == array.dtype


@pytest.mark.parametrize("entries", [1 << 17, 50])
@pytest.mark.parametrize("rows", LENGTHS)
def test_files_of_ours_are_what_pyarrow_reads(
    monkeypatch: pytest.MonkeyPatch, rows: str, entries: int
):
    """With many pages or one: the table that pyarrow would have written."""
    monkeypatch.setattr(_parquet_file, "_PAGE_ENTRIES", entries)
    file = memoryview(bytearray(sparse_file([block(LENGTHS[rows])])))
    table = pq.ParquetFile(pa.BufferReader(file)).read()
    table.validate(full=True)
    assert table.equals(sparse(LENGTHS[rows]))
    got = read_plain(file)
    assert got is not None
    for name, expected in parquet._read(file).items():
        for array, plain in zip(expected, got[name], strict=True):
            np.testing.assert_array_equal(plain, array)


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "zstd"},
        {"compression": "snappy"},
        {"compression": "gzip"},
        {"compression": "none"},
        {"use_dictionary": True},
        {"data_page_version": "1.0"},
        {"row_group_size": 3},
        {"write_statistics": True},
        {"column_encoding": {"label": "BYTE_STREAM_SPLIT"}},
    ],
    ids=str,
)
def test_pages_of_other_kinds_are_left_to_pyarrow(options: dict[str, Any]):
    """Other codecs, encodings, pages and row groups: whoever reads them, the numbers are the same."""
    table = sparse(LENGTHS["some empty rows"])
    plain = parquet._read(packed(table))
    file = packed(table, **options)
    for name, arrays in (read_plain(file) or parquet._read(file)).items():
        for array, expected in zip(arrays, plain[name], strict=True):
            np.testing.assert_array_equal(array, expected)


def test_small_numbers_of_dense_rows_keep_their_type():
    """Parquet has no number of one byte: pyarrow brings them back."""
    X = np.arange(60, dtype=np.uint8).reshape(20, 3)
    file = packed(parquet._dense_table(X, np.zeros(20)))
    assert read_plain(file) is None
    assert parquet._read(file)["features"][0].dtype == np.uint8


def test_dense_floats_are_read_from_their_pages():
    X = np.random.default_rng(0).random((500, 7))
    columns = read_plain(
        packed(parquet._dense_table(X, np.zeros(500)), data_page_size=1000)
    )
    assert columns is not None
    np.testing.assert_array_equal(columns["features"][0].reshape(500, 7), X)


@pytest.mark.long
def test_damage_is_an_error_wherever_it_is(tmp_path: Path):
    """No byte can be changed so that reading hangs, crashes or gives other rows."""
    dataset = generate(
        "url-like", tmp_path / "d", rows=20, columns=1_000, layout="parquet"
    )
    file = Path(dataset.path, "train/00000.parquet")
    whole = file.read_bytes()
    expected = dataset.chunk("train", 0)
    refused = 0
    for at in range(4, len(whole) - 8, 3):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0xA5]) + whole[at + 1 :])
        try:
            got = open_dataset(dataset.path).chunk("train", 0)
        except DatasetError:
            refused += 1
            continue
        np.testing.assert_array_equal(got.X.data, expected.X.data)
        np.testing.assert_array_equal(got.X.indices, expected.X.indices)
    assert refused > len(whole) // 6


@pytest.mark.parametrize("entries", [1 << 17, 10_000, 50])
@pytest.mark.parametrize("rows", ["many rows", "mostly empty rows"])
def test_bytes_do_not_depend_on_how_rows_come(
    monkeypatch: pytest.MonkeyPatch, rows: str, entries: int
):
    monkeypatch.setattr(_parquet_file, "_PAGE_ENTRIES", entries)
    whole = block(LENGTHS[rows])
    parts = [
        Block(CSR(whole.X.indptr[a : a + 501], *whole.X[1:]), whole.label[a : a + 500])
        for a in range(0, len(whole), 500)
    ]
    assert sparse_file(parts) == sparse_file([whole])


@pytest.mark.parametrize(
    "zeros", [[], [0], [5], [4, 5], [0, 1, 2, 3, 4, 5], [0, 200, 201, 40_000]]
)
def test_runs_of_levels_are_their_lengths_and_the_level(zeros: list[int]):
    entries = max(6, *zeros, 0) + (len(zeros) == 4) * 300_000
    expected = b""
    done = 0
    for zero in [*zeros, entries]:
        if zero > done:
            expected += _parquet_file._varint(2 * (zero - done)) + b"\1"
        expected += b"\2\0" * (zero < entries)
        done = zero + 1
    assert _parquet_file._runs(entries, np.array(zeros, np.int64)) == expected
