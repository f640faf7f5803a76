"""Linear algebra on one thread, and scikit-learn, in whatever order libraries are loaded."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
from olscale.system.blas import {limit}
with {limit}():
    pass
import numpy
from scipy.linalg import blas
import sklearn.cluster, sklearn.ensemble, sklearn.linear_model, sklearn.metrics, sklearn.svm
from threadpoolctl import threadpool_info
with {limit}():
    print({{pool["num_threads"] for pool in threadpool_info() if pool["user_api"] in {kinds}}})
"""


@pytest.mark.skipif(os.cpu_count() == 1, reason="has one thread anyway")
@pytest.mark.parametrize(
    ("limit", "kinds"),
    [("one_blas_thread", ["blas"]), ("one_thread_of_sklearn", ["blas", "openmp"])],
)
def test_libraries_that_are_loaded_after_the_first_limit_are_limited_too(
    limit: str, kinds: list[str]
) -> None:
    """Sums of several threads have other bits: a record would depend on what ran before it."""
    several = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(limit=limit, kinds=kinds)],
        env=os.environ | several,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "{1}"
