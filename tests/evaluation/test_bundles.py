"""Bundles: short groups that go together, in their order, a second's at most and fewer towards the end."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.data.stream import Shuffle
from olscale.evaluation.cut_groups import (
    BUNDLE_SECONDS,
    LEAST_SECONDS,
    bundles_of,
    cut_bundles,
    halves_of,
)
from olscale.evaluation.run import Run, StreamKey
from olscale.evaluation.run_group import RunGroup


def group(index: int | None, together: bool = True) -> RunGroup:
    shuffle = None if index is None else Shuffle(0, index)
    run = Run(StreamKey("d", "0" * 64, (), shuffle), "pa", 1, {})
    return RunGroup("d", 10, (run,), together=together)


@given(seconds=st.lists(st.floats(0.0, 2.0), max_size=60), parts=st.integers(1, 9))
def test_bundles_are_short_and_hold_every_group_once_in_order(
    seconds: list[float], parts: int
) -> None:
    ordered = sorted(seconds, reverse=True)
    groups = [group(i) for i in range(len(ordered))]
    of = {one.key: own for one, own in zip(groups, ordered, strict=True)}
    bundles = list(bundles_of(cut_bundles(groups, lambda one: of[one.key], parts)))
    assert [one.runs for bundle in bundles for one in bundle] == [
        one.runs for one in groups
    ]
    lengths = [[of[one.key] for one in bundle] for bundle in bundles]
    assert all(sum(own) <= BUNDLE_SECONDS + 1e-9 for own in lengths if len(own) > 1)
    assert all(len(own) == 1 for own in lengths if max(own) > BUNDLE_SECONDS / 2)
    short = [own for own in lengths if max(own) <= BUNDLE_SECONDS / 2]
    # No two neighbours would have fitted into one: there are no more messages than need be.
    if parts == 1:
        assert all(sum(a) + max(b) > BUNDLE_SECONDS - 1e-9 for a, b in pairwise(short))
    elif short:
        whole = sum(map(sum, short))
        assert (
            max(map(sum, short))
            <= max(whole / parts, LEAST_SECONDS, max(short[0])) + 1e-9
        )


@pytest.mark.parametrize("parts", [2, 3, 8])
@pytest.mark.parametrize("seconds", [0.5, 1.0, 3.0, 20.0])
def test_all_workers_end_together(parts: int, seconds: float) -> None:
    """However little work there is: bundles come in batches, one for each worker, and the last batch is all that remains."""
    seconds *= parts / 2
    each = 0.002
    groups = [group(i) for i in range(round(seconds / each))]
    bundles = list(bundles_of(cut_bundles(groups, lambda one: each, parts)))
    ends = [0.0] * parts
    for bundle in bundles:
        ends[ends.index(min(ends))] += each * len(bundle)
    assert max(ends) - min(ends) <= 3 * each
    assert len(bundles) % parts == 0


def test_groups_that_write_alone_or_are_actors_are_in_no_bundle() -> None:
    groups = [group(0), group(1, together=False), group(None), group(2), group(3)]
    cut = cut_bundles(groups, lambda one: 0.01, 1)
    assert [one.bundle is None for one in cut] == [False, True, True, False, False]
    assert [len(bundle) for bundle in bundles_of(cut)] == [1, 1, 1, 2]


def test_halves_of_a_bundle_are_its_groups() -> None:
    groups = tuple(group(i) for i in range(5))
    assert [len(half) for half in halves_of(groups)] == [2, 3]
    assert [*halves_of(groups)[0], *halves_of(groups)[1]] == list(groups)
    assert halves_of(groups[:1]) == [groups[:1]]
    assert halves_of(()) == []
