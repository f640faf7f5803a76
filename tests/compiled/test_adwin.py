"""ADWIN drops numbers where MOA's does, and keeps the same ones."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from olscale.compiled.adwin import (
    BUCKETS,
    LEVELS,
    WIDTH,
    Windows,
    add_to_window,
    empty_window,
    empty_windows,
    window_mean,
)
from olscale.compiled.decorator import compiled
from olscale.compiled.java_random import (
    JavaRandom,
    java_random,
    next_double,
    next_gaussian,
)

NUMBERS = 9_000
# Delta, seed, and whether numbers are zeros and ones; at which numbers MOA drops some, and the width
# and mean of its last window, as tests/compiled/MoaAlarms.java prints them.
ALARMS_OF_MOA = [
    (
        0.002,
        7,
        False,
        [3167, 3295, 3327, 3423, 3455, 3487, 5343, 5727, 5823, 6175, 6303],
        3176,
        0.02969275315503468,
    ),
    (
        0.002,
        7,
        True,
        [3807, 3903, 4671, 5183, 5343, 5951, 6207, 6239],
        3112,
        0.22300771208226222,
    ),
    (0.01, 8, True, [2847, 3295, 4287, 5919, 6495], 3112, 0.22782776349614395),
    (
        1e-05,
        9,
        False,
        [3743, 4351, 4575, 5055, 5567, 6367, 6463, 6719],
        3240,
        0.029196484783003497,
    ),
]


@compiled
def _run(
    windows: Windows, random: JavaRandom, bits: bool, delta: float, alarms: np.ndarray
) -> None:
    for n in range(len(alarms)):
        shift = 0.05 * (n // 1500 % 4)
        if bits:
            value = 1.0 if next_double(random) < 0.2 + shift else 0.0
        else:
            value = next_gaussian(random) * 0.3 + shift
        # The second of three: its neighbours must stay as they are.
        alarms[n] = add_to_window(windows, 1, value, delta)


@pytest.mark.parametrize(
    ("delta", "seed", "bits", "rows", "width", "mean"), ALARMS_OF_MOA
)
def test_numbers_are_dropped_where_moa_drops_them(
    delta: float, seed: int, bits: bool, rows: list[int], width: int, mean: float
):
    windows = empty_windows(3)
    alarms = np.zeros(NUMBERS, dtype=np.bool_)
    _run(windows, java_random(seed), bits, delta, alarms)
    assert np.flatnonzero(alarms).tolist() == rows
    assert windows.window_counts[1, WIDTH] == width
    assert window_mean(windows, 1) == mean
    for array in windows:
        assert not array[[0, 2]].any()


@pytest.mark.long
def test_moa_itself_drops_them_there():
    package = importlib.util.find_spec("capymoa")
    if shutil.which("java") is None or package is None or package.origin is None:
        pytest.skip("java and the package capymoa")
    jar = Path(package.origin).parent / "jar" / "moa.jar"
    program = Path(__file__).with_name("MoaAlarms.java")
    for delta, seed, bits, rows, width, mean in ALARMS_OF_MOA:
        arguments = [str(delta), str(NUMBERS), str(seed), *(["bits"] if bits else [])]
        done = subprocess.run(
            ["java", "-cp", str(jar), str(program), *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
        assert list(map(float, done.stdout.split())) == [*rows, width, mean]


def test_a_window_that_begins_anew_is_as_one_that_had_no_numbers():
    windows = empty_windows(1)
    for n in range(400):
        add_to_window(windows, 0, float(n > 200), 0.002)
    empty_window(windows, 0)
    fresh = empty_windows(1)
    for n in range(100):
        for each in (windows, fresh):
            add_to_window(each, 0, n * 0.1, 0.002)
    assert windows.window_counts.tolist() == fresh.window_counts.tolist()
    assert windows.window_sums.tolist() == fresh.window_sums.tolist()
    assert windows.bucket_counts.tolist() == fresh.bucket_counts.tolist()


def test_a_full_histogram_drops_its_oldest_bucket():
    windows = empty_windows(1)
    windows.bucket_counts[0] = BUCKETS
    windows.window_counts[0] = [
        31,
        sum(BUCKETS << row for row in range(LEVELS)),
        LEVELS - 1,
    ]
    for _ in range(2):
        assert not add_to_window(windows, 0, 0.0, 0.002)
    assert windows.bucket_counts[0, LEVELS - 1] == BUCKETS
    assert windows.bucket_counts.max() <= BUCKETS
    sizes = 1 << np.arange(LEVELS)
    assert windows.window_counts[0, WIDTH] == (windows.bucket_counts[0] * sizes).sum()


def test_equal_numbers_are_never_dropped():
    windows = empty_windows(1)
    assert not any(add_to_window(windows, 0, 0.1, 0.999) for _ in range(3_000))
    assert windows.window_counts[0, WIDTH] == 3_000
