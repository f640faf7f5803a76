"""Numbers in text have the bits of Python's float, however many digits they have before and behind the point."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from olscale.compiled.number import EXACT, HARD, NOT_A_NUMBER, number_at
from olscale.data.formats.lines import ROOM_BYTES

POINT = ord(".")
digits = st.text("0123456789", max_size=24)
signs = st.sampled_from(["", "-", "+"])
numbers = st.builds(
    "{}{}{}{}{}".format,
    signs,
    digits,
    st.sampled_from([".", ""]),
    digits,
    st.one_of(
        st.just(""),
        st.builds("{}{}{}".format, st.sampled_from("eE"), signs, st.integers(0, 400)),
    ),
)


@numba.njit
def _at(buffer: np.ndarray, pos: int, mark: int) -> tuple[float, int, int]:
    return number_at(buffer, pos, mark)


def parsed(
    text: str, behind: str = "\n", fill: str = "7", mark: int = POINT
) -> tuple[float, int, int]:
    """Return what `number_at` says of `text`, with `behind` behind it and then nothing but `fill`."""
    whole = (text + behind).encode() + fill.encode() * ROOM_BYTES
    return _at(np.frombuffer(bytearray(whole), dtype=np.uint8), 0, mark)


@given(
    text=numbers,
    behind=st.sampled_from(["\n", ",", " ", ":", "x"]),
    fill=st.sampled_from(["7", "\0", ".", "e"]),
)
@example(text="9007199254740993", behind="\n", fill="7")  # 16 digits, and no double
@example(text="90071992.54740993", behind="\n", fill="7")
@example(text="0.9007199254740993", behind=",", fill="0")
@example(text="-0", behind="\n", fill="0")
@example(text="-0.0000000000", behind="\n", fill="0")
@example(text="12345678.", behind="\n", fill="0")
@example(text="0.0000000000000000001", behind="\n", fill="0")
@settings(max_examples=3000, deadline=None)
@pytest.mark.long
def test_any_decimal_has_the_bits_of_float(text: str, behind: str, fill: str) -> None:
    value, end, state = parsed(text, behind, fill)
    try:
        expected = float(text)
    except ValueError:
        assert state == NOT_A_NUMBER or text[:end] != text
        return
    assert end == len(text)
    if state == EXACT:
        assert value.hex() == expected.hex()
    else:
        assert state == HARD
        assert (
            sum(map(str.isdigit, text)) > 19
            or not 2.3e-308 < abs(expected) < math.inf
            or "e" in text.lower()
        )


@pytest.mark.parametrize("whole", range(1, 10))
@pytest.mark.parametrize("fraction", range(21))
def test_every_number_of_digits_before_and_behind_the_point(
    whole: int, fraction: int
) -> None:
    """The largest number of each shape, one of random digits, and nothing but zeros."""
    draw = np.random.default_rng([whole, fraction])
    for each in (
        "9" * 30,
        "0" * 30,
        "".join(map(str, draw.integers(0, 10, 30))),
        "9007199254740993" * 2,
    ):
        text = f"-{each[:whole]}.{each[whole : whole + fraction]}"
        value, end, state = parsed(text)
        assert end == len(text)
        significant = len(text.lstrip("-0.").replace(".", ""))
        assert state == (EXACT if significant <= 19 else HARD)
        if state == EXACT:
            assert value.hex() == float(text).hex()


def test_a_comma_may_be_the_decimal_point() -> None:
    assert parsed("-1,25", mark=ord(",")) == (-1.25, 5, EXACT)
    assert parsed("-1.25", mark=ord(",")) == (-1.0, 2, EXACT)


@pytest.mark.parametrize(
    "text", ["", "-", ".", "+.", "e5", "-e5", "1e", "1e+", "1.5e-", "--1", "x1"]
)
def test_what_is_no_number_is_told(text: str) -> None:
    assert parsed(text, fill="\0")[2] == NOT_A_NUMBER
