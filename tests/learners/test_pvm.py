"""Projection vector machines: the batch one beside plain numpy and exact figures, the online one beside the batch one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.io

from olscale.compiled.csr import read_only, to_csr
from olscale.errors import ParameterError
from olscale.learners.contract.learner import codes_of
from olscale.learners.network.block_learner import BlockLearner
from olscale.learners.network.pvm import OSPVM, PVM
from tests.learners.exact import DATA, exact_rows, noted, params_of


def stream(
    classes: int, n: int = 90, d: int = 20, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    return read_only(
        rng.normal(size=(classes, d))[y]
        + rng.normal(size=(n, d)) * np.linspace(1.0, 0.3, d)
        + 1.0
    ), read_only(y)


def oracle(
    X: np.ndarray,
    y: np.ndarray,
    new: np.ndarray,
    nodes: int | None = None,
    ratio: float = 0.7,
    power: int = 1,
    lam: float = 0.0,
    centred: bool = True,
) -> np.ndarray:
    """Return the scores as the equations have them, the row of ones among the rows that are decomposed."""
    mean = X.mean(axis=0) if centred else 0.0 * X[0]
    extended = np.vstack([(X - mean).T, np.ones(len(X))])
    U, s, _ = np.linalg.svd(extended, full_matrices=False)
    if nodes is None:
        share = np.cumsum(s**power) / np.sum(s**power)
        nodes = int(np.argmax(share >= ratio - 1e-15)) + 1
    U = U[:, :nodes] * np.sign(U[np.abs(U[:, :nodes]).argmax(axis=0), np.arange(nodes)])
    H, G = (
        1.0 / (1.0 + np.exp(-rows @ U))
        for rows in (extended.T, np.hstack([new - mean, np.ones((len(new), 1))]))
    )
    T = np.where(y[:, None] == np.arange(y.max() + 1), 1.0, -1.0)
    T = T[:, 1:] if y.max() == 1 else T
    beta = (
        np.linalg.pinv(H) @ T
        if lam == 0.0
        else np.linalg.solve(H.T @ H + lam * np.eye(nodes), H.T @ T)
    )
    return G @ beta


def scores_of(
    learner: Any, X: np.ndarray, y: np.ndarray, new: np.ndarray, cut: int = 10**9
) -> np.ndarray:
    learner.begin(X.shape[1], y.max() + 1)
    for start in range(0, len(X), cut):
        learner.learn(X[start : start + cut], y[start : start + cut])
    return learner.scores(new)


CHOICES: tuple[dict[str, Any], ...] = (
    {"nodes": 7},
    {"nodes": 1},
    {"ratio": 0.7},
    {"ratio": 0.9, "ratio_of": "s2"},
    {"nodes": 12, "lam": 0.1},
)


@pytest.mark.parametrize("params", CHOICES)
@pytest.mark.parametrize(
    ("classes", "n", "d"), [(2, 90, 20), (4, 90, 20), (3, 40, 120)]
)
def test_scores_are_those_of_the_equations(
    classes: int, n: int, d: int, params: dict[str, Any]
) -> None:
    X, y = stream(classes, n, d)
    new, _ = stream(classes, 30, d, seed=1)
    plain = {key: value for key, value in params.items() if key != "ratio_of"}
    expected = oracle(
        X, y, new, power=2 if params.get("ratio_of") == "s2" else 1, **plain
    )
    np.testing.assert_allclose(
        scores_of(PVM(**params), X, y, new), expected, atol=1e-11
    )
    for block in (1, 16):
        np.testing.assert_allclose(
            scores_of(OSPVM(block=block, **params), X, y, new), expected, atol=1e-11
        )


@pytest.mark.parametrize("block", [1, 16, 40])
def test_without_a_mean_rows_are_not_centred(block: int) -> None:
    X, y = stream(3)
    new, _ = stream(3, 30, seed=1)
    expected = oracle(X, y, new, nodes=9, centred=False)
    np.testing.assert_allclose(
        scores_of(OSPVM(nodes=9, block=block, mean_update=False), X, y, new),
        expected,
        atol=1e-11,
    )


def orl() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return images 1 to 5 of each person, image 1 of all first, and images 6 to 10."""
    path = DATA / "face_small" / "ORL.mat"
    if not path.exists():
        pytest.skip(f"real data file {path} is absent")
    file = scipy.io.loadmat(path)
    X = file["X"] / 255.0
    y = file["Y"].ravel() - 1
    images = np.array([np.flatnonzero(y == person) for person in range(40)]).T
    train = images[:5].ravel()
    test = images[5:].ravel()
    return (
        read_only(X[train]),
        read_only(y[train].astype(np.int64)),
        read_only(X[test]),
        y[test],
    )


@pytest.mark.parametrize("row", exact_rows("pvm"), ids=lambda row: row["params"])
def test_the_figures_on_orl_are_met(row: dict[str, str]) -> None:
    X, y, test, labels = orl()
    nodes = int(params_of(row)["nodes"])
    scores = [
        scores_of(learner, X, y, test)
        for learner in (PVM(nodes=nodes), OSPVM(nodes=nodes))
    ]
    for found in scores:
        assert np.mean(codes_of(found) == labels) == pytest.approx(
            float(row["test_accuracy"]), abs=1e-12
        )
        total = noted(row, "sum |score| over the 200 x 40 test scores")
        assert np.abs(found).sum() == pytest.approx(total, rel=1e-11)
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-11)


