"""Every linear update against an independent version in plain numpy: matrices written out, one row at a time.

Nothing here is shared with the package: Sigma is always a full matrix (its inverse in the diagonal
form), two-class problems are weight vectors, steps are the formulas as printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from olscale.compiled.csr import to_csr
from olscale.data.chunk import Chunk
from olscale.errors import DivergedError
from olscale.learners.contract.learner import codes_of
from olscale.learners.registry import make_learner

FIRST = ("perceptron", "pa", "pa1", "pa2", "ogd")
Passed = tuple[int, int, np.ndarray]
SECOND = ("arow", "cw", "scw1", "scw2")


def first_order_step(
    name: str, p: dict[str, float], m: float, square: float, t: int, wrong: bool
) -> float:
    """Step for margin `m`; `square` is |x|^2, twice of it in the max-score form."""
    loss = max(0.0, 1.0 - m)
    return {
        "perceptron": lambda: 1.0 if wrong else 0.0,
        "pa": lambda: loss / square,
        "pa1": lambda: min(p["C"], loss / square),
        "pa2": lambda: loss / (square + 1.0 / (2.0 * p["C"])),
        "ogd": lambda: p["C"] / math.sqrt(t) if loss > 0.0 else 0.0,
    }[name]()


def _digits_left(a: float, v: float) -> None:
    """Refuse steps so large that the printed difference in u loses its digits."""
    if a * a > 100.0 * v:
        raise ValueError("the printed formula has no digits left")


def second_order_step(
    name: str, p: dict[str, float], m: float, v: float, max_score: bool, diagonal: bool
) -> tuple[float, float]:
    """Return alpha and beta, as printed: ``Sigma -= beta Sigma x x' Sigma``."""
    if name == "arow":
        beta = 1.0 / (v + p["r"])
        return max(0.0, 1.0 - m) * beta, beta
    phi = NormalDist().inv_cdf(p["eta"])
    psi = 1.0 + phi**2 / 2.0
    xi = 1.0 + phi**2
    C = math.inf if name == "cw" else p["C"]
    if name == "cw" and diagonal and not max_score:
        alpha = (
            -(1 + 2 * phi * m)
            + math.sqrt((1 + 2 * phi * m) ** 2 - 8 * phi * (m - phi * v))
        ) / (4 * phi * v)
        alpha = max(0.0, alpha)
        gamma = 2.0 * alpha * phi
        return alpha, gamma / (1.0 + gamma * v)
    if max_score:
        if m >= phi * math.sqrt(v):
            return 0.0, 0.0
        if name == "scw2":
            n = 2 * v + 1 / (2 * C)
            root = math.sqrt(
                phi**4 * m**2 * v**2 + 8 * n * v * phi**2 * (n + v * phi**2)
            )
            alpha = max(
                0.0,
                (-(2 * m * n + phi**2 * m * v) + root) / (2 * (n**2 + n * v * phi**2)),
            )
        else:
            root = math.sqrt(m**2 * psi**2 - m**2 * psi + 2 * v * phi**2 * psi)
            alpha = min(C, max(0.0, (-m * psi + root) / (2 * v * psi)))
        _digits_left(alpha * v * phi, v)
        u = (-alpha * v * phi + math.sqrt(alpha**2 * v**2 * phi**2 + 8 * v)) ** 2 / 8
        return alpha, alpha * phi / (math.sqrt(2 * u) + alpha * phi * v)
    if name == "scw2":
        n = v + 1 / (2 * C)
        root = phi * math.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
        alpha = max(
            0.0, (-(2 * m * n + phi**2 * m * v) + root) / (2 * (n**2 + n * v * phi**2))
        )
    else:
        alpha = min(
            C,
            max(
                0.0,
                (-m * psi + math.sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)) / (v * xi),
            ),
        )
    _digits_left(alpha * v * phi, v)
    u = (-alpha * v * phi + math.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) ** 2 / 4
    return alpha, alpha * phi / (math.sqrt(u) + v * alpha * phi)


