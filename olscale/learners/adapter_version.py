"""The version of how external models are treated, as a part of the version of a learner."""

import re

ADAPTER = 2
"""Raised when models receive something else than before.

Version 1 passed River's features by number instead of name, ranked rows by the predicted class, and
left seeds within models open; runs with none of this remain those of version 1 and keep their ids.
"""

_SUFFIX = re.compile(r"[+.]adapter\d+$")


def adapted(version: str) -> str:
    """Return the version of a learner whose runs differ from those of the first adapter.

    Examples
    --------
    >>> adapted("0.26.1"), adapted("0+7ff6253c0c3b"), adapted("0.26.1+adapter2")
    ('0.26.1+adapter2', '0+7ff6253c0c3b.adapter2', '0.26.1+adapter2')
    """
    own = own_version(version)
    return f"{own}{'.' if '+' in own else '+'}adapter{ADAPTER}"


def own_version(version: str) -> str:
    """Return the version of a learner without the adapter's part."""
    return _SUFFIX.sub("", version)
