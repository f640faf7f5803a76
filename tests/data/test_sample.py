"""Some rows of a dataset as a dataset of their own."""

from pathlib import Path

import numpy as np
import pytest

from olscale.data.catalogue.sample import drawn, hold_out, sample
from olscale.data.dataset import Dataset, open_dataset
from olscale.data.stream import Stream
from olscale.data.transforms.pipeline import fit_transforms
from olscale.errors import ParameterError
from tests.data.test_stream import together


@pytest.mark.parametrize("name", ["dense", "sparse", "digits", "targets"])
def test_rows_are_those_that_are_drawn_in_their_order(
    shelf: Path, tmp_path: Path, name: str
) -> None:
    whole = open_dataset(shelf / name)
    some = sample(whole, tmp_path / "some", 150)
    assert (some.task, some.kind, some.classes, some.columns) == (
        whole.task,
        whole.kind,
        whole.classes,
        whole.columns,
    )
    for split in whole.splits:
        index = drawn(whole.rows(split), 150)
        before, after = (
            together(_as_it_is(dataset, split)) for dataset in (whole, some)
        )
        np.testing.assert_array_equal(after[0], before[0][index])
        np.testing.assert_array_equal(after[1], before[1][index])


def test_a_draw_is_uniform_without_replacement_and_always_the_same() -> None:
    counts = np.bincount(
        np.concatenate([drawn(200, most) % 20 for most in range(20, 150)]), minlength=20
    )
    assert np.all(np.diff(drawn(200, 70)) > 0)
    assert np.array_equal(drawn(200, 70), drawn(200, 70))
    assert counts.min() > 0.8 * counts.mean()


def test_a_number_of_rows_below_one_is_refused(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="rows is 0, expected at least 1"):
        sample(open_dataset(shelf / "dense"), tmp_path / "none", 0)


def test_rows_held_out_are_those_that_do_not_train(shelf: Path, tmp_path: Path) -> None:
    digits = open_dataset(shelf / "digits")
    halves = hold_out(digits, tmp_path / "halves", 0.4)
    rows = digits.rows("train")
    assert halves.rows("test") == round(0.4 * rows)
    index = drawn(rows, halves.rows("test"))
    before, tested, trained = (
        together(_as_it_is(dataset, split))
        for dataset, split in ((digits, "train"), (halves, "test"), (halves, "train"))
    )
    np.testing.assert_array_equal(tested[0], before[0][index])
    np.testing.assert_array_equal(trained[0], np.delete(before[0], index, axis=0))
    np.testing.assert_array_equal(trained[1], np.delete(before[1], index))


def test_a_test_split_that_is_there_or_would_be_empty_is_refused(
    shelf: Path, tmp_path: Path
) -> None:
    tested = hold_out(open_dataset(shelf / "digits"), tmp_path / "tested", 0.5)
    with pytest.raises(
        ParameterError, match=r"has a test split of .* leave test_share"
    ):
        hold_out(tested, tmp_path / "again", 0.5)
    with pytest.raises(ParameterError, match="expected a share that leaves rows"):
        hold_out(open_dataset(shelf / "digits"), tmp_path / "none", 1e-9)


def _as_it_is(dataset: Dataset, split: str) -> Stream:
    return Stream(dataset, split, fit_transforms((), lambda: iter(()), dataset.columns))
