"""Parquet files that pyarrow writes, cell for cell; and pages whose checksum does not fit."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from olscale.compiled.csr import to_dense
from olscale.data.formats import ReadOptions, find_format
from olscale.data.formats.arrow_decimals import decimals_as_floats
from olscale.errors import FormatError


def end_in_zeros(number: int, power: int) -> int:
    """Return `number` rounded towards zero: away from it, it may have a digit more."""
    rounded = abs(number) // power * power
    return rounded if number >= 0 else -rounded


def decimals_of(kind: Any) -> st.SearchStrategy[Decimal]:
    """Return decimals that columns of `kind` can hold, many of them with zeros at the end."""
    # pyarrow takes no 76 digits from Python
    largest = 10 ** min(kind.precision, 75) - 1
    digits = st.integers(-largest, largest)
    zeros = st.integers(0, kind.precision - 1).map(lambda count: 10**count)
    round_digits = st.builds(end_in_zeros, digits, zeros)
    near = st.integers(-4, 4).map(
        lambda step: max(-largest, min(2**53 + step, largest))
    )
    return (digits | round_digits | near | st.integers(-99, 99)).map(
        lambda whole: Decimal(whole).scaleb(-kind.scale, CONTEXT)
    )


CONTEXT = Context(prec=80)
DECIMALS = [
    pa.decimal32(9, 4),
    pa.decimal64(18, 3),
    pa.decimal128(38, 0),
    pa.decimal128(38, 18),
    pa.decimal128(20, -3),
    pa.decimal128(30, 30),
    pa.decimal256(76, 40),
]
NUMBERS = [
    *(
        getattr(pa, f"{sign}int{bits}")()
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    ),
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.bool_(),
    pa.null(),
    *(kind for kind in DECIMALS if kind.scale >= 0),
]
TEXTS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
]


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Return values that a column of `kind` can hold."""
    if kind in NUMBERS and pa.types.is_decimal(kind):
        return decimals_of(kind)
    if pa.types.is_integer(kind):
        bits = kind.bit_width
        low = -(2 ** (bits - 1)) if pa.types.is_signed_integer(kind) else 0
        return st.integers(low, low + 2**bits - 1)
    if pa.types.is_floating(kind):
        return st.floats(width=kind.bit_width, allow_nan=False)
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_null(kind):
        return st.none()
    return st.text(
        st.characters(exclude_categories=["Cs"]), max_size=3
    ) | st.sampled_from(["NA", "none", "null", "?", " a "])


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, dict[str, Any]]:
    """Return a table, and how to write it."""
    rows = draw(st.integers(1, 8))
    kinds = draw(st.lists(st.sampled_from([*NUMBERS, *TEXTS]), min_size=1, max_size=5))
    columns = {}
    for place, kind in enumerate(kinds):
        cells = draw(
            st.lists(st.none() | values_of(kind), min_size=rows, max_size=rows)
        )
        columns[f"c{place}"] = pa.array(cells, kind)
    options = {
        "row_group_size": draw(st.integers(1, rows)),
        "data_page_version": draw(st.sampled_from(["1.0", "2.0"])),
        "write_page_checksum": draw(st.booleans()),
        "compression": draw(st.sampled_from(["none", "snappy", "zstd"])),
    }
    return pa.table({**columns, "y": pa.array(range(rows))}), options


def as_float(value: Any) -> float:
    """Return a value of a column of numbers as it is to be read."""
    return math.nan if value is None else float(value)


