"""Every registered learner is a scikit-learn estimator.

The last comes first: beside `test_contract.py`, which begins with the first, each compiles what the
other then finds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from olscale.learners.linear.rls import RLS
from olscale.learners.local.soft_lol import SoftLOL
from olscale.learners.registry import learner_class, learner_names

ANY_ORDER = {
    "ridge",
    "rls",
    "krls",
    "oselm",
    "oselm-r",
    "ls-svm",
    "naive-bayes",
    "multinomial-naive-bayes",
    "batch-logistic",
    "batch-boosting",
}
"""Learners of sums over all rows: for them a row of weight 2 is the row twice, wherever rows stand."""


def not_for(estimator: Any) -> dict[str, str]:
    """Return the checks of scikit-learn that a learner cannot pass, and why."""
    failures = {}
    if estimator.name == "batch-boosting":
        failures["check_classifiers_classes"] = (
            "has 20 rows, too few for two leaves of 20: all decisions are 0, which it takes for "
            "the first class and olscale for the second"
        )
    if not estimator.takes_negative:
        why = "gives it values below 0 although the tags say that it takes none"
        for check in ("class_weight_classifiers", "decision_proba_consistency"):
            failures[f"check_{check}"] = why
    in_any_order = (
        estimator.name in ANY_ORDER and getattr(estimator, "form", "full") == "full"
    )
    if estimator.takes_weights and not in_any_order:
        why = (
            "wants a row of weight 2 to be the row twice, wherever it stands: it learns rows in "
            "their order"
        )
        layouts = ("dense", "sparse")
        return failures | {
            f"check_sample_weight_equivalence_on_{layout}_data": why
            for layout in layouts
        }
    if estimator.name != "norma-n":
        return failures
    why = (
        "wants a novelty among rows that were learned from: each of them has raised the score "
        "of rows like itself"
    )
    return dict.fromkeys(["check_outliers_train", "check_outliers_fit_predict"], why)


def _is_repeated(values: Any) -> bool:
    """Return whether a check shows of a learner only what another one shows of `pa1`.

    That is that it learns rows in their order, for which each such check trains 30 models. Its
    failure is expected, so that no result of it would fail here.
    """
    estimator, check = getattr(values, "values", values)
    name = check.func.__name__
    is_shown = estimator.name != "pa1" or name.endswith("_on_sparse_data")
    return is_shown and "weight_equivalence" in name and name in not_for(estimator)


ALL_CHECKS = parametrize_with_checks(
    [
        *(learner_class(name)() for name in reversed(learner_names())),
        SoftLOL(averaging="adaptive"),
        RLS(form="diagonal"),
    ],
    expected_failed_checks=not_for,
)


@pytest.mark.parametrize(
    ALL_CHECKS.args[0],
    [values for values in ALL_CHECKS.args[1] if not _is_repeated(values)],
    **ALL_CHECKS.kwargs,
)
def test_scikit_learn_contract(
    estimator: object, check: Callable[[object], None]
) -> None:
    check(estimator)
