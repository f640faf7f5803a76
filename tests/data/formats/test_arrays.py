"""IDX, NPZ and scikit-learn's sets: whole arrays as batches, in their own dtype."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from olscale.data.formats import ReadOptions, find_format, splits_in
from olscale.errors import FormatError, UnknownNameError


def write_idx(path: Path, array: np.ndarray, code: int = 8) -> None:
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    content = header + array.tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@pytest.fixture
def images(tmp_path: Path) -> Path:
    write_idx(
        tmp_path / "train-images-idx3-ubyte.gz",
        np.arange(24, dtype=np.uint8).reshape(4, 2, 3),
    )
    write_idx(
        tmp_path / "train-labels-idx1-ubyte.gz", np.array([3, 1, 2, 0], dtype=np.uint8)
    )
    return tmp_path / "train-images-idx3-ubyte.gz"


def test_idx_rows_are_flattened_images_with_the_labels_beside(images: Path) -> None:
    format = find_format(str(images))
    assert format.name == "idx"
    batches = list(format.read(str(images), ReadOptions(3)))
    assert [batch.X.shape for batch in batches] == [(3, 6), (1, 6)]
    assert batches[0].X.dtype == np.uint8
    np.testing.assert_array_equal(
        np.vstack([b.X for b in batches]), np.arange(24).reshape(4, 6)
    )
    assert np.concatenate([b.target for b in batches]).tolist() == [3, 1, 2, 0]


def test_idx_numbers_are_big_endian(tmp_path: Path) -> None:
    write_idx(tmp_path / "t-images-idx2", np.array([[256, -1]], dtype=">i2"), code=11)
    write_idx(tmp_path / "t-labels-idx1", np.array([1], dtype=np.uint8))
    (batch,) = find_format("x", "idx").read(
        str(tmp_path / "t-images-idx2"), ReadOptions()
    )
    assert batch.X.tolist() == [[256, -1]]
    assert batch.X.dtype == np.dtype("=i2")


def test_idx_without_its_labels_says_where_they_should_be(images: Path) -> None:
    images.with_name("train-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(FormatError, match="train-labels-idx1-ubyte"):
        list(find_format(str(images)).read(str(images), ReadOptions()))


def test_idx_without_labels_is_read_where_none_are_wanted(images: Path) -> None:
    images.with_name("train-labels-idx1-ubyte.gz").unlink()
    (batch,) = find_format(str(images)).read(str(images), ReadOptions(labelled=False))
    assert batch.unlabelled
    np.testing.assert_array_equal(batch.X, np.arange(24).reshape(4, 6))


def test_idx_that_ends_early_or_disagrees_is_an_error(images: Path) -> None:
    content = gzip.decompress(images.read_bytes())
    images.write_bytes(content[:-1])
    with pytest.raises(FormatError, match="truncated"):
        list(find_format(str(images)).read(str(images), ReadOptions()))
    images.write_bytes(content + b"x")
    with pytest.raises(FormatError, match="goes on"):
        list(find_format(str(images)).read(str(images), ReadOptions()))
    write_idx(images, np.zeros((3, 2, 3), dtype=np.uint8))
    with pytest.raises(FormatError, match=r"3 rows but .* 4 labels"):
        list(find_format(str(images)).read(str(images), ReadOptions()))


def test_npz_holds_train_and_test(tmp_path: Path) -> None:
    source = str(tmp_path / "faces.npz")
    X = np.arange(12, dtype=np.uint8).reshape(3, 2, 2)
    np.savez(
        source,
        X_train=X,
        y_train=[[1], [2], [3]],
        X_test=X[:1] + 1,
        y_test=np.array(["b"]),
    )
    assert splits_in(source) == ("train", "test")
    train = list(find_format(source).read(source, ReadOptions(2)))
    assert [batch.X.tolist() for batch in train] == [
        [[0, 1, 2, 3], [4, 5, 6, 7]],
        [[8, 9, 10, 11]],
    ]
    assert train[0].X.dtype == np.uint8
    (test,) = find_format(f"{source}#test").read(f"{source}#test", ReadOptions())
    assert test.target == ["b"]
    assert splits_in(f"{source}#test") == ("train",)


@pytest.mark.parametrize("keys", [("X", "y"), ("x", "y"), ("data", "target")])
def test_npz_without_a_split_is_all_train(
    tmp_path: Path, keys: tuple[str, str]
) -> None:
    source = str(tmp_path / "rows.npz")
    np.savez_compressed(
        source, **{keys[0]: np.eye(3, dtype=np.int64), keys[1]: np.arange(3)}
    )
    assert splits_in(source) == ("train",)
    (batch,) = find_format(source).read(source, ReadOptions())
    assert batch.X.dtype == np.float64
    with pytest.raises(FormatError, match="expected X_test, y_test"):
        list(find_format(source).read(f"{source}#test", ReadOptions()))


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        (
            {"a": np.eye(2)},
            r"holds the arrays a \(2, 2\); expected X_train, y_train or",
        ),
        ({"X": np.eye(2), "y": np.zeros(3)}, "2 rows of features but 3 targets"),
        ({"X": np.zeros(2), "y": np.zeros(2)}, "expected numbers of shape"),
        ({"X": np.zeros((0, 2)), "y": np.zeros(0)}, "no rows"),
        ({"X": np.array([[None]]), "y": np.zeros(1)}, "cannot be read"),
        ({"X": np.eye(2), "y": np.zeros((2, 1, 1))}, "targets have shape"),
        ({"X": np.eye(2), "y": np.zeros((2, 0))}, "targets have shape"),
    ],
)
def test_npz_that_does_not_fit_is_an_error(
    tmp_path: Path, arrays: dict[str, np.ndarray], problem: str
) -> None:
    source = str(tmp_path / "rows.npz")
    np.savez(source, **arrays)
    with pytest.raises(FormatError, match=problem):
        list(find_format(source).read(source, ReadOptions()))


def test_a_truncated_npz_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    np.savez(path, X=np.eye(50), y=np.zeros(50))
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(FormatError, match="truncated"):
        list(find_format(str(path)).read(str(path), ReadOptions()))


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("digits", (1797, 64)),
        ("iris", (150, 4)),
        ("wine", (178, 13)),
        ("breast_cancer", (569, 30)),
    ],
)
def test_scikit_learn_sets_are_sources(name: str, shape: tuple[int, int]) -> None:
    (batch,) = find_format(f"sklearn:{name}").read(f"sklearn:{name}", ReadOptions())
    assert batch.X.shape == shape
    assert len(batch.feature_names or ()) == batch.columns


def test_an_unknown_scikit_learn_set_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'digits'"):
        list(find_format("sklearn:digit").read("sklearn:digit", ReadOptions()))


def test_mnist_and_faces_are_read(shared_data) -> None:  # type: ignore[no-untyped-def]
    mnist = str(shared_data("mnist/t10k-images-idx3-ubyte.gz"))
    batches = list(find_format(mnist).read(mnist, ReadOptions(4096)))
    assert [batch.X.shape for batch in batches] == [
        (4096, 784),
        (4096, 784),
        (1808, 784),
    ]
    assert np.bincount(np.concatenate([b.target for b in batches]).astype(int)).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    faces = str(shared_data("cbcl_face/cbcl_face.npz"))
    assert splits_in(faces) == ("train", "test")
    (test,) = find_format(faces).read(f"{faces}#test", ReadOptions(30_000))
    assert test.X.shape == (24044, 361)
