"""Several targets in one pass: each is learned as it would be alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import CSR, Rows, read_only, slice_rows, to_csr
from olscale.errors import ParameterError
from olscale.learners.contract.capability import expect_targets, learns_targets
from olscale.learners.contract.learner import hide_labels
from olscale.learners.registry import learner_class, learner_names, make_learner

ROWS = 90
TARGETS = 3
RNG = np.random.default_rng(0)
DENSE = read_only(
    np.where(RNG.random((ROWS, 4)) < 0.3, 0.0, RNG.normal(size=(ROWS, 4)))
)
Y = read_only(
    np.sin(DENSE @ RNG.normal(size=(4, TARGETS))) + np.array([0.0, 1.0, 50.0])
)
KNOWN = hide_labels(Y, RNG.random(ROWS) < 0.2)
FEW: dict[str, dict[str, Any]] = {
    "oselm-r": {"nodes": 6},
    "rff-rls-r": {"features": 10},
    "ridge": {"scaling": "rms"},
}
# whose sums over vectors run in groups where there is one output
SUMS_DIFFER = ("krls",)
LEARNERS = sorted(
    name for name in learner_names() if learns_targets(learner_class(name)())
)


def _begun(name: str, X: Rows, targets: int) -> Any:
    learner = make_learner(name, FEW.get(name, {}))
    expect_targets(learner, targets)
    learner.begin(4, 0)
    if getattr(learner, "looks_ahead", False):
        learner.prepare(X)
    return learner


def test_these_learners_take_several_targets() -> None:
    assert (
        sorted(
            [
                "krls",
                "last-value",
                "mean",
                "oselm-r",
                "pa-r",
                "pa1-r",
                "pa2-r",
                "rff-rls-r",
                "ridge",
                "rls",
                "sgd-r",
            ]
        )
        == LEARNERS
    )
    with pytest.raises(TypeError, match="learns one target, got 2"):
        expect_targets(make_learner("olk-r", {}), 2)
    with pytest.raises(
        ParameterError, match="form=diagonal learns one target, got 2; use form=full"
    ):
        expect_targets(make_learner("rls", {"form": "diagonal"}), 2)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("rows", [DENSE, to_csr(DENSE)], ids=["dense", "csr"])
def test_each_target_is_learned_as_it_would_be_alone(name: str, rows: Rows) -> None:
    # others turn rows into features, or look at none
    if isinstance(rows, CSR) and name not in (
        "rls",
        "pa1-r",
        "ridge",
    ):
        pytest.skip("its loop sees the same rows")
    many = _begun(name, rows, TARGETS)
    scores = many.learn(rows, KNOWN)
    for c in range(TARGETS):
        one = _begun(name, rows, 1)
        got = scores[:, c : c + 1], many.scores(rows)[:, c : c + 1]
        expected = one.learn(rows, read_only(KNOWN[:, c])), one.scores(rows)
        for mine, alone in zip(got, expected, strict=True):
            if name in SUMS_DIFFER:
                np.testing.assert_allclose(mine, alone, rtol=1e-9, atol=1e-9)
            else:
                np.testing.assert_array_equal(mine, alone)


@pytest.mark.parametrize("name", LEARNERS)
def test_any_cut_and_a_restored_state_give_the_same_bits(name: str) -> None:
    whole = _begun(name, DENSE, TARGETS)
    parts = _begun(name, DENSE, TARGETS)
    expected = whole.learn(DENSE, KNOWN)
    found = []
    for start, stop in ((0, 1), (1, 40), (40, ROWS)):
        found.append(
            parts.learn(slice_rows(DENSE, start, stop), read_only(KNOWN[start:stop]))
        )
        state = parts.state()
        parts = _begun(name, DENSE, TARGETS)
        parts.restore(state)
    np.testing.assert_array_equal(np.concatenate(found), expected)
    for array, other in zip(
        parts.state().values(), whole.state().values(), strict=True
    ):
        np.testing.assert_array_equal(array, other)


def test_estimators_predict_targets_of_the_shape_they_learned() -> None:
    model = make_learner("rls", {})
    assert model.fit(DENSE, Y).predict(DENSE).shape == (ROWS, TARGETS)
    assert model.coef_.shape == (TARGETS, 4)
    with pytest.raises(ValueError, match="y has 2 targets, expected 3"):
        model.partial_fit(DENSE, Y[:, :2])
    assert model.fit(DENSE, Y[:, :1]).predict(DENSE).shape == (ROWS, 1)
    assert model.fit(DENSE, Y[:, 0]).predict(DENSE).shape == (ROWS,)
