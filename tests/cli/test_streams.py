"""Streams that a shell has closed or that lead to a full disk, and a folder that is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from olscale.cli import main

OLSCALE = f"{sys.executable} -m olscale"


def shell(command: str, **variables: str) -> tuple[int, str]:
    """Return the exit code of a shell's command, and what it writes to standard error."""
    ended = subprocess.run(
        ["bash", "-c", command],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_line(unbuffered: str) -> None:
    code, said = shell(f"{OLSCALE} --help >/dev/full", PYTHONUNBUFFERED=unbuffered)
    assert code == 1
    assert said == (
        "olscale: error: standard output cannot be written (No space left on device)\n"
    )


def test_closed_streams_are_no_error() -> None:
    assert shell(f"{OLSCALE} --help >&- <&-") == (0, "")
    assert shell(f"{OLSCALE} nosuch 2>&-")[0] == 2


def test_closed_streams_lend_their_numbers_to_no_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,label\n1,0\n2,1\n")
    code = shell(f"cd {tmp_path}; {OLSCALE} ingest t.csv d >&-")[0]
    assert code == 0
    assert shell(f"cd {tmp_path}; {OLSCALE} datasets verify d >&-") == (0, "")


@pytest.mark.parametrize("words", ["results st", "ingest t.csv d"])
def test_a_folder_that_is_gone_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    said = capsys.readouterr().err
    assert ended.value.code == 1
    assert "the working folder no longer exists" in said
    assert "internal error" not in said
