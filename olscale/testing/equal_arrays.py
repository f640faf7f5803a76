"""Arrays that have to be equal."""

from typing import Any

import numpy as np


def assert_equal_arrays(got: Any, expected: Any, err_msg: str = "") -> None:
    """Refuse arrays that differ in a shape or a value; NaN equals NaN.

    Parameters
    ----------
    got, expected : array_like
        Of the same shape.
    err_msg : str
        Stands in the message of the error.

    Raises
    ------
    AssertionError
        If they differ; NumPy says where.

    Examples
    --------
    >>> assert_equal_arrays(np.array([1.0, np.nan]), np.array([1.0, np.nan]))
    """
    # Nearly all pairs have the same bytes, which takes a thirtieth of the time to see.
    if not _have_the_same_bytes(got, expected):
        np.testing.assert_array_equal(got, expected, err_msg=err_msg)


def _have_the_same_bytes(got: Any, expected: Any) -> bool:
    if type(got) is not np.ndarray or type(expected) is not np.ndarray:
        return False
    is_alike = got.dtype == expected.dtype and got.shape == expected.shape
    return is_alike and not got.dtype.hasobject and got.tobytes() == expected.tobytes()
