"""Modules that version 0.1 documented under another name: learners written for it go on, with a `DeprecationWarning`."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["accept"]

_MOVED = {
    "olscale.jit": "olscale.compiled.decorator",
    "olscale.learners.base": "olscale.learners.contract.learner",
    "olscale.learners.domain": "olscale.learners.contract.parameters",
    "olscale.learners.estimator": "olscale.learners.contract.estimator",
    "olscale.learners.local": "olscale.learners.lol",
    "olscale.learners.max_out": "olscale.learners.pamo",
    "olscale.learners.rows": "olscale.compiled.rows",
    "olscale.learners.shards": "olscale.learners.contract.class_shards",
    "olscale.learners.soft_local": "olscale.learners.soft_lol",
    "olscale.learners.sweep": "olscale.learners.contract.one_pass",
    "olscale.learners.two_regions": "olscale.learners.ollc",
}
_RENAMED = {"kernel": "compiled", "SweepLearner": "OnePassLearner"}


def accept() -> None:
    """Let imports of the old names find the new modules."""
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)


class _Finder:
    """Finds the old names, as both finder and loader of the import system."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, cls) if name in _MOVED else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        new = _MOVED[module.__name__]
        warnings.warn(f"{module.__name__} is now {new}; import from there", DeprecationWarning, stacklevel=2)
        names = {name: value for name, value in vars(import_module(new)).items() if not name.startswith("__")}
        vars(module).update(names, **{old: names[now] for old, now in _RENAMED.items() if now in names})
