"""Taking part of the sources: the first rows to train on, all columns but some."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.data.dataset import open_dataset
from olscale.data.formats.base import Batch
from olscale.data.ingest.build import Piece
from olscale.data.ingest.ingest import ingest
from olscale.data.ingest.selection import Cut
from olscale.errors import DatasetError, FormatError, ParameterError, UnknownNameError


def lines(start: int, stop: int) -> str:
    return "".join(f"{1 - 2 * (i % 2)} 1:{i + 1} {2 + i % 7}:1 20:1\n" for i in range(start, stop))


@given(st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), max_size=5), st.integers(0, 30))
def test_a_cut_gives_all_rows_once_on_either_side(pieces: list[list[int]], at: int) -> None:
    """In one pass, and again from the start; no piece on either side is without rows."""
    position, made, everything, opened = 0, [], [], []
    for number, sizes in enumerate(pieces):
        batches = []
        for size in sizes:
            y = np.arange(position, position + size, dtype=float)
            batches.append(Batch(y[:, None], y, 1))
            everything += [(str(number), value) for value in y]
            position += size

        def read(number: int = number, batches: list[Batch] = batches):
            opened.append(number)
            return iter(batches)

        made.append(Piece(str(number), str(number), read))

    def rows_of(pieces: Iterator[Piece]) -> list[tuple[str, float]]:
        found = []
        for piece in pieces:
            rows = [(piece.name, value) for batch in piece.batches() for value in batch.target]
            assert rows
            found += rows
        return found

    parts = Cut(lambda: iter(made), at)
    head = rows_of(parts.head()) if at else []
    if at:
        assert head == everything[:at]
        assert rows_of(parts.tail()) == everything[at:]
        assert opened == sorted(set(opened)), "each piece is read once"
        assert rows_of(parts.tail()) == everything[at:]


@pytest.mark.parametrize("chunk_rows", [7, 64])
def test_the_first_rows_train_and_the_others_test(tmp_path: Path, chunk_rows: int) -> None:
    (tmp_path / "all.svm").write_text(lines(0, 50))
    (tmp_path / "a.svm").write_text(lines(0, 33))
    (tmp_path / "b.svm").write_text(lines(33, 50))
    cut = ingest(tmp_path / "all.svm", tmp_path / "cut", train_rows=33, chunk_rows=chunk_rows)
    apart = ingest(tmp_path / "a.svm", tmp_path / "apart", test=tmp_path / "b.svm")
    assert (cut.rows("train"), cut.rows("test")) == (33, 17)
    assert cut.fingerprint == apart.fingerprint
    assert [(source.name, source.split) for source in cut.manifest.sources] == [
        ("all.svm", "train"),
        ("all.svm", "test"),
    ]


def test_days_of_an_archive_are_cut_into_splits(tmp_path: Path) -> None:
    """As URL is: days 0 to 99 train, the others test."""
    with tarfile.open(tmp_path / "days.tar.gz", "w:gz") as tar:
        for day in (10, 2, 0, 1):
            text = lines(day * 5, day * 5 + 5).encode()
            info = tarfile.TarInfo(f"days/Day{day}.svm")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    made = ingest(tmp_path / "days.tar.gz", tmp_path / "days", segments="files", train_rows=15)
    assert made.segments("train") == (("Day0", 0), ("Day1", 5), ("Day2", 10))
    assert made.segments("test") == (("Day10", 0),)
    assert made.chunk("test", 0).X.indptr.tolist() == [0, 3, 6, 9, 12, 15]
    assert sorted(path.name for path in (tmp_path / "days").iterdir()) == ["manifest.json", "test", "train"]


def test_train_rows_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    (tmp_path / "all.svm").write_text(lines(0, 5))
    with pytest.raises(ParameterError, match="train_rows was given as 0"):
        ingest(tmp_path / "all.svm", tmp_path / "d", train_rows=0)
    with pytest.raises(ParameterError, match="train_rows was given with sources of the test split"):
        ingest(tmp_path / "all.svm", tmp_path / "d", test=tmp_path / "all.svm", train_rows=2)
    with pytest.raises(DatasetError, match="the sources of test hold no rows"):
        ingest(tmp_path / "all.svm", tmp_path / "d", train_rows=5)
    assert not (tmp_path / "d").exists()


def test_columns_are_left_out_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("row,x,y,label\n1,5,,0\n2,6,8,1\n3,7,9,1\n")
    ingest(tmp_path / "a.csv", tmp_path / "d", drop=["row"])
    made = open_dataset(tmp_path / "d")
    assert made.manifest.feature_names == ("x", "y")
    np.testing.assert_array_equal(made.chunk("train", 0).X, [[5, np.nan], [6, 8], [7, 9]])
    with pytest.raises(UnknownNameError, match="'rows'; did you mean 'row'"):
        ingest(tmp_path / "a.csv", tmp_path / "e", drop=["rows"])
    (tmp_path / "all.svm").write_text(lines(0, 5))
    (tmp_path / "words.csv").write_text("row,x,label\n1,red,0\n2,blue,1\n")
    assert ingest(tmp_path / "words.csv", tmp_path / "words", drop="row").manifest.feature_names == ("x=red", "x=blue")
    with pytest.raises(FormatError, match="does not name its columns, so none can be dropped"):
        ingest(tmp_path / "all.svm", tmp_path / "e", drop=["row"])
