"""Other programs open what lies in a dataset without us."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import zarr

from olscale.bench.workloads import generate
from olscale.compiled.csr import to_dense
from olscale.data.dataset import Dataset, open_dataset
from olscale.errors import DatasetError

ROWS = 500
COLUMNS = 2_000


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Dataset]:
    folder = tmp_path_factory.mktemp("layouts")
    return {
        layout: generate(
            "url-like",
            folder / layout,
            rows=ROWS,
            columns=COLUMNS,
            layout=layout,
            chunk_rows=150,
        )
        for layout in ("parquet", "zarr")
    }


def rows_of(dataset: Dataset) -> np.ndarray:
    return np.concatenate([to_dense(chunk.X, COLUMNS) for chunk in dataset.chunks()])


def test_duckdb_reads_parquet(datasets: dict[str, Dataset]):
    import duckdb

    files = f"{datasets['parquet'].path}/train/*.parquet"
    query = (
        f"select count(*), sum(len(indices)), sum(list_sum(\"values\")) from '{files}'"
    )
    [(rows, nonzeros, total)] = duckdb.connect().execute(query).fetchall()
    assert (rows, nonzeros) == (ROWS, datasets["parquet"].nonzeros())
    assert total == pytest.approx(rows_of(datasets["parquet"]).sum(), rel=1e-12)


def test_pandas_reads_parquet(datasets: dict[str, Dataset]):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(f"{datasets['parquet'].path}/train")
    expected = rows_of(datasets["parquet"])
    assert len(frame) == ROWS
    for i in (0, 149, 150, 499):
        np.testing.assert_array_equal(
            frame["values"][i], expected[i][frame["indices"][i]]
        )
        assert len(frame["values"][i]) == np.count_nonzero(expected[i])


def test_anndata_reads_zarr(datasets: dict[str, Dataset]):
    """The group follows AnnData's convention for CSR."""
    anndata = pytest.importorskip("anndata")
    X = anndata.io.read_elem(
        zarr.open_group(f"{datasets['zarr'].path}/train", mode="r")
    )
    assert X.shape == (ROWS, COLUMNS)
    np.testing.assert_array_equal(X.toarray(), rows_of(datasets["zarr"]))


def test_scipy_takes_the_arrays_of_a_zarr_group(datasets: dict[str, Dataset]):
    import scipy.sparse

    group = zarr.open_group(f"{datasets['zarr'].path}/train", mode="r")
    assert group.attrs["encoding-type"] == "csr_matrix"
    parts = tuple(group[name][:] for name in ("data", "indices", "indptr"))
    X = scipy.sparse.csr_matrix(parts, shape=group.attrs["shape"])
    np.testing.assert_array_equal(X.toarray(), rows_of(datasets["zarr"]))


@pytest.mark.parametrize(
    ("name", "shown"),
    [("data", "train/data/c/0 is"), ("label", "label was written anew")],
)
def test_arrays_that_another_program_wrote_anew_are_refused(
    tmp_path: Path, name: str, shown: str
):
    """A dataset does not change; whoever wants other codecs ingests it anew."""
    dataset = generate(
        "url-like",
        tmp_path / "d",
        rows=ROWS,
        columns=COLUMNS,
        layout="zarr",
        chunk_rows=150,
    )
    group = zarr.open_group(f"{dataset.path}/train", mode="r+")
    values = group[name][:]
    before = group[name]
    del group[name]
    if name == "data":
        group.create_array(
            name,
            data=values[::-1].copy(),
            chunks=before.chunks,
            compressors=before.compressors,
        )
    else:
        group.create_array(name, data=values, chunks=(77,), compressors=None)
    with pytest.raises(DatasetError, match=shown):
        open_dataset(dataset.path).chunk("train", 0)


def test_cut_off_piece_is_named(tmp_path: Path):
    dataset = generate(
        "url-like",
        tmp_path / "d",
        rows=ROWS,
        columns=COLUMNS,
        layout="zarr",
        chunk_rows=150,
    )
    file = tmp_path / "d" / "train" / "data" / "c" / "0"
    for size in (len(file.read_bytes()) - 1, 3):
        file.write_bytes(file.read_bytes()[:size])
        with pytest.raises(
            DatasetError, match=r"the checksum of train/data/c/0 is \w+, expected \w+"
        ):
            open_dataset(dataset.path).chunk("train", 0)


def test_zarr_pieces_are_those_that_zarr_writes(
    datasets: dict[str, Dataset], tmp_path: Path
):
    """We pack them ourselves; zarr, told of the same codecs, makes the same files."""
    group = zarr.open_group(f"{datasets['zarr'].path}/train", mode="r")
    for name in ("data", "indices", "indptr", "label"):
        array = group[name]
        again = zarr.create_array(
            store=tmp_path / name,
            shape=array.shape,
            chunks=array.chunks,
            dtype=array.dtype,
            compressors=array.compressors,
        )
        again[:] = array[:]
        ours = {
            path.name: path.read_bytes()
            for path in Path(datasets["zarr"].path, "train", name, "c").iterdir()
        }
        assert ours == {
            path.name: path.read_bytes() for path in (tmp_path / name / "c").iterdir()
        }
        assert len(ours) == -(-array.shape[0] // array.chunks[0])
