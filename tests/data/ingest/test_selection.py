"""Taking part of the sources: the first rows to train on, all columns but some."""

from __future__ import annotations

import io
import itertools
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.data.dataset import open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.errors import DatasetError, FormatError, ParameterError, UnknownNameError


def lines(start: int, stop: int) -> str:
    return "".join(
        f"{1 - 2 * (i % 2)} 1:{i + 1} {2 + i % 7}:1 20:1\n" for i in range(start, stop)
    )


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 30))
@settings(max_examples=20)
def test_a_cut_gives_all_rows_once_on_either_side(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], at: int
) -> None:
    """Wherever it falls: in a file, between two, or behind the last row; each file is a segment on its side."""
    folder = tmp_path_factory.mktemp("cut")
    bounds = list(itertools.pairwise(itertools.accumulate(sizes, initial=0)))
    for number, (start, stop) in enumerate(bounds):
        (folder / f"{number}.svm").write_text(lines(start, stop))
    sources = [folder / f"{number}.svm" for number in range(len(sizes))]
    if at >= sum(sizes):
        with pytest.raises(DatasetError, match="the sources of test hold no rows"):
            ingest(sources, folder / "d", train_rows=at)
        return
    made = ingest(sources, folder / "d", train_rows=at, segments="files", chunk_rows=2)
    for split, first, end in (("train", 0, at), ("test", at, sum(sizes))):
        values = [chunk.X.data[chunk.X.indptr[:-1]] for chunk in made.chunks(split)]
        assert np.concatenate(values).tolist() == list(range(first + 1, end + 1))
        inside = [
            (str(n), max(a, first) - first)
            for n, (a, b) in enumerate(bounds)
            if max(a, first) < min(b, end)
        ]
        assert list(made.segments(split)) == inside


@pytest.mark.parametrize("chunk_rows", [7, 64])
def test_the_first_rows_train_and_the_others_test(
    tmp_path: Path, chunk_rows: int
) -> None:
    (tmp_path / "all.svm").write_text(lines(0, 50))
    (tmp_path / "a.svm").write_text(lines(0, 33))
    (tmp_path / "b.svm").write_text(lines(33, 50))
    cut = ingest(
        tmp_path / "all.svm", tmp_path / "cut", train_rows=33, chunk_rows=chunk_rows
    )
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
    made = ingest(
        tmp_path / "days.tar.gz", tmp_path / "days", segments="files", train_rows=15
    )
    assert made.segments("train") == (("Day0", 0), ("Day1", 5), ("Day2", 10))
    assert made.segments("test") == (("Day10", 0),)
    assert made.chunk("test", 0).X.indptr.tolist() == [0, 3, 6, 9, 12, 15]
    assert sorted(path.name for path in (tmp_path / "days").iterdir()) == [
        "manifest.json",
        "test",
        "train",
    ]


def test_train_rows_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    (tmp_path / "all.svm").write_text(lines(0, 5))
    with pytest.raises(ParameterError, match="train_rows was given as 0"):
        ingest(tmp_path / "all.svm", tmp_path / "d", train_rows=0)
    with pytest.raises(
        ParameterError, match="train_rows was given with sources of the test split"
    ):
        ingest(
            tmp_path / "all.svm",
            tmp_path / "d",
            test=tmp_path / "all.svm",
            train_rows=2,
        )
    with pytest.raises(DatasetError, match="the sources of test hold no rows"):
        ingest(tmp_path / "all.svm", tmp_path / "d", train_rows=5)
    assert not (tmp_path / "d").exists()


def test_columns_are_left_out_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("row,x,y,label\n1,5,,0\n2,6,8,1\n3,7,9,1\n")
    ingest(tmp_path / "a.csv", tmp_path / "d", drop=["row"])
    made = open_dataset(tmp_path / "d")
    assert made.manifest.feature_names == ("x", "y")
    np.testing.assert_array_equal(
        made.chunk("train", 0).X, [[5, np.nan], [6, 8], [7, 9]]
    )
    with pytest.raises(UnknownNameError, match="'rows'; did you mean 'row'"):
        ingest(tmp_path / "a.csv", tmp_path / "e", drop=["rows"])
    (tmp_path / "all.svm").write_text(lines(0, 5))
    (tmp_path / "words.csv").write_text("row,x,label\n1,red,0\n2,blue,1\n")
    assert ingest(
        tmp_path / "words.csv", tmp_path / "words", drop="row"
    ).manifest.feature_names == ("x=blue", "x=red")
    with pytest.raises(
        FormatError, match="does not name its columns, so none can be dropped"
    ):
        ingest(tmp_path / "all.svm", tmp_path / "e", drop=["row"])
