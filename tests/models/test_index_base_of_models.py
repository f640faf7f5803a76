"""A model knows from which index its SVMlight text counts, and takes new text and datasets alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from olscale.compiled.csr import to_dense
from olscale.data.formats.base import ReadOptions
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError, ModelError
from olscale.models.about import About, ColumnsEntry, LearnerEntry
from olscale.models.source import ModelSource

ZERO = "0 0:1 2:3\n1 1:2\n"
ONE = "0 1:1 3:3\n1 2:2\n"
ROWS = [[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def model(folder: Path, text: str) -> ColumnsEntry:
    return ColumnsEntry.of(
        ingest(write(folder / "train.svm", text), folder / "trained").manifest
    )


def read(
    columns: ColumnsEntry, path: Path, base: int | None = None
) -> list[list[float]]:
    options = ReadOptions(zero_based=None if base is None else base == 0)
    source = ModelSource(columns, str(path), options=options)
    return np.concatenate([to_dense(part.X, columns.count) for part in source]).tolist()


@pytest.mark.parametrize(("text", "base"), [(ZERO, 0), (ONE, 1)])
def test_new_text_counts_as_that_of_the_model(
    tmp_path: Path, text: str, base: int
) -> None:
    columns = model(tmp_path, text)
    assert columns.index_base == base
    assert read(columns, write(tmp_path / "new.svm", text)) == ROWS
    # Without the first index nothing in the text itself tells where it begins.
    assert read(columns, write(tmp_path / "new.svm", f"0 {base + 1}:5\n")) == [
        [0, 5, 0]
    ]


def test_text_that_seems_to_count_from_1_is_refused(tmp_path: Path) -> None:
    columns = model(tmp_path, ZERO)
    new = write(tmp_path / "new.svm", ONE)
    with pytest.raises(
        ModelError,
        match=r"has no index 0, and its largest index 3 is one above .*--index-base 1 if",
    ):
        read(columns, new)
    assert read(columns, new, base=1) == ROWS
    assert read(columns, new, base=0) == [[0, 1, 0], [0, 0, 2]]
    # An index 0, or a larger one, shows that it counts from 0: what is new is ignored.
    assert read(columns, write(new, "0 0:7 3:1\n0 1:1\n")) == [[7, 0, 0], [0, 1, 0]]
    assert read(columns, write(new, "0 1:7 9:1\n")) == [[0, 7, 0]]


def test_a_folder_is_refused_before_anything_is_predicted(tmp_path: Path) -> None:
    columns = model(tmp_path, ZERO)
    folder = tmp_path / "new"
    folder.mkdir()
    write(folder / "1.svm", ZERO)
    write(folder / "2.svm", ONE)
    with pytest.raises(ModelError, match=r"2\.svm has no index 0"):
        next(iter(ModelSource(columns, str(folder))))


def test_an_index_0_for_a_model_that_counts_from_1_is_an_error(tmp_path: Path) -> None:
    columns = model(tmp_path, ONE)
    new = write(tmp_path / "new.svm", ZERO)
    with pytest.raises(
        FormatError, match=r"line 1: index 0 in '0:1', .*--index-base 0"
    ):
        read(columns, new)
    assert read(columns, new, base=0) == ROWS


def test_a_model_that_does_not_know_takes_what_the_text_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models of earlier versions, and of other formats."""
    columns = ColumnsEntry(count=3, kind="dense")
    assert read(columns, write(tmp_path / "new.svm", ZERO)) == ROWS
    assert read(columns, write(tmp_path / "new.svm", ONE)) == ROWS
    late = "0 1:1\n" * 20_000 + "0 0:7\n"
    assert read(columns, write(tmp_path / "new.svm", late))[::20_000] == [
        [0, 1, 0],
        [7, 0, 0],
    ]


def test_datasets_count_as_the_model_or_are_refused(tmp_path: Path) -> None:
    columns = model(tmp_path, ZERO)
    ingest(write(tmp_path / "a.svm", "0 1:5 9:1\n"), tmp_path / "zero", index_base=0)
    ingest(tmp_path / "a.svm", tmp_path / "one")
    assert read(columns, tmp_path / "zero") == [[0, 5, 0]]
    with pytest.raises(
        ModelError,
        match="count from 1, the model learned from text that counts from 0; if both",
    ):
        read(columns, tmp_path / "one")
    assert read(columns, tmp_path / "one", base=1) == [[5, 0, 0]]
    with pytest.raises(ModelError, match="count from 1, not from 0"):
        read(columns, tmp_path / "one", base=0)


def test_a_dense_dataset_of_text_may_have_more_or_less_indices(tmp_path: Path) -> None:
    columns = model(tmp_path, ONE)
    for text, expected in (
        ("0 1:1\n1 2:2\n", [[1, 0, 0], [0, 2, 0]]),
        ("0 1:1 4:4\n", [[1, 0, 0]]),
    ):
        name = f"d{len(text)}"
        dataset = ingest(write(tmp_path / "a.svm", text), tmp_path / name)
        assert dataset.kind == "dense"
        assert read(columns, tmp_path / name) == expected


def test_earlier_models_say_nothing_of_base_and_dropped_columns() -> None:
    about = About(
        learner=LearnerEntry(name="pa1", version=1, params={}),
        columns=ColumnsEntry(count=2, kind="dense"),
    )
    text = about.model_dump_json()
    assert "index_base" not in text
    assert "dropped" not in ColumnsEntry(count=2, kind="dense").model_dump_json()
    assert About.model_validate_json(text).columns.index_base is None
