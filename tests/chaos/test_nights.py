"""Ten nights in a row: history and messages say what happened, and no more."""

from pathlib import Path

import pytest

from tests.chaos.nights import Nights


@pytest.mark.chaos
@pytest.mark.timeout(3600)
def test_history_and_messages_say_what_happened(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.run()
    assert nights.faults() == []
