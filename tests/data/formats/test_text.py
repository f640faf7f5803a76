"""Features in one file and their labels in another beside it."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from olscale.compiled.csr import to_dense
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError


@pytest.mark.parametrize(
    "rows", ["1 2 \n3 4\n", "\n1,2\n3,4\n", "1:1 2:2\n1:3 2:4", "1\t2\r\n3\t4\r\n"]
)
@pytest.mark.parametrize("packed", [False, True])
def test_labels_beside_are_taken(tmp_path: Path, rows: str, packed: bool) -> None:
    write = gzip.compress if packed else bytes
    suffix = ".gz" if packed else ""
    (tmp_path / f"a.data{suffix}").write_bytes(write(rows.encode()))
    (tmp_path / f"a.labels{suffix}").write_bytes(write(b"1 \n-1\n\n"))
    dataset = ingest(tmp_path / f"a.data{suffix}", tmp_path / "d")
    chunk = dataset.chunk("train", 0)
    assert (dataset.classes, chunk.y.tolist()) == ((-1, 1), [1, 0])
    assert to_dense(chunk.X, 2).tolist() == [[1, 2], [3, 4]]
    # no column of the data was taken for the label
    assert dataset.manifest.label_column is None


def test_blank_line_between_pairs_is_a_row_of_zeros(tmp_path: Path) -> None:
    (tmp_path / "a.data").write_text("9:1\n\n8:1\n\n")
    (tmp_path / "a.labels").write_text("1\n2\n3\n")
    X = ingest(tmp_path / "a.data", tmp_path / "d").chunk("train", 0).X
    assert np.diff(X.indptr).tolist() == [1, 0, 1]


def test_as_many_labels_as_rows(tmp_path: Path) -> None:
    (tmp_path / "a.data").write_text("1 2\n3 4\n")
    for labels, message in (
        ("1\n", r"a\.labels: ends after 1 labels"),
        ("1\n1\n2\n", r"a\.data: ends after 2 rows"),
    ):
        (tmp_path / "a.labels").write_text(labels)
        with pytest.raises(FormatError, match=message):
            ingest(tmp_path / "a.data", tmp_path / "d")


def test_line_of_a_fault_is_that_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "a.data").write_text("\n1:1\n2:x\n")
    (tmp_path / "a.labels").write_text("1\n1\n")
    with pytest.raises(FormatError, match=r"a\.data, line 3: the value in '2:x'"):
        ingest(tmp_path / "a.data", tmp_path / "d")


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "kind", "rows", "columns", "positive"),
    [
        ("dexter/dexter_train.data", "sparse", 300, 19999, 150),
        ("arcene/arcene_train.data", "dense", 100, 10000, 44),
    ],
)
def test_real_files(
    tmp_path: Path,
    shared_data,
    name: str,
    kind: str,
    rows: int,
    columns: int,
    positive: int,
) -> None:
    dataset = ingest(shared_data(name), tmp_path / "d")
    assert (dataset.kind, dataset.rows(), dataset.columns, dataset.classes) == (
        kind,
        rows,
        columns,
        (-1, 1),
    )
    assert sum(int(chunk.y.sum()) for chunk in dataset.chunks()) == positive
