"""Checks with readable names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

__all__ = ["Check", "check_list"]

Check: TypeAlias = tuple[str, Callable[[], None]]
"""A name for people, and what to call: it raises `AssertionError` where the contract does not hold."""


def check_list(checks: Sequence[Callable[..., None]], *arguments: Any) -> list[Check]:
    """Return each check with its arguments bound, under the words of its name.

    Examples
    --------
    >>> def check_sums_are_small(most): assert most < 3
    >>> [(name, check)] = check_list([check_sums_are_small], 2)
    >>> name
    'sums are small'
    """
    return [(check.__name__.removeprefix("check_").replace("_", " "), partial(check, *arguments)) for check in checks]
