"""Which arrays of NPZ and MAT files are features and labels: `--arrays`, the usual names, and what is said of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.io import savemat

from olscale.cli.ingest import ingest as ingest_command
from olscale.data.formats import ReadOptions, find_format
from olscale.data.formats.arrays import HeldArray, parse_arrays
from olscale.data.formats.base import Batch
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError, ParameterError
from tests.fuzz.arrays import ForkedReader

ARRAYS = {
    "train_data": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    "train_labels": np.array([[3], [7]]),
    "test_data": np.array([[7.0, 8.0, 9.0], [1.0, 0.0, 1.0]]),
    "test_labels": np.array([[3], [7]]),
}
ALL_NAMES = "X=train_data,y=train_labels,X_test=test_data,y_test=test_labels"


@pytest.fixture(autouse=True)
def _quick_reader() -> Any:
    with mock.patch("olscale.data.formats.mat.start_reader", ForkedReader):
        yield


def write(path: Path, arrays: dict[str, Any]) -> str:
    """Write `arrays` in the format of the name `path`."""
    if path.suffix == ".mat":
        savemat(path, arrays)
    else:
        np.savez(path, **arrays)
    return str(path)


def read(source: str, **options: Any) -> Batch:
    (batch,) = find_format(source).read(source, ReadOptions(**options))
    return batch


@pytest.mark.parametrize("suffix", ["mat", "npz"])
@pytest.mark.parametrize("given", [ALL_NAMES, parse_arrays(ALL_NAMES)])
def test_arrays_have_the_names_that_are_given(
    tmp_path: Path, suffix: str, given: Any
) -> None:
    source = write(tmp_path / f"t.{suffix}", ARRAYS)
    made = ingest(source, tmp_path / "d", arrays=given)
    assert made.splits == ("train", "test")
    for split in made.splits:
        chunk = made.chunk(split, 0)
        np.testing.assert_array_equal(chunk.X, ARRAYS[f"{split}_data"])
        assert [made.classes[i] for i in chunk.y] == ARRAYS[f"{split}_labels"][
            :, 0
        ].tolist()


@pytest.mark.parametrize("suffix", ["mat", "npz"])
def test_arrays_of_other_names_are_listed_with_the_option_that_reads_them(
    tmp_path: Path,
    suffix: str,
) -> None:
    source = write(tmp_path / f"t.{suffix}", {"note": np.array(["a", "b"]), **ARRAYS})
    with pytest.raises(FormatError) as caught:
        ingest(source, tmp_path / "d")
    message = str(caught.value)
    assert "train_data (2, 3), train_labels (2, 1), test_data (2, 3)" in message
    option = message.rpartition("--arrays ")[2]
    assert option == ALL_NAMES
    assert ingest(source, tmp_path / "d", arrays=option).splits == ("train", "test")


def test_the_command_line_takes_the_names_too(tmp_path: Path) -> None:
    source = write(tmp_path / "t.npz", ARRAYS)
    command = [source, str(tmp_path / "d"), "--arrays", "x=train_data,Y=train_labels"]
    said = CliRunner().invoke(ingest_command, command)
    assert (said.exit_code, "2 train rows x 3 columns" in said.output) == (0, True), (
        said.output
    )
    said = CliRunner().invoke(ingest_command, [*command[:-1], "Z=train_data"])
    assert said.exit_code == 2
    assert "arrays names 'Z', expected X=NAME, y=NAME" in said.output


def test_one_name_may_be_the_usual_one(tmp_path: Path) -> None:
    source = write(
        tmp_path / "t.npz", {"X": np.eye(2), "y": np.zeros(2), "z": np.array([4, 5])}
    )
    assert np.asarray(read(source, arrays={"y": "z"}).target).tolist() == [4, 5]


def test_training_rows_are_never_those_of_the_test(tmp_path: Path) -> None:
    arrays = {"X_test": np.eye(2), "y_test": np.zeros(2)}
    source = write(
        tmp_path / "t.npz", {**arrays, "Xtrain": np.eye(2), "ytrain": np.zeros(2)}
    )
    with pytest.raises(
        FormatError, match=r"t.npz#test are its test rows, or .*X=Xtrain,y=ytrain"
    ):
        read(source)
    # these are all that it has
    assert len(read(write(tmp_path / "u.npz", arrays))) == 2


@pytest.mark.parametrize("suffix", ["mat", "npz"])
def test_rows_without_labels_are_read_where_none_are_wanted(
    tmp_path: Path, suffix: str
) -> None:
    for arrays in ({"X": np.eye(3)}, {"X": np.eye(3), "y": np.array([[1], [2], [3]])}):
        batch = read(write(tmp_path / f"t.{suffix}", arrays), labelled=False)
        assert batch.unlabelled
        np.testing.assert_array_equal(batch.X, np.eye(3))
        assert np.asarray(batch.target).tolist() == [0, 0, 0]
    source = write(tmp_path / f"t.{suffix}", {"rows": np.eye(3)})
    with pytest.raises(
        FormatError, match=r"expected X.*; name them with --arrays X=rows$"
    ):
        read(source, labelled=False)
    assert read(source, labelled=False, arrays={"X": "rows"}).unlabelled


def test_a_table_has_no_arrays_to_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,0\n")
    with pytest.raises(
        FormatError, match="is csv and has no arrays to name; leave --arrays out"
    ):
        ingest(tmp_path / "t.csv", tmp_path / "d", arrays="X=a")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("", "names nothing"),
        ("X", "arrays has 'X', expected X=NAME"),
        ("X=", "arrays has 'X=', expected X=NAME"),
        ("X=a,x_train=b", "arrays names X twice: 'a' and 'b'"),
        ({"features": "a"}, "arrays names 'features'"),
    ],
)
def test_names_that_say_nothing_are_refused(given: Any, problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        parse_arrays(given)


def test_a_held_array_is_told_by_name_shape_and_what_else_it_is() -> None:
    told = [
        HeldArray("X", (2, 3)),
        HeldArray("s", (1, 1), "struct"),
        HeldArray("c", (), "object"),
    ]
    assert [str(array) for array in told] == ["X (2, 3)", "s (1, 1) struct", "c object"]
