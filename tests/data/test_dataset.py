"""Datasets at rest: the same rows come back from every layout, and damage is named."""

from __future__ import annotations

import itertools
import json
import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from olscale.compiled.csr import CSR, rows_of, to_csr, to_dense
from olscale.data.dataset import open_dataset
from olscale.data.formats.base import Batch
from olscale.data.ingest.claim import claim
from olscale.data.ingest.members import Member
from olscale.data.ingest.writer import DatasetWriter
from olscale.errors import DatasetError, ParameterError, UnknownNameError
from tests.data.written import LAYOUTS, rows_and_labels, sample, write


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_rows_come_back_bit_for_bit(tmp_path: Path, kind: str, layout: str):
    train = sample(kind)
    test = sample(kind, rows=23, seed=1)
    dataset = write(tmp_path / "d", train, test, layout=layout, chunk_rows=16)
    assert (dataset.kind, dataset.manifest.layout, dataset.columns) == (kind, layout, 6)
    assert dataset.splits == ("train", "test")
    assert dataset.chunk_starts("train") == [0, 16, 32, 48]
    assert [len(chunk) for chunk in dataset.chunks("train")] == [16, 16, 16, 2]
    for split, (X, y) in (("train", train), ("test", test)):
        got_X, got_y = rows_and_labels(dataset, split)
        assert got_X.tobytes() == to_dense(X, 6).tobytes()
        np.testing.assert_array_equal(np.array(dataset.classes)[got_y], y)
    dataset.verify()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_chunks_are_read_only_float64_and_int64_codes(tmp_path: Path, layout: str):
    for kind in ("dense", "sparse"):
        chunk = write(tmp_path / kind, sample(kind), layout=layout).chunk("train", 0)
        arrays = list(chunk.X) if isinstance(chunk.X, CSR) else [chunk.X]
        dtypes = ["int64", "int32", "float64"] if kind == "sparse" else ["float64"]
        assert [str(array.dtype) for array in arrays] == dtypes
        assert chunk.y.dtype == np.int64
        assert not any(array.flags.writeable for array in (*arrays, chunk.y))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_small_types_stay_small_at_rest(tmp_path: Path, layout: str):
    pixels = np.arange(60).reshape(20, 3)
    dataset = write(
        tmp_path / "d", (pixels, np.zeros(20)), layout=layout, dtype="uint8"
    )
    assert dataset.manifest.dtype == "uint8"
    assert dataset.block("train", 0).X.dtype == np.uint8
    assert dataset.chunk("train", 0).X.dtype == np.float64
    as_float = write(
        tmp_path / "f", (pixels.astype(float), np.zeros(20)), layout=layout
    )
    assert dataset.fingerprint == as_float.fingerprint


@pytest.mark.parametrize("layout", LAYOUTS)
def test_special_values_and_empty_rows_survive(tmp_path: Path, layout: str):
    X = np.array([[-0.0, np.nan], [0.0, np.inf], [5e-324, -1.7976931348623157e308]])
    dense = write(tmp_path / "dense", (X, np.arange(3.0)), layout=layout)
    assert dense.chunk("train", 0).X.tobytes() == X.tobytes()
    empty_rows = CSR(
        np.array([0, 0, 2, 2]), np.array([1, 4], np.int32), np.array([0.0, -0.0])
    )
    sparse = write(
        tmp_path / "sparse",
        (empty_rows, np.arange(3.0)),
        layout=layout,
        chunk_rows=1,
        batch_rows=2,
    )
    stored = [sparse.chunk("train", i).X for i in range(3)]
    assert [rows_of(X) for X in stored] == [1, 1, 1]
    assert stored[1].data.tobytes() == empty_rows.data.tobytes()
    assert stored[1].indices.tolist() == [1, 4]


