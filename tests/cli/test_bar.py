"""The progress bar in a terminal."""

from __future__ import annotations

import io
import sys

import pytest

from olscale.cli.meter import Bar, meter


class Terminal(io.StringIO):
    """Text that takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_bar_shows_name_text_and_notes_and_goes() -> None:
    out = Terminal()
    with Bar(out) as bar:
        bar.draw("[red]plan", "1/2 runs", 0.5)
        bar.note("left out [bold]a\x07")
    text = out.getvalue()
    assert "[red]plan" in text
    assert "1/2 runs" in text
    assert "left out [bold]a\\x07" in text
    assert text.rstrip().endswith("\x1b[2K")


def test_rows_that_are_read_are_shown_in_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    with meter("reading") as progress:
        assert progress is not None
        progress("day[1]\x07.svm", 1_000, 5_000_000)
    assert "reading day[1]\\x07.svm" in out.getvalue()
    assert "1,000 rows, " in out.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with meter("reading") as progress:
        assert progress is None