@given(table_and_options=tables(), batch_rows=st.integers(1, 9))
@settings(max_examples=20, deadline=None)
def test_tables_read_back_cell_for_cell(
    tmp_path_factory: pytest.TempPathFactory,
    table_and_options: tuple[pa.Table, dict[str, Any]],
    batch_rows: int,
) -> None:
    table, options = table_and_options
    path = tmp_path_factory.mktemp("t") / "t.parquet"
    pq.write_table(table, path, **options)
    batches = list(find_format(str(path)).read(str(path), ReadOptions(batch_rows)))
    X = np.vstack([to_dense(batch.X, batches[-1].columns) for batch in batches])
    names = batches[-1].feature_names
    assert names is not None
    missing = [batch.table and batch.table.missing for batch in batches]
    is_missing = np.vstack(
        [
            np.zeros((len(batch), table.num_columns), bool) if mask is None else mask
            for batch, mask in zip(batches, missing, strict=True)
        ]
    )
    for place, name in enumerate(table.column_names[:-1]):
        cells = table.column(name).to_pylist()
        assert is_missing[:, place].tolist() == [cell is None for cell in cells]
        if table.schema.field(name).type in NUMBERS:
            expected = [as_float(cell) for cell in cells]
            np.testing.assert_array_equal(X[:, names.index(name)], expected)
        else:
            for row, cell in enumerate(cells):
                hot = {
                    names[place]
                    for place in np.flatnonzero(X[row])
                    if "=" in names[place]
                }
                mine = {feature for feature in hot if feature.startswith(f"{name}=")}
                assert mine == (set() if cell is None else {f"{name}={cell}"})


@pytest.mark.parametrize("kind", DECIMALS, ids=str)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_decimals_are_the_doubles_that_python_makes_of_them(
    kind: Any, data: st.DataObject
) -> None:
    cells = data.draw(st.lists(st.none() | decimals_of(kind), max_size=9))
    column = pa.array([None, *cells], kind)[1:]
    np.testing.assert_array_equal(
        decimals_as_floats(column), [as_float(cell) for cell in cells]
    )


def checksummed(**options: Any) -> bytes:
    """Return a Parquet file with checksums of its pages."""
    values = pa.array(np.arange(300.0) ** 2)
    words = pa.array(["NA", None, "red", "a longer word"] * 75)
    sink = pa.BufferOutputStream()
    table = pa.table({"a": values, "word": words, "y": pa.array([0, 1, 2] * 100)})
    pq.write_table(table, sink, write_page_checksum=True, **options)
    return bytes(sink.getvalue())


FILES = [
    checksummed(),
    checksummed(compression="none", use_dictionary=False),
    checksummed(compression="zstd", data_page_version="2.0"),
]


def refusal_of(path: Path) -> str:
    """Return what is said where a file is refused; nothing where it is read."""
    try:
        list(find_format(str(path)).read(str(path), ReadOptions()))
    except FormatError as refusal:
        return str(refusal)
    return ""


def rows_of(path: Path) -> list[tuple[bytes, list[float]]]:
    """Return features and labels of a file of four features, batch by batch."""
    batches = find_format(str(path)).read(str(path), ReadOptions())
    return [(to_dense(batch.X, 4).tobytes(), list(batch.target)) for batch in batches]


@given(
    which=st.sampled_from(range(len(FILES))),
    place=st.integers(0),
    bit=st.integers(0, 7),
)
@example(which=1, place=1000, bit=0)
@example(which=0, place=1, bit=1)
@settings(max_examples=40, deadline=None)
def test_a_flipped_bit_in_a_page_is_found(
    tmp_path_factory: pytest.TempPathFactory, which: int, place: int, bit: int
) -> None:
    """Either the file is refused, or the bit is one that says nothing of the rows: all are right."""
    folder = tmp_path_factory.mktemp("t")
    content = bytearray(FILES[which])
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[4 + place % (footer - 4)] ^= 1 << bit
    (folder / "t.parquet").write_bytes(content)
    refusal = refusal_of(folder / "t.parquet")
    assert "\n" not in refusal
    if refusal:
        assert "damaged" in refusal
    else:
        (folder / "sound.parquet").write_bytes(FILES[which])
        assert rows_of(folder / "t.parquet") == rows_of(folder / "sound.parquet")


def test_a_page_that_is_not_what_its_checksum_says_is_refused(tmp_path: Path) -> None:
    content = bytearray(FILES[1])
    value = np.float64(100.0**2).tobytes()
    # of the value itself: without checksums nothing is wrong
    content[content.index(value)] ^= 1
    path = tmp_path / "t.parquet"
    path.write_bytes(content)
    assert pq.ParquetFile(path).read().num_rows == 300
    with pytest.raises(FormatError, match=r"is damaged .*CRC"):
        list(find_format(str(path)).read(str(path), ReadOptions()))
