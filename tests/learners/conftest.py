"""Rows and labels reach learners as every stream and estimator hands them over: read-only.

numba compiles a loop once more for arrays that could be written to, which are in these tests only: seconds for each of some
hundred loops. A loop that wrote to its rows would not compile.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import wraps
from typing import Any

import pytest

from olscale.compiled.csr import CSR, read_only
from olscale.learners.contract.one_pass import OnePassLearner
from olscale.learners.linear import LinearLearner
from olscale.learners.pegasos import Pegasos
from olscale.learners.second_order import SecondOrderLearner


def _as_a_stream_gives_it(rows: Any) -> Any:
    return CSR(*map(read_only, rows)) if isinstance(rows, CSR) else read_only(rows)


@pytest.fixture(autouse=True, scope="module")
def arrays_of_streams() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for kind, names in (
            (OnePassLearner, ["_run"]),
            *((kind, ["learn", "scores"]) for kind in (LinearLearner, Pegasos, SecondOrderLearner)),
        ):
            for name in names:
                patch.setattr(kind, name, _given_streams(getattr(kind, name)))
        yield


def _given_streams(method: Any) -> Any:
    @wraps(method)
    def given(self: Any, *rows: Any, **options: Any) -> Any:
        return method(self, *map(_as_a_stream_gives_it, rows), **options)

    return given
