"""Export: what is written reads back as the same dataset."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.compiled.csr import CSR
from olscale.data.dataset import Dataset
from olscale.data.export import export
from olscale.data.ingest.ingest import ingest
from olscale.errors import DatasetError, UnknownNameError


@pytest.fixture
def sparse(tmp_path: Path) -> Dataset:
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(40):
        indices = np.sort(rng.choice(np.arange(1, 60), size=4, replace=False))
        lines.append(
            f"{rng.integers(0, 3)} "
            + " ".join(f"{i}:{rng.standard_normal()!r}" for i in indices)
        )
    (tmp_path / "a.svm").write_text(
        "\n".join([*lines, "2 60:5e-324 61:-1e+300", "1"]) + "\n"
    )
    return ingest(tmp_path / "a.svm", tmp_path / "sparse", chunk_rows=16)


@pytest.fixture
def dense(tmp_path: Path) -> Dataset:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 5))
    X[0] = [0.1, -0.0, 5e-324, 1e22, 3.0]
    np.savez(
        tmp_path / "a.npz",
        X_train=X,
        y_train=np.arange(30) % 2,
        X_test=X[:4],
        y_test=[0, 1, 1, 0],
    )
    return ingest(tmp_path / "a.npz", tmp_path / "dense", chunk_rows=16)


@pytest.mark.parametrize("name", ["b.svm", "b.svm.gz"])
def test_sparse_rows_through_svmlight(sparse: Dataset, tmp_path: Path, name: str):
    export(sparse, tmp_path / name)
    assert ingest(tmp_path / name, tmp_path / "again").fingerprint == sparse.fingerprint


def test_compressed_text_is_compressed_and_the_same_each_time(
    sparse: Dataset, tmp_path: Path
):
    for name in ("b.svm", "1.svm.gz", "2.svm.gz"):
        export(sparse, tmp_path / name)
    assert (tmp_path / "1.svm.gz").read_bytes() == (tmp_path / "2.svm.gz").read_bytes()
    assert (
        gzip.decompress((tmp_path / "1.svm.gz").read_bytes())
        == (tmp_path / "b.svm").read_bytes()
    )


def test_dense_rows_through_svmlight_and_csv(dense: Dataset, tmp_path: Path):
    for name in ("b.svm", "b.csv", "b.csv.gz"):
        export(dense, tmp_path / name)
        again = ingest(tmp_path / name, tmp_path / f"again-{name}").chunk("train", 0)
        assert (
            again.X.tobytes()
            == dense.chunk("train", 0).X.tobytes() + dense.chunk("train", 1).X.tobytes()
        )


def test_dense_rows_through_npz(dense: Dataset, tmp_path: Path):
    export(dense, tmp_path / "b.npz")
    assert (
        ingest(tmp_path / "b.npz", tmp_path / "again").fingerprint == dense.fingerprint
    )
    export(dense, tmp_path / "test.npz", split="test")
    assert sorted(np.load(tmp_path / "test.npz").files) == ["X_test", "y_test"]


numbers = st.floats(allow_nan=False) | st.sampled_from(
    [0.0, 0.0, -0.0, 1.0, 5e-324, 1e308, float("inf"), 0.1]
)


@pytest.mark.long
@given(
    rows=st.lists(
        st.tuples(*[numbers] * 3, st.integers(-2, 2)), min_size=2, max_size=12
    )
)
@settings(max_examples=20)
def test_any_rows_come_back(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[float, float, float, int]],
):
    """Rows exported as any format are, ingested again, the same dataset."""
    folder = tmp_path_factory.mktemp("rows")
    X = np.array([row[:3] for row in rows])
    y = np.array([row[3] for row in rows])
    np.savez(folder / "a.npz", X=X, y=y)
    dense = ingest(folder / "a.npz", folder / "dense", chunk_rows=5)
    for name in ("b.csv", "b.npz"):
        export(dense, folder / name)
        again = ingest(
            folder / name,
            folder / f"again-{name}",
            label=-1 if name.endswith("csv") else None,
        )
        assert again.fingerprint == dense.fingerprint
    export(dense, folder / "b.svm")
    # One far index keeps the text sparse.
    (folder / "c.svm").write_text((folder / "b.svm").read_text() + "1 70000:1\n")
    sparse = ingest(folder / "c.svm", folder / "sparse")
    export(sparse, folder / "d.svm")
    assert ingest(folder / "d.svm", folder / "again").fingerprint == sparse.fingerprint


def test_sparse_npz_opens_in_scipy(sparse: Dataset, tmp_path: Path):
    from scipy.sparse import load_npz

    export(sparse, tmp_path / "b.npz")
    matrix = load_npz(tmp_path / "b.npz")
    assert matrix.shape == (42, 61)
    first = sparse.chunk("train", 0)
    assert isinstance(first.X, CSR)
    np.testing.assert_array_equal(matrix.data[: len(first.X.data)], first.X.data)
    assert np.load(tmp_path / "b.npz")["y"].tolist()[-2:] == [2, 1]


def test_text_labels_go_to_csv_and_npz(tmp_path: Path):
    (tmp_path / "a.csv").write_text('x,label\n1,"spam, old"\n2,ham\n')
    dataset = ingest(tmp_path / "a.csv", tmp_path / "d")
    for name in ("b.csv", "b.npz"):
        export(dataset, tmp_path / name)
        assert ingest(tmp_path / name, tmp_path / f"again-{name}").classes == (
            "ham",
            "spam, old",
        )
    assert (tmp_path / "b.csv").read_text() == (tmp_path / "a.csv").read_text()
    with pytest.raises(DatasetError, match="text labels"):
        export(dataset, tmp_path / "b.svm")
    assert not (tmp_path / "b.svm").exists()


def test_wrong_names(dense: Dataset, tmp_path: Path):
    with pytest.raises(DatasetError, match="cannot tell the format"):
        export(dense, tmp_path / "b.txt")
    with pytest.raises(UnknownNameError, match="did you mean 'svmlight'"):
        export(dense, tmp_path / "b.txt", format="svmlite")
    with pytest.raises(UnknownNameError, match="did you mean 'train'"):
        export(dense, tmp_path / "b.csv", split="trian")
