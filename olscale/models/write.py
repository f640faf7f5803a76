"""Writing a model file; `olscale.models.file` describes its content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from olscale.errors import ModelError
from olscale.learners.contract.learner import Learner
from olscale.models.about import About
from olscale.models.pickled import PICKLE, to_pickle
from olscale.models.skops_format import to_skops
from olscale.storage.checked_arrays import write_arrays

ABOUT = "model.json"


def write_model(
    about: About, arrays: Mapping[str, NDArray[Any]], out: IO[bytes]
) -> None:
    """Write a model to an open file."""

    def members() -> Iterator[tuple[str, NDArray[Any]]]:
        yield ABOUT, np.frombuffer(about.model_dump_json().encode(), dtype=np.uint8)
        yield from arrays.items()

    write_arrays(out, members())


def why_not_saved(learner: Learner, allow_pickle: bool) -> str:
    """Return why a learner cannot be saved, in words; empty if it can be, as far as it is known."""
    if learner.restorable or allow_pickle:
        return ""
    try:
        learner_arrays(learner)
    except ModelError as fault:
        return str(fault)
    return ""


def learner_arrays(
    learner: Learner, allow_pickle: bool = False
) -> dict[str, NDArray[Any]]:
    """Return the arrays of a learner in a model file, as ``learner/NAME``.

    An estimator of another library is in the format of skops where that knows its types, else a
    pickle if `allow_pickle` lets it be one.

    Raises
    ------
    ModelError
        If there is no way to save it.
    """
    if learner.restorable:
        return {f"learner/{name}": array for name, array in learner.state().items()}
    try:
        # First, even where a pickle is allowed: it runs no code where it is read.
        return to_skops(learner)
    except ModelError as fault:
        if allow_pickle:
            return {PICKLE: to_pickle(learner)}
        raise ModelError(
            f"learner {learner.name} is an estimator from elsewhere, whose model is no plain "
            f"arrays, and {fault}; --allow-pickle, allow_pickle=True in Python, saves it as a "
            "pickle, which runs code where it is read"
        ) from None
