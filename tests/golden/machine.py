"""What the bytes depend on beside olscale: the libraries that compute and write them, and the kernels of BLAS."""

from __future__ import annotations

import platform
from importlib.metadata import version

from threadpoolctl import threadpool_info

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "river")


def machine() -> dict[str, str]:
    """Return the libraries' versions, and what BLAS runs on."""
    import numpy.linalg  # noqa: F401

    kernels = {
        str(pool.get("architecture"))
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    versions = {name: version(name) for name in LIBRARIES}
    return versions | {
        "processor": platform.machine(),
        "BLAS kernels": " ".join(sorted(kernels)),
    }
