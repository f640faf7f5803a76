"""Measures that count rows by their weights are those of scikit-learn, however the stream is cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as reference

from olscale.data.ingest.ingest import ingest
from olscale.learners.contract.learner import codes_of
from olscale.learners.registry import make_learner
from olscale.results.rows import run_bytes
from tests.evaluation.weighted import ROWS, planned, records, rows_of, scores_along


def test_measures_of_classes_are_those_of_scikit_learn_with_weights(
    weighted_sets: Path,
) -> None:
    asked = ["accuracy", "weighted_f1", "macro_precision", "macro_recall", "confusion"]
    [record] = records(
        planned(
            weighted_sets / "three",
            "pa1",
            weighted_measures=True,
            measures=asked,
            window=100,
        )
    )
    predicted = codes_of(scores_along("pa1", {}, weighted_sets / "three"))
    _, y, weights = rows_of(weighted_sets / "three")
    found = record.metrics
    given: dict[str, Any] = {"sample_weight": weights}
    wrong = 1.0 - reference.accuracy_score(y, predicted, **given)
    assert found["cumulative_error"] == pytest.approx(wrong)
    assert found["accuracy"] == pytest.approx(1.0 - wrong)
    assert found["balanced_accuracy"] == pytest.approx(
        reference.balanced_accuracy_score(y, predicted, **given)
    )
    assert found["kappa"] == pytest.approx(
        reference.cohen_kappa_score(y, predicted, **given)
    )
    for name, average in (("macro_f1", "macro"), ("weighted_f1", "weighted")):
        assert found[name] == pytest.approx(
            reference.f1_score(y, predicted, average=average, **given)
        )
    assert found["macro_precision"] == pytest.approx(
        reference.precision_score(y, predicted, average="macro", **given)
    )
    assert found["macro_recall"] == pytest.approx(
        reference.recall_score(y, predicted, average="macro", **given)
    )
    series = {one.name: one for one in record.series}
    matrix = reference.confusion_matrix(y, predicted, **given)
    cells = series["confusion"].rows
    np.testing.assert_allclose(
        series["confusion"].values, matrix[cells // 65536, cells % 65536]
    )
    last = slice(-100, None)
    of_window = 1.0 - reference.accuracy_score(
        y[last], predicted[last], sample_weight=weights[last]
    )
    assert found["window_error"] == pytest.approx(of_window)
    assert series["cumulative_error"].values[-1] == found["cumulative_error"]
    assert "mistakes" not in found


def test_auc_is_that_of_scikit_learn_with_weights(weighted_sets: Path) -> None:
    [record] = records(
        planned(weighted_sets / "two", "pa1", weighted_measures=True, measures=["auc"])
    )
    scores = scores_along("pa1", {}, weighted_sets / "two")[:, 0]
    _, y, weights = rows_of(weighted_sets / "two")
    assert record.metrics["auc"] == pytest.approx(
        reference.roc_auc_score(y, scores, sample_weight=weights)
    )


def test_residuals_are_those_of_scikit_learn_with_weights(weighted_sets: Path) -> None:
    [record] = records(
        planned(
            weighted_sets / "numbers",
            "pa1-r",
            weighted_measures=True,
            measures=["mae", "r2"],
        )
    )
    predicted = scores_along("pa1-r", {}, weighted_sets / "numbers")[:, 0]
    _, y, weights = rows_of(weighted_sets / "numbers")
    found = record.metrics
    assert found["mae"] == pytest.approx(
        reference.mean_absolute_error(y, predicted, sample_weight=weights)
    )
    assert found["rmse"] == pytest.approx(
        reference.mean_squared_error(y, predicted, sample_weight=weights) ** 0.5
    )
    assert found["r2"] == pytest.approx(
        reference.r2_score(y, predicted, sample_weight=weights)
    )


def test_test_rows_count_by_their_weights(weighted_sets: Path) -> None:
    options = {
        "weighted_measures": True,
        "measures": ["train_error"],
        "test_only": False,
    }
    [record] = records(planned(weighted_sets / "two", "pa1", **options))
    X, y, weights = rows_of(weighted_sets / "two")
    learner: Any = make_learner("pa1", {})
    learner.begin(3, 2)
    learner.learn(X, y, weights)
    for split, name in (("test", "test_error"), ("train", "train_error")):
        X, y, weights = rows_of(weighted_sets / "two", split)
        wrong = codes_of(learner.scores(X)) != y
        assert record.metrics[name] == pytest.approx(np.average(wrong, weights=weights))


def test_chunks_change_no_bit_of_weighted_measures(
    weighted_sets: Path, tmp_path: Path
) -> None:
    ingest(
        weighted_sets / "two.csv",
        tmp_path / "two",
        weights="w",
        train_rows=ROWS,
        chunk_rows=17,
        target="classes",
    )
    asked = {
        "measures": ["kappa", "auc", "confusion"],
        "window": 40,
        "fading": 0.95,
        "holdout_every": 90,
    }
    of_chunks = [
        records(planned(path, "pa1", weighted_measures=True, **asked))[0]
        for path in (weighted_sets / "two", tmp_path / "two")
    ]
    assert run_bytes(of_chunks[0]) == run_bytes(of_chunks[1])
