"""Every registered learner keeps the contract."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from olscale.errors import ParameterError
from olscale.learners.contract.capability import ShiftFree
from olscale.learners.contract.class_axes import class_axis
from olscale.learners.contract.detector import OnePassDetector
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.regressor import OnePassRegressor
from olscale.learners.local.soft_lol import SoftLOL
from olscale.learners.registry import learner_names, make_learner
from olscale.testing import learner_checks
from tests.few_trees import class_with_few_trees


class AdaptiveSoftLOL(SoftLOL):
    """The form that predicts by the weights of now or their mean."""

    def __init__(self, k: int = 64, averaging: int | str = "adaptive") -> None:
        super().__init__(k=k, averaging=averaging)


ONLY_A_RULE = {
    "perceptron",
    "pa",
    "pa2",
    "ogd",
    "cw",
    "arow",
    "scw1",
    "pa-r",
    "pa2-r",
    "sgd-r",
}
"""Learners that are pa1, scw2 or pa1-r with another rule, which is given float64: those check the shared loop in float32."""

CHECKS = [
    *(
        (name, title, check)
        for name in learner_names()
        for title, check in learner_checks(class_with_few_trees(name))
        if not (name in ONLY_A_RULE and "float32" in title)
    ),
    *(
        ("soft-lol, adaptive", title, check)
        for title, check in learner_checks(AdaptiveSoftLOL)
    ),
]


@pytest.mark.parametrize(
    "check",
    [pytest.param(check, id=f"{name}: {title}") for name, title, check in CHECKS],
)
def test_contract(check: Callable[[], None]) -> None:
    check()


def test_a_broken_learner_fails_its_checks() -> None:
    """The checks can fail: one that peeks at the label, one that forgets in between, some that make scores up."""
    from olscale.learners.linear.passive_aggressive import PA, PA1
    from olscale.learners.network.oselm import OSELM

    class Peeks(PA):
        def learn(self, X, y):  # type: ignore[no-untyped-def]
            super().learn(X, y)
            return self.scores(X)

    class MixesItsSettings(PA1):
        def fuse(self, learners):  # type: ignore[no-untyped-def]
            return super().fuse(learners[::-1])

    class Forgets(PA):
        def state(self):  # type: ignore[no-untyped-def]
            return {**super().state(), "W": np.zeros_like(self.state_["W"])}

    class ClaimsToBeOneVsAll(PA):
        def class_axes(self, outputs):  # type: ignore[no-untyped-def]
            return {"W": class_axis(1, outputs)}

    class HidesItsCost(OnePassLearner):
        name = "hides-its-cost"

        def _allocate(self, columns, outputs):  # type: ignore[no-untyped-def]
            return {}

        def _pass(self, X, y, state, learning, scores):  # type: ignore[no-untyped-def]
            scores[:] = 0.0

        def row_numbers(self, columns, classes, values):  # type: ignore[no-untyped-def]
            return 1.0

    class MakesItUp(PA):
        def learn(self, X, y):  # type: ignore[no-untyped-def]
            return np.nan_to_num(super().learn(X, y))

    class LooksAtLabels(OnePassDetector):
        name = "looks-at-labels"

        def _allocate(self, columns, outputs):  # type: ignore[no-untyped-def]
            return {}

        def _pass(self, X, y, state, learning, scores):  # type: ignore[no-untyped-def]
            scores[:, 0] = 0.0
            scores[: len(y), 0] = y

    class ScoresByLabels(LooksAtLabels):
        name = "scores-by-labels"

        def _pass(self, X, y, state, learning, scores):  # type: ignore[no-untyped-def]
            # behind the last label there is none
            scores[:, 0] = np.lib.stride_tricks.as_strided(y, (1,))[0]

    class Rests(OnePassRegressor):
        name = "rests"

        def _allocate(self, columns, outputs):  # type: ignore[no-untyped-def]
            return {}

        def _pass(self, X, y, state, learning, scores):  # type: ignore[no-untyped-def]
            scores[:] = 0.0

    class ScoresAnything(PA):
        def scores(self, X):  # type: ignore[no-untyped-def]
            return np.nan_to_num(super().scores(X))

    class ClaimsToBeShiftFree(PA, ShiftFree):
        @property
        def shift_free(self) -> bool:
            return True

    class CountsApart(OSELM):
        rows = 0

        def add_rows(self, X, y, sums):  # type: ignore[no-untyped-def]
            super().add_rows(X, y, sums)
            self.rows += len(y)

        def end_sums(self, sums):  # type: ignore[no-untyped-def]
            return {**super().end_sums(sums), "rows": np.array([self.rows])}

    class SumsByItsPenalty(OSELM):
        def end_sums(self, sums):  # type: ignore[no-untyped-def]
            ends = super().end_sums(sums)
            return {**ends, "products": ends["products"] + self.lam}

    broken_ones = (
        (ClaimsToBeShiftFree, "a large offset does not blind"),
        (CountsApart, "sums go on from copies"),
        (SumsByItsPenalty, "sums go on from copies"),
        (LooksAtLabels, "labels do not matter"),
        (ScoresByLabels, "scoring reads no label"),
        (LooksAtLabels, "rows far from all others"),
        (Rests, "a smooth target is learned"),
        (HidesItsCost, "capabilities are declared"),
        (MakesItUp, "rows that cannot be used end learning"),
        (ScoresAnything, "rows that cannot be used end learning"),
        (MixesItsSettings, "fused settings have the bits"),
        (Peeks, "label comes after"),
        (Forgets, "saving and restoring"),
        (ClaimsToBeOneVsAll, "class shards are the whole (float64, max-score"),
    )
    for broken, idea in broken_ones:
        checks = [
            check for title, check in learner_checks(broken) if title.startswith(idea)
        ]
        assert any(map(_fails, checks)), (broken.__name__, idea)


def _fails(check: Callable[[], None]) -> bool:
    try:
        check()
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 10**400])
@pytest.mark.parametrize(
    ("learner", "parameter"),
    [("pa1", "C"), ("bpas", "B"), ("norma", "gamma"), ("norma", "coef0")],
)
def test_parameters_are_finite(learner: str, parameter: str, value: float) -> None:
    with pytest.raises(
        ParameterError,
        match=f"parameter {parameter} was .*, expected a (whole )?number",
    ):
        make_learner(learner, {parameter: value})


def test_words_are_what_a_command_line_reads_as_values() -> None:
    """``form=true`` is no truth value, and ``scaling=none`` not nothing: both are words."""
    assert (
        make_learner("projectron", {"form": True}).resolved_params()["form"] == "true"
    )
    assert (
        make_learner("ridge", {"scaling": None}).resolved_params()["scaling"] == "none"
    )
    with pytest.raises(
        ParameterError,
        match="parameter form was False, expected one of 'true', 'budget'",
    ):
        make_learner("projectron", {"form": False})
