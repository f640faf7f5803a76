"""Names that version 0.1 documented: learners written for it go on, with a `DeprecationWarning` for modules that moved."""

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_MOVED = {
    "olscale.jit": "olscale.compiled.decorator",
    "olscale.learners.base": "olscale.learners.contract.learner",
    "olscale.learners.class_axes": "olscale.learners.contract.class_axes",
    "olscale.learners.domain": "olscale.learners.contract.parameters",
    "olscale.learners.estimator": "olscale.learners.contract.estimator",
    "olscale.learners.grid": "olscale.learners.contract.fused_settings",
    "olscale.learners.local": "olscale.learners.lol",
    "olscale.learners.max_out": "olscale.learners.pamo",
    "olscale.learners.rows": "olscale.compiled.rows",
    "olscale.learners.shards": "olscale.learners.contract.class_shards",
    "olscale.learners.soft_local": "olscale.learners.soft_lol",
    "olscale.learners.sweep": "olscale.learners.contract.old_hooks",
    "olscale.learners.two_regions": "olscale.learners.ollc",
    "olscale.learners.usable": "olscale.learners.contract.usable_rows",
}
_RENAMED = {"Grid": "FusedSettings", "group_for_grids": "group_fusible", "kernel": "compiled"}

_BASES = {
    "olscale.learners.base": ("Learner", "OldLearner"),
    "olscale.learners.estimator": ("Classifier", "OldClassifier"),
}
"""Base classes that have lost hooks since, by module: their name and the class of `old_hooks` that has the hooks."""


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
        old, new = module.__name__, _MOVED[module.__name__]
        warnings.warn(f"{old} is now {new}; import from there", DeprecationWarning, stacklevel=2)
        names = {
            name: value
            for name, value in vars(import_module(new)).items()
            if not name.startswith("__")
        }
        names |= {before: names[now] for before, now in _RENAMED.items() if now in names}
        if old in _BASES:
            name, base = _BASES[old]
            names[name] = getattr(import_module("olscale.learners.contract.old_hooks"), base)
        vars(module).update(names)
