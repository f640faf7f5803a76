"""NPZ and MAT files as NumPy, SciPy and MATLAB write them, cell for cell."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays, from_dtype
from scipy.io import savemat

from olscale.cli.columns import identifiers_line
from olscale.compiled.csr import to_dense
from olscale.data.export import export
from olscale.data.formats import ReadOptions, find_format
from olscale.data.formats.base import Batch
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError
from tests.fuzz.arrays import ForkedReader

NUMBERS = [
    "?",
    "u1",
    "i1",
    "<u2",
    ">i2",
    "<i4",
    ">u4",
    "<i8",
    ">i8",
    "<u8",
    "f2",
    "<f4",
    ">f8",
    "<f8",
]
ROUNDED = "holds whole numbers from 2\\^53 on"


@pytest.fixture(autouse=True)
def _quick_reader() -> Any:
    with mock.patch("olscale.data.formats.mat.start_reader", ForkedReader):
        yield


def read(path: Path, **options: Any) -> Batch:
    """Return all rows of a file; the rows of batches of two say the same."""
    source = str(path)
    (batch,) = find_format(source).read(source, ReadOptions(**options))
    parts = list(find_format(source).read(source, ReadOptions(chunk_rows=2, **options)))
    dense = [to_dense(part.X, batch.columns) for part in parts]
    np.testing.assert_array_equal(np.vstack(dense), to_dense(batch.X, batch.columns))
    assert [label for part in parts for label in part.target] == list(batch.target)
    return batch


def matrices(dtype: str, most_axes: int = 2) -> st.SearchStrategy[Any]:
    """Return matrices of 1 to 6 rows in C's or Fortran's order."""
    shapes = st.lists(st.integers(1, 5), min_size=2, max_size=most_axes).map(tuple)
    finite = from_dtype(np.dtype(dtype), allow_nan=False) if "f" in dtype else None
    content = arrays(dtype, shapes, elements=finite)
    return st.one_of(content, content.map(np.asfortranarray))


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=4)


@st.composite
def labels(draw: st.DrawFn, rows: int) -> tuple[Any, list[Any]]:
    """Return labels of so many rows as NumPy has them, and as they are to be read."""
    if draw(st.booleans()):
        words = draw(st.lists(texts, min_size=rows, max_size=rows))
        words = [word.rstrip("\0") for word in words]
        return np.array(words), words
    numbers = draw(st.lists(st.integers(-9, 9), min_size=rows, max_size=rows))
    shape = draw(st.sampled_from([(rows,), (rows, 1), (1, rows)]))
    dtype = draw(st.sampled_from(["i1", "<i8", ">f8", "f4"]))
    return np.array(numbers).astype(dtype).reshape(shape), numbers


@given(data=st.data(), dtype=st.sampled_from(NUMBERS), packed=st.booleans())
@settings(max_examples=40, deadline=None)
def test_arrays_of_numpy_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    dtype: str,
    packed: bool,
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.npz"
    X = data.draw(matrices(dtype, most_axes=3))
    y, expected = data.draw(labels(len(X)))
    save = np.savez_compressed if packed else np.savez
    save(path, X=X, y=y, unused=np.array([None, 1j], dtype=object))
    batch = read(path)
    np.testing.assert_array_equal(batch.X, X.reshape(len(X), -1).astype(np.float64))
    assert list(batch.target) == expected


@pytest.mark.long
@given(
    data=st.data(),
    dtype=st.sampled_from(["?", "u1", "i2", "i8", "f4", "f8"]),
    version=st.sampled_from("45"),
)
@settings(max_examples=15, deadline=None)
def test_matrices_that_scipy_writes_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    dtype: str,
    version: str,
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.mat"
    X = data.draw(
        matrices(dtype).map(lambda X: X.astype("f8") if version == "4" else X)
    )
    y, expected = data.draw(labels(len(X)))
    if y.dtype.kind == "U":
        # The rows of a matrix of characters are of one length: the end of a word is lost.
        y = np.array([f"{word}|" for word in expected])
        expected = y.tolist()
        if version == "4":
            y = np.arange(len(X))
            expected = y.tolist()
    savemat(
        path, {"X": X, "Y": y.astype("f8") if version == "4" else y}, format=version
    )
    batch = read(path)
    np.testing.assert_array_equal(batch.X, X.astype(np.float64))
    assert list(batch.target) == expected


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
@given(X=matrices("<f8"), labelled=st.booleans())
@settings(max_examples=10, deadline=None)
def test_sparse_matrices_that_scipy_writes_read_back(
    tmp_path_factory: pytest.TempPathFactory, kind: str, X: Any, labelled: bool
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.npz"
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(X).asformat(kind))
    if labelled:
        np.savez(path, **np.load(path), y=np.arange(len(X)))
    batch = read(path, labelled=labelled)
    np.testing.assert_array_equal(to_dense(batch.X, batch.columns), X)
    assert batch.unlabelled != labelled
    if not labelled:
        with pytest.raises(
            FormatError, match=r"holds the arrays X \(.*; expected X_train, y_train"
        ):
            read(path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"indices": [0, 9]}, "damaged"),
        ({"indptr": [0, 2, 1]}, "damaged"),
        ({"indptr": [0, 1]}, "damaged"),
        ({"shape": [2]}, "damaged"),
        ({"shape": [-2, 2]}, "damaged"),
        ({"format": b"lil"}, "its sparse matrix is 'lil', expected csr, csc"),
        ({"format": b"coo"}, "damaged"),
        ({"data": [1j, 2]}, "holds complex128, expected numbers"),
        ({"y": [1, 2, 3]}, "2 rows of features but 3 targets"),
    ],
)
def test_sparse_members_that_do_not_fit_are_refused(
    tmp_path: Path,
    change: dict[str, Any],
    problem: str,
) -> None:
    sound = {
        "indptr": [0, 1, 2],
        "indices": [0, 1],
        "data": [1.0, 2.0],
        "shape": [2, 2],
        "format": b"csr",
        "y": [0, 1],
    }
    np.savez(tmp_path / "t.npz", **sound)
    assert read(tmp_path / "t.npz").columns == 2
    np.savez(tmp_path / "t.npz", **{**sound, **change})
    with pytest.raises(FormatError, match=problem):
        read(tmp_path / "t.npz")


@pytest.mark.parametrize("targets", ["classes", "words", "numbers", "several"])
def test_sparse_rows_come_back_through_npz(tmp_path: Path, targets: str) -> None:
    """Each split is a file, whose rows, labels and their names are those of the dataset."""
    rng = np.random.default_rng(0)
    y: Any = {
        "classes": rng.integers(0, 3, 30),
        "words": rng.permutation(np.array(["no", "yes", "?"] * 10)),
        "numbers": rng.standard_normal(30),
        "several": rng.standard_normal((30, 2)),
    }[targets]
    for split, rows in (("train", slice(0, 20)), ("test", slice(20, 30))):
        X = scipy.sparse.random_array((20, 50), density=0.1, rng=rng, format="csc")
        X = X[: rows.stop - rows.start]
        scipy.sparse.save_npz(tmp_path / f"{split}.npz", X)
        np.savez(
            tmp_path / f"{split}.npz", **np.load(tmp_path / f"{split}.npz"), y=y[rows]
        )
    target = "real" if targets == "several" else None
    made = ingest(
        tmp_path / "train.npz",
        tmp_path / "d",
        test=tmp_path / "test.npz",
        target=target,
    )
    assert made.kind == "sparse"
    for split in made.splits:
        export(made, tmp_path / f"{split}-out.npz", split=split)
    again = ingest(
        tmp_path / "train-out.npz",
        tmp_path / "again",
        test=tmp_path / "test-out.npz",
        target=target,
    )
    assert again.fingerprint == made.fingerprint
    assert again.manifest.label_names == made.manifest.label_names


def test_a_split_of_dense_rows_comes_back_through_npz(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "t.npz",
        X_train=np.eye(3),
        y_train=[0, 1, 1],
        X_test=np.eye(3),
        y_test=[1, 0, 1],
    )
    made = ingest(tmp_path / "t.npz", tmp_path / "d")
    for split in made.splits:
        export(made, tmp_path / f"{split}.npz", split=split)
    again = ingest(
        tmp_path / "train.npz", tmp_path / "again", test=tmp_path / "test.npz"
    )
    assert again.fingerprint == made.fingerprint


@pytest.mark.parametrize(
    ("ids", "warned"),
    [
        (np.array([[2**60 + 1], [2**60 + 2], [3]]), True),
        (np.array([[2**64 - 1], [0], [1]], dtype=np.uint64), True),
        (np.array([[-(2**53)], [0], [1]]), True),
        (np.array([[2.0**60], [5.0], [3.0]]), True),
        (np.array([[2**53 - 1], [0], [1]]), False),
        (np.array([[2.0**60], [5.5], [3.0]]), False),
        (np.array([[np.inf], [5.0], [3.0]]), False),
    ],
)
@pytest.mark.parametrize("suffix", ["npz", "mat"])
def test_whole_numbers_that_are_rounded_are_warned_of(
    tmp_path: Path,
    ids: Any,
    warned: bool,
    suffix: str,
) -> None:
    X = np.hstack([np.array([[1], [2], [4]], dtype=ids.dtype), ids])
    path = tmp_path / f"t.{suffix}"
    if suffix == "npz":
        np.savez(path, X=X, y=[0, 1, 0])
    else:
        savemat(path, {"X": X, "y": [0, 1, 0]})
    manifest = ingest(path, tmp_path / "d").manifest
    assert manifest.rounded == (("x1",) if warned else None)
    expected = (
        "x1 (from 2^53 on, where float64 rounds); leave out what is no feature (--drop)"
    )
    assert identifiers_line(manifest) == (expected if warned else None)


def test_numbers_that_are_rounded_in_the_test_split_are_warned_of(
    tmp_path: Path,
) -> None:
    y = [0, 1]
    X_test = np.array([[2**55, 1], [2, 1]])
    np.savez(
        tmp_path / "t.npz",
        X_train=np.eye(2, dtype=int),
        y_train=y,
        X_test=X_test,
        y_test=y,
    )
    assert ingest(tmp_path / "t.npz", tmp_path / "d").manifest.rounded == ("x0",)


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (
            np.array([["a"], [None]], dtype=object),
            "its array X cannot be read: it holds Python objects",
        ),
        (np.array(3.0), r"features are float64 of shape \(\)"),
        (np.zeros(2, dtype=[("a", "f8"), ("b", "f8")]), "features are .*'a'"),
        (
            np.array([["2020-01-01"], ["2021-01-01"]], dtype="M8[D]"),
            r"features are datetime64\[D\]",
        ),
        (np.array([[1j], [2]]), "features are complex128"),
        (np.array([["a"], ["b"]]), "features are <U1"),
    ],
)
def test_arrays_that_are_no_features_are_refused_by_name(
    tmp_path: Path,
    array: Any,
    problem: str,
) -> None:
    np.savez(tmp_path / "t.npz", X=array, y=[0, 1])
    with pytest.raises(FormatError, match=problem):
        read(tmp_path / "t.npz")


def test_samples_in_the_last_axis_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=np.zeros((2, 5, 3)), y=[0, 1, 0])
    with pytest.raises(
        FormatError, match=r"2, 5, 3\), expected rows first: numpy.move"
    ):
        read(tmp_path / "t.npz")


def test_a_bare_array_says_how_to_keep_features_and_labels(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.eye(2))
    with pytest.raises(
        FormatError, match=r"is a single array .*: numpy.savez\(FILE, X=X, y=y\)"
    ):
        list(find_format("t", "npz").read(str(tmp_path / "t.npy"), ReadOptions()))


def write_mat(path: Path, variables: dict[str, Any], more: bytes = b"") -> Path:
    content = io.BytesIO()
    savemat(content, variables)
    path.write_bytes(content.getvalue() + more)
    return path


def test_the_blanks_that_fill_up_a_matrix_of_characters_are_no_part_of_labels(
    tmp_path: Path,
) -> None:
    """As in MATLAB, whose ``cellstr`` takes white space away at the end, but not what is no filling."""
    rows = ["ab  ", "b\t  ", " c  ", "    ", "d\xa0  "]
    path = write_mat(tmp_path / "t.mat", {"X": np.eye(5), "Y": np.array(rows)})
    assert read(path).target == ["ab", "b", " c", "", "d\xa0"]


def test_cells_are_labels_as_they_stand(tmp_path: Path) -> None:
    cells = np.empty((4, 1), dtype=object)
    cells[:, 0] = ["ab ", "", "b", np.array([[2]])]
    path = write_mat(tmp_path / "t.mat", {"X": np.eye(4), "Y": cells})
    assert read(path).target == ["ab ", "", "b", "2"]
    cells[1, 0] = np.eye(2)
    write_mat(path, {"X": np.eye(4), "Y": cells})
    with pytest.raises(
        FormatError, match=r"a cell of Y holds an array of shape \(2, 2\)"
    ):
        read(path)


UNUSED: dict[str, Any] = {
    "complex numbers": np.array([[1j]]),
    "sparse complex numbers": scipy.sparse.csc_array([[1j]]),
    "a struct": {"a": 1, "b": "c"},
    "cells with complex numbers": np.array([[1j], ["a"]], dtype=object),
    "text": "words",
}


@pytest.mark.parametrize("what", UNUSED)
def test_variables_that_are_not_used_may_be_anything(tmp_path: Path, what: str) -> None:
    variables = {"Z": UNUSED[what], "X": np.eye(2), "Y": [[1], [2]]}
    assert list(read(write_mat(tmp_path / "t.mat", variables)).target) == [1, 2]


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("complex numbers", r"its X \(1, 1\) of complex numbers cannot be read"),
        ("sparse complex numbers", r"its X \(1, 1\) of complex numbers cannot be read"),
        (
            "a struct",
            r"its X \(1, 1\) struct cannot be read; save a matrix of real numbers",
        ),
    ],
)
def test_a_variable_that_is_no_matrix_is_refused_by_name(
    tmp_path: Path,
    what: str,
    told: str,
) -> None:
    path = write_mat(tmp_path / "t.mat", {"X": UNUSED[what], "Y": [[1]]})
    with pytest.raises(FormatError, match=told):
        read(path)


def element(code: int, content: bytes) -> bytes:
    """Return an element of a MAT file."""
    return struct.pack("<II", code, len(content)) + content + bytes(-len(content) % 8)


def matlab_object(name: str, kind: str) -> bytes:
    """Return an object of MATLAB: a string, a categorical, a table."""
    flags = (
        element(6, struct.pack("<II", 13, 0))
        + element(5, struct.pack("<ii", 6, 1))
        + element(1, b"")
    )
    reference = flags + element(6, struct.pack("<6I", 0xDD000000, 2, 1, 1, 1, 1))
    words = element(1, name.encode()) + element(1, b"MCOS") + element(1, kind.encode())
    return element(
        14, element(6, struct.pack("<II", 17, 0)) + words + element(14, reference)
    )


def test_objects_of_matlab_are_ignored_or_refused_by_name(tmp_path: Path) -> None:
    objects = matlab_object("Y", "categorical") + matlab_object("T", "table")
    path = write_mat(tmp_path / "t.mat", {"X": np.eye(2)}, objects)
    with pytest.raises(
        FormatError, match=r"its Y categorical object cannot be read; .*cellstr\(y\)"
    ):
        read(path)
    write_mat(path, {"X": np.eye(2), "Y": [[1], [2]]}, matlab_object("T", "table"))
    assert list(read(path).target) == [1, 2]
