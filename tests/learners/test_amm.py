"""AMM against the update as the paper has it, in plain numpy, and against figures of BudgetedSVM."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

from olscale.compiled.csr import to_dense
from olscale.learners.contract.estimator import to_rows
from olscale.learners.contract.learner import codes_of
from olscale.learners.local.amm import AMM
from tests.learners.exact import DATA, WIDTH, exact_rows, noted, params_of, rows_of_file


class Oracle:
    """The weights themselves, multiplied at every row."""

    def __init__(
        self, columns: int, classes: int, lam: float, limit: int, k: int, c: float
    ) -> None:
        self.lam = lam
        self.limit = limit
        self.k = k
        self.c = c
        self.t = 0
        self.weights = [[np.zeros(columns)] for _ in range(classes)]

    def learn(self, x: np.ndarray, y: int) -> np.ndarray:
        self.t += 1
        products = [np.array([w @ x for w in of]) for of in self.weights]
        g = np.array([p.max() for p in products])
        z = int(np.argmax(np.where(np.arange(len(g)) == y, -np.inf, g)))
        mine = int(np.argmax(products[y]))
        other = int(np.argmax(products[z]))
        step = x / ((self.t + 1) * self.lam)
        self.weights = [[w * (1 - 1 / (self.t + 1)) for w in of] for of in self.weights]
        if 1 + g[z] - g[y] > 0 and x.any():
            self.weights[z][other] -= step
            if g[y] > 0:
                self.weights[y][mine] += step
            elif len(self.weights[y]) < self.limit:
                self.weights[y].append(step)
        if self.t % self.k == 0:
            self._prune()
        return g

    def _prune(self) -> None:
        total = 0.0
        every = [(w @ w, i, id(w)) for i, of in enumerate(self.weights) for w in of]
        for square, i, which in sorted(every, key=lambda one: one[0]):
            total += square
            if total > (self.c / (self.t * self.lam)) ** 2:
                return
            if len(self.weights[i]) > 1:
                self.weights[i] = [w for w in self.weights[i] if id(w) != which]


def _bananas(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of classes that each lie in two places, and some rows of zeros."""
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, 400)
    places = rng.standard_normal((classes, 2, 5)) * 2
    X = places[y, rng.integers(0, 2, 400)] + rng.standard_normal((400, 5))
    X[::50] = 0.0
    return X, y


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    ("lam", "limit", "k", "c"),
    [(0.01, 20, 10_000, 10.0), (0.1, 3, 50, 5.0), (1.0, 1, 30, 2.0)],
)
def test_scores_are_those_of_the_plain_update(
    classes: int, lam: float, limit: int, k: int, c: float
) -> None:
    X, y = _bananas(classes)
    learner = AMM(lam=lam, limit=limit, k=k, c=c)
    oracle = Oracle(5, classes, lam, limit, k, c)
    learner.begin(5, classes)
    scores = learner.learn(X, y)
    expected = np.array([oracle.learn(x, label) for x, label in zip(X, y, strict=True)])
    if classes == 2:
        expected = expected[:, 1:] - expected[:, :1]
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
    assert np.bincount(learner.owner_).tolist() == [len(of) for of in oracle.weights]


def test_state_goes_on_where_it_has_grown() -> None:
    X, y = _bananas(4)
    whole = AMM(lam=0.01)
    first = AMM(lam=0.01)
    second = AMM(lam=0.01)
    for learner in (whole, first, second):
        learner.begin(5, 4)
    scores = whole.learn(X, y)
    first.learn(X[:200], y[:200])
    assert first.state_["S"].shape[1] > second.state_["S"].shape[1]
    second.restore(first.state())
    assert np.array_equal(second.learn(X[200:], y[200:]), scores[200:])
    with pytest.raises(ValueError, match="state does not fit"):
        second.restore({**first.state(), "owner": np.zeros(100, np.int64)})


def test_no_class_has_more_than_its_limit() -> None:
    X, y = _bananas(4)
    for limit in (1, 2, 5):
        learner = AMM(lam=0.01, limit=limit).fit(X, y)
        assert np.bincount(learner.owner_).max() <= limit
        assert learner.state_["S"].shape[1] <= 4 * limit


@pytest.mark.parametrize("dense", [False, True], ids=["csr", "dense"])
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=f"{row['dataset']}-{row['variant']}")
        for row in exact_rows("amm")
    ],
)
def test_exact(row: dict[str, str], dense: bool) -> None:
    """Mistakes are the rows where another class is strictly ahead; letter's classes are numbered by first sight."""
    rows, y = rows_of_file(row["dataset"])
    if row["dataset"] == "letter":
        y = np.argsort(np.argsort(np.unique(y, return_index=True)[1]))[y]
    X = to_dense(rows, WIDTH[row["dataset"]])
    if "bias feature 1" in row["variant"]:
        X = np.hstack([X, np.ones((len(y), 1))])
    if not dense:
        X = to_rows(csr_array(X))
    params = params_of(row)
    counts = {name: int(params[name]) for name in ("limit", "k")}
    learner = AMM(lam=params["lam"], c=params["c"], **counts)
    learner.begin(
        WIDTH[row["dataset"]] + ("bias feature 1" in row["variant"]), int(y.max()) + 1
    )
    scores = learner.learn(X, y)
    g = np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
    own = g[np.arange(len(y)), y]
    g[np.arange(len(y)), y] = -np.inf
    assert int((g.max(axis=1) > own).sum()) == int(row["mistakes"])
    assert int((g.max(axis=1) >= own).sum()) == noted(row, "ties counted")
    if scores.shape[1] == 1:
        assert int((codes_of(scores) != y).sum()) == noted(
            row, "score of class 1 >= class 0 read as class 1"
        )
    assert learner.measures()["updates"] == noted(row, "updates")
    assert f"weights {np.bincount(learner.owner_).tolist()}" in row["note"]
    assert learner.measures()["norm_w"] == pytest.approx(
        float(row["norm_w"]), rel=1e-12
    )


def test_letter_is_told_as_well_as_by_budgetedsvm() -> None:
    row = next((row for row in exact_rows("amm") if row["dataset"] == "letter"), None)
    test = DATA / "letter" / "letter.scale.t"
    if row is None or not test.exists():
        pytest.skip(f"real data file {test} is absent")
    rows, y = rows_of_file("letter")
    X = np.hstack([to_dense(rows, 16), np.ones((len(y), 1))])
    others, labels = load_svmlight_file(str(test), n_features=16)
    told = (
        AMM()
        .fit(X, y)
        .predict(np.hstack([others.toarray(), np.ones((len(labels), 1))]))
    )
    assert float((told == labels - 1).mean()) == pytest.approx(
        float(row["test_accuracy"]), abs=5e-4
    )