def doubtful(scores: np.ndarray) -> bool:
    """Tell whether rounding decides the order of two scores (or the sign of one); exact zeros are no matter of rounding."""
    order = np.sort(np.append(scores, 0.0) if len(scores) == 1 else scores)
    return bool(
        ((np.diff(order) < 1e-9) & ((order[1:] != 0.0) | (order[:-1] != 0.0))).any()
    )


class Gaussian:
    """Means of all classes and one covariance a binary problem, or one for all."""

    def __init__(self, d: int, outputs: int, covariances: int, diagonal: bool) -> None:
        self.W = np.zeros((outputs, d))
        self.S = [np.eye(d) for _ in range(covariances)]
        self.diagonal = diagonal

    def shrink(self, k: int, x: np.ndarray, beta: float) -> None:
        g = self.S[k] @ x
        if self.diagonal:
            gamma = beta / float(1.0 - beta * (x @ g))
            self.S[k] = np.diag(1.0 / (1.0 / np.diag(self.S[k]) + gamma * x**2))
        else:
            self.S[k] = self.S[k] - beta * np.outer(g, g)


def passes(
    X: np.ndarray, y: np.ndarray, classes: int, name: str, p: dict[str, object]
) -> Passed:
    """One pass; return the mistakes, the doubtful rows and the weights, shape (outputs, d)."""
    numbers = {
        key: float(value) for key, value in p.items() if isinstance(value, float)
    }
    outputs = 1 if classes == 2 else classes
    max_score = outputs > 1 and p["multiclass"] == "max-score"
    diagonal = p.get("covariance") == "diagonal"
    model = Gaussian(X.shape[1], outputs, 1 if max_score else outputs, diagonal)
    mistakes = doubts = 0
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        scores = model.W @ x
        doubts += doubtful(scores)
        predicted = int(scores[0] >= 0.0) if outputs == 1 else int(np.argmax(scores))
        mistakes += predicted != label
        if not x.any():
            continue
        if max_score:
            others = [k for k in range(classes) if k != label]
            rival = max(others, key=lambda k: (scores[k], -k))
            problems = [
                (
                    0,
                    scores[label] - scores[rival],
                    predicted != label,
                    [(label, 1.0), (rival, -1.0)],
                )
            ]
        else:
            problems = []
            for k in range(outputs):
                target = 1.0 if label == (1 if outputs == 1 else k) else -1.0
                wrong = (1.0 if scores[k] >= 0.0 else -1.0) != target
                problems.append((k, target * scores[k], wrong, [(k, target)]))
        for k, m, wrong, moving in problems:
            if name in FIRST:
                step = first_order_step(
                    name, numbers, m, (2.0 if max_score else 1.0) * x @ x, t, wrong
                )
                direction = x
                beta = 0.0
            else:
                direction = model.S[k] @ x
                # CW shrinks Sigma without end; what rounding has left of it then is no measure of a
                # formula.
                if x @ direction < 1e-4 * (x @ x):
                    raise ValueError("Sigma is close to singular along x")
                step, beta = second_order_step(
                    name, numbers, m, x @ direction, max_score, diagonal
                )
            for c, sign in moving:
                model.W[c] += sign * step * direction
            if step > 0.0 and name in SECOND:
                model.shrink(k, x, beta)
    return mistakes, doubts, model.W


def pegasos(X: np.ndarray, y: np.ndarray, classes: int, p: dict[str, object]) -> Passed:
    """Pegasos with every shrink and projection made at once on all weights."""
    outputs = 1 if classes == 2 else classes
    lam = float(p["lam"])  # type: ignore[arg-type]
    offset = int(p["offset"])  # type: ignore[call-overload]
    max_score = outputs > 1 and p["multiclass"] == "max-score"
    W = np.zeros((outputs, X.shape[1]))
    mistakes = doubts = 0
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1 + offset):
        scores = W @ x
        doubts += doubtful(scores)
        mistakes += (
            int(scores[0] >= 0.0) if outputs == 1 else int(np.argmax(scores))
        ) != label
        W *= 1.0 - 1.0 / t
        if not x.any():
            continue
        if max_score:
            rival = max(
                (k for k in range(classes) if k != label), key=lambda k: (scores[k], -k)
            )
            if scores[label] - scores[rival] < 1.0:
                W[label] += x / (lam * t)
                W[rival] -= x / (lam * t)
                if p["project"]:
                    W *= min(1.0, 1.0 / math.sqrt(lam) / np.linalg.norm(W))
        else:
            for k in range(outputs):
                target = 1.0 if label == (1 if outputs == 1 else k) else -1.0
                if target * scores[k] < 1.0:
                    W[k] += target * x / (lam * t)
                    if p["project"]:
                        W[k] *= min(1.0, 1.0 / math.sqrt(lam) / np.linalg.norm(W[k]))
    return mistakes, doubts, W


