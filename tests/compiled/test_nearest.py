"""Exponential and logarithm are the nearest numbers nearly always, and the normal is exact."""

from __future__ import annotations

import math
from decimal import Context, Decimal

import numpy as np

from olscale.compiled.decorator import compiled
from olscale.compiled.nearest import nearest_exponential, nearest_logarithm
from olscale.compiled.normal import normal_below

_EXACT = Context(prec=50)
# Made by exact steps alone: NumPy's powers have other last bits on other machines.
_STEPS = np.arange(1, 1_500) / 1_024.0
EXPONENTS = np.concatenate(
    [-_STEPS, _STEPS, 32.0 * -_STEPS, 450.0 * _STEPS, -450.0 * _STEPS]
)
NUMBERS = np.concatenate(
    [_STEPS, 1.0 + _STEPS / 512.0, 1.0 - _STEPS / 2_048.0, 1e9 * _STEPS]
)
NORMAL = np.concatenate([-10.0 * _STEPS, [0.0], 10.0 * _STEPS])


@compiled
def _fill(
    exponents: np.ndarray, numbers: np.ndarray, normal: np.ndarray, out: tuple
) -> None:
    powers, logarithms, shares = out
    for i in range(len(exponents)):
        powers[i] = nearest_exponential(exponents[i])
    for i in range(len(numbers)):
        logarithms[i] = nearest_logarithm(numbers[i])
    for i in range(len(normal)):
        shares[i] = normal_below(normal[i])


def _filled() -> tuple[np.ndarray, ...]:
    out = tuple(np.empty(len(numbers)) for numbers in (EXPONENTS, NUMBERS, NORMAL))
    _fill(EXPONENTS, NUMBERS, NORMAL, out)
    return out


def test_nearly_all_are_the_nearest_numbers() -> None:
    powers, logarithms, _ = _filled()
    expected = np.array([float(_EXACT.exp(Decimal(x))) for x in EXPONENTS.tolist()])
    assert (powers != expected).mean() < 0.005
    np.testing.assert_array_max_ulp(powers, expected, maxulp=1)
    expected = np.array([float(_EXACT.ln(Decimal(x))) for x in NUMBERS.tolist()])
    assert (logarithms != expected).mean() < 0.005
    np.testing.assert_array_max_ulp(logarithms, expected, maxulp=1)


def test_the_normal_distribution_is_as_exact_as_it_says() -> None:
    shares = _filled()[2]
    expected = [0.5 * math.erfc(-z / math.sqrt(2.0)) for z in NORMAL]
    np.testing.assert_allclose(shares, expected, rtol=3e-14, atol=2e-16)
