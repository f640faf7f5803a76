"""Examples 2 and 3 of the OLK paper: the order of the methods over 20 draws, and how the tube thins the vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from olscale.compiled.csr import read_only
from olscale.data.generators import gaussian_novelties, noisy_sines
from olscale.learners.registry import make_learner

OLK = {"p": 0.5, "C": 1.0, "r": 0.001, "epsilon": 0.5}


def _rmse(name: str, params: dict[str, Any], rows: int) -> float:
    errors = []
    for seed in range(20):
        (batch,), (test,) = (
            noisy_sines.batches(rows, seed),
            noisy_sines.test_batches(seed),
        )
        learner = make_learner(name, params)
        learner.begin(1, 0)
        learner.learn(read_only(batch.X), read_only(batch.target))
        errors.append(
            np.sqrt(
                np.mean((learner.scores(read_only(test.X))[:, 0] - test.target) ** 2)
            )
        )
    return float(np.mean(errors))


def test_the_order_of_methods_of_example_2() -> None:
    """Up to 300 rows as the paper states it: OLK-R ahead of NORMA and the kernel perceptron, and as good as KRLS."""
    norma = {"p": 0.5, "lam": 0.01, "eta": 0.1, "epsilon": 0.5}
    for rows in (150, 300):
        olk = _rmse("olk-r", OLK, rows)
        assert olk < 0.12
        assert olk < _rmse("norma-r", norma, rows)
        assert olk < _rmse("kernel-perceptron-r", {"p": 0.5, "eta": 0.02}, rows)
        assert olk < _rmse("krls", {"p": 0.5, "nu": 0.001}, rows)


def test_a_wider_tube_leaves_fewer_vectors() -> None:
    (batch,) = noisy_sines.batches(noisy_sines.ROWS, seed=0)
    counts = []
    for epsilon in (0.0, 0.2, 0.4, 0.7, 1.0):
        learner = make_learner("olk-r", {**OLK, "epsilon": epsilon})
        learner.begin(1, 0)
        learner.learn(read_only(batch.X), read_only(batch.target))
        counts.append(int(learner.measures()["support_vectors"]))
    assert counts[0] == 700
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < 15


def test_the_order_of_methods_of_example_3() -> None:
    """OLK-N finds all novelties, with some normal rows, and its area under the ROC is at least NORMA's."""
    params = {
        "olk-n": {"p": 1.0, "C": 0.2, "v": 0.1},
        "norma-n": {"p": 1.0, "eta": 0.1, "lam": 1.0, "nu": 0.1},
    }
    areas: dict[str, list[float]] = {name: [] for name in params}
    for seed in range(20):
        (batch,) = gaussian_novelties.batches(100, seed)
        y = np.asarray(batch.target)
        for name in params:
            learner = make_learner(name, params[name])
            learner.begin(2, 2)
            learner.learn(read_only(batch.X), read_only(np.zeros(100, dtype=np.int64)))
            scores = learner.scores(read_only(batch.X))[:, 0]
            areas[name].append(float(roc_auc_score(y, scores)))
            if name == "olk-n":
                assert (scores[y < 0] < 0).all()
                assert (scores[y > 0] < 0).mean() < 0.25
    assert np.mean(areas["olk-n"]) > 0.98
    assert np.mean(areas["olk-n"]) > np.mean(areas["norma-n"])
