"""BLAS on one thread: sums of several threads would have other bits."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context that limits NumPy's and SciPy's linear algebra to one thread.

    To enter and leave it takes 20 microseconds.

    Examples
    --------
    >>> import numpy as np
    >>> with one_blas_thread():
    ...     size = np.linalg.norm(np.eye(4) @ np.ones(4))
    >>> float(size)
    2.0
    """
    limits: AbstractContextManager[Any] = _pools().limit(limits=1, user_api="blas")
    return limits


@cache
def _pools() -> Any:
    """Return the thread pools of this process; to find them takes milliseconds."""
    # NumPy and SciPy bring a BLAS each. One that is loaded later would keep all of its threads.
    import numpy as np  # noqa: F401
    from scipy.linalg import blas  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
