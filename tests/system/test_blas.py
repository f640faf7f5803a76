"""Linear algebra on one thread, in whatever order libraries are loaded."""

import subprocess
import sys

CODE = """
from olscale.system.blas import one_blas_thread
with one_blas_thread():
    pass
import numpy
from scipy.linalg import blas
from threadpoolctl import threadpool_info
with one_blas_thread():
    print([pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"])
"""


def test_libraries_that_are_loaded_after_the_first_limit_are_limited_too() -> None:
    """Sums of several threads have other bits: a record would depend on what ran before it."""
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True
    )
    threads = done.stdout.strip()
    assert threads in ("[1]", "[1, 1]"), threads
