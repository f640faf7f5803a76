"""BLAS on one thread, and OpenMP: sums of several threads would have other bits."""

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


def one_thread_of_sklearn() -> AbstractContextManager[Any]:
    """Return a context that limits scikit-learn to one thread: its OpenMP, and linear algebra.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> with one_thread_of_sklearn():
    ...     model = KMeans(1, n_init=1).fit([[0.0], [2.0]])
    >>> model.cluster_centers_.tolist()
    [[1.0]]
    """
    limits: AbstractContextManager[Any] = _pools_of_sklearn().limit(limits=1)
    return limits


@cache
def _pools() -> Any:
    """Return the thread pools of this process; to find them takes milliseconds."""
    # NumPy and SciPy bring a BLAS each. One that is loaded later would keep all of its threads.
    import numpy as np  # noqa: F401
    from scipy.linalg import blas  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@cache
def _pools_of_sklearn() -> Any:
    # It brings an OpenMP, and loads it with the first of its modules that takes threads.
    from scipy.linalg import blas  # noqa: F401
    from sklearn.utils import _openmp_helpers  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