def test_zarr_entries_cross_pieces(tmp_path: Path):
    """Sparse chunks whose entries lie across zarr's pieces are put together right."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 60)) * (rng.random((400, 60)) < rng.random((400, 1)))
    dataset = write(
        tmp_path / "d", (to_csr(X), np.zeros(400)), layout="zarr", chunk_rows=23
    )
    assert rows_and_labels(dataset)[0].tobytes() == (X + 0.0).tobytes()
    assert any("-" in chunk.file for chunk in dataset.manifest.splits["train"].chunks)


def test_zarr_sparse_follows_anndata(tmp_path: Path):
    import zarr

    X, y = sample("sparse")
    write(tmp_path / "d", (X, y), layout="zarr", chunk_rows=8)
    group = zarr.open_group(tmp_path / "d" / "train", mode="r")
    assert dict(group.attrs) == {
        "encoding-type": "csr_matrix",
        "encoding-version": "0.1.0",
        "shape": [50, 6],
    }
    for name, expected in zip(("indptr", "indices", "data"), X, strict=True):
        np.testing.assert_array_equal(group[name][:], expected)


@given(
    rows=st.integers(1, 40),
    seed=st.integers(0, 5),
    kind=st.sampled_from(["dense", "sparse"]),
    layout=st.sampled_from(LAYOUTS),
    chunk_rows=st.integers(1, 45),
    batch_rows=st.integers(1, 45),
)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_fingerprint_does_not_depend_on_cuts_or_layout(
    tmp_path_factory,
    rows: int,
    seed: int,
    kind: str,
    layout: str,
    chunk_rows: int,
    batch_rows: int,
):
    folder = tmp_path_factory.mktemp("f")
    data = sample(kind, rows=rows, seed=seed)
    plain = write(folder / "plain", data)
    other = write(
        folder / "other",
        data,
        layout=layout,
        chunk_rows=chunk_rows,
        batch_rows=batch_rows,
    )
    assert plain.fingerprint == other.fingerprint
    other.verify()


def test_fingerprint_depends_on_values_labels_order_and_split(tmp_path: Path):
    X, y = sample("dense")
    changed = X.copy()
    changed[3, 2] = np.nextafter(X[3, 2], 9)
    number = itertools.count()
    variants = [
        write(tmp_path / str(next(number)), train, test)
        for train, test in (
            ((X, y), None),
            ((changed, y), None),
            ((X, -y), None),
            ((X[::-1], y[::-1]), None),
            ((X[:40], y[:40]), (X[40:], y[40:])),
            ((to_csr(X), y), None),
        )
    ]
    assert len({dataset.fingerprint for dataset in variants}) == len(variants)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_is_bounded_by_a_few_chunks(tmp_path: Path, layout: str):
    """64 MB go through the build and the reader in the memory of a few chunks of 1 MB."""
    X = np.random.default_rng(0).random((400, 100))

    def batches():
        return (Batch(X + i, np.zeros(400), 100) for i in range(200))

    write(tmp_path / "warm", sample("dense"), layout=layout).verify()
    tracemalloc.start()
    with (
        claim(str(tmp_path / "d"), {}) as directory,
        DatasetWriter(directory, layout, 1300) as writer,
    ):
        for batch in batches():
            writer.write("train", Member("rows", "rows"), batch)
        writer.finish([])
    dataset = open_dataset(tmp_path / "d")
    assert sum(len(chunk) for chunk in dataset.chunks()) == 80_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6


def test_dataset_pickles_as_its_path(tmp_path: Path):
    dataset = write(tmp_path / "d", sample("dense"))
    dataset.chunk("train", 0)
    content = pickle.dumps(dataset)
    assert len(content) < 400
    again = pickle.loads(content)
    assert (again.path, again.fingerprint, again.rows()) == (
        dataset.path,
        dataset.fingerprint,
        50,
    )


def test_pickle_of_a_replaced_dataset_does_not_open(tmp_path: Path):
    import shutil

    content = pickle.dumps(write(tmp_path / "d", sample("dense")))
    shutil.rmtree(tmp_path / "d")
    write(tmp_path / "d", sample("dense", seed=1))
    with pytest.raises(DatasetError, match="another dataset than before"):
        _ = pickle.loads(content).manifest


def test_object_store_holds_the_same_dataset(tmp_path: Path):
    for kind, layout in itertools.product(("dense", "sparse"), LAYOUTS):
        url = f"memory://shelf/{kind}-{layout}"
        remote = write(url, sample(kind), layout=layout, chunk_rows=8)
        local = write(tmp_path / f"{kind}-{layout}", sample(kind))
        assert (remote.name, remote.fingerprint) == (local.name, local.fingerprint)
        remote.verify()
        assert remote.size() > 0
        with pytest.raises(DatasetError, match="already is a dataset"):
            write(url, sample(kind))


def test_dense_text_is_rewritten(tmp_path: Path):
    X = np.arange(1.0, 41.0).reshape(10, 4)
    y = np.arange(10.0)
    for layout in (None, *LAYOUTS):
        dataset = write(
            tmp_path / f"{layout}",
            (to_csr(X), y),
            (to_csr(X[:3]), y[:3]),
            layout=layout,
            densify=True,
        )
        assert (dataset.kind, dataset.manifest.layout) == ("dense", layout or "zarr")
        assert rows_and_labels(dataset)[0].tobytes() == X.tobytes()
        assert (
            dataset.fingerprint
            == write(tmp_path / f"{layout}-d", (X, y), (X[:3], y[:3])).fingerprint
        )
        assert sorted(path.name for path in (tmp_path / f"{layout}").iterdir()) == [
            "manifest.json",
            "test",
            "train",
        ]


def test_test_split_may_widen_sparse_rows(tmp_path: Path):
    narrow = (
        CSR(np.array([0, 1]), np.array([0], np.int32), np.array([1.0])),
        np.zeros(1),
    )
    wide = (
        CSR(np.array([0, 1]), np.array([9], np.int32), np.array([1.0])),
        np.zeros(1),
    )
    for layout in LAYOUTS:
        dataset = write(tmp_path / layout, narrow, wide, layout=layout)
        assert dataset.columns == 10
        assert dataset.chunk("train", 0).columns == 10


def test_regression_targets_stay_numbers(tmp_path: Path):
    y = np.linspace(0, 1, 50)
    dataset = write(tmp_path / "d", (sample("dense")[0], y))
    assert (dataset.task, dataset.classes) == ("regression", None)
    np.testing.assert_array_equal(dataset.chunk("train", 0).y, y)


def test_unknown_split_and_chunk(tmp_path: Path):
    dataset = write(tmp_path / "d", sample("dense"))
    with pytest.raises(UnknownNameError, match="'trian'; did you mean 'train'"):
        dataset.rows("trian")
    with pytest.raises(ParameterError, match="chunk 1 of train"):
        dataset.chunk("train", 1)


@pytest.mark.parametrize("starts", [[0, 10], [1, 30], [0, 60], [0, 0]])
def test_segments_cover_the_rows(tmp_path: Path, starts: list[int]):
    write(tmp_path / "d", sample("dense"))
    path = tmp_path / "d" / "manifest.json"
    content = json.loads(path.read_text())
    content["splits"]["train"]["segments"] = [
        {"name": "s", "start": start, "rows": 25} for start in starts
    ]
    path.write_text(json.dumps(content))
    with pytest.raises(DatasetError, match=r"segments that do not cover its rows"):
        open_dataset(tmp_path / "d")


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
def test_parquet_has_room_for_values_that_do_not_compress(tmp_path: Path, dtype: str):
    X = (np.random.default_rng(0).random((20_000, 25)) * 256).astype(dtype)
    dataset = write(
        tmp_path / "d",
        (X, np.random.default_rng(0).random(len(X))),
        layout="parquet",
        batch_rows=4000,
    )
    dataset.verify()
    assert (
        dataset.block("train", 0).X.tobytes()
        == X[: len(dataset.block("train", 0))].tobytes()
    )
