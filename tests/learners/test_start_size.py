"""A plan refuses sizes that no memory holds, whatever the learner, and lets through those that only look large."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import pytest

from olscale.errors import OlscaleError, ParameterError
from olscale.learners.contract import start_size
from olscale.learners.contract.cost import check_row_numbers, cost_of
from olscale.learners.contract.learner import Learner
from olscale.learners.contract.parameters import Whole
from olscale.learners.contract.start_size import _MEMORIES, check_start_size
from olscale.learners.registry import learner_names, make_learner

HUGE = 10**15
"""Numbers of which no address space holds an array."""


def sizes() -> Iterator[tuple[str, str]]:
    for name in learner_names():
        for parameter, domain in make_learner(name).domains.items():
            if isinstance(getattr(domain, "domain", domain), Whole):
                yield name, parameter


def classes_of(learner: Learner) -> int:
    return {"regression": 0, "classification": 3, "novelty": 2}[learner.task]


def check(learner: Learner, columns: int = 10) -> None:
    """As a plan does."""
    classes = classes_of(learner)
    cost_of(learner).check_memory(columns, classes)
    check_row_numbers(learner, columns, classes)
    check_start_size(learner, columns, classes)


@pytest.mark.parametrize(("name", "parameter"), list(sizes()))
def test_whatever_passes_the_plan_can_begin(name: str, parameter: str) -> None:
    """A size beyond any machine is refused by the plan, or is no size."""
    with contextlib.suppress(OlscaleError):  # in words, from the plan or from its learner
        learner = make_learner(name, {parameter: HUGE})
        check(learner)
        learner.begin(10, classes_of(learner))


@pytest.mark.parametrize(
    ("name", "params", "array"),
    [
        ("fogd", {"D": 4 * 10**9}, "W"),
        ("bpas", {"B": 10**10}, "place|values"),
        ("soft-lol", {"k": 10**10}, "V"),
        ("lol", {"k": 10**10}, "U"),
        ("forgetron", {"B": 10**10}, "place|values"),
    ],
)
def test_what_would_end_as_oom_is_refused_by_the_plan(
    name: str, params: dict[str, int], array: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_size, "memory_bytes", lambda: 10**9)
    [(parameter, _)] = params.items()
    said = rf"{parameter} was \d.*, and its array ({array}) alone would take .* this machine has 1.0 GB"
    with pytest.raises(ParameterError, match=said):
        check_start_size(make_learner(name, params), 10, 2)


def test_sizes_are_told_from_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """To within a quarter, for arrays that grow with a parameter, with the features, or with both."""
    for name, params, columns in (
        ("fogd", {"D": 2_000_000}, 10),
        ("bpas", {"B": 1_000_000}, 30),
        ("pa1", {}, 10_000_000),
    ):
        learner = make_learner(name, params)
        learner.begin(columns, 2)
        most = max(array.nbytes for array in learner.state_.values())
        monkeypatch.setattr(
            start_size, "memory_bytes", lambda most=most: int(0.8 * most / _MEMORIES)
        )
        monkeypatch.setattr(start_size, "_MANY_WEIGHTS", 1)
        with pytest.raises(ParameterError, match="alone would take"):
            check_start_size(make_learner(name, params), columns, 2)
        monkeypatch.setattr(
            start_size, "memory_bytes", lambda most=most: int(1.25 * most / _MEMORIES)
        )
        check_start_size(make_learner(name, params), columns, 2)


def test_what_workers_with_more_memory_may_hold_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """So do wide weights, of which sparse rows touch few."""
    monkeypatch.setattr(start_size, "memory_bytes", lambda: 2 * 10**9)
    check_start_size(make_learner("fogd", {"D": 10**8}), 10, 2)
    check_start_size(make_learner("soft-lol"), 16_000_000, 2)


def test_what_only_looks_large_passes() -> None:
    for name, params in (
        ("fogd", {"seed": 10**12}),
        ("pa1", {"C": 1e12}),
        ("kernel-perceptron", {"capacity": 10**9}),
    ):
        check(make_learner(name, params))
    assert np.isfinite(make_learner("pa1", {"C": 1e12}).get_params()["C"])
