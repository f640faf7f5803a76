"""Modules that version 0.1 documented under other names can still be imported, and say where they are now."""

from __future__ import annotations

import importlib

import pytest

import olscale.learners
from olscale.old_names import _BASES, _MOVED


@pytest.mark.parametrize("old", sorted(_MOVED))
def test_an_old_name_has_what_the_new_one_has(old: str) -> None:
    with pytest.warns(DeprecationWarning, match=_MOVED[old]):
        module = importlib.reload(importlib.import_module(old))
    new = importlib.import_module(_MOVED[old])
    base, _ = _BASES.get(old, ("", ""))
    names = {name for name in vars(new) if not name.startswith("_")} - {base}
    assert all(getattr(module, name) is getattr(new, name) for name in names)
    assert not base or issubclass(getattr(module, base), getattr(new, base))


@pytest.mark.filterwarnings("ignore:olscale:DeprecationWarning")
def test_renamed_names_are_found_in_old_modules() -> None:
    from olscale.compiled.decorator import compiled

    assert importlib.import_module("olscale.jit").kernel is compiled
    assert issubclass(
        importlib.import_module("olscale.learners.sweep").SweepLearner,
        olscale.learners.OnePassLearner,
    )


def test_learners_are_imported_by_their_class_names() -> None:
    from olscale.learners.registry import learner_class, learner_names

    for name in learner_names():
        found = learner_class(name)
        assert getattr(olscale.learners, found.__name__) is found
    assert dir(olscale.learners) == sorted(olscale.learners.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        olscale.learners.Nothing  # noqa: B018
