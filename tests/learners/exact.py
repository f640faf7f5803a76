"""Figures of other programs and of derivations on real files (``reference/exact.csv``), and the rows that they are of."""

from __future__ import annotations

import csv
import os
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from olscale.compiled.csr import CSR
from olscale.learners.contract.estimator import to_rows

DATA = Path(
    os.environ.get("OLSCALE_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data")
)
REFERENCE = DATA.parent / "reference" / "exact.csv"
WIDTH = {"a1a": 123, "a9a": 123, "letter": 16, "svmguide1": 4}


def exact_rows(*learners: str, noting: str = "") -> list[dict[str, str]]:
    """Return the rows of these learners whose notes have the words `noting`."""
    if not REFERENCE.exists():
        return []
    with REFERENCE.open(newline="") as file:
        return [
            row
            for row in csv.DictReader(file)
            if row["learner"] in learners and noting in row["note"]
        ]


def params_of(row: dict[str, str]) -> dict[str, float]:
    return {
        key: float(value)
        for key, _, value in (part.partition("=") for part in row["params"].split(";"))
    }


def noted(row: dict[str, str], what: str) -> float:
    """Return a number that the note has after, or before, some words."""
    found = re.search(rf"(?:^|; ){re.escape(what)} (\S+?)(?:;|$)", row["note"])
    found = found or re.search(rf"(?:^|; )(\S+) {re.escape(what)}", row["note"])
    assert found, f"{what} is not in: {row['note']}"
    return float(found[1])


@cache
def rows_of_file(dataset: str, order: str = "time") -> tuple[CSR, np.ndarray]:
    """Return rows and class codes in one of the orders of the reference; skip the test where the file is absent."""
    path = DATA / dataset / ("letter.scale" if dataset == "letter" else dataset)
    if not path.exists():
        pytest.skip(f"real data file {path} is absent")
    X, y = load_svmlight_file(str(path), n_features=WIDTH[dataset])
    at = (7919 if order == "p7919" else 1) * np.arange(len(y)) % len(y)
    rows = to_rows(X[at])
    assert isinstance(rows, CSR)
    return rows, np.unique(y, return_inverse=True)[1].astype(np.int64)[at]
