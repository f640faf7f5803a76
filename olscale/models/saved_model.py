"""What a model file says of itself, by its path and digest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from olscale.models.about import About
from olscale.models.file import read_about
from olscale.models.learned import model_digest


@dataclass(frozen=True, slots=True)
class SavedModel:
    """A model file: its path, its SHA-256 and what it says of itself."""

    path: str
    digest: str
    about: About


def saved_model(path: str) -> SavedModel:
    """Return what a model file says of itself, without its learner.

    Raises
    ------
    ModelError
        If it is no model file, or damaged.
    """
    return _described(path, model_digest(path))


# By digest as well: a file that was replaced under the same path is read anew.
@lru_cache(maxsize=4)
def _described(path: str, digest: str) -> SavedModel:
    return SavedModel(path, digest, read_about(path))
