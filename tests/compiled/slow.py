"""The slow versions that stand in docstrings of compiled loops, to compare the loops with."""

from __future__ import annotations

import doctest
from types import ModuleType
from typing import Any

import numpy as np

from olscale.compiled.csr import Rows, read_only, to_csr


def slow_versions(module: ModuleType) -> dict[str, Any]:
    """Return what the examples in a module's docstring define."""
    names: dict[str, Any] = {"np": np}
    for example in doctest.DocTestParser().get_examples(module.__doc__ or ""):
        exec(compile(example.source, module.__name__, "single"), names)
    return names


def layouts(rng: np.random.Generator, rows: int, features: int) -> list[Rows]:
    """Return the same rows dense and sparse; from feature 16 to 32 all are 0, as in an image."""
    X = rng.normal(size=(rows, features))
    X[:, 16:32] = 0.0
    X[rng.random(X.shape) < 0.3] = 0.0
    return [read_only(X), to_csr(X)]
