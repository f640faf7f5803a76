"""Seconds of learning on the clock and on the processor, and what runs say of their speed."""

from time import sleep

import numpy as np
import pytest

from olscale.evaluation.learning_time import LearningTime
from olscale.measures import WAITED


def test_a_thread_that_waits_has_wall_time_alone() -> None:
    start = LearningTime.now()
    sleep(0.05)
    spent = start.elapsed()
    assert spent.wall >= 0.05
    assert spent.processor < 0.02


def test_speeds_are_rows_over_either_time() -> None:
    spent = LearningTime(4.0, 2.0)
    assert spent.timings(100) == {
        "fit_seconds": 4.0,
        "rows_per_second": 25.0,
        "fit_cpu_seconds": 2.0,
        "rows_per_cpu_second": 50.0,
        WAITED: 1.0,
    }
    assert WAITED not in LearningTime(3.0, 2.0).timings(100)


def test_a_run_that_has_not_learned_has_no_speed_of_the_processor() -> None:
    assert LearningTime().timings(0) == {"fit_seconds": 0.0, "rows_per_second": 0.0}


@pytest.mark.parametrize("seconds", [[2.0], [2.0, float("nan")]])
def test_checkpoints_of_earlier_versions_go_on_without_processor_time(
    seconds: list[float],
) -> None:
    """Rows of the first part over the seconds of the second would be no speed."""
    spent = LearningTime.from_array(np.array(seconds)) + LearningTime(1.0, 1.0)
    assert spent.timings(300) == {"fit_seconds": 3.0, "rows_per_second": 100.0}


def test_arrays_keep_both_times() -> None:
    spent = LearningTime(0.3, 0.1)
    assert LearningTime.from_array(spent.array()) == spent
