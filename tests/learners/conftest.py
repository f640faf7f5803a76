"""Rows and labels reach learners as every stream and estimator hands them over: read-only.

numba compiles a loop once more for arrays that could be written to, which are in these tests only:
seconds for each of some hundred loops. A loop that wrote to its rows would not compile.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import wraps
from typing import Any

import pytest

from olscale.compiled.csr import read_only_rows
from olscale.learners.registry import learner_class, learner_names

METHODS = ("learn", "scores")


@pytest.fixture(autouse=True, scope="module")
def arrays_of_streams() -> Iterator[None]:
    kinds = {kind for name in learner_names() for kind in learner_class(name).__mro__}
    with pytest.MonkeyPatch.context() as patch:
        for kind in kinds:
            for name, method in [
                (name, vars(kind)[name]) for name in METHODS if name in vars(kind)
            ]:
                if not getattr(method, "__isabstractmethod__", False):
                    patch.setattr(kind, name, _given_streams(method))
        yield


def _given_streams(method: Any) -> Any:
    @wraps(method)
    def given(self: Any, *arrays: Any) -> Any:
        return method(
            self, *(rows if rows is None else read_only_rows(rows) for rows in arrays)
        )

    return given
