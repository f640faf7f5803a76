"""The answers of an external model as plain arrays; answers that say more are refused.

A mask, an index or columns in another order, a sparse matrix, text that looks like a number: NumPy
silently turns each into numbers, and the answer would be misread.
"""

from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.system.plain_arrays import refuse_masked


def plain_answer(answer: Any, method: str) -> NDArray[Any]:
    """Return what `method` of a model answered as a plain array; Python numbers as floats.

    Raises
    ------
    ValueError
        If it is not one, or would be misread.

    Examples
    --------
    >>> plain_answer([1, 0], "predict"), plain_answer(np.array([1, 2.5], dtype=object), "predict")
    (array([1, 0]), array([1. , 2.5]))
    >>> plain_answer((x for x in [1]), "predict")
    Traceback (most recent call last):
    ...
    ValueError: predict gave a generator, expected an array of one answer a row
    """
    refuse_masked(answer, f"what {method} gave")
    if hasattr(answer, "tocsr"):
        raise ValueError(
            f"{method} gave a {type(answer).__name__}, a sparse matrix; expected a plain array: "
            "call toarray()"
        )
    if hasattr(answer, "iloc"):
        _check_order(
            answer.index, f"{method} gave a {type(answer).__name__} with an index"
        )
        _check_order(
            getattr(answer, "columns", ()),
            f"{method} gave a {type(answer).__name__} with columns",
        )
    try:
        array = np.asarray(answer)
    except ValueError:  # ragged
        return np.empty((), dtype=object)
    if array.shape == () and array.dtype == object:
        raise ValueError(
            f"{method} gave a {type(answer).__name__}, expected an array of one answer a row"
        )
    if array.dtype == object and all(map(_is_number, array.flat)):
        return np.array([float(value) for value in array.flat]).reshape(array.shape)
    return array


def _is_number(value: Any) -> bool:
    return isinstance(value, Number | np.bool_) and not isinstance(
        value, complex | np.complexfloating
    )


def _check_order(labels: Any, whose: str) -> None:
    """Refuse labels that are positions in another order: order or labels, it is ambiguous."""
    words = [str(label) for label in labels]
    places = [str(place) for place in range(len(words))]
    if words != places and sorted(words) == sorted(places):
        order = ", ".join(words[:5])
        raise ValueError(
            f"{whose} in another order ({order}) than rows and classes have; expected it in theirs"
        )
