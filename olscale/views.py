"""Views of what floors below the reports do: they are drawn by reports, and named here.

A floor imports none above it. So an evaluation or an ingest asks for its view by what is to be
seen, and ``olscale/__init__.py`` registers the function that makes it.
"""

from collections.abc import Callable
from typing import Any

_MAKERS: dict[str, Callable[..., Any]] = {}


def register_view(subject: str, make: Callable[..., Any]) -> None:
    """Have `make` draw the views of a subject."""
    _MAKERS[subject] = make


def make_view(subject: str, *arguments: Any) -> Any:
    """Return the view of a subject that its registered function makes of `arguments`.

    Examples
    --------
    >>> register_view("doctest", lambda name: f"{name} in colours")
    >>> make_view("doctest", "rows")
    'rows in colours'
    """
    return _MAKERS[subject](*arguments)
