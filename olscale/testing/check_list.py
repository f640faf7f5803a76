"""Checks with readable names."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

Check: TypeAlias = tuple[str, Callable[[], None]]
"""A readable name and a callable, which raises `AssertionError` if the contract is broken."""


def name_check(check: Callable[..., None], *arguments: Any, of: str = "") -> Check:
    """Return a check with bound arguments, named by its function's words and `of`.

    Examples
    --------
    >>> def check_sums_are_small(most): assert most < 3
    >>> name_check(check_sums_are_small, 2, of="integers")[0]
    'sums are small (integers)'
    """
    words = check.__name__.removeprefix("check_").replace("_", " ")
    if of:
        words = f"{words} ({of})"
    bound = partial(check, *arguments)
    return words, bound


def check_plain_arrays(what: str, arrays: Mapping[str, object]) -> None:
    """Refuse what cannot be saved as a plain array of numbers."""
    for name, array in arrays.items():
        kind = type(array).__name__
        assert isinstance(array, np.ndarray), f"{what} {name} is a {kind}"
        dtype = array.dtype
        assert dtype.kind in "fiub", f"{what} {name} has dtype {dtype}"


def check_list(checks: Sequence[Callable[..., None]], *arguments: Any) -> list[Check]:
    """Return checks that take the same arguments."""
    return [name_check(check, *arguments) for check in checks]
