"""Prune never removes what it must keep."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from olscale.jobs.job_file import KeepRule
from olscale.jobs.upkeep import nights_to_prune

NIGHTS = st.integers(0, 60).map(lambda i: f"{i:03}")


@given(
    st.sets(NIGHTS),
    st.dictionaries(NIGHTS, st.sampled_from(["good", "alarm", "failed"])),
    st.integers(1, 20),
    st.integers(0, 20),
    st.sets(NIGHTS, max_size=5),
    st.sets(NIGHTS, max_size=5),
)
def test_what_must_stay_stays_and_all_else_goes(
    folders: set[str],
    states: dict[str, str],
    stores: int,
    failed: int,
    marked: set[str],
    unfinished: set[str],
) -> None:
    gone = set(
        nights_to_prune(
            sorted(folders),
            states,
            KeepRule(stores=stores, failed=failed),
            marked,
            unfinished,
        )
    )
    ended = sorted(night for night in states if states[night] != "failed")
    broken = sorted(night for night in states if states[night] == "failed")
    must = {
        *ended[:1],
        *ended[::-1][:stores],
        *broken[::-1][:failed],
        *marked,
        *unfinished,
        *(folders - states.keys()),
    }
    assert gone == folders - must
