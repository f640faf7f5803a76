"""Linear learners beside scikit-learn, their memory and their breakdown."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from olscale.compiled.csr import to_csr
from olscale.data.chunk import Chunk
from olscale.errors import DivergedError, ParameterError
from olscale.learners.contract.cost import cost_of
from olscale.learners.contract.fused_settings import fuse
from olscale.learners.contract.learner import codes_of
from olscale.learners.registry import make_learner

URL_FEATURES = 3_231_961

LOG_LOSS = ("logistic", "adagrad", "ftrl")


def _stream(classes: int = 2, rows: int = 400, columns: int = 9) -> Chunk:
    rng = np.random.default_rng(3)
    y = rng.integers(0, classes, rows)
    X = rng.normal(size=(classes, columns))[y] + rng.normal(size=(rows, columns))
    X[rng.random(X.shape) < 0.3] = 0.0
    return Chunk(X, y, columns)


@pytest.mark.parametrize(
    ("name", "params", "theirs"),
    [
        ("pa1", {"C": 0.3}, {"learning_rate": "pa1", "eta0": 0.3}),
        ("pa2", {"C": 0.3}, {"learning_rate": "pa2", "eta0": 0.3}),
        (
            "ogd",
            {"C": 0.7},
            {"learning_rate": "invscaling", "eta0": 0.7, "power_t": 0.5},
        ),
    ],
)
def test_scikit_learn_agrees(
    name: str, params: dict[str, float], theirs: dict[str, object]
) -> None:
    """One pass of the SGDClassifier with the same rule gives the same weights to 1e-12."""
    chunk = _stream()
    peer = SGDClassifier(
        loss="hinge",
        penalty=None,
        fit_intercept=False,
        shuffle=False,
        max_iter=1,
        tol=None,
        **theirs,
    )
    peer.fit(chunk.X, chunk.y)
    learner = make_learner(name, params)
    learner.begin(chunk.columns, 2)
    learner.learn(chunk.X, chunk.y)
    np.testing.assert_allclose(learner.coef_, peer.coef_, rtol=1e-12, atol=1e-12)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("float32", "41.8 TB"), ("float64", "83.6 TB")],
    ids=["float32", "float64"],
)
def test_a_covariance_beyond_memory_is_refused_before_the_run(
    dtype: str, size: str
) -> None:
    learner = make_learner("arow", {"covariance": "full", "dtype": dtype})
    with pytest.raises(
        ParameterError, match=rf"arow.*{size}.*covariance=diagonal.*project"
    ):
        learner.begin(URL_FEATURES, 2)
    cost_of(make_learner("arow", {"covariance": "diagonal"})).check_memory(
        URL_FEATURES, 2
    )


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("multiclass", ["max-score", "ova"])
@pytest.mark.parametrize("classes", [2, 4])
def test_state_bytes_are_those_of_the_state(
    covariance: str, multiclass: str, classes: int
) -> None:
    learner = make_learner(
        "scw1", {"covariance": covariance, "multiclass": multiclass, "dtype": "float32"}
    )
    learner.begin(9, classes)
    arrays = sum(
        array.nbytes
        for name, array in learner.state().items()
        if name not in ("seen", "updates")
    )
    assert cost_of(learner).state_bytes(9, classes) == arrays


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_lost_definiteness_is_reported_with_its_row_whatever_the_chunks(
    kind: str,
) -> None:
    """Noise that no weights can separate drives full CW into a negative variance; never a score that is not finite."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (5000, 6)).astype(float)
    y = rng.integers(0, 2, 5000)
    rows = []
    for step in (5000, 7):
        learner = make_learner("cw", {"eta": 0.9, "covariance": "full"})
        learner.begin(6, 2)
        for start in range(0, 5000, step):
            part = X[start : start + step]
            try:
                scores = learner.learn(
                    part if kind == "dense" else to_csr(part), y[start : start + step]
                )
            except DivergedError as error:
                rows.append(error.row)
                break
            assert np.isfinite(scores).all()
    assert len(rows) == 2
    assert rows[0] == rows[1] > 0


@pytest.mark.parametrize("name", ["arow", "scw1", "scw2", "ogd", "pegasos", *LOG_LOSS])
def test_one_vs_all_columns_are_binary_learners(name: str) -> None:
    """Column k of a one-vs-all learner has the bits of the binary learner of class k against the rest."""
    chunk = _stream(classes=3)
    together = make_learner(name, {"multiclass": "ova"})
    together.begin(chunk.columns, 3)
    together.learn(chunk.X, chunk.y)
    for k in range(3):
        alone = make_learner(name, {})
        alone.begin(chunk.columns, 2)
        alone.learn(chunk.X, (chunk.y == k).astype(np.int64))
        np.testing.assert_array_equal(alone.coef_[0], together.coef_[k])  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "name", ["perceptron", "pa1", "ogd", "pegasos", "arow", "scw1", "scw2", "logistic"]
)
def test_float32_state_stays_close_to_float64(name: str) -> None:
    chunk = _stream()
    mistakes = []
    for dtype in ("float32", "float64"):
        learner = make_learner(name, {"dtype": dtype})
        learner.begin(chunk.columns, 2)
        mistakes.append(
            int((codes_of(learner.learn(chunk.X, chunk.y)) != chunk.y).sum())
        )
    assert abs(mistakes[0] - mistakes[1]) <= 4


@pytest.mark.parametrize(
    ("settings", "classes"), [(2, 2), (5, 2), (130, 2), (3, 50), (13, 10), (2, 130)]
)
@pytest.mark.parametrize("sparse", [False, True])
def test_settings_in_one_pass_learn_as_each_alone(
    settings: int, classes: int, sparse: bool
) -> None:
    """However many columns of scores learn at once: none is lost where the settings are divided."""
    rng = np.random.default_rng(settings)
    X = rng.normal(size=(200, 3))
    rows = to_csr(X) if sparse else X
    y = rng.integers(0, classes, 200)
    together = [
        make_learner("pa1", {"C": 0.5**i if i < 20 else 1.0 + i})
        for i in range(settings)
    ]
    for learner in together:
        learner.begin(3, classes)
    fused = fuse(together)
    scores = fused.learn(rows, y)
    fused.release()
    for learner, fused_scores in zip(together, scores, strict=True):
        alone = make_learner("pa1", {"C": learner.C})
        alone.begin(3, classes)
        np.testing.assert_array_equal(alone.learn(rows, y), fused_scores)
        np.testing.assert_array_equal(alone.state_["W"], learner.state_["W"])
