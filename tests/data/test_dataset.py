"""Datasets at rest: the same rows come back from every layout, and damage is named."""

from __future__ import annotations

import itertools
import json
import pickle
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from olscale.compiled.csr import CSR, rows_of, to_csr, to_dense
from olscale.data.dataset import Dataset, open_dataset
from olscale.data.formats.base import Batch
from olscale.data.ingest.claim import claim
from olscale.data.ingest.members import Member
from olscale.data.ingest.writer import DatasetWriter
from olscale.data.manifest import manifest_checksum
from olscale.errors import DatasetError, ParameterError, UnknownNameError

LAYOUTS = ("parquet", "zarr")
VERSION_1 = Path(__file__).parent / "fixtures" / "version1"


def write(
    dest,
    train,
    test=None,
    *,
    layout=None,
    chunk_rows=None,
    batch_rows=7,
    densify=False,
    dtype=None,
) -> Dataset:
    """Write (X, y) pairs as a dataset, fed in batches of `batch_rows`."""

    def batches(X, y):
        if dtype and not isinstance(X, CSR):
            X = X.astype(dtype)
        for start in range(0, len(y), batch_rows):
            stop = min(start + batch_rows, len(y))
            if isinstance(X, CSR):
                low = X.indptr[start]
                high = X.indptr[stop]
                rows = CSR(
                    X.indptr[start : stop + 1] - low,
                    X.indices[low:high],
                    X.data[low:high],
                )
                columns = int(rows.indices.max(initial=-1)) + 1
            else:
                rows = X[start:stop]
                columns = X.shape[1]
            yield Batch(rows, y[start:stop], columns)

    with (
        claim(str(dest), {}) as directory,
        DatasetWriter(directory, layout, chunk_rows) as writer,
    ):
        for split, rows in (("train", train), ("test", test)):
            for batch in batches(*rows) if rows is not None else ():
                writer.write(split, Member(split, split), batch)
        writer.finish([], densify=densify)
    return open_dataset(dest)


def sample(kind: str, rows: int = 50, columns: int = 6, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 0.4)
    X[0, columns - 1] = 1.5
    y = rng.integers(0, 3, rows).astype(float) - 1
    return (X if kind == "dense" else to_csr(X)), y


def whole(dataset: Dataset, split: str = "train"):
    chunks = list(dataset.chunks(split))
    X = np.concatenate([to_dense(chunk.X, dataset.columns) for chunk in chunks])
    return X, np.concatenate([chunk.y for chunk in chunks])


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
        got_X, got_y = whole(dataset, split)
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
    assert whole(dataset)[0].tobytes() == (X + 0.0).tobytes()
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
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_flipped_byte_is_named(tmp_path: Path, kind: str, layout: str):
    write(tmp_path / "d", sample(kind, rows=300), layout=layout, chunk_rows=100)
    file = {
        "parquet": "train/00001.parquet",
        "zarr": "train/X/c/1/0" if kind == "dense" else "train/data/c/0",
    }[layout]
    path = tmp_path / "d" / file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)
    dataset = open_dataset(tmp_path / "d")
    with pytest.raises(
        DatasetError,
        match=rf"{tmp_path}/d: chunk \d of train \(train/.*ingest the dataset again",
    ):
        dataset.verify()
    if layout == "parquet" or kind == "dense":
        assert len(dataset.chunk("train", 0)) == 100, "the other chunks stay readable"


@pytest.mark.parametrize(
    ("layout", "file"), [("parquet", "train/00000.parquet"), ("zarr", "train/X/c/0/0")]
)
def test_missing_chunk_is_named(tmp_path: Path, layout: str, file: str):
    dataset = write(tmp_path / "d", sample("dense"), layout=layout)
    (tmp_path / "d" / file).unlink()
    with pytest.raises(DatasetError, match=f"chunk 0 of train .{file}"):
        dataset.chunk("train", 0)


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
        assert whole(dataset)[0].tobytes() == X.tobytes()
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


def test_absent_and_foreign_directories_do_not_open(tmp_path: Path):
    with pytest.raises(DatasetError, match="does not exist"):
        open_dataset(tmp_path / "nothing")
    with pytest.raises(DatasetError, match=r"is no dataset: it has no manifest\.json"):
        open_dataset(tmp_path)


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda m: m.update(columns="6"), "columns"),
        (lambda m: m.update(colour=1), "colour"),
        (lambda m: m.pop("fingerprint"), "fingerprint"),
        (lambda m: m.update(format_version=4), "format_version"),
        (lambda m: m["splits"]["train"].update(rows=51), r"splits\.train.*rows is 51"),
        (lambda m: m["splits"].pop("train"), "no 'train'"),
    ],
)
def test_broken_manifest_says_where(tmp_path: Path, damage, named: str):
    write(tmp_path / "d", sample("dense"))
    file = tmp_path / "d" / "manifest.json"
    content = json.loads(file.read_text())
    damage(content)
    file.write_text(json.dumps(content))
    with pytest.raises(DatasetError, match=rf"manifest\.json is broken at .*{named}"):
        open_dataset(tmp_path / "d")


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("columns", 3, "is not what manifest.json says|cannot be read"),
        (
            "columns",
            10**12,
            "is not what manifest.json says|cannot be read|fingerprint",
        ),
        ("classes", [0, 1, 2], "is not what manifest.json says"),
        ("classes", [1, 0, -1], "classes must be"),
        ("classes", ["a", "b", "c"], "label_names must be"),
        ("label_names", ["a", "b"], "label_names must be"),
        ("dtype", "object", "dtype is 'object', expected one of"),
    ],
)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_chunks_that_the_manifest_does_not_describe(
    tmp_path: Path, kind: str, layout: str, field: str, value, named: str
):
    """A learner would write past its weights where an index is past the columns."""
    write(tmp_path / "d", sample(kind), layout=layout)
    path = tmp_path / "d" / "manifest.json"
    content = json.loads(path.read_text())
    content[field] = value
    content["checksum"] = manifest_checksum(content)
    path.write_text(json.dumps(content))
    with pytest.raises(DatasetError, match=named):
        open_dataset(tmp_path / "d").verify()


