"""Bits that flip in any kind of file are found or harmless; `python -m tests.fuzz.flips` tries 2,000."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.flip_kinds import KINDS, Output
from tests.fuzz.flips import judge, run_flips
from tests.fuzz.target import Broken

NAMES = [name for name, kind in KINDS.items() if kind.folder != "home"]
"""`tests/jobs/test_damaged_files.py` has those of jobs, whose nights take their time."""


@pytest.mark.long
def test_a_flipped_bit_of_any_kind_of_file_is_found_or_harmless(tmp_path: Path) -> None:
    outcomes, findings = run_flips(tmp_path, NAMES, 2 * len(NAMES), seed=3)
    assert findings == []
    assert all(sum(counts.values()) == 2 for counts in outcomes.values())
    assert sum(counts["found"] for counts in outcomes.values()) > len(NAMES)


@pytest.mark.parametrize(
    ("output", "finding"),
    [
        (Output("2 runs"), "silently '2 runs' in place of '1 run'"),
        (Output("2 runs", ("something is damaged",)), "silently says"),
        (
            Output("", ("error: it is damaged",), failed=True),
            "does not name the file in one line",
        ),
        (
            Output("", ("error: a.json", "and more"), failed=True),
            "does not name the file",
        ),
        (
            Output("1 run", ("internal error: KeyError: 'a.json'",), failed=True),
            "internal error",
        ),
    ],
)
def test_what_is_silent_or_unclear_is_a_finding(output: Output, finding: str) -> None:
    with pytest.raises(Broken, match=finding):
        judge({"a.json"}, output, Output("1 run"))


def test_one_line_that_names_the_file_is_none() -> None:
    right = Output("1 run")
    assert judge({"a.json"}, right, right) == "harmless"
    assert judge({"a.json"}, Output("0 runs", ("set aside a.json",)), right) == "found"
    assert (
        judge({"a.json"}, Output("", ("error: a.json",), failed=True), right) == "found"
    )
