"""The progress bar in a terminal."""

from __future__ import annotations

import io
import re
import sys

import pytest

from olscale.cli.meter import Bar, fitted, meter


class Terminal(io.StringIO):
    """Text that takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_bar_shows_name_text_and_notes_and_goes() -> None:
    out = Terminal()
    with Bar(out) as bar:
        bar.draw("[red]plan", ["1/2 runs"], 0.5)
        bar.note("left out [bold]a\x07")
    text = out.getvalue()
    assert "[red]plan" in text
    assert "1/2 runs" in text
    assert "left out [bold]a\\x07" in text
    assert text.rstrip().endswith("\x1b[2K")


@pytest.mark.parametrize(
    ("columns", "shown"), [(200, 5), (100, 5), (60, 3), (40, 1), (20, 1)]
)
def test_a_short_line_keeps_its_bar_and_its_first_words_whole(
    columns: int, shown: int
) -> None:
    words = [
        "13/294 runs",
        "2 failed",
        "0:12:43 left",
        "17.3 k rows/s",
        "error so far 7.15 %",
    ]
    name, bar, text = fitted("permuted-and-quite-a-long-name", words, columns)
    assert text == "  ".join(words[:shown])
    assert bar >= 10
    assert name == "permuted-and-quite-a-long-name"[: 30 if columns == 200 else 12]
    assert len(name) + bar + len(text) + 2 <= max(columns, 35)


def test_the_line_of_a_terminal_fits_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    out = Terminal()
    with Bar(out) as bar:
        bar.draw(
            "permuted-and-quite-a-long-name",
            ["13/294 runs", "2 failed", 9 * "long "],
            0.5,
        )
    last = out.getvalue().replace("\r", "\n").splitlines()
    [line] = [
        re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", one) for one in last if "runs" in one
    ][-1:]
    assert "13/294 runs  2 failed" in line
    assert "\N{HORIZONTAL ELLIPSIS}" not in line
    assert line.count("\u2501") >= 9
    assert len(line) <= 60


def test_rows_that_are_read_are_shown_in_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    with meter("reading") as progress:
        assert progress is not None
        progress("day[1]\x07.svm", 1_000, 5_000_000)
    assert "reading day[1]\\x07.svm" in out.getvalue()
    assert "1,000 rows  " in out.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with meter("reading") as progress:
        assert progress is None
