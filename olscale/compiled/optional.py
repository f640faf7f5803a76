"""Primitives of compiled loops that do something only where a state has certain arrays."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from numba import types
from numba.extending import overload

from olscale.compiled.decorator import INLINED
from olscale.compiled.row_layout import is_tuple_of

Loop = TypeVar("Loop", bound=Callable[..., Any])


def only_with(arrays: type, otherwise: Any) -> Callable[[Loop], Loop]:
    """Make a primitive of compiled loops whose first argument may be the named tuple `arrays`.

    Given anything else it is the constant `otherwise`, or that loop, so that machine code has
    nothing of arrays that a state lacks: with calls that never do anything forests took three times
    as long.
    """

    def decorate(loop: Loop) -> Loop:
        @wraps(loop)
        def primitive(*arguments: Any) -> Any:
            raise TypeError("for compiled loops only")

        @overload(primitive, strict=False, jit_options=INLINED)
        def choose(first: types.Type, *others: types.Type) -> Callable[..., Any]:
            if is_tuple_of(first, arrays):
                return loop
            if callable(otherwise):
                return cast(Loop, otherwise)
            return lambda first, *others: otherwise

        return primitive  # type: ignore[return-value]

    return decorate
