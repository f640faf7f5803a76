"""Parts of a training split: exact, seeded, and nothing of what is held out reaches the training side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.data.dataset import open_dataset
from olscale.data.splits import PARTS, Part
from olscale.data.stream import Shuffle, open_streams
from olscale.errors import ExperimentError


@given(
    rows=st.integers(5, 200),
    folds=st.integers(2, 5),
    seed=st.integers(0, 3),
    kind=st.sampled_from(sorted(PARTS)),
)
def test_both_sides_make_up_the_split(
    rows: int, folds: int, seed: int, kind: str
) -> None:
    y = np.random.default_rng(seed).integers(0, 3, rows)
    for fold in range(folds):
        train, held_out = Part(kind, seed, fold, folds).rows(y)
        assert np.array_equal(
            np.sort(np.concatenate([train, held_out])), np.arange(rows)
        )
        assert np.all(np.diff(train) > 0)
        assert np.all(np.diff(held_out) > 0)


@given(
    rows=st.integers(5, 200),
    folds=st.integers(2, 5),
    kind=st.sampled_from(["kfold", "stratified"]),
)
def test_every_row_is_held_out_in_one_fold_and_folds_are_of_one_size(
    rows: int, folds: int, kind: str
) -> None:
    y = np.arange(rows) % 3
    held_out = [Part(kind, 0, fold, folds).rows(y)[1] for fold in range(folds)]
    assert np.array_equal(np.sort(np.concatenate(held_out)), np.arange(rows))
    assert max(map(len, held_out)) - min(map(len, held_out)) <= 1


@given(rows=st.integers(20, 200), folds=st.integers(2, 5))
def test_stratified_folds_share_each_class_out(rows: int, folds: int) -> None:
    y = np.random.default_rng(rows).integers(0, 4, rows)
    counts = [
        np.bincount(y[Part("stratified", 1, fold, folds).rows(y)[1]], minlength=4)
        for fold in range(folds)
    ]
    assert np.all(np.ptp(counts, axis=0) <= 1)


def test_halves_differ_from_number_to_number_and_from_seed_to_seed() -> None:
    y = np.zeros(101, dtype=np.int64)
    halves = [
        Part("half", seed, fold, 3).rows(y) for seed in (0, 1) for fold in range(3)
    ]
    assert len({tuple(held_out) for _, held_out in halves}) == 6
    assert all((len(train), len(held_out)) == (51, 50) for train, held_out in halves)


def test_stratified_halves_share_each_class_out_and_differ_from_number_to_number() -> (
    None
):
    y = np.repeat(np.arange(40), 10)
    halves = [Part("stratified-half", 0, fold, 3).rows(y) for fold in range(3)]
    assert len({tuple(held_out) for _, held_out in halves}) == 3
    assert all(np.bincount(y[train]).tolist() == [5] * 40 for train, _ in halves)


def test_too_few_rows_are_said_so() -> None:
    with pytest.raises(ExperimentError, match="needs as many rows, there are 2"):
        Part("kfold", 0, 0, 3).rows(np.zeros(2, dtype=np.int64))


def test_transforms_are_fitted_on_the_rows_that_train(shelf: Path) -> None:
    part = Part("kfold", 0, 1, 4)
    streams = open_streams(str(shelf / "dense"), ["standardize"], Shuffle(0, 0), part)
    train = np.concatenate([np.asarray(chunk.X) for chunk in streams.train.chunks()])
    assert np.allclose(train.mean(axis=0), 0.0)
    assert np.allclose(train.std(axis=0), 1.0)
    assert streams.test is not None
    held_out = np.concatenate([np.asarray(chunk.X) for chunk in streams.test.chunks()])
    assert not np.allclose(held_out.mean(axis=0), 0.0, atol=1e-6)
    assert len(train) + len(held_out) == open_dataset(str(shelf / "dense")).rows(
        "train"
    )
