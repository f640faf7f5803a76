"""The tables of the study: what its tests count, and that a run that is missing leaves a cell empty."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from olscale.analysis.summary import Summary
from tests.one_pass import (
    LARGER,
    PAGE,
    REPLAY,
    REST,
    SOFT,
    SVM,
    Study,
    conditions,
    errors,
    paired_p,
)


def bits(wrong: NDArray[np.bool_]) -> NDArray[np.uint32]:
    padded = np.zeros(-(-len(wrong) // 32) * 32, dtype=np.bool_)
    padded[: len(wrong)] = wrong
    return np.packbits(padded, bitorder="little").view(np.uint32)


def study(replay: float, soft: float, rest: float | None = None) -> Study:
    """Return a study of one data set with errors of the learners, and of the machine 10 %.

    `rest` is the error of the machine of one class against the rest, if there is one.
    """
    rng = np.random.default_rng(0)
    means = {SVM: 0.1, REPLAY: replay, SOFT: soft}
    if rest is not None:
        means[REST] = rest
    places = {(name, "ring"): mean for name, mean in means.items()}
    return Study(
        ("ring", "letter"),
        (SVM, REPLAY, LARGER, SOFT),
        {
            (name, ring): {
                "test_error": Summary(
                    ring, "", (), name, "1", {}, {}, "test_error", mean, 0.0, 1
                )
            }
            for (name, ring), mean in places.items()
        },
        {
            place: {"{}": bits(rng.uniform(size=5_000) < mean)}
            for place, mean in places.items()
        },
        {"ring": 5_000},
    )


def test_p_is_that_of_the_paired_t_test_over_test_rows() -> None:
    rng = np.random.default_rng(1)
    own, others = rng.uniform(size=(2, 4, 77)) < np.array([0.4, 0.2])[:, None, None]
    expected = ttest_1samp((own.astype(int) - others).mean(axis=0), 0.0).pvalue
    made = paired_p([*map(bits, own)], [*map(bits, others)], 77)
    assert made == pytest.approx(expected)


def test_a_condition_is_open_until_what_was_not_run_cannot_change_it() -> None:
    near = conditions(study(0.12, 0.2)).splitlines()
    assert [line.split(" | ")[1:] for line in near[2:]] == [
        ["1 of 1, 1 not run", "open |"],
        ["1 of 1, 1 not run", "open |"],
        ["0 of 0, 2 not run", "open |"],
        ["0 of 0, 2 not run", "open |"],
        ["none, 1 not run", "open |"],
    ]
    far = conditions(study(0.2, 0.1)).splitlines()
    assert far[2].endswith("0 of 1, 1 not run | does not hold |")
    assert far[6].endswith("| ring, 1 not run | does not hold |")


@pytest.mark.parametrize(("rest", "near"), [(0.05, 0), (0.3, 1)])
def test_the_better_of_two_machines_counts(rest: float, near: int) -> None:
    lines = conditions(study(0.12, 0.2, rest)).splitlines()
    assert "1 of 1" in lines[2]
    assert f"{near} of 1" in lines[3]


def test_a_set_that_was_not_run_has_empty_cells_and_comes_last() -> None:
    lines = errors(study(0.2, 0.1)).splitlines()
    assert lines[2].startswith(
        "| ring | 10.00 |  | 20.00 | **2.00** |  |  | 10.00 | > ("
    )
    assert set(lines[3].replace("letter", "")) == set("| ")


def test_the_page_has_a_place_for_each_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in (
        "conditions",
        "errors",
        "others",
        "ranks",
        "balanced",
        "along",
        "costs",
    ):
        assert f"<!-- {name} -->" in page
