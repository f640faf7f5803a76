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


@pytest.mark.parametrize(
    ("text", "array", "value"),
    [
        ("running-standardize", "count", -1.0),
        ("running-standardize", "count", 0.0),
        ("running-standardize", "count", 1e300),
        ("running-standardize", "squares", -1.0),
        ("running-standardize", "squares", 5e-324),
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
