"""Figures of other implementations and derivations for kernel learners (``reference/exact.csv``): mistakes, norm to 1e-9."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.compiled.csr import slice_rows
from olscale.learners.contract.learner import codes_of
from olscale.learners.registry import make_learner
from tests.learners.exact import WIDTH, exact_rows, params_of, rows_of_file

WORDS: dict[str, dict[str, object]] = {
    "kernel-perceptron": {},
    "ogd-kernel": {},
    "olk": {},
    "norma": {},
    "forgetron": {},
    "bogd": {"removal": "oldest", "rescale": False},
}
"""Learners here, with the parameters that a row's variant stands for."""


def _is_elsewhere(row: dict[str, str]) -> bool:
    """Tell whether a row is a faulty form, or has the victims of a formula, which another test gives to a plain update."""
    return "slot" in row["variant"] or "faulty" in row["variant"]


ROWS = [row for row in exact_rows(*WORDS) if not _is_elsewhere(row)]


@pytest.mark.parametrize(
    "row", [pytest.param(row, id="-".join([*row.values()][:5])) for row in ROWS]
)
def test_exact(row: dict[str, str]) -> None:
    X, y = rows_of_file(row["dataset"], row["order"])
    learner = make_learner(row["learner"], params_of(row) | WORDS[row["learner"]])
    learner.begin(WIDTH[row["dataset"]], 2)
    scores = np.concatenate(
        [
            learner.learn(slice_rows(X, i, i + 777), y[i : i + 777])
            for i in range(0, len(y), 777)
        ]
    )
    assert int((codes_of(scores) != y).sum()) == int(row["mistakes"])
    if row["norm_w"]:
        assert learner.measures()["norm_w"] == pytest.approx(
            float(row["norm_w"]), rel=1e-9
        )