@pytest.mark.parametrize("kept", [0, 10, 16, 22, -1])
def test_truncated_zarr_chunk_is_named(tmp_path: Path, kept: int):
    """Blosc reads as many bytes as the header promises, there or not: the process ended."""
    for copy, problem in (
        (tmp_path / "d", "the checksum of train/X/c/0/0 is"),
        (tmp_path / "1", "not a whole piece"),
    ):
        if copy.name == "d":
            write(copy, sample("dense"), layout="zarr")
        else:
            shutil.copytree(VERSION_1 / "dense-zarr", copy)
        path = copy / "train" / "X" / "c" / "0" / "0"
        path.write_bytes(path.read_bytes()[:kept])
        with pytest.raises(
            DatasetError,
            match=rf"chunk 0 of train .train/X/c/0/0. cannot be read: .*{problem}",
        ):
            open_dataset(copy).chunk("train", 0)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["words", "dense"])
def test_datasets_of_format_version_1_are_read_and_verified(
    tmp_path: Path, name: str, layout: str
):
    """They have checksums of decoded chunks, and SHA-256 for a fingerprint."""
    copy = tmp_path / "d"
    shutil.copytree(VERSION_1 / f"{name}-{layout}", copy)
    dataset = open_dataset(copy)
    dataset.verify()
    X, y = whole(dataset)
    if name == "dense":
        assert X.tolist() == [[1, 2], [3, 4.5]] * 8
        assert y.tolist() == [1, 0] * 8
    else:
        assert [X[0, 69], X[2, 3], X[4, 8]] == [-0.03, 2.25, 0.125]
        assert y.tolist() == [1, 0, 1, 0, 1] * 3
    path = copy / "manifest.json"
    content = json.loads(path.read_text())
    content["splits"]["train"]["chunks"][1]["crc32"] ^= 1
    path.write_text(json.dumps(content))
    with pytest.raises(
        DatasetError, match=r"chunk 1 of train .* is damaged: checksum \w+, expected"
    ):
        open_dataset(copy).verify()


@pytest.mark.parametrize("version", [1, 2])
def test_the_version_says_whether_files_have_checksums(tmp_path: Path, version: int):
    write(tmp_path / "d", sample("dense"))
    path = tmp_path / "d" / "manifest.json"
    content = json.loads(path.read_text())
    content["format_version"] = version
    del content["checksum"]
    if version == 2:
        del content["splits"]["train"]["files"]
    path.write_text(json.dumps(content))
    with pytest.raises(
        DatasetError, match="checksums of its files from format version 2 on"
    ):
        open_dataset(tmp_path / "d")


def test_bytes_read_as_another_type_are_refused(tmp_path: Path):
    """The checksum is that of the bytes: zarr's own description of them is not under it."""
    write(tmp_path / "d", sample("sparse"), layout="zarr")
    path = tmp_path / "d" / "train" / "data" / "zarr.json"
    path.write_text(path.read_text().replace("float64", "int64"))
    with pytest.raises(
        DatasetError,
        match=r"chunk 0 of train .* is whole but is not what manifest.json says",
    ):
        open_dataset(tmp_path / "d").chunk("train", 0)


@pytest.mark.parametrize(
    ("text", "damaged"), [('"shape"', '"shapf"'), ("[", "{"), ('"', "'")]
)
def test_a_damaged_description_of_an_array_is_named(
    tmp_path: Path, text: str, damaged: str
):
    write(tmp_path / "d", sample("dense"), layout="zarr")
    path = tmp_path / "d" / "train" / "label" / "zarr.json"
    path.write_text(path.read_text().replace(text, damaged, 1))
    with pytest.raises(DatasetError, match=r"cannot be read: train/label/zarr\.json: "):
        open_dataset(tmp_path / "d").chunk("train", 0)


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


def test_cut_off_manifest_says_so(tmp_path: Path):
    write(tmp_path / "d", sample("dense"))
    file = tmp_path / "d" / "manifest.json"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(DatasetError, match=r"manifest\.json is broken"):
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
