"""Sizes: one grammar for every option, one form in every message."""

from __future__ import annotations

import pytest

from olscale.errors import ParameterError
from olscale.evaluation.budget import Budget
from olscale.system.memory import parse_limit
from olscale.system.sizes import parse_size, size_text

SIZES = [
    ("2GB", 2e9),
    ("1.5 kB", 1500),
    ("1.5KB", 1500),
    ("512MiB", 512 << 20),
    ("4096", 4096),
    ("3g", 3e9),
    ("1e9", 1e9),
]
SIZES += [(".5MB", 5e5), ("2.e3 k", 2e6)]


@pytest.mark.parametrize(("text", "size"), SIZES)
def test_budgets_and_memory_limits_take_the_same_sizes(text: str, size: float) -> None:
    assert (
        size
        == parse_size(text)
        == parse_limit(text)
        == Budget(max_memory=text).max_memory
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["2 apples", "5iB", "", "GB", "-1", "1e999", "e9", "nan", "1,000"]
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"expected bytes, such as 2GB, 512MiB or 4096, got "
    ):
        parse_size(text)
    with pytest.raises(
        ParameterError,
        match=r"memory limit was .*, expected a size such as '2GB' or '512MiB'",
    ):
        parse_limit(text)


@pytest.mark.parametrize("limit", [0, -1, "0", "0.2"])
def test_a_limit_is_positive(limit: int | str) -> None:
    with pytest.raises(ParameterError, match="memory limit was"):
        parse_limit(limit)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (2.5e6, "2.5 MB"),
        (3e9, "3.0 GB"),
        (7e13, "70.0 TB"),
    ],
)
def test_sizes_are_printed_with_a_unit(size: float, text: str) -> None:
    assert text == size_text(size)
