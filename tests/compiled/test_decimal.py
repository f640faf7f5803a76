"""Digits times a power of ten give the very double that Python's float gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from olscale.compiled.number import scaled


@pytest.mark.long
@given(digits=st.integers(0, 10**19 - 1), power=st.integers(-400, 400))
@example(digits=9007199254740993, power=0)  # halfway, to even
@example(digits=9007199254740995, power=0)
@example(digits=4503599627370497, power=23)
@example(digits=1, power=-343)
@example(digits=17976931348623157, power=292)
@example(digits=17976931348623159, power=292)
@example(digits=22250738585072014, power=-324)
@example(digits=22250738585072011, power=-324)
@settings(max_examples=2000, deadline=None)
def test_any_decimal_is_rounded_as_float_does(digits: int, power: int) -> None:
    value, done = scaled(np.uint64(digits), power)
    expected = float(f"{digits}e{power}")
    if done:
        assert value.hex() == expected.hex()
    else:
        assert expected in (0, np.inf) or expected < 2.3e-308


@pytest.mark.parametrize("power", range(-4, 24))
def test_halfway_cases_go_to_the_even_neighbour(power: int) -> None:
    """An odd integer of 54 bits lies halfway between two doubles, times any power of two."""
    smallest, largest = (
        (2**53 // 5**power, 2**54 // 5**power) if power >= 0 else (2**53, 2**54)
    )
    for draw in np.random.default_rng(9).integers(smallest, largest, 200).tolist():
        digits = draw | 1 if power >= 0 else (draw | 1) * 5**-power
        if digits < 10**19:
            value, done = scaled(np.uint64(digits), power)
            assert done
            assert value == float(f"{digits}e{power}")


def test_random_doubles_survive_their_shortest_text() -> None:
    bits = np.random.default_rng(0).integers(
        2**52, 2047 * 2**52, 20_000, dtype=np.int64
    )
    for number in bits.view(np.float64).tolist():
        mantissa, _, exponent = f"{number:.16e}".partition("e")
        value, done = scaled(
            np.uint64(int(mantissa.replace(".", ""))), int(exponent) - 16
        )
        assert done
        assert value == number
