"""No loop of olscale compiles what takes long and a loop does as well.

These are numba's strings, which slices that are assigned to ask for (`olscale.compiled.copies`), and
its ``max`` and ``min`` of an array.
"""

from __future__ import annotations

from typing import Any

from numba.core import event

from olscale.compiled.decorator import is_ours

STRINGS = "numba.cpython.unicode"
ARRAYS = "numba.np.arraymath"


def takes_long(function: Any) -> bool:
    """Tell whether a function of numba's is one of these."""
    extreme = function.__qualname__.startswith(("npy_max", "npy_min"))
    return function.__module__ == STRINGS or (function.__module__ == ARRAYS and extreme)


class StringWatch(event.Listener):
    """Notes the loops of olscale while whose compilation such functions are compiled."""

    def __init__(self) -> None:
        self.loops: set[str] = set()
        self._compiling: list[Any] = []

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if takes_long(function):
            self.loops |= {
                f"{outer.__module__}.{outer.__name__}"
                for outer in self._compiling
                if is_ours(outer.__module__)
            }
        self._compiling.append(function)

    def on_end(self, event: Any) -> None:
        self._compiling.pop()


watch = StringWatch()
event.register("numba:compile", watch)
