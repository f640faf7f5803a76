"""Datasets that several files of tests here use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from olscale.data.ingest.ingest import ingest
from tests.evaluation.weighted import ROWS, TEST_ROWS


@pytest.fixture(scope="module")
def weighted_sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with datasets of two classes, of three and of numbers, in chunks of 64 rows, all with weights."""
    folder = tmp_path_factory.mktemp("weighted")
    rng = np.random.default_rng(3)
    count = ROWS + TEST_ROWS
    X = rng.normal(size=(count, 3))
    weights = np.where(rng.random(count) < 0.1, 0.0, rng.exponential(size=count))
    score = X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=count)
    labels = {
        "two": score > 0.8,
        "three": np.digitize(score, [-0.5, 1.0]),
        "numbers": score,
    }
    for name, label in labels.items():
        np.savetxt(
            folder / f"{name}.csv",
            np.column_stack([X, weights, label]),
            delimiter=",",
            header="a,b,c,w,y",
            comments="",
        )
        target = "real" if name == "numbers" else "classes"
        ingest(
            folder / f"{name}.csv",
            folder / name,
            weights="w",
            train_rows=ROWS,
            chunk_rows=64,
            target=target,
        )
    return folder
