"""SVMlight text: the values of strtod, the same batches whatever the blocks, and every fault named with its line."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from olscale.compiled.csr import CSR
from olscale.data.formats import ReadOptions, find_format
from olscale.data.formats.svmlight import read_svmlight
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError

Row = tuple[float, dict[int, float]]


def obviously_right(text: str) -> list[Row]:
    """Parse SVMlight text the slow way, with indices as written."""
    rows = []
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words:
            pairs = [
                word.split(":") for word in words[1:] if not word.startswith("qid:")
            ]
            rows.append(
                (float(words[0]), {int(index): float(value) for index, value in pairs})
            )
    return rows


def read_rows(path: Path, block_bytes: int = 1 << 16, **options: object) -> list[Row]:
    """Read everything and number the indices as written."""
    rows: list[Row] = []
    for batch in read_svmlight(
        str(path), ReadOptions(**{"chunk_rows": 7, **options}), block_bytes
    ):
        assert isinstance(batch.X, CSR)
        assert batch.X.indptr.dtype == np.int64
        assert batch.X.indices.dtype == np.int32
        assert batch.X.data.dtype == np.float64
        assert len(batch) == len(batch.X.indptr) - 1 <= 7
        base = 0 if batch.zero_based else 1
        for i, label in enumerate(batch.target):
            span = slice(batch.X.indptr[i], batch.X.indptr[i + 1])
            indices = (batch.X.indices[span] + base).tolist()
            assert all(index - base < batch.columns for index in indices)
            rows.append(
                (label, dict(zip(indices, batch.X.data[span].tolist(), strict=True)))
            )
    return rows


def same_bits(expected: list[Row], actual: list[Row]) -> bool:
    def key(rows: list[Row]) -> list[tuple[str, list[tuple[int, str]]]]:
        return [
            (float(y).hex(), [(i, float(v).hex()) for i, v in x.items()])
            for y, x in rows
        ]

    return key(expected) == key(actual)


decimals = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=6).map(str),
    st.from_regex(
        r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
    ),
    st.from_regex(r"[+-]?\.[0-9]{1,20}", fullmatch=True),
    st.sampled_from(
        [
            "1",
            "0",
            "-0",
            "nan",
            "inf",
            "-Infinity",
            "1e400",
            "1e-400",
            "4.9e-324",
            "2.2250738585072011e-308",
        ]
    ),
)

labels = decimals.filter(lambda number: math.isfinite(float(number)))


@st.composite
def texts(draw: st.DrawFn) -> str:
    end = draw(st.sampled_from(["\n", "\r\n"]))
    lines = []
    for _ in range(draw(st.integers(1, 12))):
        indices = draw(
            st.lists(st.integers(1, 2**31 - 2), max_size=6, unique=True).map(sorted)
        )
        gap = draw(st.sampled_from([" ", "  ", "\t"]))
        pairs = [f"{index}:{draw(decimals)}" for index in indices]
        qid = draw(st.sampled_from([[], ["qid:12"]]))
        tail = draw(st.sampled_from(["", " ", " # 7:8 note", "#note"]))
        lines.append(gap.join([draw(labels), *qid, *pairs]) + tail)
        lines += draw(st.sampled_from([[], [""], ["# a comment 1:2"], ["  "]]))
    return end.join(lines) + draw(st.sampled_from(["", end]))


@pytest.mark.long
@given(text=texts(), block_bytes=st.integers(1, 200))
@settings(max_examples=150, deadline=None)
def test_text_is_read_as_the_obvious_parser_reads_it_whatever_the_blocks(
    tmp_path_factory: pytest.TempPathFactory, text: str, block_bytes: int
) -> None:
    path = tmp_path_factory.mktemp("text") / "rows"
    path.write_bytes(text.encode())
    assert same_bits(obviously_right(text), read_rows(path, block_bytes))


@given(numbers=st.lists(decimals, min_size=1, max_size=50))
@settings(max_examples=40, deadline=None)
def test_values_have_the_bits_that_scikit_learn_reads(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[str]
) -> None:
    path = tmp_path_factory.mktemp("text") / "rows"
    path.write_text("".join(f"1 3:{number}\n" for number in numbers))
    expected = load_svmlight_file(str(path), zero_based=False)[0].data
    actual = np.concatenate(
        [batch.X.data for batch in read_svmlight(str(path), ReadOptions())]
    )
    assert actual.tobytes() == expected.tobytes()


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 7, 64, 1000])
def test_batches_do_not_depend_on_the_blocks(tmp_path: Path, block_bytes: int) -> None:
    path = tmp_path / "rows"
    path.write_text("".join(f"{i % 3} {i + 1}:0.5 {i + 9}:1e-{i}\n" for i in range(40)))
    expected = list(read_svmlight(str(path), ReadOptions(9)))
    actual = list(read_svmlight(str(path), ReadOptions(9), block_bytes))
    assert [len(batch) for batch in actual] == [9, 9, 9, 9, 4]
    for a, b in zip(expected, actual, strict=True):
        assert a.columns == b.columns
        for left, right in zip(a.X, b.X, strict=True):
            np.testing.assert_array_equal(left, right)


def test_a_batch_is_cut_after_the_row_that_fills_it_with_nonzeros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olscale.data.formats.svmlight.MAX_NONZEROS", 4)
    path = tmp_path / "rows"
    path.write_text("1 1:1 2:1 3:1\n1 1:1\n1 1:1 2:1 3:1 4:1 5:1\n1\n")
    for block_bytes in (5, 1000):
        assert [
            len(b) for b in read_svmlight(str(path), ReadOptions(), block_bytes)
        ] == [2, 1, 1]


BAD_LINES = {
    "1 3:abc": "'3:abc' is not a number",
    "1 3:": "'3:' is not a number",
    "1 3:1e": "'3:1e' is not a number",
    "1 3:1.5.2": "'3:1.5.2' is not a number",
    "1 3:1_0": "'3:1_0' is not a number",
    "1 3:0x10": "not a number",
    "1 3:nano": "not a number",
    "1 3:--1": "not a number",
    "1 3: 4": "'3:' is not a number",
    "3:1 4:1": "expected a label",
    "spam 3:1": "label is 'spam'",
    "1,2 3:1": "label is '1,2'",
    "- 3:1": "label is '-'",
    "1 hello": "got 'hello', expected index:value",
    "1 3": "got '3', expected index:value",
    "1 3 :4": "got '3', expected index:value",
    "1 1.5:2": "got '1.5:2', expected index:value",
    "1 +3:2": "expected index:value",
    "1 123456789:1 12345678": "got '12345678', expected index:value",
    "1 -3:1": "index -3 in '-3:1' is negative",
    "1 -3123456789:1": "negative",
    "1 2147483647:1": "index 2147483647 in '2147483647:1' is too large",
    "1 99999999999999999999999:1": "too large",
    "1 5:1 3:1": "index 3 in '3:1' comes after 5",
    "1 5:1 5:2": "index 5 in '5:2' comes twice",
    "1 0:1 0:2": "index 0 in '0:2' comes twice",
    "1 \x003:1": "expected index:value",
}


@pytest.mark.parametrize("bad", BAD_LINES)
@pytest.mark.parametrize("block_bytes", [8, 1 << 16])
def test_a_bad_line_is_named(tmp_path: Path, bad: str, block_bytes: int) -> None:
    path = tmp_path / "rows"
    path.write_text(f"# head\n1 1:1\n\n2 1:1 # fine\r\n{bad}\n1 1:1\n")
    with pytest.raises(FormatError) as caught:
        list(read_svmlight(str(path), ReadOptions(), block_bytes))
    assert caught.value.line == 5
    assert str(caught.value).startswith(f"{path}, line 5: ")
    assert BAD_LINES[bad] in str(caught.value)


def test_a_bad_last_line_without_newline_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_text("1 1:1\n1 2:x")
    with pytest.raises(FormatError, match="line 2: the value in '2:x'"):
        list(read_svmlight(str(path), ReadOptions()))


def test_an_index_zero_in_the_first_batch_makes_the_source_zero_based(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rows"
    path.write_text("1 1:1 4:1\n1 0:5\n1 2:3\n")
    (batch,) = read_svmlight(str(path), ReadOptions())
    assert batch.zero_based is True
    assert batch.X.indices.tolist() == [1, 4, 0, 2]
    assert batch.columns == 5


def test_an_index_zero_after_rows_were_handed_on_says_to_pass_zero_based(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rows"
    path.write_text("1 1:1\n1 2:1\n1 0:1\n")
    with pytest.raises(FormatError, match=r"line 3: .*count from 1 in the rows before"):
        list(read_svmlight(str(path), ReadOptions(2)))
    batches = list(read_svmlight(str(path), ReadOptions(2, zero_based=True)))
    assert [batch.X.indices.tolist() for batch in batches] == [[1, 2], [0]]
    with pytest.raises(FormatError, match="line 3"):
        list(read_svmlight(str(path), ReadOptions(zero_based=False)))


def test_empty_rows_are_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_text("1\n-1 \n+1 2:3\n")
    (batch,) = read_svmlight(str(path), ReadOptions())
    assert batch.X.indptr.tolist() == [0, 0, 0, 1]
    assert batch.target.tolist() == [1, -1, 1]
    assert batch.columns == 2


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_a_source_without_rows_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.svm"
    path.write_text(text)
    with pytest.raises(FormatError, match="no rows"):
        list(find_format(str(path)).read(str(path), ReadOptions()))


def test_truncated_gzip_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm.gz"
    rng = np.random.default_rng(0)
    path.write_bytes(
        gzip.compress("".join(f"1 1:{x}\n" for x in rng.random(2000)).encode())[:-200]
    )
    with pytest.raises(FormatError, match="truncated"):
        list(read_svmlight(str(path), ReadOptions()))


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("a9a/a9a", 32561, 123),
        ("a1a/a1a", 1605, 119),
        ("ijcnn1/ijcnn1.trn.bz2", 49990, 22),
        ("svmguide1/svmguide1", 3089, 4),
        ("letter/letter.scale", 15000, 16),
        ("url_sample/url_real_unique.svm.xz", 5700, 3231949),
        ("spam_drift/spam.libsvm.xz", 9324, 39916),
    ],
)
def test_real_files_equal_scikit_learns_reading(
    shared_data, tmp_path, name, rows, columns
) -> None:  # type: ignore[no-untyped-def]
    source = str(shared_data(name))
    batches = list(find_format(source).read(source, ReadOptions(5000)))
    assert sum(map(len, batches)) == rows
    assert batches[-1].columns == columns
    if name.endswith(".xz"):
        import lzma

        plain = tmp_path / "plain"
        plain.write_bytes(lzma.decompress(Path(source).read_bytes()))
        expected, y = load_svmlight_file(str(plain))
    else:
        expected, y = load_svmlight_file(source)
    np.testing.assert_array_equal(
        y, np.concatenate([batch.target for batch in batches])
    )
    np.testing.assert_array_equal(
        expected.data, np.concatenate([batch.X.data for batch in batches])
    )
    np.testing.assert_array_equal(
        expected.indices, np.concatenate([batch.X.indices for batch in batches])
    )


def test_several_labels_of_a_row_are_refused_by_ingest(tmp_path: Path) -> None:
    (tmp_path / "rows.svm").write_text("1,0 1:1\n")
    with pytest.raises(FormatError, match="is SVMlight text of several labels a row"):
        ingest(tmp_path / "rows.svm", tmp_path / "d")
    with pytest.raises(
        FormatError,
        match="line 1: the label is '1,0', which are several, expected one number",
    ):
        ingest(tmp_path / "rows.svm", tmp_path / "d", format="svmlight")
