"""Cells of a column of text are numbered by their first appearance, however many differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.data.formats.table_parser import different_cells


def numbered(words: list[str]) -> tuple[list[str], list[int]]:
    """Return what must come out: the different words, and the number of each word's."""
    places = {word: i for i, word in enumerate(dict.fromkeys(words))}
    return [*places], [places[word] for word in words]


def by_loop(words: list[str]) -> tuple[list[str], list[int]]:
    parts = [word.encode() for word in words]
    ends = np.cumsum([len(part) + 1 for part in parts])
    spans = np.array(
        [(end - len(part) - 1, end - 1) for part, end in zip(parts, ends, strict=True)],
        dtype=np.int32,
    ).reshape(-1, 2)
    text = b",".join([*parts, b""]) + bytes(32)
    different, which = different_cells(
        np.frombuffer(text, dtype=np.uint8).copy(), spans
    )
    return different, which.tolist()


@given(
    st.lists(
        st.sampled_from(["", "a", "b", "ä€", "x" * 7, "x" * 8, "x" * 9])
        | st.text(max_size=20)
    )
)
def test_words_are_numbered_in_their_order(words: list[str]) -> None:
    assert by_loop(words) == numbered(words)


@pytest.mark.parametrize("count", [511, 512, 513, 4096, 40_000])
def test_the_table_grows(count: int) -> None:
    words = [f"word {i * 7919 % count}" for i in range(2 * count)]
    assert by_loop(words) == numbered(words)
