"""No loop of olscale compiles functions of numba's strings: see `olscale.compiled.copies`."""

from __future__ import annotations

from typing import Any

from numba.core import event

from olscale.compiled.decorator import is_ours

STRINGS = "numba.cpython.unicode"


class StringWatch(event.Listener):
    """Notes the loops of olscale while whose compilation functions of strings are compiled."""

    def __init__(self) -> None:
        self.loops: set[str] = set()
        self._compiling: list[Any] = []

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if function.__module__ == STRINGS:
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
