"""Figures of other implementations and derivations for kernel learners (``reference/exact.csv``): mistakes, norm to 1e-9."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from olscale.compiled.csr import slice_rows
from olscale.learners.contract.estimator import to_rows
from olscale.learners.contract.learner import codes_of
from olscale.learners.registry import make_learner

SHARED_DATA = Path(os.environ.get("OLSCALE_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
REFERENCE = SHARED_DATA.parent / "reference" / "exact.csv"
WORDS: dict[str, dict[str, object]] = {
    "kernel-perceptron": {},
    "ogd-kernel": {},
    "olk": {},
    "norma": {},
    "forgetron": {},
    "bogd": {"removal": "oldest", "rescale": False},
}
"""Learners here, with the parameters that a row's variant stands for."""


def _rows() -> list[dict[str, str]]:
    if not REFERENCE.exists():
        return []
    with REFERENCE.open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["learner"] in WORDS and not _is_elsewhere(row)]


def _is_elsewhere(row: dict[str, str]) -> bool:
    """Tell whether a row is a faulty form, or has the victims of a formula, which another test gives to a plain update."""
    return "slot" in row["variant"] or "faulty" in row["variant"]


@cache
def load(path: Path, order: str):  # type: ignore[no-untyped-def]
    X, y = load_svmlight_file(str(path), n_features={"svmguide1": 4}.get(path.name, 123))
    at = (7919 * np.arange(len(y))) % len(y) if order == "p7919" else np.arange(len(y))
    return to_rows(X[at]), np.unique(y, return_inverse=True)[1].astype(np.int64)[at]


@pytest.mark.parametrize("row", [pytest.param(row, id="-".join([*row.values()][:5])) for row in _rows()])
def test_exact(row: dict[str, str], shared_data: Callable[[str], Path]) -> None:
    X, y = load(shared_data(f"{row['dataset']}/{row['dataset']}"), row["order"])
    numbers = dict(part.split("=") for part in row["params"].split(";"))
    params = {name: float(value) for name, value in numbers.items()} | WORDS[row["learner"]]
    learner = make_learner(row["learner"], params)
    learner.begin({"svmguide1": 4}.get(row["dataset"], 123), 2)
    scores = np.concatenate([learner.learn(slice_rows(X, i, i + 777), y[i : i + 777]) for i in range(0, len(y), 777)])
    assert int((codes_of(scores) != y).sum()) == int(row["mistakes"])
    if row["norm_w"]:
        assert learner.measures()["norm_w"] == pytest.approx(float(row["norm_w"]), rel=1e-9)