@st.composite
def streams(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Return small streams with zeros and empty rows; real values keep clear of ties, which rounding would decide."""
    classes = draw(st.integers(2, 4))
    rows = draw(st.integers(1, 25))
    d = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.integers(0, classes, rows)
    X = rng.normal(size=(classes, d))[y] + draw(
        st.sampled_from([0.3, 1.0])
    ) * rng.normal(size=(rows, d))
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.4]))] = 0.0
    return X, y, classes


FORMS = [(name, {}) for name in FIRST] + [
    (name, {"covariance": form}) for name in SECOND for form in ("full", "diagonal")
]


@pytest.mark.parametrize(
    ("name", "form"),
    FORMS,
    ids=[" ".join((name, *form.values())) for name, form in FORMS],
)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_update_is_the_printed_one(
    name: str, form: dict[str, object], data: st.DataObject
) -> None:
    X, y, classes = data.draw(streams())
    params: dict[str, object] = {
        **form,
        "multiclass": data.draw(st.sampled_from(["max-score", "ova"])),
    }
    if name in ("pa1", "pa2", "ogd", "scw1", "scw2"):
        params["C"] = data.draw(st.sampled_from([0.05, 1.0, 8.0]))
    if name in ("cw", "scw1", "scw2"):
        params["eta"] = data.draw(st.sampled_from([0.55, 0.75, 0.9]))
    if name == "arow":
        params["r"] = data.draw(st.sampled_from([0.1, 1.0, 10.0]))
    _agree(name, params, X, y, classes, lambda: passes(X, y, classes, name, params))


@settings(max_examples=200, deadline=None)
@given(
    stream=streams(),
    lam=st.sampled_from([1e-3, 0.1, 2.0]),
    offset=st.integers(0, 2),
    project=st.booleans(),
    multiclass=st.sampled_from(["max-score", "ova"]),
)
def test_pegasos_is_the_printed_one(
    stream: tuple[np.ndarray, np.ndarray, int],
    lam: float,
    offset: int,
    project: bool,
    multiclass: str,
) -> None:
    X, y, classes = stream
    params: dict[str, object] = {
        "lam": lam,
        "offset": offset,
        "project": project,
        "multiclass": multiclass,
    }
    _agree("pegasos", params, X, y, classes, lambda: pegasos(X, y, classes, params))


def _agree(
    name: str,
    params: dict[str, object],
    X: np.ndarray,
    y: np.ndarray,
    classes: int,
    reference: Callable[[], Passed],
) -> None:
    try:
        mistakes, doubts, W = reference()
    except (ZeroDivisionError, ValueError):
        assume(False)  # the printed formula itself broke down
    if W.shape[0] == 1 or params["multiclass"] == "max-score":
        assume(doubts == 0)  # the update depends on the order of the scores
    scale = max(1.0, float(np.abs(W).max()))
    for chunk in (Chunk(X, y, X.shape[1]), Chunk(to_csr(X), y, X.shape[1])):
        learner = make_learner(name, params)
        learner.begin(X.shape[1], classes)
        try:
            scores = learner.learn(chunk.X, chunk.y)
        except DivergedError:
            assume(False)
        assert abs(int((codes_of(scores) != y).sum()) - mistakes) <= doubts
        np.testing.assert_allclose(
            learner.coef_ / scale, W / scale, rtol=0.0, atol=1e-10
        )  # type: ignore[attr-defined]
