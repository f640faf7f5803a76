"""`olscale doctor` says what olscale would stumble over."""

from __future__ import annotations

from pathlib import Path

import pytest

from olscale.errors import ExecutionError
from olscale.execution import doctor
from tests.cli.command import run


def test_a_machine_that_is_fine_is_told_so_a_line_each() -> None:
    done = run("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line[7:24].strip() for line in lines] == list(doctor.CHECKS)
    assert all(line.startswith("ok  ") for line in lines)


def test_what_is_wrong_is_told_with_what_to_do_and_the_rest_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(doctor.CHECKS, "local workers", lambda: "not asked here")
    (tmp_path / "file").touch()
    monkeypatch.setenv("OLSCALE_SCRATCH", str(tmp_path / "nothing"))
    monkeypatch.setenv("OLSCALE_DATASETS", str(tmp_path / "file" / "datasets"))
    done = run("doctor")
    assert done.returncode == 1
    found = {line[7:24].strip(): line for line in done.stdout.splitlines()}
    assert list(found) == list(doctor.CHECKS)
    assert "name another folder in OLSCALE_SCRATCH" in found["temporary files"]
    assert (
        "cannot be written to; name another folder in OLSCALE_DATASETS"
        in found["data home"]
    )
    assert [name for name, line in found.items() if line.startswith("FAULT")] == [
        "temporary files",
        "data home",
    ]
    assert (
        done.stderr
        == "olscale: error: olscale does not work here as it should: temporary files, data home\n"
    )


def test_a_mirror_that_is_no_folder_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLSCALE_DATA", str(tmp_path / "nothing"))
    with pytest.raises(ExecutionError, match=r"OLSCALE_DATA is .* expected a folder"):
        doctor.CHECKS["data home"]()


def test_machine_code_that_does_something_else_is_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make = doctor.make_learner
    monkeypatch.setattr(
        doctor, "make_learner", lambda name, params: make(name, {"C": 1e-3})
    )
    with pytest.raises(
        ExecutionError,
        match=r"compiled pa1 made \d+ and \d+ mistakes .* expected \d+; make the machine code",
    ):
        doctor.CHECKS["machine code"]()


def test_a_check_that_fails_itself_is_a_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def raises() -> str:
        raise ValueError("odd")

    monkeypatch.setattr(doctor, "CHECKS", {"one": raises, "two": lambda: "fine"})
    assert [(finding.fine, finding.says) for finding in doctor.examine()] == [
        (False, "ValueError: odd"),
        (True, "fine"),
    ]
