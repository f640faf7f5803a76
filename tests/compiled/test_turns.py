"""Vectors that take turns have the bits of the elementary functions, and products those of plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import exponential, sine_cosine
from olscale.compiled.simd.columns import multiply_first, multiply_places
from olscale.compiled.simd.features import fourier_values, gaussian_values
from olscale.compiled.simd.lowest import lowest_of
from olscale.compiled.simd.picked import add_picked

COUNTS = [0, 1, 7, 8, 9, 31, 32, 33, 50, 64, 100, 128]


@compiled
def _gaussian(
    count: int, gamma: float, size: float, sizes: np.ndarray, k: np.ndarray
) -> None:
    gaussian_values(count, gamma, size, sizes, k)


@compiled
def _plain_gaussian(
    count: int, gamma: float, size: float, sizes: np.ndarray, k: np.ndarray
) -> None:
    for s in range(count):
        k[s] = exponential(-gamma * max(0.0, size + sizes[s] - 2.0 * k[s]))


@compiled
def _fourier(
    angles: np.ndarray,
    factor: float,
    scale: float,
    cosines: np.ndarray,
    sines: np.ndarray,
) -> int:
    return fourier_values(angles, factor, scale, cosines, sines)


@compiled
def _plain_fourier(
    angles: np.ndarray,
    factor: float,
    scale: float,
    cosines: np.ndarray,
    sines: np.ndarray,
) -> None:
    for j in range(len(angles)):
        sine, cosine = sine_cosine(factor * angles[j])
        cosines[j] = scale * cosine
        sines[j] = scale * sine


@compiled
def _first(x: np.ndarray, W: np.ndarray, columns: int, f: np.ndarray) -> None:
    multiply_first(x, W, columns, f)


@compiled
def _places(
    at: np.ndarray, x: np.ndarray, W: np.ndarray, columns: int, f: np.ndarray
) -> None:
    multiply_places(at, x, len(x), W, columns, f)


@compiled
def _picked(
    at: np.ndarray, x: np.ndarray, mask: int, W: np.ndarray, f: np.ndarray
) -> None:
    add_picked(at, x, 0, len(x), mask, W, f)


@compiled
def _lowest_of(values: np.ndarray, count: int) -> int:
    return lowest_of(values, count)


@pytest.mark.parametrize("count", COUNTS)
def test_kernel_values_have_the_bits_of_the_exponential(count: int) -> None:
    rng = np.random.default_rng(count)
    size = 3.0
    sizes = rng.gamma(1.0, 2.0, 128)
    # distances below 0, and exponents below -708
    products = rng.normal(size=128) * rng.choice([1.0, 30.0, 1e5], 128)
    products[::9] = np.inf, -np.inf, np.nan, 1e300, *np.zeros(11)
    expected = products.copy()
    _plain_gaussian(count, 0.3, size, sizes, expected)
    behind = products.copy()
    _gaussian(count, 0.3, size, sizes, products)
    assert products[:count].tobytes() == expected[:count].tobytes()
    end = -(-count // 8) * 8
    assert ((products[count:end] >= 0.0) & (products[count:end] <= 1.0)).all()
    assert products[end:].tobytes() == behind[end:].tobytes()


@pytest.mark.parametrize("count", COUNTS)
def test_features_have_the_bits_of_sine_and_cosine(count: int) -> None:
    rng = np.random.default_rng(count)
    angles = rng.normal(size=count) * rng.choice([1e-9, 1.0, 1e4], count)
    mine = np.full((2, count), 7.0)
    plain = np.full((2, count), 7.0)
    whole = _fourier(angles, 1.7, 0.05, mine[0], mine[1])
    _plain_fourier(angles, 1.7, 0.05, plain[0], plain[1])
    assert whole == count - count % 8
    assert mine[:, :whole].tobytes() == plain[:, :whole].tobytes()
    assert (mine[:, whole:] == 7.0).all()


@pytest.mark.parametrize("columns", COUNTS)
def test_products_with_the_first_columns_are_summed_in_ascending_order(
    columns: int,
) -> None:
    rng = np.random.default_rng(columns)
    x = rng.normal(size=19)
    W = rng.normal(size=(40, 128))
    at = rng.permutation(40)[:19].astype(np.int32)
    expected = np.zeros(128)
    picked = np.zeros(128)
    for value, line, place in zip(x, W, at, strict=False):
        expected += value * line
        picked += value * W[place]
    f = np.full(128, 7.0)
    _first(x, W, columns, f)
    end = -(-columns // 8) * 8
    assert f[:columns].tobytes() == expected[:columns].tobytes()
    assert (f[end:] == 7.0).all()
    if columns <= 64:
        f[:] = 7.0
        block = np.ascontiguousarray(W[:, :64])
        _places(at, x, block, columns, f)
        assert f[:columns].tobytes() == picked[:columns].tobytes()
        assert (f[end:] == 7.0).all()


@pytest.mark.parametrize("width", [1, 5, 8, 13, 64, 77, 400])
def test_picked_rows_are_added_in_double_precision(width: int) -> None:
    rng = np.random.default_rng(width)
    W = rng.normal(size=(17, width)).astype(np.float32)
    x = rng.normal(size=23)
    at = rng.integers(0, 1000, 23).astype(np.int32)
    f = rng.normal(size=width)
    expected = f.copy()
    for value, feature in zip(x, at, strict=True):
        expected += value * W[feature & 15].astype(float)
    _picked(at, x, 15, W, f)
    assert f.tobytes() == expected.tobytes()


@pytest.mark.parametrize("count", COUNTS)
def test_the_lowest_is_the_first_of_equals_and_none_behind_the_count(
    count: int,
) -> None:
    rng = np.random.default_rng(count)
    for turn in range(50):
        values = rng.integers(0, 9, 128).astype(float)
        values[rng.random(128) < 0.02 * turn] = np.inf
        values[rng.random(128) < 0.1] = np.nan
        values[count:] = -1.0
        found = np.where(np.isnan(values[:count]), np.inf, values[:count])
        expected = int(np.argmin(found)) if count and found.min() < np.inf else 0
        assert _lowest_of(values, count) == expected
