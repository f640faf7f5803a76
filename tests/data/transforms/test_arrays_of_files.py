"""Arrays of a crafted file that no rows lead to are refused: loops divide by them and go by them."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.data.transforms.pipeline import make_transform
from olscale.data.transforms.streaming import StreamingTransform

X = np.array([[1.0], [3.0], [np.nan], [7.0]])


def begun(text: str) -> StreamingTransform:
    step = make_transform(text)
    assert isinstance(step, StreamingTransform)
    step.begin(1)
    return step


def test_a_variance_that_rounds_to_0_is_none() -> None:
    """Squares of such differences have digits, and their mean has none."""
    tiny = np.array([[0.0], [2.5e-162], [0.0], [np.nan], [2.5e-162]])
    for trains in (
        np.ones(5, dtype=np.bool_),
        np.array([True, True, True, True, False]),
    ):
        step = begun("running-standardize")
        scaled = step.learn(tiny, 1, trains)
        assert step.learned["squares"][0] > 0.0
        assert not np.delete(scaled[2:], 1).any()


@pytest.mark.parametrize(
    ("text", "array", "value"),
    [
        ("running-standardize", "count", -1.0),
        ("running-standardize", "count", 0.0),
        ("running-standardize", "count", 1e300),
        ("running-standardize", "squares", -1.0),
        ("impute:mean", "rows", -1),
        ("impute:mean", "missing", 5),
        ("impute:median", "seen", -1),
        ("impute:median", "seen", 200),
        ("impute:median", "ordered", 9.0),
        ("ipca:components=1,block=4", "count", 4),
        ("ipca:components=1,block=4", "mean", np.nan),
    ],
)
def test_what_no_rows_lead_to_is_refused(text: str, array: str, value: float) -> None:
    step = begun(text)
    step.learn(X, 1, np.ones(len(X), dtype=np.bool_))
    state = step.state()
    begun(text).restore(state, 1)
    state[array].reshape(-1)[0] = value
    with pytest.raises(ValueError, match="no rows lead to"):
        begun(text).restore(state, 1)
