"""Running standardization has the bits of plain quotients, whatever the rows."""

import math

import numpy as np
import pytest

from olscale.compiled.csr import read_only_csr, to_csr
from olscale.data.transforms.scaling import RunningStandardize

ROWS, COLUMNS = 60, 37


def plain_form(X, trains):
    """Return the rows by the recurrence as it is written, and the state after them."""
    count, mean, squares = np.zeros((3, X.shape[1]))
    scaled = np.empty(X.shape)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            value = float(X[i, j])
            if trains[i] and math.isfinite(value):
                before = float(mean[j])
                count[j] += 1.0
                mean[j] = before + (value - before) / float(count[j])
                squares[j] += (value - before) * (value - float(mean[j]))
            if not math.isfinite(value):
                scaled[i, j] = value
                continue
            if squares[j] == math.inf:
                scaled[i, j] = math.inf
                continue
            variance = 0.0
            if squares[j] > 0.0:
                variance = float(squares[j]) / float(count[j])
            scaled[i, j] = 0.0
            if variance > 0.0:
                scaled[i, j] = (value - float(mean[j])) / math.sqrt(variance)
    return scaled, (count, mean, squares)


def rows_of_kind(kind, rng):
    X = rng.normal(size=(ROWS, COLUMNS))
    if kind == "sparse":
        X[rng.random(X.shape) < 0.9] = 0.0
    elif kind == "gaps":
        X[rng.random(X.shape) < 0.01] = np.nan
    elif kind == "tiny":
        X *= 2.0 ** rng.integers(-540, 0, COLUMNS)
    elif kind == "least":
        X[:, ::3] *= 5e-324 * 2.0**20
    elif kind == "large":
        X[40:, ::5] *= 1e200
    elif kind == "near":
        X = 1.0 + 1e-15 * X
    elif kind == "cancelling":
        X[1::2] = -X[::2]
    return X


@pytest.mark.parametrize(
    "kind",
    ["normal", "sparse", "gaps", "tiny", "least", "large", "near", "cancelling"],
)
@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_scaled_rows_and_state_have_the_bits_of_plain_quotients(kind, layout):
    rng = np.random.default_rng(0)
    X = rows_of_kind(kind, rng)
    trains = rng.random(ROWS) < 0.9
    scaled, state = plain_form(X, trains)
    step = RunningStandardize()
    step.begin(COLUMNS)
    parts = []
    for start in range(0, ROWS, 25):
        rows = X[start : start + 25]
        if layout == "csr":
            rows = read_only_csr(to_csr(rows))
        parts.append(step.learn(rows, COLUMNS, trains[start : start + 25]))
    assert np.concatenate(parts).tobytes() == scaled.tobytes()
    for name, expected in zip(("count", "mean", "squares"), state, strict=True):
        assert step.learned[name].tobytes() == expected.tobytes()


def test_multiplied_inverses_have_the_bits_of_quotients_by_any_count():
    rng = np.random.default_rng(1)
    # A million quotients: counts from 1 on, with numbers of all exponents that are plain.
    X = rng.uniform(1.0, 2.0, (4000, 250)) * 2.0 ** rng.integers(-280, 280, 250)
    trains = np.ones(len(X), dtype=bool)
    together, apart = RunningStandardize(), RunningStandardize()
    together.begin(250)
    apart.begin(251)
    scaled = together.learn(X, 250, trains)
    # A feature without values keeps the others from being counted equally often.
    with_gaps = np.column_stack([X, np.full(len(X), np.nan)])
    assert apart.learn(with_gaps, 251, trains)[:, :-1].tobytes() == scaled.tobytes()
