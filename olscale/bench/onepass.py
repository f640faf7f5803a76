"""replay-svm in one pass, against scikit-learn's SVC trained to the same test error.

Rows are clusters with noise, of 64 features. SVC is given ever more of the rows, until it errs no
more than `replay-svm` does after all of them; its C and width are the best of nine pairs on rows
that neither learns.
"""

from time import process_time

import numpy as np
from numpy.typing import NDArray

from olscale.bench.base import Figure
from olscale.learners.contract.learner import codes_of
from olscale.learners.registry import make_learner

_FEATURES = 64
_ROWS = 40_000
_TEST_ROWS = 5_000
_CHOICE_ROWS = 2_000
_NOISE = {"clean": 1.0, "noisy": 1.7}
_LEAST_SPEED = {2: 50_000, 10: 30_000}
"""Rows a second that are asked of `replay-svm`, by classes."""


def figures(rows: int = _ROWS) -> list[Figure]:
    """Return rows a second, seconds of training to one test error, and bytes of the models."""
    results = []
    for classes in _LEAST_SPEED:
        for kind in _NOISE:
            results += _figures(rows, classes, kind)
    return results


def _figures(rows: int, classes: int, kind: str) -> list[Figure]:
    what = f"{classes} classes, {kind}"
    X, y = _clusters(rows + _TEST_ROWS + _CHOICE_ROWS, classes, _NOISE[kind])
    test = slice(rows, rows + _TEST_ROWS)
    choice = slice(rows + _TEST_ROWS, None)
    learner = make_learner("replay-svm", {})
    learner.begin(_FEATURES, classes)
    # Compiles the loops, or loads them.
    make_ready = make_learner("replay-svm", {"B": 1, "D": 1})
    make_ready.begin(_FEATURES, classes)
    make_ready.learn(X[:10], y[:10])
    start = process_time()
    learner.learn(X[:rows], y[:rows])
    seconds = process_time() - start
    error = float(np.mean(codes_of(learner.scores(X[test])) != y[test]))
    speed = rows / seconds
    asked = _LEAST_SPEED[classes]
    size = learner.measures()["model_bytes"] / 1e6
    note = f"test error {100 * error:.2f} %, {size:.1f} MB"
    speed_note = f"{asked:,} rows/s"
    name = f"replay-svm, {what}"
    results = [
        Figure(name, speed / 1e3, "k rows/s", speed / asked, speed_note, ">= 1", note),
    ]
    params = _best_params(X[:_CHOICE_ROWS], y[:_CHOICE_ROWS], X[choice], y[choice])
    # SVC gets as few rows as it needs for the learner's error: its time grows faster than the rows.
    taken = 1_000
    while True:
        svc_seconds, svc_error, svc_bytes = _svc(
            params, X[:taken], y[:taken], X[test], y[test]
        )
        if svc_error <= error or taken >= rows:
            break
        taken = min(2 * taken, rows)
    note = (
        f"{taken:,} rows, test error {100 * svc_error:.2f} %, {svc_bytes / 1e6:.1f} MB"
    )
    svc = f"scikit-learn's SVC, {what}"
    results.append(Figure(svc, svc_seconds, "s", seconds / svc_seconds, name, "", note))
    return results


def _clusters(
    rows: int, classes: int, noise: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return rows around four centres for each class."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4 * classes, _FEATURES))
    cluster = rng.integers(0, len(centres), rows)
    X = centres[cluster] + noise * rng.normal(size=(rows, _FEATURES))
    return X, cluster % classes


def _best_params(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    held: NDArray[np.float64],
    labels: NDArray[np.int64],
) -> dict[str, float]:
    """Return the C and the width of SVC with the least error on rows that it does not learn."""
    # Widths in units of the median distance suit any number of features.
    typical = float(np.median(((X[:200, None] - X[None, :200]) ** 2).sum(axis=2)))
    grid = [
        {"C": C, "gamma": width / typical}
        for C in (1.0, 10.0, 100.0)
        for width in (0.25, 1.0, 4.0)
    ]
    return min(grid, key=lambda params: _svc(params, X, y, held, labels)[1])


def _svc(
    params: dict[str, float],
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    test: NDArray[np.float64],
    labels: NDArray[np.int64],
) -> tuple[float, float, float]:
    """Train SVC; return its seconds, its test error, and the bytes of its support vectors."""
    from sklearn.svm import SVC

    machine = SVC(**params, cache_size=500)
    start = process_time()
    machine.fit(X, y)
    seconds = process_time() - start
    error = float(np.mean(machine.predict(test) != labels))
    return (
        seconds,
        error,
        float(machine.support_vectors_.nbytes + machine.dual_coef_.nbytes),
    )
