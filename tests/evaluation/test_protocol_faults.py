"""Options of a protocol that exclude each other, or do not fit the dataset, are refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from olscale.errors import ExperimentError
from tests.evaluation.planned import plan


@pytest.mark.parametrize(
    ("protocol", "said"),
    [
        ({"holdout_rows": 5}, "holdout_rows needs protocol.holdout_every"),
        (
            {"holdout_every": 5, "split": "prequential-kfold"},
            "does not go with split = 'prequential-kfold'",
        ),
        (
            {"split": "prequential-kfold", "passes": 2},
            "passes does not go with split = 'prequential-kfold'",
        ),
        (
            {"holdout_every": 5, "holdout_rows": 5, "passes": [1, 2]},
            "passes does not go with holdout_rows",
        ),
        (
            {"split": "prequential-split", "folds": 1},
            "folds was 1, expected at least 2",
        ),
        ({"delay": 400}, "has 400 rows: no label would arrive; expected fewer"),
        (
            {"holdout_every": 390, "holdout_rows": 11},
            "together were 401, but .* nothing would be measured",
        ),
        ({"batch": 1}, "protocol.batch was 1"),
        (
            {"batch": 400},
            "batch was 400, .* none would be predicted by a model; expected fewer",
        ),
        ({"batch": 50, "delay": 5}, "protocol.batch does not go with delay"),
        ({"batch": 50, "delay": "late"}, "protocol.batch does not go with delay"),
        ({"batch": 50, "passes": 2}, "protocol.batch does not go with passes"),
        (
            {"batch": 50, "measures": ["latency"]},
            "batch does not go with measures = 'latency'",
        ),
        (
            {"batch": 50, "holdout_every": 50, "holdout_rows": 5},
            "protocol.batch does not go with holdout_rows",
        ),
        (
            {"batch": 50, "holdout_every": 75},
            "protocol.holdout_every was 75, expected a multiple of batch = 50, as 100",
        ),
        (
            {"batch": 50, "holdout_every": 100, "burn_in": 20},
            "protocol.burn_in was 20, expected a multiple of batch = 50, as 50",
        ),
        ({"batch": 50, "test_only": True}, "test_only does not go with batch"),
        ({"window": 0}, "protocol.window was 0"),
        ({"fading": 1.0}, "protocol.fading was 1.0"),
        (
            {"delay": -1},
            "protocol.delay was -1: expected a number of rows, 0 or more, or the name of a column",
        ),
        ({"delay": 1.5}, "protocol.delay was 1.5"),
        ({"delay": ""}, "protocol.delay was ''"),
        (
            {"drift": "kswin"},
            "protocol.drift was 'kswin'; .* there are: adwin, ddm, page-hinkley",
        ),
    ],
)
def test_what_does_not_fit_is_one_line(
    shelf: Path, protocol: dict[str, Any], said: str
) -> None:
    with pytest.raises(ExperimentError, match=said) as fault:
        plan(shelf, **protocol)
    assert "\n" not in str(fault.value)


def test_a_holdout_without_a_test_split_says_what_to_do(shelf: Path) -> None:
    with pytest.raises(
        ExperimentError, match="digits has no test split; give holdout_rows"
    ):
        plan(shelf, "digits", holdout_every=100)
    assert (
        len(plan(shelf, "digits", holdout_every=100, split="kfold", folds=3).runs) == 3
    )
