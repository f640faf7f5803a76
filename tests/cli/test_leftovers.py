"""Who is ended leaves nothing behind, and what those have left who were killed goes with the next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from olscale.cli import _Ended, _ended_by_signals
from olscale.errors import ReportError
from olscale.report import write
from olscale.report.write import Report, write_report
from olscale.results.opening import open_store
from olscale.storage.local import part_of
from olscale.storage.open import open_output

NOBODY = 4_194_305
"""No process has so high a number."""


def start(code: str, scratch: Path) -> subprocess.Popen[str]:
    """Start Python with a folder of its own for temporary files."""
    scratch.mkdir(exist_ok=True)
    environment = os.environ | {"TMPDIR": str(scratch)}
    return subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_ended_removes_what_is_half_made(
    number: signal.Signals, tmp_path: Path
) -> None:
    # SIGHUP is ignored where all of this runs under nohup
    before = signal.signal(number, signal.SIG_DFL)

    def end_in_the_middle() -> None:
        with _ended_by_signals(), open_output(str(tmp_path / "rows.csv")) as file:
            file.write(b"1,2\n")
            os.kill(os.getpid(), number)

    with pytest.raises(_Ended):
        end_in_the_middle()
    assert list(tmp_path.iterdir()) == []
    assert signal.signal(number, before) is signal.SIG_DFL


def test_a_dashboard_that_is_ended_removes_its_reports(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store", create=True)
    code = f"from olscale.cli import main; main(['dashboard', {store.path!r}])"
    process = start(code, tmp_path / "scratch")
    assert process.stdout is not None
    assert "olscale dashboard: http" in process.stdout.readline()
    assert len(list((tmp_path / "scratch").iterdir())) == 1
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    process.stdout.close()
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.long
def test_a_driver_that_is_killed_leaves_no_folder_of_its_template() -> None:
    code = (
        "import os, signal; from olscale.execution import worker_template as template; "
        "template.begin(); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    with TemporaryDirectory(prefix="t") as scratch:  # a socket has a short path
        process = start(code, Path(scratch))
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        deadline = time.monotonic() + 120
        while left := list(Path(scratch).iterdir()):
            assert time.monotonic() < deadline, left
            time.sleep(0.1)


def test_parts_of_writers_that_were_killed_go_with_the_next_and_no_others(
    tmp_path: Path,
) -> None:
    target = tmp_path / "rows.csv"
    stay = [
        part_of(target),
        tmp_path / f"more-rows.csv.{NOBODY}.part",
        tmp_path / "rows.csv.old.part",
    ]
    gone = tmp_path / f"rows.csv.{NOBODY}.part"
    for file in (*stay, gone):
        file.touch()
    with open_output(str(target)) as out:
        out.write(b"1,2\n")
    assert sorted(tmp_path.iterdir()) == sorted([target, *stay[1:]])


def test_a_report_appears_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_record: Any
) -> None:
    store = open_store(tmp_path / "store", create=True)
    out = tmp_path / "out"
    full = True

    def half(store: Any, folder: Path, *rest: Any) -> Report:
        (folder / "figures").mkdir()
        figure = folder / "figures" / "ranks.svg"
        page = folder / "index.html"
        figure.write_text("new")
        (folder / "figures" / "index.csv").write_text("file,shows\n")
        if full:
            raise ReportError(
                f"cannot write {page}: No space left on device; name another folder"
            )
        page.write_text("new")
        return Report(page, (figure,), ())

    monkeypatch.setattr(write, "_write", half)
    with pytest.raises(ReportError, match=f"^cannot write {out}/index.html: No space"):
        write_report(store, out)
    assert not out.exists()
    (out / "figures").mkdir(parents=True)
    (out / f"report.{NOBODY}.part" / "figures").mkdir(parents=True)
    (out / "index.html").write_text("old")
    (out / "figures" / "mine.svg").write_text("mine")
    with pytest.raises(ReportError):
        write_report(store, out)
    assert sorted(path.name for path in out.rglob("*")) == [
        "figures",
        "index.html",
        "mine.svg",
    ]
    full = False
    report = write_report(store, out)
    assert (report.page, report.figures) == (
        out / "index.html",
        (out / "figures" / "ranks.svg",),
    )
    assert sorted(path.name for path in out.rglob("*")) == [
        "figures",
        "index.csv",
        "index.html",
        "mine.svg",
        "ranks.svg",
    ]
    assert (out / "index.html").read_text() == "new"
