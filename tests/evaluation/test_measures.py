"""Measures against scikit-learn's and River's functions of the same rows, and against their definitions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from river import metrics as river
from scipy.stats import gmean
from sklearn import metrics as sk

from olscale.evaluation.metrics import (
    ClassMeasures,
    Confusion,
    MedianError,
    Ranking,
    Residuals,
    Roc,
    StreamShape,
)
from olscale.evaluation.metrics.base import Metric
from olscale.evaluation.protocol import Scoring
from olscale.measures import askable
from olscale.task import Task

CLOSE = {"rtol": 1e-12, "atol": 1e-12}

SETS = [
    (classes, seed, kind)
    for classes in (2, 3, 10, 1000)
    for seed in (0, 1)
    for kind in ("all", "few")
]


def made_labels(
    classes: int, seed: int, kind: str, rows: int = 700
) -> tuple[np.ndarray, np.ndarray]:
    """Return classes, of which `few` are met and others predicted, and predictions."""
    rng = np.random.default_rng([classes, seed])
    y = rng.integers(0, classes if kind == "all" else max(1, classes // 3), rows)
    y = np.where(rng.random(rows) < 0.5, y, np.roll(y, 1))
    return y, np.where(rng.random(rows) < 0.6, y, rng.integers(0, classes, rows))


def classes_of(
    classes: int, scoring: Scoring, rows: int, task: Task = "classification"
) -> ClassMeasures:
    return ClassMeasures(StreamShape(rows, classes, (), scoring, task))


def shown(metric: Metric, y: Any, predicted: Any, scores: Any = None) -> Metric:
    """Show a metric the rows as a stream in pieces, and as the test split."""
    scores = np.zeros((len(y), 1)) if scores is None else scores
    for start in range(0, len(y), 130):
        rows = slice(start, start + 130)
        metric.see(y[rows], predicted[rows], scores[rows])
    metric.test(y, predicted, scores)
    return metric


def of_labels(y: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """Return what scikit-learn says."""
    present = {"average": "macro", "zero_division": 0}
    met = np.unique(y)
    return {
        "accuracy": sk.accuracy_score(y, p),
        # its own warns of classes not met
        "balanced_accuracy": sk.recall_score(y, p, labels=met, **present),
        "macro_f1": sk.f1_score(y, p, **present),
        "weighted_f1": sk.f1_score(y, p, average="weighted", zero_division=0),
        "macro_precision": sk.precision_score(y, p, **present),
        "macro_recall": sk.recall_score(y, p, **present),
        "g_mean": gmean(
            sk.recall_score(y, p, labels=met, average=None, zero_division=0)
        ),
        "kappa": sk.cohen_kappa_score(y, p),
    }


@pytest.mark.parametrize(("classes", "seed", "kind"), SETS)
def test_class_measures_are_those_of_scikit_learn(
    classes: int, seed: int, kind: str
) -> None:
    """Over the stream, its last rows, rows held out and the test split, with classes that are never met or predicted."""
    y, p = made_labels(classes, seed, kind)
    scoring = Scoring(
        measures=tuple(askable("classification")),
        window=90,
        holdout_every=60,
        holdout_rows=40,
    )
    found = shown(classes_of(classes, scoring, len(y)), y, p).values()
    for form, rows in (
        ("", slice(None)),
        ("test_", slice(None)),
        ("window_", slice(-90, None)),
    ):
        for name, expected in of_labels(y[rows], p[rows]).items():
            np.testing.assert_allclose(
                found[form + name], expected, **CLOSE, err_msg=form + name
            )
    parts = [of_labels(y[at : at + 40], p[at : at + 40]) for at in range(60, 700, 100)]
    for name in parts[0]:
        np.testing.assert_allclose(
            found[f"holdout_{name}"], np.mean([part[name] for part in parts]), **CLOSE
        )


def test_kappas_against_dull_learners_follow_their_definition() -> None:
    """The majority so far and the class before, row by row; on the test split the majority of the stream."""
    y, p = made_labels(4, 0, "all")
    counts: Counter[int] = Counter()
    majority = 0
    before = 0
    hits = np.zeros(3)
    for target, predicted in zip(y.tolist(), p.tolist(), strict=True):
        hits += [target == predicted, target == majority, target == before]
        counts[target] += 1
        majority = max(range(4), key=lambda code: (counts[code], -code))
        before = target
    right, baseline, same = hits / len(y)
    found = shown(classes_of(4, Scoring(), len(y)), y, p).values()
    np.testing.assert_allclose(
        found["kappa_m"], (right - baseline) / (1 - baseline), **CLOSE
    )
    np.testing.assert_allclose(found["kappa_t"], (right - same) / (1 - same), **CLOSE)
    frozen = (y == majority).mean()
    np.testing.assert_allclose(
        found["test_kappa_m"], (right - frozen) / (1 - frozen), **CLOSE
    )
    last = (y == before).mean()
    np.testing.assert_allclose(
        found["test_kappa_t"], (right - last) / (1 - last), **CLOSE
    )


def test_one_class_has_no_kappa() -> None:
    """A quotient of zeros is left out, not NaN."""
    y = np.zeros(50, dtype=np.int64)
    found = shown(classes_of(2, Scoring(), 50), y, y).values()
    assert (
        found["balanced_accuracy"] == found["macro_f1"] == found["test_macro_f1"] == 1.0
    )
    assert not {"kappa", "kappa_m", "test_kappa", "test_kappa_t"} & set(found)


def test_fading_counts_weigh_rows_by_their_age() -> None:
    y, p = made_labels(3, 0, "all", 300)
    scoring = Scoring(measures=("accuracy", "kappa", "weighted_f1"), fading=0.95)
    found = shown(classes_of(3, scoring, 300), y, p).values()
    weight = 0.95 ** np.arange(299, -1, -1)
    np.testing.assert_allclose(
        found["fading_accuracy"], sk.accuracy_score(y, p, sample_weight=weight), **CLOSE
    )
    np.testing.assert_allclose(
        found["fading_kappa"], sk.cohen_kappa_score(y, p, sample_weight=weight), **CLOSE
    )
    expected = sk.f1_score(y, p, average="weighted", sample_weight=weight)
    np.testing.assert_allclose(found["fading_weighted_f1"], expected, **CLOSE)


def test_classes_that_have_faded_away_are_no_longer_measured() -> None:
    """Sums of the least floats would fade no further, and give a class of which half was found a recall of 1."""
    y = np.zeros(76_000, dtype=np.int64)
    p = np.zeros(76_000, dtype=np.int64)
    y[:400] = 2
    p[:400:2] = 2
    p[1:400:2] = 1
    p[-1] = 1
    scoring = Scoring(measures=("balanced_accuracy", "macro_precision"), fading=0.99)
    found = shown(classes_of(3, scoring, len(y)), y, p).values()
    assert found["fading_balanced_accuracy"] == pytest.approx(0.99, rel=1e-12)
    assert found["fading_macro_precision"] == 0.5


def test_no_kappa_is_of_a_baseline_whose_mistakes_are_mere_rounding() -> None:
    """With the last mistake 1,100 rows ago, 1 - 0.98**1100 has five digits of it left."""
    y = np.zeros(3_000, dtype=np.int64)
    y[100] = 1
    p = np.zeros(3_000, dtype=np.int64)
    p[::50] = 1
    scoring = Scoring(measures=("kappa_m",), fading=0.98)
    metric = shown(classes_of(2, scoring, len(y)), y, p)
    assert "fading_kappa_m" not in metric.values()
    curve = next(each for each in metric.series() if each.name == "fading_kappa_m")
    assert 1_000 < curve.rows[-1] < 1_200
    mistake = 1.0
    mistakes = 0.0
    for row in range(101, int(curve.rows[-1])):
        mistake *= 0.98
        mistakes = mistakes * 0.98 + (y[row] != p[row])
    earlier = sum(0.98 ** (100 - row) for row in (0, 50))
    expected = 1.0 - (mistakes + earlier * mistake) / mistake
    assert curve.values[-1] == pytest.approx(expected, rel=1e-4)


def test_residuals_that_have_faded_away_are_no_longer_measured() -> None:
    t = np.where(np.arange(76_000) < 400, np.arange(76_000) % 7, 0.0)
    shape = StreamShape(
        len(t), 0, (), Scoring(measures=("r2", "rmae"), fading=0.99), "regression"
    )
    metric = shown(Residuals(shape), t, t / 2)
    assert "fading_r2" not in metric.values()
    # of errors that have faded away, by a mean that is still wrong
    assert metric.values()["fading_rmae"] < 1e-300
    curve = next(each for each in metric.series() if each.name == "fading_r2")
    assert 66_000 < curve.rows[-1] < 68_000
    np.testing.assert_allclose(curve.values[40:], curve.values[40], rtol=1e-9)


def test_costs_are_of_the_class_that_was_missed() -> None:
    y = np.array([0, 0, 1, 2, 2])
    p = np.array([0, 1, 0, 2, 0])
    found = shown(classes_of(3, Scoring(costs=(1.0, 10.0, 100.0)), 5), y, p).values()
    assert found["cost"] == found["test_cost"] == 111.0 / 5


def test_rates_of_novelty_detection() -> None:
    y = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    p = np.array([0, 0, 1, 1, 1, 1, 1, 0])
    found = shown(classes_of(2, Scoring(), 8, "novelty"), y, p).values()
    assert (found["true_positive_rate"], found["false_positive_rate"]) == (2 / 3, 1 / 5)


@pytest.mark.parametrize("digits", [0, 1, 8])
def test_auc_is_that_of_scikit_learn_and_along_the_stream_that_of_river(
    digits: int,
) -> None:
    """With many ties, some and none; windows as River's."""
    rng = np.random.default_rng(digits)
    y = rng.integers(0, 2, 600)
    scores = np.round(rng.normal(size=600) + y, digits)[:, np.newaxis]
    scoring = Scoring(measures=("auc",), window=80)
    metric = shown(Ranking(StreamShape(600, 2, (), scoring)), y, y, scores)
    expected = sk.roc_auc_score(y, scores[:, 0])
    for name in ("auc", "test_auc"):
        np.testing.assert_allclose(metric.values()[name], expected, **CLOSE)
    [curve] = metric.series()
    late = curve.rows >= 80
    windows = [slice(stop - 80, stop) for stop in curve.rows[late].tolist()]
    ours = [sk.roc_auc_score(y[rows], scores[rows, 0]) for rows in windows[::10]]
    np.testing.assert_allclose(curve.values[late][::10], ours, **CLOSE)
    if digits < 8:
        return  # ties are 1/2 for scikit-learn and us, less for River
    rolling = river.RollingROCAUC(window_size=80)
    theirs = {}
    for row, (target, score) in enumerate(
        zip(y.tolist(), scores[:, 0].tolist(), strict=True), 1
    ):
        rolling.update(target == 1, score)
        theirs[row] = rolling.get()
    np.testing.assert_allclose(
        curve.values[late],
        [theirs[row] for row in curve.rows[late]],
        rtol=0,
        atol=1e-12,
    )


