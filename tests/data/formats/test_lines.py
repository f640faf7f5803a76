"""Lines of text in blocks: the same whatever ends them, and none searched for over and over."""

from __future__ import annotations

import io
import random

import pytest

from olscale.data.formats.lines import TextBlocks


class Counting(bytearray):
    """Counts how often it is searched for a newline."""

    searched = 0

    def index(self, *args: object) -> int:
        """Return where the bytes are."""
        self.searched += 1
        return super().index(*args)  # type: ignore[arg-type]


def test_a_newline_far_behind_lines_that_end_in_returns_is_searched_for_once() -> None:
    text = TextBlocks(
        "rows",
        io.BufferedReader(io.BytesIO((b"1,2\r" * 1000 + b"3,4\n") * 3)),
        returns=True,
    )
    assert text.fill()
    text.buffer = buffer = Counting(text.buffer)
    count = 0
    while text.next_line():
        count += 1
    assert (count, buffer.searched) == (3003, 3)


@pytest.mark.parametrize("seed", range(20))
def test_lines_are_those_of_python_whoever_moves_the_cursor(seed: int) -> None:
    draw = random.Random(seed)
    data = b"".join(
        b"x" * draw.randrange(9) + draw.choice([b"\r", b"\r", b"\r", b"\n", b"\r\n"])
        for _ in range(300)
    )
    text = TextBlocks(
        "rows",
        io.BufferedReader(io.BytesIO(data)),
        draw.choice([16, 64, 4096]),
        returns=True,
    )
    found = []
    while text.fill():
        # as a compiled loop does
        if (
            draw.random() < 0.3
            and (end := text.buffer.find(b"\n", text.pos, text.stop)) >= 0
        ):
            found += bytes(text.buffer[text.pos : end + 1]).splitlines(keepends=True)
            text.pos = end + 1
        else:
            found.append(text.next_line())
    assert [line.rstrip(b"\r\n") for line in found] == data.splitlines()
