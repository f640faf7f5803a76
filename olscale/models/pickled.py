"""Learners from elsewhere as pickles: saved and read only where a user says so.

A pickle runs code of its writer where it is read. A file that has one says so in its header, which
is read first, and no other file is looked at for one.
"""

from __future__ import annotations

import io
import pickle
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.errors import ModelError, one_line
from olscale.learners.contract.learner import Learner

PICKLE = "learner/pickle"
"""Name of the array of its bytes."""


def to_pickle(learner: Learner) -> NDArray[np.uint8]:
    """Return a learner as the bytes of its pickle.

    Raises
    ------
    ModelError
        If it cannot be pickled.
    """
    try:
        stream = io.BytesIO()
        _Pickler(stream, protocol=5).dump(learner)
    except Exception as fault:  # the code of the estimator decides what it raises
        raise ModelError(
            f"learner {learner.name} cannot be pickled: {one_line(str(fault))}; define it in a "
            "module that can be imported, without lambdas"
        ) from None
    return np.frombuffer(stream.getvalue(), dtype=np.uint8)


def _view(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    # The type has no name in its module by which a pickle could find it.
    return MappingProxyType(values)


class _Pickler(pickle.Pickler):
    """Also pickles read-only views of dictionaries, which names of features have."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, MappingProxyType):
            return _view, (dict(value),)
        return NotImplemented


def from_pickle(content: NDArray[np.uint8], name: str) -> Learner:
    """Return the learner of a pickle; the code in it runs.

    Raises
    ------
    ModelError
        If it cannot be read here, or is another learner than `name`.
    """
    try:
        learner = pickle.loads(content.tobytes())
    except Exception as fault:  # the code of the estimator decides what it raises
        raise ModelError(
            f"its pickle of learner {name} cannot be read here: {one_line(str(fault))}; install "
            "what it was made with"
        ) from None
    # The header, which was checked, names the learner; a pickle may hold another.
    if not isinstance(learner, Learner) or learner.name != name:
        raise ModelError(f"its pickle is no learner {name}")
    return learner