def test_kappa_along_the_stream_is_that_of_river() -> None:
    y, p = made_labels(5, 0, "all")
    metric = river.CohenKappa()
    theirs = []
    for target, predicted in zip(y.tolist(), p.tolist(), strict=True):
        metric.update(target, predicted)
        theirs.append(metric.get())
    [curve] = shown(classes_of(5, Scoring(measures=("kappa",)), len(y)), y, p).series()
    np.testing.assert_allclose(
        curve.values, np.array(theirs)[curve.rows - 1], rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_residuals_are_those_of_scikit_learn(offset: float) -> None:
    """Of the stream, windows, with fading and on the test split."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=500) + offset
    p = y + rng.normal(size=500)
    scoring = Scoring(
        measures=tuple(askable("regression")), window=70, fading=0.9, epsilon=0.25
    )
    shape = StreamShape(500, 0, (), scoring, "regression")
    found = (
        shown(Residuals(shape), y, p).values()
        | shown(MedianError(shape), y, p).values()
    )
    baseline = np.array([0.0, *(np.cumsum(y) / np.arange(1, 501))[:-1]])
    for form, rows in (
        ("", slice(None)),
        ("window_", slice(-70, None)),
        ("test_", slice(None)),
    ):
        t = y[rows]
        q = p[rows]
        base = np.full(500, y.mean()) if form == "test_" else baseline[rows]
        expected = {
            "mae": sk.mean_absolute_error(t, q),
            "rmse": sk.root_mean_squared_error(t, q),
            "r2": sk.r2_score(t, q),
            "medae": sk.median_absolute_error(t, q),
            "rmae": np.abs(t - q).sum() / np.abs(t - base).sum(),
            "rrmse": (((t - q) ** 2).sum() / ((t - base) ** 2).sum()) ** 0.5,
            "epsilon_loss": np.maximum(0.0, np.abs(t - q) - 0.25).mean(),
        }
        for name, value in expected.items():
            far = 1e-12 if not offset else 1e-8
            np.testing.assert_allclose(
                found[form + name], value, rtol=far, atol=far, err_msg=form + name
            )
    weight = 0.9 ** np.arange(499, -1, -1)
    far = 1e-12 if not offset else 1e-8
    np.testing.assert_allclose(
        found["fading_r2"], sk.r2_score(y, p, sample_weight=weight), rtol=far, atol=far
    )


def test_confusion_is_that_of_scikit_learn() -> None:
    y, p = made_labels(1000, 0, "all")
    metric = shown(
        Confusion(StreamShape(len(y), 1000, (), Scoring(measures=("confusion",)))), y, p
    )
    for series in metric.series():
        matrix = np.zeros((1000, 1000))
        matrix[series.rows // 65536, series.rows % 65536] = series.values
        np.testing.assert_array_equal(
            matrix, sk.confusion_matrix(y, p, labels=np.arange(1000))
        )


@pytest.mark.parametrize(
    ("task", "digits"), [("classification", 1), ("novelty", 1), ("classification", 9)]
)
def test_a_roc_has_points_of_that_of_scikit_learn(task: Task, digits: int) -> None:
    """With ties and without; from no false positive to all, and an area that 200 points keep."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 3000)
    scores = np.round(rng.normal(size=(3000, 1)) + y[:, np.newaxis], digits)
    metric = Roc(StreamShape(3000, 2, (), Scoring(measures=("roc",), window=10), task))
    for part in np.array_split(np.arange(3000), 4):
        metric.see(y[part], y[part], scores[part])
        metric.test(y[part], y[part], scores[part])
    [stream, test] = metric.series()
    assert (stream.name, test.name, metric.values()) == ("roc", "test_roc", {})
    np.testing.assert_array_equal(stream.values, test.values)
    positive, score = (
        (y == 0, -scores[:, 0]) if task == "novelty" else (y == 1, scores[:, 0])
    )
    false, true, _ = sk.roc_curve(positive, score, drop_intermediate=False)
    points = {
        (round(f * (~positive).sum()), t) for f, t in zip(false, true, strict=True)
    }
    assert set(zip(test.rows.tolist(), test.values.tolist(), strict=True)) <= points
    assert (test.rows[0], test.rows[-1], test.values[-1]) == (0, (~positive).sum(), 1.0)
    assert len(test.rows) <= 200
    area = np.trapezoid(test.values, test.rows / test.rows[-1])
    assert area == pytest.approx(sk.roc_auc_score(positive, score), abs=2e-3)


def test_there_is_no_roc_of_one_class() -> None:
    metric = Roc(StreamShape(3, 2, (), Scoring(measures=("roc",))))
    metric.test(np.ones(3, dtype=np.int64), np.ones(3), np.arange(3.0)[:, np.newaxis])
    assert metric.series() == []
