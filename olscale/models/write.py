"""Writing a model file; `olscale.models.file` describes its content."""

from collections.abc import Iterator, Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from olscale.errors import ModelError
from olscale.learners.contract.learner import Learner
from olscale.models.about import About
from olscale.storage.checked_arrays import write_arrays

ABOUT = "model.json"


def write_model(about: About, arrays: Mapping[str, NDArray[Any]], out: IO[bytes]) -> None:
    """Write a model to an open file."""

    def members() -> Iterator[tuple[str, NDArray[Any]]]:
        yield ABOUT, np.frombuffer(about.model_dump_json().encode(), dtype=np.uint8)
        yield from arrays.items()

    write_arrays(out, members())


def check_savable(name: str, learner: Learner, allow_pickle: bool = False) -> None:
    """Refuse a learner whose state does not hold all that it has learned.

    Raises
    ------
    ModelError
        Unless `allow_pickle` lets it be saved as a pickle.
    """
    if not learner.restorable and not allow_pickle:
        raise ModelError(
            f"learner {name} is an estimator from elsewhere, whose model is no plain arrays; "
            "--allow-pickle, allow_pickle=True in Python, saves it as a pickle, which runs code "
            "where it is read"
        )