def test_one_by_one_on_orl_is_batch() -> None:
    """From one row on; 71 nodes are those of the ratio 0.7."""
    X, y, test, _ = orl()
    learner = OSPVM(ratio=0.7, block=1)
    batch = PVM(nodes=71)
    np.testing.assert_allclose(
        scores_of(learner, X, y, test), scores_of(batch, X, y, test), atol=1e-11
    )
    assert learner.measures()["nodes"] == 71.0
    assert learner.measures()["rank"] == 199.0


def test_nodes_grow_with_the_rows_as_in_figure_1() -> None:
    """As those of the ratio 0.7 of all singular values of so many rows; random orders have 20, 34, 48, 60, 72."""
    X, y, _, _ = orl()
    learner = OSPVM(ratio=0.7, block=40)
    nodes = []
    learner.begin(1024, 40)
    for start in range(0, 200, 40):
        learner.learn(X[start : start + 40], y[start : start + 40])
        nodes.append(learner.measures()["nodes"])
    assert nodes == [19, 33, 46, 59, 71]


def test_rows_are_scored_by_the_blocks_before() -> None:
    X, y = stream(3)
    learner = OSPVM(nodes=5, block=16)
    learner.begin(20, 3)
    scores = learner.learn(X, y)
    np.testing.assert_array_equal(scores[:16], 0.0)
    for start in (16, 64):
        np.testing.assert_allclose(
            scores[start : start + 16],
            oracle(X[:start], y[:start], X[start : start + 16], 5),
            atol=1e-10,
        )


def test_the_constant_node_makes_signs_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While it is among the nodes: of long rows it comes last, and signs are the result."""
    X, y, test, _ = orl()
    moved = []
    for scale in (1.0, 255.0):
        before = scores_of(
            PVM(nodes=60), read_only(scale * X), y, read_only(scale * test)
        )
        with monkeypatch.context() as patch:
            patch.setattr(
                "olscale.compiled.components._signs",
                lambda U: np.where(np.arange(U.shape[1]) % 2, 1.0, -1.0),
            )
            after = scores_of(
                PVM(nodes=60), read_only(scale * X), y, read_only(scale * test)
            )
        moved.append(np.abs(after - before).max())
    assert moved[0] < 1e-11
    assert moved[1] > 0.1


def test_few_directions_are_kept_where_it_is_said() -> None:
    X, y = stream(3, n=90, d=40)
    learner = OSPVM(nodes=6, keep=8)
    whole = OSPVM(nodes=6)
    scores = [scores_of(model, X, y, X) for model in (learner, whole)]
    assert learner.measures()["rank"] == 8.0
    assert learner.measures()["model_bytes"] < whole.measures()["model_bytes"]
    assert 1e-6 < np.abs(scores[0] - scores[1]).max() < 1.0


def test_rank_keeps_nodes_within_bounds() -> None:
    """Rows that do not vary, one row, nodes beyond the rank: the constant node is always there."""
    for X in (np.full((9, 3), 0.1), np.ones((1, 3))):
        y = read_only(np.arange(len(X)) % 2)
        learner = OSPVM(nodes=50)
        learner.begin(3, 2)
        learner.learn(read_only(X), y)
        assert learner.measures()["nodes"] == 1.0
        np.testing.assert_allclose(
            learner.scores(read_only(X)), 2.0 * y.mean() - 1.0, atol=1e-12
        )


def test_nodes_and_ratio_are_one_parameter_in_canonical_form() -> None:
    assert (
        OSPVM(nodes=5, ratio=0.3).resolved_params() == OSPVM(nodes=5).resolved_params()
    )
    assert {"ratio", "ratio_of"} <= PVM().resolved_params().keys()
    assert "nodes" not in PVM().resolved_params()


def test_more_rows_than_the_capacity_are_refused() -> None:
    X, y = stream(2)
    with pytest.raises(
        ParameterError, match="keeps the places of all rows, and 64 are more"
    ):
        scores_of(OSPVM(capacity=60), X, y, X)
    with pytest.raises(ParameterError, match="may need"):
        OSPVM(capacity=10**7).begin(10**6, 2)


def test_a_state_that_cannot_be_is_refused() -> None:
    X, y = stream(2)
    learner = OSPVM()
    learner.begin(20, 2)
    learner.learn(to_csr(X), y)
    state = learner.state()
    wrong = {
        "places": state["places"][:5],
        "labels": state["labels"][:5],
        "U": state["U"][:, :5],
        "seen": state["seen"] - 90,
    }
    for name, array in (
        *wrong.items(),
        ("labels", state["labels"] + 2),
        ("s", state["s"].astype(np.float32)),
    ):
        fresh: BlockLearner = OSPVM()
        fresh.begin(20, 2)
        with pytest.raises(ValueError, match="state does not fit learner ospvm"):
            fresh.restore({**state, name: array})
