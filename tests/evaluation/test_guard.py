"""The guard around learners: what they change of their process is put back, or the process is left."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from olscale.evaluation import guard
from olscale.evaluation.budget import Budget, Meter, Spent
from olscale.evaluation.guard import GlobalRandom, attempt

LIMIT = resource.RLIMIT_NOFILE


class FakeRun:
    """A run of a learner from elsewhere."""

    def __init__(self) -> None:
        self.meter = Meter(Budget())
        self.random: GlobalRandom | None = GlobalRandom([0])
        self.spent = Spent()
        self.failures: list[tuple[str, str]] = []

    def fail(
        self, outcome: str, reason: str, raised: bool = True, row: int | None = None
    ) -> None:
        self.failures.append((outcome, reason))


@pytest.fixture
def before() -> Iterator[tuple[int, int]]:
    limits = resource.getrlimit(LIMIT)
    yield limits
    resource.setrlimit(LIMIT, limits)


def test_a_limit_that_a_learner_lowers_is_raised_again(before: tuple[int, int]) -> None:
    run = FakeRun()
    attempt([run], lambda: resource.setrlimit(LIMIT, (3, before[1])))
    assert resource.getrlimit(LIMIT) == before
    assert run.failures == []


def test_modules_that_a_learner_takes_away_are_put_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that puts another in its place, as lazy ones do, stays replaced."""
    monkeypatch.setitem(sys.modules, "lazy", ModuleType("lazy"))
    monkeypatch.setitem(sys.modules, "wanted", ModuleType("wanted"))
    wanted = sys.modules["wanted"]
    loaded = ModuleType("loaded")
    run = FakeRun()
    attempt([run], lambda: sys.modules.__setitem__("lazy", loaded))
    assert sys.modules["lazy"] is loaded
    attempt([run], lambda: sys.modules.pop("wanted"))
    assert sys.modules["wanted"] is wanted
    assert run.failures == []


def test_the_process_is_left_where_that_is_not_allowed(
    before: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the learner has lowered the hard limit, which only root may raise; a worker does not come back from it."""
    run = FakeRun()
    left = list[bool]()
    lower = resource.setrlimit

    def refuse(limit: int, limits: tuple[int, int]) -> None:
        raise PermissionError("not permitted")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    monkeypatch.setattr(guard, "leave_process", lambda: left.append(True))
    attempt([run], lambda: lower(LIMIT, (before[0] - 1, before[1])))
    monkeypatch.undo()
    assert left == [True]
    message = (
        "PermissionError: the learner has lowered RLIMIT_NOFILE of its process for good"
    )
    assert run.failures == [("learner_error", message)]
