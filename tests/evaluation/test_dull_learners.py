"""What kappa-M and kappa-temporal compare with knows the labels that have arrived, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.measures import base_name
from olscale.results.record import Record

KAPPAS = {"majority": "kappa_m", "no-change": "kappa_t"}

ROUNDING = 1e-12
"""Faded hits of one class are added up in another order than those of all."""

PROTOCOLS: dict[str, dict[str, Any]] = {
    "plain": {},
    "permuted": {"order": "permuted", "permutations": 2},
    "burn-in": {"burn_in": 37},
    "passes": {"passes": 2},
    "window and fading": {"window": 50, "fading": 0.97},
    "delay": {"delay": 7, "window": 50, "fading": 0.97},
    "delay and burn-in": {"delay": 70, "burn_in": 90},
    "test split along the stream": {"holdout_every": 45},
    "held-out rows": {"holdout_every": 45, "holdout_rows": 10},
    "held-out rows and delay": {"holdout_every": 45, "holdout_rows": 10, "delay": 5},
    "k-fold": {"split": "prequential-kfold", "folds": 3},
    "split": {"split": "prequential-split", "folds": 3, "burn_in": 20},
    "bootstrap and delay": {"split": "prequential-bootstrap", "folds": 3, "delay": 11},
}


def records(dataset: Path, protocol: dict[str, Any], learner: str) -> list[Record]:
    """Run one learner under a protocol."""
    experiment = {
        "datasets": [{"path": str(dataset)}],
        "learners": [{"name": learner}],
        "protocol": {"order": "time", "measures": list(KAPPAS.values())} | protocol,
    }
    plan = make_plan(parse_experiment(experiment))
    results = []
    for group in cut_groups(plan.runs, plan.sources, 1):
        stream = GroupPass(group)
        for chunk in range(stream.chunks):
            stream.step(chunk)
        results += stream.finish()
    return results


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
@pytest.mark.parametrize("dataset", ["dense", "digits"])
@pytest.mark.parametrize(("learner", "kappa"), KAPPAS.items(), ids=KAPPAS)
def test_a_dull_learner_is_no_better_than_itself(
    shelf: Path, dataset: str, protocol: dict[str, Any], learner: str, kappa: str
) -> None:
    """In every protocol and form, on streams of two classes and of ten."""
    if (
        dataset == "digits"
        and "holdout_every" in protocol
        and "holdout_rows" not in protocol
    ):
        # it has no test split of its own
        protocol = protocol | {"split": "half", "folds": 1}
    for record in records(shelf / dataset, protocol, learner):
        assert record.outcome == "ok", record.reason
        values = {
            name: value
            for name, value in record.metrics.items()
            if base_name(name) == kappa
        }
        assert kappa in values
        assert values == pytest.approx(dict.fromkeys(values, 0.0), abs=ROUNDING)
        curves = [series for series in record.series if base_name(series.name) == kappa]
        assert curves
        for curve in curves:
            assert curve.values == pytest.approx(0.0, abs=ROUNDING), curve.name
