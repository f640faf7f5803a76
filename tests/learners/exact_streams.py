"""Streams and figures of ``reference/exact.csv`` for learners with support vectors, and what those say of themselves."""

from __future__ import annotations

import csv
import os
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from olscale.learners.kernel_learner import KernelLearner

DATA = Path(os.environ.get("OLSCALE_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
REFERENCE = DATA.parent / "reference" / "exact.csv"
WIDTH = {"a1a": 123, "a9a": 123, "svmguide1": 4}


def exact_rows(learner: str) -> list[dict[str, str]]:
    """Return the rows of a learner that have a norm or a sum of coefficients."""
    if not REFERENCE.exists():
        return []
    with REFERENCE.open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["learner"] == learner and "sum alpha" in row["note"]]


def params_of(row: dict[str, str]) -> dict[str, float]:
    return {key: float(value) for key, _, value in (part.partition("=") for part in row["params"].split(";"))}


def noted(row: dict[str, str], what: str) -> float:
    """Return a number that the note has after, or before, some words."""
    found = re.search(rf"(?:^|; ){re.escape(what)} (\S+?)(?:;|$)", row["note"])
    found = found or re.search(rf"(?:^|; )(\S+) {re.escape(what)}", row["note"])
    assert found, f"{what} is not in: {row['note']}"
    return float(found[1])


@cache
def rows_of_file(dataset: str, order: str) -> tuple[np.ndarray, np.ndarray]:
    """Return dense rows and class codes in one of the orders of the reference."""
    path = DATA / dataset / dataset
    if not path.exists():
        pytest.skip(f"{path} is absent")
    X, y = load_svmlight_file(str(path), n_features=WIDTH[dataset])
    order_of_rows = np.arange(len(y)) if order == "time" else 7919 * np.arange(len(y)) % len(y)
    codes = np.unique(y, return_inverse=True)[1].astype(np.int64)
    return X.toarray()[order_of_rows], codes[order_of_rows]


def vectors(learner: KernelLearner) -> tuple[np.ndarray, np.ndarray]:
    """Return the support vectors, a row each, and their coefficients."""
    state = learner.state_
    count, columns = int(state["counts"][0]), len(state["place"])
    blocks, places, width = state["values"].shape
    S = np.zeros((count, columns))
    by_slot = state["values"].transpose(0, 2, 1).reshape(blocks * width, places)[:count]
    held = state["feature"] >= 0
    S[:, state["feature"][held]] = by_slot[:, held]
    return S, state["alpha"][:count] * state["scale"]


def gaussian(A: np.ndarray, B: np.ndarray, gamma: float) -> np.ndarray:
    """Return the kernel values of rows: differences squared one by one, not by way of products."""
    return np.exp(-gamma * np.array([((B - a) ** 2).sum(axis=1) for a in A]).reshape(len(A), len(B)))


def rkhs_norm(learner: KernelLearner, gamma: float) -> float:
    S, alpha = vectors(learner)
    return float(np.sqrt(np.sum(alpha * (gaussian(S, S, gamma) @ alpha))))


def is_close_call(values: np.ndarray, bound: float) -> bool:
    """Tell whether a value is as good as at a bound without being there, where rounding decides."""
    apart = np.abs(np.asarray(values) - bound)
    return bool(np.any((apart > 0) & (apart < 1e-7 * (1 + abs(bound)))))
