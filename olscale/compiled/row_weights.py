"""The weight of a row in compiled loops; without weights, a 1 that no machine code multiplies."""

from typing import Any

from numba import types
from numba.extending import overload

from olscale.compiled.decorator import INLINED


def weight_of(weights: Any, i: int) -> float:
    """Return the weight of row `i`, 1 if `weights` is None or empty; for compiled loops only."""
    raise TypeError("for compiled loops only")


@overload(weight_of, strict=False, jit_options=INLINED)
def _choose(weights: types.Type, i: Any) -> Any:
    if isinstance(weights, types.NoneType):
        return lambda weights, i: 1.0
    return lambda weights, i: weights[i] if weights.shape[0] > 0 else 1.0
